//! What an entry states about its run, and where its bodies stand.

use std::sync::Arc;

use crate::LaidOut;

/// What is the same in many entries of a journal.
#[derive(Debug, Clone)]
pub struct JournalContext {
    /// The upstream's origin (`https://tenant.example.com`).
    pub upstream: Arc<str>,
    /// Hash of the contract that judged.
    pub contract: Arc<str>,
}

/// Where a body's text stands.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BodyLocation<'a> {
    /// In the entry.
    Inline,
    /// In a file beside the HAR file.
    File {
        name: &'a str,
        /// Of the file's bytes, hexadecimal.
        sha256: &'a str,
    },
}

/// What an entry states about its run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Style<'a> {
    /// Everything.
    Journal {
        context: &'a JournalContext,
        /// The recorded facts of the token, where they are known already.
        token: Option<&'a [u8]>,
    },
    /// Nothing: times are constants, a token's instants and the verdict's words are left out.
    Fixture {
        /// Where the request's body stands.
        request: BodyLocation<'a>,
        /// Where the response's body stands.
        response: BodyLocation<'a>,
        /// Which of them are laid out there.
        laid_out: LaidOut,
        /// The label of the token, where the file's head holds its facts.
        token: Option<&'a str>,
    },
}
