//! What killed runs left, out of the way while `--overwrite` records in its place.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Left-over journals under other names: `PATH.before.journal`, `PATH.before-2.journal` and so on. They go when a
/// recording has replaced them; if none has, the last one is the journal again.
#[derive(Debug)]
pub(super) struct Aside {
    journal: PathBuf,
    /// At least one, in the order in which they were put aside.
    paths: Vec<PathBuf>,
}

/// The name of the n-th journal that was put aside, from 1.
fn name(journal: &Path, number: usize) -> PathBuf {
    let extension = if number == 1 { "before.journal".to_owned() } else { format!("before-{number}.journal") };
    journal.with_extension(extension)
}

impl Aside {
    /// Puts the journal aside, beside those of earlier runs.
    pub(super) fn put(journal: &Path) -> io::Result<Self> {
        let mut paths = Self::left(journal).map_or_else(Vec::new, |aside| aside.paths);
        let path = name(journal, paths.len() + 1);
        fs::rename(journal, &path)?;
        paths.push(path);
        Ok(Self { journal: journal.to_owned(), paths })
    }

    /// Those that runs put aside before they were killed.
    pub(super) fn left(journal: &Path) -> Option<Self> {
        let paths: Vec<PathBuf> =
            (1..usize::MAX).map(|number| name(journal, number)).take_while(|path| path.exists()).collect();
        (!paths.is_empty()).then(|| Self { journal: journal.to_owned(), paths })
    }

    /// Nothing replaced them: the last one is the journal again. Gives the journal's path.
    pub(super) fn back(mut self) -> io::Result<PathBuf> {
        if let Some(last) = self.paths.pop() {
            fs::rename(last, &self.journal)?;
        }
        Ok(self.journal)
    }

    /// A recording replaced them.
    pub(super) fn replaced(self) -> io::Result<()> {
        // The last one first: those before it keep their names.
        self.paths.iter().rev().try_for_each(fs::remove_file)
    }
}
