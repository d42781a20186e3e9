//! Which names of header fields say that the value is a secret.

use super::names::{Counts, FieldContext, MAX_NAME, NAMES, by_name};
use crate::kind::{self, Kind};

/// Beginnings and parts of names whose values are none, whatever else is in them.
const HARMLESS: [&str; 3] = ["access-control-", "sec-", "x-ratelimit"];

/// Keys that name something rather than open it.
#[rustfmt::skip]
const NAMING: &[&str] = &[
    "cache", "correlation", "dedup", "event", "idempotency", "object", "partition", "public", "request",
    "routing", "sort", "surrogate",
];

/// Header fields whose value is a secret, whole (or after a scheme), by name in lower case; `_` counts as `-`.
pub(crate) fn by_header(name: &str) -> Option<Kind> {
    if memchr::memchr(b'_', name.as_bytes()).is_some() {
        return by_header(&name.replace('_', "-"));
    }
    if HARMLESS.iter().any(|harmless| name.starts_with(harmless)) {
        return None;
    }
    let mut rows = NAMES.iter().filter(|row| row.counts == Counts::Header);
    let last = || by_name(name.rsplit('-').next().unwrap_or_default(), FieldContext::Member);
    let part = rows.find(|row| row.names().any(|part| name.contains(part))).map(|row| row.kind);
    part.or_else(|| by_name(name, FieldContext::Member)).or_else(last)
}

/// The kind of a value, from a name that is the value beside it: `{"key": "x-api-key", "value": …}`.
pub(crate) fn by_listed_name(name: &str) -> Option<Kind> {
    let is_field =
        name.len() <= MAX_NAME && (memchr::memchr(b'-', name.as_bytes()).is_some() || name.starts_with("x_"));
    by_name(name, FieldContext::Member).or_else(|| if is_field { by_header(&name.to_ascii_lowercase()) } else { None })
}

/// The kind of a value that looks random, in a field whose name ends in `-key` (`Fastly-Key`).
pub(super) fn by_value(name: &str, value: &[u8]) -> Option<Kind> {
    let is_key = name.ends_with("-key") && !HARMLESS.iter().any(|harmless| name.starts_with(harmless));
    let names = || NAMING.iter().any(|word| name.contains(word));
    (is_key && !names() && kind::is_opaque(value)).then_some(Kind::ApiKey)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_field_is_known_with_either_sign_between_its_words() {
        for name in [
            "x-api-key",
            "api_key",
            "x_auth",
            "x-session_id",
            "subscription_key",
            "x_functions-key",
            "dpop",
            "x-acme-otp",
            "dd-application-key",
            "x-parse-master-key",
            "x-user-pwd",
        ] {
            assert!(by_header(name).is_some(), "{name}");
        }
        for name in ["x_ratelimit_token", "sec-websocket-key", "idempotency_key", "content_type"] {
            assert_eq!(by_header(name), None, "{name}");
        }
    }

    #[test]
    fn a_random_key_in_a_field_of_any_name_is_a_secret_unless_it_names_something() {
        for name in ["fastly-key", "x-master-key", "x-consumer-key"] {
            assert!(by_value(name, b"a1b2c3d4e5f6g7").or(by_header(name)).is_some(), "{name}");
            assert_eq!(by_value(name, b"home page"), None);
        }
        for name in [
            "idempotency-key",
            "sec-websocket-key",
            "x-ratelimit-key",
            "surrogate-key",
            "x-cache-key",
            "x-event-key",
            "etag",
        ] {
            assert_eq!(by_value(name, b"a1b2c3d4e5f6g7"), None, "{name}");
        }
    }

    #[test]
    fn a_listed_name_tells_as_a_header_field_or_a_member_would() {
        for name in ["x-api-key", "Authorization", "Api_Key", "client_secret", "X-Auth", "cookie"] {
            assert!(by_listed_name(name).is_some(), "{name}");
        }
        for name in ["token_endpoint_auth_method", "tokenType", "id", "Content-Type", "Idempotency-Key"] {
            assert_eq!(by_listed_name(name), None, "{name}");
        }
    }
}
