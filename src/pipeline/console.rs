//! One line per exchange, on standard error: for people, or one JSON object for machines.

use std::{fmt::Write as _, io, time::Duration};

use serde::Serialize;

use super::millis;
use crate::{
    redact::{Judged, Redacted},
    report::json::Item,
    upstream::Notes,
};

/// How exchange lines are shaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LineFormat {
    /// `200 GET /api/v2/… getRateLimitPolicy conforms 3 ms`
    #[default]
    Text,
    /// One object per line.
    Json,
}

#[derive(Serialize)]
struct Line<'a> {
    method: &'a str,
    url: String,
    status: u16,
    operation: Option<&'a str>,
    verdict: &'static str,
    findings: Vec<Item<'a>>,
    unchecked: Vec<&'static str>,
    ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by_contrail: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    remarks: &'a [String],
}

/// Appends the line of an exchange.
pub(super) fn line(out: &mut Vec<u8>, format: LineFormat, judged: &Redacted<Judged>, notes: &Notes, took: Duration) {
    let (exchange, verdict) = (&judged.exchange, &judged.verdict);
    let status = exchange.response.as_ref().map_or(0, |response| response.status);
    if format == LineFormat::Json {
        json(
            out,
            &Line {
                method: exchange.request.method.as_str(),
                url: exchange.request.target.to_string(),
                status,
                operation: verdict.operation.as_deref(),
                verdict: verdict.conclusion().name(),
                findings: verdict.findings.iter().map(Item::from).collect(),
                unchecked: verdict.unchecked.iter().map(crate::finding::Unchecked::name).collect(),
                ms: millis(took),
                incomplete: exchange.transport.incomplete.as_deref(),
                answered_by_contrail: exchange.transport.answered_by_contrail.as_deref(),
                remarks: &notes.remarks,
            },
        );
        return;
    }
    let status = if status == 0 { "---".to_owned() } else { status.to_string() };
    let mut line = format!(
        "{status} {} {} {} {} {} ms",
        exchange.request.method,
        shown(&exchange.request.target.path_and_query),
        verdict.operation.as_deref().unwrap_or("-"),
        verdict.conclusion().name(),
        millis(took)
    );
    for (index, finding) in verdict.findings.iter().enumerate() {
        line.push_str(if index == 0 { " (" } else { ", " });
        line.push_str(finding.rule.id());
        if !finding.at.is_empty() {
            let _ = write!(line, " at {}", shown(&finding.at));
        }
    }
    if !verdict.findings.is_empty() {
        line.push(')');
    }
    if let Some(reason) = &exchange.transport.answered_by_contrail {
        let _ = write!(line, "; answered by contrail: {reason}");
    }
    if let Some(reason) = &exchange.transport.incomplete {
        let _ = write!(line, "; not whole: {}", shown(reason));
    }
    if exchange.transport.retried {
        line.push_str("; sent again on a fresh connection");
    }
    for remark in &notes.remarks {
        let _ = write!(line, "; {}", shown(remark));
    }
    line.push('\n');
    out.extend_from_slice(line.as_bytes());
}

/// Appends the line of a request that never became an exchange.
pub(super) fn turned_away(out: &mut Vec<u8>, format: LineFormat, status: u16, reason: &str) {
    #[derive(Serialize)]
    struct TurnedAway<'a> {
        turned_away: &'a str,
        status: u16,
    }
    match format {
        LineFormat::Json => json(out, &TurnedAway { turned_away: reason, status }),
        LineFormat::Text => out.extend_from_slice(format!("{status} turned away: {reason}\n").as_bytes()),
    }
}

/// Appends that an exchange could not be redacted.
pub(super) fn unredacted(out: &mut Vec<u8>, format: LineFormat) {
    #[derive(Serialize)]
    struct Alarm {
        alarm: &'static str,
    }
    let alarm = "redaction failed on an exchange, so it is neither shown nor recorded; please report it";
    match format {
        LineFormat::Json => json(out, &Alarm { alarm }),
        LineFormat::Text => out.extend_from_slice(format!("ALARM: {alarm}\n").as_bytes()),
    }
}

/// Appends what happened to the journal.
pub(super) fn alarm(out: &mut Vec<u8>, format: LineFormat, alarm: &str, cause: Option<&io::Error>) {
    #[derive(Serialize)]
    struct Alarm<'a> {
        alarm: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
    }
    match (format, cause) {
        (LineFormat::Json, cause) => json(out, &Alarm { alarm, cause: cause.map(io::Error::to_string) }),
        (LineFormat::Text, Some(cause)) => out.extend_from_slice(format!("ALARM: {alarm}: {cause}\n").as_bytes()),
        (LineFormat::Text, None) => out.extend_from_slice(format!("ALARM: {alarm}\n").as_bytes()),
    }
}

fn json(out: &mut Vec<u8>, value: &impl Serialize) {
    let start = out.len();
    match serde_json::to_writer(&mut *out, value) {
        Ok(()) => out.push(b'\n'),
        Err(_) => out.truncate(start),
    }
}

/// A text without anything that could steer a terminal.
fn shown(text: &str) -> String {
    text.chars()
        .flat_map(|char| if char.is_control() { char.escape_default().collect::<Vec<_>>() } else { vec![char] })
        .collect()
}
