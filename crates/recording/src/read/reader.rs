//! Reads an entry from its text.

use std::{path::PathBuf, sync::Arc};

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
}

impl Reader {
    /// Body files are looked for in `folder`.
    pub(crate) fn new(name: &str, folder: Option<PathBuf>) -> Self {
        Self { name: name.into(), shared: Shared::new(folder), is_file: false }
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
        // Each entry of a large file may be at fault: the file is read again only for one that shows why.
        let marks = [&b"<<<<<<<"[..], b"=======", b">>>>>>>"];
        let in_conflict = text.split(|byte| *byte == b'\n').any(|line| marks.iter().any(|mark| line.starts_with(mark)));
        Err(if in_conflict { ReadError::of_file(&self.name, fault) } else { self.fail(fault) })
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

    pub(crate) fn fail(&self, fault: ReadFault) -> ReadError {
        ReadError { source_name: self.name.to_string(), fault }
    }
}
