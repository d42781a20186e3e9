//! What requests and responses have in common: media types, parsing, and from breaches and gaps to findings.

use std::{borrow::Cow, sync::Arc};

use http::HeaderValue;

use super::Check;
use crate::{
    contract::{
        model::Content,
        params::{self, Form},
        schema::{GapKind, Schema},
    },
    exchange::{Body, Headers, Place, media},
    finding::{Finding, Rule, Unchecked},
    json::{Document, Kind, reads_as_another_scalar},
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

/// So many findings of a body say what was seen; looking a place up takes as long as the document.
const SAMPLES: usize = 100;

/// How a body is read, by its media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Json,
    Form,
    /// We do not read it.
    Other,
}

/// What the `Content-Type` names.
enum Named<'a> {
    /// Type and subtype, lower case; empty if they are missing or malformed.
    One(Cow<'a, str>),
    /// Several media types. Recipients differ in which one they take (RFC 9110, section 8.3).
    Several(Vec<Cow<'a, str>>),
}

/// The media type of a message; `None` without a `Content-Type`.
fn named(headers: &Headers) -> Option<Named<'_>> {
    let mut values = headers.get_all("content-type").map(HeaderValue::as_bytes);
    let (first, second) = (values.next()?, values.next());
    if second.is_none() && memchr::memchr(b',', first).is_none() {
        return Some(Named::One(media_type(first)));
    }
    let mut types: Vec<Cow<'_, str>> = Vec::new();
    for value in [first].into_iter().chain(second).chain(values).flat_map(media::list) {
        let media_type = media_type(value);
        if !types.contains(&media_type) {
            types.push(media_type);
        }
    }
    Some(if types.len() > 1 { Named::Several(types) } else { Named::One(types.pop().unwrap_or_default()) })
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
    } else if media_type == media::FORM {
        Reading::Form
    } else {
        Reading::Other
    }
}

/// Whether a documented media type (`text/*`, `*/*` and `application/*+json` included) covers the one that is there, which
/// is another one.
fn covers(documented: &str, media_type: &str) -> bool {
    let star = memchr::memchr(b'*', documented.as_bytes());
    match star.map(|star| (&documented[..star], &documented[star + 1..])) {
        None => false,
        Some((_, "/*")) => !media_type.is_empty(),
        Some((before, after)) => {
            media_type.len() > before.len() + after.len()
                && media_type.starts_with(before)
                && media_type.ends_with(after)
        }
    }
}

