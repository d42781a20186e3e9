//! Judges a body: selects its documented media type, parses it, and turns violations and gaps into findings.

use std::{borrow::Cow, sync::Arc};

use contrail_exchange::{
    Body, Headers, Pointer, Presence, Withheld,
    finding::{Finding, Rule, Unchecked},
    is_redacted,
    json::{Document, Kind, reads_as_another_scalar},
    media,
};
use http::HeaderValue;

use super::state::Check;
use crate::{
    list::joined,
    media_type::most_specific,
    model::{Content, Empty, Raw},
    params::{self, Form},
    schema::{GapKind, Indeterminate, Open, Schema, SchemaVerdict},
};

/// The rules and the aspect of one side.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub(super) content_type: Rule,
    pub(super) body: Rule,
    pub(super) malformed: Rule,
    pub(super) undocumented: Rule,
    pub(super) unchecked: Unchecked,
}

pub(super) const REQUEST: Side = Side {
    content_type: Rule::RequestContentType,
    body: Rule::RequestBody,
    malformed: Rule::RequestBodyMalformed,
    undocumented: Rule::RequestBodyUndocumented,
    unchecked: Unchecked::RequestBody,
};

pub(super) const RESPONSE: Side = Side {
    content_type: Rule::ResponseContentType,
    body: Rule::ResponseBody,
    malformed: Rule::ResponseBodyMalformed,
    undocumented: Rule::ResponseBodyUndocumented,
    unchecked: Unchecked::ResponseBody,
};

/// Why a body is not judged.
pub(super) const UNUSABLE: &str = "contrail cannot use what the document states of it";
pub(super) const LABELLED: &str = "labels replace secrets in it";
pub(super) const NOT_SAVED: &str = "the file was saved without it";
pub(super) const TOO_DEEP: &str = "it is nested deeper than --max-depth, or beyond another limit of the parser";

/// So many findings of a body say what was seen; looking a place up takes as long as the document.
const MAX_SAMPLES: usize = 100;

/// How a body is read, by its media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Json,
    Form,
    Multipart,
    /// Items that stand by themselves.
    Sequence,
    Text,
    /// contrail does not read it.
    Other,
}

/// What the `Content-Type` names.
enum ContentTypes<'a> {
    /// Type and subtype, lower case; empty if they are missing or malformed.
    One(Cow<'a, str>),
    /// Several media types. Recipients differ in which one they take (RFC 9110, section 8.3).
    Several(Vec<Cow<'a, str>>),
}

impl ContentTypes<'_> {
    fn any(&self, is: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::One(media_type) => is(media_type),
            Self::Several(types) => types.iter().any(|media_type| is(media_type)),
        }
    }
}

/// The media type of a message; `None` without a `Content-Type`.
fn named(headers: &Headers) -> Option<ContentTypes<'_>> {
    let mut values = headers.get_all("content-type").map(HeaderValue::as_bytes);
    let (first, second) = (values.next()?, values.next());
    if second.is_none() && memchr::memchr(b',', first).is_none() {
        return Some(ContentTypes::One(media_type(first)));
    }
    let mut types: Vec<Cow<'_, str>> = Vec::new();
    for value in [first].into_iter().chain(second).chain(values).flat_map(media::list) {
        let media_type = media_type(value);
        if !types.contains(&media_type) {
            types.push(media_type);
        }
    }
    Some(if types.len() > 1 {
        ContentTypes::Several(types)
    } else {
        ContentTypes::One(types.pop().unwrap_or_default())
    })
}

/// Type and subtype, lower case; empty if they are missing or malformed.
fn media_type(value: &[u8]) -> Cow<'_, str> {
    if matches!(value.strip_prefix(b"application/json"), Some([] | [b';', ..])) {
        return Cow::Borrowed("application/json");
    }
    let essence = media::essence(value);
    match essence.split_once('/') {
        Some((kind, sub)) if !kind.is_empty() && !sub.is_empty() => essence,
        _ => Cow::Borrowed(""),
    }
}

