//! Recordings as files: any HAR, a journal's line, any other JSON or text, edited in place so that what other tools
//! wrote beside the messages survives.
//!
//! A HAR file says of a value what it is by where it stands: a pair of `name` and `value` in `headers`, `cookies`,
//! `queryString` or `params`; a body as `text` beside `mimeType`. Members of other names are read as text, since
//! `_contrail.token` and its like hold public facts.

use std::{collections::HashSet, ops::Range};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, header};

use super::{
    label,
    message::Work,
    spans::{self, Mark},
};
use crate::redact::{
    Bounds, Redacted, Redactor,
    find::{
        body::{Parsed, Unparsable},
        detect::{DEPTH, is_listed_value, listed_kind},
        kind::{self, Kind, Place},
        walk::{Token, Walk},
    },
    known::{
        index::Index,
        search::{self, Reading},
        view::View,
    },
};
use crate::{
    exchange::{Body, Headers},
    json::{self, Document, Kind as JsonKind, Node},
};

/// A secret in a file. It never shows the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// Byte offset at which it begins.
    pub offset: usize,
    /// Where, as a JSON pointer into the file (or line); `None` in a text.
    pub at: Option<String>,
    /// What kind of secret, for example `client-secret`.
    pub kind: &'static str,
    /// The label that stands for it.
    pub label: String,
}

/// A file without its secrets.
#[derive(Debug, Clone)]
pub struct Cleaned {
    /// What to write.
    pub content: Redacted<Vec<u8>>,
    /// What was replaced, in the order of the file.
    pub sightings: Vec<Sighting>,
    /// Bodies that were emptied because they do not parse, and nobody can say where their secrets are.
    pub withheld: usize,
}

/// What the values of an object are, by the name of the list that it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pairs {
    Headers,
    Cookies,
    Parameters,
}

/// Where a container of a HAR file stands.
#[derive(Debug, Clone, Copy, Default)]
struct Context<'d> {
    pairs: Option<Pairs>,
    entry: Option<Node<'d>>,
    response: bool,
}

impl<'d> Context<'d> {
    /// The context of member `name` of `node`.
    fn of_member(self, node: Node<'d>, name: &str) -> Self {
        let entry = if node.get("request").is_some() { Some(node) } else { self.entry };
        Self { pairs: pairs_of(name), entry, response: name == "response" || (self.response && name == "content") }
    }

    /// Places of a body that hold labels already, as `_contrail` says.
    fn done(self) -> Vec<String> {
        let side = if self.response { "response" } else { "request" };
        let places = self.entry.and_then(|entry| entry.get("_contrail")?.get(side)?.get("redacted"));
        places.into_iter().flat_map(Node::items).filter_map(|item| Some(item.as_str()?.into_owned())).collect()
    }
}

/// A body inside a HAR entry whose text is not edited in place: the whole string is replaced.
struct Coded {
    /// Inside the quotes.
    range: Range<usize>,
    place: String,
    body: Body,
    /// It stands there as base64.
    encoded: bool,
    /// `None`: nobody can say where its secrets are.
    parsed: Option<Parsed>,
}

/// A whole string that is replaced: where, by what, and what to say about it (where, which secret).
type Whole = (Range<usize>, Vec<u8>, Option<(String, u32)>);

impl Redactor {
    /// Takes the secrets out of a file's content (of a journal: of one line), keeping all else byte for byte.
    ///
    /// Secrets that the redactor has seen before are found too, so a file of many parts is best gone through twice.
    #[must_use]
    pub fn file(&self, content: &Bytes) -> Cleaned {
        match Document::parse(content.clone()) {
            Ok(document) if is_recording(&document) => self.recording(&document),
            Ok(document) => {
                let mut marks = Vec::new();
                self.detect_json(&document, &[], DEPTH, &mut marks);
                let index = self.memory().index();
                self.spread_json(&index, &document, &mut marks);
                self.cleaned(content, marks, Vec::new(), 0)
            }
            Err(_) => {
                let mut marks = Vec::new();
                self.detect_text(content, DEPTH, &mut marks);
                let index = self.memory().index();
                search::find(&index, content, Reading::default(), &mut marks);
                for mark in &mut marks {
                    mark.place = None;
                }
                self.cleaned(content, marks, Vec::new(), 0)
            }
        }
    }

