//! Finding known secrets again by value, in whatever coding.

use std::{cell::LazyCell, ops::Range, sync::Arc};

use super::index::{Index, KnownMatch};
use crate::json::{Document, Kind as JsonKind, Node};
use crate::redact::{
    Bounds, Hit, Redactor,
    find::{
        steps::looked,
        walk::{Places, Token, Walk},
    },
    kind::{self, MatchScope},
    label,
    mark::Mark,
    view::{self, View},
};

/// How many codings are undone one inside the other.
const MAX_DEPTH: usize = 3;

/// In longer texts only one.
const MAX_DECODED: usize = 1 << 18;

/// How a text is read.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::redact) struct Reading {
    /// It is a path or may hold one.
    pub(in crate::redact) path: bool,
    /// `+` is a space (queries, forms).
    pub(in crate::redact) plus: bool,
}

/// Known secrets in a text, any coding undone. Ranges are those of `text`.
pub(in crate::redact) fn find(index: &Index, text: &[u8], reading: Reading, out: &mut Vec<Mark>) {
    let blanks = reading.plus && index.blanks && memchr::memchr(b'+', text).is_some();
    if blanks || is_worth(index, text) {
        let mut found = Vec::new();
        let depth = if text.len() > MAX_DECODED { 1 } else { MAX_DEPTH };
        find_at(index, text, reading, depth, &mut found);
        // A secret that is there as it is comes before one that is coded in it.
        found.sort_by_key(|found| found.form);
        out.extend(found.into_iter().map(|found| Mark::part(found.range, found.secret)));
    }
}

fn find_at(index: &Index, text: &[u8], reading: Reading, depth: usize, out: &mut Vec<KnownMatch>) {
    index.search(text, reading.path, out);
    if depth == 0 {
        return;
    }
    let plus = reading.plus && index.blanks;
    for view in [View::percent(text, plus), View::unescape(text), View::entities(text)].into_iter().flatten() {
        let mut inner = Vec::new();
        find_at(index, &view.text, Reading { plus: false, ..reading }, depth - 1, &mut inner);
        out.extend(inner.into_iter().map(|found| KnownMatch { range: view.source(&found.range), ..found }));
    }
}

/// Whether [`find`] could find anything.
pub(in crate::redact) fn is_worth(index: &Index, text: &[u8]) -> bool {
    if index.is_empty() {
        return false;
    }
    index.touches(text) || memchr::memchr3_iter(b'%', b'\\', b'&', text).any(|at| hides(index, &text[at..]))
}

/// The same for a part of a form, percent-encoded, of which `view` shows what it stands for.
pub(in crate::redact) fn is_worth_decoded(index: &Index, text: &[u8], view: &View) -> bool {
    // A `+` is a space there, and itself in what `find` looks at.
    let is_another = !index.blanks && memchr::memchr(b'+', text).is_some();
    is_another
        || index.touches(text)
        || memchr::memchr2_iter(b'\\', b'&', text).any(|at| hides(index, &text[at..]))
        || is_worth(index, &view.text)
}

/// Whether a text begins with a coding in which a secret may stand otherwise than as it is.
fn hides(index: &Index, text: &[u8]) -> bool {
    match text {
        // Other escapes are those of bytes that no secret may hold.
        [b'\\', next, ..] => index.escaped || matches!(next, b'u' | b'/'),
        _ => view::is_coded(text),
    }
}

impl Redactor {
    /// Looks for every secret seen so far, raw and in base64, hex, percent-encoded and escaped form. For the proof at
    /// the end of a recording; the bytes may be a whole file or a line of it.
    ///
    /// Values that redaction leaves to their fields (short or common ones) are not looked for.
    #[must_use]
    pub fn scan(&self, bytes: &[u8]) -> Vec<Hit> {
        let index = self.memory().index();
        let memory = self.memory();
        let mut hits: Vec<Hit> = scan(&index, bytes)
            .into_iter()
            .map(|(found, form)| {
                let secret = memory.secret(found.secret);
                Hit {
                    offset: found.range.start,
                    kind: secret.kind.name(),
                    form,
                    label: label::text(secret.kind, secret.number, Bounds::default()),
                }
            })
            .collect();
        hits.sort_by(|one, other| (one.offset, &one.label).cmp(&(other.offset, &other.label)));
        hits.dedup_by(|one, other| one.offset == other.offset && one.label == other.label);
        hits
    }

