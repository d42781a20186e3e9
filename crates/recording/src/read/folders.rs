//! The folders below a folder, symbolic links to folders among them.

use std::{
    collections::HashSet,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Folders that are still to be read, each once. A folder that is there itself comes before links to it, so that it
/// keeps its own name.
#[derive(Debug)]
pub struct Folders {
    own: Vec<PathBuf>,
    /// Sorted in the order in which they are taken, the last one first.
    linked: Vec<PathBuf>,
    /// Device and inode of each folder that was taken.
    taken: HashSet<(u64, u64)>,
}

impl Folders {
    /// What is read of a folder.
    pub fn below(folder: &Path) -> Self {
        Self { own: vec![folder.to_path_buf()], linked: Vec::new(), taken: HashSet::new() }
    }

    /// A folder that is itself in one that was taken.
    pub fn add(&mut self, folder: PathBuf) {
        self.own.push(folder);
    }

    /// A symbolic link to a folder. One to a folder that contains the link leads back, and is left out.
    pub fn add_linked(&mut self, link: PathBuf) {
        let around = link.parent().map(fs::canonicalize);
        let leads_back = match (around, fs::canonicalize(&link)) {
            (Some(Ok(around)), Ok(target)) => around.starts_with(target),
            _ => false,
        };
        if !leads_back {
            self.linked.push(link);
            self.linked.sort_by(|one, other| other.cmp(one));
        }
    }

    /// The next folder.
    ///
    /// # Errors
    ///
    /// The system's: it cannot be reached.
    pub fn take(&mut self) -> io::Result<Option<PathBuf>> {
        while let Some(folder) = self.own.pop().or_else(|| self.linked.pop()) {
            let metadata = fs::metadata(&folder)?;
            if self.taken.insert((metadata.dev(), metadata.ino())) {
                return Ok(Some(folder));
            }
        }
        Ok(None)
    }
}

/// The symbolic links in a folder.
///
/// # Errors
///
/// The system's.
pub fn links_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut links = Vec::new();
    for item in fs::read_dir(folder)? {
        let item = item?;
        if item.file_type()?.is_symlink() {
            links.push(item.path());
        }
    }
    Ok(links)
}
