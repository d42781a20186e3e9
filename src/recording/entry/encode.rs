//! From an exchange to an entry's bytes, without a tree in between.
//!
//! Journal and fixture share one encoder; they differ in what an entry says of its run ([`Style`]).

use std::sync::Arc;

use base64::Engine as _;
use http::Version;

use super::decode::NO_INSTANT;
use crate::recording::{Attested, LaidOut, VERSION};
use crate::{
    exchange::{
        Body, ByToken, Credential, Exchange, Headers, Presence, Request, Response, SignatureCheck, Timings, TokenFacts,
        TokenTime,
    },
    finding::{Finding, UncheckedSet, Verdict},
    json::write::{self, comma, escaped, instant, is_plain, millis, number, raw, string, strings},
    redact::{Judged, Redacted},
};

/// What is the same in every entry of a journal.
#[derive(Debug, Clone)]
pub struct JournalContext {
    /// The upstream's origin (`https://tenant.example.com`).
    pub upstream: Arc<str>,
    /// Hash of the contract in force ([`crate::contract::Contract::hash`]).
    pub contract: Arc<str>,
}

/// Where a body's text stands.
#[derive(Debug, Clone, Copy)]
pub(in crate::recording) enum Place<'a> {
    /// In the entry.
    Inline,
    /// In a file beside the HAR file.
    File {
        name: &'a str,
        /// Of the file's bytes, hexadecimal.
        sha256: &'a str,
    },
}

/// What an entry says of its run.
#[derive(Debug, Clone, Copy)]
pub(in crate::recording) enum Style<'a> {
    /// Everything.
    Journal {
        context: &'a JournalContext,
        /// What is said of the token, where that is known already.
        token: Option<&'a [u8]>,
    },
    /// Nothing: times are constants, a token's instants and the verdict's words are left out.
    Fixture {
        /// Where the request's body stands.
        request: Place<'a>,
        /// Where the response's body stands.
        response: Place<'a>,
        /// Which of them are laid out there.
        laid_out: LaidOut,
        /// The label of the token, where the file's head holds its facts.
        token: Option<&'a str>,
    },
}

/// What a journal's entries say of their tokens, as text.
#[derive(Debug, Default)]
pub(in crate::recording) struct Tokens(ByToken<Vec<u8>>);

impl Tokens {
    /// Maximum bytes of a text that is held.
    const MAX_LENGTH: usize = 4096;

    /// What is said of a token; `None` for any other credential, and where it is too long to be held.
    pub(in crate::recording) fn of(&mut self, credential: &Credential) -> Option<&[u8]> {
        let Credential::Token(facts) = credential else { return None };
        let text = self.0.get_or_put(facts, || {
            let mut text = Vec::new();
            token(facts, true, &mut text);
            // An empty text stands for one that is too long.
            if text.len() <= Self::MAX_LENGTH { text } else { Vec::new() }
        });
        (!text.is_empty()).then_some(text)
    }
}

/// Appends one journal line, line feed included.
pub fn encode(judged: &Redacted<Judged>, attested: Option<&Attested>, context: &JournalContext, out: &mut Vec<u8>) {
    line(judged, attested, Style::Journal { context, token: None }, out);
}

/// The same, for one of many lines.
pub(in crate::recording) fn encode_next(
    judged: &Redacted<Judged>,
    attested: Option<&Attested>,
    context: &JournalContext,
    tokens: &mut Tokens,
    out: &mut Vec<u8>,
) {
    let token = tokens.of(&judged.exchange.request.credential);
    line(judged, attested, Style::Journal { context, token }, out);
}

fn line(judged: &Redacted<Judged>, attested: Option<&Attested>, style: Style<'_>, out: &mut Vec<u8>) {
    entry(&judged.exchange, &judged.verdict, attested, style, out);
    out.push(b'\n');
}

/// Appends one entry. `exchange` and what is beside it are redacted: both callers hold a [`Redacted`].
pub(in crate::recording) fn entry(
    exchange: &Exchange,
    verdict: &Verdict,
    attested: Option<&Attested>,
    style: Style<'_>,
    out: &mut Vec<u8>,
) {
    let Exchange { request, response, started, timings, .. } = exchange;
    let run = matches!(style, Style::Journal { .. });
    raw(out, "{\"startedDateTime\":\"");
    instant(started.filter(|_| run), NO_INSTANT, out);
    raw(out, "\",\"time\":");
    millis(run.then(|| timings.total()), "0", out);
    let (request_at, response_at) = match style {
        Style::Journal { .. } => (Place::Inline, Place::Inline),
        Style::Fixture { request, response, .. } => (request, response),
    };
    self::request(request, request_at, run, out);
    self::response(response.as_ref(), response_at, run, out);
    self::timings(*timings, run, out);
    note(exchange, verdict, attested, style, out);
    out.push(b'}');
}