    /// Takes the secrets out of a body that a HAR file keeps in a file beside it.
    #[must_use]
    pub fn body_file(&self, media: &str, content: &Bytes) -> Cleaned {
        let headers = content_type(media);
        let body = Body::whole(content.clone());
        let parsed = match self.parse_body(&headers, &body) {
            Ok(parsed) => parsed,
            Err(Unparsable(parsed)) => {
                self.detect_body(&parsed, &body, &mut Vec::new());
                return Cleaned { content: Redacted(Vec::new()), sightings: Vec::new(), withheld: 1 };
            }
        };
        let mut marks = Vec::new();
        self.detect_body(&parsed, &body, &mut marks);
        let index = self.memory().index();
        self.spread_body(&index, &parsed, &body, &mut marks);
        self.cleaned(content, marks, Vec::new(), 0)
    }

    fn recording(&self, document: &Document) -> Cleaned {
        let source = document.source();
        let (mut marks, mut coded, mut resized) = (Vec::new(), Vec::new(), Vec::new());
        let mut walk: Walk<'_, Context<'_>> = Walk::new();
        walk.open(Token::Root, document.root(), Context::default());
        while let Some((node, context)) = walk.next() {
            let pairs = context.pairs;
            let pair = pairs.and_then(|pairs| Some((pairs, node.get("name")?.as_str()?, node.get("value")?)));
            let media = node.get("mimeType").and_then(Node::as_str);
            for (name, value) in node.entries() {
                let token = Token::Name(name.as_str().unwrap_or_default());
                let Token::Name(text) = &token else { continue };
                if value.kind() != JsonKind::String {
                    if !matches!(value.kind(), JsonKind::Array | JsonKind::Object) {
                        continue;
                    }
                    walk.open(token.clone(), value, context.of_member(node, text));
                    continue;
                }
                let place = || walk.pointer(&token);
                match (&pair, &media) {
                    (Some((pairs, held, _)), _) if text == "value" => {
                        self.detect_pair(*pairs, held, value, &place, &mut marks);
                    }
                    (_, Some(media)) if text == "text" && !value.as_str().unwrap_or_default().is_empty() => {
                        let encoded = is_base64(node);
                        let done = context.done();
                        coded.extend(self.detect_content(media, value, encoded, done, &place, &mut marks));
                    }
                    _ if is_listed_value(text)
                        && let Some(kind) = listed_kind(node) =>
                    {
                        let secret = value.as_str().unwrap_or_default();
                        self.detect_text(secret.as_bytes(), 1, &mut Vec::new());
                        let range = value.span().start + 1..value.span().end - 1;
                        let id = self.learn(secret.as_bytes(), kind);
                        marks.extend(id.map(|id| Mark { place: Some(place()), ..Mark::value(range, id) }));
                    }
                    _ => self.detect_string(value, DEPTH, &mut marks, Some(&place)),
                }
            }
            for (at, item) in node.items().enumerate() {
                match item.kind() {
                    JsonKind::String => {
                        let token = Token::Index(at);
                        self.detect_string(item, DEPTH, &mut marks, Some(&|| walk.pointer(&token)));
                    }
                    // An item of `headers` is a header.
                    JsonKind::Array | JsonKind::Object => walk.open(Token::Index(at), item, context),
                    _ => {}
                }
            }
        }
        let index = self.memory().index();
        self.spread_json(&index, document, &mut marks);
        let mut edits = Vec::new();
        let mut withheld = 0;
        for body in coded {
            let Some(parsed) = &body.parsed else {
                withheld += 1;
                resized.push(body.place);
                edits.push((body.range, Vec::new(), None));
                continue;
            };
            if let Some((text, secret)) = self.recode(&index, parsed, &body) {
                resized.push(body.place.clone());
                edits.push((body.range, text.into_bytes(), Some((body.place, secret))));
            }
        }
        marks.retain(|mark| {
            !edits.iter().any(|(range, ..)| range.start <= mark.range.start && mark.range.end <= range.end)
        });
        let mut resized: HashSet<String> = resized.into_iter().collect();
        resized.extend(marks.iter().filter_map(|mark| mark.place.clone()).filter(|place| place.ends_with("/text")));
        let mut cleaned = self.cleaned(source, marks, edits, withheld);
        if !resized.is_empty()
            && let Some(sized) = resize(&cleaned.content, &resized)
        {
            cleaned.content = Redacted(sized);
        }
        cleaned
    }

