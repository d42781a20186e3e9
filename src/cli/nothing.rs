//! Why a recording holds no answer of the tenant, and why a command's run checked nothing, in words.

use std::{collections::BTreeMap, fmt::Write as _};

use contrail_exchange::plural::plural;
use contrail_pipeline::Outcome;
use contrail_recording::Folded;
use contrail_report::Reason;

use crate::cli::{Outcome as Exit, options::policy::PolicyArgs, run::RunEnd, summary::Rows};

const NOTHING_RECORDED: &str = "NOTHING RECORDED";

/// The lines for the summary of a recording that changed nothing, because the tenant gave no answer.
pub(super) fn lines(fixture: &str, stays: bool, cause: &str) -> Rows {
    let kept = if stays { format!("{fixture}, unchanged") } else { format!("{fixture} was not made") };
    vec![(NOTHING_RECORDED, cause.into()), ("fixture", kept.into())]
}

/// Why the exit status is not 0 then.
pub(super) fn reason(cause: String) -> Reason {
    Reason::new("nothing-recorded", NOTHING_RECORDED, cause)
}

/// Which operations were to be recorded again and got no answer of the tenant.
pub(super) fn unanswered(folded: &Folded) -> Option<String> {
    let list = folded.unanswered.join(", ");
    let own = own_answers(folded).map(|own| format!("; {own}")).unwrap_or_default();
    (!list.is_empty()).then(|| format!("{list}: the tenant did not answer, so contrail keeps the old entries{own}"))
}

const NOT_RECORDED_ANEW: &str = "NOT RECORDED ANEW";

/// The lines for the summary about entries that `--replace` or `--overwrite` kept.
pub(super) fn not_recorded_anew(why: &str) -> (&'static str, serde_json::Value) {
    (NOT_RECORDED_ANEW, why.into())
}

/// Why the exit status is not 0 then.
pub(super) fn not_anew(why: &str) -> Reason {
    Reason::new("not-recorded-anew", NOT_RECORDED_ANEW, why)
}

/// The likely cause, and what to do.
pub(super) fn cause(outcome: &Outcome, folded: &Folded, ran: &RunEnd) -> String {
    let counts = &outcome.counts;
    if counts.exchanges == 0 && counts.left_out == 0 && !counts.lost() {
        return unused(outcome, ran);
    }
    let mut causes = Vec::new();
    causes.extend(own_answers(folded));
    if !folded.transient.is_empty() {
        let list: Vec<String> = folded.transient.iter().map(|(status, count)| format!("{status} × {count}")).collect();
        causes.push(format!("the tenant gave only transient answers ({}); --keep keeps them", list.join(", ")));
    }
    if folded.not_taken > 0 {
        let came = plural(folded.not_taken, "exchange");
        causes.push(format!("contrail received {came}, all of operations that --replace does not name"));
    }
    if counts.left_out > 0 {
        let came = plural(counts.left_out, "exchange");
        causes.push(format!("--only and --exclude left out {came}"));
    }
    if counts.lost() {
        causes.push("contrail could not write the exchanges".to_owned());
    }
    if !folded.no_answers.is_empty() {
        causes.push(format!("exchanges ended before the tenant answered: {}", listed(&folded.no_answers)));
    }
    causes.extend(denied(outcome));
    causes.join("; ")
}

/// Whether a recording of nothing is fine: no request came, and `--allow unused` says that none has to.
pub(super) fn is_allowed(policy: &PolicyArgs, outcome: &Outcome) -> bool {
    let counts = &outcome.counts;
    let came = counts.exchanges > 0 || counts.left_out > 0 || counts.lost() || !counts.turned_away.is_empty();
    policy.allows_unused() && !came && outcome.collector.run().denials() == 0
}

const NOTHING_REQUESTED: &str = "NOTHING REQUESTED";

/// Why `watch -- CMD` or `replay -- CMD` fails where CMD ended and sent nothing through contrail: such a run checked
/// nothing, and looks like one that did.
pub(super) fn unrequested(policy: &PolicyArgs, outcome: &Outcome, ran: &RunEnd, exit: Exit) -> Option<Reason> {
    let counts = &outcome.counts;
    let ended = ran.command.is_some_and(|ended| !ended.interrupted);
    let nothing = counts.exchanges == 0 && counts.left_out == 0 && counts.misses == 0 && !counts.lost();
    // Denied requests have their own exit status.
    (ended && nothing && !exit.misses && !policy.allows_unused()).then(|| {
        let cause = format!("{}, or accept it with --allow unused", unused(outcome, ran));
        Reason::new("nothing-requested", NOTHING_REQUESTED, cause)
    })
}

/// The line for the summary about it.
pub(super) fn row(reason: &Reason) -> (&'static str, serde_json::Value) {
    (NOTHING_REQUESTED, reason.detail.as_str().into())
}

/// Nothing reached contrail.
fn unused(outcome: &Outcome, ran: &RunEnd) -> String {
    let mut lines = if ran.given.is_empty() {
        let places: Vec<&str> = ran.listeners.iter().filter_map(|line| line.strip_prefix("listening on ")).collect();
        format!("contrail received no request at {}", places.join(", "))
    } else {
        format!("CMD sent no request for the tenant through contrail; its environment has {}", ran.given.join(", "))
    };
    let refused: u64 = outcome.counts.turned_away.values().sum();
    let denied = denied(outcome);
    if denied.is_none() && refused > 0 {
        let list: Vec<String> =
            outcome.counts.turned_away.iter().map(|(why, count)| format!("{count} × {why}")).collect();
        let _ = write!(lines, "; contrail turned away {}: {}", plural(refused, "request"), list.join(", "));
    }
    match denied {
        Some(denied) => format!("{lines}; {denied}"),
        None if ran.given.is_empty() => format!("{lines}; point the client there"),
        None => format!("{lines}; make CMD use one of them"),
    }
}

/// What contrail answered in the tenant's place.
fn own_answers(folded: &Folded) -> Option<String> {
    let why = listed(&folded.own_causes);
    let count = plural(folded.own_answers, "request");
    (!why.is_empty()).then(|| format!("contrail answered {count} in the tenant's place: {why}"))
}

/// The hosts that the forward proxy denied to its clients.
fn denied(outcome: &Outcome) -> Option<String> {
    let run = outcome.collector.run();
    let count = run.denials();
    let mut hosts: BTreeMap<String, u64> = BTreeMap::new();
    for denied in run.denied() {
        *hosts.entry(denied.host.to_owned()).or_default() += denied.count;
    }
    if run.further_denied > 0 {
        hosts.insert("other hosts".to_owned(), run.further_denied);
    }
    let hosts = listed(&hosts);
    let way = plural(count, "request");
    (count > 0).then(|| {
        format!("contrail denied {way} to other hosts ({hosts}); if the tenant is among them, --upstream names the wrong host")
    })
}

/// `text × 3, other`.
fn listed<N: Copy + PartialEq + From<u8> + std::fmt::Display>(counts: &BTreeMap<String, N>) -> String {
    let one = |(text, count): (&String, &N)| {
        if *count == N::from(1) { text.clone() } else { format!("{text} × {count}") }
    };
    counts.iter().map(one).collect::<Vec<_>>().join(", ")
}
