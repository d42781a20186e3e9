//! The journal of a fixture, opened beside it, and the account that it keeps of its own fold: before the fixture is
//! replaced and after, so that a start after a killed run knows whether the entries are in the fixture.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    account::{self, Account, Leftover, cut},
    file::JournalFile,
    pending,
    writer::{Journal, JournalKind},
};
use crate::{JournalContext, Renew, Renewal, WriteError, disk::failed_to, read};

impl Journal {
    /// The journal of a fixture: beside it, its name with `.journal` after it.
    #[must_use]
    pub fn path_for(fixture: &Path) -> PathBuf {
        // Components drop a trailing slash: `name/` has its journal in `name.journal`.
        let plain = fixture.components().as_path();
        // `.` and `..` have no name to append to.
        let named = if plain.file_name().is_none() { fs::canonicalize(plain).ok() } else { None };
        let mut name = named.unwrap_or_else(|| plain.to_owned()).into_os_string();
        name.push(".journal");
        PathBuf::from(name)
    }

    /// Opens a journal to append to, makes it (0600) and its folder (0700) if need be, locks it, and drops a torn last
    /// line, and all of it if it was folded.
    ///
    /// # Errors
    ///
    /// [`WriteError::Locked`] if another process has it open; [`WriteError::Unwritable`] for a path that its fold could
    /// not state; [`WriteError::Io`] for anything the system refuses.
    pub fn open(path: &Path, context: JournalContext) -> Result<(Self, Leftover), WriteError> {
        if std::path::absolute(path).is_ok_and(|path| path.to_str().is_none()) {
            let reason = "its path is not UTF-8, and a journal states the path of its fixture; name another";
            return Err(WriteError::Unwritable { path: path.to_path_buf(), reason: reason.to_owned() });
        }
        let file = JournalFile::open(path)?;
        let account = cut(path, &file)?;
        let is_folded = account.is_folded();
        let Account { entries, whole, torn, segments, renewal, ended, .. } = account;
        let file = JournalFile::new(path, file, whole);
        let mut journal = Self::new(file, JournalKind::Fixture { pending: Vec::new() }, context);
        if is_folded {
            journal.discard()?;
            return Ok((journal, Leftover::default()));
        }
        let entries = entries + pending::entries_in(&segments)?;
        journal.kind = JournalKind::Fixture { pending: segments };
        let mut leftover = Leftover { entries, renewal, ended, torn, adopted: 0 };
        if leftover.entries == 0 {
            // What a killed run without entries was to replace says nothing of the next one.
            journal.discard()?;
            leftover.renewal = None;
            leftover.ended = false;
        }
        Ok((journal, leftover))
    }

    /// The files that hold the entries of the journal at `path`: itself, and the segments of a trail that it names.
    ///
    /// # Errors
    ///
    /// One of them cannot be read.
    pub fn sources(path: &Path) -> Result<Vec<PathBuf>, WriteError> {
        let mut sources = Account::read(path).map_err(failed_to("read", path))?.segments;
        pending::entries_in(&sources)?;
        sources.insert(0, path.to_path_buf());
        Ok(sources)
    }

    /// Whether the journal at `path` says that its entries are in a fixture, and that is so.
    #[must_use]
    pub fn is_folded(path: &Path) -> bool {
        Account::read(path).is_ok_and(|account| account.is_folded())
    }

    /// The journal beside the fixture at `path`, if it holds exchanges that are in no fixture.
    #[must_use]
    pub fn left_beside(path: &Path) -> Option<PathBuf> {
        let journal = Self::path_for(path);
        if !journal.is_file() {
            return None;
        }
        let account = Account::read(&journal).unwrap_or_default();
        let holds =
            !account.segments.is_empty() || read::open(&journal).is_ok_and(|mut recording| recording.next().is_some());
        (holds && !account.is_folded()).then_some(journal)
    }

    /// Which entries of its fixture the recording in the journal at `path` was to replace; `None` if it only adds.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn renewal(path: &Path) -> Result<Option<Renewal>, WriteError> {
        Ok(Account::read(path).map_err(failed_to("read", path))?.renewal)
    }

    /// Records, before the first entry, which entries of its fixture this recording replaces.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn renews(&mut self, renew: Renew<'_>) -> Result<(), WriteError> {
        let Some(line) = account::renews(renew).map_err(failed_to("write", self.path()))? else { return Ok(()) };
        let appended = self.file.append(&line);
        appended.map_err(failed_to("write", self.path()))
    }

    /// Records that the recording is whole: from here on a fold of it can be finished by the next start.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn ended(&self) -> Result<(), WriteError> {
        self.account_for(account::ended())
    }

    /// Records that the fixture `har` is about to be replaced by one of this digest, which holds the journal's entries.
    pub(crate) fn folding(&self, har: &Path, sha256: &str) -> Result<(), WriteError> {
        self.account_for(account::folding(har, sha256))?;
        // Were it not on the disk when the fixture is, the next start would fold the entries a second time.
        self.account().unwrap_or(&self.file).sync()
    }

    /// Records that this was done.
    pub(crate) fn folded(&self) -> Result<(), WriteError> {
        self.account_for(account::done())
    }

    fn account_for(&self, line: io::Result<Vec<u8>>) -> Result<(), WriteError> {
        let Some(file) = self.account() else { return Ok(()) };
        file.note(&line.map_err(failed_to("write", file.path()))?)
    }

    /// The file that keeps account of the fold. None is folded from a trail alone.
    fn account(&self) -> Option<&JournalFile> {
        match &self.kind {
            JournalKind::Fixture { .. } => Some(&self.file),
            JournalKind::Trail { fixture, .. } => fixture.as_ref(),
        }
    }

    /// Removes the journal: it was folded. A trail stays, without the journal beside its fixture.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn remove(self) -> Result<(), WriteError> {
        match self.kind {
            JournalKind::Fixture { .. } => self.file.remove(),
            JournalKind::Trail { fixture, .. } => fixture.map_or(Ok(()), JournalFile::remove),
        }
    }

    /// Drops all entries: they are to be recorded again, or were folded. A trail keeps them.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn discard(&mut self) -> Result<(), WriteError> {
        let JournalKind::Fixture { pending } = &mut self.kind else { return Ok(()) };
        pending.clear();
        self.batch.clear();
        self.file.empty()
    }
}
