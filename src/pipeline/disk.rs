//! The state of the disk under `--durable`, and the answer to what it refuses.

use http::StatusCode;

use super::batches::Waiting;
use crate::upstream::Problem;

/// The state of the disk, under `--durable`.
#[derive(Debug, Default)]
pub(super) struct Disk {
    /// Written, and not on the disk yet.
    pub(super) syncing: Vec<Waiting>,
    pub(super) sync_wanted: bool,
    /// Why requests are refused at present.
    pub(super) refusing: Option<String>,
    /// A sync failed: which part of the journal is on the disk is unknown, and a later success would not show it.
    pub(super) sync_failed: bool,
    /// No more is to come.
    pub(super) closing: bool,
}

impl Disk {
    /// From now on requests are refused, for this reason; the answer.
    pub(super) fn refuse(&mut self, reason: String) -> Problem {
        let problem = unrecorded(&reason);
        self.refusing = Some(reason);
        problem
    }
}

/// The answer to a request that cannot be recorded, under `--durable`.
pub(super) fn unrecorded(reason: &str) -> Problem {
    let detail = format!("the journal cannot be written, and --durable lets nothing through unrecorded: {reason}");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "durable", detail)
}