fn reading(media_type: &str) -> Reading {
    if media::is_json(media_type) {
        Reading::Json
    } else {
        match media_type {
            media::FORM => Reading::Form,
            media::MULTIPART_FORM => Reading::Multipart,
            _ if media::is_sequence(media_type) => Reading::Sequence,
            _ if media::is_text(media_type) => Reading::Text,
            _ => Reading::Other,
        }
    }
}

/// What the document states about a message without content: a text may be empty, and so may bytes that contrail does
/// not read. Without a `Content-Type`, it may be any of the documented ones.
pub(super) fn when_empty(documented: &[Content], headers: &Headers, suffixes: bool) -> Empty {
    let of = |content: &Content, read_as: Reading| match (&content.schema, read_as) {
        (Some(schema), Reading::Text | Reading::Sequence | Reading::Other) => {
            let judged = params::judge_plain(schema, "");
            match judged.violation {
                Some(_) => Empty::Violates,
                None if judged.open.is_some() => Empty::Unclear,
                None => Empty::Conforms,
            }
        }
        (Some(_), Reading::Json | Reading::Form | Reading::Multipart) => Empty::Violates,
        (None, _) => content.empty,
    };
    if let Some(value) = headers.get("content-type").map(HeaderValue::as_bytes) {
        let media_type = media_type(value);
        let ranges = documented.iter().map(|content| (&content.range, content));
        if let Some(content) = most_specific(ranges, &media_type, value, suffixes) {
            return of(content, reading(&media_type));
        }
    }
    let all = documented.iter().map(|content| of(content, reading(&content.range.name)));
    all.min().unwrap_or(Empty::Conforms)
}

/// A body on its way to its schema.
pub(super) struct Message<'a> {
    pub(super) side: Side,
    pub(super) body: &'a Body,
    pub(super) content: Option<&'a Content>,
    /// A label took the place of all of it.
    pub(super) hidden: bool,
    content_type: &'a [u8],
}

