//! Who sends a request, as its `Authorization` header says: the public facts of a token, never the token.
//!
//! Units: seconds since the epoch as in the token, [`SystemTime`] for the instant of an exchange.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

/// What the `Authorization` header of a request says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Credential {
    /// There is no header.
    #[default]
    Missing,
    /// There is a header of another scheme than Bearer, or an empty one.
    OtherScheme {
        /// The scheme's name if it is a registered one.
        scheme: String,
        /// A short digest of the user name of a Basic credential with a password; it tells users apart.
        user: Option<String>,
    },
    /// A bearer token that is no JWT, with a reason without the token's text. Only a contract can say whether it had to
    /// be one.
    Malformed(String),
    /// An encrypted token (JWE), whose scopes cannot be read.
    Encrypted,
    /// A JWT.
    Token(Arc<TokenFacts>),
    /// It is unknown: the file's producer leaves the header out or masks it, or several came.
    Unknown,
}

impl Credential {
    /// Another scheme, of which no user is known.
    #[must_use]
    pub fn other_scheme(scheme: impl Into<String>) -> Self {
        Self::OtherScheme { scheme: scheme.into(), user: None }
    }

    /// The facts, if there is a token that can be read.
    #[must_use]
    pub fn facts(&self) -> Option<&TokenFacts> {
        match self {
            Self::Token(facts) => Some(facts),
            _ => None,
        }
    }
}

/// A token's public facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenFacts {
    /// `azp`, `client_id`, or `sub` without `@clients`.
    pub client: Option<String>,
    /// A short digest of `sub` where it is not the client; it tells the users of a client apart.
    pub user: Option<String>,
    /// From `scope` (string or array), `scp` and `permissions`, sorted, without repeats; `None` if it has none of them.
    pub scopes: Option<Vec<String>>,
    /// `iss`.
    pub issuer: Option<String>,
    /// `aud`.
    pub audience: Vec<String>,
    /// `iat`, seconds since the epoch.
    pub issued_at: Option<i64>,
    /// `nbf`, seconds since the epoch.
    pub not_before: Option<i64>,
    /// `exp`, seconds since the epoch.
    pub expires_at: Option<i64>,
    /// `exp` − `iat` in seconds; what a fixture keeps of the three.
    pub lifetime: Option<i64>,
    /// Whether it was inside its time at the instant of the exchange.
    pub time: TokenTime,
    /// Whether its signature was checked.
    pub signature: SignatureCheck,
    /// Its `kid`, where keys were given of which none has it: why its signature was not checked. No file keeps it.
    pub unknown_key: Option<String>,
}

impl TokenFacts {
    /// The texts that the token claims: client, issuer, audiences, scopes.
    pub fn claims(&self) -> impl Iterator<Item = &String> {
        let texts = [&self.client, &self.issuer].into_iter().flatten();
        texts.chain(&self.audience).chain(self.scopes.iter().flatten())
    }

    /// The same, to be changed.
    pub fn claims_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let texts = [&mut self.client, &mut self.issuer].into_iter().flatten();
        texts.chain(&mut self.audience).chain(self.scopes.iter_mut().flatten())
    }
}

/// Whether a token was inside its time (`nbf` to `exp`) at the instant of its exchange.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenTime {
    /// Inside, or the token states no bounds.
    #[default]
    Valid,
    /// After `exp`.
    Expired,
    /// Before `nbf`.
    NotYet,
}

impl TokenTime {
    /// The word in files: `valid`, `expired` or `not-yet`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Expired => "expired",
            Self::NotYet => "not-yet",
        }
    }

    /// The outcome of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Valid, Self::Expired, Self::NotYet].into_iter().find(|time| time.name() == name)
    }
}

/// What is known of a token's signature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SignatureCheck {
    /// No keys were given, or none that it could be checked with.
    #[default]
    NotChecked,
    /// A key verifies it.
    Good,
    /// No key verifies it.
    Bad,
}

impl SignatureCheck {
    /// The word in files: `not-checked`, `good` or `bad`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotChecked => "not-checked",
            Self::Good => "good",
            Self::Bad => "bad",
        }
    }

    /// The outcome of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::NotChecked, Self::Good, Self::Bad].into_iter().find(|check| check.name() == name)
    }
}

impl TokenFacts {
    /// Whether the token is inside its time at `at`: not before `nbf`, and before `exp` (RFC 7519, sections 4.1.4 and
    /// 4.1.5), each with `skew` of tolerance.
    #[must_use]
    pub fn time_at(&self, at: SystemTime, skew: Duration) -> TokenTime {
        let nanos = |seconds: i64| i128::from(seconds) * 1_000_000_000;
        let at = nanos_since_epoch(at);
        let skew = i128::try_from(skew.as_nanos()).unwrap_or(i128::MAX / 4);
        if self.expires_at.is_some_and(|exp| at >= nanos(exp) + skew) {
            TokenTime::Expired
        } else if self.not_before.is_some_and(|nbf| at < nanos(nbf) - skew) {
            TokenTime::NotYet
        } else {
            TokenTime::Valid
        }
    }
}

fn nanos_since_epoch(at: SystemTime) -> i128 {
    let nanos = |duration: Duration| i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX / 4);
    match at.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => nanos(after),
        Err(before) => -nanos(before.duration()),
    }
}
