//! A file without its secrets, and what was in it.

use std::sync::Arc;

use crate::Redacted;

/// A secret in a file. It never shows the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// Byte offset at which it begins.
    pub offset: usize,
    /// Where, as a JSON pointer into the file (or line); `None` in a text.
    pub at: Option<Arc<str>>,
    /// What kind of secret, for example `client-secret`.
    pub kind: &'static str,
    /// The label that stands for it.
    pub label: String,
}

/// A file without its secrets.
#[derive(Debug, Clone)]
pub struct Cleaned {
    /// What to write.
    pub content: Redacted<Vec<u8>>,
    /// What was replaced, in the order of the file.
    pub sightings: Vec<Sighting>,
    /// Bodies that were emptied because they do not parse, so that their secrets cannot be located.
    pub withheld: usize,
}
