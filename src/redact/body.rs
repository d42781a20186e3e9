//! Bodies by their media type: JSON, forms, multipart; anything else as text or bytes.

use std::{ops::Range, sync::Arc};

use http::header;

use super::{
    Redactor,
    detect::DEPTH,
    index::Index,
    kind::{self, Kind, Place},
    label,
    marks::Mark,
    spread::{self, Reading},
    view::View,
    walk::{Token, Walk},
};
use crate::{
    exchange::{Body, Headers},
    json::{Document, Kind as JsonKind, Node, push_pointer},
};

/// What a body is made of.
#[derive(Debug)]
pub(super) enum Parsed {
    Json(Arc<Document>),
    Form(Vec<Field>),
    Multipart(Vec<Part>),
    Bytes,
}

/// A field of a form or a query: where its name and its value stand, percent-encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
}

/// A part of a multipart body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    name: String,
    head: Range<usize>,
    body: Range<usize>,
}

/// The body's type calls for parsing, and it does not parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unparsable;

/// Reads a body as its `Content-Type` says. Without one, what is JSON is JSON.
pub(super) fn parse(headers: &Headers, body: &Body) -> Result<Parsed, Unparsable> {
    let content = &body.content;
    let Some((_, declared)) = headers.iter().find(|(name, _)| *name == header::CONTENT_TYPE) else {
        let json = matches!(content.trim_ascii_start().first(), Some(b'{' | b'['));
        let document = json.then(|| body.document().ok()).flatten();
        return Ok(document.map_or(Parsed::Bytes, Parsed::Json));
    };
    if content.trim_ascii().is_empty() {
        return Ok(Parsed::Bytes);
    }
    let declared = declared.as_bytes();
    let media = declared.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if media.eq_ignore_ascii_case(b"application/json") {
        return body.document().map(Parsed::Json).map_err(|_| Unparsable);
    }
    let media = String::from_utf8_lossy(media).trim().to_ascii_lowercase();
    if media == "application/json" || media == "text/json" || media.ends_with("+json") {
        body.document().map(Parsed::Json).map_err(|_| Unparsable)
    } else if media == "application/x-www-form-urlencoded" {
        fields(content)
            .filter(|fields| fields.iter().all(|field| field.is_sound(content)))
            .map(Parsed::Form)
            .ok_or(Unparsable)
    } else if media.starts_with("multipart/") {
        let boundary = parameter(&String::from_utf8_lossy(declared), "boundary").ok_or(Unparsable)?;
        parts(content, &boundary).map(Parsed::Multipart).ok_or(Unparsable)
    } else {
        Ok(Parsed::Bytes)
    }
}

/// The fields of a form or a query; `None` for more text than is looked at.
pub(super) fn fields(text: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    let mut start = 0;
    for piece in text.split(|byte| *byte == b'&') {
        let end = start + piece.len();
        let equals = memchr::memchr(b'=', piece).map(|at| start + at);
        fields.push(Field { name: start..equals.unwrap_or(end), value: equals.map_or(end, |at| at + 1)..end });
        start = end + 1;
    }
    u32::try_from(text.len()).is_ok().then_some(fields)
}

impl Field {
    /// Whether name and value are percent-encoded UTF-8.
    fn is_sound(&self, text: &[u8]) -> bool {
        [&self.name, &self.value].into_iter().all(|range| {
            let raw = &text[range.clone()];
            let broken = raw.iter().enumerate().any(|(at, byte)| {
                *byte == b'%' && !raw.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            });
            !broken && std::str::from_utf8(&decoded(raw)).is_ok()
        })
    }

    pub(super) fn name(&self, text: &[u8]) -> String {
        String::from_utf8_lossy(&decoded(&text[self.name.clone()])).into_owned()
    }
}

fn decoded(raw: &[u8]) -> Vec<u8> {
    View::percent(raw, true).map_or_else(|| raw.to_vec(), |view| view.text)
}

/// The part of a bracketed or dotted field name that tells: `user[password]`.
fn last_name(name: &str) -> &str {
    name.rsplit(['[', '.']).map(|part| part.trim_end_matches(']')).find(|part| !part.is_empty()).unwrap_or(name)
}

/// Whether the name of a form's only field, in which nothing is coded, says nothing of its value.
pub(super) fn is_plain_field(field: &[u8]) -> bool {
    let name = field.split(|byte| *byte == b'=').next().unwrap_or_default();
    std::str::from_utf8(name).is_ok_and(|name| {
        let last = last_name(name);
        kind::by_name(last, Place::Parameter).is_none() && kind::personal(last).is_none()
    })
}

/// A parameter of a header field's value, unquoted.
fn parameter(value: &str, name: &str) -> Option<String> {
    value.split(';').skip(1).find_map(|piece| {
        let (held, text) = piece.split_once('=')?;
        held.trim().eq_ignore_ascii_case(name).then(|| text.trim().trim_matches('"').to_owned())
    })
}

