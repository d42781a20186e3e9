//! Values that a tag names: `<name>value</name>`, `<input name="…" value="…">`, `<key>…</key><string>…</string>`.

use std::ops::Range;

use super::{
    emit::Emit,
    names::{self, FieldContext},
    steps::looked,
};
use crate::redact::{kind::Kind, label};

expression!(
    ELEMENT,
    concat!(
        r"(?-u)<(?:[A-Za-z0-9_.-]{1,60}:)?([A-Za-z][A-Za-z0-9_.-]{1,60})(?:\s[^<>]*)?>",
        r"\s*(?:<!--[^<>]*-->\s*|<value>\s*)?(?:<!\[CDATA\[([^\]]{1,4096})\]\]>|([^<>]+)<)"
    )
);
expression!(TAG, r"(?-u)<(?:[A-Za-z0-9_.-]{1,60}:)?([A-Za-z][A-Za-z0-9_.-]{0,60})\s([^<>]+)>([^<>]*)");
expression!(ENTRY, r"(?-u)<key>([^<>]{1,200})</key>\s*<[a-z]{1,20}>([^<>]*)</");
expression!(ATTRIBUTE, r#"(?-u)([A-Za-z_:-]{1,60})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))"#);
/// Secrets in the content and the attributes of tags.
pub(super) fn find(text: &[u8], emit: &mut Emit<'_>) {
    if memchr::memchr(b'<', text).is_none() {
        return;
    }
    find_elements(text, emit);
    find_named(text, emit);
}

/// `<name>value</name>`.
fn find_elements(text: &[u8], emit: &mut Emit<'_>) {
    let Some(element) = &*ELEMENT else { return };
    let mut from = 0;
    while let Some(hit) = element.captures_at(text, from) {
        let (Some(name), Some(value)) = (hit.get(1), hit.get(2).or_else(|| hit.get(3))) else { break };
        looked(value.end() - from);
        // What is inside of it may be an element, too.
        from = name.end();
        let name = std::str::from_utf8(name.as_bytes()).unwrap_or_default();
        // `Bearer <token>` in prose, with words up to another such place.
        let is_prose = || {
            let stands_for_token = hit.get(0).is_some_and(|tag| text[..tag.start()].ends_with(b"Bearer "));
            let is_closed = hit.get(2).is_some() || text[value.end()..].starts_with(b"</");
            stands_for_token && !is_closed && value.as_bytes().trim_ascii().iter().any(u8::is_ascii_whitespace)
        };
        if let Some(kind) = names::by_name(name, FieldContext::Text)
            && !value.as_bytes().trim_ascii().is_empty()
            && !is_prose()
            && !label::holds(value.as_bytes())
        {
            emit(value.range(), kind);
        }
    }
}

/// Elements whose attribute `name` names their content; a button's does not.
const NAMED: &[&[u8]] = &[b"property", b"entry", b"string", b"param", b"parameter", b"field", b"item", b"setting"];

/// Values that a tag names: `<input name="id_token" value="…">`, `<add key="password" value="…"/>`,
/// `<property name="password">…</property>`, `<key>password</key><string>…</string>`.
fn find_named(text: &[u8], emit: &mut Emit<'_>) {
    let (Some(tag), Some(attribute), Some(entry)) = (&*TAG, &*ATTRIBUTE, &*ENTRY) else { return };
    let kind_of = |name: &[u8]| {
        let name = std::str::from_utf8(name).ok()?;
        names::by_listed_name(name).or_else(|| names::by_name(name, FieldContext::Parameter))
    };
    let mut found = |range: Range<usize>, kind: Kind| {
        let value = &text[range.clone()];
        if !value.trim_ascii().is_empty() && !label::holds(value) {
            emit(range, kind);
        }
    };
    for hit in tag.captures_iter(text) {
        let (Some(tag), Some(attributes), Some(inside)) = (hit.get(1), hit.get(2), hit.get(3)) else { continue };
        let (mut kind, mut value) = (None, None);
        for hit in attribute.captures_iter(attributes.as_bytes()) {
            let (Some(name), Some(held)) = (hit.get(1), hit.get(2).or_else(|| hit.get(3)).or_else(|| hit.get(4)))
            else {
                continue;
            };
            match name.as_bytes() {
                b"name" | b"key" => kind = kind_of(held.as_bytes()).or(kind),
                b"value" | b"content" => value = Some(held.range()),
                _ => {}
            }
        }
        match (kind, value) {
            (Some(kind), Some(value)) => found(attributes.start() + value.start..attributes.start() + value.end, kind),
            (Some(kind), None) if NAMED.contains(&tag.as_bytes()) => found(inside.range(), kind),
            _ => {}
        }
    }
    for hit in entry.captures_iter(text) {
        let (Some(name), Some(value)) = (hit.get(1), hit.get(2)) else { continue };
        if let Some(kind) = kind_of(name.as_bytes()) {
            found(value.range(), kind);
        }
    }
}
