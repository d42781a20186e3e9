//! Where the value behind a name and a sign begins and ends, by its longest reading.

use std::ops::Range;

use contrail_exchange::{label, token::known_scheme};

use super::{Reading, Sign, is_authorization, is_name, is_quote, skip};
use crate::{
    find::names::{self, FieldContext},
    kind::{self, Kind},
};

/// What may separate a value without quotes from what follows, or be a part of it.
const DELIMITERS: &[u8] = b"&;,<>(){}[]|\\";

/// What may follow a value in quotes.
const ENDS: &[u8] = b",}]);>&<";

/// A value by its longest reading.
pub(super) struct Value {
    pub(super) range: Range<usize>,
    /// What another reading takes for a secret inside of it.
    pub(super) shorter: Option<Range<usize>>,
}

/// Past what YAML writes before a value: a block's sign, a tag, an anchor, an item's dash.
fn after_yaml(text: &[u8], at: usize) -> usize {
    let end = match text.get(at) {
        Some(b'|' | b'>') => skip(text, at + 1, |byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-')),
        Some(b'!' | b'&') => skip(text, at + 1, |byte| byte.is_ascii_alphanumeric() || byte == b'!'),
        Some(b'-') => at + 1,
        _ => return at,
    };
    let next = skip(text, end, |byte| byte.is_ascii_whitespace());
    if next > end { next } else { at }
}

impl Reading<'_> {
    /// The value after a sign; `None` where it shows nothing.
    pub(super) fn value(&self, name: &Range<usize>, sign: &Sign<'_>, kind: Kind) -> Option<Value> {
        let text = self.text;
        let last = text[name.clone()].rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        // `code` is mostly the name of an error.
        let is_vague = kind == Kind::Code && last.eq_ignore_ascii_case(b"code")
            || std::str::from_utf8(last).is_ok_and(names::is_vague);
        let is_assigned = sign.written == b"=";
        let is_structured = self.is_line(name, sign) || is_assigned || sign.listed;
        // In prose it has to look random.
        let has_to_tell = is_vague || sign.written.is_empty();

        let at = self.blank(after_yaml(text, sign.value));
        let slashed = skip(text, at, |byte| byte == b'\\');
        let prefix = text[slashed..].iter().take(2).take_while(|byte| b"bBrRuU".contains(byte)).count();
        // ODBC has braces for quotes.
        let is_braced = last.eq_ignore_ascii_case(b"pwd") && is_assigned && text.get(at) == Some(&b'{');
        let closing = if is_braced { memchr::memchr(b'}', &text[at..self.line_end(at)]) } else { None };
        let value = if let Some(closing) = closing {
            Value { range: at + 1..self.looked(at, at + closing), shorter: None }
        } else if text.get(slashed + prefix).is_some_and(|byte| is_quote(*byte) && *byte != b'`') {
            self.string(slashed + prefix, slashed - at)
        } else {
            let at = if is_authorization(&text[name.clone()]) { self.after_scheme(at, sign) } else { at };
            let value = self.bare(at, sign, has_to_tell || !is_structured)?;
            let counted = text[name.clone()].to_ascii_lowercase().ends_with(b"tokens")
                && text[value.range.clone()].iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
            return Some(value).filter(|_| !counted);
        };
        let held = text[value.range.clone()].trim_ascii();
        let name = std::str::from_utf8(last).unwrap_or_default();
        let tells = names::selects(name, kind, held) && known_scheme(held).is_none();
        (!held.is_empty() && tells && (!has_to_tell || kind::is_opaque(held))).then_some(value)
    }

    /// Whether all of a line is `password: value`, one word with a digit.
    fn is_line(&self, name: &Range<usize>, sign: &Sign<'_>) -> bool {
        let starts = |byte: &&u8| !matches!(byte, b' ' | b'\t' | b'-');
        let before = self.text[..name.start].iter().rev().find(starts);
        if sign.written != b":" || before.is_some_and(|byte| !matches!(byte, b'\r' | b'\n')) {
            return false;
        }
        let is_password = self.text[name.clone()].to_ascii_lowercase().ends_with(b"password");
        let line = &self.text[sign.value..self.looked(sign.value, self.line_end(sign.value))];
        let word = line.trim_ascii();
        is_password && word.iter().any(u8::is_ascii_digit) && !word.iter().any(u8::is_ascii_whitespace)
    }

    fn line_end(&self, at: usize) -> usize {
        memchr::memchr2(b'\r', b'\n', &self.text[at..]).map_or(self.text.len(), |end| at + end)
    }

    /// Whether an expression of a programming language begins at `at`, which gives the value: a call, a variable.
    fn is_code(&self, at: usize) -> bool {
        let text = self.text;
        let end = self.looked(at, skip(text, at, |byte| byte.is_ascii_alphanumeric() || b"_$.".contains(&byte)));
        let path = std::str::from_utf8(&text[at..end]).unwrap_or_default();
        let is_path = path.contains('.') && !path.starts_with('.');
        let names = || path.split('.').any(|name| names::by_name(name, FieldContext::Member).is_some());
        match text.get(end) {
            Some(b'(') if !kind::is_opaque(path.as_bytes()) && !path.is_empty() => {
                // A text is the name of something (`getItem("token")`), or a secret itself.
                let argument = skip(text, end + 2, |byte| byte.is_ascii_alphabetic() || b"_-.".contains(&byte));
                match text.get(end + 1).copied() {
                    Some(b')') => true,
                    Some(byte) if is_quote(byte) => text.get(argument) == Some(&byte),
                    _ => is_path,
                }
            }
            Some(b'[') => !path.is_empty() && text.get(end + 1).is_some_and(|byte| is_quote(*byte)),
            next if next.is_none_or(|byte| byte.is_ascii_whitespace() || b";,)".contains(byte)) => {
                is_path && (path.starts_with("process.env.") || names())
                    || path.strip_prefix('$').is_some_and(|name| {
                        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
                    })
            }
            _ => false,
        }
    }

    /// A string whose opening quote is at `at`, behind `slashes` backslashes. It ends at a quote of its kind.
    fn string(&self, at: usize, slashes: usize) -> Value {
        let text = self.text;
        let (quote, inner) = (text[at], at + 1);
        let three = [quote; 3];
        if text[at..].starts_with(&three) {
            let inner = at + three.len();
            let end = memchr::memmem::find(&text[inner..], &three).map_or(text.len(), |end| inner + end);
            return Value { range: inner..self.looked(at, end), shorter: None };
        }
        let (mut end, mut first, mut from) = (None, None, inner);
        while let Some(found) = memchr::memchr(quote, &text[from..]).map(|found| from + found) {
            let before = text[inner..found].iter().rev().take_while(|byte| **byte == b'\\').count();
            let closes = if slashes == 0 { before % 2 == 0 } else { before <= slashes };
            // YAML doubles a quote in a string.
            let is_double = slashes == 0 && found > inner && text.get(found + 1) == Some(&quote);
            if closes && !is_double {
                end = Some(found - before.min(slashes));
                break;
            }
            first = first.or(Some(found - before));
            from = found + 1 + usize::from(closes && is_double);
        }
        self.looked(at, end.unwrap_or(text.len()));
        // Nothing closes it: its line does.
        let end = end.unwrap_or_else(|| self.line_end(inner));
        let shorter = first.filter(|first| *first < end).map(|first| inner..first);
        Value { range: inner..end, shorter }
    }

    /// A value without a quote before it. It goes on beyond what may separate it from another, unless another field
    /// follows, a tag or an entity.
    fn bare(&self, at: usize, sign: &Sign<'_>, has_to_tell: bool) -> Option<Value> {
        let (text, is_assigned) = (self.text, sign.written == b"=");
        let (plain_until, was_assigned) = self.plain.get();
        if has_to_tell && at < plain_until && is_assigned == was_assigned {
            return None;
        }
        if is_assigned && self.is_code(at) {
            return None;
        }
        let (mut end, mut piece) = (at, None);
        while let Some(byte) = text.get(end).copied() {
            if byte.is_ascii_whitespace() || is_quote(byte) && self.ends_value(end + 1) {
                break;
            }
            if !DELIMITERS.contains(&byte) {
                end += 1;
                continue;
            }
            let next = skip(text, end, |byte| DELIMITERS.contains(&byte));
            if self.begins_field(end..next, sign) {
                break;
            }
            piece = piece.or(Some(end).filter(|_| !b"[]|".contains(&byte)));
            end = next;
        }
        let until = self.looked(at, end);
        let trim =
            |end: usize, what: &[u8]| end - text[at..end].iter().rev().take_while(|byte| what.contains(byte)).count();
        end = trim(end, b" \t,;&\\");
        let is_open = text[at..end].iter().find(|byte| **byte != b'$').is_some_and(|byte| b"<({".contains(byte));
        if is_open && text[at..end].last().is_some_and(|byte| b">)}".contains(byte)) {
            return None; // it stands for a value
        }
        let start = at + usize::from(text.get(at) == Some(&b'`') && end > at);
        if label::begins(&text[start..]) {
            return None;
        }
        end = trim(end, b" \t,;:.&\\<>(){}[]|\"'`").max(start);
        if sign.written.is_empty() {
            end = trim(end, b".?!`").max(start);
        }
        let value = &text[start..end];
        let literals: [&[u8]; 11] =
            [b"null", b"nil", b"true", b"false", b"None", b"True", b"False", b"undefined", b"void", b"await", b"new"];
        if value.is_empty() || literals.contains(&value) {
            return None;
        }
        let tells = |range: Range<usize>| !(has_to_tell || is_open) || kind::is_opaque(&text[range]);
        if !tells(start..end) {
            self.plain.set((until, is_assigned));
            return None;
        }
        let piece = piece.filter(|piece| (start..end).contains(piece) && tells(start..*piece));
        Some(Value { range: start..end, shorter: piece.map(|piece| start..piece) })
    }

    /// Whether another field begins behind these delimiters, or they begin a tag that closes or an entity.
    fn begins_field(&self, delimiters: Range<usize>, sign: &Sign<'_>) -> bool {
        let text = self.text;
        let start = skip(text, delimiters.end, |byte| matches!(byte, b'#' | b'/' | b'\\') || is_quote(byte));
        let end = skip(text, start, is_name);
        let after = skip(text, end, |byte| byte == b'\\' || is_quote(byte));
        self.looked(delimiters.start, after);
        let delimiters = &text[delimiters];
        start < end
            && match text.get(after) {
                Some(b'=') => delimiters.ends_with(b"&") || sign.written.contains(&b'='),
                Some(b':') => sign.written.contains(&b':'),
                Some(b';') => delimiters.ends_with(b"&"),
                Some(b'>') => text[..start].ends_with(b"</"),
                _ => false,
            }
    }

    /// Whether what stands at `at`, behind a quote, can follow a value.
    fn ends_value(&self, at: usize) -> bool {
        let at = skip(self.text, at, |byte| byte == b'\\');
        self.text.get(at).is_none_or(|byte| ENDS.contains(byte) || byte.is_ascii_whitespace())
    }

    /// Past the scheme of a credential, where a label or what looks random follows.
    fn after_scheme(&self, at: usize, sign: &Sign<'_>) -> usize {
        let scheme = skip(self.text, at, |byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let next = skip(self.text, scheme, |byte| matches!(byte, b' ' | b'\t'));
        let is_credential = || label::begins(&self.text[next..]) || self.bare(next, sign, true).is_some();
        let follows = at < scheme && scheme < next && is_credential();
        if follows { next } else { at }
    }
}
