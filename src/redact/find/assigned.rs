//! Values after a name and a sign: `name=value`, `"name": "value"`, `name is value`, `--name value`.
//!
//! One reader for any text and for text that claims to be JSON and is not, which it reads more boldly: there a sign or a
//! quote may be missing, and what is masked needlessly is lost in a body that nobody can parse. A value reaches to the
//! end of its longest reading. What a shorter reading takes for it is learned, too.

use std::{cell::Cell, ops::Range};

use super::{
    emit::Emit,
    header_names,
    names::{self, FieldContext, JWK_PRIVATE, OAUTH, is_listed_name, is_listed_value},
    steps::looked,
};
use crate::{
    redact::{
        kind::{self, Kind},
        label,
    },
    token::known_scheme,
};

// curl's user and password.
expression!(USER, r#"(?-u)\s(?:-[A-Za-z]{0,6}[uU][ \t]*|--(?:proxy-)?user[ \t=]+)["']?[^\s:"']+:([^\s"'$<{][^\s"']*)"#);

/// How often a byte may be looked at on the way to the end of a value, on average; beyond it, the rest is one secret.
const MAX_LOOKS: usize = 16;

/// What may separate a value without quotes from what follows, or be a part of it.
const DELIMITERS: &[u8] = b"&;,<>(){}[]|\\";

/// How far behind the name of a value in a list the value may stand.
const MAX_BESIDE: usize = 200;

/// What may follow a value in quotes.
const ENDS: &[u8] = b",}]);>&<";

/// Passwords among the arguments of curl.
pub(super) fn find_curl(text: &[u8], emit: &mut Emit<'_>) {
    let Some(user) = &*USER else { return };
    if memchr::memmem::find(text, b"curl").is_none() {
        return;
    }
    for value in user.captures_iter(text).filter_map(|hit| hit.get(1)) {
        // A container's user and group are numbers.
        if !value.as_bytes().iter().all(u8::is_ascii_digit) && !label::holds(value.as_bytes()) {
            emit(value.range(), Kind::Password);
        }
    }
}

/// Values after a name and a sign. `nearly` are the names that `--redact` adds, of text that claims to be JSON and is
/// not.
pub(super) fn find(text: &[u8], nearly: Option<&[&str]>, emit: &mut Emit<'_>) {
    let holds = |name: &str| nearly.is_some() && memchr::memmem::find(text, name.as_bytes()).is_some();
    let (has_key_type, has_oauth) = (holds("kty"), OAUTH.iter().any(|name| holds(name)));
    let (looks, plain, comments) = (Cell::new(0), Cell::new((0, false)), Default::default());
    let reading = Reading { text, nearly, has_key_type, has_oauth, looks, plain, comments };
    let mut at = 0;
    // What `name: password` says of the `value: …` beside it, and where.
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
        // What is personal may stay, and its end is a guess.
        if kind.is_personal() {
            emit(range, kind);
            continue;
        }
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

/// What stands between a name and its value.
struct Sign<'t> {
    /// As it is written; nothing or a word where it is empty.
    written: &'t [u8],
    /// The name stands in quotes.
    quoted: bool,
    /// A name beside it says what the value is.
    listed: bool,
    /// Where the value may begin.
    value: usize,
}

/// A value by its longest reading.
struct Value {
    range: Range<usize>,
    /// What other readings take for a secret inside of it.
    shorter: Vec<Range<usize>>,
}

struct Reading<'t> {
    text: &'t [u8],
    /// Of text that is nearly JSON: the names that `--redact` adds.
    nearly: Option<&'t [&'t str]>,
    has_key_type: bool,
    has_oauth: bool,
    /// How many bytes were looked at on the way to the end of values.
    looks: Cell<usize>,
    /// The end of a value without quotes that does not look random, and whether a `=` is before it: no part of it up to
    /// this end looks random either.
    plain: Cell<(usize, bool)>,
    /// Where the next comment of each sort ends, from a place on.
    comments: [Cell<(usize, usize)>; 2],
}

impl<'t> Reading<'t> {
    /// Counts the bytes from `at` to `end`, and gives `end`.
    fn looked(&self, at: usize, end: usize) -> usize {
        looked(end.saturating_sub(at));
        self.looks.set(self.looks.get() + end.saturating_sub(at));
        end
    }

