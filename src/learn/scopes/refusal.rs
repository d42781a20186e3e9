//! What a refusal says: which reason its words state.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use memchr::memmem;

use crate::exchange::Response;

/// What a refusal says.
pub(in crate::learn) struct Words {
    pub(super) text: u64,
    pub(super) reason: Reason,
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

/// The words of a refusal without a reason, and of the fields that hold them. A permission is none of them: a user may
/// lack one whose token lacks no scope.
const PLAIN: [&str; 29] = [
    "a",
    "access",
    "action",
    "allowed",
    "authorized",
    "code",
    "denied",
    "detail",
    "do",
    "error",
    "errors",
    "for",
    "forbidden",
    "have",
    "insufficient",
    "is",
    "message",
    "not",
    "operation",
    "perform",
    "request",
    "resource",
    "status",
    "statuscode",
    "the",
    "this",
    "title",
    "to",
    "you",
];

impl Words {
    pub(in crate::learn) fn of(response: &Response) -> Self {
        let challenges = response.headers.get_all("www-authenticate").map(http::HeaderValue::as_bytes);
        let mut text = Vec::new();
        for part in challenges.chain([&*response.body.content]) {
            // Numbers are ids, instants and counters.
            text.extend(part.iter().filter(|byte| !byte.is_ascii_digit()).map(u8::to_ascii_lowercase));
        }
        // `The scope of your subscription` is no scope of a token.
        let mut scopes = memmem::find_iter(&text, b"scope").map(|at| &text[at + b"scope".len()..]);
        let reason = if scopes.any(|after| !after.starts_with(b" of ")) {
            Reason::Scope
        } else {
            let words = text.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| !word.is_empty());
            let mut unknown = words.filter(|word| PLAIN.binary_search_by(|plain| plain.as_bytes().cmp(word)).is_err());
            if unknown.next().is_none() { Reason::None } else { Reason::Other }
        };
        Self { text: hash(&text), reason }
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
