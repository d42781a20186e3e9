//! A request taken apart, so that it can be compared by value: method, raw path, decoded query, body.
//!
//! Headers are not compared; `Content-Type` only says how a body is to be read.

use bytes::Bytes;
use http::Method;
use percent_encoding::percent_decode;

use crate::{
    exchange::{
        Body, Headers, Presence, Request,
        media::{self, LineEnds},
    },
    json::{Document, Kind},
};

/// What takes part in the comparison of two requests.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) method: Method,
    /// Raw: `|` and `%7C` differ.
    pub(crate) path: String,
    /// Decoded and sorted, so that order does not matter; repeats kept.
    pub(crate) query: Vec<Pair>,
    pub(crate) body: Content,
}

/// A name with its value, percent-decoded. Bytes, because nobody promises UTF-8.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair {
    pub(crate) name: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// A body, read as what it is.
#[derive(Debug)]
pub(crate) enum Content {
    /// No body, or an empty one.
    Absent,
    /// There is a body, and it cannot be compared; why, as a clause.
    Unseen(String),
    Json(Document),
    /// A form: its fields, sorted by name and value.
    Form(Vec<Field>),
    /// A multipart body: its parts, sorted; the boundary is gone.
    Multipart(Vec<Field>),
    /// Anything else, byte for byte.
    Bytes(Bytes),
}

/// A form field, or a part of a multipart body.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: Vec<u8>,
    /// The part's file name, if it has one.
    pub(crate) file: Option<String>,
    pub(crate) value: Value,
}

/// The value of a [`Field`].
#[derive(Debug)]
pub(crate) enum Value {
    Bytes(Bytes),
    /// An object or an array (in a part that says it is JSON: any value).
    Json(Document),
}

impl Parts {
    /// Takes `request` apart. Its body must have its content coding removed.
    pub(crate) fn of(request: &Request) -> Self {
        let mut query = pairs(request.target.query().unwrap_or_default());
        query.sort_unstable();
        Self {
            method: request.method.clone(),
            path: request.target.path().to_owned(),
            query,
            body: Content::of(&request.body, &request.headers),
        }
    }
}

impl Content {
    fn of(body: &Body, headers: &Headers) -> Self {
        match &body.presence {
            Presence::Whole => {}
            Presence::Truncated { kept, .. } => return Self::Unseen(format!("only its first {kept} bytes were kept")),
            Presence::Withheld(reason) => return Self::Unseen(format!("it is not here ({})", reason.name())),
        }
        if body.content.is_empty() {
            return Self::Absent;
        }
        let media_type = headers.get_str("content-type").unwrap_or_default().as_bytes();
        let essence = media::essence(media_type);
        if body.malformed && media::is_json(&essence) {
            // With labels in it, it may look whole.
            return Self::Bytes(body.content.clone());
        }
        // A body that is JSON is JSON whatever its header says: headers do not take part.
        if let Some(document) = container(&body.content) {
            return Self::Json(document);
        }
        if media::is_json(&essence) {
            if let Ok(document) = Document::parse(body.content.clone()) {
                return Self::Json(document);
            }
        } else if essence == media::FORM || essence.is_empty() && looks_like_form(&body.content) {
            return Self::Form(form(&body.content));
        } else if essence.starts_with("multipart/")
            && let Some(boundary) = media::parameter(media_type, "boundary")
            && let Some(parts) = multipart(&body.content, &boundary)
        {
            return Self::Multipart(parts);
        }
        Self::Bytes(body.content.clone())
    }

    /// How people call it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Absent => "no body".to_owned(),
            Self::Unseen(why) => format!("a body that cannot be compared: {why}"),
            Self::Json(_) => "a JSON body".to_owned(),
            Self::Form(_) => "a form".to_owned(),
            Self::Multipart(_) => "a multipart body".to_owned(),
            Self::Bytes(bytes) => format!("a body of {} bytes", bytes.len()),
        }
    }
}

/// The pairs of a query or a form, in order: `+` and `%20` are a space, a bad escape stays as it is.
pub(crate) fn pairs(text: &str) -> Vec<Pair> {
    pairs_of_bytes(text.as_bytes())
}

fn pairs_of_bytes(text: &[u8]) -> Vec<Pair> {
    media::fields(text)
        .filter(|field| field.name.start < field.value.end)
        .map(|field| Pair { name: decode(&text[field.name]), value: decode(&text[field.value]) })
        .collect()
}

fn decode(text: &[u8]) -> Vec<u8> {
    if memchr::memchr2(b'+', b'%', text).is_none() {
        return text.to_vec();
    }
    let spaced: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&spaced).collect()
}

fn form(content: &[u8]) -> Vec<Field> {
    let mut pairs = pairs_of_bytes(content);
    pairs.sort_unstable();
    pairs
        .into_iter()
        .map(|Pair { name, value }| {
            let value = Bytes::from(value);
            let value = container(&value).map_or(Value::Bytes(value), Value::Json);
            Field { name, file: None, value }
        })
        .collect()
}

/// A body without a media type that can only be a form: printable, with a `=`.
fn looks_like_form(content: &[u8]) -> bool {
    memchr::memchr(b'=', content).is_some() && content.iter().all(u8::is_ascii_graphic)
}

/// The document, if these bytes are a JSON object or array.
fn container(content: &Bytes) -> Option<Document> {
    let first = content.iter().find(|byte| !byte.is_ascii_whitespace())?;
    if !matches!(first, b'{' | b'[') {
        return None;
    }
    let document = Document::parse(content.clone()).ok()?;
    matches!(document.root().kind(), Kind::Object | Kind::Array).then_some(document)
}

/// The parts of a multipart body, sorted; `None` if it is none.
fn multipart(content: &Bytes, boundary: &[u8]) -> Option<Vec<Field>> {
    let found = media::multipart(content, boundary, LineEnds::Any)?;
    let mut fields: Vec<Field> =
        found.parts.into_iter().map(|part| self::part(&content[part.head], content.slice(part.body))).collect();
    fields.sort_by(|left, right| (&left.name, &left.file, left.text()).cmp(&(&right.name, &right.file, right.text())));
    Some(fields)
}

fn part(head: &[u8], body: Bytes) -> Field {
    let mut field = Field { name: Vec::new(), file: None, value: Value::Bytes(body.clone()) };
    let mut json = false;
    for (name, value) in media::part_fields(head) {
        if name == "content-disposition" {
            field.name = media::parameter(&value, "name").unwrap_or_default();
            field.file = media::parameter(&value, "filename").map(|name| String::from_utf8_lossy(&name).into_owned());
        } else if name == "content-type" {
            json = media::is_json(&media::essence(&value));
        }
    }
    let document = if json { Document::parse(body).ok() } else { container(&body) };
    if let Some(document) = document {
        field.value = Value::Json(document);
    }
    field
}

impl Field {
    /// The value's bytes as they were sent.
    pub(crate) fn text(&self) -> &[u8] {
        match &self.value {
            Value::Bytes(bytes) => bytes,
            Value::Json(document) => document.source(),
        }
    }
}
