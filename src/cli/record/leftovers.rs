//! Moves aside what killed runs left while `--overwrite` records in its place.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use contrail_recording::SetAside;

/// Left-over journals under other names: `PATH.before.journal`, `PATH.before-2.journal` and so on. They go when a
/// recording has replaced them; if none has, the last one is the journal again.
#[derive(Debug)]
pub(super) struct Leftovers {
    journal: PathBuf,
    /// At least one, in the order in which they were set aside.
    paths: Vec<PathBuf>,
}

impl Leftovers {
    /// Puts the journal aside, beside those of earlier runs.
    pub(super) fn set_aside(journal: &Path) -> io::Result<Self> {
        SetAside::Before.put(journal)?;
        Ok(Self { journal: journal.to_owned(), paths: SetAside::Before.all(journal) })
    }

    /// Those that runs put aside before they were killed.
    pub(super) fn find(journal: &Path) -> Option<Self> {
        let paths = SetAside::Before.all(journal);
        (!paths.is_empty()).then(|| Self { journal: journal.to_owned(), paths })
    }

    /// Nothing replaced them: the last one is the journal again. Gives the journal's path.
    pub(super) fn restore(mut self) -> io::Result<PathBuf> {
        if let Some(last) = self.paths.pop() {
            fs::rename(last, &self.journal)?;
        }
        Ok(self.journal)
    }

    /// A recording replaced them.
    pub(super) fn discard(self) -> io::Result<()> {
        // The last one first: those before it keep their names.
        self.paths.iter().rev().try_for_each(fs::remove_file)
    }
}
