//! The gates of replay beside findings: unused, stale and denied (`--deny`).

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
pub(super) fn apply(policy: &PolicyArgs, collector: &mut Collector, replay: &Replay, stale: &mut Vec<Stale>) -> Gates {
    collector.sources(replay.sources());
    let unused = replay.unused().into_iter().map(|(entry, request)| Unused { entry, request });
    collector.unused(unused.collect());
    let unused = policy.fails_on_unused() && collector.run().unused().next().is_some();
    collector.unused_fails(unused);
    let has_stale = policy.fails_on_stale() && !stale.is_empty();
    collector.stale(std::mem::take(stale), has_stale);
    // A host that turned out to be the tenant's later is no stranger that may be allowed.
    let fails = policy.fails_on_denied();
    let denied = collector.run().denied().any(|denied| fails || replay.knows(denied.host));
    collector.denied_fails(denied);
    Gates { findings: unused || has_stale, denied }
}
