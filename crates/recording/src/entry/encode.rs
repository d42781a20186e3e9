//! Encodes an exchange as an entry, without a tree in between.
//!
//! Journal and fixture share one encoder; they differ in an entry's facts about its run ([`Style`]).

use base64::Engine as _;
use contrail_exchange::{
    Body, Exchange, Headers, Presence, Request, Response, Timings,
    finding::Verdict,
    json::write::{self, comma, escaped, instant, is_plain, millis, number, raw, string},
};
use contrail_redact::{JudgedExchange, Redacted};
use http::Version;

use super::{
    decode::NO_INSTANT,
    encode_note::{BodyLocation, JournalContext, Style, Tokens, note},
};
use crate::Attested;

/// Appends one journal line, line feed included.
pub fn encode(
    judged: &Redacted<JudgedExchange>,
    attested: Option<&Attested>,
    context: &JournalContext,
    out: &mut Vec<u8>,
) {
    line(judged, attested, Style::Journal { context, token: None }, out);
}

/// The same, for one of many lines.
pub(crate) fn encode_next(
    judged: &Redacted<JudgedExchange>,
    attested: Option<&Attested>,
    context: &JournalContext,
    tokens: &mut Tokens,
    out: &mut Vec<u8>,
) {
    let token = tokens.of(&judged.exchange.request.credential);
    line(judged, attested, Style::Journal { context, token }, out);
}

fn line(judged: &Redacted<JudgedExchange>, attested: Option<&Attested>, style: Style<'_>, out: &mut Vec<u8>) {
    entry(&judged.exchange, &judged.verdict, attested, style, out);
    out.push(b'\n');
}

/// Appends one entry. `exchange` and what is beside it are redacted: both callers hold a [`Redacted`].
pub(crate) fn entry(
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
    millis(Some(timings.total()).filter(|time| run || !time.is_zero()), "0", out);
    let (request_at, response_at) = match style {
        Style::Journal { .. } => (BodyLocation::Inline, BodyLocation::Inline),
        Style::Fixture { request, response, .. } => (request, response),
    };
    self::request(request, request_at, run, out);
    self::response(response.as_ref(), response_at, run, out);
    self::timings(*timings, run, out);
    note(exchange, verdict, attested, style, out);
    out.push(b'}');
}

fn request(request: &Request, place: BodyLocation<'_>, run: bool, out: &mut Vec<u8>) {
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

fn response(response: Option<&Response>, place: BodyLocation<'_>, run: bool, out: &mut Vec<u8>) {
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

/// A body's text (as base64 where it is not UTF-8, stated in `encoding`) or the file that holds it.
fn text(body: &Body, place: BodyLocation<'_>, encoding: &str, out: &mut Vec<u8>) {
    if let BodyLocation::File { name, .. } = place {
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
    let start = out.len();
    for (name, value) in headers.sent() {
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
    out.truncate(out.len() - usize::from(out.len() > start));
}

fn timings(timings: Timings, run: bool, out: &mut Vec<u8>) {
    raw(out, ",\"cache\":{},\"timings\":{\"send\":");
    let none = if run { "-1" } else { "0" };
    millis(timings.send, none, out);
    raw(out, ",\"wait\":");
    millis(timings.wait, none, out);
    raw(out, ",\"receive\":");
    millis(timings.receive, none, out);
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
