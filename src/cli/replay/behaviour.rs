//! How a replay treats its clients besides what was recorded: faults on purpose, and how long answers take.

use std::sync::Arc;

use contrail_contract::Contract;
use contrail_proxy::upstream::Upstream;
use contrail_recording::Scope;
use contrail_replay::{Faults, Latency, Paced, Replay};

use super::{args::Args, scopes};
use crate::cli::{Failure, options::judge::known_operations};

/// Refuses what could have no effect on these recordings.
pub(super) fn check(args: &Args, contract: &Contract, replay: &Replay) -> Result<(), Failure> {
    // Those of sessions are read later.
    let all_are_read = args.sessions.sessions.is_none();
    if all_are_read {
        scopes::recorded(&args.matching, replay)?;
    }
    for scope in args.fault.iter().filter_map(|fault| fault.scope.as_ref()) {
        match scope {
            Scope::Operation(operation) => known_operations(contract, "--fault", [operation])?,
            Scope::Line { .. } if !all_are_read => {}
            Scope::Line { .. } => scopes::is_recorded("--fault", scope, replay)?,
        }
    }
    let mut times = replay.entries().map(|recorded| recorded.entry.exchange.timings.total());
    if all_are_read && matches!(args.latency, Some(Latency::Recorded(_))) && times.all(|time| time.is_zero()) {
        let wrong = "--latency recorded: these recordings hold no times; journals, trails and other tools' files do";
        return Err(wrong.into());
    }
    Ok(())
}

/// What answers, with the latency and the faults that the options ask for.
pub(super) fn applied(args: &Args, contract: &Arc<Contract>, mut answering: Arc<dyn Upstream>) -> Arc<dyn Upstream> {
    if let Some(latency) = args.latency {
        answering = Arc::new(Paced::new(answering, latency));
    }
    if !args.fault.is_empty() {
        let contract = Arc::clone(contract);
        let operation_of = Arc::new(move |method: &str, path: &str| contract.operation_id(method, path));
        answering = Arc::new(Faults::new(answering, args.fault.clone(), operation_of));
    }
    answering
}
