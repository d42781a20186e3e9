//! Journals that are redacted again: each entry is decoded, redacted and encoded, so that it stays an entry. A trail
//! gets a chain of its own, with another id: the old chain proves the old lines.

use std::{io, path::Path};

use super::{
    chain::{ChainHead, Line},
    lines::{CHAIN, is_entry, unmarked},
};
use crate::redact::{JudgedExchange, Redactor};
use crate::{
    exchange::Exchange,
    recording::{
        Check, Entry, JournalContext, Note, ReadError, WriteError, attest,
        disk::failed_to,
        entry::{decode::Shared, encode, style::Style},
        fixture::recheck::{clean, recomputed},
        read::entry_texts::EntryPosition,
        read::reader::Reader,
    },
};

/// Redacts the files of one journal or trail, in order.
pub struct Rewriter<'a> {
    redactor: &'a Redactor,
    check: Check<'a>,
    shared: Shared,
    /// The end of the new chain.
    head: ChainHead,
}

/// A journal that was redacted again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// Its text.
    pub text: Vec<u8>,
    /// Bytes of its torn last line, left out as the next start drops it.
    pub torn: u64,
}

impl<'a> Rewriter<'a> {
    /// `check` judges an entry as it will be read.
    #[must_use]
    pub fn new(redactor: &'a Redactor, check: Check<'a>) -> Self {
        Self { redactor, check, shared: Shared::new(None), head: ChainHead::default() }
    }

    /// The end of the new chain; of a journal without one, its beginning.
    #[must_use]
    pub fn head(&self) -> &ChainHead {
        &self.head
    }

    /// Redacts the next file, which is called `name`.
    ///
    /// # Errors
    ///
    /// A line is neither an entry nor any other line of a journal.
    pub fn segment(&mut self, name: &Path, text: &[u8]) -> Result<Rewritten, WriteError> {
        let mut reader = Reader::new(&name.display().to_string(), None);
        let (mut out, mut batch) = (Vec::with_capacity(text.len()), Vec::new());
        let mut index = 0;
        for (at, line) in unmarked(text).split_inclusive(|byte| *byte == b'\n').enumerate() {
            if !line.ends_with(b"\n") {
                out.append(&mut batch);
                return Ok(Rewritten { text: out, torn: line.len() as u64 });
            }
            if line.starts_with(CHAIN) {
                let adopted = serde_json::from_slice(line).is_ok_and(|line: Line| line.chain.adopted);
                self.link(at == 0, adopted, &mut batch, &mut out)
                    .map_err(failed_to("make an id for the copy of", name))?;
            } else if line.trim_ascii().is_empty() || !is_entry(line) {
                batch.extend_from_slice(line);
            } else {
                let position = EntryPosition { index, line: Some(at + 1), offset: 0 };
                index += 1;
                self.entry(&mut reader, name, line, position, &mut batch)?;
            }
        }
        out.append(&mut batch);
        Ok(Rewritten { text: out, torn: 0 })
    }

    /// Puts a link of the new chain behind the lines of a batch.
    fn link(&mut self, is_first: bool, adopted: bool, batch: &mut Vec<u8>, out: &mut Vec<u8>) -> io::Result<()> {
        self.head.identify()?;
        out.extend_from_slice(batch);
        if is_first {
            self.head.begin(out);
        } else {
            self.head.seal(batch, adopted, out);
        }
        batch.clear();
        Ok(())
    }

    fn entry(
        &mut self,
        reader: &mut Reader,
        name: &Path,
        line: &[u8],
        position: EntryPosition,
        out: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        let entry: Option<Entry> = reader.entry(line, position).map_err(|error: ReadError| WriteError::from(error))?;
        let Some(Entry { exchange, note: Some(note), .. }) = entry else {
            // Another tool's line has no verdict, and is edited in place like its HAR files.
            out.extend_from_slice(&self.redactor.file(&line.to_vec().into()).content);
            return Ok(());
        };
        let start = out.len();
        let before = self.own(exchange, note, name, out)?;
        if out[start..] == before {
            // Nothing was taken out. Encoded again, its time could differ in the last digit.
            out.truncate(start);
            out.extend_from_slice(line);
        }
        Ok(())
    }

    /// Appends an entry without its secrets; returns it as it was, in the same form.
    fn own(&mut self, exchange: Exchange, note: Note, name: &Path, out: &mut Vec<u8>) -> Result<Vec<u8>, WriteError> {
        let unknown = || "".into();
        let context = JournalContext {
            upstream: note.upstream.unwrap_or_else(unknown),
            contract: note.contract.unwrap_or_else(unknown),
        };
        let mut before = Vec::new();
        let style = Style::Journal { context: &context, token: None };
        encode::entry(&exchange, &note.verdict, note.attested.as_ref(), style, &mut before);
        before.push(b'\n');
        let judged = self.redactor.redact(JudgedExchange::new(exchange, note.verdict));
        let attested = if *context.contract == *self.check.contract {
            let recomputed = recomputed(&judged, style, self.check, &mut self.shared, name)?;
            attest(&judged.verdict, &recomputed, self.check.contract)
        } else {
            note.attested.map(|attested| clean(attested, self.redactor))
        };
        encode::encode(&judged, attested.as_ref(), &context, out);
        Ok(before)
    }
}

impl std::fmt::Debug for Rewriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rewriter").field("head", &self.head).finish_non_exhaustive()
    }
}
