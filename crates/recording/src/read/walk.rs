//! The recordings that a path names: a file itself, of a folder those in it and below.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{folders::Folders, tool::Tool};
use crate::{Journal, ReadError, ReadFault, SetAside, fixture::commit};

/// The recordings that `path` names, in the order of their names: itself if it is a file or `-`; of a folder every
/// `.har` and `.journal` file in it and below, through symbolic links too.
///
/// # Errors
///
/// [`ReadFault::NotFound`], [`ReadFault::Unfolded`], [`ReadFault::EmptyFolder`], [`ReadFault::SetAside`], or [`ReadFault::Io`].
pub fn sources(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    Ok(walked(path)?.0)
}

/// [`sources`], and the folders that they were looked for in.
pub(super) fn walked(path: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), ReadError> {
    let fail = |fault| ReadError { source_name: path.display().to_string(), fault };
    if path.as_os_str() == "-" {
        return Ok((vec![path.to_path_buf()], Vec::new()));
    }
    let metadata = fs::metadata(path).map_err(|error| fail(fault_of(path, error)))?;
    if !metadata.is_dir() {
        return Ok((vec![path.to_path_buf()], Vec::new()));
    }
    let (mut found, mut all, mut set_aside) = (Vec::new(), Vec::new(), None::<PathBuf>);
    let mut folders = Folders::below(path);
    while let Some(folder) = folders.take().map_err(|error| fail(ReadFault::Io(error)))? {
        for item in fs::read_dir(&folder).map_err(|error| fail(ReadFault::Io(error)))? {
            let item = item.map_err(|error| fail(ReadFault::Io(error)))?;
            let kind = item.file_type().map_err(|error| fail(ReadFault::Io(error)))?;
            let path = item.path();
            let is_linked = kind.is_symlink() && path.is_dir();
            if kind.is_dir() || is_linked {
                match commit::is_own_folder(&item.file_name()) {
                    true => {}
                    false if is_linked => folders.add_linked(path),
                    false => folders.add(path),
                }
            } else if SetAside::is_name(&path) {
                set_aside = set_aside.into_iter().chain([path]).min();
            } else if is_recording_name(&path) {
                found.push(path);
            }
        }
        all.push(folder);
    }
    if found.is_empty() {
        return Err(fail(match set_aside {
            Some(journal) => ReadFault::SetAside { journal: journal.display().to_string() },
            None => ReadFault::EmptyFolder { tool: all.iter().find_map(|folder| tool_in(folder)) },
        }));
    }
    found.sort();
    Ok((found, all))
}

/// The tool whose recordings a folder holds.
fn tool_in(folder: &Path) -> Option<Tool> {
    let mut files = fs::read_dir(folder).ok()?.flatten().map(|item| item.path());
    files.find_map(|path| Tool::of(&path).filter(|tool| tool.is_imported()))
}

/// Whether a folder is read with this file as one of its recordings.
pub fn is_recording_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("har") || extension == "journal")
}

/// Why nothing can be read at `path`.
pub(super) fn fault_of(path: &Path, error: io::Error) -> ReadFault {
    match Journal::left_beside(path) {
        _ if error.kind() != io::ErrorKind::NotFound => ReadFault::Io(error),
        Some(journal) => ReadFault::Unfolded { journal: journal.display().to_string() },
        None => ReadFault::NotFound,
    }
}
