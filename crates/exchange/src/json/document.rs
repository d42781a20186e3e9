//! The document: its bytes and the tape of spans.

use bytes::Bytes;

use super::{error::SyntaxError, parse, slot::Slot};

/// A parsed document: the source bytes and a tape of spans.
#[derive(Debug, Clone)]
pub struct Document {
    pub(super) source: Bytes,
    pub(super) tape: Vec<Slot>,
    pub(super) depth: usize,
    /// There are control characters: line ends and tabs between its tokens.
    pub(super) controls: bool,
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
}
