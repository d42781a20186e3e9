//! How a fixture is replaced: all of it, or nothing.
//!
//! A fold writes into a folder of its own, `.contrail-new`, in the fixture's folder: the HAR file, the body files that are
//! new or other than before, and a log that names them and what goes. Once all of it is on the disk, the folder is renamed
//! to `.contrail-fold`. That is the commit. Then its files are moved to their places, and the folder goes.
//!
//! Killed before the commit, the old fixture stands as it was; the next writer clears `.contrail-new` away. Killed after it,
//! every reader takes a file from `.contrail-fold` as long as it is there, and the next writer moves what is left.
//! A fixture of one file has its new text beside it until it is renamed over the old.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use super::{
    WriteError,
    disk::{folder_of, make_folder, private, refused},
    journal::locked,
    names::is_body_file_name,
    place::{Place, is_single_file},
};

/// What a fold writes, in the fixture's folder; beside a fixture of one file, the end of a file's name.
const NEW: &str = ".contrail-new";
/// The same once it is whole: what is in there stands for what is beside it.
const COMMITTED: &str = ".contrail-fold";
/// The file whose lock says that a process writes the fixture.
const LOCK: &str = ".contrail-lock";
/// What is to be done with a committed folder.
const LOG: &str = "log.json";
/// How long to wait for another process that is folding into the same place.
const PATIENCE: Duration = Duration::from_secs(10);

/// A log.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Log {
    version: u32,
    /// Files that are moved to their places.
    put: Vec<String>,
    /// Body files that go.
    remove: Vec<String>,
}

impl Log {
    const VERSION: u32 = 1;

    /// Reads the log of a committed folder; why it cannot be used, as the end of a sentence.
    fn read(committed: &Path) -> Result<Self, String> {
        let text = fs::read(committed.join(LOG)).map_err(|error| format!("its log cannot be read ({error})"))?;
        let log: Self = serde_json::from_slice(&text).map_err(|_| "its log is damaged".to_owned())?;
        if log.version != Self::VERSION {
            return Err("a newer contrail began it".to_owned());
        }
        // Folders travel: nothing outside this one, and nothing that a fold does not write, is ever touched.
        let har = |name: &str| is_single_file(Path::new(name)) && !name.contains(['/', '\\', '\0']);
        let ours = log.put.iter().all(|name| is_body_file_name(name) || har(name))
            && log.remove.iter().all(|name| is_body_file_name(name));
        if ours { Ok(log) } else { Err("its log names files that a fold does not write".to_owned()) }
    }
}

/// Whether it is a folder itself, not a link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.is_dir())
}

/// The committed folder in `folder`, if there is one.
pub(super) fn committed_in(folder: &Path) -> Option<PathBuf> {
    Some(folder.join(COMMITTED)).filter(|committed| is_folder(committed))
}

/// Whether this is the name of a folder that a fold leaves when it is killed.
#[must_use]
pub(super) fn is_own_folder(name: &std::ffi::OsStr) -> bool {
    name == NEW || name == COMMITTED
}

/// Whether a fold into this folder did not come to its end.
#[must_use]
pub(crate) fn is_interrupted(folder: &Path) -> bool {
    committed_in(folder).is_some() || is_folder(&folder.join(NEW))
}

/// HAR files of a folder whose fold was committed and may not stand in their places yet.
pub(super) fn staged_hars(folder: &Path) -> Vec<OsString> {
    let log = committed_in(folder).and_then(|committed| Log::read(&committed).ok()).unwrap_or_default();
    log.put.into_iter().filter(|name| is_single_file(Path::new(name))).map(OsString::from).collect()
}

