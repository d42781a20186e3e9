//! What goes wrong with a broker, in words; never with a credential.

use std::{error::Error, fmt};

use super::Address;

/// Why a broker could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsError(String);

impl NatsError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    pub(super) fn connect(address: &Address, error: impl Error) -> Self {
        Self(format!("cannot connect to {address}: {}", chain(&error)))
    }

    pub(super) fn of_stream(address: &Address, doing: &str, error: impl Error) -> Self {
        Self(format!("cannot {doing} the stream {} at {address}: {}", address.stream, chain(&error)))
    }
}

impl fmt::Display for NatsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for NatsError {}

/// An error with its causes, each once: the library repeats some.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = next.source();
    }
    text
}
