//! Bodies by their media type: JSON, forms, multipart; anything else as text or bytes. Bytes that another reader may take
//! for something else than their type says are read as that, too.

use std::{ops::Range, sync::Arc};

use http::header;

use super::{
    detect::DEPTH,
    kind::{self, Kind, Place},
    nearly,
    walk::{Token, Walk},
};
use crate::redact::{
    Redactor,
    apply::{label, spans::Mark},
    known::{
        index::Index,
        search::{self, Reading},
        view::View,
    },
};
use crate::{
    exchange::{
        Body, Headers,
        media::{self, Field, LineEnds},
    },
    json::{Document, Kind as JsonKind, Node, push_pointer},
};

/// A body as its type says it is to be read, and as its bytes look like.
#[derive(Debug)]
pub(in crate::redact) struct Parsed {
    grammar: Grammar,
    beside: Vec<Grammar>,
    /// It is not what its type says.
    malformed: bool,
}

/// What a body is made of.
#[derive(Debug)]
enum Grammar {
    Json(Arc<Document>),
    Form(Vec<Field>),
    Multipart(Vec<Part>),
    /// Lines of `name: value`.
    Lines,
    Bytes,
    /// JSON but for faults that leave no doubt about its structure.
    Mended(Document),
    /// Text that is not what its type says.
    Nearly,
}

/// A part of a multipart body, or of one inside it; what stands outside its parts is a part without a name.
#[derive(Debug)]
struct Part {
    /// The name that the standard's reader sees.
    name: String,
    /// Those that others see.
    others: Vec<String>,
    head: Range<usize>,
    body: Range<usize>,
    inside: Parsed,
}

/// The body's type calls for parsing, it does not parse, and nobody can say where its secrets are; as what it can be read
/// all the same.
#[derive(Debug)]
pub(in crate::redact) struct Unparsable(pub(in crate::redact) Parsed);

/// No multipart body, or too many in one.
#[derive(Debug)]
struct NoMultipart;

/// Multipart bodies one inside the other.
const MAX_NESTED: usize = 3;

/// Boundaries that a `Content-Type` may be read to name.
const MAX_BOUNDARIES: usize = 4;

/// Longest text that is read as JSON wherever it stands; a longer one is when it is a whole body.
const SHORT: usize = 1 << 18;

impl Parsed {
    pub(in crate::redact) fn is_json(&self) -> bool {
        matches!(self.grammar, Grammar::Json(_))
    }

    /// Whether it is not what its type says.
    pub(in crate::redact) fn is_malformed(&self) -> bool {
        self.malformed
    }

    /// Whether names of fields tell what is secret, so that a look for words does not.
    pub(in crate::redact) fn is_by_field(&self) -> bool {
        matches!(self.grammar, Grammar::Form(_) | Grammar::Multipart(_) | Grammar::Nearly) || !self.beside.is_empty()
    }

    /// The fields of a form that looks like something else, so that an `&` or a `=` may cut a secret in two.
    pub(in crate::redact) fn cut_form(&self) -> Option<&[Field]> {
        match &self.grammar {
            Grammar::Form(fields) if !self.beside.is_empty() => Some(fields),
            _ => None,
        }
    }

    fn grammars(&self) -> impl Iterator<Item = &Grammar> {
        std::iter::once(&self.grammar).chain(&self.beside)
    }
}

impl From<Grammar> for Parsed {
    fn from(grammar: Grammar) -> Self {
        Self { grammar, beside: Vec::new(), malformed: false }
    }
}

