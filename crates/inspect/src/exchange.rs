//! One exchange as the page shows it: its messages, its findings with their places and passages, its caller, its
//! timings, and the advice for each finding.

use std::sync::Arc;

use contrail_contract::{Contract, Demand, Subject};
use contrail_exchange::{
    Credential, Exchange, SignatureCheck, TokenFacts, TokenTime,
    finding::{Blame, Conclusion, Finding, Kind, Verdict, reasons_of},
    visible::visible,
};
use contrail_redact::JudgedExchange;
use contrail_report::Marks;
use serde_json::{Value, json};

use super::{
    filter::quoted,
    inspector::Inspector,
    kept::{Gone, Surroundings},
    lines::{Lines, What},
    message::{LaidOut, Shown, Side, Where, marks},
    passage::passages,
    summary::{Summary, instant, millis, rfc3339},
};

/// The exchange of this number; `None` if there is none.
pub(crate) fn value(inspector: &Inspector, laid_out: &LaidOut, n: u32) -> Option<Value> {
    let store = inspector.store();
    let summary = store.summary(n)?;
    let row = store.row(n, |text| inspector.clean(text))?;
    let median = store.durations(summary.operation).map(|(p50, _)| millis(p50));
    let (reference, command) = reference(inspector, summary, &store);
    drop(store);
    let known = inspector.known();
    let mut value = match inspector.whole(n) {
        Ok((judged, surroundings)) => {
            let lines = |side, message: &Shown<'_>| laid_out.lines((n, side, known), message);
            detail(inspector, &judged, &surroundings, lines)
        }
        Err(why) => json!({"gone": gone(inspector, why)}),
    };
    value["n"] = n.into();
    value["row"] = row;
    value["median"] = median.into();
    value["reference"] = reference.into();
    value["command"] = command.into();
    Some(value)
}

/// Why the bytes of an exchange are not there.
pub(crate) fn gone(inspector: &Inspector, why: Gone) -> &'static str {
    match why {
        Gone::Left if !inspector.facts.is_live() => {
            "its bytes left the temporary file; a larger --inspect-buffer keeps more"
        }
        Gone::Left => "its bytes left the temporary file (--inspect-buffer); --out or --trail keeps everything",
        Gone::NotKept => "its bytes could not be kept: they are larger than --inspect-buffer, or the disk is full",
        Gone::Unreadable => "its bytes cannot be read again from the temporary file",
    }
}

/// What another machine finds the exchange by, and the command that shows it there.
fn reference(inspector: &Inspector, summary: &Summary, store: &super::store::Store) -> (String, Option<String>) {
    let name = |number| store.names.text(number).map_or("", |text| text);
    let source = name(summary.source);
    let mut text = format!("{source} entry {}", summary.entry);
    if summary.operation != 0 {
        text.extend([" ", name(summary.operation)]);
    }
    if let Some(seen) = summary.worst() {
        text.extend([" ", seen.rule.id()]);
        if seen.at != 0 {
            text.extend([" at ", name(seen.at)]);
        }
    }
    let command = inspector.facts.command.as_ref().map(|command| match store.sources.len() {
        0 | 1 => format!("{command} --at {}", summary.entry),
        _ => format!("{command} --at {source}:{}", summary.entry),
    });
    (inspector.clean(&text), command)
}