    /// The inside of the string that holds a body, without its secrets; `None` if it has none.
    fn recode(&self, index: &Index, parsed: &Parsed, coded: &Coded) -> Option<(String, u32)> {
        let body = &coded.body;
        let mut marks = Vec::new();
        self.detect_body(parsed, body, &mut marks);
        self.spread_body(index, parsed, body, &mut marks);
        let secret = marks.first()?.secret;
        let new = Work::new(self, None).replaced(&body.content, marks, None)?;
        if coded.encoded {
            return Some((BASE64_STANDARD.encode(new), secret));
        }
        let mut text = String::new();
        json::quote(&String::from_utf8_lossy(&new), &mut text);
        Some((text[1..text.len() - 1].to_owned(), secret))
    }

    fn detect_pair(&self, pairs: Pairs, name: &str, value: Node<'_>, place: &dyn Fn() -> String, out: &mut Vec<Mark>) {
        let text = value.as_str().unwrap_or_default();
        let raw = value.raw().as_bytes();
        let view = View::unescape(&raw[1..raw.len() - 1]);
        let start = value.span().start + 1;
        let mut marks = Vec::new();
        match pairs {
            Pairs::Headers => {
                match HeaderName::from_bytes(name.trim().as_bytes()) {
                    Ok(name) => marks = self.detect_header(&name, text.as_bytes()),
                    // No field has such a name; some other tool wrote it.
                    Err(_) => match kind::by_listed_name(name) {
                        Some(kind) => {
                            let whole = |id| Mark::value(0..text.len(), id);
                            marks.extend(self.learn(text.as_bytes(), kind).map(whole));
                        }
                        None => self.detect_text(text.as_bytes(), 2, &mut marks),
                    },
                }
            }
            Pairs::Cookies => {
                marks.extend(self.learn(text.as_bytes(), Kind::Cookie).map(|id| Mark::value(0..text.len(), id)));
            }
            Pairs::Parameters => {
                let kind = kind::by_name(name, Place::Parameter)
                    .filter(|_| !name.eq_ignore_ascii_case("key") || kind::is_opaque(text.as_bytes()));
                match kind {
                    Some(kind) => {
                        marks.extend(self.learn(text.as_bytes(), kind).map(|id| Mark::value(0..text.len(), id)));
                    }
                    None => self.detect_text(text.as_bytes(), DEPTH - 1, &mut marks),
                }
            }
        }
        out.extend(marks.into_iter().map(|mark| {
            let moved = mark.moved(|range| view.as_ref().map_or_else(|| range.clone(), |view| view.source(range)));
            Mark { place: Some(place()), ..moved.moved(|range| start + range.start..start + range.end) }
        }));
    }

    fn detect_content(
        &self,
        media: &str,
        value: Node<'_>,
        encoded: bool,
        done: Vec<String>,
        place: &dyn Fn() -> String,
        out: &mut Vec<Mark>,
    ) -> Option<Coded> {
        let text = value.as_str().unwrap_or_default();
        let raw = value.raw().as_bytes();
        let range = value.span().start + 1..value.span().end - 1;
        let content = if encoded { BASE64_STANDARD.decode(text.as_bytes()).ok() } else { None };
        let in_place = content.is_none();
        let mut body = Body::whole(content.unwrap_or_else(|| text.as_bytes().to_vec()));
        body.redacted = done;
        let parsed = self.parse_body(&content_type(media), &body);
        match &parsed {
            Err(Unparsable(parsed)) => self.detect_body(parsed, &body, &mut Vec::new()),
            Ok(parsed) => {
                let mut marks = Vec::new();
                self.detect_body(parsed, &body, &mut marks);
                // A malformed body's labels may need quotes.
                if in_place && !parsed.is_malformed() {
                    let view = View::unescape(&raw[1..raw.len() - 1]);
                    out.extend(marks.into_iter().map(|mark| {
                        let moved =
                            mark.moved(|inner| view.as_ref().map_or_else(|| inner.clone(), |view| view.source(inner)));
                        let moved = moved.moved(|inner| range.start + inner.start..range.start + inner.end);
                        Mark { place: Some(place()), ..moved }
                    }));
                    return None;
                }
            }
        }
        Some(Coded { range, place: place(), body, encoded: !in_place, parsed: parsed.ok() })
    }

