//! Bearer tokens as seen from outside: what a JWT states about itself (RFC 7519), never the token.
//!
//! A live token is decoded once per distinct token ([`TokenCache`]); a fixture keeps only its public facts. Both give
//! the same [`Credential`], so authentication is judged by one piece of code.

mod base64url;
mod cache;
mod jwks;
mod jwt;
mod recent;
mod scheme;
mod signer;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

pub use cache::TokenCache;
pub use jwks::{Jwks, JwksError};
pub use recent::Recent;
pub use scheme::{NO_B64TOKEN, NO_TOKEN, basic_fault, credentials, known_scheme, split_scheme, user_digest};
use scheme::{authorization, bearer};
pub use signer::NoKey;
pub use signer::Signer;

use crate::{Credential, Headers, TokenFacts};

/// Decodes the `Authorization` header of a request at the instant of its exchange.
///
/// Without an instant the token's time is not judged ([`TokenTime::Valid`](crate::TokenTime::Valid)). For
/// many requests use a [`TokenCache`]. Of several `Authorization` headers it is unknown which one the tenant reads.
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

#[cfg(test)]
mod tests;
