//! The folder of the certificate bundles that a wrapped command reads. A killed process leaves it behind; the next one
//! removes it.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// What the names of these folders begin with.
const PREFIX: &str = "contrail-";

/// The file that its process holds locked.
const LOCK: &str = "lock";

/// A folder younger than this may not be locked yet.
const FRESH: Duration = Duration::from_secs(60);

/// A folder with files that live as long as this value.
#[derive(Debug)]
pub(super) struct BundleFolder {
    folder: tempfile::TempDir,
    _lock: File,
}

impl BundleFolder {
    /// Makes one in the system's folder for temporary files, and removes there those of processes that are gone.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(super) fn new() -> io::Result<Self> {
        remove_abandoned(&std::env::temp_dir());
        // A user who can write here can make CMD trust any certificate authority.
        let private = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix(PREFIX).permissions(private).tempdir()?;
        let lock = private_file(&folder.path().join(LOCK))?;
        lock.try_lock()?;
        Ok(Self { folder, _lock: lock })
    }

    /// Writes a file of these parts, a line feed behind each.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(super) fn write(&self, name: &str, parts: &[&[u8]]) -> io::Result<PathBuf> {
        let path = self.folder.path().join(name);
        let mut file = private_file(&path)?;
        for part in parts {
            file.write_all(part)?;
            file.write_all(b"\n")?;
        }
        Ok(path)
    }
}

/// A new file that only its owner can read.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Removes the folders in `place` whose processes are gone. What cannot be removed stays.
fn remove_abandoned(place: &Path) {
    for item in fs::read_dir(place).into_iter().flatten().flatten() {
        if item.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) && is_abandoned(&item.path()) {
            let _ = fs::remove_dir_all(item.path());
        }
    }
}

/// Whether a folder is one of ours, and no process holds its lock.
fn is_abandoned(folder: &Path) -> bool {
    let is_own =
        |path: &Path, mode| fs::symlink_metadata(path).ok().filter(|there| there.permissions().mode() & 0o777 == mode);
    let is_old = |there: &fs::Metadata| {
        let age = there.modified().ok().and_then(|made| SystemTime::now().duration_since(made).ok());
        age.is_some_and(|age| age > FRESH)
    };
    let lock = folder.join(LOCK);
    is_own(folder, 0o700).is_some_and(|there| there.is_dir())
        && is_own(&lock, 0o600).is_some_and(|there| there.is_file() && there.len() == 0 && is_old(&there))
        && File::open(&lock).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_folder_of_ours_whose_process_is_gone_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let made = |name: &str, mode: u32| {
            let folder = place.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            fs::write(folder.join("roots.pem"), "x").unwrap();
            folder
        };
        let locked = |name: &str, mode: u32, age: u64| {
            let lock = private_file(&made(name, mode).join(LOCK)).unwrap();
            lock.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
            lock
        };
        drop(locked("contrail-gone", 0o700, 3600));
        drop(locked("contrail-fresh", 0o700, 0));
        drop(locked("contrail-open", 0o755, 3600));
        drop(locked("other-gone", 0o700, 3600));
        made("contrail-users", 0o700);
        let held = locked("contrail-held", 0o700, 3600);
        held.try_lock().unwrap();
        std::os::unix::fs::symlink(place.path().join("other-gone"), place.path().join("contrail-link")).unwrap();
        remove_abandoned(place.path());
        let mut left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|item| item.unwrap().file_name()).collect();
        left.sort();
        let stays =
            ["contrail-fresh", "contrail-held", "contrail-link", "contrail-open", "contrail-users", "other-gone"];
        assert_eq!(left, stays);
    }
}
