//! Private files: 0600, in folders of 0700, replaced whole or not at all.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::WriteError;

/// The error for what the system refused to do with `path`.
pub(super) fn refused(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WriteError {
    let path = path.to_path_buf();
    move |error| WriteError::Io { doing, path, error }
}

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
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(refused("make the folder", path))
}

/// Options that make a file for the owner only.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Takes away what others may do with an open file.
pub(super) fn make_private(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

/// A file that appears under its name only when it is whole.
#[derive(Debug)]
pub(super) struct Replacement {
    path: PathBuf,
    file: io::BufWriter<tempfile::NamedTempFile>,
}

impl Replacement {
    /// Begins a file that will be `path`; its folder has to exist.
    pub(super) fn begin(path: &Path) -> Result<Self, WriteError> {
        // A temporary file of this crate is made with 0600.
        let file = tempfile::Builder::new()
            .prefix(".contrail-")
            .tempfile_in(folder_of(path))
            .map_err(refused("write beside", path))?;
        Ok(Self { path: path.to_path_buf(), file: io::BufWriter::new(file) })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.file.write_all(bytes).map_err(refused("write", &self.path))
    }

    /// Puts the file into its place, over what was there.
    pub(super) fn finish(self) -> Result<(), WriteError> {
        let Self { path, file } = self;
        let file = file.into_inner().map_err(|error| refused("write", &path)(error.into_error()))?;
        file.as_file().sync_all().map_err(refused("write", &path))?;
        file.persist(&path).map_err(|error| refused("replace", &path)(error.error))?;
        Ok(())
    }
}
