//! HAR files: in a HAR file a value's place shows what it is. A pair of `name` and `value` in `headers`, `cookies`,
//! `queryString` or `params`; a body as `text` beside `mimeType`. Members of other names are read as text, since
//! `_contrail.token` and its like hold public facts.

use std::{cell::LazyCell, ops::Range};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use contrail_exchange::{
    Body, Headers,
    json::{self, Document, Kind as JsonKind, Node},
};
use http::{HeaderName, HeaderValue, header};

use super::{file::Cleaned, redaction::Redaction};
use crate::{
    Redactor,
    find::{
        detect::{MAX_CODINGS, listed_kind},
        grammar::Parsed,
        header_names,
        names::{self, FieldContext},
        walk::{Places, Token, Walk},
    },
    kind::Kind,
    known::index::Index,
    mark::{self, Mark},
};

/// What the values of an object are, by the name of the list that it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pairs {
    Headers,
    Cookies,
    Parameters,
    /// No pair: the address of a request or a redirect.
    Addresses,
}

/// Where a container of a HAR file stands.
#[derive(Debug, Clone, Copy, Default)]
struct Context<'d> {
    pairs: Option<Pairs>,
    entry: Option<Node<'d>>,
    /// The object around it: of a body its message.
    outer: Option<Node<'d>>,
    response: bool,
}

impl<'d> Context<'d> {
    /// The context of a member of this name in `outer`, inside of `entry`.
    fn of_member(self, entry: Option<Node<'d>>, outer: Node<'d>, name: &str) -> Self {
        let response = name == "response" || (self.response && name == "content");
        Self { pairs: pairs_of(name), entry, outer: Some(outer), response }
    }

    /// Places of a body that hold labels already, as `_contrail` says.
    fn done(self) -> Vec<String> {
        let side = if self.response { "response" } else { "request" };
        let places = self.entry.and_then(|entry| entry.get("_contrail")?.get(side)?.get("redacted"));
        places.into_iter().flat_map(Node::items).filter_map(|item| Some(item.as_str()?.into_owned())).collect()
    }
}

/// A body, and what states its size.
pub(super) struct SizedBody {
    /// The string.
    text: Range<usize>,
    encoded: bool,
    /// `size`, `bodySize` and `Content-Length` beside it.
    places: Vec<Range<usize>>,
}

impl SizedBody {
    fn of(body: Node<'_>, message: Node<'_>) -> Option<Self> {
        let text = body.get("text").filter(|text| text.kind() == JsonKind::String)?.span();
        let numbers = [body.get("size"), message.get("bodySize")].into_iter().flatten();
        let numbers = numbers.filter(|node| node.kind() == JsonKind::Number && !node.raw().starts_with('-'));
        let fields = message.get("headers").into_iter().flat_map(Node::items).filter_map(|field| {
            let is_length = field.get("name")?.as_str()?.eq_ignore_ascii_case("content-length");
            field.get("value").filter(|value| is_length && value.kind() == JsonKind::String)
        });
        let fields = fields.map(|value| value.span().start + 1..value.span().end - 1);
        Some(Self { text, encoded: is_base64(body), places: numbers.map(Node::span).chain(fields).collect() })
    }

    /// Its size in other places, if these edits of the file change its text.
    pub(super) fn after(&self, content: &[u8], edits: &[(Range<usize>, Vec<u8>)]) -> Vec<(Range<usize>, Vec<u8>)> {
        let at = |place: usize| edits.partition_point(|(range, _)| range.start < place);
        let moved = |range: &Range<usize>| range.start - self.text.start..range.end - self.text.start;
        let edits = edits[at(self.text.start)..at(self.text.end)].iter();
        let edits: Vec<_> = edits.map(|(range, new)| (moved(range), new.clone())).collect();
        let text = if edits.is_empty() { None } else { Some(json::splice(&content[self.text.clone()], &edits)) };
        let Some(text) = text.and_then(|text| Document::parsed_or_mended(&text.into())) else { return Vec::new() };
        let text = text.root().as_str().unwrap_or_default();
        let decoded = if self.encoded {
            BASE64_STANDARD.decode(text.as_bytes()).unwrap_or_default()
        } else {
            text.into_owned().into_bytes()
        };
        let length = decoded.len().to_string();
        self.places.iter().map(|place| (place.clone(), length.clone().into_bytes())).collect()
    }
}

