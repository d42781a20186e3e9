//! Private files: 0600, in folders of 0700.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use ring::rand::{SecureRandom as _, SystemRandom};

use super::WriteError;
use crate::hex::hex;

/// The error for what the system refused to do with `path`.
pub(super) fn refused(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WriteError {
    let path = path.to_path_buf();
    move |error| WriteError::Io { doing, path, error }
}

/// A path without symbolic links; its end may not exist yet. A pipe (`/dev/stdin`) has no path of its own and keeps its
/// name.
pub(crate) fn resolved(path: &Path) -> PathBuf {
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

/// Makes a folder and those above it, for the owner only; those that exist stay as they are.
pub(super) fn make_folder(path: &Path) -> Result<(), WriteError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(refused("make the folder", path))
}

/// A random number, hexadecimal.
pub(super) fn random_id() -> io::Result<String> {
    let mut id = [0; 16];
    SystemRandom::new().fill(&mut id).map_err(|_| io::Error::other("the system gives no random bytes"))?;
    Ok(hex(&id))
}

/// Options that make a file for the owner only.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Takes away what others may do with an open file.
pub(super) fn make_private(file: &File) -> io::Result<()> {
    {
        use std::os::unix::fs::PermissionsExt as _;
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}
