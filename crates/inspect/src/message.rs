//! A request or a response as the page shows it: its head, and its body as lines, text or hexadecimal.

use std::{
    fmt::Write as _,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use contrail_exchange::{
    Body, Exchange, Headers, Presence,
    finding::Finding,
    is_hop_by_hop,
    json::{Document, pointer_tokens},
    media,
    visible::visible,
};
use contrail_recording::is_per_run;
use contrail_redact::JudgedExchange;
use contrail_report::{About, Marks};
use serde_json::{Value, json};

use super::{
    bodies,
    lines::{Lines, Marked, What},
};

/// Maximum bodies that stay laid out.
const MAX_LAID_OUT: usize = 4;

/// Bodies that were laid out last, so that a person who scrolls through one lays it out once.
#[derive(Debug, Default)]
pub(crate) struct LaidOut(Mutex<Vec<(Key, Arc<Lines>)>>);

/// Which body: of which exchange and message, by so many known secrets.
pub(crate) type Key = (u32, Side, u64);

/// Which message of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Request,
    Response,
}

/// A message that is to be shown.
pub(crate) struct Shown<'a> {
    /// Its first line, as it was sent.
    pub(crate) line: String,
    pub(crate) headers: &'a Headers,
    pub(crate) body: &'a Body,
    findings: &'a [Finding],
    /// What each finding is about.
    marks: &'a [Marks<'a>],
    pub(crate) side: Side,
}

/// Where a finding is in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Where {
    Line(Range<usize>),
    Header(usize),
    MissingHeader,
    Body,
    Nothing,
}

impl Side {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "request" => Some(Self::Request),
            "response" => Some(Self::Response),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

impl LaidOut {
    pub(crate) fn get(&self, key: Key) -> Option<Arc<Lines>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().find(|(held, _)| *held == key).map(|(_, lines)| Arc::clone(lines))
    }

    /// The lines of a message's body, which stay.
    pub(crate) fn lines(&self, key: Key, message: &Shown<'_>) -> Arc<Lines> {
        if let Some(lines) = self.get(key) {
            return lines;
        }
        let lines = Arc::new(Lines::new(message.body.content.clone(), message.document(), message.marked()));
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.push((key, Arc::clone(&lines)));
        if held.len() > MAX_LAID_OUT {
            held.remove(0);
        }
        lines
    }
}

/// What each finding of an exchange is about.
pub(crate) fn marks(judged: &JudgedExchange) -> Vec<Marks<'_>> {
    judged.verdict.findings.iter().map(|finding| Marks::of(&judged.exchange, finding)).collect()
}

