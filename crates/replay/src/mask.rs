//! Which places of a recorded request match any value, and the key under which a request is found.
//!
//! Two requests are the same if their keys under the same mask are. A key is a keyed 128-bit hash of the request by
//! value, with masked places replaced by their type: looking up needs no scan, however much was redacted.

use std::{
    borrow::Cow,
    hash::{BuildHasher, Hash, Hasher},
    ops::{ControlFlow, Deref},
};

use ahash::RandomState;
use contrail_exchange::{
    Headers, Pointer, Request,
    json::{self, Kind, Node},
    label,
};
use contrail_recording::{
    IgnoreSet,
    fixture::{
        ignore::tokens,
        request_parts::{Content, Field, Pair, Parts, Value},
    },
};

use super::conditions::Conditions;

/// The places of a recorded request that are not there, so that any value matches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Mask {
    /// Any body, the least specific; sorts last.
    pub(super) any_body: bool,
    /// Places in the body.
    pub(super) places: Vec<Pointer>,
    /// A body that has no places because it is malformed: its text with labels, each of which stands for any text.
    pub(super) text: Option<String>,
    /// Query parameters, by decoded name.
    pub(super) query: Vec<Vec<u8>>,
    /// Path segments, by index.
    pub(super) segments: Vec<usize>,
}

impl Mask {
    /// The mask of a recorded request: what was redacted, and whether there is a body to compare.
    pub(super) fn of(request: &Request, parts: &Parts, has_label: &dyn Fn(&str) -> bool) -> Self {
        let label = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok_and(has_label);
        let mut query: Vec<Vec<u8>> =
            parts.query.iter().filter(|pair| label(&pair.value)).map(|pair| pair.name.clone()).collect();
        query.dedup();
        // A label in a segment is one in the path, unless it is encoded.
        let path = Some(&parts.path).filter(|path| memchr::memchr(b'%', path.as_bytes()).is_some() || has_label(path));
        let segments = path
            .into_iter()
            .flat_map(|path| path.split('/'))
            .enumerate()
            .filter(|(_, segment)| match memchr::memchr(b'%', segment.as_bytes()) {
                None => has_label(segment),
                Some(_) => label(&Cow::from(percent_encoding::percent_decode_str(segment))),
            })
            .map(|(at, _)| at)
            .collect();
        let hidden = request.body.redacted.iter().any(String::is_empty);
        let text = match &parts.body {
            Content::Bytes(bytes) if hidden && request.body.malformed => Some(latin(bytes)),
            _ => None,
        };
        let any_body = matches!(parts.body, Content::Unseen(_)) || (hidden && text.is_none());
        let mut places = if any_body { Vec::new() } else { request.body.redacted.clone() };
        places.sort_unstable();
        places.dedup();
        places.retain(|place| !place.is_empty());
        Self { any_body, places, text, query, segments }
    }

    /// Whether every place has to be equal.
    pub(super) fn is_exact(&self) -> bool {
        let Self { any_body, places, text, query, segments } = self;
        !any_body && places.is_empty() && text.is_none() && query.is_empty() && segments.is_empty()
    }

    /// Whether a malformed body is the recorded one but for what its labels stand for.
    pub(super) fn fits(&self, bytes: &[u8]) -> bool {
        self.text.as_ref().is_some_and(|text| label::matches(text, &latin(bytes)))
    }

    /// What a match that needs this mask has to say.
    pub(super) fn describe(&self) -> String {
        let mut places: Vec<String> = Vec::new();
        if self.any_body {
            places.push("its body is incomplete in the recording, so any body matches".to_owned());
        }
        if self.text.is_some() {
            places.push("parts of its malformed body are redacted in the recording".to_owned());
        }
        places.extend(self.places.iter().map(|place| format!("`{place}` is redacted in the recording")));
        places.extend(
            self.query.iter().map(|name| {
                format!("query parameter `{}` is redacted in the recording", String::from_utf8_lossy(name))
            }),
        );
        if !self.segments.is_empty() {
            places.push("its path is redacted in the recording".to_owned());
        }
        places.join(", ")
    }
}

/// Makes keys; two processes never make the same ones, so collisions cannot be prepared.
#[derive(Debug, Default)]
pub(super) struct Keys(RandomState, RandomState);

/// A keyed hash of a request, or of its method and path.
pub(super) type Key = [u8; 16];

impl Keys {
    /// The key of site, method and path, with the segments at `masked` left out.
    pub(super) fn line(&self, site: &str, method: &str, path: &str, masked: &[usize]) -> Key {
        let mut sink = self.sink();
        sink.text(site.as_bytes());
        sink.text(method.as_bytes());
        if masked.is_empty() {
            sink.text(path.as_bytes());
        } else {
            for (at, segment) in path.split('/').enumerate() {
                if masked.contains(&at) {
                    sink.tag(0);
                } else {
                    sink.text(segment.as_bytes());
                }
            }
        }
        sink.key()
    }

