//! Secrets of header fields, by their names, their schemes and their shapes.

use std::ops::Range;

use contrail_exchange::token::{known_scheme, split_scheme};
use http::{HeaderName, header};

use super::{fields::fields, header_names};
use crate::{
    Redactor,
    kind::{self, Kind},
    mark::{self, Id, Mark},
};

impl Redactor {
    /// Secrets of a header field by its name, its scheme, its shape.
    pub(crate) fn detect_header(&self, name: &HeaderName, value: &[u8]) -> Vec<Mark> {
        let mut marks = Vec::new();
        match self.header_kind(name, value) {
            None if name == header::SEC_WEBSOCKET_PROTOCOL => self.detect_protocols(value, &mut marks),
            None => {
                // Text of a client's or a server's own making; most names hold nothing else.
                self.detect_text(value, 2, &mut marks);
                self.detect_addresses(value, &mut marks);
            }
            Some(Kind::Cookie) => self.detect_cookies(value, name.as_str().starts_with("set-"), &mut marks),
            Some(kind) => {
                self.reserve_labels(value);
                let (range, kind) = credential(value, kind);
                marks.extend(self.learn_credential(&value[range.clone()], kind).map(|id| Mark::value(range, id)));
            }
        }
        marks
    }

    /// Of a credential that is several words (an unknown scheme, a token given twice), each may come again by
    /// itself. Parameters (`uri="…"`) are not all secrets, and words of a language are none.
    fn learn_words(&self, value: &[u8], kind: Kind) {
        let is_blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b';');
        if !value.iter().any(is_blank) {
            return;
        }
        for word in value.split(is_blank) {
            let unpadded = word.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
            let is_parameter = word.iter().take(unpadded).any(|byte| *byte == b'=');
            if kind::is_opaque(word) && !is_parameter {
                self.learn(word, kind);
            }
        }
    }

    /// A credential, and what it is made of.
    fn learn_credential(&self, secret: &[u8], kind: Kind) -> Option<Id> {
        if kind == Kind::Basic {
            self.learn_basic(secret);
        } else {
            self.detect_text(secret, 1, &mut Vec::new());
            self.learn_words(secret, kind);
        }
        self.learn(secret, kind)
    }

    /// Credentials among the names of protocols, where browsers have no other place for them: `bearer, …`.
    fn detect_protocols(&self, value: &[u8], marks: &mut Vec<Mark>) {
        self.detect_text(value, 2, marks);
        let mut announced = None;
        let mut start = 0;
        for member in value.split(|byte| *byte == b',') {
            let blank = member.len() - member.trim_ascii_start().len();
            let text = member.trim_ascii();
            let range = start + blank..start + blank + text.len();
            start += member.len() + 1;
            let name = std::str::from_utf8(text).unwrap_or_default();
            if let Some(kind) = announced.take() {
                marks.extend(self.learn(text, kind).map(|id| Mark::part(range, id)));
            } else {
                announced = header_names::by_header(&name.to_ascii_lowercase());
            }
        }
    }

    /// What the name of a header field states about its value.
    fn header_kind(&self, name: &HeaderName, value: &[u8]) -> Option<Kind> {
        if self.plan.names_header(name) {
            return Some(Kind::Custom);
        }
        header_names::by_header(name.as_str())
            .or_else(|| self.plan.is_key_header(name).then_some(Kind::ApiKey))
            .or_else(|| header_names::by_value(name.as_str(), value))
    }

    /// Queries and fragments of the addresses in a text.
    pub(crate) fn detect_addresses(&self, value: &[u8], marks: &mut Vec<Mark>) {
        // Without an `&` a query is one field, whose name is as it stands.
        let plain =
            self.hints(value).is_none() && !self.plan.names_parameters() && memchr::memchr(b'&', value).is_none();
        if plain || !matches!(value, [b'/', ..]) && memchr::memmem::find(value, b"://").is_none() {
            return;
        }
        let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'<' | b'>');
        let mut at = 0;
        while let Some(start) = memchr::memchr2(b'?', b'#', &value[at..]).map(|found| at + found + 1) {
            let end = value[start..]
                .iter()
                .position(|byte| ends(byte) || *byte == b'#')
                .map_or(value.len(), |end| start + end);
            let query = &value[start..end];
            let found = |inner: &mut _| self.detect_fields(query, &fields(query), false, inner);
            mark::inside(marks, start, None, found).iter_mut().for_each(Mark::become_part);
            at = end;
        }
    }

    /// Every value of a `Cookie` field, or of each cookie in a `Set-Cookie`; names and attributes stay.
    fn detect_cookies(&self, value: &[u8], set: bool, marks: &mut Vec<Mark>) {
        self.reserve_labels(value);
        let mut is_attribute = false;
        for piece in cookie_pieces(value) {
            let cookies = if set { folded_cookies(value, piece) } else { vec![(piece, false)] };
            for (range, is_folded) in cookies {
                if set && is_attribute && !is_folded {
                    mark::inside(marks, range.start, None, |inner| self.detect_text(&value[range], 2, inner));
                } else {
                    let range = cookie_value(value, range);
                    let id = self.learn(&value[range.clone()], Kind::Cookie);
                    marks.extend(id.map(|id| Mark::value(range, id)));
                }
                is_attribute = true;
            }
        }
    }
}