fn request(request: &Request, place: Place<'_>, run: bool, out: &mut Vec<u8>) {
    raw(out, ",\"request\":{\"method\":\"");
    raw(out, request.method.as_str());
    raw(out, "\",\"url\":\"");
    escaped(&request.target.scheme, out);
    raw(out, "://");
    escaped(&request.target.authority, out);
    escaped(request.target.after_origin(), out);
    raw(out, "\",\"httpVersion\":\"");
    raw(out, version(request.version));
    raw(out, "\",\"cookies\":[],\"headers\":[");
    headers(&request.headers, out);
    raw(out, "],\"queryString\":[");
    if !run && let Some(query) = request.target.query() {
        let mut first = true;
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            comma(&mut first, out);
            raw(out, "{\"name\":");
            string(&name, out);
            raw(out, ",\"value\":");
            string(&value, out);
            out.push(b'}');
        }
    }
    let body = &request.body;
    if holds_text(body) {
        raw(out, "],\"postData\":{\"mimeType\":");
        string(request.headers.get_str("content-type").unwrap_or_default(), out);
        text(body, place, "_encoding", out);
        out.push(b'}');
    } else {
        out.push(b']');
    }
    raw(out, ",\"headersSize\":-1,\"bodySize\":");
    size(body.wire_size, out);
    out.push(b'}');
}

fn response(response: Option<&Response>, place: Place<'_>, run: bool, out: &mut Vec<u8>) {
    let none = Body::default();
    raw(out, ",\"response\":{\"status\":");
    let (status, body) = response.map_or((0, &none), |response| (response.status, &response.body));
    number(u64::from(status), out);
    raw(out, ",\"statusText\":\"");
    let reason = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    raw(out, reason.unwrap_or_default());
    raw(out, "\",\"httpVersion\":\"");
    raw(out, response.map_or("", |response| version(response.version)));
    raw(out, "\",\"cookies\":[],\"headers\":[");
    if let Some(response) = response {
        headers(&response.headers, out);
    }
    raw(out, "],\"content\":{\"size\":");
    number(body.content.len() as u64, out);
    raw(out, ",\"mimeType\":");
    let mime = response.and_then(|response| response.headers.get_str("content-type"));
    string(mime.unwrap_or_default(), out);
    if holds_text(body) {
        text(body, place, "encoding", out);
    }
    raw(out, "},\"redirectURL\":");
    let location = response.and_then(|response| response.headers.get_str("location"));
    string(location.filter(|_| !run).unwrap_or_default(), out);
    raw(out, ",\"headersSize\":-1,\"bodySize\":");
    size(body.wire_size, out);
    out.push(b'}');
}

fn holds_text(body: &Body) -> bool {
    !body.content.is_empty() && !matches!(body.presence, Presence::Withheld(_))
}

/// A body's text (as base64 where it is not UTF-8, said in `encoding`) or the file that holds it.
fn text(body: &Body, place: Place<'_>, encoding: &str, out: &mut Vec<u8>) {
    if let Place::File { name, .. } = place {
        raw(out, ",\"_file\":");
        string(name, out);
        return;
    }
    raw(out, ",\"text\":");
    if body.held_document().is_some_and(|document| write::document(document, out)) {
        return;
    }
    if let Ok(text) = std::str::from_utf8(&body.content) {
        string(text, out);
        return;
    }
    out.push(b'"');
    raw(out, &base64::engine::general_purpose::STANDARD.encode(&body.content));
    raw(out, "\",\"");
    raw(out, encoding);
    raw(out, "\":\"base64\"");
}

/// Fields, without the brackets around them.
fn headers(headers: &Headers, out: &mut Vec<u8>) {
    for (name, value) in headers.iter() {
        raw(out, "{\"name\":\"");
        raw(out, name.as_str());
        raw(out, "\",\"value\":\"");
        let value = value.as_bytes();
        if is_plain(value) {
            out.extend_from_slice(value);
        } else if let Ok(value) = std::str::from_utf8(value) {
            escaped(value, out);
        } else {
            let latin: String = value.iter().map(|byte| char::from(*byte)).collect();
            escaped(&latin, out);
            raw(out, "\",\"_encoding\":\"latin-1");
        }
        raw(out, "\"},");
    }
    // The comma behind the last.
    out.truncate(out.len() - usize::from(!headers.is_empty()));
}

