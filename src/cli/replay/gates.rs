//! The gates of replay beside findings: unused, stale and denied (`--deny`).

use std::sync::Arc;

use contrail_replay::Replay;
use contrail_report::{Collector, Stale, Unused};

use crate::cli::options::policy::PolicyArgs;

/// The gates that fail the run, beside the findings.
pub(super) struct Gates {
    /// Unused or stale recorded exchanges.
    pub(super) findings: bool,
    /// Denied requests.
    pub(super) denied: bool,
}

/// Adds to the report what was unused, stale and denied, and applies `--deny` to it.
pub(super) fn apply(
    policy: &PolicyArgs,
    collector: &mut Collector,
    replays: &[Arc<Replay>],
    unused: Vec<Unused>,
    stale: &mut Vec<Stale>,
) -> Gates {
    // What several share is named once.
    let mut sources: Vec<&str> = Vec::new();
    for (at, source) in replays.iter().enumerate().flat_map(|(at, replay)| replay.sources().map(move |one| (at, one))) {
        if at == 0 || !sources.contains(&source) {
            sources.push(source);
        }
    }
    collector.sources(sources.into_iter());
    collector.unused(unused);
    let unused = policy.fails_on_unused() && collector.run().unused().next().is_some();
    collector.unused_fails(unused);
    let has_stale = policy.fails_on_stale() && !stale.is_empty();
    collector.stale(std::mem::take(stale), has_stale);
    // A host that turned out to be the tenant's later is no stranger that may be allowed.
    let fails = policy.fails_on_denied();
    let denied = collector.run().denied().any(|denied| fails || replays.iter().any(|replay| replay.knows(denied.host)));
    collector.denied_fails(denied);
    Gates { findings: unused || has_stale, denied }
}
