//! What a killed run left, out of the way while `--overwrite` records in its place.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A left-over journal under another name: `PATH.before.journal`. It goes when a recording has replaced it, and is the
/// journal again if none has.
#[derive(Debug)]
pub(super) struct Aside {
    journal: PathBuf,
    path: PathBuf,
}

impl Aside {
    fn of(journal: &Path) -> Self {
        Self { journal: journal.to_owned(), path: journal.with_extension("before.journal") }
    }

    /// Puts the journal aside, in place of what an earlier run put there.
    pub(super) fn put(journal: &Path) -> io::Result<Self> {
        let aside = Self::of(journal);
        fs::rename(&aside.journal, &aside.path)?;
        Ok(aside)
    }

    /// The one that a run put aside before it was killed.
    pub(super) fn left(journal: &Path) -> Option<Self> {
        let aside = Self::of(journal);
        aside.path.exists().then_some(aside)
    }

    /// Nothing replaced it: it is the journal again. Gives the journal's path.
    pub(super) fn back(self) -> io::Result<PathBuf> {
        fs::rename(self.path, &self.journal)?;
        Ok(self.journal)
    }

    /// A recording replaced it.
    pub(super) fn replaced(self) -> io::Result<()> {
        fs::remove_file(self.path)
    }
}
