//! Request and response of a finding as text, with the bytes that it is about.

use std::{fmt::Write as _, ops::Range};

use contrail_exchange::{
    Body, Exchange, Headers, Presence,
    finding::{Finding, Rule},
    graphql,
    json::pointer_tokens,
    media,
};
use contrail_redact::{JudgedExchange, Redacted, Redactor};

/// Maximum bytes of a body that a quote holds, around what is marked.
const MAX_BODY: usize = 2 << 10;
/// Maximum bytes of a JSON body that is laid out in lines.
const MAX_LAID_OUT: usize = 256 << 10;
/// Bytes of a JSON body that reads well in one line.
const SHORT: usize = 80;
/// Levels by which lines are indented.
const MAX_INDENT: usize = 16;
/// Maximum bytes of a header field's value.
const MAX_VALUE: usize = 300;
/// Maximum header fields.
const MAX_FIELDS: usize = 40;

/// Request and response of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    pub(super) request: Quoted,
    /// `None` where no response came.
    pub(super) response: Option<Quoted>,
    /// The media type of the message that the finding is about; empty if it names none.
    pub(super) media_type: String,
    /// The finding's place in the body; of something that is missing, the place that lacks it.
    pub(super) at: String,
}

/// A message as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quoted {
    pub(super) text: String,
    /// The bytes of the text that the finding is about.
    pub(super) mark: Option<Range<usize>>,
}

/// What of a message a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About<'a> {
    /// Bytes of the first line ([`request_line`], or the status).
    Line(Range<usize>),
    /// The header field of this name, which may be missing.
    Field(&'a str),
    /// Bytes of the body; none where it has no bytes of its own.
    Body(Range<usize>),
    /// Nothing.
    Nothing,
}

/// What of an exchange a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks<'a> {
    /// Of the request.
    pub request: About<'a>,
    /// Of the response.
    pub response: About<'a>,
    /// The place in the body; of something that is missing, the place that lacks it.
    pub at: String,
    /// The media type of the message that the finding is about; empty if it names none.
    pub media_type: String,
}

/// The first line of a request, as quotes have it.
#[must_use]
pub fn request_line(exchange: &Exchange) -> String {
    let line = format!("{} {}", exchange.request.method, exchange.request.target.path_and_query);
    match graphql::operation_name(&exchange.request) {
        Some(name) => format!("{line} ({name})"),
        None => line,
    }
}

impl<'a> Marks<'a> {
    /// Those of a finding.
    #[must_use]
    pub fn of(exchange: &Exchange, finding: &'a Finding) -> Self {
        let (request, response, at) = about(exchange, finding, &request_line(exchange));
        let headers = match (&response, exchange.response.as_ref()) {
            (About::Nothing, _) => Some(&exchange.request.headers),
            (_, response) => response.filter(|response| response.status != 0).map(|response| &response.headers),
        };
        let media_type = headers.and_then(|headers| headers.get_str("content-type")).unwrap_or_default().to_owned();
        Self { request, response, at, media_type }
    }
}

impl Quote {
    pub(super) fn new(judged: &Redacted<JudgedExchange>, finding: &Finding) -> Self {
        let exchange = &*judged.exchange;
        let request = &exchange.request;
        let marks = Marks::of(exchange, finding);
        let response = exchange.response.as_ref().filter(|response| response.status != 0);
        Self {
            request: Quoted::new(request_line(exchange), &request.headers, &request.body, &marks.request),
            response: response.map(|response| {
                Quoted::new(response.status.to_string(), &response.headers, &response.body, &marks.response)
            }),
            media_type: marks.media_type,
            at: marks.at,
        }
    }

    /// Takes out secrets that were recognised later. A text that changes loses its mark.
    pub(super) fn redact(&mut self, redactor: &Redactor) {
        for quoted in [Some(&mut self.request), self.response.as_mut()].into_iter().flatten() {
            let clean = redactor.text(&quoted.text);
            if *clean != *quoted.text {
                *quoted = Quoted { text: clean.into_inner(), mark: None };
            }
        }
    }
}