/// Whether a place is redacted, or lies below one that is.
pub(super) fn is_redacted(redacted: &[Place], at: &str) -> bool {
    redacted
        .iter()
        .any(|place| at.strip_prefix(place.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

impl Check<'_> {
    /// Judges a body that is there: its media type, its form, its schema. Gives the document that it stands for.
    ///
    /// `documented` are its media types; where there is none, `otherwise` are those of every message. With `suffixes`,
    /// any `+json` type counts as `application/json`.
    pub(super) fn judge_body(
        &mut self,
        side: Side,
        headers: &Headers,
        body: &Body,
        documented: &[Content],
        otherwise: &[Box<str>],
        suffixes: bool,
    ) -> Option<Arc<Document>> {
        let otherwise = if documented.is_empty() { otherwise } else { &[] };
        let names = documented.iter().map(|content| &*content.media_type).chain(otherwise.iter().map(|name| &**name));
        let all = || names.clone().collect::<Vec<_>>().join(" or ");
        let Some(named) = named(headers) else {
            if names.clone().next().is_some() && body.is_whole() {
                self.find(Finding::new(side.content_type, "Content-Type", all()));
            }
            self.unchecked.insert(side.unchecked);
            return None;
        };
        let accepts = |name: &str, media_type: &str| {
            name == media_type
                || covers(name, media_type)
                || (suffixes && name == "application/json" && media::has_json_suffix(media_type))
        };
        let is_documented = |media_type: &str| {
            let mut names = names.clone().peekable();
            names.peek().is_none() || names.any(|name| accepts(name, media_type))
        };
        let finding = || {
            let values = headers.get_all("content-type").map(|value| String::from_utf8_lossy(value.as_bytes()));
            Finding::new(side.content_type, "Content-Type", all()).seen(values.collect::<Vec<_>>().join(", "))
        };
        let media_type = match named {
            Named::One(media_type) => media_type,
            Named::Several(types) => {
                if !types.iter().any(|media_type| is_documented(media_type)) {
                    self.find(finding());
                }
                self.unchecked.insert(side.unchecked);
                return None;
            }
        };
        let content = documented.iter().find(|content| accepts(&content.media_type, &media_type));
        if content.is_none() && !is_documented(&media_type) {
            self.find(finding());
            // The token endpoint is asked in JSON by some clients, and its one fact is worth reading there, too.
            if !(self.operation.token_endpoint && media::is_json(&media_type)) {
                self.unchecked.insert(side.unchecked);
                return None;
            }
        }
        let hidden = is_redacted(&body.redacted, "");
        if !body.is_whole() || (hidden && !body.malformed) {
            self.unchecked.insert(side.unchecked);
            return None;
        }
        let schema = content
            .or(documented.first().filter(|_| self.operation.token_endpoint))
            .and_then(|content| content.schema.as_ref());
        let document = self.read(side, reading(&media_type), body, schema)?;
        if hidden {
            // A label took the place of what was malformed.
            self.unchecked.insert(side.unchecked);
            return None;
        }
        if let Some(schema) = schema {
            self.judge_document(side, schema, &document, &body.redacted);
        }
        Some(document)
    }

    fn read(&mut self, side: Side, reading: Reading, body: &Body, schema: Option<&Schema>) -> Option<Arc<Document>> {
        match reading {
            Reading::Json => match body.document() {
                Ok(document) if document.depth() > self.options.max_depth => self.unchecked.insert(side.unchecked),
                Ok(document) => return Some(document),
                Err(error) if error.fault.is_limit() => self.unchecked.insert(side.unchecked),
                Err(error) => self.find(Finding::new(side.malformed, "", format!("well-formed JSON: {error}"))),
            },
            Reading::Form => match params::form(&body.content, schema) {
                Form::Fields(document) => return Some(Arc::new(document)),
                Form::TooMuch => self.unchecked.insert(side.unchecked),
                Form::Malformed(faults) => {
                    for (at, expected, seen) in faults {
                        self.find(Finding { rule: side.malformed, at, expected, seen });
                    }
                }
            },
            Reading::Other => self.unchecked.insert(side.unchecked),
        }
        None
    }

    fn judge_document(&mut self, side: Side, schema: &Schema, document: &Document, redacted: &[Place]) {
        let (exchange, options) = (self.exchange, self.options);
        let Ok(judged) = schema.judge(document, &|text| Self::is_tenant_origin(exchange, options, text)) else {
            self.unchecked.insert(side.unchecked);
            return;
        };
        if judged.partial {
            self.unchecked.insert(side.unchecked);
        }
        for (index, breach) in judged.violations.into_iter().enumerate() {
            if !is_redacted(redacted, &breach.at) {
                let seen = (index < SAMPLES).then(|| sample(document, &breach.at)).flatten();
                self.find(Finding { rule: side.body, at: breach.at, expected: breach.expected, seen });
            }
        }
        for (index, gap) in judged.gaps.into_iter().enumerate() {
            if is_redacted(redacted, &gap.at) {
                continue;
            }
            let finding = match gap.kind {
                GapKind::Undocumented => Finding::new(side.undocumented, gap.at, "a documented field"),
                GapKind::Unnamed { limit } => {
                    let expected = format!("a documented key; up to {limit} more exist whose names are not shown");
                    Finding::new(side.undocumented, gap.at, expected)
                }
                GapKind::BeyondUnnamed { limit } => {
                    Finding::new(side.body, gap.at, format!("at most {limit} keys besides the documented ones"))
                }
                GapKind::Value { known } => Finding {
                    rule: side.undocumented,
                    seen: (index < SAMPLES).then(|| scalar(document, &gap.at)).flatten(),
                    at: gap.at,
                    expected: format!("a documented value ({known})").into(),
                },
            };
            self.find(finding);
        }
    }
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
