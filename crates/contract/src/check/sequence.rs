//! Sequences: JSON lines, JSON text sequences, server-sent events. Each item is judged by itself.
//!
//! OpenAPI 3.2.0, sections 4.14.3 and 4.14.4: `itemSchema` is applied to each item as it comes.

use std::{borrow::Cow, fmt::Write as _, sync::Arc};

use contrail_exchange::{
    finding::Finding,
    json::{Document, SyntaxError, quote},
    media,
};

use super::{
    body::{LABELLED, Message, Side, TOO_DEEP},
    state::Check,
};
use crate::schema::{Indeterminate, Schema};

/// Bound on the items that are judged.
const MAX_ITEMS: usize = 10_000;

impl Check<'_> {
    /// Judges a sequence; it is no document.
    pub(super) fn sequence(&mut self, message: &Message<'_>, media_type: &str) -> Option<Arc<Document>> {
        let Message { side, body, content, hidden, .. } = message;
        let schema = content.and_then(|content| content.item.as_ref());
        let Ok(text) = std::str::from_utf8(&body.content) else {
            self.find(Finding::new(side.malformed, "", "well-formed UTF-8"));
            return None;
        };
        let schema_is_there = schema.is_some();
        // Redacted places are pointers into one document.
        let Some(schema) = schema.filter(|_| !*hidden && body.redacted.is_empty()) else {
            let why = if schema_is_there { LABELLED } else { "the document shows no schema of its items" };
            self.leave(side.unchecked, "", why);
            return None;
        };
        // Generators write what the JSON of `data` stands for, where 3.2 has a text.
        let types = schema.applicable().member("data").types();
        let reads_data = !types.unknown() && !types.string();
        let mut items = items(text, media_type, reads_data).into_iter();
        for (index, item) in items.by_ref().take(MAX_ITEMS).enumerate() {
            match item {
                Ok(item) => self.item(*side, schema, &item, &format!("/{index}")),
                Err(error) if error.fault.is_limit() => self.leave(side.unchecked, format!("/{index}/data"), TOO_DEEP),
                Err(error) => {
                    let expected = format!("well-formed JSON: {error}");
                    self.find(Finding::new(side.malformed, format!("/{index}/data"), expected));
                }
            }
        }
        if items.next().is_some() {
            let why = format!("only its first {MAX_ITEMS} items are judged");
            self.leave(side.unchecked, "", why);
        }
        None
    }

    fn item(&mut self, side: Side, schema: &Schema, item: &str, at: &str) {
        let (exchange, options) = (self.exchange, self.options);
        let document = match Document::parse(item.as_bytes().to_vec()) {
            Ok(document) if document.depth() <= options.max_depth => document,
            Err(error) if !error.fault.is_limit() => {
                self.find(Finding::new(side.malformed, at, format!("well-formed JSON: {error}")));
                return;
            }
            Ok(_) | Err(_) => {
                self.leave(side.unchecked, at, TOO_DEEP);
                return;
            }
        };
        match schema.judge(&document, &|text| Self::is_tenant_origin(exchange, options, text)) {
            Ok(judged) => self.report(side, judged, &document, &[], at),
            Err(Indeterminate(why)) => self.leave(side.unchecked, at, why),
        }
    }
}

/// The items of a sequence as JSON texts. `reads_data`: that of an event is JSON; otherwise it is a text.
fn items<'t>(text: &'t str, media_type: &str, reads_data: bool) -> Vec<Result<Cow<'t, str>, SyntaxError>> {
    if media_type == media::EVENT_STREAM {
        return events(text).iter().map(|event| object(event, reads_data).map(Cow::Owned)).collect();
    }
    texts(text, media_type).map(|item| Ok(Cow::Borrowed(item))).collect()
}

/// The items of a sequence that is no event stream.
fn texts<'t>(text: &'t str, media_type: &str) -> impl Iterator<Item = &'t str> {
    // RFC 7464: each text begins with a record separator.
    let separator = if media_type.ends_with("json-seq") { '\u{1e}' } else { '\n' };
    text.split(separator).map(str::trim).filter(|item| !item.is_empty())
}

/// The items of a sequence, for a person who reads them: the fields of an event, `data` of all others.
#[must_use]
pub fn sequence_items(text: &str, media_type: &str) -> Vec<Vec<(&'static str, String)>> {
    if media_type == media::EVENT_STREAM {
        return events(text);
    }
    texts(text, media_type).map(|item| vec![("data", item.to_owned())]).collect()
}

/// Events as their fields. `data` is a text, its lines joined; `retry` a number; what is no field of the
/// format is left out (WHATWG HTML, section 9.2.6).
fn events(text: &str) -> Vec<Vec<(&'static str, String)>> {
    let mut events = Vec::new();
    let mut fields: Vec<(&'static str, String)> = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    for line in text.lines().chain([""]) {
        if line.is_empty() {
            if !fields.is_empty() {
                events.push(std::mem::take(&mut fields));
            }
            continue;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        let Some(name) = ["data", "event", "id", "retry"].into_iter().find(|known| *known == name) else { continue };
        match fields.iter_mut().find(|(held, _)| *held == name) {
            Some((_, held)) if name == "data" => {
                held.push('\n');
                held.push_str(value);
            }
            Some((_, held)) => value.clone_into(held),
            None => fields.push((name, value.to_owned())),
        }
    }
    events
}

/// An event as an object.
fn object(fields: &[(&'static str, String)], reads_data: bool) -> Result<String, SyntaxError> {
    let mut out = String::from("{");
    for (name, value) in fields {
        let separator = if out.len() > 1 { "," } else { "" };
        let _ = write!(out, "{separator}\"{name}\":");
        let is_number = *name == "retry" && !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let is_json = reads_data && *name == "data";
        if is_json {
            Document::parse(value.clone())?;
        }
        if is_json || is_number && (value == "0" || !value.starts_with('0')) {
            out.push_str(value);
        } else {
            quote(value, &mut out);
        }
    }
    out.push('}');
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_taken_apart_by_the_grammar_of_their_media_type() {
        for (media_type, text, expected) in [
            ("application/jsonl", "{}\n\n[1]\r\n2", &["{}", "[1]", "2"][..]),
            ("application/json-seq", "\u{1e}{\"a\":\n1}\n\u{1e}2\n", &["{\"a\":\n1}", "2"]),
            (
                "text/event-stream",
                ": hello\n\nevent: add\ndata: {\ndata:}\nid\nretry: 10\nother: x\n\n\ndata: b",
                &[r#"{"event":"add","data":"{\n}","id":"","retry":10}"#, r#"{"data":"b"}"#],
            ),
        ] {
            let items: Vec<_> = items(text, media_type, false).into_iter().map(Result::unwrap).collect();
            assert_eq!(items, expected, "{media_type}");
        }
    }
}
