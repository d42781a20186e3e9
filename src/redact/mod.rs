//! Redaction: an [`Exchange`] with its [`Verdict`] goes in, a [`Redacted`] one comes out, the only type that writers,
//! console and reports accept.
//!
//! Structural, never a pattern over a finished line: by field (headers, form fields, JSON members, query parameters)
//! and by value (a secret once recognised is replaced wherever it comes again, in any encoding). Labels are stable
//! within a recording, keep the JSON type, fit the schema's bounds, and never show the secret's length.

use std::ops::Deref;

use crate::{exchange::Exchange, finding::Verdict};

/// A value from which the secrets are gone. Nothing outside this module can make one.
#[derive(Debug, Clone)]
pub struct Redacted<T>(T);

impl<T> Deref for Redacted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Redacted<T> {
    /// The value, no longer proven clean by its type.
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// An exchange with what the check said about it.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The exchange.
    pub exchange: Exchange,
    /// What the check said.
    pub verdict: Verdict,
}

/// What the redaction of a recording works by: the built-in rules and what `--redact` adds. Compiled once.
#[derive(Debug)]
pub struct Plan {}

/// Bounds that a label has to fit, taken from the contract by the pipeline (this module knows no contract).
pub trait Shapes: Send + Sync {
    /// Length bounds in characters and a sample that fits, for the value at `pointer` of a body of `operation`.
    fn bounds(&self, operation: &str, response: bool, pointer: &str) -> Bounds;
}

/// See [`Shapes::bounds`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Fewest characters.
    pub min: Option<usize>,
    /// Most characters.
    pub max: Option<usize>,
}

/// A recording's memory of secrets and their labels, shared by all its exchanges.
#[derive(Debug)]
pub struct Redactor {}

impl Redactor {
    /// Takes the secrets out of an exchange and of what the check said about it. Idempotent.
    #[must_use]
    pub fn redact(&self, _judged: Judged) -> Redacted<Judged> {
        todo!()
    }

    /// Takes known secrets, in any encoding, out of a text for people (an error, a URL).
    #[must_use]
    pub fn text(&self, _text: &str) -> Redacted<String> {
        todo!()
    }

    /// The same plan on a live request before it is matched against a fixture, so redaction never breaks replay.
    #[must_use]
    pub fn request(&self, _request: &crate::exchange::Request) -> crate::exchange::Request {
        todo!()
    }
}
