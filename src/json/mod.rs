//! JSON as it was written: one strict pass over the bytes gives a flat tape of spans ([`Document`]).
//!
//! Tokens are never re-serialised: numbers keep their digits, objects their order and (told as an error) their
//! duplicates. The tape is what the judge walks ([`Tape`] implements `jsonschema`'s representation), what redaction
//! edits by span, what matching compares by value, and what the pretty layout of fixtures is made from.
//!
//! Strict means RFC 8259 and I-JSON's (RFC 7493) ban on duplicate keys, byte-order marks, lone surrogates and invalid
//! UTF-8. Any number that the grammar allows is well-formed. Nesting beyond [`MAX_DEPTH`] and sources beyond
//! [`MAX_SOURCE`] are refusals of ours, not faults of the document.

mod canonical;
mod compare;
mod layout;
pub mod lenient;
mod mend;
mod names;
mod node;
mod parse;
mod represent;
mod strings;
pub(crate) mod write;

use std::{borrow::Cow, fmt, ops::Range};

use bytes::Bytes;

pub use canonical::Number;
pub use compare::{Care, Change, changes};
pub use layout::{compact, pretty};
pub use node::{Entries, Items, Kind, Node};
pub use represent::{Leaf, Tape, TapeNode};
pub(crate) use strings::needs_escape;

use parse::Slot;

/// Deepest nesting that is parsed.
pub const MAX_DEPTH: usize = 2000;

/// Longest source that is looked at, in bytes.
pub const MAX_SOURCE: usize = 1 << 29;

/// A parsed document: the source bytes and a tape of spans.
#[derive(Debug, Clone)]
pub struct Document {
    source: Bytes,
    tape: Vec<Slot>,
    depth: usize,
    /// There are control characters: line ends and tabs between its tokens.
    controls: bool,
}

/// Why bytes are no JSON document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub fault: Fault,
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
pub enum Fault {
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

impl Fault {
    /// Whether this is a limit of ours, so that nothing is said about the document.
    #[must_use]
    pub fn is_limit(self) -> bool {
        matches!(self, Self::TooDeep | Self::TooLong)
    }
}

impl fmt::Display for Fault {
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

impl Document {
    /// Parses strictly, in one pass, without recursion.
    ///
    /// # Errors
    ///
    /// [`SyntaxError`] with a fault and its offset; where a document has several, the one that ended the pass.
    pub fn parse(source: impl Into<Bytes>) -> Result<Self, SyntaxError> {
        let source = source.into();
        let parse::Parsed { tape, depth, controls } = parse::parse(&source)?;
        Ok(Self { source, tape, depth, controls })
    }

    /// The bytes that were parsed.
    #[must_use]
    pub fn source(&self) -> &Bytes {
        &self.source
    }

    /// How many containers are nested in each other at the deepest place.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Its strings, names of members among them, in their order: each with its quotes, and whether it has escapes. `None`
    /// where there are control characters between its tokens.
    pub(crate) fn strings_without_controls(&self) -> Option<impl Iterator<Item = (Range<usize>, bool)>> {
        let strings = self.tape.iter().filter(|slot| slot.kind() == Kind::String);
        (!self.controls).then(|| strings.map(|slot| (slot.start as usize..slot.end as usize, slot.is_marked())))
    }

    /// The outermost value.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node::new(self, 0)
    }

    /// The value at a JSON pointer (RFC 6901), if there is one.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<Node<'_>> {
        if pointer.is_empty() {
            return Some(self.root());
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self.root(), |node, token| {
            let token = if token.contains('~') {
                Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
            } else {
                Cow::Borrowed(token)
            };
            match node.kind() {
                Kind::Object => node.get(&token),
                Kind::Array
                    if token == "0" || (!token.starts_with('0') && token.bytes().all(|b| b.is_ascii_digit())) =>
                {
                    node.items().nth(token.parse().ok()?)
                }
                _ => None,
            }
        })
    }
}

/// Replaces spans (ascending, not overlapping) of `source`.
#[must_use]
pub fn splice(source: &[u8], edits: &[(Range<usize>, Vec<u8>)]) -> Vec<u8> {
    let grown: usize = edits.iter().map(|(_, text)| text.len()).sum();
    let mut out = Vec::with_capacity(source.len() + grown);
    let mut copied = 0;
    for (span, text) in edits {
        debug_assert!(copied <= span.start && span.start <= span.end && span.end <= source.len());
        out.extend_from_slice(source.get(copied..span.start).unwrap_or_default());
        out.extend_from_slice(text);
        copied = span.end;
    }
    out.extend_from_slice(source.get(copied..).unwrap_or_default());
    out
}

/// Whether a text reads as a number, `true`, `false` or `null`, so that it needs its quotation marks to be told from one.
pub(crate) fn reads_as_another_scalar(text: &str) -> bool {
    matches!(text, "true" | "false" | "null") || serde_json::from_str::<serde_json::Number>(text).is_ok()
}

/// Appends a JSON string literal, quotes included, with the minimal escapes of RFC 8259.
pub fn quote(text: &str, out: &mut String) {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    write::string(text, &mut quoted);
    // The writer copies UTF-8 and adds ASCII.
    out.push_str(str::from_utf8(&quoted).unwrap_or_default());
}

/// Appends `/` and one reference token to a JSON pointer, escaped (RFC 6901, section 3).
pub fn push_pointer(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

#[cfg(test)]
mod tests;