impl<'a> Shown<'a> {
    /// A message with the [`marks`] of its exchange; `None` if no response came.
    pub(crate) fn of(judged: &'a JudgedExchange, side: Side, marks: &'a [Marks<'a>]) -> Option<Self> {
        let Exchange { request, response, .. } = &*judged.exchange;
        let (line, headers, body) = match side {
            Side::Request => (contrail_report::request_line(&judged.exchange), &request.headers, &request.body),
            Side::Response => {
                let response = response.as_ref().filter(|response| response.status != 0)?;
                let status = http::StatusCode::from_u16(response.status).ok();
                let reason = status.and_then(|status| status.canonical_reason()).unwrap_or_default();
                let line = format!("{} {reason}", response.status).trim_end().to_owned();
                (line, &response.headers, &response.body)
            }
        };
        Some(Self { line, headers, body, findings: &judged.verdict.findings, marks, side })
    }

    /// What of this message a finding is about.
    fn about(&self, finding: usize) -> &'a About<'a> {
        self.marks.get(finding).map_or(&About::Nothing, |marks| match self.side {
            Side::Request => &marks.request,
            Side::Response => &marks.response,
        })
    }

    /// Whether a finding is about this message.
    pub(crate) fn is_about(&self, finding: usize) -> bool {
        *self.about(finding) != About::Nothing
    }

    /// The body as JSON, if it is.
    fn document(&self) -> Option<Arc<Document>> {
        let essence = self.essence();
        let may_be = media::means_json(&essence) || matches!(self.body.content.first(), Some(b'{' | b'['));
        may_be.then(|| self.body.document().ok()).flatten()
    }

    pub(crate) fn essence(&self) -> String {
        let value = self.headers.get("content-type").map(http::HeaderValue::as_bytes).unwrap_or_default();
        media::essence(value).into_owned()
    }

    /// What is marked in the body.
    fn marked(&self) -> Marked {
        let is_json = self.document().is_some();
        let what = |(finding, (held, marks)): (usize, (&Finding, &Marks<'_>))| {
            let About::Body(bytes) = self.about(finding) else { return None };
            // Where the place is not there, the marks are of the nearest one above it.
            let is_missing = is_json && held.at.starts_with('/') && marks.at != held.at;
            let what = if is_missing {
                What::Missing { at: marks.at.clone(), sentence: missing(&held.at, &marks.at) }
            } else {
                What::Bytes(bytes.clone())
            };
            Some((finding, what))
        };
        self.findings.iter().zip(self.marks).enumerate().filter_map(what).collect()
    }

    /// Where a finding is.
    pub(crate) fn place(&self, finding: usize) -> Where {
        match self.about(finding) {
            About::Nothing => Where::Nothing,
            About::Line(range) => Where::Line(range.clone()),
            About::Field(name) => {
                let found = self.headers.iter().position(|(held, _)| held.as_str().eq_ignore_ascii_case(name));
                found.map_or(Where::MissingHeader, Where::Header)
            }
            About::Body(_) => Where::Body,
        }
    }

    /// The message without the content of its body.
    pub(crate) fn value(&self, lines: usize) -> Value {
        let findings = 0..self.findings.len();
        let line_marks: Vec<Value> = findings
            .clone()
            .filter_map(|finding| match self.place(finding) {
                Where::Line(range) if !range.is_empty() => {
                    Some(json!([utf16(&self.line, range.start), utf16(&self.line, range.end), finding]))
                }
                _ => None,
            })
            .collect();
        let headers: Vec<Value> = self
            .headers
            .iter()
            .enumerate()
            .map(|(index, (name, value))| {
                let text = String::from_utf8_lossy(value.as_bytes());
                let finding = findings.clone().find(|finding| self.place(*finding) == Where::Header(index));
                let note = if is_hop_by_hop(name) {
                    Some("hop-by-hop: not forwarded")
                } else if is_per_run(name) {
                    Some("per-run: a fixture leaves it out")
                } else {
                    None
                };
                json!({"name": visible(name.as_str()), "value": visible(&text), "note": note, "finding": finding})
            })
            .collect();
        let missing: Vec<Value> = findings
            .filter(|finding| self.place(*finding) == Where::MissingHeader)
            .filter_map(|finding| match self.about(finding) {
                About::Field(name) => Some(json!({"name": visible(name), "finding": finding})),
                _ => None,
            })
            .collect();
        json!({
            "line": visible(&self.line),
            "marks": line_marks,
            "headers": headers,
            "missing": missing,
            "body": self.body_value(lines),
        })
    }

    fn body_value(&self, lines: usize) -> Value {
        let body = self.body;
        let (state, sentence) = match &body.presence {
            Presence::Whole if body.content.is_empty() => ("none", None),
            Presence::Whole => ("whole", None),
            Presence::Truncated { total, .. } => {
                let of = total.map_or_else(String::new, |total| format!(" of {total}"));
                let kept = match body.content.len() {
                    0 => format!("none{of}"),
                    kept => format!("only {kept}{of}"),
                };
                ("cut", Some(format!("{kept} bytes were kept")))
            }
            Presence::Withheld(reason) => ("withheld", Some(format!("the body is not recorded: {}", reason.name()))),
        };
        let is_text = std::str::from_utf8(&body.content).is_ok();
        let essence = self.essence();
        let kind = bodies::view(&essence, body);
        let views: Vec<&str> = match (body.content.is_empty(), is_text) {
            (true, _) => Vec::new(),
            (false, true) => ["lines"].into_iter().chain(kind).chain(["raw", "hex"]).collect(),
            (false, false) => kind.into_iter().chain(["hex"]).collect(),
        };
        let malformed = media::means_json(&essence).then(|| body.document().err()).flatten();
        let malformed = malformed.filter(|_| !body.content.is_empty() && body.is_whole());
        json!({
            "state": state,
            "sentence": sentence,
            "media_type": visible(&essence),
            "size": body.content.len(),
            "wire": body.wire_size,
            "lines": lines,
            "views": views,
            "malformed": malformed.map(|error| error.to_string()),
            "labels": body.redacted.len(),
        })
    }

    /// A part of the body as text; where it ends, and what follows.
    pub(crate) fn raw(&self, from: usize, count: usize) -> Value {
        let content = &self.body.content;
        let text = std::str::from_utf8(content).unwrap_or_default();
        let from = text.floor_char_boundary(from);
        let end = text.floor_char_boundary(from.saturating_add(count)).max(from);
        json!({
            "size": content.len(),
            "from": from,
            "text": contrail_exchange::visible::visible_lines(&text[from..end]),
            "next": (end < text.len()).then_some(end),
        })
    }

    /// Rows of 16 bytes; `shown` is the finding that is shown.
    pub(crate) fn hex(&self, from: usize, count: usize, shown: Option<usize>) -> Value {
        let content = &self.body.content;
        let from = (from / 16 * 16).min(content.len());
        let end = from.saturating_add(count).min(content.len());
        let marked = match shown.and_then(|finding| self.marked().remove(&finding)) {
            Some(What::Bytes(range)) => Some(range),
            _ => None,
        };
        let rows: Vec<Value> = content[from..end]
            .chunks(16)
            .enumerate()
            .map(|(index, row)| {
                let offset = from + index * 16;
                let mut hex = String::with_capacity(48);
                let mut text = String::with_capacity(16);
                for byte in row {
                    let _ = write!(hex, "{}{byte:02x}", if hex.is_empty() { "" } else { " " });
                    text.push(if byte.is_ascii_graphic() || *byte == b' ' { char::from(*byte) } else { '.' });
                }
                let mark = marked.as_ref().and_then(|marked| {
                    let within = marked.start.max(offset)..marked.end.min(offset + row.len());
                    (within.start < within.end).then(|| [within.start - offset, within.end - offset])
                });
                json!({"offset": offset, "hex": hex, "text": text, "marked": mark.into_iter().collect::<Vec<_>>()})
            })
            .collect();
        json!({"size": content.len(), "rows": rows})
    }
}

/// The line for what the value at `nearest` lacks on the way to the place `at`.
fn missing(at: &str, nearest: &str) -> String {
    let name = pointer_tokens(at.get(nearest.len()..).unwrap_or_default()).next().unwrap_or_default();
    format!("`{}` is missing", visible(&name))
}

/// The place of a byte in a text's UTF-16, as the page counts. Of a text that shows escapes, about it.
fn utf16(text: &str, at: usize) -> usize {
    visible(&text[..text.floor_char_boundary(at)]).encode_utf16().count()
}
