//! A request or a response as the page shows it: its head, and its body as lines, text or hexadecimal.

use std::{fmt::Write as _, ops::Range, sync::Arc};

use contrail_exchange::{
    Body, Exchange, Headers, Presence, finding::Finding, is_hop_by_hop, json::Document, media, visible::visible,
};
use contrail_recording::is_per_run;
use contrail_redact::JudgedExchange;
use contrail_report::{About, Marks};
use serde_json::{Value, json};

use super::lines::{Lines, Marked, What};

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
    /// What findings are about, one per finding of the exchange.
    abouts: Vec<About<'a>>,
    findings: &'a [Finding],
}

/// Where a finding is in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Where {
    Line(Range<usize>),
    Header(usize),
    MissingHeader,
    /// The index among the marks of the body.
    Body(usize),
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
}

impl<'a> Shown<'a> {
    /// A message; `None` if no response came.
    pub(crate) fn of(judged: &'a JudgedExchange, side: Side) -> Option<Self> {
        let Exchange { request, response, .. } = &*judged.exchange;
        let findings = &judged.verdict.findings;
        let marks = findings.iter().map(|finding| Marks::of(&judged.exchange, finding));
        Some(match side {
            Side::Request => Self {
                line: contrail_report::request_line(&judged.exchange),
                headers: &request.headers,
                body: &request.body,
                abouts: marks.map(|marks| marks.request).collect(),
                findings,
            },
            Side::Response => {
                let response = response.as_ref().filter(|response| response.status != 0)?;
                let status = http::StatusCode::from_u16(response.status).ok();
                let reason = status.and_then(|status| status.canonical_reason()).unwrap_or_default();
                Self {
                    line: format!("{} {reason}", response.status).trim_end().to_owned(),
                    headers: &response.headers,
                    body: &response.body,
                    abouts: marks.map(|marks| marks.response).collect(),
                    findings,
                }
            }
        })
    }

    /// Whether a finding is about this message.
    pub(crate) fn is_about(&self, finding: usize) -> bool {
        self.abouts.get(finding).is_some_and(|about| *about != About::Nothing)
    }

    /// The body as JSON, if it is.
    fn document(&self) -> Option<Arc<Document>> {
        let essence = self.essence();
        let may_be = media::means_json(&essence) || matches!(self.body.content.first(), Some(b'{' | b'['));
        may_be.then(|| self.body.document().ok()).flatten()
    }

    fn essence(&self) -> String {
        let value = self.headers.get("content-type").map(http::HeaderValue::as_bytes).unwrap_or_default();
        media::essence(value).into_owned()
    }

    /// What is marked in the body.
    pub(crate) fn marks(&self) -> Vec<Marked> {
        let document = self.document();
        let abouts = self.abouts.iter().zip(self.findings).enumerate();
        abouts
            .filter_map(|(finding, (about, held))| {
                let About::Body(bytes) = about else { return None };
                let place = document.as_ref().filter(|_| held.at.starts_with('/'));
                let what = match place.map(|document| document.pointer(&held.at)) {
                    // The place is not there, so something is missing.
                    Some(None) => {
                        let at = place.map(|document| nearest(document, &held.at)).unwrap_or_default();
                        What::Missing { sentence: missing(held, &at), at }
                    }
                    _ => What::Bytes(bytes.clone()),
                };
                Some(Marked { finding, what })
            })
            .collect()
    }

    pub(crate) fn lines(&self) -> Lines {
        Lines::new(self.body.content.clone(), self.document(), &self.marks())
    }

    /// Where a finding is.
    pub(crate) fn place(&self, finding: usize, marks: &[Marked]) -> Where {
        match self.abouts.get(finding) {
            None | Some(About::Nothing) => Where::Nothing,
            Some(About::Line(range)) => Where::Line(range.clone()),
            Some(About::Field(name)) => {
                let found = self.headers.iter().position(|(held, _)| held.as_str().eq_ignore_ascii_case(name));
                found.map_or(Where::MissingHeader, Where::Header)
            }
            Some(About::Body(_)) => {
                marks.iter().position(|mark| mark.finding == finding).map_or(Where::Nothing, Where::Body)
            }
        }
    }

    /// The message without the content of its body.
    pub(crate) fn value(&self, marks: &[Marked], lines: usize) -> Value {
        let findings = 0..self.findings.len();
        let line_marks: Vec<Value> = findings
            .clone()
            .filter_map(|finding| match self.place(finding, marks) {
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
                let finding = findings.clone().find(|finding| self.place(*finding, marks) == Where::Header(index));
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
            .filter(|finding| self.place(*finding, marks) == Where::MissingHeader)
            .filter_map(|finding| match &self.abouts[finding] {
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
                ("cut", Some(format!("only {}{of} bytes were kept", body.content.len())))
            }
            Presence::Withheld(reason) => ("withheld", Some(format!("the body is not recorded: {}", reason.name()))),
        };
        let is_text = std::str::from_utf8(&body.content).is_ok();
        let views: &[&str] = match (body.content.is_empty(), is_text) {
            (true, _) => &[],
            (false, true) => &["lines", "raw", "hex"],
            (false, false) => &["hex"],
        };
        let essence = self.essence();
        let malformed = media::means_json(&essence).then(|| body.document().err()).flatten();
        let malformed = malformed.filter(|_| !body.content.is_empty() && body.is_whole());
        json!({
            "state": state,
            "sentence": sentence,
            "media_type": visible(&essence),
            "size": body.content.len(),
            "wire": body.wire_size,
            "lines": if is_text { lines } else { 0 },
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

    /// Rows of 16 bytes.
    pub(crate) fn hex(&self, from: usize, count: usize, shown: Option<usize>, marks: &[Marked]) -> Value {
        let content = &self.body.content;
        let from = (from / 16 * 16).min(content.len());
        let end = from.saturating_add(count).min(content.len());
        let marked = shown
            .and_then(|finding| marks.iter().find(|mark| mark.finding == finding))
            .and_then(|mark| if let What::Bytes(range) = &mark.what { Some(range.clone()) } else { None });
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

/// The place of the nearest value on the way to one that is not there.
fn nearest(document: &Document, at: &str) -> String {
    let mut at = at;
    while let Some((parent, _)) = at.rsplit_once('/') {
        at = parent;
        if document.pointer(at).is_some() {
            break;
        }
    }
    at.to_owned()
}

/// The sentence about what is missing at the end of the value at `at`.
fn missing(finding: &Finding, at: &str) -> String {
    let rest = finding.at.get(at.len() + 1..).unwrap_or_default();
    let name = rest.split('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
    format!("`{}` is missing", visible(&name))
}

/// The place of a byte in a text's UTF-16, as the page counts. Of a text that shows escapes, about it.
fn utf16(text: &str, at: usize) -> usize {
    visible(&text[..text.floor_char_boundary(at)]).encode_utf16().count()
}
