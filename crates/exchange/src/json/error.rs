//! Why bytes are no JSON document, and the bounds of what is parsed.

use std::fmt;

/// Maximum nesting that is parsed.
pub const MAX_DEPTH: usize = 2000;

/// Longest source that is looked at, in bytes.
pub const MAX_SOURCE: usize = 1 << 29;

/// Why bytes are no JSON document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub fault: SyntaxFault,
    /// Byte offset at which it was seen.
    pub offset: usize,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.fault, self.offset)
    }
}

impl std::error::Error for SyntaxError {}

/// What is wrong with a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyntaxFault {
    /// The grammar of RFC 8259 is broken.
    Grammar,
    /// An object names a member twice.
    DuplicateKey,
    /// It starts with a byte-order mark.
    ByteOrderMark,
    /// A `\u` escape is half of a surrogate pair.
    LoneSurrogate,
    /// Invalid UTF-8.
    Utf8,
    /// Nested deeper than [`MAX_DEPTH`]; a limit of ours, not a fault of the document.
    TooDeep,
    /// Longer than [`MAX_SOURCE`]; a limit of ours, not a fault of the document.
    TooLong,
}

impl SyntaxFault {
    /// Whether this is a limit of ours, so that it is no verdict on the document.
    #[must_use]
    pub fn is_limit(self) -> bool {
        matches!(self, Self::TooDeep | Self::TooLong)
    }
}

impl fmt::Display for SyntaxFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Grammar => "a syntax error",
            Self::DuplicateKey => "a duplicate key",
            Self::ByteOrderMark => "a byte-order mark",
            Self::LoneSurrogate => "half of a surrogate pair",
            Self::Utf8 => "invalid UTF-8",
            Self::TooDeep => "nesting beyond contrail's limit",
            Self::TooLong => "more text than contrail's limit",
        })
    }
}
