//! The summary of a proxy command on standard error: text, or one JSON object.

use std::{
    cmp::Reverse,
    fmt::Write as _,
    io::{self, Write},
    time::Duration,
};

use contrail_exchange::{
    finding::{Kind, Rule},
    plural::plural,
    visible::visible,
};
use contrail_pipeline::{Counts, Outcome};
use contrail_redact::{Counters, Redactor};
use contrail_report::{self as report, Reason, Recorded, Screen, Tally};
use serde_json::{Map, Value, json};

use super::{Failure, Format, Outcome as Exit, report_files};

/// A write or sync of the journal that takes this long is reported.
const SLOW: Duration = Duration::from_millis(250);

/// Further lines of a command's own: a name for people and a value for both.
pub(super) type Rows = Vec<(&'static str, Value)>;

/// Why the exit status is not 0. Where several reasons apply, the first ones decide; `undone` is what could not be
/// done.
fn reasons(outcome: &Outcome, exit: Exit, undone: &[Reason]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if let Some(ended) = exit.command {
        reasons.push(Reason::new("command", ended.in_words(), ""));
    }
    reasons.extend_from_slice(undone);
    reasons.extend(lost(&outcome.counts));
    let run = outcome.collector.run();
    if exit.misses {
        if outcome.counts.misses > 0 {
            reasons.push(Reason::shown("misses", plural(outcome.counts.misses, "replay miss")));
        }
        if run.denied_fails {
            reasons.push(Reason::shown("denied", plural(run.denials(), "denied request")));
        }
    }
    reasons.extend(outcome.collector.failing_reasons());
    if run.unused_fails {
        reasons.push(Reason::shown("unused", plural(run.unused().len(), "unused recorded exchange")));
    }
    if run.stale_fails {
        reasons.push(Reason::shown("stale", plural(run.stale.len(), "stale recorded exchange")));
    }
    reasons.extend(run.too_old.iter().map(|why| Reason::shown("age", why.as_str())));
    if run.proof.as_ref().is_some_and(|proof| !proof.good) {
        reasons.push(Reason::shown("proof", "the fixture failed its proof"));
    }
    reasons
}

/// What was not recorded or not judged.
fn lost(counts: &Counts) -> impl Iterator<Item = Reason> {
    let reason = |kind, count: u64, why: &str, detail: &str| {
        (count > 0).then(|| Reason::new(kind, format!("{} {why}", plural(count, "exchange")), detail))
    };
    let error = counts.journal_error.as_deref().unwrap_or_default();
    let unwritten = reason("not-recorded", counts.unwritten, "NOT RECORDED", error);
    let journal = (counts.unwritten == 0 && !error.is_empty()).then(|| Reason::new("journal", NO_JOURNAL, error));
    let unredacted = reason("not-redacted", counts.unredacted, "NOT RECORDED", "redaction failed; please report it");
    let unjudged = reason("not-judged", counts.unjudged, "not judged", "the check failed; please report it");
    let failed = |kind, what: &str, error: &Option<String>| error.as_ref().map(|error| Reason::new(kind, what, error));
    let head = failed("head", NO_HEAD, &counts.head_error);
    let trail = failed("trail", OTHER_TRAIL, &counts.trail_error);
    let reread = failed("reread", NO_REREAD, &counts.reread_error);
    [trail, unwritten, journal, head, reread, unredacted, unjudged].into_iter().flatten()
}

const NO_JOURNAL: &str = "the journal could not be written";
const NO_HEAD: &str = "the head of the trail could not be kept";
const OTHER_TRAIL: &str = "ALARM: the trail does not go through its kept heads";
const NO_REREAD: &str = "the trail could not be read again";

/// Settles the exit status and writes the reports that go to files. A report that cannot be written is a reason itself,
/// so the others are written again.
pub(super) fn conclude(
    outcome: &mut Outcome,
    exit: &mut Exit,
    mut undone: Vec<Reason>,
    redactor: &Redactor,
    requests: &[report::Request],
) {
    exit.failed |= !undone.is_empty() || outcome.counts.lost();
    for last in [false, true] {
        let ended = report::Exit { status: exit.status(), reasons: reasons(outcome, *exit, &undone) };
        outcome.collector.ended(ended);
        let unwritten =
            report_files::write(requests, |kind, to| outcome.collector.write(kind, redactor, to, Screen::default()));
        if last || unwritten.is_empty() {
            return;
        }
        exit.failed = true;
        undone.extend(unwritten);
    }
}

/// Writes the reports that go to standard error.
pub(super) fn reports(outcome: &mut Outcome, redactor: &Redactor, requests: &[report::Request]) -> Result<(), Failure> {
    for request in requests.iter().filter(|request| request.file.is_none()) {
        outcome.collector.write(request.kind, redactor, &mut io::stderr().lock(), Screen::default())?;
    }
    Ok(())
}

/// Says something on standard error before the summary: a line for people, or an object with it and with this member.
pub(super) fn event(format: Format, name: &str, value: impl Into<Value>, sentences: &str) {
    let line = match format {
        Format::Text => visible(sentences).into_owned(),
        Format::Json => {
            let members = [(name.to_owned(), value.into()), ("message".to_owned(), sentences.into())];
            Value::Object(members.into_iter().collect()).to_string()
        }
    };
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints the summary; `next` is the command to go on with.
pub(super) fn print(format: Format, outcome: &Outcome, rows: &Rows, next: Option<&str>) {
    // Exchange lines come before it, all of them.
    let dropped = outcome.console.close();
    let text = match format {
        Format::Text => text(outcome, dropped, rows, next),
        Format::Json => format!("{}\n", json!({"summary": object(outcome, dropped, rows, next)})),
    };
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn text(outcome: &Outcome, dropped: u64, rows: &Rows, next: Option<&str>) -> String {
    let (tally, counts, run) = (outcome.collector.tally(), &outcome.counts, outcome.collector.run());
    let replays = run.unused.is_some();
    let mut out = String::from("\n");
    verdicts(tally, replays, &mut out);
    if !tally.operations().is_empty() {
        let operations: Vec<String> =
            tally.operations().iter().map(|(name, count)| format!("{name} {count}")).collect();
        let what = if replays { "requested" } else { "covered" };
        let _ = writeln!(out, "operations {what}: {}", operations.join(", "));
    }
    if replays {
        let Recorded { exchanges, conforms, gap, violates } = tally.recorded;
        let recorded = plural(exchanges, "recorded exchange");
        let _ = writeln!(out, "{recorded}: {conforms} conform, {gap} with gaps, {violates} violate");
    }
    for (kind, title) in [(Kind::Violation, "violations"), (Kind::Gap, "gaps")] {
        let rules: Vec<String> = tally
            .by_rule()
            .filter(|(rule, _)| rule.kind() == kind)
            .map(|(rule, count)| format!("{rule} {count}"))
            .collect();
        if !rules.is_empty() {
            let _ = writeln!(out, "{title}: {}", rules.join(", "));
        }
    }
    for line in outcome.collector.exempt() {
        let _ = writeln!(out, "{}", visible(&line));
    }
    not_checked(tally, &mut out);
    if !outcome.secrets.secrets.is_empty() {
        let secrets: Vec<String> =
            outcome.secrets.secrets.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        let _ = writeln!(out, "secrets redacted: {}", secrets.join(", "));
    }
    if let Some(personal) = personal_data(&outcome.secrets) {
        let _ = writeln!(out, "{personal}");
    }
    if counts.misses > 0 {
        let _ = writeln!(out, "{}", plural(counts.misses, "replay miss"));
        list(
            &mut out,
            run.misses().map(|missed| format!("{} ({}, {} in all)", missed.shown(), missed.reason, missed.count)),
        );
    }
    for (count, one, many) in sentences(outcome, dropped) {
        if count > 0 {
            let _ = writeln!(out, "{count} {}", if count == 1 { one } else { many });
        }
    }
    for (reason, count) in &counts.answered {
        let _ = writeln!(out, "{count} answered by contrail itself: {reason}");
    }
    for (reason, count) in &counts.turned_away {
        let _ = writeln!(out, "{count} turned away: {reason}");
        let hosts = run.denied().filter(|denied| denied.reason == reason);
        list(&mut out, hosts.map(|denied| format!("{} ({} in all)", denied.host, denied.count)));
    }
    let queue = &counts.queue;
    if queue.slowest >= SLOW {
        let _ = writeln!(
            out,
            "the disk was slow: up to {} ms for one write, {} and {} waiting",
            queue.slowest.as_millis(),
            plural(queue.most_exchanges, "exchange"),
            plural(queue.most_bytes, "byte")
        );
    }
    errors(counts, &mut out);
    for (name, value) in rows {
        let _ = match (*name, value) {
            ("entries", Value::Number(entries)) => {
                write!(out, "{}, ", plural(entries.as_u64().unwrap_or_default(), "entry"))
            }
            ("changed", Value::Bool(changed)) => writeln!(out, "{}", if *changed { "written" } else { "unchanged" }),
            (_, Value::String(text)) => writeln!(out, "{name}: {}", visible(text)),
            (_, value) => writeln!(out, "{name}: {}", visible(&value.to_string())),
        };
    }
    if let Some(proof) = &run.proof {
        if proof.good {
            let note = proof.note.as_ref().map_or_else(String::new, |note| format!("; {note}"));
            let _ = writeln!(out, "proof: replayed against itself, verified, scanned for secrets: good{note}");
        } else {
            let _ = writeln!(out, "PROOF FAILED: {}:", proof.failure());
            list(&mut out, proof.problems.iter().cloned());
        }
    }
    if let Some(exit) = run.exit.as_ref().filter(|exit| exit.status != 0) {
        // Details are in the lines above, but for a report's.
        let reasons: Vec<&str> = exit.reasons.iter().map(|reason| reason.what.as_str()).collect();
        let _ = writeln!(out, "exit status {}: {}", exit.status, visible(&reasons.join("; ")));
    }
    if let Some(next) = next {
        let _ = writeln!(out, "next: {}", visible(next));
    }
    out
}

/// Adds how many exchanges have which verdict, and whether the contract documents any.
fn verdicts(tally: &Tally, replays: bool, out: &mut String) {
    let _ = writeln!(
        out,
        "{}: {} conform, {} with gaps, {} violate{}{}",
        plural(tally.exchanges, if replays { "live request" } else { "exchange" }),
        tally.conforms,
        tally.gap,
        tally.violates,
        tally.unjudged(),
        if replays { format!(", {} missed", tally.misses) } else { String::new() }
    );
    let undocumented = tally.by_rule().find(|(rule, _)| *rule == Rule::OperationUndocumented);
    if !replays && undocumented.is_some_and(|(_, count)| count == tally.exchanges) {
        let _ = writeln!(
            out,
            "the contract documents none of them; --contract FILE names your API's document, --contract none judges \
             nothing"
        );
    }
}

/// Maximum aspects that the line of what was not checked names.
const MAX_ASPECTS: usize = 5;

/// Adds what could not be checked, and of how many exchanges: the most frequent first.
fn not_checked(tally: &Tally, out: &mut String) {
    let mut aspects: Vec<(&str, u64)> = tally.unchecked().map(|(aspect, count, _)| (aspect, count)).collect();
    if tally.nothing_judged() {
        let _ = writeln!(out, "not checked: everything");
        return;
    }
    if aspects.is_empty() {
        return;
    }
    aspects.sort_by_key(|(_, count)| Reverse(*count));
    let shown: Vec<String> =
        aspects.iter().take(MAX_ASPECTS).map(|(aspect, count)| format!("{aspect} {count}")).collect();
    let more = match aspects.len().saturating_sub(MAX_ASPECTS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let _ = writeln!(out, "not checked: {}{more} (--report text lists them by operation)", shown.join(", "));
}

/// Adds what went wrong with the journal.
fn errors(counts: &Counts, out: &mut String) {
    for (what, error) in [
        (OTHER_TRAIL, &counts.trail_error),
        (NO_JOURNAL, &counts.journal_error),
        (NO_HEAD, &counts.head_error),
        (NO_REREAD, &counts.reread_error),
    ] {
        if let Some(error) = error {
            let _ = writeln!(out, "{what}: {}", visible(error));
        }
    }
}

/// Maximum lines of a list that are shown.
const MAX_LISTED: usize = 20;

/// A line about personal data, if anything looks like it.
pub(super) fn personal_data(secrets: &Counters) -> Option<String> {
    let found: Vec<String> = secrets.personal.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let handling = if secrets.masks_personal {
        "personal data masked"
    } else {
        "looks like personal data (--redact personal masks it)"
    };
    (!found.is_empty()).then(|| format!("{handling}: {}", found.join(", ")))
}

/// Adds the lines of a list, the first of them.
pub(super) fn list(text: &mut String, lines: impl Iterator<Item = String>) {
    let mut left_out = 0;
    for (at, line) in lines.enumerate() {
        if at < MAX_LISTED {
            let _ = writeln!(text, "  {}", visible(&line));
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let _ = writeln!(text, "  and {left_out} more");
    }
}

/// The sentence about a count, in the singular and in the plural.
fn sentences(outcome: &Outcome, dropped: u64) -> [(u64, &'static str, &'static str); 15] {
    let (secrets, counts) = (&outcome.secrets, &outcome.counts);
    let any = |count, sentences| (count, sentences, sentences);
    [
        (
            secrets.forgotten,
            "secret was evicted (--max-secrets); later copies were found only by field, header or format",
            "secrets were evicted (--max-secrets); later copies were found only by field, header or format",
        ),
        (
            counts.withheld,
            "body withheld: contrail cannot decode or parse it, so it cannot find its secrets",
            "bodies withheld: contrail cannot decode or parse them, so it cannot find their secrets",
        ),
        (counts.cut, "cut body whose kept part was dropped", "cut bodies whose kept part was dropped"),
        any(counts.left_out, "left out by --only or --exclude"),
        (counts.incomplete, "incomplete exchange", "incomplete exchanges"),
        any(counts.retried, "sent again on a fresh connection"),
        (
            counts.upstream_named,
            "answer names the upstream's own address; a client that follows it without a proxy passes around contrail",
            "answers name the upstream's own address; a client that follows it without a proxy passes around contrail",
        ),
        (
            counts.unjudged,
            "not judged, because the check failed on it; please report it",
            "not judged, because the check failed on them; please report it",
        ),
        (
            counts.unredacted,
            "NOT RECORDED, because redaction failed on it; please report it",
            "NOT RECORDED, because redaction failed on them; please report it",
        ),
        any(counts.unwritten, "NOT RECORDED, because the journal could not be written"),
        (
            counts.late,
            "entry of the trail holds a secret that was recognised only after it was written; the trail keeps it",
            "entries of the trail hold a secret that was recognised only after they were written; the trail keeps them",
        ),
        (
            dropped,
            "exchange line not shown, because standard error was read too slowly",
            "exchange lines not shown, because standard error was read too slowly",
        ),
        (
            counts.spans_dropped.saturating_sub(counts.spans_too_large),
            "span dropped, because the receiver of --otlp did not take it in time",
            "spans dropped, because the receiver of --otlp did not take them in time",
        ),
        (
            counts.spans_too_large,
            "span dropped, because it is larger than --otlp-queue",
            "spans dropped, because each is larger than --otlp-queue",
        ),
        (counts.spans_rejected, "span rejected by the receiver of --otlp", "spans rejected by the receiver of --otlp"),
    ]
}

fn object(outcome: &Outcome, dropped: u64, rows: &Rows, next: Option<&str>) -> Map<String, Value> {
    let (tally, counts, run) = (outcome.collector.tally(), &outcome.counts, outcome.collector.run());
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| {
        object.insert(name.replace(' ', "_"), value);
    };
    put("exchanges", tally.exchanges.into());
    put("conforms", tally.conforms.into());
    put("gap", tally.gap.into());
    put("violates", tally.violates.into());
    if run.unused.is_some() {
        put("recorded", json!(tally.recorded));
    }
    put("operations", json!(tally.operations()));
    let rules = tally.by_rule().map(|(rule, count)| (rule.id().to_owned(), Value::from(count)));
    put("rules", rules.collect::<Map<_, _>>().into());
    let unchecked = tally.unchecked().map(|(aspect, count, _)| (aspect.to_owned(), Value::from(count)));
    put("unchecked", unchecked.collect::<Map<_, _>>().into());
    put("secrets", json!(outcome.secrets.secrets));
    put("personal", json!(outcome.secrets.personal));
    put("forgotten", outcome.secrets.forgotten.into());
    for (name, value) in json!(counts).as_object().into_iter().flatten() {
        put(name, value.clone());
    }
    put("denied", json!(run.denied().collect::<Vec<_>>()));
    put("lines_dropped", dropped.into());
    for (name, value) in rows {
        put(name, value.clone());
    }
    if let Some(covered) = outcome.collector.covered() {
        put("baseline", json!(covered));
    }
    let suppressed = outcome.collector.suppressed();
    if !suppressed.is_empty() {
        put("suppressions", json!(suppressed));
    }
    if let Some(unused) = &run.unused {
        put("unused", json!(unused));
    }
    if run.unused.is_some() {
        put("stale", json!(run.stale));
    }
    if let Some(proof) = &run.proof {
        put("proof", json!(proof));
    }
    put("exit", json!(run.exit));
    put("next", json!(next));
    object
}
