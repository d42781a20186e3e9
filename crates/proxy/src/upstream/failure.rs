//! Why an upstream gave no answer.

use std::fmt;

use super::BodyError;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// The cause in words, naming the upstream.
    pub cause: String,
    /// Whether it was tried twice.
    pub retried: bool,
}

/// See [`Failure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Name resolution, connection or TLS handshake failed.
    Unreachable,
    /// It did not connect or answer in time.
    Timeout,
    /// It closed the connection, or what it sent is no HTTP response.
    Broken,
    /// As many requests are with it as may be.
    Busy,
    /// The request's body broke off (the client went away, or sent too much), so it was never whole.
    RequestAborted,
}

impl Failure {
    /// A failure of this kind.
    pub fn new(kind: FailureKind, cause: impl Into<String>) -> Self {
        Self { kind, cause: cause.into(), retried: false }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl std::error::Error for Failure {}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Self {
        Self::new(FailureKind::RequestAborted, error.to_string())
    }
}
