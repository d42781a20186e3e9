//! Private files: 0600, in folders of 0700; their locks, and whether they are still where they were opened.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use contrail_exchange::hex::hex;
use ring::{
    digest::{Context, SHA256},
    rand::{SecureRandom as _, SystemRandom},
};

use super::WriteError;

/// The error for what the system refused to do with `path`.
pub(super) fn failed_to(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WriteError {
    let path = path.to_path_buf();
    move |error| WriteError::Io { doing, path, error }
}

/// A path without symbolic links; its end may not exist yet. A pipe (`/dev/stdin`) has no path of its own and keeps its
/// name.
pub fn resolved(path: &Path) -> PathBuf {
    if fs::metadata(path).is_ok() {
        return fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    }
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Ok(path) = fs::canonicalize(&path) {
            return path;
        }
        let folder = folder_of(&path);
        match fs::read_link(&path) {
            Ok(target) => path = folder.join(target),
            Err(_) => {
                let folder = fs::canonicalize(folder)
                    .or_else(|_| std::path::absolute(folder))
                    .unwrap_or_else(|_| folder.to_owned());
                return path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name));
            }
        }
    }
    path
}

/// Symbolic links that are followed from one name.
const MAX_LINKS: usize = 40;

/// The folder that holds `path`.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Bytes of a file; 0 where they cannot be known.
pub fn size_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

/// Whether it is a folder itself, not a link to one.
pub(super) fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.is_dir())
}

/// Makes a folder and those above it, for the owner only; those that exist stay as they are.
pub fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// [`private_folder`], with an error that names the folder.
pub fn make_folder(path: &Path) -> Result<(), WriteError> {
    private_folder(path).map_err(failed_to("make the folder", path))
}

/// A random number, hexadecimal.
pub(super) fn random_id() -> io::Result<String> {
    let mut id = [0; 16];
    SystemRandom::new().fill(&mut id).map_err(|_| io::Error::other("the system gives no random bytes"))?;
    Ok(hex(&id))
}

/// Options that make a file for the owner only.
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Takes away what others may do with an open file.
pub(super) fn make_private(file: &File) -> io::Result<()> {
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Opens and locks the file that is at `path` now; `what` is what people know it by.
pub(super) fn locked(path: &Path, what: &Path) -> Result<File, WriteError> {
    loop {
        let mut options = private();
        let file =
            options.read(true).append(true).create(true).open(path).map_err(failed_to("open the journal", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(WriteError::Locked { path: what.to_path_buf() }),
            Err(TryLockError::Error(error)) => return Err(failed_to("lock", path)(error)),
        }
        // The process that held the lock may have folded and removed the file since it was opened here.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// Whether no name leads to the file any more; the cheap part of [`is_at`].
pub(super) fn is_removed(file: &File) -> bool {
    file.metadata().is_ok_and(|open| open.nlink() == 0)
}

/// Whether the file is the one that is at `path`.
pub fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// The SHA-256 of a file, hexadecimal.
pub(super) fn file_digest(file: &mut File) -> io::Result<String> {
    let mut context = Context::new(&SHA256);
    let mut chunk = vec![0; 64 << 10];
    file.seek(SeekFrom::Start(0))?;
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(hex(context.finish().as_ref()));
        }
        context.update(&chunk[..read]);
    }
}
