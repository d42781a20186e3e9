//! Entries that are read a second time, one by one, so that a long recording need not stay in memory.
//!
//! A file may be written to while it is in use. Each entry is read again from the file that was opened first (whatever
//! its name names now), and counts only if it is what it was.

use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    sync::{Arc, Mutex, PoisonError},
};

use super::reader::{EntryRef, Reader};
use crate::{Entry, ReadError, ReadFault};

/// A recording whose entries can be read again.
pub struct Rereader {
    file: Arc<File>,
    reader: Mutex<Reader>,
    change: Option<Change>,
}

/// What is done to an entry once it is read.
type Change = Box<dyn Fn(&mut Entry) + Send + Sync>;

impl Rereader {
    pub(crate) fn new(file: Arc<File>, reader: Reader) -> Self {
        Self { file, reader: Mutex::new(reader), change: None }
    }

    /// The same; `change` is done to each entry.
    #[must_use]
    pub fn changing(self, change: impl Fn(&mut Entry) + Send + Sync + 'static) -> Self {
        Self { change: Some(Box::new(change)), ..self }
    }

    /// Reads an entry again.
    ///
    /// # Errors
    ///
    /// [`ReadFault::Changed`] if it is not what it was any more; others if it can no longer be read at all.
    pub fn entry(&self, entry_ref: &EntryRef) -> Result<Entry, ReadError> {
        let position = entry_ref.position();
        let mut text = vec![0; entry_ref.length()];
        let read = self.file.read_exact_at(&mut text, position.offset);
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        read.map_err(|_| reader.fail(ReadFault::Changed { index: position.index }))?;
        match reader.placed(&text, position) {
            Ok(Some((mut entry, found))) if found == *entry_ref => {
                self.change.iter().for_each(|change| change(&mut entry));
                Ok(entry)
            }
            Ok(_) | Err(_) => Err(reader.fail(ReadFault::Changed { index: position.index })),
        }
    }
}

impl std::fmt::Debug for Rereader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rereader").field("file", &self.file).finish_non_exhaustive()
    }
}
