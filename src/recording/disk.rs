//! Private files: 0600, in folders of 0700.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    path::Path,
    sync::Arc,
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

/// Room on the disk that a growing file takes ahead of what is written: with ext4 a write that need not look for some costs
/// the kernel a quarter less. What is left of it is given back when this is dropped; a killed process leaves that to whoever
/// opens the file next.
#[derive(Debug)]
pub(super) struct Ahead {
    file: Arc<File>,
    /// Where the room ends; beyond every file where none can be taken.
    until: u64,
}

impl Ahead {
    /// Small files take none.
    const FROM: u64 = 1 << 20;
    const STEP: u64 = 8 << 20;

    pub(super) fn of(file: &Arc<File>) -> Self {
        Self { file: Arc::clone(file), until: Self::FROM }
    }

    /// The file, which ends at `end`, is about to grow by so many bytes.
    pub(super) fn grows(&mut self, end: u64, bytes: usize) {
        let needed = end + bytes as u64;
        if needed <= self.until {
            return;
        }
        self.until = needed + Self::STEP;
        if !take(&self.file, end, self.until) {
            // On a full disk, what there is of it is for all.
            let _ = give_back(&self.file);
            self.until = u64::MAX;
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if self.until > Self::FROM {
            let _ = give_back(&self.file);
        }
    }
}

/// Takes room for a file from one place to another, without growing it; whether the system did.
#[cfg(target_os = "linux")]
fn take(file: &File, from: u64, until: u64) -> bool {
    use nix::fcntl::{FallocateFlags, fallocate};
    let (Ok(from), Ok(length)) = (from.try_into(), (until - from).try_into()) else { return false };
    fallocate(file, FallocateFlags::FALLOC_FL_KEEP_SIZE, from, length).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn take(_file: &File, _from: u64, _until: u64) -> bool {
    false
}

/// Gives back what a file has taken beyond its end; a file without such room is not touched.
pub(super) fn give_back(file: &File) -> io::Result<()> {
    /// What a file system may count beside the bytes, or round up to.
    const BESIDE: u64 = 128 << 10;
    let metadata = file.metadata()?;
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::blocks(&metadata) * 512 < metadata.len() + BESIDE {
        return Ok(());
    }
    file.set_len(metadata.len())
}