/// What of request and of response a finding is about, and its place in the body.
fn about<'a>(exchange: &Exchange, finding: &'a Finding, line: &str) -> (About<'a>, About<'a>, String) {
    let nothing = || String::new();
    let response = exchange.response.as_ref();
    match finding.rule {
        Rule::RequestBody | Rule::RequestBodyUndocumented => {
            let request = &exchange.request;
            let (range, at) = place(&request.headers, &request.body, &finding.at);
            (range.map_or(About::Nothing, About::Body), About::Nothing, at)
        }
        Rule::ResponseBody
        | Rule::ResponseBodyUndocumented
        | Rule::ExchangeIdentity
        | Rule::ExchangePageSize
        | Rule::ExchangeEcho => {
            let found = response.map(|response| place(&response.headers, &response.body, &finding.at));
            let (range, at) = found.unwrap_or_default();
            (About::Nothing, range.map_or(About::Body(0..0), About::Body), at)
        }
        Rule::RequestBodyUnexpected | Rule::RequestBodyMalformed => {
            (About::Body(0..exchange.request.body.content.len()), About::Nothing, nothing())
        }
        Rule::ResponseBodyMalformed | Rule::TransportIncomplete => {
            let length = response.map_or(0, |response| response.body.content.len());
            (About::Nothing, About::Body(0..length), nothing())
        }
        Rule::RequestContentType => (About::Field("content-type"), About::Nothing, nothing()),
        Rule::ResponseContentType => (About::Nothing, About::Field("content-type"), nothing()),
        Rule::HeaderParameter => (About::Field(&finding.at), About::Nothing, finding.at.clone()),
        Rule::CookieParameter => (About::Field("cookie"), About::Nothing, finding.at.clone()),
        Rule::ResponseHeaders | Rule::ResponseHeader => (About::Nothing, About::Field(&finding.at), finding.at.clone()),
        Rule::QueryParameter | Rule::QueryUndocumented => {
            (About::Line(query(line, &finding.at).unwrap_or(0..0)), About::Nothing, finding.at.clone())
        }
        Rule::PathParameter => {
            let seen = finding.seen.as_deref().filter(|seen| !seen.is_empty());
            // Where it stands twice, either could be meant.
            let only = seen.filter(|seen| line.matches(*seen).count() == 1);
            let range = only.and_then(|seen| line.find(seen).map(|at| at..at + seen.len()));
            (About::Line(range.unwrap_or(0..0)), About::Nothing, finding.at.clone())
        }
        Rule::OperationUndocumented => (About::Line(0..line.len()), About::Nothing, nothing()),
        Rule::StatusSuccess | Rule::StatusUndocumented | Rule::AuthRefused | Rule::AuthUnenforced => {
            (About::Nothing, About::Line(0..3), nothing())
        }
        Rule::AuthMissing
        | Rule::AuthMalformed
        | Rule::AuthExpired
        | Rule::AuthSignature
        | Rule::AuthScope
        | Rule::AuthScopeUndeclared => (About::Field("authorization"), About::Nothing, nothing()),
    }
}

/// The bytes of a body at a place, and the place; of something that is missing, those of the object that lacks it.
fn place(headers: &Headers, body: &Body, at: &str) -> (Option<Range<usize>>, String) {
    let content_type = headers.get_str("content-type").unwrap_or_default();
    if *media::essence(content_type.as_bytes()) == *media::FORM {
        let name = pointer_tokens(at).next().unwrap_or_default().into_owned();
        return (pair(&body.content, &name), at.to_owned());
    }
    let Ok(document) = body.document() else { return (None, at.to_owned()) };
    let mut at = at;
    loop {
        if let Some(node) = document.pointer(at) {
            return (Some(node.span()), at.to_owned());
        }
        let Some((parent, _)) = at.rsplit_once('/') else { return (None, at.to_owned()) };
        at = parent;
    }
}

/// The bytes of a parameter in the first line of a request.
fn query(line: &str, name: &str) -> Option<Range<usize>> {
    let from = line.find('?')? + 1;
    let pair = pair(&line.as_bytes()[from..], name)?;
    Some(from + pair.start..from + pair.end)
}

/// The bytes of the field with this name in a query or form.
fn pair(text: &[u8], name: &str) -> Option<Range<usize>> {
    let is_named = |field: &media::Field| {
        let found = media::decoded(&text[field.name.clone()]);
        matches!(found.strip_prefix(name.as_bytes()), Some([] | [b'[', ..]))
    };
    media::fields(text).find(is_named).map(|field| field.name.start..field.value.end)
}

