//! Formats that the judge asserts besides JSON Schema's own.

use std::sync::Arc;

use jsonschema::{Retrieve, ValidationOptions};

use crate::json::Tape;

/// Adds the formats of the tenant's documentation. `rate-limit-policy-id` asserts nothing (its grammar is not shown),
/// so it is not here.
pub(super) fn register(
    options: ValidationOptions<'_, Arc<dyn Retrieve>, Tape>,
) -> ValidationOptions<'_, Arc<dyn Retrieve>, Tape> {
    options.with_format("strict-https-uri", is_https_uri)
}

/// An absolute URI (RFC 3986) with scheme https and a host; nothing more.
fn is_https_uri(text: &str) -> bool {
    let Ok(uri) = jsonschema::Uri::parse(text) else { return false };
    uri.scheme().as_str().eq_ignore_ascii_case("https")
        && uri.authority().is_some_and(|authority| !authority.host().is_empty())
}

#[cfg(test)]
mod tests {
    use super::is_https_uri;

    #[test]
    fn a_strict_https_uri_is_absolute_and_has_a_host() {
        for good in [
            "https://a.example",
            "https://a.example/x?y=z#f",
            "HTTPS://A.example:8443/",
            "https://user@[::1]/",
            "https://10.0.0.1",
            "https://a.example/%7Bx%7D",
        ] {
            assert!(is_https_uri(good), "{good}");
        }
        for bad in [
            "",
            "http://a.example",
            "https:",
            "https:///x",
            "https:a.example",
            "//a.example",
            "a.example",
            "/x",
            "https://a b.example",
            "https://a.example/{x}",
            "https://a.example/ä",
            " https://a.example",
            "https://a.example/%zz",
            "ftps://a.example",
            "https://:443/",
        ] {
            assert!(!is_https_uri(bad), "{bad}");
        }
    }
}
