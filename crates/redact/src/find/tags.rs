//! Values that a tag names: `<name>value</name>`, `<input name="…" value="…">`, `<key>…</key><string>…</string>`.

use std::ops::Range;

use super::{
    header_names,
    named::Emit,
    names::{self, FieldContext},
    steps::looked,
};
use crate::label;

expression!(ELEMENT, r"(?-u)<(?:[A-Za-z0-9_.-]+:)?([A-Za-z][A-Za-z0-9_.-]+)(?:\s[^<>]*)?>");
expression!(TAG, r#"(?-u)<(?:[A-Za-z0-9_.-]+:)?([A-Za-z][A-Za-z0-9_.-]*)\s((?:[^<>"']|"[^"]*"|'[^']*')+|[^<>]+)>"#);
expression!(ENTRY, r"(?i-u)<(?:[a-z0-9_.-]+:)?(?:key|name)(?:\s[^<>]*)?>\s*([^<>]+)</[^<>]+>");
expression!(ATTRIBUTE, r#"(?-u)([A-Za-z_:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))"#);
// What may stand between a name and its value: comments, and the tags of a value.
expression!(
    BETWEEN,
    r"(?i-u)\A\s*(?:(?:<!--[^<>]*-->|<[a-z0-9_.:-]*(?:value|string|data|integer|int|i4)(?:\s[^<>]*)?>)\s*){0,3}"
);

/// Secrets in the content and the attributes of tags.
pub(super) fn find(text: &[u8], emit: &mut Emit<'_>) {
    if memchr::memchr(b'<', text).is_none() {
        return;
    }
    let mut contents = Contents { text, section: 0..0 };
    find_elements(text, &mut contents, emit);
    find_named(text, &mut contents, emit);
}

/// What tags contain.
struct Contents<'t> {
    text: &'t [u8],
    /// From where on the next section ends where it does.
    section: Range<usize>,
}

impl Contents<'_> {
    /// The text behind a tag or in the tags of its value, and whether it is a section (`CDATA`).
    fn after(&mut self, at: usize) -> Option<(Range<usize>, bool)> {
        const CDATA: &[u8] = b"<![CDATA[";
        let text = self.text;
        let start = at + BETWEEN.find(&text[at..])?.end();
        looked(start - at);
        if !text[start..].starts_with(CDATA) {
            let length = memchr::memchr(b'<', &text[start..])?;
            looked(length);
            return Some((start..start + length, false));
        }
        let start = start + CDATA.len();
        if !self.section.contains(&start) {
            self.section = start..memchr::memmem::find(&text[start..], b"]]>").map_or(text.len(), |end| start + end);
            looked(self.section.len());
        }
        Some((start..self.section.end, true))
    }
}

/// `<name>value</name>`.
fn find_elements(text: &[u8], contents: &mut Contents<'_>, emit: &mut Emit<'_>) {
    let mut from = 0;
    while let Some(hit) = ELEMENT.captures_at(text, from) {
        let (Some(tag), Some(name)) = (hit.get(0), hit.get(1)) else { break };
        looked(tag.end() - from);
        // What is inside of it may be an element, too.
        from = name.end();
        let name = std::str::from_utf8(name.as_bytes()).unwrap_or_default();
        let Some(kind) = names::by_name(name, FieldContext::Member) else { continue };
        let Some((range, is_section)) = contents.after(tag.end()) else { continue };
        let value = &text[range.clone()];
        let is_closed = is_section || text[range.end..].starts_with(b"</");
        // In prose, `<` and `>` compare, and `Bearer <token>` stands for one.
        let is_prose = !is_closed
            && (memchr::memchr(b'>', value).is_some()
                || text[..tag.start()].ends_with(b"Bearer ") && value.trim_ascii().iter().any(u8::is_ascii_whitespace));
        if !value.trim_ascii().is_empty() && !is_prose && !label::holds(value) && names::selects(name, kind, value) {
            emit(range, kind);
        }
    }
}

/// Elements whose attribute `name` names their content; a button's does not.
#[rustfmt::skip]
const NAMED: &[&str] = &[
    "attribute", "entry", "field", "item", "param", "parameter", "property", "setting", "string", "textarea",
];

/// Values that a tag names: `<input name="id_token" value="…">`, `<add key="password" value="…"/>`,
/// `<property name="password">…</property>`, `<Attribute Name="password"><AttributeValue>…`,
/// `<key>password</key><string>…</string>`, `<name>password</name><value>…</value>`.
fn find_named(text: &[u8], contents: &mut Contents<'_>, emit: &mut Emit<'_>) {
    let mut found = |name: &[u8], range: Range<usize>| {
        let (name, value) = (std::str::from_utf8(name.trim_ascii()).unwrap_or_default(), &text[range.clone()]);
        let kind = header_names::by_listed_name(name).or_else(|| names::by_name(name, FieldContext::Parameter));
        if let Some(kind) = kind.filter(|kind| names::selects(name, *kind, value))
            && !value.trim_ascii().is_empty()
            && !label::holds(value)
        {
            emit(range, kind);
        }
    };
    for hit in TAG.captures_iter(text) {
        let (Some(all), Some(tag), Some(attributes)) = (hit.get(0), hit.get(1), hit.get(2)) else { continue };
        let (mut names, mut value) = (Vec::new(), None);
        for hit in ATTRIBUTE.captures_iter(attributes.as_bytes()) {
            let held = hit.get(2).or_else(|| hit.get(3)).or_else(|| hit.get(4));
            let (Some(name), Some(held)) = (hit.get(1), held) else { continue };
            match &*name.as_bytes().to_ascii_lowercase() {
                b"name" | b"key" => names.push(held.as_bytes()),
                b"type" if held.as_bytes() == b"password" => names.push(held.as_bytes()),
                b"value" | b"content" => {
                    value = Some(attributes.start() + held.start()..attributes.start() + held.end());
                }
                _ => {}
            }
        }
        let is_named =
            !names.is_empty() && NAMED.iter().any(|named| tag.as_bytes().eq_ignore_ascii_case(named.as_bytes()));
        if value.is_none() && is_named {
            value = contents.after(all.end()).map(|(range, _)| range);
        }
        for name in names {
            if let Some(value) = value.clone() {
                found(name, value);
            }
        }
    }
    for hit in ENTRY.captures_iter(text) {
        let (Some(all), Some(name)) = (hit.get(0), hit.get(1)) else { continue };
        let value = contents.after(all.end()).map(|(range, _)| range);
        // Something is between the two tags.
        if let Some(value) = value.filter(|value| text[all.end()..value.start].contains(&b'<')) {
            found(name.as_bytes(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::steps::{found, holds_linear};

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
            ("<INPUT TYPE=password NAME=x VALUE=hunter2>".to_owned(), "hunter2"),
            ("<textarea name=\"token\">\nhunter2</textarea>".to_owned(), "hunter2"),
            ("<member><name>password</name><value><string>hunter2</string></value></member>".to_owned(), "hunter2"),
            ("<Header><Name>X-Api-Key</Name>\n<Value><![CDATA[hunter2]]></Value></Header>".to_owned(), "hunter2"),
            (
                "<a:Attribute Name=\"password\"><a:AttributeValue x:type=\"s\">hunter2</a:AttributeValue>".to_owned(),
                "hunter2",
            ),
        ] {
            assert!(found(&text, find).contains(&expected), "{text}");
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
            "<name>token</name> ",
            "<param name=token> ",
            "<param name=token><![CDATA[",
        ] {
            holds_linear(piece, |text| find(text, &mut |_, _| {}));
        }
    }
}
