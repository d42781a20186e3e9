//! How a body is read: by its media type, and by what its bytes look like. Bytes that another reader may take for
//! something else than their type declares are read as that, too.

use std::sync::Arc;

use contrail_exchange::{
    Body, Headers,
    json::{Document, SyntaxError},
    media,
};
use http::header;

use super::{
    fields::{Field, fields, is_sound},
    hints,
    multipart::{self, MAX_NESTED, Part},
};
use crate::Redactor;

/// A body as its type declares it, and as its bytes look.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) grammar: Grammar,
    pub(super) beside: Vec<Grammar>,
    /// It is not what its type declares.
    pub(crate) malformed: bool,
    /// Its type calls for parsing, it does not parse, and its secrets cannot be located; this is as what it can be read
    /// all the same.
    pub(crate) unparsable: bool,
}

/// What a body is made of.
#[derive(Debug)]
pub(crate) enum Grammar {
    Json(Arc<Document>),
    Form(Vec<Field>),
    Multipart(Vec<Part>),
    Bytes,
    /// JSON but for faults that leave no doubt about its structure.
    Mended(Document),
}

impl Grammar {
    /// Whether nothing in it has a place of its own.
    pub(super) fn is_bytes(&self) -> bool {
        matches!(self, Self::Bytes | Self::Mended(_))
    }
}

/// Longest text that is read as JSON wherever it stands; a longer one is when it is a whole body.
const MAX_JSON_TEXT: usize = 1 << 18;

impl Parsed {
    /// Whether it is a form that looks like something else, so that an `&` or a `=` may cut a secret in two.
    pub(crate) fn is_cut_form(&self) -> bool {
        matches!(self.grammar, Grammar::Form(_)) && !self.beside.is_empty()
    }

    pub(crate) fn grammars(&self) -> impl Iterator<Item = &Grammar> {
        std::iter::once(&self.grammar).chain(&self.beside)
    }
}

impl From<Grammar> for Parsed {
    fn from(grammar: Grammar) -> Self {
        Self { grammar, beside: Vec::new(), malformed: false, unparsable: false }
    }
}

/// Reads a body as its `Content-Type` declares. Without one, what is JSON is JSON.
fn parse(headers: &Headers, body: &Body) -> Parsed {
    let content = &body.content;
    let Some((_, declared)) = headers.iter().find(|(name, _)| *name == header::CONTENT_TYPE) else {
        if is_wide(b"", content) {
            return Parsed { unparsable: true, ..Grammar::Bytes.into() };
        }
        let json = matches!(content.trim_ascii_start().first(), Some(b'{' | b'['));
        let document = json.then(|| body.document().ok()).flatten();
        return document.map_or_else(|| bytes(content, MAX_NESTED), |document| Grammar::Json(document).into());
    };
    if content.trim_ascii().is_empty() {
        return Grammar::Bytes.into();
    }
    let declared = declared.as_bytes();
    if media::means_json(&media::essence(declared)) {
        return body.document().map_or_else(|error| broken_json(content, &error), |held| Grammar::Json(held).into());
    }
    if is_wide(declared, content) {
        return Parsed { unparsable: true, ..Grammar::Bytes.into() };
    }
    let parsed = declared_as(declared, content, MAX_NESTED);
    let has_no_boundary = || media::every_parameter(declared, "boundary").is_some_and(|all| all.is_empty());
    let is_read = match (&parsed.grammar, parsed.beside.as_slice()) {
        (Grammar::Form(_), _) => true,
        (_, [Grammar::Multipart(_)]) => has_no_boundary(),
        // Readers differ on where the parts of a broken multipart body end.
        _ => false,
    };
    if parsed.unparsable && is_read { Parsed { malformed: true, unparsable: false, ..parsed } } else { parsed }
}

/// Reads a body whose type is JSON and whose content is not.
fn broken_json(content: &[u8], error: &SyntaxError) -> Parsed {
    let parsed = bytes(content, MAX_NESTED);
    // Text in a coding of two or four bytes to a character holds zeros.
    if error.fault.is_limit() || memchr::memchr(0, content).is_some() {
        return Parsed { unparsable: true, ..parsed };
    }
    if let Some(document) = Document::mended(content) {
        return Parsed { malformed: true, ..Grammar::Mended(document).into() };
    }
    // Where a value of broken JSON ends is in doubt, unless each line of it is JSON.
    let begins = matches!(content.trim_ascii_start().first(), Some(b'{' | b'[' | b'"'));
    let mut lines = content.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let mut is_lines = || lines.all(|line| Document::parse(line.to_vec()).is_ok());
    let doubt = begins && hints::hints(content).is_some() && !is_lines();
    Parsed { malformed: true, unparsable: doubt || !is_text(content), ..parsed }
}