/// The file that holds what the recording `path` is now.
///
/// # Errors
///
/// A fold into its folder was interrupted, and something of it is missing: why, as the end of a sentence.
pub(super) fn current(path: &Path) -> Result<PathBuf, String> {
    let folder = folder_of(path);
    let (Some(committed), Some(name)) = (committed_in(folder), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(path.to_path_buf());
    };
    let log = match Log::read(&committed) {
        Ok(log) => log,
        // Another process has finished it since.
        Err(_) if !is_folder(&committed) => return Ok(path.to_path_buf()),
        Err(reason) => return Err(reason),
    };
    if !log.put.iter().any(|put| put == name) {
        return Ok(path.to_path_buf());
    }
    for put in &log.put {
        let there = |folder: &Path| fs::symlink_metadata(folder.join(put)).is_ok();
        if !there(&committed) && !there(folder) {
            return Err(format!("`{put}` is missing"));
        }
    }
    let staged = committed.join(name);
    Ok(if fs::symlink_metadata(&staged).is_ok() { staged } else { path.to_path_buf() })
}

/// The regular files of a folder as they are now, by the names under which they can be opened, and the folders in it. Of a
/// fold that was committed, what waits to be moved counts, and what it removes does not.
///
/// # Errors
///
/// The system's.
pub(crate) fn files_of(folder: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    let committed = committed_in(folder);
    let log = committed.as_deref().and_then(|committed| Log::read(committed).ok()).unwrap_or_default();
    let staged: Vec<PathBuf> =
        committed.iter().flat_map(|committed| log.put.iter().map(|name| committed.join(name))).collect();
    for path in staged {
        if fs::symlink_metadata(&path).is_ok_and(|there| there.is_file()) {
            files.push(path);
        }
    }
    for item in fs::read_dir(folder)? {
        let item = item?;
        let (kind, name) = (item.file_type()?, item.file_name());
        let is_replaced = files.iter().any(|file| file.file_name() == Some(&name));
        if kind.is_dir() && !is_own_folder(&name) {
            folders.push(item.path());
        } else if kind.is_file() && !is_replaced && !log.remove.iter().any(|gone| **gone == *name) {
            files.push(item.path());
        }
    }
    Ok((files, folders))
}

/// The place of a fixture, held against other processes. What a killed one left there is dealt with.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// The folder that holds the place has to exist.
    pub(super) fn take(place: &Place) -> Result<Self, WriteError> {
        let path = beside(place, LOCK);
        let until = Instant::now() + PATIENCE;
        let file = loop {
            step(&path)?;
            match locked(&path, &path) {
                Ok(file) => break file,
                Err(WriteError::Locked { .. }) if Instant::now() < until => thread::sleep(Duration::from_millis(20)),
                Err(WriteError::Locked { .. }) => {
                    let reason = "another process is writing to it; wait for that, or name another place".to_owned();
                    return Err(WriteError::Place { path: place.har().to_path_buf(), reason });
                }
                Err(WriteError::Io { error, .. }) => {
                    let reason =
                        format!("nothing can be written there ({error}); make it writable, or name another place");
                    return Err(WriteError::Place { path: place.root().to_path_buf(), reason });
                }
                Err(other) => return Err(other),
            }
        };
        let lock = Self { path, _file: file };
        recover(place)?;
        Ok(lock)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if step(&self.path).is_ok() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A file of contrail's own in a fixture's folder, or beside a fixture of one file.
fn beside(place: &Place, what: &str) -> PathBuf {
    match (place.folder(), place.har().file_name()) {
        (None, Some(name)) => {
            let mut own = OsString::from(".");
            own.push(name);
            own.push(what);
            folder_of(place.har()).join(own)
        }
        _ => place.root().join(what),
    }
}

/// Clears away what was not committed and finishes what was. The place is locked.
fn recover(place: &Place) -> Result<(), WriteError> {
    let new = beside(place, NEW);
    let Some(folder) = place.folder() else {
        return remove_file(&new);
    };
    remove_folder(&new)?;
    match committed_in(folder) {
        Some(committed) => finish(folder, &committed),
        None => Ok(()),
    }
}

/// Moves the files of a committed folder to their places.
fn finish(folder: &Path, committed: &Path) -> Result<(), WriteError> {
    let log = Log::read(committed).map_err(|reason| WriteError::Place {
        path: folder.to_path_buf(),
        reason: format!("a fold into it was interrupted, and {reason}; take the folder from where it was kept"),
    })?;
    for name in &log.remove {
        remove_file(&folder.join(name))?;
    }
    for name in &log.put {
        let (from, to) = (committed.join(name), folder.join(name));
        step(&to)?;
        match fs::rename(&from, &to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(&to).is_ok() => {}
            other => other.map_err(refused("replace", &to))?,
        }
    }
    sync_folder(folder)?;
    // Under the other name it stands for nothing any more, whatever is left in it.
    let new = folder.join(NEW);
    step(&new)?;
    fs::rename(committed, &new).map_err(refused("clear away", committed))?;
    remove_folder(&new)
}

fn remove_file(path: &Path) -> Result<(), WriteError> {
    step(path)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(refused("remove", path)(error)),
        _ => Ok(()),
    }
}