/// The parts of a multipart body (RFC 2046, section 5.1); `None` if it is none.
fn parts(content: &[u8], boundary: &str) -> Option<Vec<Part>> {
    if boundary.is_empty() || boundary.len() > 70 {
        return None;
    }
    let delimiter = format!("--{boundary}");
    let delimiter = delimiter.as_bytes();
    let find = |from: usize| -> Option<usize> {
        let mut from = from;
        loop {
            let at = from + memchr::memmem::find(content.get(from..)?, delimiter)?;
            if at == 0 || content[..at].ends_with(b"\r\n") {
                return Some(at);
            }
            from = at + 1;
        }
    };
    let mut parts = Vec::new();
    let mut at = find(0)?;
    loop {
        let after = at + delimiter.len();
        let rest = content.get(after..)?;
        if rest.starts_with(b"--") {
            return Some(parts);
        }
        let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if !rest[blank..].starts_with(b"\r\n") {
            return None;
        }
        let start = after + blank + 2;
        let next = find(start)?;
        let inner = content.get(start..next - 2)?;
        let (head, body) = if inner.starts_with(b"\r\n") {
            (start..start, start + 2..next - 2)
        } else {
            let gap = memchr::memmem::find(inner, b"\r\n\r\n")?;
            (start..start + gap, start + gap + 4..next - 2)
        };
        let text = String::from_utf8_lossy(&content[head.clone()]);
        let disposition = text.split("\r\n").find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
        });
        let name = disposition.and_then(|value| parameter(value, "name")).unwrap_or_default();
        parts.push(Part { name, head, body });
        at = next;
    }
}

impl Redactor {
    /// Recognises the secrets of a body.
    pub(super) fn detect_body(&self, parsed: &Parsed, body: &Body, out: &mut Vec<Mark>) {
        let content = &body.content;
        match parsed {
            Parsed::Json(document) => self.detect_json(document, &body.redacted, DEPTH, out),
            Parsed::Form(fields) => self.detect_fields(content, fields, true, out),
            Parsed::Multipart(parts) => {
                for part in parts {
                    let place = field_place(&part.name);
                    let before = out.len();
                    self.detect_part(content, part, &place, out);
                    for mark in &mut out[before..] {
                        mark.place = Some(place.clone());
                    }
                }
            }
            Parsed::Bytes => {
                self.detect_text(content, DEPTH, out);
                in_whole(out);
            }
        }
    }

    fn detect_part(&self, content: &[u8], part: &Part, place: &str, out: &mut Vec<Mark>) {
        let value = &content[part.body.clone()];
        let kind = kind::by_name(last_name(&part.name), Place::Parameter)
            .or_else(|| self.plan.names_place(place).then_some(Kind::Custom));
        if let Some(kind) = kind {
            self.detect_text(value, 1, &mut Vec::new());
            out.extend(self.learn(value, kind).map(|id| Mark::value(part.body.clone(), id)));
        }
        for range in [&part.head, &part.body] {
            let mut marks = Vec::new();
            self.detect_text(&content[range.clone()], DEPTH, &mut marks);
            out.extend(
                marks.into_iter().map(|mark| mark.moved(|inner| range.start + inner.start..range.start + inner.end)),
            );
        }
    }

    /// Recognises the secrets of a form or a query.
    pub(super) fn detect_fields(&self, text: &[u8], fields: &[Field], form: bool, out: &mut Vec<Mark>) {
        for field in fields {
            let name = field.name(text);
            let raw = &text[field.value.clone()];
            let view = View::percent(raw, true);
            let value = view.as_ref().map_or(raw, |view| &view.text);
            let place = field_place(&name);
            let before = out.len();
            let last = last_name(&name);
            let kind = kind::by_name(last, Place::Parameter)
                .filter(|_| !last.eq_ignore_ascii_case("key") || kind::is_opaque(value))
                .or_else(|| (form && self.plan.names_place(&place)).then_some(Kind::Custom));
            if let Some(kind) = kind {
                self.reserve_labels(value);
                self.detect_text(value, 1, &mut Vec::new());
                out.extend(self.learn(value, kind).map(|id| Mark::value(field.value.clone(), id)));
            } else {
                let person = kind::personal(last).filter(|_| !value.is_empty());
                if let Some(kind) = person {
                    self.person(value, kind, field.value.clone(), out);
                }
                let mut marks = Vec::new();
                self.detect_text(value, DEPTH - 1, &mut marks);
                out.extend(marks.into_iter().map(|mark| {
                    let whole = mark.range == (0..value.len());
                    let moved = mark.moved(|range| match &view {
                        Some(view) => view.source(range),
                        None => range.clone(),
                    });
                    Mark {
                        whole,
                        ..moved.moved(|range| field.value.start + range.start..field.value.start + range.end)
                    }
                }));
            }
            for mark in &mut out[before..] {
                mark.place = Some(place.clone());
                // A number inside JSON inside a form keeps its type there; the field itself is text.
            }
            let mut names = Vec::new();
            self.detect_text(&text[field.name.clone()], 1, &mut names);
            out.extend(
                names
                    .into_iter()
                    .map(|mark| mark.moved(|range| field.name.start + range.start..field.name.start + range.end)),
            );
        }
    }

