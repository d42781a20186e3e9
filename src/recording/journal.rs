//! The journal: one entry per line, append-only, the only thing that the proxy writes.
//!
//! [`Journal::add`] encodes into a batch, [`Journal::write`] gives the batch to the kernel in one write. A killed process
//! loses at most the torn last line; the next [`Journal::open`] drops it. One process at a time: the file is locked as
//! long as the journal is open.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use super::{
    Attested, WriteError,
    disk::{folder_of, make_folder, make_private, private, refused},
    write::{self, JournalContext},
};
use crate::redact::{Judged, Redacted};

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    length: u64,
    /// A failed batch could not be taken back yet.
    torn: bool,
    batch: Vec<u8>,
    context: JournalContext,
}

/// What was in a journal already when it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Leftover {
    /// Whole entries.
    pub entries: usize,
    /// Bytes of a torn last line, dropped.
    pub torn: u64,
}

impl Journal {
    /// The journal of a fixture: beside it, its name with `.journal` after it.
    #[must_use]
    pub fn path_for(fixture: &Path) -> PathBuf {
        // Components drop a trailing slash: `name/` has its journal in `name.journal`.
        let mut name = fixture.components().as_path().as_os_str().to_owned();
        name.push(".journal");
        PathBuf::from(name)
    }

    /// Opens a journal to append to, makes it (0600) and its folder (0700) if need be, locks it, and drops a torn last
    /// line.
    ///
    /// # Errors
    ///
    /// [`WriteError::Locked`] if another process has it open; [`WriteError::Io`] for anything the system refuses.
    pub fn open(path: &Path, context: JournalContext) -> Result<(Self, Leftover), WriteError> {
        make_folder(folder_of(path))?;
        let mut file = locked(path)?;
        make_private(&file).map_err(refused("make private", path))?;
        let (leftover, length) = recover(&mut file).map_err(refused("read", path))?;
        let journal = Self { path: path.to_path_buf(), file, length, torn: false, batch: Vec::new(), context };
        Ok((journal, leftover))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds an entry to the batch.
    pub fn add(&mut self, judged: &Redacted<Judged>, attested: Option<&Attested>) {
        write::encode(judged, attested, &self.context, &mut self.batch);
    }

    /// Gives the batch to the kernel, in one write.
    ///
    /// # Errors
    ///
    /// The system's. The batch is dropped and what got into the file of it is taken back, so that the journal stays
    /// usable.
    pub fn write(&mut self) -> io::Result<()> {
        // Appending goes on at the file's end, wherever that is: what is left of a failed batch goes first.
        let written = if self.torn { self.file.set_len(self.length) } else { Ok(()) }
            .and_then(|()| self.file.write_all(&self.batch));
        self.torn = written.is_err() && self.file.set_len(self.length).is_err();
        if written.is_ok() {
            self.length += self.batch.len() as u64;
        }
        self.batch.clear();
        self.batch.shrink_to(1 << 20);
        written
    }

    /// Waits until what was written is on the disk.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Removes the journal: it was folded.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn remove(self) -> Result<(), WriteError> {
        fs::remove_file(&self.path).map_err(refused("remove", &self.path))
    }

    /// Drops all entries: they are to be recorded anew.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`].
    pub fn discard(&mut self) -> Result<(), WriteError> {
        self.batch.clear();
        self.length = 0;
        self.file.set_len(0).map_err(refused("empty", &self.path))
    }
}

/// Opens and locks the file that is at `path` now.
fn locked(path: &Path) -> Result<File, WriteError> {
    loop {
        let mut options = private();
        let file =
            options.read(true).append(true).create(true).open(path).map_err(refused("open the journal", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(WriteError::Locked { path: path.to_path_buf() }),
            Err(TryLockError::Error(error)) => return Err(refused("lock", path)(error)),
        }
        // Whoever held the lock may have folded and removed the file since it was opened here.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// Counts the whole lines and cuts off what follows the last of them.
fn recover(file: &mut File) -> io::Result<(Leftover, u64)> {
    file.seek(SeekFrom::Start(0))?;
    let mut chunk = vec![0; 256 << 10];
    let (mut at, mut whole, mut entries) = (0_u64, 0_u64, 0);
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        for end in memchr::memchr_iter(b'\n', &chunk[..read]) {
            entries += 1;
            whole = at + end as u64 + 1;
        }
        at += read as u64;
    }
    if whole != at {
        file.set_len(whole)?;
    }
    Ok((Leftover { entries, torn: at - whole }, whole))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn context() -> JournalContext {
        JournalContext { upstream: "https://up.example".into(), contract: "c".into() }
    }

    fn open(path: &Path) -> (Journal, Leftover) {
        Journal::open(path, context()).unwrap()
    }

    #[test]
    fn the_journal_stands_beside_the_fixture_in_both_layouts() {
        for (fixture, journal) in
            [("a/name/", "a/name.journal"), ("a/name", "a/name.journal"), ("x.har", "x.har.journal")]
        {
            assert_eq!(Journal::path_for(Path::new(fixture)), Path::new(journal));
        }
    }

    #[test]
    fn a_torn_last_line_is_dropped_at_the_next_start_and_nothing_else() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.journal");
        for (text, kept, entries) in
            [("{1}\n{2}\n{3", "{1}\n{2}\n", 2), ("{1", "", 0), ("", "", 0), ("{1}\n", "{1}\n", 1)]
        {
            fs::write(&path, text).unwrap();
            let (mut journal, leftover) = open(&path);
            assert_eq!(leftover, Leftover { entries, torn: (text.len() - kept.len()) as u64 });
            journal.batch.extend(b"{4}\n");
            journal.write().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{kept}{{4}}\n"));
        }
    }

    #[test]
    fn a_second_writer_is_told_that_there_is_a_first() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.journal");
        let (first, _) = open(&path);
        let said = Journal::open(&path, context()).unwrap_err().to_string();
        assert_eq!(
            said,
            format!(
                "another process is writing to the journal `{}`; stop it, or record to another place",
                path.display()
            )
        );
        drop(first);
        open(&path);
    }

    #[test]
    fn a_journal_that_was_removed_is_made_anew() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.journal");
        let (journal, _) = open(&path);
        journal.remove().unwrap();
        assert!(!path.exists());
        open(&path);
        assert!(path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_a_journal_and_the_folders_made_for_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a/b/x.journal");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        drop(open(&path));
        assert_eq!((mode(&path), mode(folder_of(&path)), mode(&folder.path().join("a"))), (0o600, 0o700, 0o700));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        open(&path);
        assert_eq!(mode(&path), 0o600);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_batch_that_cannot_be_written_is_said_and_the_next_one_can() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.journal");
        let (mut journal, _) = open(&path);
        journal.batch.extend(b"{1}\n");
        journal.write().unwrap();
        let file = std::mem::replace(&mut journal.file, File::options().write(true).open("/dev/full").unwrap());
        journal.batch.extend(b"{2}\n");
        assert!(journal.write().is_err());
        journal.file = file;
        journal.batch.extend(b"{3}\n");
        journal.write().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{1}\n{3}\n");
    }
}