fn remove_folder(path: &Path) -> Result<(), WriteError> {
    if !is_folder(path) {
        return Ok(());
    }
    // One by one: a process may be killed between two.
    for item in fs::read_dir(path).map_err(refused("clear away", path))? {
        let inside = item.map_err(refused("clear away", path))?.path();
        if is_folder(&inside) {
            fs::remove_dir_all(&inside).map_err(refused("remove", &inside))?;
        } else {
            remove_file(&inside)?;
        }
    }
    step(path)?;
    fs::remove_dir(path).map_err(refused("remove", path))
}

/// Waits until the names in a folder are on the disk.
fn sync_folder(path: &Path) -> Result<(), WriteError> {
    step(path)?;
    File::open(path).and_then(|folder| folder.sync_all()).map_err(refused("write", path))
}

/// What a fold writes before it is committed. Dropped before that, nothing of it is left.
#[derive(Debug)]
pub(super) struct Staging {
    place: Place,
    /// None as long as there is no folder to hold the fixture.
    lock: Option<Lock>,
    /// There was a fixture when the fold began.
    was_taken: bool,
    /// The topmost folder that was made for this.
    made: Option<PathBuf>,
    committed: bool,
}

impl Staging {
    /// Holds the place of the fixture `path` for a fold. Nothing is made yet.
    pub(super) fn begin(path: &Path) -> Result<Self, WriteError> {
        let place = Place::find(path)?;
        let lock = if place.root().is_dir() { Some(Lock::take(&place)?) } else { None };
        // Another process may have finished there while this one waited.
        let place = Place::find(path)?;
        let was_taken = place.is_taken();
        Ok(Self { place, lock, was_taken, made: None, committed: false })
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Makes what is needed to write; the file for the HAR's text.
    pub(super) fn open(&mut self) -> Result<File, WriteError> {
        let root = self.place.root().to_path_buf();
        if self.lock.is_none() {
            self.made = root.ancestors().take_while(|above| !above.exists()).last().map(Path::to_path_buf);
            step(&root)?;
            make_folder(&root)?;
            self.lock = Some(Lock::take(&self.place)?);
            if Place::find(self.place.folder().unwrap_or(self.place.har()))?.is_taken() != self.was_taken {
                let reason = "another process has written it meanwhile; start again".to_owned();
                return Err(WriteError::Place { path: self.place.har().to_path_buf(), reason });
            }
        }
        if self.place.folder().is_some() {
            let new = beside(&self.place, NEW);
            step(&new)?;
            make_folder(&new)?;
        }
        let har = self.staged_har();
        step(&har)?;
        private().read(true).write(true).create_new(true).open(&har).map_err(refused("write", &har))
    }

    fn staged_har(&self) -> PathBuf {
        let new = beside(&self.place, NEW);
        match (self.place.folder(), self.place.har().file_name()) {
            (Some(_), Some(name)) => new.join(name),
            _ => new,
        }
    }

    /// Writes a new body file, under a number as long as it has no name.
    pub(super) fn write(&self, number: usize, bytes: &[u8]) -> Result<(), WriteError> {
        let path = beside(&self.place, NEW).join(number.to_string());
        let file = private().write(true).create_new(true).open(&path);
        let written = file.and_then(|mut file| {
            if let Err(error) = step_io(&path) {
                let _ = file.write_all(&bytes[..bytes.len() / 2]);
                return Err(error);
            }
            file.write_all(bytes)?;
            file.sync_all()
        });
        written.map_err(refused("write", &path))
    }

    /// Gives body files their names, puts all into place, and removes the body files that nothing names any more.
    /// `before` is called when all is on the disk and nothing is in its place yet.
    pub(super) fn commit(
        mut self,
        har: &File,
        bodies: impl Iterator<Item = (usize, String)>,
        remove: Vec<String>,
        before: impl FnOnce() -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let staged = self.staged_har();
        step(&staged)?;
        har.sync_all().map_err(refused("write", &staged))?;
        let root = self.place.root();
        let new = beside(&self.place, NEW);
        let (Some(folder), Some(name)) = (self.place.folder(), self.place.har().file_name()) else {
            before()?;
            step(self.place.har())?;
            fs::rename(&staged, self.place.har()).map_err(refused("replace", self.place.har()))?;
            self.committed = true;
            return sync_folder(root);
        };
        let mut log = Log { version: Log::VERSION, put: Vec::new(), remove };
        for (number, name) in bodies {
            let path = new.join(&name);
            step(&path)?;
            fs::rename(new.join(number.to_string()), &path).map_err(refused("write", &path))?;
            log.put.push(name);
        }
        log.put.push(name.to_string_lossy().into_owned());
        let path = new.join(LOG);
        step(&path)?;
        let text = serde_json::to_vec(&log).map_err(|error| refused("write", &path)(error.into()))?;
        let file = private().write(true).create_new(true).open(&path);
        file.and_then(|mut file| {
            file.write_all(&text)?;
            file.sync_all()
        })
        .map_err(refused("write", &path))?;
        sync_folder(&new)?;
        before()?;
        let committed = folder.join(COMMITTED);
        step(&committed)?;
        fs::rename(&new, &committed).map_err(refused("replace", folder))?;
        self.committed = true;
        sync_folder(folder)?;
        finish(folder, &committed)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.committed {
            return;
        }
        let new = beside(&self.place, NEW);
        let _ = if self.place.folder().is_some() { remove_folder(&new) } else { remove_file(&new) };
        self.lock = None;
        if let Some(top) = &self.made {
            // Those that are empty, from the inside out.
            let root = self.place.root();
            for folder in root.ancestors().take_while(|above| above.starts_with(top)) {
                if step(folder).is_err() || fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
    }
}

fn step(path: &Path) -> Result<(), WriteError> {
    step_io(path).map_err(refused("write", path))
}

/// One step on the disk; where a test says so, the process counts as killed from here on.
#[cfg(not(test))]
#[allow(clippy::unnecessary_wraps)]
fn step_io(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
fn step_io(_path: &Path) -> io::Result<()> {
    killed::step()
}

/// A process that is killed after so many steps.
#[cfg(test)]
pub(super) mod killed {
    use std::{cell::Cell, io};

    thread_local! {
        static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    /// This thread counts as killed after so many steps: nothing more reaches the disk.
    pub(in crate::recording) fn after(steps: usize) {
        LEFT.set(steps);
    }

    /// Lives again; whether it was killed.
    pub(in crate::recording) fn revive() -> bool {
        LEFT.replace(usize::MAX) == 0
    }

    pub(super) fn step() -> io::Result<()> {
        match LEFT.get() {
            usize::MAX => Ok(()),
            0 => Err(io::Error::other("killed")),
            left => {
                LEFT.set(left - 1);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
#[path = "commit_tests.rs"]
mod tests;
