//! What the calls decide, and the call that would decide the rest.

use serde_json::{Value, json};

/// Maximum scopes that a sentence lists.
const MAX_NAMES: usize = 3;

/// What the calls decide.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::learn) enum Decision {
    /// This scope is required.
    Requires(String),
    Open(Undecided),
}

/// What is not decided, and the call that would decide it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::learn) struct Undecided {
    /// One of these may be required.
    pub(super) candidates: Vec<String>,
    pub(super) why: &'static str,
    /// `None` where no further call decides it.
    pub(super) next: Option<NextCall>,
}

/// The call that would decide, or come nearest to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NextCall {
    /// Scopes of its token.
    pub(super) with: Vec<String>,
    /// Scopes that its token lacks.
    pub(super) without: Vec<String>,
    /// With which outcomes it decides.
    pub(super) decides_if: Vec<&'static str>,
}

impl Undecided {
    /// The values of the overlay's `x-contrail-undecided`.
    pub(in crate::learn) fn json(&self, method: &str, path: &str) -> Value {
        let Self { candidates, why, next } = self;
        let call = next.as_ref().map(|NextCall { with, without, decides_if }| {
            let token = json!({"with": with, "without": without});
            json!({"method": method, "path": path, "token": token, "decides-if": decides_if})
        });
        json!({"fact": "required-scope", "candidates": candidates, "because": why, "deciding-call": call})
    }

    /// The same in a sentence.
    pub(in crate::learn) fn sentence(&self, method: &str, path: &str) -> String {
        let Self { candidates, why, next } = self;
        let list = |scopes: &[String]| {
            let mut names: Vec<String> = scopes.iter().take(MAX_NAMES).map(|one| format!("`{one}`")).collect();
            if scopes.len() > MAX_NAMES {
                names.push(format!("{} more", scopes.len() - MAX_NAMES));
            }
            names.join(", ")
        };
        let subject = if candidates.is_empty() { String::new() } else { format!("{}: ", list(candidates)) };
        let undecided = format!("the required scope is undecided: {subject}{why}");
        let Some(NextCall { with, without, decides_if }) = next else {
            return format!("{undecided}; no further call decides it");
        };
        let token = match (&with[..], &without[..]) {
            ([], []) => "a token whose scopes are known".to_owned(),
            ([], without) => format!("a token without {}", list(without)),
            (with, []) => format!("a token with {} and no other scope", list(with)),
            (with, without) => format!("a token with {} and without {}", list(with), list(without)),
        };
        let decides = match decides_if[..] {
            [] => "next call",
            ["accepted"] => "this call decides it if the tenant accepts it",
            ["refused"] => "this call decides it if the tenant refuses it",
            _ => "this call would decide it",
        };
        format!("{undecided}; {decides}: {method} {path} with {token}")
    }
}
