//! Journals beside a fixture under other names, which only who names them reads.
//!
//! `PATH.before.journal`: of a killed run, while `--overwrite` records in its place. `PATH.failed.journal`: of a run
//! whose command or whose proof failed. Further ones have a number: `PATH.failed-2.journal`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Why a journal was set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetAside {
    /// A recording is to replace what a killed run left in it.
    Before,
    /// The command of its recording failed, or was stopped; or its fixture would have held a secret.
    Failed,
}

impl SetAside {
    const ALL: [Self; 2] = [Self::Before, Self::Failed];

    fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Failed => "failed",
        }
    }

    /// The path of the n-th one of `journal`, from 1.
    #[must_use]
    pub fn path(self, journal: &Path, number: usize) -> PathBuf {
        let word = self.word();
        journal.with_extension(if number == 1 { format!("{word}.journal") } else { format!("{word}-{number}.journal") })
    }

    /// Those of `journal` that exist, in the order in which they were set aside.
    #[must_use]
    pub fn all(self, journal: &Path) -> Vec<PathBuf> {
        (1..usize::MAX).map(|number| self.path(journal, number)).take_while(|path| path.exists()).collect()
    }

    /// Renames `journal` to the next free path, and returns it.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn put(self, journal: &Path) -> io::Result<PathBuf> {
        let path = self.path(journal, self.all(journal).len() + 1);
        fs::rename(journal, &path)?;
        Ok(path)
    }

    /// Whether a file has the name of a journal that was set aside.
    #[must_use]
    pub fn is_name(path: &Path) -> bool {
        let stem = path.extension().is_some_and(|extension| extension == "journal").then(|| path.file_stem()).flatten();
        let Some((_, last)) = stem.and_then(|stem| stem.to_str()).and_then(|stem| stem.rsplit_once('.')) else {
            return false;
        };
        let word = match last.rsplit_once('-') {
            Some((word, number)) if number.parse::<usize>().is_ok() => word,
            _ => last,
        };
        Self::ALL.iter().any(|aside| aside.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_journals_that_were_set_aside_are_known_again() {
        for aside in SetAside::ALL {
            for journal in ["fx.journal", "a/fx.har.journal", "x-1.journal"] {
                for number in [1, 2, 10] {
                    let path = aside.path(Path::new(journal), number);
                    assert!(SetAside::is_name(&path), "{}", path.display());
                }
                assert!(!SetAside::is_name(Path::new(journal)));
            }
        }
        for other in ["failed.journal", "fx.failed", "fx.failed.har", "fx.failed-x.journal", "trail-00000001.journal"] {
            assert!(!SetAside::is_name(Path::new(other)), "{other}");
        }
    }
}