fn timings(timings: Timings, run: bool, out: &mut Vec<u8>) {
    raw(out, ",\"cache\":{},\"timings\":{\"send\":");
    let none = if run { "-1" } else { "0" };
    millis(timings.send.filter(|_| run), none, out);
    raw(out, ",\"wait\":");
    millis(timings.wait.filter(|_| run), none, out);
    raw(out, ",\"receive\":");
    millis(timings.receive.filter(|_| run), none, out);
    out.push(b'}');
}

fn note(exchange: &Exchange, verdict: &Verdict, attested: Option<&Attested>, style: Style<'_>, out: &mut Vec<u8>) {
    raw(out, ",\"_contrail\":{");
    let run = matches!(style, Style::Journal { .. });
    if run {
        raw(out, "\"version\":");
        number(u64::from(VERSION), out);
        out.push(b',');
    }
    raw(out, "\"operation\":");
    match &verdict.operation {
        Some(operation) => string(operation, out),
        None => raw(out, "null"),
    }
    if let Style::Journal { context, .. } = style {
        raw(out, ",\"verdict\":\"");
        raw(out, verdict.conclusion().name());
        if let Some(blame) = verdict.blame {
            raw(out, "\",\"blame\":\"");
            raw(out, blame.name());
        }
        raw(out, "\",\"findings\":");
        findings(&verdict.findings, true, out);
        raw(out, ",\"unchecked\":");
        unchecked(verdict.unchecked, out);
        raw(out, ",\"contract\":");
        string(&context.contract, out);
        raw(out, ",\"upstream\":");
        string(&context.upstream, out);
    }
    if let Some(attested) = attested {
        self::attested(attested, out);
    }
    match style {
        Style::Journal { token: Some(token), .. } => out.extend_from_slice(token),
        Style::Fixture { token: Some(label), .. } => {
            raw(out, ",\"token\":");
            string(label, out);
        }
        _ => credential(&exchange.request.credential, run, out),
    }
    let transport = &exchange.transport;
    if transport.retried && run {
        raw(out, ",\"retried\":true");
    }
    let audience = transport.original_audience.as_deref().filter(|_| run);
    for (member, value) in [
        (",\"originalAudience\":", audience),
        (",\"answered\":", transport.answered_by_contrail.as_deref()),
        (",\"incomplete\":", transport.incomplete.as_deref()),
    ] {
        if let Some(value) = value {
            raw(out, member);
            string(value, out);
        }
    }
    if let Style::Fixture { request, response, laid_out, .. } = style {
        match (laid_out.request, laid_out.response) {
            (false, false) => {}
            (true, false) => raw(out, ",\"laidOut\":[\"request\"]"),
            (false, true) => raw(out, ",\"laidOut\":[\"response\"]"),
            (true, true) => raw(out, ",\"laidOut\":[\"request\",\"response\"]"),
        }
        digests(request, response, out);
    }
    body(",\"request\":{", &exchange.request.body, out);
    if let Some(response) = &exchange.response {
        body(",\"response\":{", &response.body, out);
    }
    out.push(b'}');
}

/// The digests of the body files.
fn digests(request: Place<'_>, response: Place<'_>, out: &mut Vec<u8>) {
    let mut first = true;
    for (member, place) in [("\"request\":\"", request), ("\"response\":\"", response)] {
        let Place::File { sha256, .. } = place else { continue };
        raw(out, if std::mem::take(&mut first) { ",\"sha256\":{" } else { "," });
        raw(out, member);
        raw(out, sha256);
        out.push(b'"');
    }
    if !first {
        out.push(b'}');
    }
}

/// What is known of a body beside its text; nothing where it is whole and nothing in it was replaced.
fn body(member: &str, body: &Body, out: &mut Vec<u8>) {
    if body.is_whole() && !body.malformed && body.redacted.is_empty() {
        return;
    }
    raw(out, member);
    let mut first = true;
    // The name of a member with the comma before it, which the first one leaves out.
    let mut member = |name: &str, out: &mut Vec<u8>| raw(out, &name[usize::from(std::mem::take(&mut first))..]);
    match &body.presence {
        Presence::Whole => {}
        Presence::Truncated { kept, total } => {
            member(",\"truncated\":{\"kept\":", out);
            number(*kept, out);
            if let Some(total) = total {
                raw(out, ",\"total\":");
                number(*total, out);
            }
            out.push(b'}');
        }
        Presence::Withheld(reason) => {
            member(",\"withheld\":", out);
            string(reason.name(), out);
        }
    }
    if body.malformed {
        member(",\"malformed\":true", out);
    }
    if !body.redacted.is_empty() {
        member(",\"redacted\":", out);
        strings(body.redacted.iter().map(String::as_str), out);
    }
    out.push(b'}');
}