    fn cleaned(&self, source: &[u8], marks: Vec<Mark>, others: Vec<Whole>, withheld: usize) -> Cleaned {
        let memory = self.memory();
        let mut sightings = Vec::new();
        let mut edits = Vec::new();
        let sighting = |offset, at, id| {
            let secret = memory.secret(id);
            let label = label::text(secret.kind, secret.number, Bounds::default());
            Sighting { offset, at, kind: secret.kind.name(), label }
        };
        for mark in spans::settle(marks) {
            let secret = memory.secret(mark.secret);
            let sighting = sighting(mark.range.start, mark.place, mark.secret);
            let label = if mark.number { secret.number.to_string() } else { sighting.label.clone() };
            edits.push((mark.range, label.into_bytes()));
            sightings.push(sighting);
        }
        for (range, text, told) in others {
            sightings.extend(told.map(|(place, id)| sighting(range.start, Some(place), id)));
            edits.push((range, text));
        }
        edits.sort_by_key(|(range, _)| range.start);
        sightings.sort_by_key(|sighting| sighting.offset);
        Cleaned { content: Redacted(json::splice(source, &edits)), sightings, withheld }
    }
}

/// A HAR file, or an entry of one (a line of a journal).
fn is_recording(document: &Document) -> bool {
    let root = document.root();
    root.get("log").is_some_and(|log| log.get("entries").is_some()) || root.get("request").is_some()
}

fn pairs_of(list: &str) -> Option<Pairs> {
    match list {
        "headers" => Some(Pairs::Headers),
        "cookies" => Some(Pairs::Cookies),
        "queryString" | "params" => Some(Pairs::Parameters),
        _ => None,
    }
}

fn content_type(media: &str) -> Headers {
    HeaderValue::from_str(media)
        .ok()
        .filter(|_| !media.is_empty())
        .map(|value| (header::CONTENT_TYPE, value))
        .into_iter()
        .collect()
}

/// Sizes beside the bodies whose text changed: `size`, `bodySize` and `Content-Length` of their messages.
fn resize(content: &[u8], places: &HashSet<String>) -> Option<Vec<u8>> {
    let document = Document::parse(content.to_vec()).ok()?;
    let mut edits: Vec<(Range<usize>, Vec<u8>)> = Vec::new();
    // Beside each container, the one that it stands in.
    let mut walk: Walk<'_, Option<Node<'_>>> = Walk::new();
    walk.open(Token::Root, document.root(), None);
    while let Some((node, outer)) = walk.next() {
        for (name, value) in node.entries() {
            if matches!(value.kind(), JsonKind::Array | JsonKind::Object) {
                walk.open(Token::Name(name.as_str().unwrap_or_default()), value, Some(node));
            }
        }
        for (at, item) in node.items().enumerate() {
            walk.open(Token::Index(at), item, Some(node));
        }
        let (Some(text), Some(message)) = (node.get("text").and_then(Node::as_str), outer) else { continue };
        if places.contains(&walk.pointer(&Token::Name("text".into()))) {
            let length = length(&text, is_base64(node)).to_string().into_bytes();
            edits.extend(sizes(node, message).map(|range| (range, length.clone())));
        }
    }
    edits.sort_by_key(|(range, _)| range.start);
    edits.dedup_by_key(|(range, _)| range.start);
    (!edits.is_empty()).then(|| json::splice(content, &edits))
}

/// Where the sizes of a body stand.
fn sizes<'d>(body: Node<'d>, message: Node<'d>) -> impl Iterator<Item = Range<usize>> {
    let numbers = [body.get("size"), message.get("bodySize")].into_iter().flatten();
    let numbers = numbers.filter(|node| node.kind() == JsonKind::Number && !node.raw().starts_with('-'));
    let fields = message.get("headers").into_iter().flat_map(Node::items).filter_map(|field| {
        let name = field.get("name")?.as_str()?;
        field
            .get("value")
            .filter(|value| name.eq_ignore_ascii_case("content-length") && value.kind() == JsonKind::String)
    });
    numbers.map(Node::span).chain(fields.map(|value| value.span().start + 1..value.span().end - 1))
}

fn is_base64(body: Node<'_>) -> bool {
    ["encoding", "_encoding"].iter().any(|name| body.get(name).is_some_and(|coding| coding.is_str("base64")))
}