fn detail(
    inspector: &Inspector,
    judged: &JudgedExchange,
    surroundings: &Surroundings,
    lines: impl Fn(Side, &Shown<'_>) -> Arc<Lines>,
) -> Value {
    let JudgedExchange { exchange, verdict, .. } = judged;
    let marks = marks(judged);
    let messages = [Side::Request, Side::Response].map(|side| {
        let shown = Shown::of(judged, side, &marks)?;
        let lines = lines(side, &shown);
        Some((shown, lines))
    });
    let store = inspector.store();
    let collector = store.ended.as_ref().unwrap_or(&store.collector);
    let finding = |(index, (finding, marks)): (usize, (&Finding, &Marks<'_>))| {
        let mut value = finding_value(inspector, exchange, verdict, finding, marks);
        value["known"] = collector.exemption(judged, finding).map(|reason| inspector.clean(&reason)).into();
        let about = messages.iter().flatten().find(|(shown, _)| shown.is_about(index));
        add_place(about, index, &mut value);
        value
    };
    let findings: Vec<Value> = verdict.findings.iter().zip(&marks).enumerate().map(finding).collect();
    drop(store);
    let [request, response] =
        messages.each_ref().map(|message| message.as_ref().map(|(shown, lines)| shown.value(lines.count())));
    let reasons: Vec<Value> = reasons_of(verdict.unchecked, &verdict.reasons)
        .map(|reason| json!({"aspect": reason.aspect.name(), "at": visible(&reason.at), "reason": visible(&reason.reason)}))
        .collect();
    let timings = &exchange.timings;
    let phase = |duration: Option<std::time::Duration>| duration.map(|duration| duration.as_secs_f64() * 1000.0);
    let has_times = timings.send.is_some() || timings.wait.is_some() || timings.receive.is_some();
    let redacted = exchange.request.body.redacted.len()
        + exchange.response.as_ref().map_or(0, |response| response.body.redacted.len());
    json!({
        "target": visible(&exchange.request.target.path_and_query),
        "origin": surroundings.upstream.as_deref().filter(|origin| !origin.is_empty()).map_or_else(
            || visible(&exchange.request.target.origin()).into_owned(), |origin| visible(origin).into_owned()),
        "sentence": sentence(verdict, exchange),
        "started": exchange.started.and_then(|at| rfc3339(instant(at))),
        "timings": has_times.then(|| json!({
            "blocked": phase(timings.before), "send": phase(timings.send), "wait": phase(timings.wait),
            "receive": phase(timings.receive), "total": timings.total().as_secs_f64() * 1000.0,
        })),
        "findings": findings,
        "unchecked": reasons,
        "caller": caller(&inspector.contract, exchange, verdict),
        "redacted": redacted,
        "request": request,
        "response": response,
        "end": exchange.transport.unfinished().map(|end| visible(end).into_owned()),
        "remarks": surroundings.remarks.iter().map(|remark| visible(remark)).collect::<Vec<_>>(),
    })
}

fn finding_value(
    inspector: &Inspector,
    exchange: &Exchange,
    verdict: &Verdict,
    finding: &Finding,
    marks: &Marks<'_>,
) -> Value {
    let passages = verdict.operation.as_ref().map_or_else(Vec::new, |operation| {
        let status = exchange.response.as_ref().map_or(0, |response| response.status);
        let (at, media_type) = (&*marks.at, &*marks.media_type);
        let subject = Subject { rule: finding.rule, operation, at, status, media_type };
        passages(&inspector.contract, subject, finding)
    });
    let advice = inspector.advice(finding.rule);
    json!({
        "kind": finding.kind().name(),
        "rule": finding.rule.id(),
        "at": visible(&finding.at),
        "message": finding.message(),
        "passages": passages,
        "summary": finding.rule.summary(),
        "means": advice.means,
        "source": advice.source,
        "advice": advice.now,
    })
}

/// Adds which message a finding is about, and where it is there.
fn add_place(about: Option<&(Shown<'_>, Arc<Lines>)>, finding: usize, value: &mut Value) {
    let (mut word, mut line, mut header, mut ghost) = ("nothing", None, None, None);
    if let Some((shown, lines)) = about {
        match shown.place(finding) {
            Where::Line(_) => word = "line",
            Where::Header(index) => (word, header) = ("header", Some(index)),
            Where::MissingHeader => word = "missing",
            Where::Body => {
                (word, line) = ("body", lines.line_of(finding));
                if let Some(What::Missing { sentence, .. }) = lines.what(finding) {
                    ghost = Some(sentence.clone());
                }
            }
            Where::Nothing => {}
        }
    }
    value["side"] = about.map(|(shown, _)| shown.side.name()).into();
    value["where"] = word.into();
    value["line"] = line.into();
    value["header"] = header.into();
    value["ghost"] = ghost.into();
}

/// Who is right, in a sentence.
fn sentence(verdict: &Verdict, exchange: &Exchange) -> String {
    let of = |sides: &[&str]| {
        let is = |finding: &&Finding| finding.kind() == Kind::Violation && sides.contains(&side(finding));
        verdict.findings.iter().any(|finding| is(&finding))
    };
    let breaks = of(&["response", "exchange", "status", "transport"]);
    let request = match verdict.blame {
        Some(Blame::Caught) => "The request breaks the document, and the tenant refused it",
        Some(Blame::Laxer) => "The request breaks the document, and the tenant accepted it",
        Some(Blame::Stricter) => "The request keeps to the document, and the tenant refused it",
        Some(Blame::Agreed) => "Client and tenant agree about the request",
        None if exchange.response.as_ref().is_none_or(|response| response.status == 0) => "No answer came",
        None => match verdict.conclusion() {
            Conclusion::Unjudged => "Nothing of it was judged",
            _ => "The document does not decide who is right about the request",
        },
    };
    if breaks { format!("{request}; the response breaks the document.") } else { format!("{request}.") }
}

/// The first word of a rule's id.
fn side(finding: &Finding) -> &'static str {
    finding.rule.id().split('.').next().unwrap_or_default()
}

/// Who called: never a token, its facts.
fn caller(contract: &Contract, exchange: &Exchange, verdict: &Verdict) -> Value {
    let kind = match &exchange.request.credential {
        Credential::Missing => "none",
        Credential::OtherScheme { scheme, .. } => scheme,
        Credential::Malformed(_) => "a bearer token that is no JWT",
        Credential::Encrypted => "an encrypted token",
        Credential::Token(_) => "bearer token",
        Credential::Unknown => "unknown: the file does not hold it",
    };
    let facts = exchange.request.credential.facts();
    let held = facts.and_then(|facts| facts.scopes.as_deref()).unwrap_or_default();
    let demand = contract.judges(&exchange.request).map(|(_, matched)| matched.operation);
    // Of alternative sets, the one that the token has; else the first.
    let needed: Vec<String> = match demand.map(|operation| operation.security.demand(&exchange.request)) {
        Some(Demand::Scopes(alternatives)) => {
            let is_held = |scopes: &&&[Box<str>]| scopes.iter().all(|scope| held.iter().any(|held| **held == **scope));
            let shown = alternatives.iter().find(is_held).or(alternatives.first());
            shown.map_or_else(Vec::new, |scopes| scopes.iter().map(ToString::to_string).collect())
        }
        Some(Demand::Nothing | Demand::NotShown) | None => Vec::new(),
    };
    let undeclared: Vec<&str> = verdict
        .findings
        .iter()
        .filter(|finding| finding.rule == contrail_exchange::finding::Rule::AuthScopeUndeclared)
        .filter_map(|finding| finding.seen.as_deref())
        .flat_map(|seen| seen.split(' '))
        .collect();
    let state = |scope: &str| match () {
        () if needed.iter().any(|needed| needed == scope) => "needed",
        () if undeclared.contains(&scope) => "undeclared",
        () => "held",
    };
    let mut scopes: Vec<(&str, &str)> = held.iter().map(|scope| (&**scope, state(scope))).collect();
    if facts.is_some() {
        scopes.extend(needed.iter().filter(|needed| !held.contains(needed)).map(|needed| (&**needed, "lacking")));
    }
    let order = |state: &str| ["needed", "lacking", "held", "undeclared"].iter().position(|held| *held == state);
    scopes.sort_by_key(|(_, state)| order(state));
    let scopes: Vec<Value> =
        scopes.iter().map(|(name, state)| json!({"name": visible(name), "state": state})).collect();
    let client = facts.and_then(|facts| facts.client.as_deref()).map(visible);
    json!({
        "kind": kind,
        "client": client,
        "issuer": facts.and_then(|facts| facts.issuer.as_deref()).map(visible),
        "audience": facts.map(|facts| facts.audience.iter().map(|one| visible(one)).collect::<Vec<_>>()),
        "issued": facts.and_then(|facts| facts.issued_at).and_then(seconds),
        "expires": facts.and_then(|facts| facts.expires_at).and_then(seconds),
        "lifetime": facts.and_then(|facts| facts.lifetime),
        "outcome": facts.map(|facts| outcome(facts, exchange)),
        "signature": facts.map(|facts| match facts.signature {
            SignatureCheck::NotChecked => "signature not checked",
            SignatureCheck::Good => "signature good",
            SignatureCheck::Bad => "signature bad",
        }),
        "scopes": scopes,
        "same": client.map(|client| format!("client:{}", quoted(&client))),
    })
}

fn seconds(at: i64) -> Option<String> {
    jiff::Timestamp::from_second(at).ok().map(|at| at.to_string())
}

/// Whether the token was inside its time at the instant of the exchange.
fn outcome(facts: &TokenFacts, exchange: &Exchange) -> String {
    let started = exchange.started.map(|at| instant(at) / 1_000_000);
    let ago = |from: i64, to: i64| match (to - from).max(0) {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    };
    match (facts.time, started, facts.expires_at, facts.not_before) {
        (TokenTime::Valid, ..) => "valid then".to_owned(),
        (TokenTime::Expired, Some(started), Some(expires), _) => format!("expired {} before", ago(expires, started)),
        (TokenTime::Expired, ..) => "expired then".to_owned(),
        (TokenTime::NotYet, Some(started), _, Some(from)) => format!("{} before its time", ago(started, from)),
        (TokenTime::NotYet, ..) => "before its time then".to_owned(),
    }
}