    /// Known secrets in a body.
    pub(super) fn spread_body(&self, index: &Index, parsed: &Parsed, body: &Body, out: &mut Vec<Mark>) {
        let content = &body.content;
        match parsed {
            Parsed::Json(document) => self.spread_json(index, document, out),
            Parsed::Form(fields) => spread_fields(index, content, fields, out),
            Parsed::Multipart(parts) => {
                for part in parts {
                    for range in [&part.head, &part.body] {
                        let mut marks = Vec::new();
                        spread::find(index, &content[range.clone()], Reading::default(), &mut marks);
                        out.extend(marks.into_iter().map(|mark| Mark {
                            place: Some(field_place(&part.name)),
                            ..mark.moved(|inner| range.start + inner.start..range.start + inner.end)
                        }));
                    }
                }
            }
            Parsed::Bytes => {
                spread::find(index, content, Reading::default(), out);
                in_whole(out);
            }
        }
    }
}

/// Places whose labels an earlier redaction put there (`contrail redact` on another tool's file): they are redacted too.
pub(super) fn labelled(parsed: &Parsed, content: &[u8], places: &mut Vec<String>) {
    if !label::holds(content) {
        return;
    }
    match parsed {
        Parsed::Json(document) => {
            let mut walk: Walk<'_, ()> = Walk::new();
            labelled_value(&mut walk, &Token::Root, document.root(), places);
            while let Some((node, ())) = walk.next() {
                for (name, value) in node.members() {
                    labelled_value(&mut walk, &Token::Name(name), value, places);
                }
                for (at, item) in node.items().enumerate() {
                    labelled_value(&mut walk, &Token::Index(at), item, places);
                }
            }
        }
        Parsed::Form(fields) => {
            let held = fields.iter().filter(|field| label::holds(&content[field.value.clone()]));
            places.extend(held.map(|field| field_place(&field.name(content))));
        }
        Parsed::Multipart(parts) => {
            let held = parts.iter().filter(|part| label::holds(&content[part.body.clone()]));
            places.extend(held.map(|part| field_place(&part.name)));
        }
        Parsed::Bytes => places.push(String::new()),
    }
}

fn labelled_value<'d>(walk: &mut Walk<'d, ()>, token: &Token<'d>, node: Node<'d>, places: &mut Vec<String>) {
    match node.kind() {
        JsonKind::Array | JsonKind::Object => walk.open(token.clone(), node, ()),
        JsonKind::String if label::holds(node.raw().as_bytes()) => places.push(walk.pointer(token)),
        _ => {}
    }
}

/// Known secrets in the names and values of a form or a query.
pub(super) fn spread_fields(index: &Index, text: &[u8], fields: &[Field], out: &mut Vec<Mark>) {
    if index.is_empty() {
        return;
    }
    for field in fields {
        for range in [&field.name, &field.value] {
            let mut marks = Vec::new();
            spread::find(index, &text[range.clone()], Reading { plus: true, ..Reading::default() }, &mut marks);
            out.extend(marks.into_iter().map(|mark| Mark {
                whole: mark.range == (0..range.len()),
                place: Some(field_place(&field.name(text))),
                ..mark.moved(|inner| range.start + inner.start..range.start + inner.end)
            }));
        }
    }
}

fn field_place(name: &str) -> String {
    let mut place = String::new();
    push_pointer(&mut place, name);
    place
}

/// A body without fields has one place: all of it.
fn in_whole(marks: &mut [Mark]) {
    for mark in marks {
        mark.place = Some(String::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_multipart_body_are_found_and_a_broken_one_is_refused() {
        let whole = b"--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--\r\n";
        let found = parts(whole, "b").unwrap();
        assert_eq!(
            found.iter().map(|part| (&*part.name, &whole[part.body.clone()])).collect::<Vec<_>>(),
            [("a", &b"one"[..]), ("", &b"two"[..])]
        );
        for broken in [&whole[..whole.len() - 8], b"--b\r\nno end", b"--bx\r\n\r\n--b--", b"", b"--b"] {
            assert_eq!(parts(broken, "b"), None, "{}", String::from_utf8_lossy(broken));
        }
    }

    #[test]
    fn a_broken_form_is_told_from_a_sound_one() {
        let sound = |text: &[u8]| fields(text).unwrap().iter().all(|field| field.is_sound(text));
        assert!(sound(b"a=1&b&=&c=%C3%A9+x&a=2"));
        assert!(!sound(b"a=%zz") && !sound(b"a=%1") && !sound(b"%ff=1"));
    }

    #[test]
    fn a_bracketed_name_tells_by_its_last_part() {
        assert_eq!(last_name("user[password]"), "password");
        assert_eq!(last_name("user[tokens][]"), "tokens");
        assert_eq!(last_name("plain"), "plain");
    }
}
