//! One line per exchange, on standard error: for people, or one JSON object for machines.

use std::{
    borrow::Cow,
    io,
    time::{Duration, SystemTime},
};

use contrail_exchange::{
    Body, Exchange, Headers, Presence, Withheld,
    finding::{Conclusion, Finding, Kind, Reason, Unchecked, reasons_of},
    graphql,
    json::{
        Node,
        write::{instant, number, raw, second},
    },
    visible::visible,
};
use contrail_proxy::upstream::{AnswerMeta, Denied};
use contrail_redact::{JudgedExchange, Redacted};
use contrail_report::{WrittenFinding, verdict_name};
use serde::Serialize;

/// How exchange lines are shaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFormat {
    /// `200 GET /api/v2/… getRateLimitPolicy conforms 3 ms`, on a terminal behind `6 12:00:01Z`
    Text {
        /// Violations red, gaps yellow, what conforms green.
        colour: bool,
        /// Each finding's message follows on a line of its own.
        verbose: bool,
        /// The line begins with the exchange's number in reports and with the time (UTC), for who looks on.
        clock: bool,
    },
    /// One object per line.
    Json,
}

impl LineFormat {
    /// For people, without colour or messages.
    pub const PLAIN: Self = Self::Text { colour: false, verbose: false, clock: false };
}

#[derive(Serialize)]
struct Line<'a> {
    method: &'a str,
    url: String,
    status: u16,
    operation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    graphql: Option<String>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    miss: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<&'a str>,
    findings: Vec<WrittenFinding<'a>>,
    unchecked: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<Cow<'a, Reason>>,
    ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by_contrail: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    remarks: &'a [String],
}

/// Where the line of an exchange begins, how many exchanges of the batch came before it, and when it began.
#[derive(Debug)]
pub(super) struct LineStart {
    pub(super) at: usize,
    pub(super) before: u64,
    pub(super) started: Option<SystemTime>,
}

/// Moves lines to `out`. Those of exchanges get their number, counted on from `first`, and their time.
pub(super) fn numbered(
    lines: &mut Vec<u8>,
    starts: &mut Vec<LineStart>,
    format: LineFormat,
    first: u64,
    out: &mut Vec<u8>,
) {
    let mut copied = 0;
    for LineStart { at, before, started } in starts.drain(..) {
        match format {
            LineFormat::Json => {
                // The brace that ends it, before the end of the line.
                let length = memchr::memchr(b'\n', &lines[at..]).unwrap_or(lines.len() - at);
                let end = (at + length).saturating_sub(1).max(copied);
                out.extend_from_slice(&lines[copied..end]);
                copied = end;
                raw(out, ",\"entry\":");
                number(first + before, out);
                raw(out, ",\"started\":\"");
                instant(started, "", out);
                out.push(b'"');
            }
            LineFormat::Text { clock: true, .. } => {
                out.extend_from_slice(&lines[copied..at]);
                copied = at;
                number(first + before, out);
                out.push(b' ');
                let at = started.and_then(second).unwrap_or_default();
                raw(out, at.split_once('T').map_or("-", |(_, time)| time));
                out.push(b' ');
            }
            LineFormat::Text { .. } => {}
        }
    }
    out.extend_from_slice(&lines[copied..]);
    lines.clear();
}

/// Appends the line of an exchange.
pub(super) fn line(
    out: &mut Vec<u8>,
    format: LineFormat,
    judged: &Redacted<JudgedExchange>,
    meta: &AnswerMeta,
    took: Duration,
) {
    let (exchange, verdict) = (&judged.exchange, &judged.verdict);
    let status = exchange.response.as_ref().map_or(0, |response| response.status);
    let LineFormat::Text { colour, verbose, .. } = format else {
        json(
            out,
            &Line {
                method: exchange.request.method.as_str(),
                url: exchange.request.target.to_string(),
                status,
                operation: verdict.operation.as_deref(),
                graphql: graphql::operation_name(&exchange.request),
                verdict: verdict_name(verdict.conclusion(), meta.miss.is_some()),
                miss: meta.miss.is_some(),
                session: exchange.request.target.session.as_deref(),
                upstream: exchange.request.target.upstream.as_deref(),
                findings: verdict.findings.iter().map(WrittenFinding::from).collect(),
                unchecked: verdict.unchecked.iter().map(Unchecked::name).collect(),
                reasons: reasons_of(verdict.unchecked, &verdict.reasons).collect(),
                ms: millis(took),
                incomplete: exchange.transport.unfinished(),
                answered_by_contrail: exchange.transport.answered(),
                remarks: &meta.remarks,
            },
        );
        return;
    };
    let status = if status == 0 { meta.given_status.map_or(0, |given| given.as_u16()) } else { status };
    text(out, status, colour, judged, meta, took);
    out.push(b'\n');
    if verbose {
        for finding in &verdict.findings {
            raw(out, "    ");
            place(out, colour, finding);
            raw(out, ": ");
            raw(out, &finding.short_message());
            out.push(b'\n');
        }
        for Reason { aspect, at, reason } in &verdict.reasons {
            raw(out, "    unchecked: ");
            raw(out, aspect.name());
            if !at.is_empty() {
                raw(out, " at ");
                shown(at, out);
            }
            raw(out, ": ");
            shown(reason, out);
            out.push(b'\n');
        }
        if let Some(text) = error_text(exchange) {
            raw(out, "    the tenant's error: ");
            shown(&text, out);
            out.push(b'\n');
        }
    }
}

