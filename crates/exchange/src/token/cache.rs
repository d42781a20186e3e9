//! Each distinct token is decoded (and its signature checked) once.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use ring::hmac;

use super::{Jwks, Recent, authorization, bearer, jwt};
use crate::{Credential, Headers, TokenFacts, TokenTime};

/// Decoded tokens by a keyed hash of their text. Bounded: beyond [`TokenCache::MAX_TOKENS`] the least recent half goes.
///
/// Of the most recent tokens the text is kept too, so that one that comes again is not hashed again. The process
/// forwards that text anyway, and redaction keeps it to find it again. Whether a token is inside its time is worked out
/// for each exchange.
pub struct TokenCache {
    key: hmac::Key,
    skew: Duration,
    keys: Option<Arc<Jwks>>,
    held: Mutex<Tokens>,
}

#[derive(Default)]
struct Tokens {
    /// By the whole value of the header.
    recent: Recent<CachedCredential>,
    all: Generations,
}

type Digest = [u8; 32];

/// Two generations: a hit in the older one moves to the newer; when that is full, it becomes the older.
#[derive(Default)]
struct Generations {
    recent: HashMap<Digest, CachedCredential>,
    older: HashMap<Digest, CachedCredential>,
}

/// What a token says; for one that has facts, also as it is outside its time, made when first asked for.
#[derive(Clone)]
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
    /// Maximum tokens of one generation.
    pub const MAX_TOKENS: usize = 4096;

    /// An empty cache. `skew` is the tolerance for `exp` and `nbf`; with `keys`, signatures are checked.
    ///
    /// # Panics
    ///
    /// Never in practice: only if the system has no random numbers to give.
    #[must_use]
    pub fn new(skew: Duration, keys: Option<Arc<Jwks>>) -> Self {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &ring::rand::SystemRandom::new())
            .expect("the system gives random numbers");
        Self { key, skew, keys, held: Mutex::default() }
    }

    /// What the `Authorization` header of a request says at the instant of its exchange.
    #[must_use]
    pub fn credential(&self, headers: &Headers, at: SystemTime) -> Credential {
        let value = match authorization(headers) {
            Ok(value) => value,
            Err(other) => return other,
        };
        if let Some(known) = self.lock().recent.get(value.as_bytes()) {
            return known.at(at, self.skew);
        }
        let token = match bearer(value.as_bytes()) {
            Ok(token) => token,
            Err(other) => return other,
        };
        let tag = hmac::sign(&self.key, token);
        let mut digest: Digest = [0; 32];
        digest.copy_from_slice(tag.as_ref());
        let mut held = self.lock();
        if let Some(known) = held.all.get(&digest) {
            let (known, credential) = (known.clone(), known.at(at, self.skew));
            held.recent.put(value.as_bytes(), known);
            return credential;
        }
        drop(held);
        // Decoding and checking a signature takes longer than anything else here: not under the lock.
        let mut decoded =
            CachedCredential { credential: jwt::decode(token, self.keys.as_deref()), expired: None, not_yet: None };
        let credential = decoded.at(at, self.skew);
        let mut held = self.lock();
        held.recent.put(value.as_bytes(), decoded.clone());
        held.all.insert(digest, decoded);
        credential
    }

    /// How many tokens are held.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        let Generations { recent, older } = &self.lock().all;
        recent.len() + older.len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Tokens> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn get(&mut self, digest: &Digest) -> Option<&mut CachedCredential> {
        if let Some(known) = self.older.remove(digest) {
            self.insert(*digest, known);
        }
        self.recent.get_mut(digest)
    }

    fn insert(&mut self, digest: Digest, decoded: CachedCredential) {
        if self.recent.len() >= TokenCache::MAX_TOKENS {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(digest, decoded);
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
