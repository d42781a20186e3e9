//! The error of a lenient reading.

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