/// Whether `--quiet` shows an exchange: it has a finding, was missed, or something went wrong with it.
pub(super) fn is_notable(judged: &JudgedExchange, meta: &AnswerMeta) -> bool {
    let transport = &judged.exchange.transport;
    !judged.verdict.findings.is_empty()
        || meta.miss.is_some()
        || transport.incomplete.is_some()
        || transport.answered_by_contrail.is_some()
}

/// What a refusal (4xx, 5xx) of the tenant says in its own words, on one line.
fn error_text(exchange: &Exchange) -> Option<String> {
    /// Characters of it that are shown.
    const MAX_SHOWN: usize = 200;
    let refusal = exchange.response.as_ref().filter(|response| response.status >= 400)?;
    if exchange.transport.answered_by_contrail.is_some() {
        return None;
    }
    let content = &refusal.body.content;
    let named = refusal.body.document().ok().and_then(|document| words_of(document.root()));
    let text = named.unwrap_or_else(|| String::from_utf8_lossy(&content[..content.len().min(4 * MAX_SHOWN)]).into());
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = line.chars().take(MAX_SHOWN).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    (!shown.is_empty()).then_some(shown)
}

/// The members in which APIs explain an error.
fn words_of(root: Node<'_>) -> Option<String> {
    let text = |node: Node<'_>, name: &str| node.get(name)?.as_str().map(Cow::into_owned);
    let first = || root.get("errors")?.items().next();
    match (text(root, "title"), text(root, "detail")) {
        (Some(title), Some(detail)) => Some(format!("{title}: {detail}")),
        (title, detail) => title.or(detail),
    }
    .or_else(|| text(root, "message"))
    .or_else(|| text(root, "error_description"))
    .or_else(|| text(first()?, "message"))
}

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

/// A word in a colour, if there is to be one.
fn painted(out: &mut Vec<u8>, code: Option<&str>, word: &str) {
    let Some(code) = code else { return raw(out, word) };
    raw(out, code);
    raw(out, word);
    raw(out, PLAIN);
}

/// The rule of a finding, and its place if it has one.
fn place(out: &mut Vec<u8>, colour: bool, finding: &Finding) {
    let code = || if finding.kind() == Kind::Violation { RED } else { YELLOW };
    painted(out, colour.then(code), finding.rule.id());
    if !finding.at.is_empty() {
        raw(out, " at ");
        shown(&finding.at, out);
    }
}

/// The line for people, without its end.
fn text(out: &mut Vec<u8>, status: u16, colour: bool, judged: &JudgedExchange, meta: &AnswerMeta, took: Duration) {
    let (exchange, verdict) = (&judged.exchange, &judged.verdict);
    match status {
        0 => raw(out, "---"),
        _ if colour => {
            let code = match status {
                ..400 => GREEN,
                400..500 => YELLOW,
                _ => RED,
            };
            raw(out, code);
            number(u64::from(status), out);
            raw(out, PLAIN);
        }
        _ => number(u64::from(status), out),
    }
    out.push(b' ');
    raw(out, exchange.request.method.as_str());
    out.push(b' ');
    shown(&exchange.request.target.named_path(), out);
    out.push(b' ');
    if let Some(name) = graphql::operation_name(&exchange.request) {
        raw(out, &format!("({name}) "));
    }
    // An operation without an id goes by its method and path, which stand there already.
    let operation = verdict.operation.as_deref().unwrap_or("-");
    let (method, path) = (exchange.request.method.as_str(), exchange.request.target.path());
    if !operation.split_once(' ').is_some_and(|(named, at)| named == method && path.ends_with(at)) {
        raw(out, operation);
        out.push(b' ');
    }
    let conclusion = verdict.conclusion();
    let missed = meta.miss.is_some();
    let code = match conclusion {
        _ if missed => Some(RED),
        Conclusion::Unjudged => None,
        Conclusion::Conforms => Some(GREEN),
        Conclusion::Gap => Some(YELLOW),
        Conclusion::Violates => Some(RED),
    };
    painted(out, code.filter(|_| colour), verdict_name(conclusion, missed));
    out.push(b' ');
    number(millis(took), out);
    raw(out, " ms");
    if let Some(session) = &exchange.request.target.session {
        raw(out, " [");
        raw(out, session);
        out.push(b']');
    }
    for (index, finding) in verdict.findings.iter().enumerate() {
        raw(out, if index == 0 { " (" } else { ", " });
        place(out, colour, finding);
    }
    if !verdict.findings.is_empty() {
        out.push(b')');
    }
    if let Some(reason) = exchange.transport.answered() {
        raw(out, "; answered by contrail: ");
        raw(out, reason);
        if let Some(given) = exchange.transport.given {
            raw(out, " (");
            number(u64::from(given), out);
            out.push(b')');
        }
    }
    if let Some(reason) = exchange.transport.unfinished() {
        raw(out, "; incomplete: ");
        shown(reason, out);
    }
    if exchange.transport.retried {
        raw(out, "; sent again on a fresh connection");
    }
    let response = exchange.response.as_ref().map(|response| ("response", &response.headers, &response.body));
    let request = ("request", &exchange.request.headers, &exchange.request.body);
    for (side, headers, body) in [Some(request), response].into_iter().flatten() {
        let Some(why) = undecoded(headers, body) else { continue };
        raw(out, "; ");
        raw(out, side);
        raw(out, " body ");
        raw(out, why);
    }
    for remark in &meta.remarks {
        raw(out, "; ");
        shown(remark, out);
    }
}

