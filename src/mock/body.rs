//! The body of a response: which media type, and what content.

use bytes::Bytes;
use serde_json::Value;

use super::generate::{Direction, Generator, Style};
use crate::{contract::refs, exchange::media};

/// The documented media type to answer with: one that `accept` names, else JSON, else the first.
pub(super) fn media_type<'r>(response: &'r Value, accept: Option<&str>) -> Option<&'r str> {
    let names: Vec<&str> = response.get("content")?.as_object()?.keys().map(String::as_str).collect();
    let plain = |name: &str| name.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let wanted = accept.into_iter().flat_map(|accept| accept.split(',')).map(plain);
    let accepted = wanted.filter(|wanted| wanted != "*/*").find_map(|wanted| {
        let covers = |name: &&&str| match wanted.strip_suffix("/*") {
            Some(kind) => plain(name).split('/').next() == Some(kind),
            None => plain(name) == wanted,
        };
        names.iter().find(covers).copied()
    });
    accepted.or_else(|| names.iter().find(|name| is_json(name)).copied()).or_else(|| names.first().copied())
}

/// The value of Content-Type for a documented media type, which may be a range.
pub(super) fn sent(media_type: &str) -> &str {
    match media_type {
        "*/*" | "application/*" => "application/json",
        "text/*" => "text/plain",
        other => other,
    }
}

fn is_json(media_type: &str) -> bool {
    let plain = sent(media_type).split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media::is_json(&plain)
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
    match example(document, media).filter(|_| attempt == 0) {
        Some(example) => Some(example.clone()),
        None => match media.get("schema") {
            Some(schema) => Generator::new(document, style, direction).value(schema),
            None => (attempt == 0).then(|| Value::Object(serde_json::Map::new())),
        },
    }
}

/// A value as the content of a media type.
pub(super) fn encode(media_type: &str, value: &Value) -> Bytes {
    if is_json(media_type) { value.to_string().into() } else { text(media_type, value).into() }
}

fn example<'d>(document: &'d Value, media: &'d Value) -> Option<&'d Value> {
    let first = || {
        let example = media.get("examples")?.as_object()?.values().next()?;
        refs::followed(document, example).get("value")
    };
    media.get("example").or_else(first)
}

/// A value in a media type that is no JSON.
fn text(media_type: &str, value: &Value) -> String {
    match media_type.split(';').next().unwrap_or_default().trim() {
        "text/event-stream" => format!("data: {value}\n\n"),
        "application/x-www-form-urlencoded" => {
            let mut form = form_urlencoded::Serializer::new(String::new());
            for (name, value) in value.as_object().into_iter().flatten() {
                form.append_pair(name, &simple(value));
            }
            form.finish()
        }
        "application/x-ndjson" | "application/jsonl" | "application/json-seq" => format!("{value}\n"),
        _ => simple(value),
    }
}

/// A value in the style `simple` (OpenAPI 3.1, section 4.8.12.4).
pub(super) fn simple(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(simple).collect::<Vec<_>>().join(","),
        Value::Object(members) => {
            members.iter().map(|(name, value)| format!("{name},{}", simple(value))).collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}
