//! The body of a response: which media type, and what content.

use std::borrow::Cow;

use bytes::Bytes;
use contrail_contract::{examples, refs};
use contrail_exchange::media;
use serde_json::{Map, Value};

use super::{
    generate::{Direction, Generator, Style},
    text::{query_pairs, simple},
};

/// Between the parts of a multipart body.
const BOUNDARY: &str = "contrail-sandbox";

/// The documented media type to answer with: one that `accept` names, else JSON, else the first.
pub(super) fn media_type<'r>(response: &'r Value, accept: Option<&str>) -> Option<&'r str> {
    let names: Vec<&str> = response.get("content")?.as_object()?.keys().map(String::as_str).collect();
    let wanted = accept.into_iter().flat_map(|accept| media::list(accept.as_bytes())).map(media::essence);
    let accepted = wanted.filter(|wanted| wanted != "*/*").find_map(|wanted| {
        let covers = |name: &&&str| match wanted.strip_suffix("/*") {
            Some(kind) => media::essence(name.as_bytes()).split('/').next() == Some(kind),
            None => media::essence(name.as_bytes()) == wanted,
        };
        names.iter().find(covers).copied()
    });
    accepted.or_else(|| names.iter().find(|name| is_json(name)).copied()).or_else(|| names.first().copied())
}

/// The value of Content-Type for a documented media type, which may be a range.
pub(super) fn sent(media_type: &str) -> Cow<'_, str> {
    match media_type {
        "*/*" | "application/*" => "application/json".into(),
        "text/*" => "text/plain".into(),
        media::MULTIPART_FORM => format!("{media_type}; boundary={BOUNDARY}").into(),
        other => other.into(),
    }
}

fn is_json(media_type: &str) -> bool {
    media::is_json(&media::essence(sent(media_type).as_bytes()))
}

/// A value for the content of a message; `None` where this attempt gives none.
pub(super) fn value(
    document: &Value,
    message: &Value,
    media_type: &str,
    style: Style,
    direction: Direction,
    attempt: usize,
) -> Option<Value> {
    let media = message.get("content")?.get(media_type)?;
    match (nth_example(document, media, media_type, attempt), media.get("schema")) {
        (Some(example), _) => Some(example),
        (None, Some(schema)) => Generator::new(document, style, direction).value(schema),
        (None, None) => (attempt == 0).then(|| Value::Object(Map::new())),
    }
}

/// A value as the content of a message.
pub(super) fn encode(message: &Value, media_type: &str, value: &Value) -> Bytes {
    if is_json(media_type) {
        return value.to_string().into();
    }
    match &*media::essence(media_type.as_bytes()) {
        "text/event-stream" => format!("data: {value}\n\n").into(),
        media::FORM => {
            let media = message.get("content").and_then(|content| content.get(media_type));
            form(value, media.and_then(|media| media.get("encoding"))).into()
        }
        media::MULTIPART_FORM => multipart(value).into(),
        "application/x-ndjson" | "application/jsonl" | "application/json-seq" => format!("{value}\n").into(),
        _ => simple(value).into(),
    }
}

/// The examples in their order, one for each of the first attempts.
fn nth_example(document: &Value, media: &Value, media_type: &str, attempt: usize) -> Option<Value> {
    let value = |example: &Value| {
        let example = refs::followed(document, example);
        let serialized = || example.get("serializedValue")?.as_str().filter(|_| is_json(media_type));
        examples::value(example).cloned().or_else(|| serde_json::from_str(serialized()?).ok())
    };
    let named = media.get("examples").and_then(Value::as_object).into_iter().flat_map(Map::values);
    media.get("example").cloned().into_iter().chain(named.filter_map(value)).nth(attempt)
}

/// An object as a form: a field is a parameter of a query, and an object without an encoding is JSON text (OpenAPI
/// 3.1.1, Encoding Object).
fn form(value: &Value, encodings: Option<&Value>) -> String {
    let as_json = |value: &Value| if value.is_object() { Value::String(value.to_string()) } else { value.clone() };
    let mut pairs = Vec::new();
    for (name, member) in value.as_object().into_iter().flatten() {
        let encoding = encodings.and_then(|encodings| encodings.get(name)).filter(|held| held.get("style").is_some());
        let written = match (encoding, member) {
            (Some(_), _) => member.clone(),
            (None, Value::Array(items)) => items.iter().map(as_json).collect(),
            (None, member) => as_json(member),
        };
        pairs.extend(query_pairs(name, encoding.unwrap_or(&Value::Null), &written));
    }
    pairs.join("&")
}

/// An object as `multipart/form-data` (RFC 7578): a part for each member, and for each item of a list.
fn multipart(value: &Value) -> String {
    let mut parts = Vec::new();
    for (name, member) in value.as_object().into_iter().flatten() {
        let one = std::slice::from_ref(member);
        for item in member.as_array().map_or(one, Vec::as_slice) {
            let name = name.replace('"', "%22");
            let (kind, content) = match item {
                Value::Object(_) | Value::Array(_) => ("Content-Type: application/json\r\n", item.to_string()),
                scalar => ("", simple(scalar)),
            };
            let head = format!("Content-Disposition: form-data; name=\"{name}\"\r\n{kind}");
            parts.push(format!("--{BOUNDARY}\r\n{head}\r\n{content}\r\n"));
        }
    }
    parts.push(format!("--{BOUNDARY}--\r\n"));
    parts.concat()
}
