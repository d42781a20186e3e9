//! Secrets of header fields, by their names, their schemes and their shapes.

use std::ops::Range;

use http::HeaderName;

use super::kind::{self, Kind};
use crate::redact::{Redactor, apply::spans::Mark, known::memory::Id};
use crate::token::SCHEMES;

impl Redactor {
    /// Secrets of a header field by its name, its scheme, its shape.
    pub(in crate::redact) fn detect_header(&self, name: &HeaderName, value: &[u8]) -> Vec<Mark> {
        let mut marks = Vec::new();
        match self.header_kind(name) {
            None => {
                // Text of a client's or a server's own making; most names hold nothing else.
                self.detect_text(value, 2, &mut marks);
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

    /// Of a credential that is several words (a scheme that nobody knows, a token given twice), each may come again by
    /// itself. Parameters (`uri="…"`) are not all secrets, and words of a language are none.
    fn learn_words(&self, value: &[u8], kind: Kind) {
        let is_blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b';');
        if !value.iter().any(is_blank) {
            return;
        }
        for word in value.split(is_blank) {
            let unpadded = word.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
            let is_parameter = word.iter().take(unpadded).any(|byte| *byte == b'=');
            let is_key =
                word.len() >= 12 && word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_alphabetic);
            if is_key && !is_parameter {
                self.learn(word, kind);
            }
        }
    }

    /// A credential, and what it is made of; the same one comes with every request of its client, and is read once.
    fn learn_credential(&self, secret: &[u8], kind: Kind) -> Option<Id> {
        if let Some(known) = self.memory().opened(secret) {
            return Some(known);
        }
        if kind == Kind::Basic {
            self.learn_basic(secret);
        } else {
            self.detect_text(secret, 1, &mut Vec::new());
            self.learn_words(secret, kind);
        }
        let id = self.learn(secret, kind)?;
        self.memory().set_opened(id);
        Some(id)
    }

    /// What the name of a header field says of its value.
    fn header_kind(&self, name: &HeaderName) -> Option<Kind> {
        if self.plan.names_header(name) { Some(Kind::Custom) } else { kind::by_header(name.as_str()) }
    }

    /// Every value of a `Cookie` field, or the value of a `Set-Cookie`; names and attributes stay.
    fn detect_cookies(&self, value: &[u8], set: bool, marks: &mut Vec<Mark>) {
        self.reserve_labels(value);
        let mut start = 0;
        for piece in value.split(|byte| *byte == b';') {
            let equals = memchr::memchr(b'=', piece).map_or(0, |at| at + 1);
            let inner = &piece[equals..];
            let trimmed = inner.trim_ascii();
            let from = start + equals + (inner.len() - inner.trim_ascii_start().len());
            let (from, trimmed) = match trimmed {
                [b'"', quoted @ .., b'"'] => (from + 1, quoted),
                _ => (from, trimmed),
            };
            marks.extend(self.learn(trimmed, Kind::Cookie).map(|id| Mark::value(from..from + trimmed.len(), id)));
            if set {
                break;
            }
            start += piece.len() + 1;
        }
    }
}

/// Which part of a field's value is the secret: what follows a known scheme, else all of it.
fn credential(value: &[u8], kind: Kind) -> (Range<usize>, Kind) {
    let start = value.len() - value.trim_ascii_start().len();
    let end = value.trim_ascii_end().len().max(start);
    let text = &value[start..end];
    if let Some(blank) = text.iter().position(u8::is_ascii_whitespace) {
        let scheme = &text[..blank];
        if let Some(known) = SCHEMES.iter().find(|known| scheme.eq_ignore_ascii_case(known.as_bytes())) {
            let rest = blank + (text[blank..].len() - text[blank..].trim_ascii_start().len());
            let kind = match *known {
                "Bearer" | "DPoP" | "Token" | "PrivateToken" | "OAuth" => Kind::Token,
                "Basic" => Kind::Basic,
                "ApiKey" => Kind::ApiKey,
                _ => kind,
            };
            return (start + rest..end, kind);
        }
    } else if SCHEMES.iter().any(|known| text.eq_ignore_ascii_case(known.as_bytes())) {
        // A scheme without credentials.
        return (end..end, kind);
    }
    (start..end, kind)
}
