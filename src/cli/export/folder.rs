//! The folder of an export: all of its tables, or none of them.
//!
//! They are written into `.NAME.contrail-new` beside it, which is renamed to its name once they are on the disk. With
//! `--overwrite`, the old folder is `.NAME.contrail-old` for a moment. Where a killed process left only that, the next
//! export puts it back first.

use std::{
    ffi::OsString,
    fs::{self, File, TryLockError},
    io::{self, BufWriter, ErrorKind},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use contrail_fleet::parquet::TABLES;
use contrail_recording::{is_at, private_folder, resolved};

use crate::cli::{Failure, printer::private_file};

/// A folder that is being written.
pub(super) struct Staged {
    /// Where it goes.
    target: PathBuf,
    folder: PathBuf,
    /// The folder itself, locked.
    lock: File,
}

/// The file of a table.
pub(super) fn file_name(table: &str) -> String {
    format!("{table}.parquet")
}

impl Staged {
    /// Begins one, which is to be at `out`.
    ///
    /// # Errors
    ///
    /// `out` holds something, and may not be replaced, or not by an export.
    pub(super) fn begin(out: &Path, overwrite: bool) -> Result<Self, Failure> {
        let shown = out.display();
        let failed = |error: io::Error| format!("--parquet: cannot write to {shown}: {error}; name another folder");
        let target = resolved(out);
        let (folder, old) = (beside(&target, "new"), beside(&target, "old"));
        if let Some(parent) = target.parent() {
            private_folder(parent).map_err(failed)?;
        }
        if !target.exists() && old.exists() {
            fs::rename(&old, &target).map_err(failed)?;
        }
        match holds(&target) {
            Ok(Holds::Nothing) => {}
            Ok(Holds::Tables) if overwrite => {}
            Ok(Holds::Tables) => {
                return Err(format!("`{shown}` exists already; add --overwrite to replace its tables").into());
            }
            Ok(Holds::Other(name)) => {
                let name = name.to_string_lossy();
                return Err(format!("`{shown}` holds `{name}`, which is no table; name another folder").into());
            }
            Err(error) => return Err(failed(error).into()),
        }
        // The folder is replaced whole, which a mount point cannot be.
        let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev()).ok();
        if target.parent().is_some_and(|parent| target.exists() && device(parent) != device(&target)) {
            return Err(format!("`{shown}` is a mount point, which cannot be replaced; name a folder inside it").into());
        }
        let lock = locked(&folder).map_err(failed)?;
        let staged = Self { target, folder, lock };
        staged.clear().map_err(failed)?;
        Ok(staged)
    }

    /// A new file in it.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(super) fn file(&self, table: &str) -> Result<BufWriter<File>, Failure> {
        let path = self.folder.join(file_name(table));
        let file = private_file(&path, true).map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
        Ok(BufWriter::new(file))
    }

    /// Puts it in its place, once its files are on the disk.
    ///
    /// # Errors
    ///
    /// The system's; what was there before is there again.
    pub(super) fn commit(self) -> io::Result<()> {
        self.lock.sync_all()?;
        let old = beside(&self.target, "old");
        // What is left of an earlier one that was replaced.
        remove(&old)?;
        match fs::rename(&self.target, &old) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        if let Err(error) = fs::rename(&self.folder, &self.target) {
            let _ = fs::rename(&old, &self.target);
            return Err(error);
        }
        if let Some(parent) = self.target.parent() {
            File::open(parent)?.sync_all()?;
        }
        remove(&old)
    }

    fn clear(&self) -> io::Result<()> {
        for left in fs::read_dir(&self.folder)? {
            fs::remove_file(left?.path())?;
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // After the commit there is none, or another process's.
        if is_at(&self.lock, &self.folder) {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// What a folder holds.
enum Holds {
    Nothing,
    Tables,
    /// This, among others.
    Other(OsString),
}

fn holds(folder: &Path) -> io::Result<Holds> {
    let inside = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Holds::Nothing),
        inside => inside?,
    };
    let mut holds = Holds::Nothing;
    for item in inside {
        let name = item?.file_name();
        if !TABLES.iter().any(|(table, _)| *name == *file_name(table)) {
            return Ok(Holds::Other(name));
        }
        holds = Holds::Tables;
    }
    Ok(holds)
}

/// `.NAME.contrail-new` beside `NAME`.
fn beside(target: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".contrail-");
    name.push(end);
    target.with_file_name(name)
}

/// A folder that no other process writes. One that a killed process left is used again.
fn locked(folder: &Path) -> io::Result<File> {
    loop {
        private_folder(folder)?;
        let lock = File::open(folder)?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(io::Error::other("another process is writing it")),
            // Some file systems know no locks.
            Err(TryLockError::Error(_)) | Ok(()) => {}
        }
        // The process that held the lock may have put the folder into its place since it was opened here.
        if is_at(&lock, folder) {
            return Ok(lock);
        }
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