/// A body inside a HAR entry whose text is not edited in place: the whole string is replaced.
struct Coded {
    /// Inside the quotes.
    range: Range<usize>,
    place: String,
    body: Body,
    /// The file holds it in base64.
    encoded: bool,
    parsed: Parsed,
    marks: Vec<Mark>,
}

/// A whole string that is replaced: where, by what, and what to say about it (where, which secret).
pub(super) type Whole = (Range<usize>, Vec<u8>, Option<(String, u32)>);

impl Redactor {
    /// As [`Redactor::file`]; `content` is what the document was parsed from.
    pub(super) fn recording(&self, document: &Document, content: &Bytes) -> Cleaned {
        let (mut marks, mut coded, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
        let mut walk: Walk<'_, Context<'_>> = Walk::new();
        walk.open(Token::Root, document.root(), Context::default());
        while let Some((node, context)) = walk.next() {
            let pairs = context.pairs;
            let pair = pairs.and_then(|pairs| Some((pairs, node.get("name")?.as_str()?, node.get("value")?)));
            let media = node.get("mimeType").and_then(Node::as_str);
            let entry = LazyCell::new(|| if node.get("request").is_some() { Some(node) } else { context.entry });
            let listed = LazyCell::new(|| listed_kind(node));
            for (name, value) in node.entries() {
                let token = Token::Name(name.as_str().unwrap_or_default());
                let Token::Name(text) = &token else { continue };
                if value.kind() != JsonKind::String {
                    if !matches!(value.kind(), JsonKind::Array | JsonKind::Object) {
                        continue;
                    }
                    walk.open(token.clone(), value, context.of_member(*entry, node, text));
                    continue;
                }
                let place = || walk.pointer(&token);
                match (&pair, &media) {
                    (Some((pairs, held, _)), _) if text == "value" => {
                        let found = self.detect_pair(*pairs, held, value.as_str().unwrap_or_default().as_bytes());
                        mark::put_in(value, found, Some(&place), &mut marks);
                    }
                    (_, Some(media)) if text == "text" && !value.as_str().unwrap_or_default().is_empty() => {
                        let encoded = is_base64(node);
                        let done = context.done();
                        coded.extend(self.detect_content(media, value, encoded, done, &place, &mut marks));
                    }
                    _ if matches!(&**text, "url" | "redirectURL") => {
                        let address = value.as_str().unwrap_or_default();
                        let found = self.detect_pair(Pairs::Addresses, text, address.as_bytes());
                        mark::put_in(value, found, Some(&place), &mut marks);
                    }
                    _ if names::is_listed_value(text)
                        && let Some(kind) = *listed =>
                    {
                        let secret = value.as_str().unwrap_or_default();
                        self.detect_text(secret.as_bytes(), 1, &mut Vec::new());
                        mark::put_in(value, self.all_of(secret.as_bytes(), kind), Some(&place), &mut marks);
                    }
                    _ => self.detect_string(value, MAX_CODINGS, &mut marks, Some(&place)),
                }
            }
            bodies.extend(context.outer.and_then(|message| SizedBody::of(node, message)));
            for (at, item) in node.items().enumerate() {
                match item.kind() {
                    JsonKind::String => {
                        let token = Token::Index(at);
                        self.detect_string(item, MAX_CODINGS, &mut marks, Some(&|| walk.pointer(&token)));
                    }
                    // An item of `headers` is a header.
                    JsonKind::Array | JsonKind::Object => walk.open(Token::Index(at), item, context),
                    _ => {}
                }
            }
        }
        let index = self.memory().index();
        self.mark_known_json(&index, document, &Places::of_file(), &mut marks);
        let mut edits = Vec::new();
        let mut withheld = 0;
        for mut body in coded {
            if body.parsed.unparsable {
                withheld += 1;
                edits.push((body.range, Vec::new(), None));
            } else if let Some((text, secret)) = self.recode(&index, &mut body) {
                edits.push((body.range, text.into_bytes(), Some((body.place, secret))));
            }
        }
        edits.sort_by_key(|(range, ..)| range.start);
        marks.retain(|mark| {
            let after = edits.partition_point(|(range, ..)| range.start <= mark.range.start);
            after.checked_sub(1).is_none_or(|at| mark.range.end > edits[at].0.end)
        });
        self.cleaned(content, marks, edits, withheld, &bodies)
    }

    /// The inside of the string that holds a body, without its secrets; `None` if it has none.
    fn recode(&self, index: &Index, coded: &mut Coded) -> Option<(String, u32)> {
        let (content, mut marks) = (&coded.body.content, std::mem::take(&mut coded.marks));
        self.mark_known_body(index, &coded.parsed, content, &mut marks);
        let secret = marks.first()?.secret;
        let new = Redaction::new(self, None).replaced(content, marks, None)?;
        if coded.encoded {
            return Some((BASE64_STANDARD.encode(new), secret));
        }
        let mut text = String::new();
        json::quote(&String::from_utf8_lossy(&new), &mut text);
        Some((text[1..text.len() - 1].to_owned(), secret))
    }

    /// The secrets of a value by what it is and by the name beside it.
    fn detect_pair(&self, pairs: Pairs, name: &str, value: &[u8]) -> Vec<Mark> {
        let kind = match pairs {
            Pairs::Headers => match HeaderName::from_bytes(name.trim().as_bytes()) {
                Ok(name) => return self.detect_header(&name, value),
                // No field has such a name; some other tool wrote it.
                Err(_) => header_names::by_listed_name(name),
            },
            Pairs::Addresses => None,
            Pairs::Cookies => Some(Kind::Cookie),
            Pairs::Parameters => names::by_name(name, FieldContext::Parameter)
                .filter(|kind| names::selects(name, *kind, value))
                .or_else(|| self.plan.is_key_parameter(name).then_some(Kind::ApiKey)),
        };
        match kind {
            Some(kind) => self.all_of(value, kind),
            None => {
                let mut marks = Vec::new();
                self.detect_text(value, MAX_CODINGS - 1, &mut marks);
                if pairs == Pairs::Addresses {
                    self.detect_addresses(value, &mut marks);
                }
                marks
            }
        }
    }

    /// All of a value is a secret.
    fn all_of(&self, value: &[u8], kind: Kind) -> Vec<Mark> {
        self.learn(value, kind).map(|id| Mark::value(0..value.len(), id)).into_iter().collect()
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
        let content = if encoded { BASE64_STANDARD.decode(text.as_bytes()).ok() } else { None };
        let in_place = content.is_none();
        let mut body = Body::whole(content.unwrap_or_else(|| text.as_bytes().to_vec()));
        body.redacted = done;
        let parsed = self.parse_body(&content_type(media), &body);
        let mut marks = Vec::new();
        self.detect_body(&parsed, &body, &mut marks);
        // A malformed body's labels may need quotes.
        if in_place && !parsed.malformed && !parsed.unparsable {
            mark::put_in(value, marks, Some(place), out);
            return None;
        }
        let range = value.span().start + 1..value.span().end - 1;
        Some(Coded { range, place: place(), body, encoded: !in_place, parsed, marks })
    }
}

/// The header that declares a media type; none where the type cannot be a header.
pub(super) fn content_type(media: &str) -> Headers {
    HeaderValue::from_str(media)
        .ok()
        .filter(|_| !media.is_empty())
        .map(|value| (header::CONTENT_TYPE, value))
        .into_iter()
        .collect()
}

/// Whether a document is a HAR file, or an entry of one (a line of a journal).
pub(super) fn is_recording(document: &Document) -> bool {
    // A mended document may name a member twice.
    document.root().entries().any(|(name, value)| {
        name.is_str("request") || (name.is_str("log") && value.entries().any(|(name, _)| name.is_str("entries")))
    })
}

fn pairs_of(list: &str) -> Option<Pairs> {
    match list {
        "headers" => Some(Pairs::Headers),
        "cookies" => Some(Pairs::Cookies),
        "queryString" | "params" => Some(Pairs::Parameters),
        _ => None,
    }
}

fn is_base64(body: Node<'_>) -> bool {
    ["encoding", "_encoding"].iter().any(|name| body.get(name).is_some_and(|coding| coding.is_str("base64")))
}
