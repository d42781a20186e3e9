//! The gates of replay beside findings: unused, stale and denied (`--deny`).

use std::{path::PathBuf, sync::Arc};

use contrail_replay::Replay;
use contrail_report::{Collector, Stale, Unused};

use super::{args::Args, behaviour};
use crate::cli::{Failure, unused};

/// The gates that fail the run, beside the findings.
pub(super) struct Gates {
    /// Unused, stale or old recorded exchanges.
    pub(super) findings: bool,
    /// Denied requests.
    pub(super) denied: bool,
}

/// Adds to the report what was unused, stale and denied, and applies `--deny` to it; writes the file of `--used`, which
/// needs the fixtures of sessions that were `idle`.
///
/// # Errors
///
/// The file of `--used` cannot be written, or a recording cannot be read any more.
pub(super) fn apply(
    args: &Args,
    collector: &mut Collector,
    replays: &[Arc<Replay>],
    unused: Vec<Unused>,
    idle: &[PathBuf],
    stale: &mut Vec<Stale>,
) -> Result<Gates, Failure> {
    let policy = &args.judge.policy;
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
    if let Some(file) = &args.used {
        let unused = collector.run().unused.as_deref().unwrap_or_default();
        unused::write(file, args.fixtures.iter().chain(&args.sessions.sessions), unused, idle)?;
    }
    let too_old = behaviour::too_old(args)?;
    let is_too_old = too_old.is_some();
    if let Some(why) = too_old {
        collector.too_old(why);
    }
    let has_stale = policy.fails_on_stale() && !stale.is_empty();
    collector.stale(std::mem::take(stale), has_stale);
    // A host that turned out to be the tenant's later is no stranger that may be allowed.
    let fails = policy.fails_on_denied();
    let denied = collector.run().denied().any(|denied| fails || replays.iter().any(|replay| replay.knows(denied.host)));
    collector.denied_fails(denied);
    Ok(Gates { findings: unused || has_stale || is_too_old, denied })
}