fn findings(findings: &[Finding], message: bool, out: &mut Vec<u8>) {
    out.push(b'[');
    let mut first = true;
    for finding in findings {
        comma(&mut first, out);
        raw(out, "{\"rule\":\"");
        raw(out, finding.rule.id());
        raw(out, "\",\"kind\":\"");
        raw(out, finding.kind().name());
        raw(out, "\",\"at\":");
        string(&finding.at, out);
        if message {
            raw(out, ",\"message\":");
            string(&finding.message(), out);
        }
        raw(out, ",\"expected\":");
        string(&finding.expected, out);
        if let Some(seen) = &finding.seen {
            raw(out, ",\"seen\":");
            string(seen, out);
        }
        out.push(b'}');
    }
    out.push(b']');
}

fn unchecked(set: UncheckedSet, out: &mut Vec<u8>) {
    strings(set.iter().map(crate::finding::Unchecked::name), out);
}

fn attested(attested: &Attested, out: &mut Vec<u8>) {
    raw(out, ",\"attested\":{\"contract\":");
    string(&attested.contract, out);
    raw(out, ",\"findings\":");
    findings(&attested.findings, false, out);
    raw(out, ",\"indexes\":[");
    let mut first = true;
    for index in &attested.indexes {
        comma(&mut first, out);
        number(*index as u64, out);
    }
    raw(out, "],\"cleared\":");
    findings(&attested.cleared, false, out);
    if let Some(set) = attested.unchecked {
        raw(out, ",\"unchecked\":");
        unchecked(set, out);
    }
    if let Some(blame) = attested.blame {
        raw(out, ",\"blame\":\"");
        raw(out, blame.name());
        raw(out, "\"");
    }
    out.push(b'}');
}

fn credential(credential: &Credential, instants: bool, out: &mut Vec<u8>) {
    match credential {
        Credential::Missing => {}
        Credential::Token(facts) => token(facts, instants, out),
        Credential::OtherScheme(scheme) => {
            raw(out, ",\"token\":{\"scheme\":");
            string(scheme, out);
            out.push(b'}');
        }
        Credential::Malformed(reason) => {
            raw(out, ",\"token\":{\"malformed\":");
            string(reason, out);
            out.push(b'}');
        }
        Credential::Encrypted => raw(out, ",\"token\":{\"encrypted\":true}"),
        Credential::Unknown => raw(out, ",\"token\":{\"unknown\":true}"),
    }
}

fn token(facts: &TokenFacts, instants: bool, out: &mut Vec<u8>) {
    raw(out, ",\"token\":");
    self::facts(facts, instants, out);
}

/// Appends a token's public facts, as an object.
pub(in crate::recording) fn facts(facts: &TokenFacts, instants: bool, out: &mut Vec<u8>) {
    let TokenFacts { client, scopes, issuer, audience, issued_at, not_before, expires_at, lifetime, time, signature } =
        facts;
    out.push(b'{');
    let mut first = true;
    // The name of a member with the comma before it, which the first one leaves out.
    let mut member = |name: &str, out: &mut Vec<u8>| {
        raw(out, &name[usize::from(std::mem::take(&mut first))..]);
    };
    if let Some(client) = client {
        member(",\"client\":", out);
        string(client, out);
    }
    if let Some(scopes) = scopes {
        member(",\"scopes\":", out);
        strings(scopes.iter().map(String::as_str), out);
    }
    if let Some(issuer) = issuer {
        member(",\"issuer\":", out);
        string(issuer, out);
    }
    if !audience.is_empty() {
        member(",\"audience\":", out);
        strings(audience.iter().map(String::as_str), out);
    }
    for (name, seconds) in
        [(",\"issuedAt\":", issued_at), (",\"notBefore\":", not_before), (",\"expiresAt\":", expires_at)]
            .into_iter()
            .filter(|_| instants)
    {
        if let Some(seconds) = seconds {
            member(name, out);
            number(*seconds, out);
        }
    }
    if let Some(seconds) = lifetime {
        member(",\"lifetime\":", out);
        number(*seconds, out);
    }
    member(",\"outcome\":", out);
    string(TokenTime::name(*time), out);
    if *signature != SignatureCheck::NotChecked {
        member(",\"signature\":", out);
        string(signature.name(), out);
    }
    out.push(b'}');
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "HTTP/0.9",
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2",
        Version::HTTP_3 => "HTTP/3",
        _ => "HTTP/1.1",
    }
}

fn size(size: Option<u64>, out: &mut Vec<u8>) {
    match size {
        Some(size) => number(size, out),
        None => raw(out, "-1"),
    }
}