    /// Known secrets in a JSON document, in names, strings and numbers. Ranges are those of its source.
    pub(in crate::redact) fn mark_known_json(
        &self,
        index: &Index,
        document: &Document,
        places: &Places<'_>,
        out: &mut Vec<Mark>,
    ) {
        if index.is_empty() || !is_worth(index, document.source()) {
            return;
        }
        let mut walk: Walk<'_, ()> = Walk::new();
        self.mark_known_value(index, &mut walk, &Token::Root, document.root(), places, out);
        while let Some((node, ())) = walk.next() {
            for (at, item) in node.items().enumerate() {
                self.mark_known_value(index, &mut walk, &Token::Index(at), item, places, out);
            }
            for (name, value) in node.entries() {
                mark_known_string(index, name, None, out);
                let token = Token::Name(name.as_str().unwrap_or_default());
                self.mark_known_value(index, &mut walk, &token, value, places, out);
            }
        }
    }

    fn mark_known_value<'d>(
        &self,
        index: &Index,
        walk: &mut Walk<'d, ()>,
        token: &Token<'d>,
        node: Node<'d>,
        places: &Places<'_>,
        out: &mut Vec<Mark>,
    ) {
        match node.kind() {
            JsonKind::Null | JsonKind::Boolean => {}
            JsonKind::Number => {
                let raw = node.raw().as_bytes();
                let known = (kind::match_scope(raw) != MatchScope::Field).then(|| self.memory().known(raw)).flatten();
                out.extend(known.map(|id| Mark {
                    place: Some(places.of(walk, token).into()),
                    number: true,
                    ..Mark::value(node.span(), id)
                }));
            }
            JsonKind::String => mark_known_string(index, node, Some(&|| places.of(walk, token)), out),
            JsonKind::Array | JsonKind::Object => walk.open(token.clone(), node, ()),
        }
    }
}

fn mark_known_string(index: &Index, node: Node<'_>, place: Option<&dyn Fn() -> String>, out: &mut Vec<Mark>) {
    let raw = node.raw().as_bytes();
    let inner = &raw[1..raw.len() - 1];
    if !is_worth(index, inner) {
        return;
    }
    let start = node.span().start + 1;
    let mut found = Vec::new();
    // The text itself first; what its escapes stand for comes from the view.
    find(index, inner, Reading::default(), &mut found);
    let escapes = LazyCell::new(|| escapes(inner));
    found.retain(|mark| !cuts(&escapes, mark.range.start) && !cuts(&escapes, mark.range.end));
    if found.is_empty() {
        return;
    }
    let place: Option<Arc<str>> = place.map(|place| place().into());
    out.extend(found.into_iter().map(|mark| Mark {
        whole: mark.range == (0..inner.len()),
        range: start + mark.range.start..start + mark.range.end,
        place: place.clone(),
        ..mark
    }));
}

/// The escapes in a JSON string's inner text.
fn escapes(inner: &[u8]) -> Vec<Range<usize>> {
    looked(inner.len());
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'\\', inner.get(at..).unwrap_or_default()) {
        let start = at + start;
        at = start + if inner.get(start + 1) == Some(&b'u') { 6 } else { 2 };
        found.push(start..at);
    }
    found
}

/// Whether a range that begins or ends here cuts an escape in two (base64 in the escape's own letters).
fn cuts(escapes: &[Range<usize>], edge: usize) -> bool {
    let before = escapes.partition_point(|escape| escape.start < edge);
    before.checked_sub(1).is_some_and(|last| edge < escapes[last].end)
}

/// Every known secret in bytes of a file, with its form.
pub(in crate::redact) fn scan(index: &Index, bytes: &[u8]) -> Vec<(KnownMatch, &'static str)> {
    let mut out = Vec::new();
    if index.is_empty() {
        return out;
    }
    // Read as a path: a word that may stand in a path is no proof of a secret.
    let reading = Reading { path: true, plus: false };
    let mut raw = Vec::new();
    index.search(bytes, true, &mut raw);
    out.extend(raw.into_iter().map(|found| {
        let form = found.form.name();
        (found, form)
    }));
    let views = [
        (View::percent(bytes, false), "percent-encoded"),
        (index.blanks.then(|| View::percent(bytes, true)).flatten(), "percent-encoded"),
        (View::unescape(bytes), "escaped"),
        (View::entities(bytes), "escaped"),
    ];
    for (view, form) in views {
        let Some(view) = view else { continue };
        let mut found = Vec::new();
        find_at(index, &view.text, reading, MAX_DEPTH - 1, &mut found);
        out.extend(found.into_iter().map(|found| (KnownMatch { range: view.source(&found.range), ..found }, form)));
    }
    out
}
