//! The state of the disk under `--durable`, and the answer to what it refuses.

use contrail_proxy::upstream::Problem;
use http::StatusCode;

use super::batches::Waiting;

/// The state of the disk, under `--durable`.
#[derive(Debug, Default)]
pub(super) struct Disk {
    /// Written, and not on the disk yet.
    pub(super) syncing: Vec<Waiting>,
    pub(super) sync_wanted: bool,
    /// Why requests are refused at present: in short, and the whole answer.
    pub(super) refusing: Option<(&'static str, String)>,
    pub(super) syncs: Syncs,
    /// No more is to come.
    pub(super) closing: bool,
}

/// How syncs went.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Syncs {
    #[default]
    Done,
    /// The last one was not done in time; a later one may be.
    Late,
    /// One failed: which part of the journal is on the disk is unknown, and a later success would not show it.
    Failed,
}

/// Why something is refused.
pub(super) const UNWRITTEN: &str = "the journal cannot be written";
pub(super) const LATE: &str = "entries wait too long to be safe";

impl Disk {
    /// From now on requests are refused, for this reason; the answer.
    pub(super) fn refuse(&mut self, what: &'static str, reason: &str) -> Problem {
        let detail = format!("{what}, and --durable lets nothing through unrecorded: {reason}");
        let problem = unrecorded(&detail);
        self.refusing = Some((what, detail));
        problem
    }

    /// The answer to a request, while they are refused.
    pub(super) fn refusal(&self) -> Option<Problem> {
        self.refusing.as_ref().map(|(_, detail)| unrecorded(detail))
    }

    /// Whether requests are refused for the time that entries take alone.
    pub(super) fn is_late(&self) -> bool {
        self.syncs == Syncs::Late && self.refusing.as_ref().is_some_and(|(what, _)| *what == LATE)
    }
}

/// The answer to a request that cannot be recorded, under `--durable`.
pub(super) fn unrecorded(detail: &str) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "durable", detail.to_owned())
}
