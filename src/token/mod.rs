//! Bearer tokens as seen from outside: what a JWT says of itself (RFC 7519), never the token.
//!
//! A live token is decoded once per distinct token ([`TokenCache`]); a fixture keeps only its public facts. Both give
//! the same [`Credential`], so authentication is judged by one piece of code.

mod base64url;
mod cache;
mod jwks;
mod jwt;
mod recent;
mod signer;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

pub use cache::TokenCache;
pub use jwks::{Jwks, JwksError};
pub(crate) use recent::Recent;
pub use signer::NoKey;
pub(crate) use signer::Signer;

use crate::exchange::{Credential, Headers, TokenFacts};

/// Why a bearer token is malformed that is not there at all.
pub(crate) const NO_TOKEN: &str = "there is no token after `Bearer`";

/// Decodes the `Authorization` header of a request at the instant of its exchange.
///
/// Without an instant the token's time is not judged ([`TokenTime::Valid`](crate::exchange::TokenTime::Valid)). For many
/// requests use a [`TokenCache`]. Of several `Authorization` headers nobody can say which one the tenant reads.
#[must_use]
pub fn decode(headers: &Headers, at: Option<SystemTime>, skew: Duration, keys: Option<&Jwks>) -> Credential {
    let decoded = match authorization(headers).and_then(|value| bearer(value.as_bytes())) {
        Err(other) => return other,
        Ok(token) => jwt::decode(token, keys),
    };
    match (decoded, at) {
        (Credential::Token(facts), Some(at)) if facts.time_at(at, skew) != facts.time => {
            Credential::Token(Arc::new(TokenFacts { time: facts.time_at(at, skew), ..(*facts).clone() }))
        }
        (decoded, _) => decoded,
    }
}

/// The `Authorization` header, if it is the only one.
fn authorization(headers: &Headers) -> Result<&http::HeaderValue, Credential> {
    let mut all = headers.get_all("authorization");
    match (all.next(), all.next()) {
        (None, _) => Err(Credential::Missing),
        (Some(value), None) => Ok(value),
        (Some(_), Some(_)) => Err(Credential::Unknown),
    }
}

/// The text of the bearer token, or what else the header says.
fn bearer(value: &[u8]) -> Result<&[u8], Credential> {
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

#[cfg(test)]
mod tests;
