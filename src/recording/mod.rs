//! Recordings: exchanges on disk, as a journal (append-only) and as fixtures (HAR 1.2 folded from it).
//!
//! Journal entries keep the order in which responses finished; a fixture has a canonical order.
//!
//! Units: milliseconds in the file, [`std::time::Duration`] in memory; `-1` in the file is `None` here. `bodySize`
//! counts bytes on the wire, `content.size` bytes after decoding.
//!
//! Knows nothing of sockets or contracts. Secrets are gone before an entry gets here (see [`crate::redact`]).

mod disk;
pub mod entry;
mod error;
pub mod fixture;
mod journal;
mod read;
#[cfg(test)]
mod tests;
mod texts;

use std::sync::Arc;

pub(crate) use disk::{is_at, resolved};
pub use entry::attest::{Attested, attest, settle};
pub use entry::encode::encode;
pub(crate) use entry::files::{body_file_names, body_files};
pub use entry::style::JournalContext;
pub use error::{ReadError, ReadFault, WriteError};
pub use fixture::commit::{Changes, Staged};
pub(crate) use fixture::commit::{current, files_of, recover_folder};
pub use fixture::fold::fold;
pub use fixture::folded::Folded;
pub use fixture::host::{HostRename, TENANT_ORIGIN};
pub use fixture::identity::Identity;
pub(crate) use fixture::instants::{from_distances, to_distances};
pub(crate) use fixture::names::is_body_file;
pub use fixture::normalize::{rename_request, without_run};
pub use fixture::options::{Check, FoldOptions, FoldSource, Prove, Take};
pub use fixture::renew::Renew;
pub use fixture::stamp::{edited_bodies, restamp};
pub use fixture::transient::{Keep, UnknownKeep};
pub use fixture::{names::is_single_file, place::Place};
pub use journal::chain::{ChainHead, first_link};
pub use journal::check::{Broken, Checked, check_chain, check_texts};
pub use journal::fold_log::Renewal;
pub use journal::heads::KeptHeads;
pub use journal::rewrite::{Rewriter, Rewritten};
pub(crate) use journal::segments::{is_in_trail, is_trail_lock};
pub use journal::set_aside::SetAside;
pub use journal::trail::TrailOptions;
pub use journal::unrecorded::Unrecorded;
pub use journal::{Journal, Leftover, Unsynced};
pub use read::copies::TrailLines;
pub(crate) use read::folders::{Folders, links_of};
pub(crate) use read::is_recording_name;
pub use read::merge::{Merged, merge};
pub use read::parallel::Ended;
pub use read::trails::{Named, TrailFiles, find};
pub use read::{Recording, open, open_up_to, sources};
pub use read::{reader::EntryRef, reread::Rereader};
pub use texts::{Head, is_journal, unsearchable};

use crate::{exchange::Exchange, finding::Verdict};

/// The version of contrail's own members in a file (`_contrail.version`).
pub const VERSION: u32 = 1;

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
    /// The upstream's origin; `None` in a fixture.
    pub upstream: Option<Arc<str>>,
    /// Bodies that are laid out for reading in the file.
    pub laid_out: LaidOut,
}

/// Which bodies of an entry are laid out for reading in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaidOut {
    /// The request's.
    pub request: bool,
    /// The response's.
    pub response: bool,
}

/// Today's date (UTC), as recordings state it: `2026-11-21`.
#[must_use]
pub fn today() -> String {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}
