//! Why an entry cannot be decoded.

/// Why an entry was dropped.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EntryFault {
    /// What is wrong with it.
    Entry(String),
    /// What is wrong with its `_contrail`.
    Note(String),
    /// What is wrong with its body file.
    BodyFile { file: String, reason: String },
    /// The label of its token, which `log._contrail.tokens` does not list.
    Token(String),
    /// Its `_contrail.version`, as it stands there.
    Version(String),
}

impl From<&str> for EntryFault {
    fn from(reason: &str) -> Self {
        Self::Entry(reason.to_owned())
    }
}
