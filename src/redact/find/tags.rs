//! Values that a tag names: `<name>value</name>`, `<input name="…" value="…">`, `<key>…</key><string>…</string>`.

use std::ops::Range;

use super::{
    emit::Emit,
    header_names,
    names::{self, FieldContext},
    steps::looked,
};
use crate::redact::{kind::Kind, label};

expression!(
    ELEMENT,
    concat!(
        r"(?-u)<(?:[A-Za-z0-9_.-]+:)?([A-Za-z][A-Za-z0-9_.-]+)(?:\s[^<>]*)?>",
        r"\s*(?:<!--[^<>]*-->\s*|<value>\s*)?"
    )
);
expression!(
    TAG,
    r#"(?-u)<(?:[A-Za-z0-9_.-]+:)?([A-Za-z][A-Za-z0-9_.-]*)\s((?:[^<>"']|"[^"]*"|'[^']*')+|[^<>]+)>([^<>]*)"#
);
expression!(ENTRY, r"(?-u)<key>([^<>]+)</key>\s*<[a-z]+>([^<>]*)</");
expression!(ATTRIBUTE, r#"(?-u)([A-Za-z_:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))"#);

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
    const CDATA: &[u8] = b"<![CDATA[";
    let Some(element) = &*ELEMENT else { return };
    let mut from = 0;
    // Where the next section ends, whose beginning is before that.
    let mut section_end = 0;
    while let Some(hit) = element.captures_at(text, from) {
        let (Some(tag), Some(name)) = (hit.get(0), hit.get(1)) else { break };
        looked(tag.end() - from);
        // What is inside of it may be an element, too.
        from = name.end();
        let name = std::str::from_utf8(name.as_bytes()).unwrap_or_default();
        let Some(kind) = names::by_name(name, FieldContext::Text) else { continue };
        let start = tag.end();
        let section = text[start..].strip_prefix(CDATA).map(|_| start + CDATA.len());
        let range = if let Some(start) = section {
            if section_end < start {
                let end = memchr::memmem::find(&text[start..], b"]]>").map_or(text.len(), |end| start + end);
                looked(end - start);
                section_end = end;
            }
            start..section_end
        } else {
            let Some(length) = memchr::memchr(b'<', &text[start..]) else { continue };
            looked(length);
            start..start + length
        };
        let value = &text[range.clone()];
        let is_closed = section.is_some() || text[range.end..].starts_with(b"</");
        // In prose, `<` and `>` compare, and `Bearer <token>` stands for one.
        let is_prose = !is_closed
            && (memchr::memchr(b'>', value).is_some()
                || text[..tag.start()].ends_with(b"Bearer ") && value.trim_ascii().iter().any(u8::is_ascii_whitespace));
        if !value.trim_ascii().is_empty() && !is_prose && !label::holds(value) {
            emit(range, kind);
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
        header_names::by_listed_name(name).or_else(|| names::by_name(name, FieldContext::Parameter))
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

#[cfg(test)]
mod tests {
    use super::{super::steps::holds_linear, *};

    #[test]
    fn the_content_of_an_element_is_a_secret_whatever_its_length_and_what_is_in_it() {
        let long = "Xk9mT2vL]q B7nR4wZ8 ".repeat(1000);
        for (text, expected) in [
            (format!("<clientSecret><![CDATA[{long}]]></clientSecret>"), &*long),
            (format!("<a><clientSecret id=\"x\">{long}</clientSecret></a>"), &long),
            ("<pin><![CDATA[a</pin>b]]></pin>".to_owned(), "a</pin>b"),
            ("<password>Xk9>mT2</password>".to_owned(), "Xk9>mT2"),
            ("<input name=\"password\" value=\"Xk9>m<T2\">".to_owned(), "Xk9>m<T2"),
            ("<input name='password' value='Xk9>m<T2'>".to_owned(), "Xk9>m<T2"),
        ] {
            assert!(super::super::emit::found(&text, find).contains(&expected), "{text}");
        }
    }

    #[test]
    fn sections_that_nothing_closes_are_read_in_time_that_grows_with_them_and_no_faster() {
        for piece in [
            "<token><![CDATA[",
            "<token><![CDATA[<pin>x</pin>",
            "<token>a>",
            "<a b=\"",
            "<a b='<a b=\"",
            "<a b='<token c>",
        ] {
            holds_linear(piece, |text| find(text, &mut |_, _| {}));
        }
    }
}
