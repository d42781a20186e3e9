//! `"name": value` in the manner of JSON, JavaScript, Python or YAML.

use std::{cell::Cell, ops::Range};

use super::extent::{MAX_NAME, blank, container, ends_value, is_quote, quoted, skip};
use crate::redact::{
    find::{
        emit::Emit,
        hints::may_hint,
        names::{self, FieldContext, JWK_PRIVATE, OAUTH},
    },
    kind::{self, Kind},
};

/// How often a byte may be looked at on the way to the end of a value, on average; beyond it, the rest is one secret.
const MAX_LOOKS: usize = 16;

/// `"name": value` in the manner of JSON, JavaScript, Python or YAML.
pub(super) fn find(text: &[u8], named: &[&str], emit: &mut Emit<'_>) {
    let holds = |name: &str| memchr::memmem::find(text, name.as_bytes()).is_some();
    let (has_key_type, has_oauth) = (holds("kty"), OAUTH.iter().any(|name| holds(name)));
    let reading = Reading { text, named, has_key_type, has_oauth, looks: Cell::new(0) };
    let mut at = 0;
    while let Some(start) = text[at..].iter().position(|byte| is_name(*byte)).map(|skipped| at + skipped) {
        let end = start + text[start..].iter().take_while(|byte| is_name(**byte)).count();
        at = end;
        let Some((value, quoted, assigned)) = after_name(text, start, end) else { continue };
        let Some(kind) = reading.kind(start..end, assigned) else { continue };
        if reading.looks.get() > text.len() * MAX_LOOKS {
            emit(start..text.len(), Kind::Secret);
            return;
        }
        let Some(range) = reading.value(value, kind, start..end, quoted || assigned) else { continue };
        if !kind.is_personal() {
            for shorter in shorter_readings(text, &range) {
                emit(shorter, kind);
            }
        }
        // What is personal may stay, and its end is a guess.
        at = if kind.is_personal() { at } else { at.max(range.end) };
        emit(range, kind);
    }
}

/// What shorter readings take for a secret inside of one, so that it is known where it comes again: the text up to the
/// first quote of a string that goes on, and strings in a container that look random.
fn shorter_readings(text: &[u8], range: &Range<usize>) -> Vec<Range<usize>> {
    let value = &text[range.clone()];
    let mut quotes = memchr::memchr3_iter(b'"', b'\'', b'`', value).map(|at| range.start + at);
    if !matches!(value.first(), Some(b'{' | b'[')) {
        return quotes.next().map(|end| range.start..end).into_iter().collect();
    }
    let mut readings = Vec::new();
    let mut last = None;
    for quote in quotes {
        if let Some(start) = last.replace(quote + 1).filter(|start| kind::is_opaque(&text[*start..quote])) {
            readings.push(start..quote);
        }
    }
    readings
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'@')
}

/// Where the value of the name at `start..end` begins, whether the name stands in quotes, and whether a `=` is before
/// the value.
fn after_name(text: &[u8], start: usize, end: usize) -> Option<(usize, bool, bool)> {
    let bare = skip(text, end, |byte| byte == b'\\');
    let quoted = text.get(bare).copied().is_some_and(is_quote);
    let sign = blank(text, bare + usize::from(quoted));
    let between = |byte: u8| is_quote(byte) || matches!(byte, b']' | b'[' | b'{' | b'}' | b',' | b'\\');
    let odd = blank(text, skip(text, sign, |byte| between(byte) || byte.is_ascii_whitespace()));
    let sign = if text.get(odd).is_some_and(|byte| matches!(byte, b':' | b'=')) { odd } else { sign };
    let value = skip(text, sign, |byte| matches!(byte, b':' | b'=' | b'>') || byte.is_ascii_whitespace());
    let signs = &text[sign..value];
    if signs.iter().any(|byte| matches!(byte, b':' | b'=')) {
        return Some((blank(text, value), quoted, signs.contains(&b'=')));
    }
    // The colon is missing.
    let value = skip(text, sign, |byte| byte == b'\\');
    let begins = text.get(value).is_some_and(|byte| is_quote(*byte) || matches!(byte, b'{' | b'['));
    let apart = quoted || is_quote(text[sign - 1]) || in_braces(text, start);
    (begins && apart).then_some((sign, quoted, false))
}

struct Reading<'t> {
    text: &'t [u8],
    /// Names that `--redact` adds.
    named: &'t [&'t str],
    has_key_type: bool,
    has_oauth: bool,
    /// How many bytes were looked at on the way to the end of values.
    looks: Cell<usize>,
}

