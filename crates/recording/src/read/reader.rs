//! Reads an entry from its text.

use std::{num::NonZero, path::PathBuf, sync::Arc};

use contrail_exchange::{Exchange, digest::Digests};

use crate::{
    Entry, ReadError, ReadFault,
    entry::{
        EntryFault,
        decode::{self, Converted, Shared},
    },
    read::entry_texts::EntryPosition,
};

/// Makes entries of their texts.
#[derive(Clone)]
pub(crate) struct Reader {
    name: Arc<str>,
    pub(super) shared: Shared,
    /// It reads a file, whose head was searched for tokens behind its entries, too.
    pub(super) is_file: bool,
    digests: Digests,
}

impl Reader {
    /// Body files are looked for in `folder`.
    pub(crate) fn new(name: &str, folder: Option<PathBuf>) -> Self {
        Self { name: name.into(), shared: Shared::new(folder), is_file: false, digests: Digests::default() }
    }

    /// The entry of a text; `None` if it is not HTTP.
    pub(crate) fn entry(&mut self, text: &[u8], position: EntryPosition) -> Result<Option<Entry>, ReadError> {
        let index = position.index;
        let note = |reason| match position.line {
            None => ReadFault::Note { index, reason },
            Some(line) => ReadFault::Line { line, reason },
        };
        let fault = match decode::entry(text, &mut self.shared) {
            Ok(Converted::NotHttp) => return Ok(None),
            Ok(Converted::Exchange(converted)) => {
                let (exchange, note) = *converted;
                return Ok(Some(Entry { index, line: position.line, exchange, note }));
            }
            Err(EntryFault::Version(found)) => ReadFault::Version { found },
            Err(EntryFault::BodyFile { file, reason }) => ReadFault::BodyFile { index, file, reason },
            Err(EntryFault::Token(label)) => note(self.unlisted(&label, position.line.is_some())),
            Err(EntryFault::Entry(reason)) if position.line.is_none() => ReadFault::Entry { index, reason },
            Err(EntryFault::Entry(reason) | EntryFault::Note(reason)) => note(reason),
        };
        Err(self.fail(fault))
    }

    /// Why a token's label stands for nothing, and what to do about it.
    fn unlisted(&self, label: &str, in_journal: bool) -> String {
        match (in_journal, self.is_file) {
            (true, _) => format!(
                "its token is the label `{label}`, which only a HAR file explains; name the file that the entry comes from"
            ),
            (false, true) => {
                format!("its token `{label}` is not in `log._contrail.tokens`; restore the file from a copy")
            }
            (false, false) => format!(
                "its token `{label}` is not in `log._contrail.tokens`; standard input and pipes need it before `log.entries`"
            ),
        }
    }

    /// As [`Reader::entry`], with where to find it again.
    pub(crate) fn placed(
        &mut self,
        text: &[u8],
        position: EntryPosition,
    ) -> Result<Option<(Entry, EntryRef)>, ReadError> {
        let asked = self.shared.files.asked();
        let entry = self.entry(text, position)?;
        Ok(entry.map(|entry| {
            let has_files = self.shared.files.asked() != asked;
            let digest = digest(&self.digests, text, &entry, has_files);
            (entry, EntryRef::new(position, text.len(), digest))
        }))
    }

    pub(crate) fn fail(&self, fault: ReadFault) -> ReadError {
        ReadError { source_name: self.name.to_string(), fault }
    }
}

/// Where an entry stands in its file, and what it was when it was first read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryRef {
    /// As of [`EntryPosition`], in as few bytes as a file of four billion entries needs.
    index: u32,
    line: Option<NonZero<u32>>,
    offset: u64,
    digest: u64,
    /// Bytes of its text.
    length: NonZero<u32>,
}

/// The digest of an entry: its text, and what of it stands in body files. Tells entries that changed from those that
/// did not.
fn digest(digests: &Digests, text: &[u8], entry: &Entry, has_files: bool) -> u64 {
    let digest = digests.of(text);
    if !has_files {
        return digest;
    }
    let Exchange { request, response, .. } = &entry.exchange;
    let digest = digests.and(digest, &request.body.content);
    digests.and(digest, response.as_ref().map_or(&[], |response| &response.body.content))
}

impl EntryRef {
    fn new(position: EntryPosition, length: usize, digest: u64) -> Self {
        let EntryPosition { index, line, offset } = position;
        let short = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let length = NonZero::new(short(length)).unwrap_or(NonZero::<u32>::MIN);
        Self { index: short(index), line: line.and_then(|line| NonZero::new(short(line))), offset, digest, length }
    }

    /// Its index in its recording.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index as usize
    }

    pub(super) fn length(&self) -> usize {
        self.length.get() as usize
    }

    pub(super) fn position(&self) -> EntryPosition {
        let line = self.line.map(|line| line.get() as usize);
        EntryPosition { index: self.index(), line, offset: self.offset }
    }
}
