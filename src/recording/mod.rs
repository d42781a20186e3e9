//! Recordings: exchanges on disk, as a journal (append-only) and as fixtures (HAR 1.2 folded from it).
//!
//! Journal entries keep the order in which responses finished; a fixture has a canonical order.
//!
//! Units: milliseconds in the file, [`std::time::Duration`] in memory; `-1` in the file is `None` here. `bodySize`
//! counts bytes on the wire, `content.size` bytes after decoding.
//!
//! Knows nothing of sockets or contracts. Secrets are gone before an entry gets here (see [`crate::redact`]).

use std::sync::Arc;

use crate::{
    exchange::Exchange,
    finding::{Finding, UncheckedSet, Verdict},
};

/// One entry of a recording: an exchange, and what contrail wrote beside it (`_contrail`).
#[derive(Debug, Clone)]
pub struct Entry {
    /// The exchange.
    pub exchange: Exchange,
    /// What contrail knew when it wrote the entry; `None` in another tool's file.
    pub note: Option<Note>,
}

/// The `_contrail` member of an entry.
#[derive(Debug, Clone, Default)]
pub struct Note {
    /// The verdict as it was given live.
    pub verdict: Verdict,
    /// What a later check cannot recompute from the file, because it lies at a place that is not whole there.
    pub attested: Option<Attested>,
    /// Bodies that were laid out for reading; replay sends them compact.
    pub laid_out: LaidOut,
}

/// Which bodies of an entry were laid out for reading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaidOut {
    /// The request's.
    pub request: bool,
    /// The response's.
    pub response: bool,
}

/// The difference between the live verdict and the one that the file gives on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attested {
    /// Hash of the contract under which this holds ([`crate::contract::Contract::hash`]).
    pub contract: Arc<str>,
    /// Findings that only the live exchange showed.
    pub findings: Vec<Finding>,
    /// Findings that only the file shows (a label in place of the value); to be dropped.
    pub cleared: Vec<Finding>,
    /// What could not be checked live, where it differs from what cannot be checked on the file.
    pub unchecked: Option<UncheckedSet>,
}

/// Settles the verdict of an entry: what the file gives on its own (`recomputed`) with what was attested.
///
/// Under the contract that was in force then, the result is the live verdict. Under another one (`contract` differs),
/// attested findings cannot be recomputed, so the bodies and places that they lie at become unchecked.
#[must_use]
pub fn settle(_recomputed: Verdict, _attested: Option<&Attested>, _contract: &str) -> Verdict {
    todo!()
}
