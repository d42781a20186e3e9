//! One entry of a recording: HAR 1.2 with contrail's own member, decoded and encoded.

pub(super) mod attest;
pub(super) mod decode;
mod decode_body;
pub(super) mod encode;
pub(super) mod encode_note;
mod fields;
pub(super) mod files;
pub(super) mod har;
pub(super) mod layout;
pub(super) mod note;
mod object;
pub(super) mod tokens;

use std::sync::Arc;

use contrail_exchange::{Exchange, finding::Verdict};

use self::attest::Attested;

/// One entry of a recording: an exchange, and what contrail wrote beside it (`_contrail`).
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its index in the file, from 0, among all entries of the file (those that are not HTTP included).
    pub index: usize,
    /// Its line in a journal, from 1.
    pub line: Option<usize>,
    /// The exchange. Bodies that were laid out for reading are compact again: their bytes are those that were recorded.
    pub exchange: Exchange,
    /// What contrail knew when it wrote the entry; `None` in another tool's file.
    pub note: Option<Note>,
}

/// The `_contrail` member of an entry.
#[derive(Debug, Clone, Default)]
pub struct Note {
    /// The verdict as it was given live. A fixture keeps of it only the operation.
    pub verdict: Verdict,
    /// Hash of the contract that gave the verdict; `None` in a fixture.
    pub contract: Option<Arc<str>>,
    /// What a later check cannot recompute from the file, because it lies at a place that is not whole there.
    pub attested: Option<Attested>,
    /// The upstream's origin, or several as [`upstreams`](contrail_exchange::upstreams); `None` in a fixture.
    pub upstream: Option<Arc<str>>,
    /// Bodies that are laid out for reading in the file.
    pub laid_out: LaidOut,
    /// Its place among the recorded requests of its method and path, where the file has another order.
    pub order: Option<u32>,
}

/// Which bodies of an entry are laid out for reading in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaidOut {
    /// The request's.
    pub request: bool,
    /// The response's.
    pub response: bool,
}

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
    /// Its `_contrail.version`, as it is written.
    Version(String),
}

impl From<&str> for EntryFault {
    fn from(reason: &str) -> Self {
        Self::Entry(reason.to_owned())
    }
}
