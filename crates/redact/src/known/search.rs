//! Finding known secrets again by value, in whatever coding.

use contrail_exchange::json::{Document, Kind as JsonKind, Node};

use super::index::{Form, Index, KnownMatch};
use crate::{
    Bounds, Hit, Redactor,
    find::{
        hints,
        walk::{self, Places},
    },
    kind::{self, MatchScope},
    mark::{self, Mark},
    runs,
    view::View,
};

/// How many codings are undone one inside the other.
const MAX_DEPTH: usize = 3;

/// Known secrets in a text, any coding undone; `path` says that it is a path or may hold one, or a name. Ranges are those of
/// `text`.
pub(crate) fn find(index: &Index, text: &[u8], path: bool, out: &mut Vec<Mark>) {
    if is_worth(index, text) {
        out.extend(all(index, text, path).into_iter().map(|found| Mark::part(found.range, found.secret)));
    }
}

/// Every known secret in a text; one that is there as it is comes before one that is coded in it.
pub(super) fn all(index: &Index, text: &[u8], path: bool) -> Vec<KnownMatch> {
    let mut found = Vec::new();
    find_at(index, text, path, MAX_DEPTH, &mut found);
    found.sort_by_key(|found| found.form);
    found
}

fn find_at(index: &Index, text: &[u8], path: bool, depth: usize, out: &mut Vec<KnownMatch>) {
    index.search(text, path, out);
    if depth == 0 {
        return;
    }
    let blanks = index.blanks && memchr::memchr(b'+', text).is_some();
    for (view, form) in [
        (View::percent(text, false), Form::Percent),
        (blanks.then(|| View::percent(text, true)).flatten(), Form::Percent),
        (View::unescape(text), Form::Escaped),
        (View::entities(text), Form::Escaped),
    ] {
        let Some(view) = view else { continue };
        let mut inner = Vec::new();
        find_at(index, &view.text, path, depth - 1, &mut inner);
        let outer = |found: KnownMatch| KnownMatch { range: view.source(&found.range), form, ..found };
        out.extend(inner.into_iter().map(outer));
    }
    runs::decode(text, |decoded| {
        let mut inner = Vec::new();
        find_at(index, &decoded.plain, path, depth - 1, &mut inner);
        let form = if decoded.is_hex { Form::Hex } else { Form::Base64 };
        let outer = |found: KnownMatch| KnownMatch { range: decoded.source(text, &found.range), form, ..found };
        out.extend(inner.into_iter().map(outer));
    });
}

/// Whether [`find`] could find anything.
pub(crate) fn is_worth(index: &Index, text: &[u8]) -> bool {
    !index.is_empty() && (is_worth_uncoded(index, text) || hints::may_hide(text))
}

/// The same of a text in which nothing is percent-encoded, an entity, or a text in base64 or hex.
pub(crate) fn is_worth_uncoded(index: &Index, text: &[u8]) -> bool {
    // Other escapes are those of bytes that no secret holds.
    let holds = |escape: &[u8]| memchr::memmem::find(text, escape).is_some();
    let escapes = || index.escaped || holds(b"\\u") || holds(b"\\/");
    !index.is_empty()
        && (index.touches(text)
            || index.blanks && memchr::memchr(b'+', text).is_some()
            || memchr::memchr(b'\\', text).is_some() && escapes())
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
        // Read as a path: a word that may stand in a path is no proof of a secret.
        let found = if is_worth(&index, bytes) { all(&index, bytes, true) } else { Vec::new() };
        let mut hits: Vec<Hit> = found
            .into_iter()
            .map(|found| {
                let secret = memory.secret(found.secret);
                Hit {
                    offset: found.range.start,
                    kind: secret.kind.name(),
                    form: found.form.name(),
                    label: secret.label(false, Bounds::default()),
                }
            })
            .collect();
        hits.sort_by(|one, other| (one.offset, &one.label).cmp(&(other.offset, &other.label)));
        hits.dedup_by(|one, other| one.offset == other.offset && one.label == other.label);
        hits
    }

    /// Known secrets in a JSON document, in names, strings and numbers. Ranges are those of its source.
    pub(crate) fn mark_known_json(&self, index: &Index, document: &Document, places: &Places<'_>, out: &mut Vec<Mark>) {
        if !is_worth(index, document.source()) {
            return;
        }
        walk::visit(document, places, |node, place| match (node.kind(), place) {
            (JsonKind::Number, Some(place)) => {
                let raw = node.raw().as_bytes();
                let known = (kind::match_scope(raw) != MatchScope::Field).then(|| self.memory().known(raw)).flatten();
                let place = || Some(place().into());
                out.extend(known.map(|id| Mark { place: place(), number: true, ..Mark::value(node.span(), id) }));
            }
            _ => mark_known_string(index, node, place, out),
        });
    }
}

fn mark_known_string(index: &Index, node: Node<'_>, place: Option<&dyn Fn() -> String>, out: &mut Vec<Mark>) {
    let raw = node.raw_bytes();
    if is_worth(index, &raw[1..raw.len() - 1]) {
        let mut found = Vec::new();
        find(index, node.as_str().unwrap_or_default().as_bytes(), place.is_none(), &mut found);
        mark::put_in(node, found, place, out);
    }
}
