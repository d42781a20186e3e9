//! Why a recording could not be read or written.

use std::{
    error::Error,
    fmt,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use contrail_exchange::plural::plural;

use crate::Tool;

/// Why a recording could not be read. Never quotes the file's content (it may hold secrets).
#[derive(Debug)]
pub struct ReadError {
    /// The recording, as it was named.
    pub source_name: String,
    /// What is wrong with it.
    pub fault: ReadFault,
}

/// What is wrong with a recording.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadFault {
    /// It could not be opened or read.
    Io(io::Error),
    /// There is nothing of this name.
    NotFound,
    /// There is no fixture of this name, but the journal of a recording that did not end.
    Unfolded {
        /// The journal.
        journal: String,
    },
    /// Git left marks of a merge conflict in it.
    Conflict {
        /// The line of the first mark, from 1.
        line: usize,
    },
    /// A folder without a recording in it.
    EmptyFolder {
        /// The tool whose recordings are there instead.
        tool: Option<Tool>,
    },
    /// A folder whose only recordings are those of runs that failed, which are read only by their names.
    SetAside {
        /// One of them.
        journal: String,
    },
    /// It is neither a HAR file nor a journal.
    NotHar {
        /// What was seen instead.
        reason: String,
    },
    /// It ends in the middle.
    Cut {
        /// How many entries were whole.
        entries: usize,
    },
    /// `_contrail.version` is no version that this contrail reads.
    Version {
        /// The version as it stands in the file.
        found: String,
    },
    /// `log._contrail.tokens` is none that contrail writes.
    Tokens,
    /// `log._contrail.ignore`, `echo` or `caller` holds what is no rule.
    Rule {
        /// What is wrong with it.
        reason: String,
    },
    /// An entry that cannot be an exchange.
    Entry {
        /// Its index in the file, from 0.
        index: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// An entry whose `_contrail` is none that contrail writes, or whose token the file does not explain.
    Note {
        /// Its index in the file, from 0.
        index: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// An entry whose body file cannot be used.
    BodyFile {
        /// The entry's index in the file, from 0.
        index: usize,
        /// The `_file` member.
        file: String,
        /// Why not.
        reason: String,
    },
    /// A line of a journal that is no entry (and is not the torn last one).
    Line {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

impl ReadError {
    /// What is wrong with the file of this name: where git left a conflict in it, that explains every other fault.
    pub(crate) fn of_file(name: &str, fault: ReadFault) -> Self {
        let conflict = if matches!(fault, ReadFault::Io(_)) { None } else { conflict_in(name) };
        let fault = conflict.map_or(fault, |line| ReadFault::Conflict { line });
        Self { source_name: name.to_owned(), fault }
    }

    /// The fault of a recording in which git left a conflict; `None` of any other.
    #[must_use]
    pub fn of_conflict(path: &Path) -> Option<Self> {
        let name = path.display().to_string();
        conflict_in(&name).map(|line| Self { source_name: name, fault: ReadFault::Conflict { line } })
    }

    /// Whether only one entry is at fault, and the rest of the file can be read.
    #[must_use]
    pub fn is_of_one_entry(&self) -> bool {
        matches!(self.fault, ReadFault::Entry { .. } | ReadFault::Line { .. })
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.source_name;
        match &self.fault {
            ReadFault::Io(_) => write!(f, "cannot read `{name}`"),
            ReadFault::NotFound => {
                write!(f, "there is no recording `{name}`; name a HAR file, a journal, a folder of them, or `-`")
            }
            ReadFault::Unfolded { journal } => write!(
                f,
                "the recording of `{name}` did not end, and its exchanges are in `{journal}`; name that file, or make a \
                 fixture of it with `contrail pack {journal} --out ANOTHER.har`"
            ),
            ReadFault::Conflict { line } => write!(
                f,
                "`{name}`, line {line}: git left a merge conflict there; keep one side, or let contrail merge by \
                 entries: `git config merge.contrail.driver 'contrail merge %O %A %B'`, then `git checkout --merge -- \
                 {name}`"
            ),
            ReadFault::EmptyFolder { tool } => {
                write!(f, "the folder `{name}` holds no recording (no file that ends in .har or .journal)")?;
                let Some(tool) = tool else { return Ok(()) };
                write!(f, ", but {} {}s: `contrail import` makes fixtures of them", tool.name(), tool.noun())
            }
            ReadFault::SetAside { journal } => {
                write!(f, "the folder `{name}` holds only recordings of failed runs; to read one, name it: `{journal}`")
            }
            ReadFault::NotHar { reason } => write!(f, "`{name}` is neither a HAR file nor a journal: {reason}"),
            ReadFault::Cut { entries } => write!(
                f,
                "`{name}` ends in the middle, after {}; export or copy it again",
                plural(*entries, "whole entry")
            ),
            ReadFault::Version { found } => write!(
                f,
                "`{name}`: `_contrail.version` is {found}, and this contrail reads version {} only; {}",
                super::VERSION,
                if found.parse::<f64>().is_ok_and(|version| version > super::VERSION.into()) {
                    "read it with a newer contrail"
                } else {
                    "restore the file from a copy"
                }
            ),
            ReadFault::Rule { reason } => write!(f, "`{name}`: `log._contrail`: {reason}"),
            ReadFault::Tokens => {
                write!(f, "`{name}`: `log._contrail.tokens` cannot be read; restore the file from a copy")
            }
            ReadFault::Entry { index, reason } | ReadFault::Note { index, reason } => {
                write!(f, "`{name}`, entry {index}: {reason}")
            }
            ReadFault::BodyFile { index, file, reason } => {
                write!(f, "`{name}`, entry {index}: the body file `{}` {reason}", file.escape_debug())
            }
            ReadFault::Line { line, reason } => write!(f, "`{name}`, line {line}: {reason}"),
        }
    }
}

impl Error for ReadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.fault {
            ReadFault::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// The line of the first mark, from 1, if git left a conflict in the file at `path`.
fn conflict_in(path: &str) -> Option<usize> {
    /// Bytes of a file that are searched.
    const SEARCHED: u64 = 64 << 20;
    // A pipe would be waited for.
    let file = fs::metadata(path).ok().filter(fs::Metadata::is_file).and_then(|_| File::open(path).ok())?;
    let mut text = Vec::new();
    file.take(SEARCHED).read_to_end(&mut text).ok()?;
    conflict_line(&text)
}

/// The line of git's first mark, from 1, if a text holds a conflict.
pub(crate) fn conflict_line(text: &[u8]) -> Option<usize> {
    let mut marks = ["<<<<<<< ", "=======", ">>>>>>> "].into_iter().peekable();
    let mut first = None;
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if marks.next_if(|mark| line.starts_with(mark.as_bytes())).is_some() {
            first = first.or(Some(index + 1));
        }
    }
    first.filter(|_| marks.peek().is_none())
}

/// Why a recording could not be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The system refused.
    Io {
        /// What was to be done, for example `write`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's own words.
        error: io::Error,
    },
    /// Another process writes to it.
    Locked {
        /// The journal.
        path: PathBuf,
    },
    /// No fixture can be written there.
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// Why not, and what to do about it.
        reason: String,
    },
    /// What is to be continued cannot be read.
    Unreadable(Box<ReadError>),
    /// The new fixture could not be checked, so it was not put into its place.
    Check(Box<dyn Error + Send + Sync>),
    /// The fixture holds the new exchanges; what failed came after that.
    Unfinished {
        /// The fixture's HAR file.
        har: PathBuf,
        /// What is left to do, as the end of a sentence.
        left: &'static str,
        /// What failed.
        error: Box<WriteError>,
    },
}

impl WriteError {
    /// Whether the fixture holds the new exchanges all the same.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        matches!(self, Self::Unfinished { .. })
    }
}

impl WriteError {
    /// The error and its cause, in one line.
    #[must_use]
    pub fn with_cause(&self) -> String {
        self.source().map_or_else(|| self.to_string(), |cause| format!("{self}: {cause}"))
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { doing, path, .. } => write!(f, "cannot {doing} `{}`", path.display()),
            Self::Locked { path } => write!(
                f,
                "another process is writing to the journal `{}`; stop it, or record to another place",
                path.display()
            ),
            Self::Unwritable { path, reason } => write!(f, "`{}`: {reason}", path.display()),
            Self::Unreadable(error) => error.fmt(f),
            Self::Check(_) => f.write_str("cannot check the new fixture"),
            Self::Unfinished { har, left, error } => {
                write!(f, "`{}` holds the new content, but {left}: {error}", har.display())
            }
        }
    }
}

impl Error for WriteError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            Self::Unreadable(error) => error.source(),
            Self::Check(error) => Some(&**error),
            Self::Unfinished { error, .. } => error.source(),
            _ => None,
        }
    }
}

impl From<ReadError> for WriteError {
    fn from(error: ReadError) -> Self {
        Self::Unreadable(Box::new(error))
    }
}