impl Quoted {
    fn new(line: String, headers: &Headers, body: &Body, about: &About<'_>) -> Self {
        let mut text = line;
        let mut mark = match about {
            About::Line(range) if !range.is_empty() => Some(range.clone()),
            _ => None,
        };
        for (name, value) in headers.iter().take(MAX_FIELDS) {
            text.push('\n');
            let from = text.len();
            let value = String::from_utf8_lossy(value.as_bytes());
            let shown = cut(&value, 0..MAX_VALUE);
            let _ = write!(text, "{name}: {shown}{}", if shown.len() < value.len() { "…" } else { "" });
            if let About::Field(field) = about
                && name.as_str().eq_ignore_ascii_case(field)
            {
                mark = Some(from..text.len());
            }
        }
        if headers.len() > MAX_FIELDS {
            let _ = write!(text, "\n… {} more header fields", headers.len() - MAX_FIELDS);
        }
        if let About::Field(field) = about
            && !field.is_empty()
            && headers.get(field).is_none()
        {
            let from = text.len() + 1;
            let _ = write!(text, "\n(no {field})");
            mark = Some(from..text.len());
        }
        match &body.presence {
            Presence::Withheld(reason) => {
                let _ = write!(text, "\n\n(the body is not recorded: {})", reason.name());
            }
            _ if body.content.is_empty() => {}
            _ => match std::str::from_utf8(&body.content) {
                Ok(content) => {
                    let marked = if let About::Body(range) = about { range.clone() } else { 0..0 };
                    text.push_str("\n\n");
                    let is_long_line = (SHORT..MAX_LAID_OUT).contains(&content.len()) && !content.trim().contains('\n');
                    let (shown, range) = if is_long_line && body.document().is_ok() {
                        let (content, marked) = laid_out(content, &marked);
                        excerpt(&content, &marked)
                    } else {
                        excerpt(content, &marked)
                    };
                    mark = mark.or((!range.is_empty()).then(|| text.len() + range.start..text.len() + range.end));
                    text.push_str(&shown);
                }
                Err(_) => {
                    let _ = write!(text, "\n\n({} bytes that are no text)", body.content.len());
                }
            },
        }
        Self { text, mark }
    }
}

/// A JSON text with a line for each value, and where the marked bytes are in it.
#[must_use]
pub fn laid_out(content: &str, marked: &Range<usize>) -> (String, Range<usize>) {
    let mut out = String::with_capacity(content.len() * 2);
    let (mut range, mut depth) = (0..0, 0_usize);
    let (mut in_string, mut is_escaped, mut previous) = (false, false, ' ');
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth.min(MAX_INDENT)));
    };
    for (at, character) in content.char_indices() {
        if !in_string && character.is_ascii_whitespace() {
            continue;
        }
        let closes = !in_string && matches!(character, '}' | ']');
        depth -= usize::from(closes).min(depth);
        let is_empty = closes && matches!(previous, '{' | '[');
        if !in_string && !is_empty && (closes || matches!(previous, '{' | '[' | ',')) {
            line(&mut out, depth);
        }
        if at == marked.start {
            range.start = out.len();
        }
        out.push(character);
        if at < marked.end {
            range.end = out.len();
        }
        match character {
            '{' | '[' if !in_string => depth += 1,
            ':' if !in_string => out.push(' '),
            '"' if !is_escaped => in_string = !in_string,
            _ => {}
        }
        is_escaped = in_string && character == '\\' && !is_escaped;
        // What stands in a string opens nothing.
        previous = if in_string || character == '"' { '"' } else { character };
    }
    (out, if marked.is_empty() { 0..0 } else { range })
}

/// As much of a body as a quote holds, around the marked bytes, and where these are in it.
fn excerpt(content: &str, marked: &Range<usize>) -> (String, Range<usize>) {
    if content.len() <= MAX_BODY {
        return (content.to_owned(), marked.clone());
    }
    let length = marked.len().min(MAX_BODY / 2);
    let from = marked.start.saturating_sub((MAX_BODY - length) / 2).min(content.len() - MAX_BODY);
    let shown = cut(content, from..from + MAX_BODY);
    let from = shown.as_ptr() as usize - content.as_ptr() as usize;
    let before = if from > 0 { "…" } else { "" };
    let after = if from + shown.len() < content.len() { "…" } else { "" };
    let range = marked.start.saturating_sub(from)..marked.end.saturating_sub(from).min(shown.len());
    let range = if marked.is_empty() { 0..0 } else { range.start + before.len()..range.end + before.len() };
    (format!("{before}{shown}{after}"), range)
}

/// The text of these bytes, from and to whole characters.
fn cut(text: &str, range: Range<usize>) -> &str {
    let (from, to) = (text.ceil_char_boundary(range.start), text.floor_char_boundary(range.end));
    &text[from..to.max(from)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_text_is_laid_out_and_its_mark_stays_on_the_same_value() {
        let content = r#" {"a":[1, {"b":"x,{\"]"}],"c":[],"d" : {"e":true}} "#;
        let expected = r#"{
  "a": [
    1,
    {
      "b": "x,{\"]"
    }
  ],
  "c": [],
  "d": {
    "e": true
  }
}"#;
        for marked in [r#""x,{\"]""#, "[]", "true", "1"] {
            let from = content.find(marked).unwrap();
            let (text, range) = laid_out(content, &(from..from + marked.len()));
            assert_eq!((&*text, &text[range]), (expected, marked));
        }
        let deep = "[".repeat(10_000);
        assert!(laid_out(&deep, &(0..0)).0.len() < 10_000 * (2 * MAX_INDENT + 2));
    }
}