    /// A request by its bytes, as far as they take part in the comparison or in the check, the credential aside.
    pub(super) fn sent(&self, request: &Request) -> Sent {
        let mut sink = self.sink();
        sink.text(request.method.as_str().as_bytes());
        let target = &request.target;
        for part in [&target.scheme, &target.authority, &target.path_and_query] {
            sink.text(part.as_bytes());
        }
        let mut media_types = request.headers.get_all("content-type");
        sink.text(media_types.next().map_or(b"", |value| value.as_bytes()));
        for further in media_types {
            sink.tag(1);
            sink.text(further.as_bytes());
        }
        sink.text(&request.body.content);
        if !request.body.is_whole() {
            sink.tag(0);
        }
        sink.sent()
    }

    /// The key of a request whose method and path have the key `line`, under `mask`.
    pub(super) fn request(&self, line: Key, parts: &Parts, mask: &Mask, ignored: &IgnoreSet) -> Key {
        let mut sink = self.sink();
        sink.put(&line);
        if !mask.is_exact() {
            sink.value(mask);
        }
        for Pair { name, value } in &parts.query {
            if ignored.leaves_out_parameter(name) {
                continue;
            }
            sink.text(name);
            if mask.query.contains(name) {
                sink.tag(1);
            } else {
                sink.text(value);
            }
        }
        sink.tag(2);
        if !mask.any_body && !ignored.body {
            let mut canonical = String::new();
            canonical_body(&parts.body, mask, ignored, &mut |piece| sink.text(piece), &mut canonical);
        }
        sink.key()
    }

    /// The key of a request with what is ignored; `line` is the one without it.
    pub(super) fn exact(&self, line: Key, parts: &Parts, mask: &Mask, ignored: &IgnoreSet) -> Key {
        let line = if ignored.leaves_out_segments() {
            self.line(&parts.site, parts.method.as_str(), &parts.path, &mask.segments)
        } else {
            line
        };
        self.request(line, parts, mask, &IgnoreSet::default())
    }

    /// A keyed hash of anything.
    pub(super) fn hash(&self, value: &(impl Hash + ?Sized)) -> u64 {
        self.0.hash_one(value)
    }

    /// What a request's answer depends on of what its client holds.
    pub(super) fn conditions(&self, headers: &Headers) -> Conditions {
        Conditions::of(headers, &self.0)
    }

    fn sink(&self) -> Sink<impl Hasher + use<>> {
        Sink { hashers: (self.0.build_hasher(), self.1.build_hasher()), held: [0; HELD], length: 0, hashed: false }
    }
}

/// A request as it is known by its bytes: the bytes where they are few, else their key, which is shorter than any of
/// them.
pub(super) struct Sent {
    held: [u8; HELD],
    length: usize,
}

impl Deref for Sent {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.held[..self.length]
    }
}

/// Bytes that are hashed together: a word at a time a hasher takes longer than to look at several.
const HELD: usize = 256;

struct Sink<H> {
    hashers: (H, H),
    /// What waits to be hashed.
    held: [u8; HELD],
    length: usize,
    /// More than that was to be held.
    hashed: bool,
}

impl<H: Hasher> Sink<H> {
    fn text(&mut self, bytes: &[u8]) {
        self.put(&bytes.len().to_ne_bytes());
        self.put(bytes);
    }

    /// Something that no text is taken for.
    fn tag(&mut self, tag: u8) {
        self.put(&usize::MAX.to_ne_bytes());
        self.put(&[tag]);
    }

    fn value(&mut self, value: &impl Hash) {
        self.flush();
        value.hash(&mut self.hashers.0);
        value.hash(&mut self.hashers.1);
    }

    fn put(&mut self, bytes: &[u8]) {
        if let Some(room) = self.held[self.length..].get_mut(..bytes.len()) {
            room.copy_from_slice(bytes);
            self.length += bytes.len();
        } else {
            self.flush();
            self.hashers.0.write(bytes);
            self.hashers.1.write(bytes);
        }
    }

    fn flush(&mut self) {
        self.hashed = true;
        let held = &self.held[..std::mem::take(&mut self.length)];
        self.hashers.0.write(held);
        self.hashers.1.write(held);
    }

    fn key(mut self) -> Key {
        self.flush();
        let key = u128::from(self.hashers.0.finish()) << 64 | u128::from(self.hashers.1.finish());
        key.to_ne_bytes()
    }

    fn sent(self) -> Sent {
        if !self.hashed {
            return Sent { held: self.held, length: self.length };
        }
        let key = self.key();
        let mut held = [0; HELD];
        held[..key.len()].copy_from_slice(&key);
        Sent { held, length: key.len() }
    }
}

