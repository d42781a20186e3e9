//! Values after a name and a sign: `name=value`, `"name": "value"`, `name is value`, `--name value`.
//!
//! A value reaches to the end of its longest reading. What a shorter reading takes for it is learned, too.

#[cfg(test)]
mod tests;
mod value;

use std::{cell::Cell, ops::Range};

use self::value::Value;
use super::{
    header_names,
    named::Emit,
    names::{self, FieldContext, is_listed_name, is_listed_value},
    steps::looked,
};
use crate::{kind::Kind, label};

// curl's user and password.
expression!(USER, r#"(?-u)\s(?:-[A-Za-z]{0,6}[uU][ \t]*|--(?:proxy-)?user[ \t=]+)["']?[^\s:"']+:([^\s"'$<{][^\s"']*)"#);

/// How often a byte may be looked at on the way to the end of a value, on average; beyond it, the rest is one secret.
const MAX_LOOKS: usize = 16;

/// How far behind the name of a value in a list the value may stand.
const MAX_BESIDE: usize = 200;

/// Passwords among the arguments of curl.
pub(super) fn find_curl(text: &[u8], emit: &mut Emit<'_>) {
    if memchr::memmem::find(text, b"curl").is_none() {
        return;
    }
    for value in USER.captures_iter(text).filter_map(|hit| hit.get(1)) {
        // A container's user and group are numbers.
        if !value.as_bytes().iter().all(u8::is_ascii_digit) && !label::holds(value.as_bytes()) {
            emit(value.range(), Kind::Password);
        }
    }
}

/// Values after a name and a sign.
pub(super) fn find(text: &[u8], emit: &mut Emit<'_>) {
    let reading = Reading { text, looks: Cell::new(0), plain: Cell::new((0, false)) };
    let mut at = 0;
    // The kind that `name: password` gives to the `value: …` beside it, and where that name ends.
    let mut listed = None;
    while let Some(start) = text[at..].iter().position(|byte| is_name(*byte)).map(|skipped| at + skipped) {
        let name = start..skip(text, start, is_name);
        looked(name.end - at);
        at = name.end;
        let Some(mut sign) = reading.sign(&name) else { continue };
        if is_listed_name(&text[name.clone()]) && !sign.written.is_empty() {
            listed = reading.listed(&sign).map(|kind| (kind, name.end));
        }
        let beside = listed.filter(|(_, at)| name.start < at + MAX_BESIDE && reading.is_value(&name));
        sign.listed = beside.is_some();
        let Some(kind) = beside.map(|(kind, _)| kind).or_else(|| reading.kind(&name, &sign)) else { continue };
        if reading.looks.get() > text.len() * MAX_LOOKS {
            emit(start..text.len(), Kind::Secret);
            return;
        }
        if kind == Kind::Cookie && sign.written.contains(&b':') {
            let start = skip(text, sign.value, |byte| is_quote(byte) || byte == b'\\');
            let cookies = reading.cookies(&name, start);
            let end = cookies.last().map(|last| last.end);
            let new = cookies.into_iter().filter(|value| !label::holds(&text[value.clone()]));
            new.for_each(|value| emit(value, kind));
            if let Some(end) = end.filter(|_| start == sign.value) {
                at = end;
                continue;
            }
        }
        let Some(Value { range, shorter }) = reading.value(&name, &sign, kind) else { continue };
        at = range.end.max(at);
        if !label::holds(&text[range.clone()]) {
            shorter.into_iter().filter(|shorter| !shorter.is_empty()).for_each(|shorter| emit(shorter, kind));
            emit(range, kind);
        }
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'@')
}

/// Whether a name ends like the header field of a credential.
fn is_authorization(name: &[u8]) -> bool {
    name.to_ascii_lowercase().ends_with(b"authorization")
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

pub(super) fn skip(text: &[u8], at: usize, what: impl Fn(u8) -> bool) -> usize {
    at + text[at..].iter().take_while(|byte| what(**byte)).count()
}

/// What stands between a name and its value.
struct Sign<'t> {
    /// As it is written; nothing or a word where it is empty.
    written: &'t [u8],
    /// The name stands in quotes.
    quoted: bool,
    /// A name beside it gives the kind of the value.
    listed: bool,
    /// Where the value may begin.
    value: usize,
}

struct Reading<'t> {
    text: &'t [u8],
    /// How many bytes were looked at on the way to the end of values.
    looks: Cell<usize>,
    /// The end of a value without quotes that does not look random, and whether a `=` is before it: no part of it up to
    /// this end looks random either.
    plain: Cell<(usize, bool)>,
}

impl<'t> Reading<'t> {
    /// Counts the bytes from `at` to `end`, and gives `end`.
    fn looked(&self, at: usize, end: usize) -> usize {
        looked(end.saturating_sub(at));
        self.looks.set(self.looks.get() + end.saturating_sub(at));
        end
    }

