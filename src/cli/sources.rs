//! The recordings that a command line names, each read once.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use contrail_recording::{self as recording, Journal};

use super::{Failure, printer::warn};

/// The arguments that name recordings which no earlier one does. A file that is named again (by another spelling, a
/// link or a folder) is to be read once; a warning states that.
pub(super) fn recordings(arguments: &[PathBuf]) -> Result<Vec<&Path>, Failure> {
    warn_of_journals(arguments);
    let mut seen = NamedFiles::default();
    let mut named = Vec::new();
    for path in arguments {
        let all = recording::sources(path)?;
        if !seen.once(path, &all).is_empty() {
            named.push(path.as_path());
        }
    }
    Ok(named)
}

/// What `-` is called in output.
pub(super) const STANDARD_INPUT: &str = "standard input";

/// Refuses what can be read only once: standard input, a pipe.
pub(super) fn refuse_pipes(named: &[impl AsRef<Path>]) -> Result<(), Failure> {
    let is_pipe = |path: &Path| fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir());
    for path in named.iter().map(AsRef::as_ref) {
        let shown = match path.to_str() {
            Some("-") => STANDARD_INPUT.to_owned(),
            _ if is_pipe(path) => format!("`{}`", path.display()),
            _ => continue,
        };
        return Err(format!("a recording is read more than once, and {shown} comes only once; name a file").into());
    }
    Ok(())
}

/// Warns of each journal with exchanges of a fixture that is read without them.
pub(super) fn warn_of_journals(arguments: &[PathBuf]) {
    for (fixture, journal) in left(arguments) {
        warn(&format!(
            "`{}` holds exchanges that are not in `{fixture}`: their recording did not end; the next `contrail record \
             --append` folds them into it, and `contrail pack {fixture}` includes them",
            journal.display(),
            fixture = fixture.display()
        ));
    }
}

/// Refuses to replace a fixture whose journal would be folded into what replaces it.
pub(super) fn refuse_journals(out: &Path, named: &[PathBuf]) -> Result<(), Failure> {
    let Some(journal) = Journal::left_beside(out).filter(|journal| !named.iter().any(|path| same(path, journal)))
    else {
        return Ok(());
    };
    Err(format!(
        "`{}` holds exchanges of a recording that did not end, and the next recording would add them to `{}`; keep them \
         with `contrail pack {0} --out ANOTHER.har`, then remove the journal",
        journal.display(),
        out.display()
    )
    .into())
}

/// The arguments that have a journal beside them, which no argument names.
fn left(arguments: &[PathBuf]) -> impl Iterator<Item = (&Path, PathBuf)> {
    arguments.iter().filter_map(|path| {
        let journal = Journal::left_beside(path)?;
        let named = arguments.iter().any(|named| same(named, &journal));
        (!named && path.exists()).then_some((path.as_path(), journal))
    })
}

fn same(path: &Path, other: &Path) -> bool {
    File::of(path).is_some_and(|file| File::of(other) == Some(file))
}

/// Files that were named so far, and by which argument.
#[derive(Default)]
pub(super) struct NamedFiles(HashMap<File, PathBuf>);

/// What a path leads to, whatever its spelling.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum File {
    StandardInput,
    /// Device and inode.
    Inode(u64, u64),
}

impl NamedFiles {
    /// Those of an argument's files that were not named before; a warning about the others.
    pub(super) fn once(&mut self, argument: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
        let mut again: Option<(&Path, PathBuf, usize)> = None;
        let mut new = Vec::new();
        for file in files {
            // What cannot be read is reported where it is opened.
            let Some(id) = File::of(file) else {
                new.push(file.clone());
                continue;
            };
            if let Some(earlier) = self.0.get(&id) {
                let count = again.as_ref().map_or(0, |(_, _, count)| *count);
                again = Some((file, earlier.clone(), count + 1));
                continue;
            }
            self.0.insert(id, argument.to_path_buf());
            new.push(file.clone());
        }
        if let Some((file, earlier, count)) = again {
            let (argument, earlier) = (argument.display(), earlier.display());
            match count {
                1 => warn(&format!("`{}` is also in `{earlier}`; contrail reads it once", file.display())),
                _ if new.is_empty() => warn(&format!("`{argument}` is also in `{earlier}`; contrail reads it once")),
                _ => warn(&format!("{count} files of `{argument}` are also in `{earlier}`; contrail reads each once")),
            }
        }
        new
    }
}

impl File {
    /// The file at `path`; `None` if it cannot be found.
    pub(super) fn of(path: &Path) -> Option<Self> {
        if path.as_os_str() == "-" {
            return Some(Self::StandardInput);
        }
        let metadata = fs::metadata(path).ok()?;
        Some(Self::Inode(metadata.dev(), metadata.ino()))
    }
}
