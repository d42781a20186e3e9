//! The variables that the library of stores reads. It ends the process over values that no request can carry, so they
//! are checked first. Their values are never shown.

use http::HeaderValue;

use crate::{FleetError, ReceiverUrl, RemoteUrl, Scheme};

/// The variables that hold a store's address.
pub(super) const ADDRESSES: [&str; 5] =
    ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AZURE_STORAGE_ENDPOINT", "GOOGLE_BASE_URL"];

/// Refuses a variable of this store that cannot be used.
pub(super) fn check(url: &RemoteUrl, variables: &[(String, String)]) -> Result<(), FleetError> {
    let prefix = match url.scheme() {
        Scheme::S3 => "AWS_",
        Scheme::Gs => "GOOGLE_",
        Scheme::Az => "AZURE_",
        Scheme::File | Scheme::Nats => return Ok(()),
    };
    let mut own: Vec<_> = variables.iter().filter(|(name, _)| name.starts_with(prefix)).collect();
    own.sort();
    for (name, value) in own {
        let wrong = if ADDRESSES.contains(&&**name) {
            let expected = "expected a URL such as https://HOST:PORT, without credentials and query";
            value.parse::<ReceiverUrl>().is_err().then_some(expected)
        } else {
            let found = "it has a line break or another control character, which no request can carry; remove it";
            HeaderValue::try_from(value).is_err().then_some(found)
        };
        if let Some(wrong) = wrong {
            return Err(FleetError(format!("cannot use {url}: {name}: {wrong}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(url: &str, name: &str, value: &str) -> Result<(), String> {
        let variables = [("HOME", "/\n"), ("AWS_REGION", "eu"), (name, value)];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        check(&url.parse().unwrap(), &variables).map_err(|error| error.to_string())
    }

    #[test]
    fn an_address_that_is_no_url_is_refused_and_not_repeated() {
        let values =
            ["", " ", "hunter2", "127.0.0.1:9000", "http://", "http://a:999999", "http://a b", "data:,x", "http:/x"];
        for value in values.into_iter().chain(["http://u:hunter2@a", "http://a?x=hunter2", "ftp://hunter2"]) {
            for (url, name) in [
                ("s3://b/p", "AWS_ENDPOINT_URL"),
                ("s3://b/p", "AWS_ENDPOINT_URL_S3"),
                ("az://b/p", "AZURE_STORAGE_ENDPOINT"),
                ("gs://b/p", "GOOGLE_BASE_URL"),
            ] {
                let said = checked(url, name, value).unwrap_err();
                let expected = format!("cannot use {url}: {name}: expected a URL such as https://HOST:PORT, ");
                assert!(said.starts_with(&expected) && !said.contains("hunter2"), "{value}: {said}");
            }
        }
        for value in ["http://127.0.0.1:9000", "https://store.example/", "https://store.example/base", "http://[::1]:1"]
        {
            assert_eq!(checked("s3://b/p", "AWS_ENDPOINT_URL", value), Ok(()), "{value}");
        }
    }

    #[test]
    fn a_credential_with_a_line_break_is_refused_and_not_repeated() {
        for (url, name) in
            [("s3://b/p", "AWS_ACCESS_KEY_ID"), ("s3://b/p", "AWS_REGION"), ("az://b/p", "AZURE_STORAGE_TOKEN")]
        {
            let said = checked(url, name, "hunter2\n").unwrap_err();
            assert!(said.starts_with(&format!("cannot use {url}: {name}: it has a line break")), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
        // Nor does another store's variable matter.
        assert_eq!(checked("s3://b/p", "AZURE_STORAGE_TOKEN", "hunter2\n"), Ok(()));
        assert_eq!(checked("s3://b/p", "AWS_SECRET_ACCESS_KEY", "a/b+c=é"), Ok(()));
    }
}
