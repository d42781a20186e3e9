//! The error of a lenient reading.

use std::fmt;

use serde::de;

/// Why text is not the value that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LenientError {
    /// It ends in the middle.
    Cut,
    /// It is not JSON.
    Grammar,
    /// A string that is asked for as text holds half of a surrogate pair.
    Surrogate,
    /// It is another value: a member is missing or of another type.
    Shape,
    /// A member that is read has this name twice.
    Duplicate(&'static str),
}

impl fmt::Display for LenientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut => f.write_str("it ends in the middle"),
            Self::Grammar => f.write_str("it is not valid JSON"),
            Self::Surrogate => f.write_str("a string holds half of a surrogate pair"),
            Self::Shape => f.write_str("a member is missing or of another type"),
            Self::Duplicate(name) => write!(f, "duplicate member `{name}`"),
        }
    }
}

impl std::error::Error for LenientError {}

impl de::Error for LenientError {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Shape
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::Duplicate(name)
    }
}
