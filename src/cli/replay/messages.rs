//! What replay prints at its start and at its end, on standard error.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, Write as _},
    sync::Arc,
};

use contrail_exchange::{
    finding::{Unchecked, reasons_of},
    plural::plural,
    visible::visible,
};
use contrail_pipeline::Outcome;
use contrail_replay::Replay;
use contrail_report::{Stale, Unused, WrittenFinding};
use serde_json::{Value, json};

use super::{
    recorded::{Failing, RecordingVerdicts},
    sessions::Sessions,
};
use crate::cli::{
    Format,
    summary::{self, Rows, list},
};

/// What is served, once the listener is ready.
pub(super) fn ready(format: Format, replay: &Replay, sessions: Option<&Sessions>) {
    if let Some(sessions) = sessions {
        let recorded = sessions.recorded();
        let line = format!("serving the fixtures of {}", plural(recorded, "session"));
        summary::event(format, "sessions", recorded, &line);
    }
    if sessions.is_none() || !replay.is_empty() {
        summary::event(format, "serving", replay.len(), &format!("serving {}", exchanges(replay.len())));
    }
    if format == Format::Json {
        return; // the summary has what cannot be served
    }
    let mut text = String::new();
    let unfit = replay.unfit().into_iter();
    let unfit = unfit
        .map(|(why, entries)| (format!("{} cannot be served: {}", exchanges(entries.len()), visible(&why)), entries));
    let silent = Some(replay.silent()).filter(|entries| !entries.is_empty()).map(|entries| {
        let requests = plural(entries.len(), "request");
        (format!("{requests} of a client that gave up: no answer until the client leaves"), entries)
    });
    for (line, entries) in unfit.chain(silent) {
        let _ = writeln!(text, "{line}");
        list(&mut text, entries.iter().map(|(entry, request)| format!("{entry}: {request}")));
    }
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The summary, what does not fit the contract, and what was never requested.
pub(super) fn end(format: Format, outcome: &Outcome, replays: &[Arc<Replay>], judged: &RecordingVerdicts, more: Rows) {
    if format == Format::Json {
        let mut lines = String::new();
        for failing in &judged.failing {
            let _ = writeln!(lines, "{}", line(failing));
        }
        outcome.console.close();
        let _ = io::stderr().lock().write_all(lines.as_bytes());
        // What several sessions share is in each.
        let unfit: BTreeMap<String, (String, String)> = replays
            .iter()
            .flat_map(|replay| replay.unfit())
            .flat_map(|(why, entries)| entries.into_iter().map(move |(entry, request)| (entry, (request, why.clone()))))
            .collect();
        let unfit: Vec<Value> = unfit
            .into_iter()
            .map(|(entry, (request, why))| json!({"entry": entry, "request": request, "why": why}))
            .collect();
        let mut rows = vec![("recorded failing", judged.count.into()), ("unfit", unfit.into())];
        rows.extend(more);
        summary::print(format, outcome, &rows, None);
        return;
    }
    summary::print(format, outcome, &more, None);
    let unused = outcome.collector.run().unused.as_deref().unwrap_or_default();
    let mut text = String::new();
    if judged.count > 0 {
        let _ = writeln!(
            text,
            "{} {} not fit the contract in force (requested or not):",
            exchanges(judged.count),
            if judged.count == 1 { "does" } else { "do" }
        );
        list(&mut text, judged.failing.iter().flat_map(findings));
        if judged.count > judged.failing.len() {
            let _ = writeln!(text, "  and those of {}", exchanges(judged.count - judged.failing.len()));
        }
    }
    // The others are listed with their findings.
    let gone: Vec<&Stale> = outcome.collector.run().stale.iter().filter(|stale| stale.is_gone).collect();
    if !gone.is_empty() {
        let are = if gone.len() == 1 { "is" } else { "are" };
        let _ = writeln!(text, "{} {are} of an operation that the contract no longer has:", exchanges(gone.len()));
        list(&mut text, gone.iter().map(|Stale { entry, request, why, .. }| format!("{entry}: {request}: {why}")));
    }
    if !unused.is_empty() {
        let were = if unused.len() == 1 { "was" } else { "were" };
        let _ = writeln!(text, "{} {were} never requested:", exchanges(unused.len()));
        list(&mut text, unused.iter().map(Unused::shown));
    }
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn findings(failing: &Failing) -> impl Iterator<Item = String> {
    let request = &failing.judged.exchange.request;
    failing.judged.verdict.findings.iter().map(move |finding| {
        let at = if finding.at.is_empty() { String::new() } else { format!(" at {}", finding.at) };
        format!(
            "{} entry {}: {} {}: {}{at}: {}",
            failing.source,
            failing.entry,
            request.method,
            request.target.path_and_query,
            finding.rule,
            finding.message()
        )
    })
}

fn line(failing: &Failing) -> Value {
    let (exchange, verdict) = (&failing.judged.exchange, &failing.judged.verdict);
    json!({"recorded": {
        "source": failing.source,
        "entry": failing.entry,
        "method": exchange.request.method.as_str(),
        "url": exchange.request.target.to_string(),
        "status": exchange.response.as_ref().map_or(0, |response| response.status),
        "operation": verdict.operation.as_deref(),
        "verdict": verdict.conclusion().name(),
        "findings": verdict.findings.iter().map(WrittenFinding::from).collect::<Vec<_>>(),
        "unchecked": verdict.unchecked.iter().map(Unchecked::name).collect::<Vec<_>>(),
        "reasons": reasons_of(verdict.unchecked, &verdict.reasons).collect::<Vec<_>>(),
    }})
}

fn exchanges(count: usize) -> String {
    plural(count, "recorded exchange")
}