    /// Past white space.
    fn blank(&self, at: usize) -> usize {
        skip(self.text, at, |byte| byte.is_ascii_whitespace())
    }

    fn sign(&self, name: &Range<usize>) -> Option<Sign<'t>> {
        let text = self.text;
        let bare = skip(text, name.end, |byte| byte == b'\\');
        let quoted = text.get(bare).copied().is_some_and(is_quote);
        let mut at = self.blank(bare + usize::from(quoted));
        let odd = self.blank(skip(text, at, |byte| byte == b']' || byte.is_ascii_whitespace()));
        if matches!(text.get(odd), Some(b':' | b'=')) {
            at = odd;
        }
        if matches!(text.get(at), Some(b':' | b'=')) {
            let end = skip(text, at, |byte| matches!(byte, b':' | b'=' | b'>'));
            return Some(Sign { written: &text[at..end], quoted, listed: false, value: self.blank(end) });
        }
        let word = |value| Some(Sign { written: b"", quoted, listed: false, value });
        if at == name.end {
            return None;
        }
        let rest = &text[at..];
        let is = [&b"is"[..], b"was"].into_iter().find(|word| rest.starts_with(word));
        if let Some(is) = is {
            let end = at + is.len() + usize::from(rest.get(is.len()) == Some(&b':'));
            if text.get(end).is_some_and(|byte| byte.is_ascii_whitespace() || is_quote(*byte)) {
                return word(self.blank(end));
            }
        }
        // Two arguments of a call: `setItem("token", "…")`.
        if quoted && rest.first() == Some(&b',') {
            let next = self.blank(at + 1);
            return text.get(next).is_some_and(|byte| is_quote(*byte)).then(|| word(next)).flatten();
        }
        // An option of a command, a variable (`ENV API_TOKEN …`).
        let is_variable =
            || text[name.clone()].iter().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'0'..=b'9'));
        let is_line = || memchr::memchr2(b'\r', b'\n', &text[name.end..at]).is_none();
        let is_option = text[name.start] == b'-' && rest.first() != Some(&b'-');
        if is_option || !quoted && is_line() && is_variable() { word(at) } else { None }
    }

    /// The kind that the name behind this sign gives to the value beside it.
    fn listed(&self, sign: &Sign<'_>) -> Option<Kind> {
        let start = skip(self.text, sign.value, |byte| byte == b'\\' || is_quote(byte));
        let end = skip(self.text, start, is_name);
        self.looked(start, end);
        header_names::by_listed_name(std::str::from_utf8(&self.text[start..end]).ok()?)
    }

    fn is_value(&self, name: &Range<usize>) -> bool {
        std::str::from_utf8(&self.text[name.clone()]).is_ok_and(|name| name.len() > 1 && is_listed_value(name))
    }

    /// The values of `Cookie: a=…; b=…`, or of the cookie in `Set-Cookie: a=…; Path=/`.
    fn cookies(&self, name: &Range<usize>, at: usize) -> Vec<Range<usize>> {
        let (text, mut at, mut values) = (self.text, at, Vec::new());
        loop {
            let equals = skip(text, at, is_name);
            let end =
                skip(text, equals, |byte| !byte.is_ascii_whitespace() && !is_quote(byte) && !b";\\".contains(&byte));
            self.looked(at, end);
            if equals == at || text.get(equals) != Some(&b'=') {
                return values;
            }
            values.push(equals + 1..end);
            if text.get(end) != Some(&b';') || text[name.clone()].to_ascii_lowercase().starts_with(b"set") {
                return values;
            }
            at = skip(text, end + 1, |byte| byte == b' ');
        }
    }

    fn kind(&self, name: &Range<usize>, sign: &Sign<'_>) -> Option<Kind> {
        /// More than any name of a secret has.
        const MAX_NAME: usize = 64;
        let run = std::str::from_utf8(&self.text[name.clone()]).unwrap_or_default();
        // `.` joins names in properties files (`app.client.secret=`); the last one counts.
        let last = run.rsplit('.').next().unwrap_or_default();
        let place = if sign.written == b"=" { FieldContext::Parameter } else { FieldContext::Member };
        let by_name = |name: &str| names::by_name(name, place);
        let whole = || {
            // A name of several words, or with other characters.
            let before = self.text[..name.start].iter().rev().take(MAX_NAME);
            let length = before.take_while(|byte| !is_quote(**byte) && !matches!(byte, b'\n' | b'{' | b',')).count();
            by_name(&String::from_utf8_lossy(&self.text[name.start - length..name.end]))
        };
        let listed = by_name(last).or_else(|| by_name(run));
        let listed = listed.or_else(|| is_authorization(run.as_bytes()).then_some(Kind::Credential));
        listed.or_else(|| sign.quoted.then(whole).flatten())
    }
}