/// Reads a body as its `Content-Type` says. Without one, what is JSON is JSON.
fn parse(headers: &Headers, body: &Body) -> Result<Parsed, Unparsable> {
    let content = &body.content;
    let Some((_, declared)) = headers.iter().find(|(name, _)| *name == header::CONTENT_TYPE) else {
        let json = matches!(content.trim_ascii_start().first(), Some(b'{' | b'['));
        let document = json.then(|| body.document().ok()).flatten();
        return Ok(document.map_or_else(|| bytes(content, MAX_NESTED), |document| Grammar::Json(document).into()));
    };
    if content.trim_ascii().is_empty() {
        return Ok(Grammar::Bytes.into());
    }
    let declared = declared.as_bytes();
    if media::means_json(&media::essence(declared)) {
        return body.document().map(|document| Grammar::Json(document).into()).or_else(|error| {
            let parsed = bytes(content, MAX_NESTED);
            // Text in a coding of two or four bytes to a character holds zeros.
            if error.fault.is_limit() || memchr::memchr(0, content).is_some() {
                return Err(Unparsable(parsed));
            }
            match Document::mended(content) {
                Some(document) => Ok(Parsed { malformed: true, ..Grammar::Mended(document).into() }),
                None => nearly(content, parsed),
            }
        });
    }
    declared_as(declared, content, MAX_NESTED).or_else(|Unparsable(parsed)| match parsed.grammar {
        Grammar::Form(_) => Ok(Parsed { malformed: true, ..parsed }),
        _ if has_doubtful_parts(declared, content) => Err(Unparsable(parsed)),
        _ => nearly(content, parsed),
    })
}

/// Whether readers of a malformed multipart body may differ on where its parts end: it names several boundaries or none, it
/// may hold another one, or a delimiter stands elsewhere than on a line of its own that ends with CRLF.
fn has_doubtful_parts(declared: &[u8], content: &[u8]) -> bool {
    let mut boundaries = media::every_parameter(declared, "boundary");
    if boundaries.is_empty() {
        let first = content.strip_prefix(b"--").and_then(|rest| rest.split(|byte| *byte == b'\r').next());
        boundaries.extend(first.map(<[u8]>::to_vec));
    }
    let [boundary] = boundaries.as_slice() else { return true };
    let delimiter = [b"--", boundary.as_slice()].concat();
    let is_plain = |at: usize| {
        let (before, after) = (&content[..at], &content[at + delimiter.len()..]);
        (before.is_empty() || before.ends_with(b"\r\n"))
            && (after.is_empty() || after.starts_with(b"\r\n") || after.starts_with(b"--"))
    };
    boundary.is_empty()
        || !memchr::memmem::find_iter(content, &delimiter).all(is_plain)
        || memchr::memmem::find(&content.to_ascii_lowercase(), b"multipart/").is_some()
}

/// Reads as text what is not what its type says.
fn nearly(content: &[u8], parsed: Parsed) -> Result<Parsed, Unparsable> {
    if !nearly::is_text(content) {
        return Err(Unparsable(parsed));
    }
    Ok(Parsed { grammar: Grammar::Nearly, malformed: true, ..parsed })
}

/// Reads a content of this type, which is not JSON.
fn declared_as(declared: &[u8], content: &[u8], nested: usize) -> Result<Parsed, Unparsable> {
    let essence = media::essence(declared);
    if essence == media::FORM {
        let Some(fields) = fields(content) else { return Err(Unparsable(Grammar::Bytes.into())) };
        let sound = fields.iter().all(|field| is_sound(field, content));
        let parsed = Parsed { grammar: Grammar::Form(fields), beside: beside_form(content, nested), malformed: false };
        // What is something else need not be a sound form.
        if sound || parsed.cut_form().is_some() { Ok(parsed) } else { Err(Unparsable(parsed)) }
    } else if essence.starts_with("multipart/") {
        let parts = parts(declared, content, nested).map(|parts| Grammar::Multipart(parts).into());
        parts.map_err(|NoMultipart| Unparsable(bytes(content, nested)))
    } else {
        Ok(bytes(content, nested))
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
        Some(b'-') => multipart_by_itself(content, nested).into_iter().collect(),
        _ => {
            let name = text.iter().take_while(|byte| !matches!(byte, b'=' | b'&'));
            if name.into_iter().any(|byte| *byte == b':') { vec![Grammar::Lines] } else { Vec::new() }
        }
    }
}

/// Bytes of a type that calls for no parsing, with what they look like.
fn bytes(content: &[u8], nested: usize) -> Parsed {
    let text = content.trim_ascii_start();
    let beside = match text.first() {
        // Shorter ones are read as JSON wherever they stand.
        Some(b'{' | b'[') if content.len() > SHORT => {
            Document::parse(content.to_vec()).ok().map(|document| Grammar::Json(document.into()))
        }
        Some(b'-') => multipart_by_itself(content, nested),
        _ if looks_like_form(text) => fields(content).map(Grammar::Form),
        _ => None,
    };
    Parsed { grammar: Grammar::Bytes, beside: beside.into_iter().collect(), malformed: false }
}