    /// Past white space, and comments where the text is nearly JSON.
    fn blank(&self, mut at: usize) -> usize {
        loop {
            at = skip(self.text, at, |byte| byte.is_ascii_whitespace());
            let (comment, end) = match &self.text[at..] {
                [b'/', b'*', ..] if self.nearly.is_some() => (&self.comments[0], &b"*/"[..]),
                [b'/', b'/', ..] if self.nearly.is_some() => (&self.comments[1], &b"\n"[..]),
                _ => return at,
            };
            let (from, until) = comment.get();
            if !(from..until).contains(&at) {
                let rest = &self.text[at..];
                let length = memchr::memmem::find(rest, end).map(|found| found + end.len());
                self.looked(at, at + length.unwrap_or(rest.len()));
                comment.set((at, length.map_or(usize::MAX, |length| at + length)));
            }
            match comment.get() {
                (_, usize::MAX) => return at,
                (_, until) => at = until,
            }
        }
    }

    fn sign(&self, name: &Range<usize>) -> Option<Sign<'t>> {
        let text = self.text;
        let bare = skip(text, name.end, |byte| byte == b'\\');
        let quoted = text.get(bare).copied().is_some_and(is_quote);
        let mut at = self.blank(bare + usize::from(quoted));
        let between: &[u8] = if self.nearly.is_some() { b"\"'`][{},\\" } else { b"]" };
        let odd = self.blank(skip(text, at, |byte| between.contains(&byte) || byte.is_ascii_whitespace()));
        if matches!(text.get(odd), Some(b':' | b'=')) {
            at = odd;
        }
        if matches!(text.get(at), Some(b':' | b'=')) {
            let end = skip(text, at, |byte| matches!(byte, b':' | b'=' | b'>'));
            return Some(Sign { written: &text[at..end], quoted, listed: false, value: self.blank(end) });
        }
        let word = |value| Some(Sign { written: b"", quoted, listed: false, value });
        if self.nearly.is_some() {
            // The colon is missing.
            let value = skip(text, at, |byte| byte == b'\\');
            let begins = text.get(value).is_some_and(|byte| is_quote(*byte) || matches!(byte, b'{' | b'['));
            let apart = quoted || is_quote(text[at - 1]) || self.in_braces(name.start);
            return if begins && apart { word(at) } else { None };
        }
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
        // An option of a command, a variable (`ENV API_TOKEN …`), a line of `.netrc`.
        let is_variable =
            || text[name.clone()].iter().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'0'..=b'9'));
        let is_login = || {
            let mut words = text[..name.start].trim_ascii_end().rsplit(u8::is_ascii_whitespace);
            &text[name.clone()] == b"password" && words.nth(1) == Some(b"login")
        };
        let is_line = || memchr::memchr2(b'\r', b'\n', &text[name.end..at]).is_none();
        let is_option = text[name.start] == b'-' && rest.first() != Some(&b'-');
        if is_option || !quoted && is_line() && (is_variable() || is_login()) { word(at) } else { None }
    }

    /// What the name behind this sign states about the value beside it.
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
        let place = if sign.written == b"=" { FieldContext::Parameter } else { FieldContext::Text };
        let by_name = |name: &str| {
            if self.nearly.is_some_and(|named| named.contains(&name)) {
                return Some(Kind::Custom);
            }
            names::by_name(name, place).or_else(|| {
                self.nearly?;
                let private = self.has_key_type && JWK_PRIVATE.contains(&name);
                let code = name.eq_ignore_ascii_case("code");
                private.then_some(Kind::PrivateKey).or(code.then_some(Kind::Code)).or_else(|| names::personal(name))
            })
        };
        let whole = || {
            // A name of several words, or with other characters.
            let before = self.text[..name.start].iter().rev().take(MAX_NAME);
            let length = before.take_while(|byte| !is_quote(**byte) && !matches!(byte, b'\n' | b'{' | b',')).count();
            by_name(&String::from_utf8_lossy(&self.text[name.start - length..name.end]))
        };
        let listed = by_name(last).or_else(|| by_name(run));
        let listed = listed.or_else(|| is_authorization(run.as_bytes()).then_some(Kind::Credential));
        listed.or_else(|| (sign.quoted || self.nearly.is_some()).then(whole).flatten())
    }

    /// The value after a sign; `None` where it shows nothing.
    fn value(&self, name: &Range<usize>, sign: &Sign<'_>, kind: Kind) -> Option<Value> {
        let text = self.text;
        let is_bold = self.nearly.is_some();
        let last = text[name.clone()].rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        // `code` is mostly the name of an error.
        let is_vague = kind == Kind::Code && last.eq_ignore_ascii_case(b"code") && !self.has_oauth
            || std::str::from_utf8(last).is_ok_and(names::is_vague);
        let is_assigned = if is_bold { sign.written.contains(&b'=') } else { sign.written == b"=" };
        let is_structured = self.is_line(name, sign)
            || is_assigned
            || sign.listed
            || is_bold && (sign.quoted || self.in_braces(name.start));
        // In prose it has to look random.
        let has_to_tell = is_vague || sign.written.is_empty() && !is_bold;

        let at = self.blank(after_yaml(text, sign.value));
        let slashed = skip(text, at, |byte| byte == b'\\' || is_bold && byte.is_ascii_whitespace());
        let prefix = text[slashed..].iter().take(2).take_while(|byte| b"bBrRuU".contains(byte)).count();
        let opens = |at: usize| text.get(at).is_some_and(|byte| is_quote(*byte) && (is_bold || *byte != b'`'));
        // ODBC has braces for quotes.
        let is_braced = last.eq_ignore_ascii_case(b"pwd") && is_assigned && text.get(at) == Some(&b'{');
        let closing = if is_braced { memchr::memchr(b'}', &text[at..self.line_end(at)]) } else { None };
        let value = if let Some(closing) = closing {
            Value { range: at + 1..self.looked(at, at + closing), shorter: Vec::new() }
        } else if opens(slashed + prefix) {
            let slashes = text[at..slashed].iter().rev().take_while(|byte| **byte == b'\\').count();
            self.string(slashed + prefix, slashes)
        } else if is_bold && matches!(text.get(slashed), Some(b'{' | b'[')) {
            if kind.is_personal() {
                return None;
            }
            self.container(slashed)
        } else {
            let at = if is_authorization(&text[name.clone()]) { self.after_scheme(at, sign) } else { at };
            let value = self.bare(at, sign, has_to_tell || !is_structured)?;
            let counted = text[name.clone()].to_ascii_lowercase().ends_with(b"tokens")
                && text[value.range.clone()].iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
            return Some(value).filter(|_| !counted);
        };
        let held = text[value.range.clone()].trim_ascii();
        let name = std::str::from_utf8(last).unwrap_or_default();
        let tells = is_bold || names::selects(name, kind, held) && known_scheme(held).is_none();
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
        let names = || path.split('.').any(|name| names::by_name(name, FieldContext::Text).is_some());
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

    /// A string whose opening quote is at `at`, behind `slashes` backslashes. It ends at a quote of its kind; where the
    /// text is nearly JSON, at one that a value may end with.
    fn string(&self, at: usize, slashes: usize) -> Value {
        let text = self.text;
        let (quote, inner) = (text[at], at + 1);
        let three = [quote; 3];
        if text[at..].starts_with(&three) {
            let inner = at + three.len();
            let end = memchr::memmem::find(&text[inner..], &three).map_or(text.len(), |end| inner + end);
            return Value { range: inner..self.looked(at, end), shorter: Vec::new() };
        }
        let (mut end, mut first, mut from) = (None, None, inner);
        while let Some(found) = memchr::memchr(quote, &text[from..]).map(|found| from + found) {
            let before = text[inner..found].iter().rev().take_while(|byte| **byte == b'\\').count();
            let closes = if slashes == 0 { before % 2 == 0 } else { before <= slashes };
            // YAML doubles a quote in a string.
            let is_double = slashes == 0 && found > inner && text.get(found + 1) == Some(&quote);
            if closes && if self.nearly.is_some() { self.ends_value(found + 1) } else { !is_double } {
                end = Some(found - before.min(slashes));
                break;
            }
            // The name of a member: what opens its object is missing, so nothing says where that ends.
            let names = |at: usize| text.get(self.blank(at)) == Some(&b':');
            if self.nearly.is_some() && closes && from == inner && names(found + 1) {
                break;
            }
            first = first.or(Some(found - before));
            from = found + 1 + usize::from(closes && is_double && self.nearly.is_none());
        }
        self.looked(at, end.unwrap_or(text.len()));
        // Nothing closes it: its line does.
        let line = || memchr::memchr2(b'\r', b'\n', &text[inner..]).filter(|_| self.nearly.is_none());
        let end = end.unwrap_or_else(|| line().map_or(text.len(), |line| inner + line));
        let shorter = first.filter(|first| *first < end).map(|first| inner..first);
        Value { range: inner..end, shorter: shorter.into_iter().collect() }
    }

    /// The object or array that begins at `at`, whether its strings are read as such or not; strings in it that look
    /// random are known where they come again.
    fn container(&self, at: usize) -> Value {
        let end = self.looked(at, self.balanced(at, false).max(self.balanced(at, true)));
        let (mut shorter, mut last) = (Vec::new(), None);
        for quote in memchr::memchr3_iter(b'"', b'\'', b'`', &self.text[at..end]).map(|quote| at + quote) {
            if let Some(start) = last.replace(quote + 1).filter(|start| kind::is_opaque(&self.text[*start..quote])) {
                shorter.push(start..quote);
            }
        }
        Value { range: at..end, shorter }
    }

    fn balanced(&self, at: usize, strings: bool) -> usize {
        let mut open = 0_usize;
        let mut inside = None;
        let mut escaped = false;
        for (offset, byte) in self.text[at..].iter().enumerate() {
            if std::mem::take(&mut escaped) {
                continue;
            }
            match (byte, inside) {
                (b'\\', _) => escaped = strings,
                (byte, Some(quote)) if *byte == quote => inside = None,
                (byte, None) if strings && is_quote(*byte) => inside = Some(*byte),
                (b'{' | b'[', None) => open += 1,
                (b'}' | b']', None) => {
                    open -= 1;
                    if open == 0 {
                        return at + offset + 1;
                    }
                }
                _ => {}
            }
        }
        self.text.len()
    }

    /// A value without a quote before it. It goes on beyond what may separate it from another, unless another field
    /// follows, a tag or an entity.
    fn bare(&self, at: usize, sign: &Sign<'_>, has_to_tell: bool) -> Option<Value> {
        let (text, is_bold, is_assigned) = (self.text, self.nearly.is_some(), sign.written == b"=");
        let (plain_until, was_assigned) = self.plain.get();
        if has_to_tell && !is_bold && at < plain_until && is_assigned == was_assigned {
            return None;
        }
        if is_assigned && !is_bold && self.is_code(at) {
            return None;
        }
        let (mut end, mut piece) = (at, None);
        while let Some(byte) = text.get(end).copied() {
            let is_blank = matches!(byte, b'\n' | b'\r') || byte.is_ascii_whitespace() && !is_bold;
            if is_blank || is_quote(byte) && self.ends_value(end + 1) {
                break;
            }
            if !DELIMITERS.contains(&byte) {
                end += 1;
                continue;
            }
            let next = skip(text, end, |byte| DELIMITERS.contains(&byte) || is_bold && matches!(byte, b' ' | b'\t'));
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
        if !is_bold && is_open && text[at..end].last().is_some_and(|byte| b">)}".contains(byte)) {
            return None; // it stands for a value
        }
        let start = at + usize::from(text.get(at) == Some(&b'`') && end > at);
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
        let tells = |range: Range<usize>| !(has_to_tell || is_open && !is_bold) || kind::is_opaque(&text[range]);
        if !tells(start..end) {
            self.plain.set((until, is_assigned));
            return None;
        }
        let piece = piece.filter(|piece| (start..end).contains(piece) && tells(start..*piece));
        Some(Value { range: start..end, shorter: piece.map(|piece| start..piece).into_iter().collect() })
    }

    /// Whether another field begins behind these delimiters, or they begin a tag that closes or an entity.
    fn begins_field(&self, delimiters: Range<usize>, sign: &Sign<'_>) -> bool {
        let (text, is_bold) = (self.text, self.nearly.is_some());
        let start = skip(text, delimiters.end, |byte| matches!(byte, b'#' | b'/' | b'\\') || is_quote(byte));
        let end = skip(text, start, is_name);
        let after = skip(text, end, |byte| byte == b'\\' || is_quote(byte));
        let after = if is_bold { self.blank(after) } else { after };
        self.looked(delimiters.start, after);
        let delimiters = &text[delimiters];
        start < end
            && match text.get(after) {
                Some(b'=') => is_bold || delimiters.ends_with(b"&") || sign.written.contains(&b'='),
                Some(b':') => is_bold || sign.written.contains(&b':'),
                Some(b';') => delimiters.ends_with(b"&"),
                Some(b'>') => text[..start].ends_with(b"</"),
                _ => false,
            }
    }

    /// Whether what stands at `at`, behind a quote, can follow a value.
    fn ends_value(&self, at: usize) -> bool {
        let at = skip(self.text, at, |byte| byte == b'\\');
        let next = if self.nearly.is_some() { self.blank(at) } else { at };
        let next = self.text.get(next);
        next.is_none_or(|byte| ENDS.contains(byte) || self.nearly.is_none() && byte.is_ascii_whitespace())
    }

    /// Past the scheme of a credential, where what follows it looks random.
    fn after_scheme(&self, at: usize, sign: &Sign<'_>) -> usize {
        let scheme = skip(self.text, at, |byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let next = skip(self.text, scheme, |byte| matches!(byte, b' ' | b'\t'));
        let follows = at < scheme && scheme < next && self.bare(next, sign, true).is_some();
        if follows { next } else { at }
    }

    /// Whether an unquoted name at `at` stands in an object and not in a string of it, as far as what is before it
    /// shows.
    fn in_braces(&self, at: usize) -> bool {
        self.text[..at].trim_ascii_end().last().is_some_and(|byte| matches!(byte, b'{' | b','))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        super::super::emit::found(text, |text, emit| {
            find(text, None, emit);
            find_curl(text, emit);
        })
    }

    #[test]
    fn a_secret_among_the_arguments_of_a_command_is_one() {
        for text in [
            "curl -u me:Q1w2e3r4t5y6 https://x",
            "curl -su 'me:Q1w2e3r4t5y6' https://x",
            "curl --user=me:Q1w2e3r4t5y6 https://x",
            "login --password Q1w2e3r4t5y6",
            "ENV API_TOKEN Q1w2e3r4t5y6",
            "machine a.example login me password Q1w2e3r4t5y6",
            "cli --api-key 'Q1w2e3r4t5y6' x",
            "--client-secret Q1w2e3r4t5y6",
        ] {
            assert_eq!(found(text), ["Q1w2e3r4t5y6"], "{text}");
        }
        for text in [
            "docker run -u 1000:1000 curlimages/curl",
            "curl -u $USER:$PASSWORD x",
            "login --password VALUE",
            "--password must be set",
            "sort -u me:you",
            "API_TOKEN\nQ1w2e3r4t5y6",
            "the token Q1w2e3r4t5y6 of it, a password Q1w2e3r4t5y6",
            "--token --verbose0123456",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }

    #[test]
    fn an_argument_that_holds_a_label_was_read_before() {
        for text in ["curl -u me:!password-1! x", "--password !password-1!x0123456"] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_value_is_a_secret_by_the_name_beside_it() {
        for text in [
            "env:\n- name: DB_PASSWORD\n  value: hunter2\n- name: X\n  value: y\n",
            "env: [{name: X, value: y}, {name: 'DB_PASSWORD', value: 'hunter2'}]",
            "name  = \"db_password\"\n type = string\nvalue = \"hunter2\"\n",
            "log {\"key\":\"X-Api-Key\",\"value\":\"hunter2\"} end",
            "setItem(\"token\", \"hunter2hunter2\")",
            "Driver={X};UID=u;PWD={hunter2};",
            "token = SecretStr('hunter2')",
            "db:\n  password: hunter2\n",
            "> Cookie: a=1; b=hunter2\r\n> Accept: */*",
        ] {
            let is_masked = found(text).last().is_some_and(|value| value.ends_with("hunter2"));
            assert!(is_masked, "{text}: {:?}", found(text));
        }
        assert_eq!(found("Set-Cookie: sid=abc; Path=/; HttpOnly\ncookie: a=1; b=2"), ["abc", "1", "2"]);
        for text in [
            "- name: DB_PASSWORD\n  valueFrom:\n    key: pw\n- name: X\n  value: y\n",
            "setItem(\"token\", \"remembered\")",
            "PWD=${PWD}",
            "the cookie: it is sweet",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }

    /// Asserts that `text` is masked to `expected`, where `@` stands for the label.
    fn masks(text: &str, expected: &str) {
        let masked = crate::redact::Redactor::default().text(text).into_inner();
        let label = masked.find('!').zip(masked.rfind('!')).map(|(start, end)| masked[start..=end].to_owned());
        assert_eq!(label.map_or_else(|| masked.clone(), |label| masked.replace(&label, "@")), expected, "{text}");
    }

    #[test]
    fn a_value_is_masked_to_the_end_of_its_longest_reading() {
        for (text, expected) in [
            (r#"<script>S={"password":"Xk9mT2vL\"qB7nR4wZ8","a":1}"#, r#"<script>S={"password":"@","a":1}"#),
            (r"<script>S={'password':'Xk9mT2vL\'qB7nR4wZ8'}", "<script>S={'password':'@'}"),
            ("password: 'Xk9mT2vL''qB7nR4wZ8'\nb: 1", "password: '@'\nb: 1"),
            ("token = '''Xk9mT2vL'qB7nR4wZ8'''\n", "token = '''@'''\n"),
            ("token = \"\"\"Xk9mT2vL\"qB7nR4wZ8\"\"\"\n", "token = \"\"\"@\"\"\"\n"),
            ("password: \"Xk9mT2vL,qB7nR4wZ8", "password: \"@"),
            ("f(password=Xk9mT2vL)qB7nR4wZ8, b=1)", "f(password=@, b=1)"),
            ("{user=me, password=Xk9mT2vL{qB7nR4wZ8}", "{user=me, password=@}"),
            ("https://h/?token=Xk9mT2vL&qB7nR4wZ8&b=1", "https://h/?token=@&b=1"),
            ("Pwd=Xk9mT2vL;qB7nR4wZ8;User=b", "Pwd=@;User=b"),
            ("token=Xk9mT2vL,qB7nR4wZ8,user=b", "token=@,user=b"),
            ("{token:Xk9mT2vL,qB7nR4wZ8,user:b}", "{token:@,user:b}"),
            ("<p>token=Xk9mT2vL<qB7nR4wZ8</p>", "<p>token=@</p>"),
            ("say \"token=Xk9mT2vL'qB7nR4wZ8\", it", "say \"token=@\", it"),
            ("f(token=Xk9mT2vL[qB7nR4wZ8]): it", "f(token=@]): it"),
        ] {
            masks(text, expected);
        }
        for special in "!#$%&()*+,-./:;<=>?@[]^_`{|}~\\'\"".chars() {
            let text = format!("db.user=app\ndb.password=Xk9mT2vL{special}qB7nR4wZ8\nb=1");
            masks(&text, "db.user=app\ndb.password=@\nb=1");
            let text = format!("say password: Xk9mT2vL{special}qB7nR4wZ8 to it");
            masks(&text, "say password: @ to it");
        }
    }

    #[test]
    fn what_stands_for_a_value_is_none() {
        for text in [
            "password=$DB_PASSWORD",
            "token=process.env.TOKEN;",
            "let token = getToken(), a;",
            "password = os.environ['DB_PASSWORD']",
            "password=req.body.password;",
            "password=document.getElementById(id).value",
            "a.password=void 0",
            "h[\"Authorization\"] = \"Bearer \" + token",
            "{token:\"API token\",password:\"Your password?\"}",
            "const token = await getToken()",
            "password: required",
            "say password: hunter2",
            "password=${DB_PASSWORD_2}",
            "token=<your-token-1234>",
            "secret={{ secret_1 }}",
            "f(token=None):",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }
}
