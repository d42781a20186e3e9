//! HTTP exchanges on disk: a journal is appended to while traffic passes, and folded into a fixture (HAR 1.2), which
//! people commit and replay. Reads the HAR files of other tools, too.
//!
//! Journal entries keep the order in which responses finished; a fixture has a canonical order.
//!
//! Units: milliseconds in the file, [`std::time::Duration`] in memory; `-1` in the file is `None` here. `bodySize`
//! counts bytes on the wire, `content.size` bytes after decoding.
//!
//! Knows nothing of sockets or contracts. Secrets are gone before an entry gets here (see [`contrail_redact`]).

mod disk;
pub mod entry;
mod error;
pub mod fixture;
mod journal;
mod ordered;
mod read;
#[cfg(test)]
mod tests;

pub use disk::{is_at, make_folder, private, private_folder, resolved, size_of};
pub use entry::attest::{Attested, attest, reconcile};
pub use entry::encode::encode;
pub use entry::encode_note::JournalContext;
pub use entry::files::{body_file_names, body_files, named_body_files};
pub use entry::{Entry, LaidOut, Note};
pub use error::{ReadError, ReadFault, WriteError};
pub use fixture::commit::{Sealed, Staged, files_of, recover_folder};
pub use fixture::fold::fold;
pub use fixture::folded::Folded;
pub use fixture::git::{write_git_files, write_git_files_for_all};
pub use fixture::host::{HostRename, TENANT_ORIGIN, names_upstream};
pub use fixture::identity::{Identity, same_answer};
pub use fixture::ignore::{BadIgnore, CallerRule, Ignore, IgnoreSet, Ignored, MatchRules, Scope};
pub use fixture::instants::{
    date, expiries_from_distances, from_distances, holds_token, to_distances, wait_until, without_waits,
};
pub use fixture::merge::{Merged, merge};
pub use fixture::names::is_body_file;
pub use fixture::normalize::{is_of_client, is_per_run, rename_request, without_run};
pub use fixture::options::{Check, FoldOptions, FoldSource, Prove, Take};
pub use fixture::renew::Renew;
pub use fixture::renumber::{Renumbering, labels_of};
pub use fixture::stamp::{edited_bodies, restamp};
pub use fixture::transient::{Keep, UnknownKeep};
pub use fixture::{
    names::is_single_file,
    place::{FixturePath, is_file_ending},
};
pub use journal::account::Renewal;
pub use journal::chain::ChainHead;
pub use journal::check::{Broken, Checked, check_chain};
pub use journal::clock::{Clock, ClockSteps};
pub use journal::heads::KeptHeads;
pub use journal::set_aside::SetAside;
pub use journal::trail::TrailOptions;
pub use journal::unrecorded::Unrecorded;
pub use journal::{
    Encoder, EntryBatch, Journal, Leftover, Unsynced,
    chain::{begin_of, end_of as end_of_chain},
    destination::{is_noted as is_noted_destination, note as note_destination},
    lines::CHAIN,
    segments::{HELD, SENT, segment_name, segment_number},
};
pub use read::folders::{Folders, links_of};
pub use read::parallel::{ReadEnd, Unreadable};
pub use read::trails::{Named, TrailFiles, find};
pub use read::{
    Recording,
    entry_texts::{Head, ReadTo, unsearchable},
    form::is_journal,
    is_recording_name, open, open_again, open_text, open_to_judge, open_up_to, sources,
    tool::Tool,
};

/// The version of contrail's own members in a file (`_contrail.version`).
pub const VERSION: u32 = 1;

/// The SHA-256 of a file's bytes, as hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    contrail_exchange::hex::hex(&fixture::names::digest_of(bytes))
}

/// Today's date (UTC), as recordings state it: `2026-11-21`.
#[must_use]
pub fn today() -> String {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}