/// Whether a text begins with a field of a form, and goes on like one.
fn looks_like_form(text: &[u8]) -> bool {
    /// Longest first name.
    const MAX_NAME: usize = 200;
    let named = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.[]%+~*$".contains(byte);
    let name = text.iter().take(MAX_NAME).take_while(|byte| named(byte)).count();
    name > 0 && text.get(name) == Some(&b'=') && {
        let text = text.trim_ascii_end();
        memchr::memchr(b'&', text).is_some() || !text.iter().any(u8::is_ascii_whitespace)
    }
}

/// A multipart body whose first line is its delimiter.
fn multipart_by_itself(content: &[u8], nested: usize) -> Option<Grammar> {
    let text = content.trim_ascii_start().strip_prefix(b"--")?;
    let boundary = text[..memchr::memchr(b'\n', text)?].trim_ascii_end();
    let start = content.len() - content.trim_ascii_start().len();
    let parts = read_parts(&content[start..], &[boundary.to_vec()], nested).ok()?;
    let moved = |range: Range<usize>| start + range.start..start + range.end;
    Some(Grammar::Multipart(
        parts.into_iter().map(|part| Part { head: moved(part.head), body: moved(part.body), ..part }).collect(),
    ))
}

/// The parts of a multipart body, by every boundary and every line end that a reader may go by.
fn parts(declared: &[u8], content: &[u8], nested: usize) -> Result<Vec<Part>, NoMultipart> {
    let mut boundaries = media::every_parameter(declared, "boundary");
    boundaries.retain(|boundary| memchr::memmem::find(content, boundary).is_some());
    if boundaries.len() > MAX_BOUNDARIES {
        return Err(NoMultipart);
    }
    read_parts(content, &boundaries, nested)
}

fn read_parts(content: &[u8], boundaries: &[Vec<u8>], nested: usize) -> Result<Vec<Part>, NoMultipart> {
    let nested = nested.checked_sub(1).ok_or(NoMultipart)?;
    let mut parts: Vec<Part> = Vec::new();
    let mut is_read = false;
    for boundary in boundaries {
        let as_written = media::multipart(content, boundary, LineEnds::Crlf);
        let lenient = Some(LineEnds::Any).filter(|_| as_written.is_none() || has_bare_line_feed(content));
        let lenient = lenient.and_then(|ends| media::multipart(content, boundary, ends));
        for found in [as_written, lenient].into_iter().flatten() {
            is_read = true;
            for range in found.outside {
                if !content[range.clone()].trim_ascii().is_empty() {
                    let inside = bytes(&content[range.clone()], nested);
                    let head = range.start..range.start;
                    parts.push(Part { name: String::new(), others: Vec::new(), head, body: range, inside });
                }
            }
            for media::Part { head, body } in found.parts {
                parts.push(part(content, head, body, nested)?);
            }
        }
    }
    if is_read { Ok(parts) } else { Err(NoMultipart) }
}

fn part(content: &[u8], head: Range<usize>, body: Range<usize>, nested: usize) -> Result<Part, NoMultipart> {
    let (mut name, mut declared) = (None, None);
    for (field, value) in media::part_fields(&content[head.clone()]) {
        match field.as_str() {
            "content-disposition" if name.is_none() => name = media::parameter(&value, "name"),
            "content-type" if declared.is_none() => declared = Some(value),
            _ => {}
        }
    }
    let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let others = media::every_parameter(&content[head.clone()], "name").into_iter().map(lossy).collect();
    let inner = &content[body.clone()];
    let inside = match declared {
        Some(declared) if media::essence(&declared).starts_with("multipart/") && !inner.trim_ascii().is_empty() => {
            declared_as(&declared, inner, nested).map_err(|_| NoMultipart)?
        }
        Some(declared) => declared_as(&declared, inner, nested).unwrap_or_else(|Unparsable(parsed)| parsed),
        None => bytes(inner, nested),
    };
    Ok(Part { name: name.map(lossy).unwrap_or_default(), others, head, body, inside })
}

