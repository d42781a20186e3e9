//! The file of a journal: locked while it is open, and created again with its full content if another process removes
//! it.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    WriteError,
    disk::{failed_to, folder_of, is_at, is_removed, locked, make_folder, make_private, private},
};

/// Writes after which the journal looks whether its file is still where it was made. That it was removed is seen at
/// once; that it was moved elsewhere, where it goes on growing whole, is not.
const BETWEEN_LOOKS: u64 = 16;

/// An open file of a journal.
#[derive(Debug)]
pub(super) struct JournalFile {
    path: PathBuf,
    file: Arc<File>,
    length: u64,
    writes: u64,
    /// A failed write could not be taken back yet.
    torn: bool,
    /// What is not on the disk yet, of a journal that keeps account of it.
    unsynced: Option<Unsynced>,
}

/// Files that were written and may not be on the disk yet.
#[derive(Debug, Default)]
pub struct Unsynced {
    files: Vec<Arc<File>>,
    /// Folders in which files were made.
    folders: Vec<PathBuf>,
}

impl Unsynced {
    /// Waits until they are.
    ///
    /// # Errors
    ///
    /// The system's. What is on the disk is unknown then; a later success does not show it.
    pub fn sync(&self) -> io::Result<()> {
        self.files.iter().try_for_each(|file| file.sync_data())?;
        self.folders.iter().try_for_each(|folder| File::open(folder)?.sync_all())
    }
}

impl JournalFile {
    pub(super) fn new(path: &Path, file: File, length: u64) -> Self {
        let path = path.to_path_buf();
        Self { path, file: Arc::new(file), length, writes: 0, torn: false, unsynced: None }
    }

    /// Opens and locks the file at `path`; makes it (0600) and its folder (0700) if need be.
    pub(super) fn open(path: &Path) -> Result<File, WriteError> {
        make_folder(folder_of(path))?;
        let file = locked(path, path)?;
        make_private(&file).map_err(failed_to("make private", path))?;
        Ok(file)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Keeps account of what has to be synced from here on.
    pub(super) fn set_durable(&mut self) {
        self.unsynced = Some(Unsynced::default());
        self.is_new();
    }

    /// What was written since this was last asked, of a file that was [set durable](Self::set_durable).
    pub(super) fn unsynced(&mut self) -> Unsynced {
        self.unsynced.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Goes on in another file.
    pub(super) fn go_on_in(&mut self, next: Self) {
        (self.path, self.file, self.length, self.torn) = (next.path, next.file, next.length, next.torn);
        self.is_new();
    }

    /// The present file was made, so its folder has to be synced too.
    fn is_new(&mut self) {
        if let Some(unsynced) = &mut self.unsynced {
            unsynced.files.push(Arc::clone(&self.file));
            unsynced.folders.push(folder_of(&self.path).to_path_buf());
        }
    }

    /// Whether the next write should [check](Self::ensure) where the file is.
    pub(super) fn wants_look(&mut self) -> bool {
        self.writes = self.writes.wrapping_add(1);
        self.unsynced.is_some() || self.writes.is_multiple_of(BETWEEN_LOOKS) || is_removed(&self.file)
    }

    /// Appends a text in one write. What got into the file of a failed one is taken back.
    pub(super) fn append(&mut self, text: &[u8]) -> io::Result<()> {
        // Appending goes on at the file's end, wherever that is: what is left of a failed batch goes first.
        let written = if self.torn { self.file.set_len(self.length) } else { Ok(()) }
            .and_then(|()| (&*self.file).write_all(text));
        self.torn = written.is_err() && self.file.set_len(self.length).is_err();
        written?;
        self.length += text.len() as u64;
        if let Some(unsynced) = &mut self.unsynced
            && !unsynced.files.iter().any(|file| Arc::ptr_eq(file, &self.file))
        {
            unsynced.files.push(Arc::clone(&self.file));
        }
        Ok(())
    }

    /// Adds a line that says something of the journal, where no batch follows.
    pub(super) fn note(&self, line: &[u8]) -> Result<(), WriteError> {
        (&*self.file).write_all(line).map_err(failed_to("write", &self.path))
    }

    /// Waits until its content is on the disk.
    pub(super) fn sync(&self) -> Result<(), WriteError> {
        self.file.sync_data().map_err(failed_to("write", &self.path))
    }

    /// Drops all that it holds.
    pub(super) fn empty(&mut self) -> Result<(), WriteError> {
        self.length = 0;
        self.file.set_len(0).map_err(failed_to("empty", &self.path))
    }

    pub(super) fn remove(self) -> Result<(), WriteError> {
        fs::remove_file(&self.path).map_err(failed_to("remove", &self.path))
    }

    /// Checks that the file is still at its path. A removed file is created again with its full content, once its
    /// folder is there and `lock` was taken; whether that was so.
    ///
    /// # Errors
    ///
    /// It cannot be created again, or another file has taken its place.
    pub(super) fn ensure(&mut self, lock: impl FnOnce() -> Result<(), WriteError>) -> io::Result<bool> {
        if is_at(&self.file, &self.path) {
            return Ok(false);
        }
        if fs::symlink_metadata(&self.path).is_ok() {
            let path = self.path.display();
            return Err(io::Error::other(format!("another file has taken the place of `{path}`; move it away")));
        }
        make_folder(folder_of(&self.path)).map_err(io::Error::other)?;
        lock().map_err(io::Error::other)?;
        let file = private().read(true).append(true).create_new(true).open(&self.path)?;
        let copied = file.try_lock().map_err(io::Error::from).and_then(|()| {
            (&*self.file).seek(SeekFrom::Start(0))?;
            io::copy(&mut (&*self.file).take(self.length), &mut &file)
        });
        match copied {
            Ok(copied) if copied == self.length => {}
            failed => {
                // Half a journal would be taken for a whole one.
                fs::remove_file(&self.path)?;
                return Err(failed.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into()));
            }
        }
        let whole = Self::new(&self.path, file, self.length);
        self.go_on_in(whole);
        Ok(true)
    }
}
