//! Where a fixture is: one file, or a folder with one HAR file in it, whatever its name.
//!
//! Whoever writes a fixture looks at the place first, before anything is recorded, and is refused there and then.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    WriteError,
    commit::{self, Lock},
    disk::{folder_of, refused},
};

/// Where a fixture is, or will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    har: PathBuf,
    /// The folder, in the layout with body files.
    folder: Option<PathBuf>,
}

/// Whether a fixture of this name is one file (otherwise a folder).
#[must_use]
pub fn is_single_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("har"))
}

/// Endings of files that a folder does not have.
const FILE_ENDINGS: [&str; 14] =
    ["json", "jsonl", "ndjson", "journal", "yaml", "yml", "txt", "csv", "html", "xml", "md", "gz", "zip", "tar"];

impl Place {
    /// Looks where the fixture `path` is, without changing anything.
    ///
    /// # Errors
    ///
    /// The name does not fit what is there, the folder holds several HAR files, or it holds files and no HAR file.
    pub fn find(path: &Path) -> Result<Self, WriteError> {
        let refuse = |reason: &str| Err(WriteError::Place { path: path.to_path_buf(), reason: reason.to_owned() });
        let there = match fs::metadata(path) {
            Ok(there) => Some(there),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => None,
            Err(error) => return Err(refused("look at", path)(error)),
        };
        let is_folder = there.as_ref().map(fs::Metadata::is_dir);
        if is_single_file(path) {
            return match is_folder {
                Some(true) => refuse("a folder is there, and one file, named .har, is meant; name another"),
                _ if ends_with_slash(path) => {
                    refuse("it ends in .har like a file and in `/` like a folder; leave one of them out")
                }
                _ => Ok(Self { har: path.to_path_buf(), folder: None }),
            };
        }
        match is_folder {
            Some(true) => Self::in_folder(path),
            Some(false) => refuse("a file is there, and a folder is meant; name another, or a file that ends in .har"),
            None => {
                let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
                if FILE_ENDINGS.iter().any(|file| ending.eq_ignore_ascii_case(file)) {
                    return refuse("a fixture is a folder, or one file whose name ends in .har");
                }
                Ok(Self::named_after(path))
            }
        }
    }

    fn in_folder(path: &Path) -> Result<Self, WriteError> {
        let refuse = |reason: String| Err(WriteError::Place { path: path.to_path_buf(), reason });
        let mut hars = commit::staged_hars(path);
        let mut others = 0;
        for item in fs::read_dir(path).map_err(refused("read", path))? {
            let name = item.map_err(refused("read", path))?.file_name();
            if is_single_file(Path::new(&name)) {
                hars.push(name);
            } else if !name.as_encoded_bytes().starts_with(b".") && name != "lost+found" {
                others += 1;
            }
        }
        hars.sort();
        hars.dedup();
        match hars.as_slice() {
            [] if others == 0 => Ok(Self::named_after(path)),
            [] => refuse("the folder holds other files and no recording; name a new or an empty folder".to_owned()),
            [only] if only.to_str().is_none() => {
                refuse(format!("the name of `{}` is not UTF-8; rename it", only.display()))
            }
            [only] => Ok(Self { har: path.join(only), folder: Some(path.to_path_buf()) }),
            several => {
                let names: Vec<String> = several.iter().map(|name| format!("`{}`", name.display())).collect();
                refuse(format!("the folder holds several recordings ({}); move all but one away", names.join(", ")))
            }
        }
    }

    /// A new folder, whose HAR file has its name.
    fn named_after(path: &Path) -> Self {
        let named = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = named(path).or_else(|| named(&fs::canonicalize(path).ok()?)).unwrap_or_else(|| "fixture".to_owned());
        Self { har: path.join(format!("{name}.har")), folder: Some(path.to_path_buf()) }
    }

    /// As [`Place::find`], for a process that is going to write: finishes or clears away what a killed one left there,
    /// and finds out whether files can be made there.
    ///
    /// # Errors
    ///
    /// As [`Place::find`]; the place cannot be written to, or another process does.
    pub fn prepare(path: &Path) -> Result<Self, WriteError> {
        let place = Self::find(path)?;
        if place.root().is_dir() {
            drop(Lock::take(&place)?);
        }
        Ok(place)
    }

    /// The HAR file.
    #[must_use]
    pub fn har(&self) -> &Path {
        &self.har
    }

    /// The folder, in the layout with body files.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The folder in which files are made.
    pub(super) fn root(&self) -> &Path {
        self.folder().unwrap_or_else(|| folder_of(&self.har))
    }

    /// Whether there is a fixture; an empty file is none.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        let there = commit::current(&self.har).ok().and_then(|har| fs::metadata(har).ok());
        there.is_some_and(|there| !there.is_file() || there.len() > 0)
    }
}

#[cfg(unix)]
fn ends_with_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

#[cfg(not(unix))]
fn ends_with_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.as_os_str().as_encoded_bytes().ends_with(b"\\")
}
