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
    let (scheme, rest) = split(value);
    if scheme.eq_ignore_ascii_case(b"bearer") {
        return Ok(rest);
    }
    // Anything that is no known scheme may be the secret itself, sent without one.
    Err(Credential::OtherScheme(known_scheme(scheme).unwrap_or_default().to_owned()))
}

/// What an `Authorization` value has after this scheme, maybe nothing; `None` if it has another scheme.
pub(crate) fn credentials<'v>(value: &'v [u8], scheme: &str) -> Option<&'v [u8]> {
    let (held, rest) = split(value);
    held.eq_ignore_ascii_case(scheme.as_bytes()).then_some(rest)
}

/// The scheme of an `Authorization` value, and what follows it.
fn split(value: &[u8]) -> (&[u8], &[u8]) {
    let value = value.trim_ascii();
    let end = value.iter().position(|byte| *byte == b' ' || *byte == b'\t').unwrap_or(value.len());
    (&value[..end], value[end..].trim_ascii())
}

/// The name of one of [`SCHEMES`], in any case, as it is registered.
pub(crate) fn known_scheme(name: &[u8]) -> Option<&'static str> {
    SCHEMES.iter().copied().find(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// Authentication schemes that may be named: IANA's registry, and four in common use.
const SCHEMES: &[&str] = &[
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