fn has_bare_line_feed(content: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', content).any(|at| at == 0 || content[at - 1] != b'\r')
}

/// The fields of a form or a query; `None` for more text than is looked at.
pub(in crate::redact) fn fields(text: &[u8]) -> Option<Vec<Field>> {
    u32::try_from(text.len()).is_ok().then(|| media::fields(text).collect())
}

/// Whether name and value are percent-encoded UTF-8.
fn is_sound(field: &Field, text: &[u8]) -> bool {
    [&field.name, &field.value].into_iter().all(|range| {
        let raw = &text[range.clone()];
        let broken = raw.iter().enumerate().any(|(at, byte)| {
            *byte == b'%' && !raw.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        });
        !broken && std::str::from_utf8(&decoded(raw)).is_ok()
    })
}

pub(in crate::redact) fn name_of(field: &Field, text: &[u8]) -> String {
    String::from_utf8_lossy(&decoded(&text[field.name.clone()])).into_owned()
}

pub(in crate::redact) fn decoded(raw: &[u8]) -> Vec<u8> {
    View::percent(raw, true).map_or_else(|| raw.to_vec(), |view| view.text)
}

/// The part of a bracketed or dotted field name that tells: `user[password]`.
fn last_name(name: &str) -> &str {
    name.rsplit(['[', '.']).map(|part| part.trim_end_matches(']')).find(|part| !part.is_empty()).unwrap_or(name)
}

/// Whether the name of a form's only field, in which nothing is coded, says nothing of its value.
pub(in crate::redact) fn is_plain_field(field: &[u8]) -> bool {
    let name = field.split(|byte| *byte == b'=').next().unwrap_or_default();
    std::str::from_utf8(name).is_ok_and(|name| {
        let last = last_name(name);
        kind::by_name(last, Place::Parameter).is_none() && kind::personal(last).is_none()
    })
}

impl Redactor {
    /// As [`parse`], where this redactor can find every secret that its rules name.
    pub(in crate::redact) fn parse_body(&self, headers: &Headers, body: &Body) -> Result<Parsed, Unparsable> {
        let parsed = parse(headers, body)?;
        // In text without a structure no pointer leads anywhere but by its last name.
        if matches!(parsed.grammar, Grammar::Nearly) && self.plan.last_names().is_none() {
            return Err(Unparsable(parsed));
        }
        Ok(parsed)
    }

    /// Recognises the secrets of a body.
    pub(in crate::redact) fn detect_body(&self, parsed: &Parsed, body: &Body, out: &mut Vec<Mark>) {
        self.detect_parsed(parsed, &body.content, &body.redacted, out);
    }

    fn detect_parsed(&self, parsed: &Parsed, content: &[u8], done: &[String], out: &mut Vec<Mark>) {
        let is_bytes = matches!(parsed.grammar, Grammar::Bytes | Grammar::Mended(_) | Grammar::Nearly);
        let before = out.len();
        // Where only the look of the bytes says that a value is one, a value that holds a label was read before.
        let by_form = parsed.cut_form().is_some();
        let is_new = |field: &&Field| !is_bytes || !label::holds(&content[field.value.clone()]);
        for grammar in parsed.grammars() {
            match grammar {
                Grammar::Json(document) => self.detect_json(document, done, DEPTH, out),
                Grammar::Form(fields) => {
                    let before = out.len();
                    self.detect_fields(content, fields.iter().filter(is_new), true, out);
                    if by_form {
                        nowhere(&mut out[before..]);
                    }
                }
                Grammar::Multipart(parts) => {
                    for part in parts {
                        self.detect_part(content, part, out);
                    }
                }
                Grammar::Lines => self.detect_named_lines(content, out),
                Grammar::Bytes => {
                    let before = out.len();
                    self.detect_text(content, DEPTH, out);
                    in_whole(&mut out[before..]);
                }
                Grammar::Mended(document) => self.detect_mended(document, content, out),
                Grammar::Nearly => {
                    self.detect_text(content, DEPTH, out);
                    self.detect_nearly(content, 2, out);
                }
            }
        }
        if is_bytes {
            in_whole(&mut out[before..]);
        }
    }

