//! How a replay treats its clients besides what was recorded: faults on purpose, and how long answers take.

use std::sync::Arc;

use contrail_contract::Contract;
use contrail_exchange::plural::plural;
use contrail_proxy::upstream::Upstream;
use contrail_recording::{self as recording, Scope};
use contrail_replay::{Faults, Latency, Paced, Replay};
use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::{args::Args, scopes};
use crate::cli::{Failure, options::judge::known_operations, printer::warn};

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
        let wrong = "--latency recorded: these recordings hold no times; record or import them with --keep-timings";
        return Err(wrong.into());
    }
    Ok(())
}

/// What makes an upstream answer with the latency and the faults that the options ask for; `replay` counts for it.
pub(super) fn of(
    args: &Args,
    contract: &Arc<Contract>,
) -> impl Fn(Arc<dyn Upstream>, &Arc<Replay>) -> Arc<dyn Upstream> + Clone + 'static {
    let (latency, faults, contract) = (args.latency, args.fault.clone(), Arc::clone(contract));
    move |mut answering, replay| {
        if let Some(latency) = latency {
            answering = Arc::new(Paced::new(answering, latency));
        }
        if !faults.is_empty() {
            let contract = Arc::clone(&contract);
            let operation_of = Arc::new(move |upstream: Option<&str>, method: &str, path: &str| {
                contract.operation_id_at(upstream, method, path)
            });
            answering = Arc::new(Faults::new(answering, faults.clone(), Arc::clone(replay), operation_of));
        }
        answering
    }
}

/// Warns of the oldest recording if it is older than `--max-age`; under `--deny age`, returns the reason instead.
pub(super) fn too_old(args: &Args) -> Result<Option<String>, Failure> {
    let Some(bound) = args.max_age else { return Ok(None) };
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let mut oldest: Option<(u32, String)> = None;
    for named in args.fixtures.iter().chain(&args.sessions.sessions) {
        for file in recording::sources(named)? {
            let mut opened = recording::open(&file)?;
            let Some(day) = opened.whole_head()?.recorded.as_ref().and_then(|day| day.parse::<Date>().ok()) else {
                continue;
            };
            let age = u32::try_from((today - day).get_days()).unwrap_or_default();
            if age > bound && oldest.as_ref().is_none_or(|(older, _)| age > *older) {
                let days = plural(u64::from(age), "day");
                oldest =
                    Some((age, format!("{} was recorded on {day}, {days} ago (--max-age {bound})", file.display())));
            }
        }
    }
    let Some((_, why)) = oldest else { return Ok(None) };
    if args.judge.policy.denies_age() {
        return Ok(Some(why));
    }
    warn(&why);
    Ok(None)
}
