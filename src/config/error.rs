//! Why `contrail.toml` or a variable cannot be used.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// Why `contrail.toml` or a variable cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// It cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// It is not TOML.
    NotToml {
        /// The file.
        path: PathBuf,
        /// The line of the error, from 1.
        line: Option<usize>,
        /// The parser's message.
        message: String,
    },
    /// A key is not an option.
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key, with its table.
        key: String,
        /// The line of the key, from 1.
        line: Option<usize>,
        /// The option that was probably meant.
        hint: Option<String>,
    },
    /// A table is not named after a command.
    UnknownTable {
        /// The file.
        path: PathBuf,
        /// The table.
        table: String,
        /// The line of the table, from 1.
        line: Option<usize>,
        /// The command that was probably meant.
        hint: Option<String>,
    },
    /// A key at the top of the file that belongs into the table of a command.
    SharedKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The line of the key, from 1.
        line: Option<usize>,
        /// The commands that have the option.
        tables: Vec<String>,
    },
    /// A variable that does not name the command to which it applies.
    SharedVariable {
        /// The variable.
        shared: String,
        /// The variable of the command.
        own: String,
        /// The option, without dashes.
        option: String,
    },
    /// A value is of a type that the option does not take.
    Value {
        /// The file.
        path: PathBuf,
        /// The key, with its table.
        key: String,
        /// The line of the key, from 1.
        line: Option<usize>,
        /// What to write instead.
        expected: &'static str,
    },
    /// A suppression cannot be used.
    Suppression {
        /// The file.
        path: PathBuf,
        /// The line of its table, from 1.
        line: Option<usize>,
        /// What is wrong with it.
        message: String,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, .. } => write!(f, "cannot read {}", path.display()),
            Self::NotToml { path, line, message } => {
                write!(f, "{}: invalid TOML: {}", at_line(path, *line), message)
            }
            Self::UnknownKey { path, key, line, hint } => {
                write!(f, "{}: no command has an option `{key}`", at_line(path, *line))?;
                match hint {
                    Some(hint) => write!(f, "; did you mean `{hint}`?"),
                    None => f.write_str("; docs/configuration.md lists the options"),
                }
            }
            Self::UnknownTable { path, table, line, hint } => {
                write!(f, "{}: no command is called `{table}`", at_line(path, *line))?;
                match hint {
                    Some(hint) => write!(f, "; did you mean `[{hint}]`?"),
                    None => f.write_str("; `contrail --help` lists the commands"),
                }
            }
            Self::SharedKey { path, key, line, tables } => {
                let tables: Vec<String> = tables.iter().map(|table| format!("[{table}]")).collect();
                let place = at_line(path, *line);
                write!(f, "{place}: `{key}` cannot apply to every command; write it below {}", tables.join(" or "))
            }
            Self::SharedVariable { shared, own, option } => {
                write!(f, "`{shared}` cannot apply to every command; set `{own}`, or give `--{option}`")
            }
            Self::Value { path, key, line, expected } => {
                write!(f, "{}: `{key}` must be {expected}", at_line(path, *line))
            }
            Self::Suppression { path, line, message } => write!(f, "{}: {message}", at_line(path, *line)),
        }
    }
}

/// `contrail.toml, line 3`.
pub(super) fn at_line(path: &Path, line: Option<usize>) -> String {
    let path = path.display();
    line.map_or_else(|| path.to_string(), |line| format!("{path}, line {line}"))
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
