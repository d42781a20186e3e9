//! Entries on their way into a journal: encoded by as many threads as there are, written by one.

use contrail_redact::{JudgedExchange, Redacted};

use super::{
    chain::line_digest,
    unrecorded::{self, Unrecorded},
};
use crate::{
    Attested, JournalContext,
    entry::{encode, encode_note::Tokens},
};

/// Entries that are encoded and in no file yet.
#[derive(Debug, Default)]
pub struct EntryBatch {
    /// Whole lines.
    pub lines: Vec<u8>,
    /// The digest of each line, of a trail.
    pub(super) digests: Vec<String>,
    pub(super) exchanges: Option<Unrecorded>,
}

impl EntryBatch {
    /// Capacity that an empty batch keeps.
    const KEPT: usize = 1 << 20;

    /// Bytes of its entries.
    #[must_use]
    pub fn size(&self) -> usize {
        self.lines.len()
    }

    /// Takes all entries of another batch, behind its own.
    pub fn append(&mut self, other: &mut Self) {
        if self.lines.is_empty() {
            return std::mem::swap(self, other);
        }
        self.lines.append(&mut other.lines);
        self.digests.append(&mut other.digests);
        if let Some(exchanges) = other.exchanges.take() {
            unrecorded::add(&mut self.exchanges, exchanges);
        }
    }

    /// Drops all entries; what they were.
    pub fn clear(&mut self) -> Option<Unrecorded> {
        self.lines.clear();
        self.lines.shrink_to(Self::KEPT);
        self.digests.clear();
        self.exchanges.take()
    }
}

/// Encodes entries of a journal; each thread has its own.
#[derive(Debug)]
pub struct Encoder {
    context: JournalContext,
    tokens: Tokens,
    /// A trail's chain needs a digest of each line.
    is_chained: bool,
}

impl Encoder {
    pub(super) fn new(context: JournalContext, is_chained: bool) -> Self {
        Self { context, tokens: Tokens::default(), is_chained }
    }

    /// Another one for entries of the same journal.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::new(self.context.clone(), self.is_chained)
    }

    /// Adds an entry to a batch.
    pub fn encode(&mut self, judged: &Redacted<JudgedExchange>, attested: Option<&Attested>, batch: &mut EntryBatch) {
        let start = batch.lines.len();
        encode::encode_next(judged, attested, &self.context, &mut self.tokens, &mut batch.lines);
        if self.is_chained {
            batch.digests.push(line_digest(&batch.lines[start..]));
        }
        unrecorded::add(&mut batch.exchanges, Unrecorded::one(judged.exchange.started));
    }
}