/// Whether a body is text of two or four bytes to a character, by its byte order mark or its `charset`. Bytes in which
/// there is no zero hold no ASCII in such a coding.
fn is_wide(declared: &[u8], content: &[u8]) -> bool {
    if memchr::memchr(0, content).is_none() {
        return false;
    }
    let units = |unit: fn([u8; 2]) -> u16| content.as_chunks().0.iter().copied().map(unit);
    let is_sound = match content {
        [0xff, 0xfe, ..] => char::decode_utf16(units(u16::from_le_bytes)).all(|unit| unit.is_ok()),
        [0xfe, 0xff, ..] => char::decode_utf16(units(u16::from_be_bytes)).all(|unit| unit.is_ok()),
        _ => content.starts_with(b"\0\0\xfe\xff"),
    };
    let charset = || media::parameter(declared, "charset").unwrap_or_default().to_ascii_lowercase();
    let wide = ["utf-16", "utf16", "utf-32", "utf32", "ucs-2", "ucs-4", "iso-10646-ucs", "unicode"];
    is_sound || wide.iter().any(|name| charset().starts_with(name.as_bytes()))
}

/// Reads a content of this type, which is not JSON.
pub(super) fn declared_as(declared: &[u8], content: &[u8], nested: usize) -> Parsed {
    let essence = media::essence(declared);
    if essence == media::FORM {
        let (fields, beside) = (fields(content), beside_form(content, nested));
        // Lines of names and values instead: where a value ends is in doubt.
        let first = content.split(|byte| matches!(byte, b'=' | b'&')).next().unwrap_or_default();
        if beside.is_empty() && memchr::memmem::find(first, b": ").is_some() && hints::hints(content).is_some() {
            return Parsed { unparsable: true, ..Grammar::Bytes.into() };
        }
        let sound = fields.iter().all(|field| is_sound(field, content));
        let parsed = Parsed { beside, ..Grammar::Form(fields).into() };
        // What is something else need not be a sound form.
        Parsed { unparsable: !sound && !parsed.is_cut_form(), ..parsed }
    } else if essence.starts_with("multipart/") {
        let broken = || Parsed { unparsable: true, ..bytes(content, nested) };
        multipart::parts(declared, content, nested).map_or_else(broken, |parts| Grammar::Multipart(parts).into())
    } else {
        bytes(content, nested)
    }
}

/// What else a form's bytes may be: the commonest mistake is JSON under the type that a client sends by default.
fn beside_form(content: &[u8], nested: usize) -> Vec<Grammar> {
    let text = content.trim_ascii_start();
    match text.first() {
        Some(b'{' | b'[') => {
            let document = Document::parse(content.to_vec()).ok();
            vec![document.map_or(Grammar::Bytes, |document| Grammar::Json(document.into()))]
        }
        Some(b'<' | b'"') => vec![Grammar::Bytes],
        Some(b'-') => multipart::by_itself(content, nested).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Bytes of a type that calls for no parsing, with what they look like.
pub(super) fn bytes(content: &[u8], nested: usize) -> Parsed {
    let text = content.trim_ascii_start();
    let beside = match text.first() {
        // Shorter ones are read as JSON wherever they stand.
        Some(b'{' | b'[') if content.len() > MAX_JSON_TEXT => {
            Document::parse(content.to_vec()).ok().map(|document| Grammar::Json(document.into()))
        }
        Some(b'-') => multipart::by_itself(content, nested),
        _ if looks_like_form(text) => Some(Grammar::Form(fields(content))),
        _ => None,
    };
    Parsed { beside: beside.into_iter().collect(), ..Grammar::Bytes.into() }
}

/// Whether a text begins with a field of a form, and goes on like one.
pub(super) fn looks_like_form(text: &[u8]) -> bool {
    /// Longest first name.
    const MAX_NAME: usize = 200;
    let named = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.[]%+~*$".contains(byte);
    let name = text.iter().take(MAX_NAME).take_while(|byte| named(byte)).count();
    name > 0 && text.get(name) == Some(&b'=') && {
        let text = text.trim_ascii_end();
        memchr::memchr(b'&', text).is_some() || !text.iter().any(u8::is_ascii_whitespace)
    }
}

/// Whether the bytes are text in a coding that keeps ASCII, so that names in it can be found.
fn is_text(content: &[u8]) -> bool {
    content.iter().all(|byte| !matches!(byte, 0..0x20 | 0x7f) || matches!(byte, b'\n' | b'\r' | b'\t' | 0x0c))
}

impl Redactor {
    /// As [`parse`], where this redactor can find every secret that its rules name.
    pub(crate) fn parse_body(&self, headers: &Headers, body: &Body) -> Parsed {
        let mut parsed = parse(headers, body);
        // In text without a structure no pointer leads anywhere.
        parsed.unparsable |= parsed.malformed && parsed.grammar.is_bytes() && !self.plan.pointers().is_empty();
        parsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_known_by_its_beginning_and_prose_is_none() {
        for form in ["a=1", "a[b]=", "client_secret=a b&c=d", " x=y\r\n"] {
            assert!(looks_like_form(form.trim_start().as_bytes()), "{form}");
        }
        for other in ["", "=", "a", "a = b", "token=abc is wrong", "https://x/?a=b", "<a b=\"c\">", "{\"a\":1}"] {
            assert!(!looks_like_form(other.as_bytes()), "{other}");
        }
    }
}