    /// Recognises the secrets of malformed JSON whose structure is beyond doubt.
    fn detect_mended(&self, document: &Document, content: &[u8], out: &mut Vec<Mark>) {
        let before = out.len();
        self.detect_json(document, &[], DEPTH, out);
        for mark in &mut out[before..] {
            (mark.quoted, mark.number, mark.whole) = (mark.number, false, false);
            // What stands for a byte that JSON does not allow is no part of the secret.
            let raw = &content[mark.range.clone()];
            if document.source()[mark.range.clone()] != *raw {
                let kind = self.memory().secret(mark.secret).kind;
                mark.secret = self.learn(raw, kind).unwrap_or(mark.secret);
            }
        }
    }

    /// Recognises the secrets of lines of `name: value`, whole values.
    fn detect_named_lines(&self, content: &[u8], out: &mut Vec<Mark>) {
        let before = out.len();
        self.detect_text(content, DEPTH, out);
        let mut start = 0;
        for line in content.split_inclusive(|byte| *byte == b'\n') {
            if let Some(colon) = memchr::memchr(b':', line) {
                let name = String::from_utf8_lossy(line[..colon].trim_ascii()).into_owned();
                let value = line[colon + 1..].trim_ascii();
                if let Some(kind) = kind::by_name(last_name(&name), Place::Parameter) {
                    let from =
                        start + colon + 1 + (line.len() - colon - 1 - line[colon + 1..].trim_ascii_start().len());
                    out.extend(self.learn(value, kind).map(|id| Mark::value(from..from + value.len(), id)));
                }
            }
            start += line.len();
        }
        in_whole(&mut out[before..]);
    }

    fn detect_part(&self, content: &[u8], part: &Part, out: &mut Vec<Mark>) {
        let place = field_place(&part.name);
        let before = out.len();
        let value = &content[part.body.clone()];
        let mut names = std::iter::once(&part.name).chain(&part.others);
        let kind = names
            .find_map(|name| kind::by_name(last_name(name), Place::Parameter))
            .or_else(|| self.plan.names_place(&place).then_some(Kind::Custom));
        if let Some(kind) = kind {
            self.detect_text(value, 1, &mut Vec::new());
            out.extend(self.learn(value, kind).map(|id| Mark::value(part.body.clone(), id)));
        }
        let moved = |marks: Vec<Mark>, start: usize| {
            marks.into_iter().map(move |mark| mark.moved(|inner| start + inner.start..start + inner.end))
        };
        let mut marks = Vec::new();
        self.detect_text(&content[part.head.clone()], DEPTH, &mut marks);
        out.extend(moved(marks, part.head.start));
        let mut marks = Vec::new();
        self.detect_parsed(&part.inside, value, &[], &mut marks);
        out.extend(moved(marks, part.body.start));
        for mark in &mut out[before..] {
            mark.place = Some(place.clone());
        }
    }

