//! JSON as it was written: one strict pass over the bytes gives a flat tape of spans ([`Document`]).
//!
//! Tokens are never re-serialised: numbers keep their digits, objects their order and (told as an error) their
//! duplicates. The tape is what the judge walks (it implements `jsonschema`'s node trait), what redaction edits by
//! span, what matching compares by value, and what the pretty layout of fixtures is made from.
//!
//! Strict means RFC 8259 and I-JSON's (RFC 7493) ban on duplicate keys, byte-order marks, lone surrogates and invalid
//! UTF-8. Any number that the grammar allows is well-formed. Nesting beyond [`MAX_DEPTH`] is a refusal of ours, not a
//! fault of the document.

/// Deepest nesting that is looked at.
pub const MAX_DEPTH: usize = 2000;

use std::{borrow::Cow, ops::Range};

use bytes::Bytes;

/// A parsed document: the source bytes and a tape of spans.
#[derive(Debug, Clone)]
pub struct Document {}

/// One value of a [`Document`]; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    document: &'a Document,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`, `false`
    Boolean,
    /// A number, by its text.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// Why bytes are no JSON document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub fault: Fault,
    /// Byte offset at which it was seen.
    pub offset: usize,
}

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
}

impl Document {
    /// Parses strictly, in one pass, without recursion.
    ///
    /// # Errors
    ///
    /// [`SyntaxError`] with the first fault's offset.
    pub fn parse(_source: impl Into<Bytes>) -> Result<Self, SyntaxError> {
        todo!()
    }

    /// The bytes that were parsed.
    #[must_use]
    pub fn source(&self) -> &Bytes {
        todo!()
    }

    /// The outermost value.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        todo!()
    }

    /// The value at a JSON pointer (RFC 6901), if there is one.
    #[must_use]
    pub fn pointer(&self, _pointer: &str) -> Option<Node<'_>> {
        todo!()
    }
}

#[allow(clippy::unused_self)]
impl<'a> Node<'a> {
    /// Its type.
    #[must_use]
    pub fn kind(self) -> Kind {
        todo!()
    }

    /// Where it stands in the source, quotes and brackets included.
    #[must_use]
    pub fn span(self) -> Range<usize> {
        todo!()
    }

    /// Its text in the source.
    #[must_use]
    pub fn raw(self) -> &'a str {
        let _ = self.document;
        todo!()
    }

    /// The string's value, escapes undone.
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        todo!()
    }

    /// The boolean's value.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        todo!()
    }

    /// The number's text.
    #[must_use]
    pub fn as_number(self) -> Option<&'a str> {
        todo!()
    }

    /// Members of an object, in order (empty for anything else).
    pub fn members(self) -> impl Iterator<Item = (Cow<'a, str>, Node<'a>)> {
        std::iter::empty()
    }

    /// Items of an array, in order (empty for anything else).
    pub fn items(self) -> impl Iterator<Item = Node<'a>> {
        std::iter::empty()
    }

    /// How many members or items.
    #[must_use]
    pub fn len(self) -> usize {
        todo!()
    }

    /// Whether it has no members or items.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The member of this name.
    #[must_use]
    pub fn get(self, _name: &str) -> Option<Node<'a>> {
        todo!()
    }

    /// Appends the canonical text: members sorted by name, numbers by exact value (`-0` is `0`, `1.0` is `1`, `1e2` is
    /// `100e0`-free form), strings with minimal escapes, no white space. Two values are equal if and only if their
    /// canonical texts are.
    pub fn canonical(self, _out: &mut String) {
        todo!()
    }

    /// As `serde_json` sees it (numbers by text).
    #[must_use]
    pub fn to_value(self) -> serde_json::Value {
        todo!()
    }
}

/// Lays the document out for reading: two spaces, one member per line. Only white space outside strings changes.
#[must_use]
pub fn pretty(_document: &Document) -> Vec<u8> {
    todo!()
}

/// Takes out all white space between tokens.
#[must_use]
pub fn compact(_document: &Document) -> Vec<u8> {
    todo!()
}

/// Replaces spans (ascending, not overlapping) of `source`.
#[must_use]
pub fn splice(_source: &[u8], _edits: &[(Range<usize>, Vec<u8>)]) -> Vec<u8> {
    todo!()
}

/// Appends a JSON string literal, quotes included, with the minimal escapes of RFC 8259.
pub fn quote(_text: &str, _out: &mut String) {
    todo!()
}

/// Appends `/` and one reference token to a JSON pointer, escaped (RFC 6901, section 3).
pub fn push_pointer(_pointer: &mut String, _token: &str) {
    todo!()
}