/// The pieces between semicolons. One inside of quotes ends a piece for some readers and none for others: then a piece
/// is all that is quoted.
fn cookie_pieces(value: &[u8]) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start <= value.len() {
        let rest = &value[start..];
        let mut end = memchr::memchr(b';', rest).unwrap_or(rest.len());
        if let Some(quote) = memchr::memchr(b'"', &rest[..end])
            && let Some(close) = memchr::memchr(b'"', &rest[quote + 1..]).map(|close| quote + 1 + close)
            && close > end
        {
            end = close + memchr::memchr(b';', &rest[close..]).unwrap_or(rest.len() - close);
        }
        pieces.push(start..start + end);
        start += end + 1;
    }
    pieces
}

/// The parts of a piece that several folded fields make: a comma before `name=` begins another cookie, as in
/// `Path=/, sid=…`. The one in a date does not.
fn folded_cookies(value: &[u8], piece: Range<usize>) -> Vec<(Range<usize>, bool)> {
    let mut parts = vec![(piece.clone(), false)];
    if value[piece.clone()].contains(&b'"') {
        return parts;
    }
    for comma in memchr::memchr_iter(b',', &value[piece.clone()]).map(|at| piece.start + at) {
        let next = &value[comma + 1..piece.end];
        let name = next.iter().take_while(|byte| !matches!(byte, b',' | b'=')).count();
        let is_name = |name: &[u8]| !name.is_empty() && !name.iter().any(u8::is_ascii_whitespace);
        if next.get(name) == Some(&b'=') && is_name(next[..name].trim_ascii()) {
            if let Some((last, _)) = parts.last_mut() {
                last.end = comma;
            }
            parts.push((comma + 1..piece.end, true));
        }
    }
    parts
}

/// The value of `name=value`, or of a value alone, without its quotes.
fn cookie_value(value: &[u8], cookie: Range<usize>) -> Range<usize> {
    let piece = &value[cookie.clone()];
    let equals = memchr::memchr(b'=', piece).map_or(0, |at| at + 1);
    let inner = &piece[equals..];
    let start = cookie.start + equals + (inner.len() - inner.trim_ascii_start().len());
    match inner.trim_ascii() {
        [b'"', quoted @ .., b'"'] => start + 1..start + 1 + quoted.len(),
        trimmed => start..start + trimmed.len(),
    }
}

/// Which part of a field's value is the secret: what follows a known scheme, else all of it.
fn credential(value: &[u8], kind: Kind) -> (Range<usize>, Kind) {
    let (scheme, rest) = split_scheme(value);
    let end = value.trim_ascii_end().len();
    let kind = match known_scheme(scheme) {
        None => return (value.len() - value.trim_ascii_start().len()..end, kind),
        Some("Bearer" | "DPoP" | "Token" | "PrivateToken" | "OAuth") => Kind::Token,
        Some("Basic") => Kind::Basic,
        Some("ApiKey") => Kind::ApiKey,
        Some(_) => kind,
    };
    (end - rest.len()..end, kind)
}