/// What happens at a place of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edit {
    /// Any value of its type is the same.
    Mask,
    /// It does not count, there or not.
    Leave,
}

/// An edit with what is left of its path.
type Step<'a> = (&'a [String], Edit);

fn canonical_body(body: &Content, mask: &Mask, ignored: &IgnoreSet, emit: &mut dyn FnMut(&[u8]), scratch: &mut String) {
    let masked: Vec<Vec<String>> = mask.places.iter().map(|place| tokens(place)).collect();
    let steps: Vec<Step<'_>> = masked
        .iter()
        .map(|place| (place.as_slice(), Edit::Mask))
        .chain(ignored.pointers.iter().map(|place| (place.as_slice(), Edit::Leave)))
        .collect();
    match body {
        Content::Absent => emit(b"absent"),
        // Equal to nothing but a masked body; and two of them never differ in what can be seen.
        Content::Unseen(_) => emit(b"unseen"),
        Content::Json(document) => {
            emit(b"json");
            canonical(document.root(), &steps, scratch);
            emit(scratch.as_bytes());
        }
        Content::Form(fields) | Content::Multipart(fields) => {
            emit(if matches!(body, Content::Form(_)) { b"form" } else { b"multipart" });
            for text in fields.iter().filter_map(|field| canonical_field(field, &steps)) {
                emit(text.as_bytes());
            }
        }
        Content::Bytes(bytes) => {
            emit(b"bytes");
            // The mask itself is a part of the key.
            if !mask.fits(bytes) {
                emit(bytes);
            }
        }
    }
}

/// Bytes as text, each of them a character: what is malformed need not be UTF-8.
fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The field's canonical text; `None` if it does not count.
fn canonical_field(field: &Field, steps: &[Step<'_>]) -> Option<String> {
    let name = String::from_utf8_lossy(&field.name);
    let ControlFlow::Continue((here, below)) = descend(&name, steps) else { return None };
    let mut text = String::new();
    json::quote(&hex_unless_text(&field.name), &mut text);
    if let Some(file) = &field.file {
        text.push(';');
        json::quote(file, &mut text);
    }
    text.push(':');
    match &field.value {
        _ if here => text.push('*'),
        Value::Json(document) => canonical(document.root(), &below, &mut text),
        Value::Bytes(_) if below.iter().any(|(_, edit)| *edit == Edit::Mask) => text.push('*'),
        Value::Bytes(bytes) => {
            text.push('t');
            json::quote(&hex_unless_text(bytes), &mut text);
        }
    }
    Some(text)
}

fn hex_unless_text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| format!("\u{0}{}", bytes.escape_ascii()), str::to_owned)
}

/// The steps that go on below the member or item `token`, and whether it is masked itself; breaks if it is left out.
fn descend<'a>(token: &str, steps: &[Step<'a>]) -> ControlFlow<(), (bool, Vec<Step<'a>>)> {
    let mut here = false;
    let mut below = Vec::new();
    for (path, edit) in steps {
        let Some((first, rest)) = path.split_first() else { continue };
        if first != token && !(first == "*" && *edit == Edit::Leave) {
            continue;
        }
        match (rest.is_empty(), edit) {
            (true, Edit::Leave) => return ControlFlow::Break(()),
            (true, Edit::Mask) => here = true,
            (false, _) => below.push((rest, *edit)),
        }
    }
    ControlFlow::Continue((here, below))
}

/// As [`Node::canonical`], with the edits made. Recurses only along their paths.
fn canonical(node: Node<'_>, steps: &[Step<'_>], out: &mut String) {
    if steps.is_empty() {
        return node.canonical(out);
    }
    match node.kind() {
        Kind::Object => {
            let mut members: Vec<_> = node.members().collect();
            members.sort_by(|left, right| left.0.cmp(&right.0));
            out.push('{');
            for (name, value) in members {
                let ControlFlow::Continue((here, below)) = descend(&name, steps) else { continue };
                json::quote(&name, out);
                out.push(':');
                canonical_value(value, here, &below, out);
                out.push(',');
            }
            out.push('}');
        }
        Kind::Array => {
            out.push('[');
            for (at, value) in node.items().enumerate() {
                let ControlFlow::Continue((here, below)) = descend(&at.to_string(), steps) else { continue };
                canonical_value(value, here, &below, out);
                out.push(',');
            }
            out.push(']');
        }
        _ => node.canonical(out),
    }
}

fn canonical_value(value: Node<'_>, here: bool, below: &[Step<'_>], out: &mut String) {
    if here {
        out.push('*');
        out.push_str(kind_name(value.kind()));
    } else {
        canonical(value, below, out);
    }
}

/// The type's name in JSON Schema's words.
pub(super) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Boolean => "boolean",
        Kind::Number => "number",
        Kind::String => "string",
        Kind::Array => "array",
        Kind::Object => "object",
    }
}