impl Check<'_> {
    /// Judges a body that is there: its media type, its form, its schema. Gives the document that it stands for.
    ///
    /// `documented` are its media types; where there is none, those of every message count. With `suffixes`, any
    /// `+json` type counts as `application/json`.
    pub(super) fn judge_body(
        &mut self,
        side: Side,
        headers: &Headers,
        body: &Body,
        documented: &[Content],
        suffixes: bool,
    ) -> Option<Arc<Document>> {
        let model = self.model;
        let otherwise = if documented.is_empty() { &model.media_types[..] } else { &[] };
        let ranges = || documented.iter().map(|content| &content.range).chain(otherwise);
        let all = || joined(ranges().map(|range| &range.name), " or ");
        let value = headers.get("content-type").map(HeaderValue::as_bytes).unwrap_or_default();
        let is_documented = |media_type: &str| {
            let mut ranges = ranges().peekable();
            ranges.peek().is_none() || ranges.any(|range| range.rank(media_type, value, suffixes).is_some())
        };
        // A type that only a file declares, beside the body, is evidence of what is documented, and of nothing else.
        let is_evidence = |named: &ContentTypes<'_>| !headers.only_declares_type() || named.any(is_documented);
        let Some(named) = named(headers).filter(is_evidence) else {
            if ranges().next().is_some() && body.is_whole() {
                self.find(Finding::new(side.content_type, "Content-Type", all()));
            }
            self.leave(side.unchecked, "", "no Content-Type states what it is");
            return None;
        };
        let finding = || {
            // A boundary says nothing of the type, and a fixture has another one.
            let shown = |value| match media::essence(value) {
                essence if essence.starts_with("multipart/") => essence,
                _ => String::from_utf8_lossy(value),
            };
            let values = headers.get_all("content-type").map(|value| shown(value.as_bytes()));
            Finding::new(side.content_type, "Content-Type", all()).seen(values.collect::<Vec<_>>().join(", "))
        };
        let media_type = match named {
            ContentTypes::One(media_type) => media_type,
            ContentTypes::Several(types) => {
                if !types.iter().any(|media_type| is_documented(media_type)) {
                    self.find(finding());
                }
                self.leave(side.unchecked, "", "its Content-Type names several media types");
                return None;
            }
        };
        let ranges = documented.iter().map(|content| (&content.range, content));
        let content = most_specific(ranges, &media_type, value, suffixes);
        if content.is_none() && !is_documented(&media_type) {
            self.find(finding());
            // The token endpoint is asked in JSON by some clients, and its one fact is worth reading there, too.
            if !(self.operation.is_bare_token_endpoint() && media::is_json(&media_type)) {
                self.leave(side.unchecked, "", "the document does not show its media type");
                return None;
            }
        }
        let hidden = is_redacted(&body.redacted, "");
        let unusable = content.is_some_and(|content| content.unusable);
        if !unusable && body.contradicts_coding(headers) {
            let coding = String::from_utf8_lossy(headers.get("content-encoding").map_or(b"", HeaderValue::as_bytes));
            self.find(Finding::new(side.malformed, "", format!("data of `{coding}`, as its Content-Encoding states")));
            return None;
        }
        if unusable || body.coded || !body.is_whole() || (hidden && !body.malformed) {
            let why = if unusable { UNUSABLE.into() } else { why_not_here(body) };
            self.leave(side.unchecked, "", why);
            return None;
        }
        if content.is_some_and(|content| content.partial) {
            self.leave(side.unchecked, "", "contrail does not read all that the document states of it");
        }
        if content.is_some_and(Content::is_silent) {
            self.unchecked.insert(side.unchecked);
        }
        let content = content.or(documented.first().filter(|_| self.operation.is_bare_token_endpoint()));
        let message = Message { side, body, content, hidden, content_type: value };
        match reading(&media_type) {
            Reading::Json => self.json(&message),
            Reading::Form | Reading::Multipart => self.form(&message, &media_type),
            Reading::Sequence => self.sequence(&message, &media_type),
            Reading::Text => self.text(&message, &media_type),
            Reading::Other if content.is_some_and(|content| content.raw == Raw::Octets) => None,
            Reading::Other => {
                self.leave(side.unchecked, "", format!("contrail does not read `{media_type}`"));
                None
            }
        }
    }

    fn json(&mut self, message: &Message<'_>) -> Option<Arc<Document>> {
        let Message { side, body, content, hidden, .. } = *message;
        let document = match body.document() {
            Ok(document) if document.depth() <= self.options.max_depth => document,
            // Parameters may make a sequence or another grammar of it.
            Err(error) if !error.fault.is_limit() && !content.is_some_and(|content| content.range.has_parameters()) => {
                self.find(Finding::new(side.malformed, "", format!("well-formed JSON: {error}")));
                return None;
            }
            Err(error) if !error.fault.is_limit() => {
                self.leave(side.unchecked, "", "it is no JSON, and parameters of its media type may say why");
                return None;
            }
            Ok(_) | Err(_) => {
                self.leave(side.unchecked, "", TOO_DEEP);
                return None;
            }
        };
        if hidden {
            // A label took the place of what was malformed.
            self.leave(side.unchecked, "", LABELLED);
            return None;
        }
        if let Some(schema) = content.and_then(|content| content.schema.as_ref()) {
            self.judge_document(side, schema, &document, &body.redacted);
        }
        Some(document)
    }

    fn form(&mut self, message: &Message<'_>, media_type: &str) -> Option<Arc<Document>> {
        let Message { side, body, content, hidden, content_type } = *message;
        let (exchange, options) = (self.exchange, self.options);
        let is_origin = |text: &str| Self::is_tenant_origin(exchange, options, text);
        let documented =
            params::Documented { no_repeats: self.model.no_repeated_fields, ..params::Documented::by(content) };
        let form = if media_type == media::FORM {
            params::form(&body.content, documented, &is_origin)
        } else {
            params::multipart(content_type, &body.content, documented, &is_origin)
        };
        let fields = match form {
            Form::Fields(fields) if !hidden => fields,
            Form::Malformed(faults) => {
                for (at, expected, seen) in faults {
                    self.find(Finding { rule: side.malformed, at, expected, seen });
                }
                return None;
            }
            Form::Fields(_) => {
                self.leave(side.unchecked, "", LABELLED);
                return None;
            }
            Form::TooMuch => {
                self.leave(side.unchecked, "", Form::TOO_MUCH);
                return None;
            }
        };
        // Where the redacted places of a multipart body lie, its schema does not know.
        let unknown = media_type != media::FORM && !body.redacted.is_empty();
        if unknown {
            self.leave(side.unchecked, "", LABELLED);
        } else if fields.judged.is_none() && documented.schema.is_some() {
            self.leave(side.unchecked, "", Form::TOO_MUCH);
        }
        if let Some(judged) = fields.judged.filter(|_| !unknown) {
            self.report(side, judged, &fields.document, &body.redacted, "");
        }
        Some(Arc::new(fields.document))
    }

    fn text(&mut self, message: &Message<'_>, media_type: &str) -> Option<Arc<Document>> {
        let Message { side, body, content, hidden, .. } = *message;
        let content = content.filter(|content| media_type == "text/plain" || content.raw != Raw::Other);
        let schema = content.and_then(|content| content.schema.as_ref());
        match (std::str::from_utf8(&body.content), schema) {
            (Ok(text), Some(schema)) if !hidden && body.redacted.is_empty() => {
                let judged = params::judge_plain(schema, text);
                if let Some(why) = judged.open {
                    self.leave(side.unchecked, "", why);
                }
                if let Some(expected) = judged.violation {
                    self.find(Finding::new(side.body, "", expected).seen(text));
                }
            }
            (Err(_), _) if is_utf8(message.content_type) => {
                self.find(Finding::new(side.malformed, "", "well-formed UTF-8"));
            }
            (Ok(_), Some(_)) => self.leave(side.unchecked, "", LABELLED),
            (Ok(_), None) => self.leave(side.unchecked, "", format!("contrail does not judge `{media_type}`")),
            (Err(_), _) => {
                let charset = media::parameter(message.content_type, "charset");
                let why = match charset.as_deref().map(String::from_utf8_lossy).filter(|charset| !charset.is_empty()) {
                    Some(charset) => format!("contrail does not decode its charset `{charset}`"),
                    None => "its bytes are not UTF-8, and its charset is not stated".to_owned(),
                };
                self.leave(side.unchecked, "", why);
            }
        }
        None
    }

    fn judge_document(&mut self, side: Side, schema: &Schema, document: &Document, redacted: &[Pointer]) {
        let (exchange, options) = (self.exchange, self.options);
        match schema.judge(document, &|text| Self::is_tenant_origin(exchange, options, text)) {
            Ok(judged) => self.report(side, judged, document, redacted, ""),
            Err(Indeterminate(why)) => self.leave(side.unchecked, "", why),
        }
    }

    /// Takes over the verdict on a document; `place` is where that stands in the body.
    pub(super) fn report(
        &mut self,
        side: Side,
        judged: SchemaVerdict,
        document: &Document,
        redacted: &[Pointer],
        place: &str,
    ) {
        let whole = |at: String| if place.is_empty() { at } else { format!("{place}{at}") };
        for Open { at, why } in judged.open {
            self.leave(side.unchecked, whole(at), why);
        }
        for (index, violation) in judged.violations.into_iter().enumerate() {
            if !is_redacted(redacted, &violation.at) {
                let seen = (index < MAX_SAMPLES).then(|| sample(document, &violation.at)).flatten();
                self.find(Finding { rule: side.body, at: whole(violation.at), expected: violation.expected, seen });
            }
        }
        for (index, gap) in judged.gaps.into_iter().enumerate() {
            if is_redacted(redacted, &gap.at) {
                continue;
            }
            let finding = match gap.kind {
                GapKind::Undocumented => Finding::new(side.undocumented, whole(gap.at), "a documented field"),
                GapKind::UndocumentedItem => Finding::new(side.undocumented, whole(gap.at), "a documented item"),
                GapKind::Unnamed { limit } => {
                    let expected = format!("a documented key; up to {limit} more exist whose names are not shown");
                    Finding::new(side.undocumented, whole(gap.at), expected)
                }
                GapKind::BeyondUnnamed { limit } => {
                    Finding::new(side.body, whole(gap.at), format!("at most {limit} keys besides the documented ones"))
                }
                GapKind::Content { expected } => Finding::new(side.body, whole(gap.at), expected),
                GapKind::OtherSide { keyword } => {
                    let expected = format!("no value here: the document marks this field `{keyword}`");
                    Finding::new(side.undocumented, whole(gap.at), expected)
                }
                GapKind::Unclear { expected } => Finding {
                    rule: side.undocumented,
                    seen: (index < MAX_SAMPLES).then(|| scalar(document, &gap.at)).flatten(),
                    at: whole(gap.at),
                    expected: expected.into(),
                },
                GapKind::Value { known } => Finding {
                    rule: side.undocumented,
                    seen: (index < MAX_SAMPLES).then(|| scalar(document, &gap.at)).flatten(),
                    at: whole(gap.at),
                    expected: format!("a documented value ({known})").into(),
                },
            };
            self.find(finding);
        }
    }
}

