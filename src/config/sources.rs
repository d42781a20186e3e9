//! Where the value of each option came from.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use super::error::at_line;

/// Where the value of an option came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The command line.
    Flag,
    /// This environment variable.
    Variable(String),
    /// The file.
    File {
        /// The file.
        path: PathBuf,
        /// The table of the command, unless the key is at the top of the file.
        table: Option<String>,
        /// The line of the key, from 1.
        line: Option<usize>,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("the command line"),
            Self::Variable(name) => f.write_str(name),
            Self::File { path, table: None, line } => f.write_str(&at_line(path, *line)),
            Self::File { path, table: Some(table), line } => {
                write!(f, "[{table}] of {}", at_line(path, *line))
            }
        }
    }
}

/// The source of every option that has a value other than its default, by the option's name without dashes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sources(pub(super) BTreeMap<String, Source>);

impl Sources {
    /// Where the value of an option came from; `None` where it has its default.
    #[must_use]
    pub fn get(&self, option: &str) -> Option<&Source> {
        self.0.get(option)
    }

    /// Every option that has another value than its default, and where that came from.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.0.iter().map(|(option, source)| (&**option, source))
    }

    /// Whether the command line gave this option.
    #[must_use]
    pub fn is_flag(&self, option: &str) -> bool {
        self.get(option) == Some(&Source::Flag)
    }

    /// Whether a variable or the top of the file gave this option, which is meant for every command that has it.
    #[must_use]
    pub fn is_shared(&self, option: &str) -> bool {
        matches!(self.get(option), Some(Source::Variable(_) | Source::File { table: None, .. }))
    }

    /// What to call an option in a message: by its flag, its variable, or its key and place in the file.
    #[must_use]
    pub fn name(&self, option: &str) -> String {
        match self.get(option) {
            None | Some(Source::Flag) => format!("`--{option}`"),
            Some(Source::Variable(name)) => format!("`{name}`"),
            Some(file) => format!("`{option}` in {file}"),
        }
    }

    /// For each option that `message` names and that a variable or the file set: which of them did.
    #[must_use]
    pub fn note(&self, message: &str) -> Option<String> {
        let part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let named = |option: &str| {
            message.match_indices(&format!("--{option}")).any(|(at, flag)| {
                let before = message[..at].bytes().next_back();
                let after = message[at + flag.len()..].bytes().next();
                !before.is_some_and(part) && !after.is_some_and(part)
            })
        };
        let set = self.0.iter().filter(|(option, source)| **source != Source::Flag && named(option));
        let notes: Vec<String> = set.map(|(option, source)| format!("--{option} is set by {source}")).collect();
        (!notes.is_empty()).then(|| notes.join(", "))
    }
}
