//! The `Authorization` header (RFC 9110, 11.6.2): its scheme, and the text of a bearer token (RFC 6750, 2.1).

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ring::digest::{SHA256, digest};

use crate::{Credential, Headers, hex::hex};

/// Why a bearer token is malformed that is not there at all.
pub const NO_TOKEN: &str = "there is no token after `Bearer`";

/// Why a text after `Bearer` is malformed as a token of any kind.
pub const NO_B64TOKEN: &str = "it has a character that no bearer token has";

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
    let (scheme, rest) = split_scheme(value);
    if scheme.eq_ignore_ascii_case(b"bearer") {
        return Ok(rest);
    }
    // Anything that is no known scheme may be the secret itself, sent without one.
    let user = scheme.eq_ignore_ascii_case(b"basic").then(|| user(rest)).flatten();
    Err(Credential::OtherScheme { scheme: known_scheme(scheme).unwrap_or_default().to_owned(), user })
}

/// A short digest of the user of a Basic credential (RFC 7617). Without a password the user is the secret.
fn user(encoded: &[u8]) -> Option<String> {
    let text = BASE64_STANDARD.decode(encoded).ok()?;
    let colon = memchr::memchr(b':', &text).filter(|colon| colon + 1 < text.len())?;
    Some(user_digest(&text[..colon]))
}

/// Eight digits of a user's name: enough to tell users apart, too little to be the name.
pub fn user_digest(name: &[u8]) -> String {
    hex(&digest(&SHA256, name).as_ref()[..4])
}

/// What an `Authorization` value has after this scheme, maybe nothing; `None` if it has another scheme.
pub fn credentials<'v>(value: &'v [u8], scheme: &str) -> Option<&'v [u8]> {
    let (held, rest) = split_scheme(value);
    held.eq_ignore_ascii_case(scheme.as_bytes()).then_some(rest)
}

/// Whether a text is a `b64token` (RFC 6750, section 2.1).
pub(super) fn is_b64token(text: &[u8]) -> bool {
    let unpadded = text.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(byte);
    unpadded > 0 && text[..unpadded].iter().all(is_of_token)
}

/// Why a text after `Basic` is no user and password (RFC 7617, section 2).
pub fn basic_fault(credentials: &[u8]) -> Option<&'static str> {
    let Ok(text) = BASE64_STANDARD.decode(credentials) else { return Some("it is not base64") };
    if !text.contains(&b':') {
        return Some("it has no colon");
    }
    text.iter().any(u8::is_ascii_control).then_some("it has a control character")
}

/// The scheme of an `Authorization` value, and what follows it.
pub fn split_scheme(value: &[u8]) -> (&[u8], &[u8]) {
    let value = value.trim_ascii();
    let end = value.iter().position(|byte| *byte == b' ' || *byte == b'\t').unwrap_or(value.len());
    (&value[..end], value[end..].trim_ascii())
}

/// The name of one of [`SCHEMES`], in any case, as it is registered.
pub fn known_scheme(name: &[u8]) -> Option<&'static str> {
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
