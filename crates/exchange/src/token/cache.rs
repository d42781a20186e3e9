//! Each distinct token is decoded (and its signature checked) once.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use super::{Jwks, Recent, authorization, bearer, jwt};
use crate::{Credential, Headers, TokenFacts, TokenTime};

/// Decoded tokens by the whole value of the header, the most recent ones. The process forwards that text anyway, and
/// redaction keeps it to find it again. Whether a token is inside its time is worked out for each exchange.
pub struct TokenCache {
    skew: Duration,
    keys: Option<Arc<Jwks>>,
    held: Mutex<Recent<CachedCredential>>,
}

/// What a token says; for one that has facts, also as it is outside its time, made when first asked for.
struct CachedCredential {
    credential: Credential,
    expired: Option<Credential>,
    not_yet: Option<Credential>,
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenCache").field("skew", &self.skew).finish_non_exhaustive()
    }
}

impl TokenCache {
    /// An empty cache. `skew` is the tolerance for `exp` and `nbf`; with `keys`, signatures are checked.
    #[must_use]
    pub fn new(skew: Duration, keys: Option<Arc<Jwks>>) -> Self {
        Self { skew, keys, held: Mutex::default() }
    }

    /// What the `Authorization` header of a request says at the instant of its exchange.
    #[must_use]
    pub fn credential(&self, headers: &Headers, at: SystemTime) -> Credential {
        let value = match authorization(headers) {
            Ok(value) => value,
            Err(other) => return other,
        };
        if let Some(known) = self.lock().get(value.as_bytes()) {
            return known.at(at, self.skew);
        }
        let token = match bearer(value.as_bytes()) {
            Ok(token) => token,
            Err(other) => return other,
        };
        // Decoding and checking a signature takes longer than anything else here: not under the lock.
        let mut decoded =
            CachedCredential { credential: jwt::decode(token, self.keys.as_deref()), expired: None, not_yet: None };
        let credential = decoded.at(at, self.skew);
        self.lock().put(value.as_bytes(), decoded);
        credential
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Recent<CachedCredential>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedCredential {
    fn at(&mut self, at: SystemTime, skew: Duration) -> Credential {
        let Credential::Token(facts) = &self.credential else { return self.credential.clone() };
        let outside = match facts.time_at(at, skew) {
            TokenTime::Valid => return self.credential.clone(),
            TokenTime::Expired => (&mut self.expired, TokenTime::Expired),
            TokenTime::NotYet => (&mut self.not_yet, TokenTime::NotYet),
        };
        outside
            .0
            .get_or_insert_with(|| Credential::Token(Arc::new(TokenFacts { time: outside.1, ..(**facts).clone() })))
            .clone()
    }
}