impl Reading<'_> {
    fn kind(&self, name: Range<usize>, assigned: bool) -> Option<Kind> {
        let run = std::str::from_utf8(&self.text[name.clone()]).unwrap_or_default();
        let short = run.rsplit('.').next().unwrap_or_default();
        let place = if assigned { FieldContext::Parameter } else { FieldContext::Member };
        let by_name = |name: &str| {
            if self.named.contains(&name) {
                return Some(Kind::Custom);
            }
            let private = self.has_key_type && JWK_PRIVATE.contains(&name);
            let code = name.eq_ignore_ascii_case("code") && !assigned;
            names::by_name(name, place)
                .or_else(|| private.then_some(Kind::PrivateKey))
                .or_else(|| code.then_some(Kind::Code))
                .or_else(|| names::personal(name))
        };
        // A name of several words, or with other characters.
        let before = self.text[..name.start].iter().rev().take(MAX_NAME);
        let length = before.take_while(|byte| !is_quote(**byte) && !matches!(byte, b'\n' | b'{' | b',')).count();
        let whole = name.start - length..name.end;
        let after = self.text.get(name.end);
        let look = &self.text[whole.start..name.end + usize::from(after.is_some())];
        if self.named.is_empty() && !self.has_key_type && after != Some(&b'`') && !may_hint(look) {
            return None;
        }
        by_name(run).or_else(|| by_name(short)).or_else(|| by_name(&String::from_utf8_lossy(&self.text[whole])))
    }

    /// The value that begins at `at`, without its quotes; `None` where it shows nothing. `is_structured` says that the
    /// text around the name is no prose.
    fn value(&self, at: usize, kind: Kind, name: Range<usize>, is_structured: bool) -> Option<Range<usize>> {
        let text = self.text;
        let first = skip(text, at, |byte| byte == b'\\' || byte.is_ascii_whitespace());
        let slashes = text[at..first].iter().rev().take_while(|byte| **byte == b'\\').count();
        let range = match text.get(first).copied()? {
            b'{' | b'[' if kind.is_personal() => return None,
            b'{' | b'[' => first..self.looked(first, container(text, first)),
            quote if is_quote(quote) => first + 1..self.looked(first, quoted(text, first, slashes)),
            _ => self.bare(at, kind, &name, is_structured)?,
        };
        let value = text[range.clone()].trim_ascii();
        let short = text[name].rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        let vague = kind == Kind::Code && short.eq_ignore_ascii_case(b"code") && !self.has_oauth
            || kind == Kind::ApiKey && short.eq_ignore_ascii_case(b"key");
        let prose = vague && !kind::is_opaque(value);
        (!value.is_empty() && !prose).then_some(range)
    }

    /// Counts the bytes from `at` to `end`, and gives `end`.
    fn looked(&self, at: usize, end: usize) -> usize {
        self.looks.set(self.looks.get() + end.saturating_sub(at));
        end
    }

    /// A value without a quote before it.
    fn bare(&self, at: usize, kind: Kind, name: &Range<usize>, is_structured: bool) -> Option<Range<usize>> {
        let text = self.text;
        let stops =
            |byte: u8| is_quote(byte) || matches!(byte, b',' | b'}' | b']' | b'\n' | b'\r' | b'&' | b';' | b'<');
        let mut end = at + text[at..].iter().position(|byte| stops(*byte)).unwrap_or(text.len() - at);
        // A quote that ends the value, or stands in it.
        let line = |byte: &u8| matches!(byte, b'\n' | b'\r') || is_quote(*byte);
        let mark = at + text[at..].iter().position(line).unwrap_or(text.len() - at);
        let quote = Some(self.looked(at, mark)).filter(|mark| text.get(*mark).copied().is_some_and(is_quote));
        if let Some(quote) = quote {
            let before = text[at..quote].trim_ascii_end().last();
            let opens = quote > at && before.is_none_or(|byte| matches!(byte, b',' | b'{' | b'[' | b':' | b'=' | b'('));
            if ends_value(text, quote + 1) {
                end = end.max(quote);
            } else if !opens {
                end = end.max(self.looked(quote, quoted(text, quote, 0)));
            }
        }
        let end = at + text[at..end].trim_ascii_end().len();
        let value = &text[at..end];
        let counted = text[name.clone()].to_ascii_lowercase().ends_with(b"tokens")
            && value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
        if matches!(value, b"null" | b"true" | b"false" | b"None" | b"True" | b"False" | b"undefined") || counted {
            return None;
        }
        // Prose says `password: must not be empty`.
        let telling = is_structured || in_braces(text, name.start) || kind::is_opaque(value);
        (telling && (is_structured || !kind.is_personal())).then_some(at..end)
    }
}

/// Whether an unquoted name at `at` stands in an object and not in a string of it, as far as what is before it shows.
fn in_braces(text: &[u8], at: usize) -> bool {
    text[..at].trim_ascii_end().last().is_some_and(|byte| matches!(byte, b'{' | b','))
}
