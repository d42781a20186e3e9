//! What a proxy command says at its end, on standard error: for people, or one JSON object.

use std::{
    fmt::Write as _,
    io::{self, BufWriter, Write},
    time::Duration,
};

use serde_json::{Map, Value, json};

use super::{Failure, Format, printer::private_file};
use crate::{finding::Kind, pipeline::Outcome, plural::plural, redact::Redactor, report};

/// A write or sync of the journal that takes this long is said.
const SLOW: Duration = Duration::from_millis(250);

/// Further lines of a command's own: a name for people and a value for both.
pub(super) type Extra = Vec<(&'static str, Value)>;

/// Prints the summary; `next` is the command to go on with.
pub(super) fn print(format: Format, outcome: &Outcome, extra: &Extra, next: Option<&str>) {
    // Exchange lines come before it, all of them.
    let dropped = outcome.console.close();
    let text = match format {
        Format::Text => text(outcome, dropped, extra, next),
        Format::Json => format!("{}\n", json!({"summary": object(outcome, dropped, extra, next)})),
    };
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes the reports that were asked for.
pub(super) fn reports(outcome: &mut Outcome, redactor: &Redactor, requests: &[report::Request]) -> Result<(), Failure> {
    for request in requests {
        match &request.file {
            None => outcome.collector.write(request.kind, redactor, &mut io::stderr().lock(), false)?,
            Some(path) => {
                let cannot = |error: io::Error| format!("cannot write the report to {}: {error}", path.display());
                let mut file = BufWriter::new(private_file(path, true).map_err(cannot)?);
                outcome
                    .collector
                    .write(request.kind, redactor, &mut file, false)
                    .and_then(|()| file.flush())
                    .map_err(cannot)?;
            }
        }
    }
    Ok(())
}

fn text(outcome: &Outcome, dropped: u64, extra: &Extra, next: Option<&str>) -> String {
    let (tally, counts) = (outcome.collector.tally(), &outcome.counts);
    let mut out = String::from("\n");
    let _ = writeln!(
        out,
        "{}: {} conform, {} with gaps, {} violate",
        plural(tally.exchanges, "exchange"),
        tally.conforms,
        tally.gap,
        tally.violates
    );
    if !tally.operations().is_empty() {
        let operations: Vec<String> =
            tally.operations().iter().map(|(name, count)| format!("{name} {count}")).collect();
        let _ = writeln!(out, "operations covered: {}", operations.join(", "));
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
    if !outcome.secrets.secrets.is_empty() {
        let secrets: Vec<String> =
            outcome.secrets.secrets.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        let _ = writeln!(out, "secrets redacted: {}", secrets.join(", "));
    }
    if let Some(personal) = outcome.secrets.said_of_personal() {
        let _ = writeln!(out, "{personal}");
    }
    for (count, one, many) in said(outcome, dropped) {
        if count > 0 {
            let _ = writeln!(out, "{count} {}", if count == 1 { one } else { many });
        }
    }
    for (reason, count) in &counts.answered {
        let _ = writeln!(out, "{count} answered by contrail itself: {reason}");
    }
    for (reason, count) in &counts.turned_away {
        let _ = writeln!(out, "{count} turned away: {reason}");
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
    if let Some(error) = &counts.journal_error {
        let _ = writeln!(out, "the journal could not be written: {error}");
    }
    for (name, value) in extra {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let _ = writeln!(out, "{name}: {value}");
    }
    if let Some(next) = next {
        let _ = writeln!(out, "next: {next}");
    }
    out
}

/// What is said of what was counted, where it was one and where it was more.
fn said(outcome: &Outcome, dropped: u64) -> [(u64, &'static str, &'static str); 12] {
    let (secrets, counts) = (&outcome.secrets, &outcome.counts);
    let any = |count, said| (count, said, said);
    [
        (
            secrets.forgotten,
            "secret was forgotten (--max-secrets): where it came again, only its field, header or shape told it",
            "secrets were forgotten (--max-secrets): where they came again, only their field, header or shape told them",
        ),
        (secrets.withheld, "body withheld, because it does not parse", "bodies withheld, because they do not parse"),
        (secrets.cut, "cut body whose kept part was dropped", "cut bodies whose kept part was dropped"),
        any(counts.left_out, "left out by --only or --exclude"),
        any(counts.incomplete, "not whole"),
        any(counts.retried, "sent again on a fresh connection"),
        (counts.misses, "replay miss", "replay misses"),
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
    ]
}

fn object(outcome: &Outcome, dropped: u64, extra: &Extra, next: Option<&str>) -> Map<String, Value> {
    let (tally, counts) = (outcome.collector.tally(), &outcome.counts);
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| {
        object.insert(name.replace(' ', "_"), value);
    };
    put("exchanges", tally.exchanges.into());
    put("conforms", tally.conforms.into());
    put("gap", tally.gap.into());
    put("violates", tally.violates.into());
    put("operations", json!(tally.operations()));
    put(
        "rules",
        tally.by_rule().map(|(rule, count)| (rule.id().to_owned(), Value::from(count))).collect::<Map<_, _>>().into(),
    );
    put("secrets", json!(outcome.secrets.secrets));
    put("personal", json!(outcome.secrets.personal));
    put("forgotten", outcome.secrets.forgotten.into());
    put("withheld", outcome.secrets.withheld.into());
    put("left_out", counts.left_out.into());
    put("incomplete", counts.incomplete.into());
    put("retried", counts.retried.into());
    put("misses", counts.misses.into());
    put("unjudged", counts.unjudged.into());
    put("unredacted", counts.unredacted.into());
    put("answered_by_contrail", json!(counts.answered));
    put("turned_away", json!(counts.turned_away));
    put("unwritten", counts.unwritten.into());
    put("journal_error", json!(counts.journal_error));
    put("late", counts.late.into());
    put("lines_dropped", dropped.into());
    let queue = &counts.queue;
    put(
        "journal_queue",
        json!({
            "most_bytes": queue.most_bytes,
            "most_exchanges": queue.most_exchanges,
            "slowest_ms": u64::try_from(queue.slowest.as_millis()).unwrap_or(u64::MAX),
            "writes": queue.writes,
            "syncs": queue.syncs,
        }),
    );
    for (name, value) in extra {
        put(name, value.clone());
    }
    put("next", json!(next));
    object
}
