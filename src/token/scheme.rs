//! The `Authorization` header (RFC 9110, 11.6.2): its scheme, and the text of a bearer token (RFC 6750, 2.1).

use crate::exchange::{Credential, Headers};

/// Why a bearer token is malformed that is not there at all.
pub(crate) const NO_TOKEN: &str = "there is no token after `Bearer`";

/// The `Authorization` header, if it is the only one.
pub(super) fn authorization(headers: &Headers) -> Result<&http::HeaderValue, Credential> {
    let mut all = headers.get_all("authorization");
    match (all.next(), all.next()) {
        (None, _) => Err(Credential::Missing),
        (Some(value), None) => Ok(value),
        (Some(_), Some(_)) => Err(Credential::Unknown),
    }
}

/// The text of the bearer token, or what else the header says.
pub(super) fn bearer(value: &[u8]) -> Result<&[u8], Credential> {
    let value = value.trim_ascii();
    let (scheme, rest) = match value.iter().position(|byte| *byte == b' ' || *byte == b'\t') {
        Some(end) => (&value[..end], value[end..].trim_ascii()),
        None => (value, &value[value.len()..]),
    };
    if scheme.eq_ignore_ascii_case(b"bearer") { Ok(rest) } else { Err(Credential::OtherScheme(scheme_name(scheme))) }
}

/// The scheme's name, if it is a registered one; anything else may be the secret itself, sent without a scheme.
fn scheme_name(scheme: &[u8]) -> String {
    SCHEMES
        .iter()
        .find(|known| scheme.eq_ignore_ascii_case(known.as_bytes()))
        .map_or_else(String::new, |known| (*known).to_owned())
}

/// Authentication schemes that may be named: IANA's registry, and four in common use.
pub(crate) const SCHEMES: &[&str] = &[
    "Basic",
    "Bearer",
    "Concealed",
    "Digest",
    "DPoP",
    "GNAP",
    "HOBA",
    "Mutual",
    "Negotiate",
    "NTLM",
    "OAuth",
    "PrivateToken",
    "SCRAM-SHA-1",
    "SCRAM-SHA-256",
    "vapid",
    "ApiKey",
    "AWS4-HMAC-SHA256",
    "Hawk",
    "Token",
];