fn length(text: &str, base64: bool) -> usize {
    if base64 { BASE64_STANDARD.decode(text.as_bytes()).map_or(0, |bytes| bytes.len()) } else { text.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> Cleaned {
        Redactor::default().file(&Bytes::copy_from_slice(text.as_bytes()))
    }

    const HAR: &str = r#"{ "log": {"version":"1.2","creator":{"name":"x","version":"1"}, "_odd":[1.50,{"k":null}],
"entries":[{"request":{"method":"POST","url":"https://t/oauth/token?code=abc\u0064ef","bodySize":57,
 "headers":[{"name":"Authorization","value":"Bearer s3cr3t.one"},{"name":"Content-Length","value":"57"}],
 "cookies":[{"name":"sid","value":"c00kie-value"}],"queryString":[{"name":"code","value":"abcdef"}],
 "postData":{"mimeType":"application/x-www-form-urlencoded","text":"client_secret=s3cr3t%2Ftwo&x=%22",
   "params":[{"name":"client_secret","value":"s3cr3t/two"}]}},
 "response":{"status":200,"headers":[{"name":"Set-Cookie","value":"sid=c00kie-value; Path=/"}],"bodySize":-1,
  "content":{"size":31,"mimeType":"application/json","text":"{ \"access_token\" : \"s3cr3t.three\" }"}},
 "_contrail":{"token":{"client":"client0123456789abc"},"note":"s3cr3t.three"}},
 {"request":{"url":"https://t/x","headers":[],"postData":{"mimeType":"application/json","text":"{\"a\":\u0000"}},
  "response":{"content":{"size":9,"mimeType":"application/octet-stream","encoding":"base64","text":"czNjcjN0L3R3bwD/"}}}]}}"#;

    #[test]
    fn a_har_file_is_cleaned_in_place_and_all_else_survives() {
        let cleaned = clean(HAR);
        let expected = HAR
            .replace("abc\\u0064ef", "!code-5!")
            .replace("\"abcdef\"", "\"!code-5!\"")
            .replace("s3cr3t.one", "!token-3!")
            .replace("c00kie-value", "!cookie-4!")
            .replace("s3cr3t%2Ftwo", "!client-secret-1!")
            .replace("s3cr3t/two", "!client-secret-1!")
            .replace("s3cr3t.three", "!token-2!")
            .replace("\"{\\\"a\\\":\\u0000\"", "\"\"")
            .replace("czNjcjN0L3R3bwD/", &BASE64_STANDARD.encode(b"!client-secret-1!\0\xff"))
            .replace("\"size\":9", "\"size\":19")
            .replace("\"size\":31", "\"size\":32")
            .replace(":57,", ":37,")
            .replace("\"57\"", "\"37\"");
        assert_eq!(String::from_utf8_lossy(&cleaned.content), expected);
        assert_eq!(cleaned.withheld, 1);
        assert!(cleaned.sightings.iter().any(|s| s.at.as_deref() == Some("/log/entries/0/request/headers/0/value")));
    }

    #[test]
    fn a_cleaned_file_is_clean() {
        let once = clean(HAR).content.into_inner();
        let again = clean(std::str::from_utf8(&once).unwrap());
        assert_eq!(*again.content, once);
        assert!(again.sightings.is_empty(), "{:?}", again.sightings);
    }

    #[test]
    fn a_number_that_is_a_label_is_known_by_its_place() {
        let line = r#"{"request":{"url":"https://t/","headers":[]},"response":{"headers":[],"content":{"size":9,"mimeType":
"application/json","text":"{\"pin\":7}"}},"_contrail":{"token":{"client":"c"},"response":{"redacted":["/pin"]}}}"#;
        assert_eq!(clean(line).sightings, []);
        assert_eq!(clean(&line.replace("/pin", "/other")).sightings.len(), 1);
    }

    #[test]
    fn other_json_and_text_are_searched_by_name_and_shape() {
        let cleaned = clean(r#"{"db":{"password":"abc"},"id":"x"}"#);
        assert_eq!(&**cleaned.content, br#"{"db":{"password":"!password-1!"},"id":"x"}"#);
        assert_eq!(cleaned.sightings[0].at.as_deref(), Some("/db/password"));
        let cleaned = clean("line one\nexport CLIENT_SECRET=abc123\n");
        assert_eq!(&**cleaned.content, b"line one\nexport CLIENT_SECRET=!client-secret-1!\n");
        assert_eq!(cleaned.sightings[0].at, None);
    }

    #[test]
    fn a_body_file_is_cleaned_as_its_media_type_says() {
        let redactor = Redactor::default();
        let cleaned = redactor.body_file("application/json", &Bytes::from_static(b"{ \"token\":\"abc\" }"));
        assert_eq!(&**cleaned.content, b"{ \"token\":\"!token-1!\" }");
        assert_eq!(redactor.body_file("application/json", &Bytes::from_static(b"{\"token\":\0")).withheld, 1);
        let malformed = redactor.body_file("application/json", &Bytes::from_static(b"{\"token\":\"abc\","));
        assert_eq!((&**malformed.content, malformed.withheld), (&b"{\"token\":\"!token-1!\","[..], 0));
    }
}