/// What follows for a body whose content coding was not undone, and why; a finding says that it contradicts its coding.
fn undecoded(headers: &Headers, body: &Body) -> Option<&'static str> {
    match &body.presence {
        Presence::Withheld(Withheld::Undecodable) if body.contradicts_coding(headers) => Some(
            "not recorded: contrail cannot find the secrets in it, since it is not what its Content-Encoding names",
        ),
        Presence::Withheld(Withheld::Undecodable) => {
            Some("unchecked and not recorded: contrail does not implement its Content-Encoding")
        }
        Presence::Withheld(Withheld::MaxDecoded) => {
            Some("unchecked and not recorded: it decodes to more than --max-decoded")
        }
        Presence::Withheld(Withheld::MaxRatio) => {
            Some("unchecked and not recorded: it decodes to more than --max-ratio allows")
        }
        _ if body.coded && !body.contradicts_coding(headers) => {
            Some("unchecked: contrail does not implement its Content-Encoding, and recorded it as it came")
        }
        _ => None,
    }
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
        LineFormat::Text { .. } => {
            // Without a status there was no answer.
            let status = if status == 0 { String::new() } else { format!("{status} ") };
            out.extend_from_slice(format!("{status}turned away: {reason}\n").as_bytes());
        }
    }
}

/// Appends the line of a request that was denied because of its host.
pub(super) fn denied(out: &mut Vec<u8>, format: LineFormat, denied: &Denied) {
    #[derive(Serialize)]
    struct Line<'a> {
        turned_away: &'a str,
        status: u16,
        host: &'a str,
        advice: &'a str,
    }
    let Denied { status, reason, host, advice } = denied;
    if format == LineFormat::Json {
        return json(out, &Line { turned_away: reason, status: *status, host, advice });
    }
    match status {
        0 => raw(out, "---"),
        _ => number(u64::from(*status), out),
    }
    raw(out, " denied ");
    shown(host, out);
    raw(out, ": ");
    shown(advice, out);
    out.push(b'\n');
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
        LineFormat::Text { .. } => out.extend_from_slice(format!("ALARM: {alarm}\n").as_bytes()),
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
        (LineFormat::Text { .. }, Some(cause)) => {
            out.extend_from_slice(format!("ALARM: {alarm}: {cause}\n").as_bytes());
        }
        (LineFormat::Text { .. }, None) => out.extend_from_slice(format!("ALARM: {alarm}\n").as_bytes()),
    }
}

fn json(out: &mut Vec<u8>, value: &impl Serialize) {
    let start = out.len();
    match serde_json::to_writer(&mut *out, value) {
        Ok(()) => out.push(b'\n'),
        Err(_) => out.truncate(start),
    }
}

/// Appends a text without anything that could steer a terminal.
fn shown(text: &str, out: &mut Vec<u8>) {
    raw(out, &visible(text));
}

/// Milliseconds, for lines.
fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use contrail_exchange::json::Document;

    #[test]
    fn the_words_of_an_error_are_those_that_apis_write_for_people() {
        for (body, expected) in [
            (r#"{"title":"No","detail":"too\nlong","message":"x"}"#, Some("No: too\nlong")),
            (r#"{"code":21211,"message":"The 'To' number is not valid"}"#, Some("The 'To' number is not valid")),
            (r#"{"error":"invalid_grant","error_description":"expired"}"#, Some("expired")),
            (r#"{"errors":[{"message":"first"},{"message":"second"}]}"#, Some("first")),
            (r#"{"error":{"code":1}}"#, None),
            ("[1]", None),
        ] {
            let document = Document::parse(body.as_bytes().to_vec()).unwrap();
            assert_eq!(words_of(document.root()).as_deref(), expected, "{body}");
        }
    }
}