/// Why a body that was sent is not judged.
fn why_not_here(body: &Body) -> Cow<'static, str> {
    let Presence::Withheld(withheld) = &body.presence else {
        return match body.presence {
            Presence::Truncated { .. } => "only its beginning was kept".into(),
            _ if body.coded => "contrail does not implement its Content-Encoding".into(),
            _ => LABELLED.into(),
        };
    };
    match withheld {
        Withheld::Unparsable => "the file lacks it: it could not be parsed for its secrets".into(),
        Withheld::Undecodable => "contrail does not implement its Content-Encoding".into(),
        Withheld::MaxDecoded => "it decodes to more than --max-decoded".into(),
        Withheld::MaxRatio => "it decodes to more than --max-ratio allows".into(),
        Withheld::NotSaved => NOT_SAVED.into(),
        Withheld::Other(name) if name == "lossy" => "the file has U+FFFD in place of bytes of it".into(),
        Withheld::Other(name) if name == "coded" => "its Content-Encoding cannot be undone in the file".into(),
        Withheld::Other(name) => format!("the file lacks it ({name})").into(),
    }
}

/// Whether a `Content-Type` states that its text is UTF-8.
fn is_utf8(content_type: &[u8]) -> bool {
    media::parameter(content_type, "charset").is_some_and(|charset| charset.eq_ignore_ascii_case(b"utf-8"))
}

/// The scalar at a place as a message shows it: a text that would read as a number, `true`, `false` or `null` has its
/// quotation marks.
pub(super) fn sample(document: &Document, at: &str) -> Option<String> {
    let node = document.pointer(at)?;
    let text = scalar(document, at)?;
    Some(if node.kind() == Kind::String && reads_as_another_scalar(&text) { format!("\"{text}\"") } else { text })
}

/// The text of the scalar at a place; `None` for containers and for places that are not there.
pub(super) fn scalar(document: &Document, at: &str) -> Option<String> {
    let node = document.pointer(at)?;
    match node.kind() {
        Kind::Object | Kind::Array => None,
        Kind::String => node.as_str().map(Cow::into_owned),
        Kind::Null | Kind::Boolean | Kind::Number => Some(node.raw().to_owned()),
    }
}