    /// Recognises the secrets of a form or a query.
    pub(in crate::redact) fn detect_fields<'f>(
        &self,
        text: &[u8],
        fields: impl IntoIterator<Item = &'f Field>,
        form: bool,
        out: &mut Vec<Mark>,
    ) {
        for field in fields {
            let name = name_of(field, text);
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
                self.detect_coded(text, &field.value, out);
            }
            for mark in &mut out[before..] {
                mark.place = Some(place.clone());
                // A number inside JSON inside a form keeps its type there; the field itself is text.
            }
            self.detect_coded(text, &field.name, out);
        }
    }

    /// Recognises the secrets of a percent-encoded part of a text.
    fn detect_coded(&self, text: &[u8], range: &Range<usize>, out: &mut Vec<Mark>) {
        let raw = &text[range.clone()];
        let view = View::percent(raw, true);
        let plain = view.as_ref().map_or(raw, |view| &view.text);
        let mut marks = Vec::new();
        self.detect_text(plain, DEPTH - 1, &mut marks);
        out.extend(marks.into_iter().map(|mark| {
            let whole = mark.range == (0..plain.len());
            let moved = mark.moved(|inner| view.as_ref().map_or_else(|| inner.clone(), |view| view.source(inner)));
            Mark { whole, ..moved.moved(|inner| range.start + inner.start..range.start + inner.end) }
        }));
    }

    /// Known secrets in a body.
    pub(in crate::redact) fn spread_body(&self, index: &Index, parsed: &Parsed, body: &Body, out: &mut Vec<Mark>) {
        self.spread_parsed(index, parsed, &body.content, out);
    }

    fn spread_parsed(&self, index: &Index, parsed: &Parsed, content: &[u8], out: &mut Vec<Mark>) {
        for grammar in parsed.grammars() {
            match grammar {
                Grammar::Json(document) => self.spread_json(index, document, out),
                Grammar::Form(fields) => {
                    let before = out.len();
                    spread_fields(index, content, fields, out);
                    if parsed.cut_form().is_some() {
                        nowhere(&mut out[before..]);
                    }
                }
                Grammar::Multipart(parts) => {
                    for part in parts {
                        let mut marks = Vec::new();
                        search::find(index, &content[part.head.clone()], Reading::default(), &mut marks);
                        let heads = marks.len();
                        self.spread_parsed(index, &part.inside, &content[part.body.clone()], &mut marks);
                        out.extend(marks.into_iter().enumerate().map(|(at, mark)| {
                            let start = if at < heads { part.head.start } else { part.body.start };
                            let moved = mark.moved(|inner| start + inner.start..start + inner.end);
                            Mark { place: Some(field_place(&part.name)), ..moved }
                        }));
                    }
                }
                Grammar::Lines | Grammar::Bytes | Grammar::Mended(_) | Grammar::Nearly => {
                    let before = out.len();
                    search::find(index, content, Reading::default(), out);
                    in_whole(&mut out[before..]);
                }
            }
        }
    }
}

/// Places whose labels an earlier redaction put there (`contrail redact` on another tool's file): they are redacted too.
pub(in crate::redact) fn labelled(parsed: &Parsed, content: &[u8], places: &mut Vec<String>) {
    if !label::holds(content) {
        return;
    }
    let grammar = parsed.cut_form().and(parsed.beside.first()).unwrap_or(&parsed.grammar);
    match grammar {
        Grammar::Json(document) => {
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
        Grammar::Form(fields) => {
            let held = fields.iter().filter(|field| label::holds(&content[field.value.clone()]));
            places.extend(held.map(|field| field_place(&name_of(field, content))));
        }
        Grammar::Multipart(parts) => {
            let held = parts.iter().filter(|part| label::holds(&content[part.body.clone()]));
            places.extend(held.map(|part| field_place(&part.name)));
        }
        Grammar::Lines | Grammar::Bytes | Grammar::Mended(_) | Grammar::Nearly => places.push(String::new()),
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
pub(in crate::redact) fn spread_fields(index: &Index, text: &[u8], fields: &[Field], out: &mut Vec<Mark>) {
    if index.is_empty() {
        return;
    }
    for field in fields {
        for (range, is_name) in [(&field.name, true), (&field.value, false)] {
            let mut marks = Vec::new();
            search::find(index, &text[range.clone()], Reading { plus: true, ..Reading::default() }, &mut marks);
            out.extend(marks.into_iter().map(|mark| Mark {
                whole: mark.range == (0..range.len()),
                place: (!is_name).then(|| field_place(&name_of(field, text))),
                ..mark.moved(|inner| range.start + inner.start..range.start + inner.end)
            }));
        }
    }
}

pub(in crate::redact) fn field_place(name: &str) -> String {
    let mut place = String::new();
    push_pointer(&mut place, name);
    place
}

/// Names and values of a form that is something else are pieces of it, and no places.
fn nowhere(marks: &mut [Mark]) {
    for mark in marks {
        mark.place = None;
    }
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
    fn a_broken_form_is_told_from_a_sound_one() {
        let sound = |text: &[u8]| fields(text).unwrap().iter().all(|field| is_sound(field, text));
        assert!(sound(b"a=1&b&=&c=%C3%A9+x&a=2"));
        assert!(!sound(b"a=%zz") && !sound(b"a=%1") && !sound(b"%ff=1"));
    }

    #[test]
    fn a_bracketed_name_tells_by_its_last_part() {
        assert_eq!(last_name("user[password]"), "password");
        assert_eq!(last_name("user[tokens][]"), "tokens");
        assert_eq!(last_name("plain"), "plain");
    }

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
