//! What a refusal says: which reason its words state.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher},
};

use contrail_exchange::Response;

use super::named::{is_step_up, mentions_scope, named};

/// What a refusal says.
pub(in crate::learn) struct Words {
    pub(super) text: u64,
    pub(super) reason: Reason,
    /// The scopes that it names.
    pub(super) names: BTreeSet<String>,
}

/// What a refusal states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// A scope is missing.
    Scope,
    /// Only that it is one.
    None,
    /// Anything else.
    Other,
}

/// The words of a refusal without a reason, and of the fields that hold them. A missing permission is none: it is what
/// many tenants call a missing scope.
const PLAIN: [&str; 40] = [
    "a",
    "access",
    "action",
    "allowed",
    "authorized",
    "caller",
    "code",
    "complete",
    "denied",
    "detail",
    "do",
    "does",
    "don",
    "error",
    "errors",
    "for",
    "forbidden",
    "has",
    "have",
    "insufficient",
    "is",
    "message",
    "missing",
    "not",
    "operation",
    "perform",
    "permission",
    "permissions",
    "privileges",
    "request",
    "resource",
    "status",
    "statuscode",
    "t",
    "the",
    "this",
    "title",
    "to",
    "token",
    "you",
];

impl Words {
    pub(in crate::learn) fn of(response: &Response) -> Self {
        let challenges = response.headers.get_all("www-authenticate").map(http::HeaderValue::as_bytes);
        let mut text = String::new();
        for part in challenges.chain([&*response.body.content]) {
            // Numbers are ids, instants and counters.
            let part = String::from_utf8_lossy(part);
            text.extend(part.chars().filter(|sign| !sign.is_ascii_digit()).map(|sign| sign.to_ascii_lowercase()));
        }
        let (reason, names) = if is_step_up(response) {
            (Reason::Other, BTreeSet::new())
        } else if mentions_scope(&text) {
            (Reason::Scope, named(response))
        } else {
            let words = text.split(|sign: char| !sign.is_ascii_alphabetic()).filter(|word| !word.is_empty());
            let mut unknown = words.filter(|word| PLAIN.binary_search(word).is_err());
            (if unknown.next().is_none() { Reason::None } else { Reason::Other }, BTreeSet::new())
        };
        Self { text: hash(text.as_bytes()), reason, names }
    }

    /// Whether it states that a scope is missing.
    pub(in crate::learn) fn mentions_scope(&self) -> bool {
        self.reason == Reason::Scope
    }
}

/// The same in every process.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_without_a_reason_are_in_the_order_of_the_search() {
        assert!(PLAIN.is_sorted());
    }
}
