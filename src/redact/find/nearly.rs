//! Secrets in text that claims to be JSON, a form or multipart and is not, by the names before them.
//!
//! Such text can be read in more than one way: a quote may be missing, a comma too many, a member cut off. So each value
//! reaches as far as any of these readings takes it. What is masked needlessly is lost in a body that nobody can parse;
//! what is not masked is a secret on the disk.

use std::{cell::Cell, ops::Range};

use super::{
    hints::glance,
    kind::{self, JWK_PRIVATE, Kind, OAUTH, Place},
};
use crate::redact::{
    Redactor,
    apply::{label, spans::Mark},
    known::view::View,
};

/// Longest name between quotes.
const MAX_NAME: usize = 200;

/// Longest comment that is skipped.
const MAX_COMMENT: usize = 4 << 10;

/// In longer texts only one coding is undone.
const LONG: usize = 1 << 18;

/// How often a byte may be looked at on the way to the end of a value, on average; beyond it, the rest is one secret.
const MAX_LOOKS: usize = 16;

/// A secret's place, and what its name says of it.
type Emit<'e> = dyn FnMut(Range<usize>, Kind) + 'e;

impl Redactor {
    /// Recognises secrets in a text by the names before them, in what its codings stand for too.
    pub(in crate::redact) fn detect_nearly(&self, text: &[u8], depth: usize, out: &mut Vec<Mark>) {
        let named = self.plan.last_names().unwrap_or_default();
        find(text, &named, &mut |range, kind| {
            if kind.is_personal() {
                self.person(&text[range.clone()], kind, range, out);
            } else if !label::holds(&text[range.clone()]) {
                out.extend(self.learn(&text[range.clone()], kind).map(|id| Mark::part(range, id)));
            }
        });
        if depth == 0 {
            return;
        }
        let depth = if text.len() > LONG { 1 } else { depth };
        for view in [View::percent(text, false), View::unescape(text), View::entities(text)].into_iter().flatten() {
            let mut inner = Vec::new();
            self.detect_nearly(&view.text, depth - 1, &mut inner);
            out.extend(inner.into_iter().map(|mark| mark.moved(|range| view.source(range))));
        }
    }
}

/// Whether the bytes are text in a coding that keeps ASCII, so that names in it can be found.
pub(in crate::redact) fn is_text(content: &[u8]) -> bool {
    content.iter().all(|byte| !matches!(byte, 0..0x20 | 0x7f) || matches!(byte, b'\n' | b'\r' | b'\t' | 0x0c))
}

fn find(text: &[u8], named: &[&str], emit: &mut Emit<'_>) {
    find_members(text, named, emit);
    find_parts(text, named, emit);
}

/// `"name": value` in the manner of JSON, JavaScript, Python or YAML.
fn find_members(text: &[u8], named: &[&str], emit: &mut Emit<'_>) {
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

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

fn skip(text: &[u8], at: usize, what: impl Fn(u8) -> bool) -> usize {
    at + text[at..].iter().take_while(|byte| what(**byte)).count()
}

/// Where the value of the name at `start..end` begins, whether the name stands in quotes, and whether a `=` is before the
/// value.
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

/// Past white space and comments.
fn blank(text: &[u8], mut at: usize) -> usize {
    loop {
        at = skip(text, at, |byte| byte.is_ascii_whitespace());
        let rest = &text[at..text.len().min(at + MAX_COMMENT)];
        let length = if rest.starts_with(b"/*") {
            memchr::memmem::find(rest, b"*/").map(|end| end + 2)
        } else if rest.starts_with(b"//") {
            memchr::memchr(b'\n', rest).map(|end| end + 1)
        } else {
            None
        };
        match length {
            Some(length) => at += length,
            None => return at,
        }
    }
}

/// Whether what stands at `at` can follow a value.
fn ends_value(text: &[u8], at: usize) -> bool {
    let at = blank(text, skip(text, at, |byte| byte == b'\\'));
    text.get(at).is_none_or(|byte| matches!(byte, b',' | b'}' | b']' | b')' | b';' | b'>' | b'&' | b'<'))
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
        let place = if assigned { Place::Parameter } else { Place::Member };
        let by_name = |name: &str| {
            if self.named.contains(&name) {
                return Some(Kind::Custom);
            }
            let private = self.has_key_type && JWK_PRIVATE.contains(&name);
            let code = name.eq_ignore_ascii_case("code") && !assigned;
            kind::by_name(name, place)
                .or_else(|| private.then_some(Kind::PrivateKey))
                .or_else(|| code.then_some(Kind::Code))
                .or_else(|| kind::personal(name))
        };
        // A name of several words, or with other characters.
        let before = self.text[..name.start].iter().rev().take(MAX_NAME);
        let length = before.take_while(|byte| !is_quote(**byte) && !matches!(byte, b'\n' | b'{' | b',')).count();
        let whole = name.start - length..name.end;
        let after = self.text.get(name.end);
        let look = &self.text[whole.start..name.end + usize::from(after.is_some())];
        if self.named.is_empty() && !self.has_key_type && after != Some(&b'`') && !glance(look).hint {
            return None;
        }
        by_name(run).or_else(|| by_name(short)).or_else(|| by_name(&String::from_utf8_lossy(&self.text[whole])))
    }

    /// The value that begins at `at`, without its quotes; `None` where it tells nothing. `told` says that the text around
    /// the name is no prose.
    fn value(&self, at: usize, kind: Kind, name: Range<usize>, told: bool) -> Option<Range<usize>> {
        let text = self.text;
        let first = skip(text, at, |byte| byte == b'\\' || byte.is_ascii_whitespace());
        let slashes = text[at..first].iter().rev().take_while(|byte| **byte == b'\\').count();
        let range = match text.get(first).copied()? {
            b'{' | b'[' if kind.is_personal() => return None,
            b'{' | b'[' => first..self.looked(first, container(text, first)),
            quote if is_quote(quote) => first + 1..self.looked(first, quoted(text, first, slashes)),
            _ => self.bare(at, kind, &name, told)?,
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
    fn bare(&self, at: usize, kind: Kind, name: &Range<usize>, told: bool) -> Option<Range<usize>> {
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
        let telling = told || in_braces(text, name.start) || kind::is_opaque(value);
        (telling && (told || !kind.is_personal())).then_some(at..end)
    }
}

/// Whether an unquoted name at `at` stands in an object and not in a string of it, as far as what is before it tells.
fn in_braces(text: &[u8], at: usize) -> bool {
    text[..at].trim_ascii_end().last().is_some_and(|byte| matches!(byte, b'{' | b','))
}

/// The end of the string whose opening quote is at `at`, behind `slashes` backslashes: a quote of its kind that a value may
/// end with, else the end of the text.
fn quoted(text: &[u8], at: usize, slashes: usize) -> usize {
    let quote = text[at];
    let mut from = at + 1;
    while let Some(found) = memchr::memchr(quote, &text[from..]).map(|found| from + found) {
        let before = text[at + 1..found].iter().rev().take_while(|byte| **byte == b'\\').count();
        let closes = if slashes == 0 { before % 2 == 0 } else { before <= slashes };
        if closes && ends_value(text, found + 1) {
            return found - before.min(slashes);
        }
        // The name of a member: what opens its object is missing, so nothing says where that ends.
        if closes && from == at + 1 && text.get(blank(text, found + 1)) == Some(&b':') {
            break;
        }
        from = found + 1;
    }
    text.len()
}

/// The end of the object or array that begins at `at`: whether its strings are read as such or not, the later one.
fn container(text: &[u8], at: usize) -> usize {
    balanced(text, at, false).max(balanced(text, at, true))
}

fn balanced(text: &[u8], at: usize, strings: bool) -> usize {
    let mut open = 0_usize;
    let mut inside = None;
    let mut escaped = false;
    for (offset, byte) in text[at..].iter().enumerate() {
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
    text.len()
}

/// Parts of a multipart body that is not whole: from the end of the first head with a telling name on, all of it. Where a
/// part ends, readers differ.
fn find_parts(text: &[u8], named: &[&str], emit: &mut Emit<'_>) {
    let lower = text.to_ascii_lowercase();
    let gap = |from: usize| {
        let gaps =
            [&b"\r\n\r\n"[..], b"\n\n"].map(|gap| memchr::memmem::find(&text[from..], gap).map(|at| at + gap.len()));
        gaps.into_iter().flatten().min().map(|gap| from + gap)
    };
    // The end of the head that the last name was in.
    let mut head_end = Some(0);
    let mut at = 0;
    while let Some(found) = memchr::memmem::find(&lower[at..], b"name").map(|found| at + found) {
        at = found + 4;
        let sign = skip(text, at, |byte| matches!(byte, b' ' | b'\t' | b'*' | b'0'..=b'9'));
        if text.get(sign) != Some(&b'=') {
            continue;
        }
        let name = text[sign + 1..].iter().take(MAX_NAME).take_while(|byte| !matches!(byte, b'\n' | b'\r')).count();
        let name = String::from_utf8_lossy(&text[sign + 1..sign + 1 + name]);
        let name = name.split(';').next().unwrap_or_default().trim_matches(['"', '\'', ' ', '\t']);
        let last = name.rsplit(['[', '.']).map(|part| part.trim_end_matches(']')).find(|part| !part.is_empty());
        let kind = named.contains(&name).then_some(Kind::Custom);
        let kind =
            kind.or_else(|| last.and_then(|last| kind::by_name(last, Place::Parameter).or(kind::personal(last))));
        let Some(kind) = kind else { continue };
        if head_end.is_some_and(|end| end < sign) {
            head_end = gap(sign);
        }
        let Some(start) = head_end else { return };
        if start < text.len() {
            let part = memchr::memmem::find(&text[start..], b"\n--").map_or(text.len(), |end| start + end);
            let line = memchr::memchr2(b'\r', b'\n', &text[start..]).map_or(text.len(), |end| start + end);
            for end in [line, part - usize::from(text[start..part].ends_with(b"\r")), text.len()] {
                emit(start..end, kind);
            }
        }
        if !kind.is_personal() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::redact::Plan;

    fn masked(text: &str) -> String {
        let redactor = Redactor::default();
        let mut marks = Vec::new();
        redactor.detect_nearly(text.as_bytes(), 2, &mut marks);
        let edits: Vec<_> =
            crate::redact::apply::spans::settle(marks).into_iter().map(|mark| (mark.range, b"#".to_vec())).collect();
        String::from_utf8_lossy(&crate::json::splice(text.as_bytes(), &edits)).into_owned()
    }

    #[test]
    fn a_secret_in_text_that_is_nearly_json_is_found_by_its_name() {
        for (text, expected) in [
            // Cut, a comma too many, another document behind it.
            (r#"{"a":1,"client_secret":"s3"#, r##"{"a":1,"client_secret":"#"##),
            (r#"{"client_secret":"s3","a":1,}"#, r##"{"client_secret":"#","a":1,}"##),
            ("{\"password\":\"s3\"}\n{\"token\":\"s4\",", "{\"password\":\"#\"}\n{\"token\":\"#\","),
            // Other notations.
            ("{'client_secret': 's3', 'a': None}", "{'client_secret': '#', 'a': None}"),
            ("{client_secret: 's3', a: 1}", "{client_secret: '#', a: 1}"),
            ("{a: 1, password: hunter2}", "{a: 1, password: #}"),
            ("{\"password\": /* the */ \"s3\" // x\n}", "{\"password\": /* the */ \"#\" // x\n}"),
            ("{'token' => 's3', 'pin' => 12}", "{'token' => '#', 'pin' => #}"),
            ("{u'password': u's3', 'b': 1}", "{u'password': #', 'b': 1}"),
            // Quotes and colons that are missing.
            (r#"{"password:"s3","a":1}"#, r##"{"password:"#","a":1}"##),
            (r#"{"password":s3,x","a":1}"#, r#"{"password":#","a":1}"#),
            (r#"{"password":"s3,"a":1}"#, r##"{"password":"#"##),
            (r#"{"password" "s3","a":1}"#, r##"{"password" "#","a":1}"##),
            (r#"{"password":"a"b","c":1"#, r##"{"password":"#","c":1"##),
            (r#"{"email":"a@b.example,"password":"s3","a":1}"#, r##"{"email":"a@b.example,"password":"#","a":1}"##),
            // Containers, numbers, words, empty values.
            (r#"{"tokens":["a]","b"],"c":1"#, r#"{"tokens":#,"c":1"#),
            (r#"{"pin":1234,"a":1"#, r#"{"pin":#,"a":1"#),
            (r#"{"token":null,"max_tokens":5,"secret":"""#, r#"{"token":null,"max_tokens":5,"secret":"""#),
            // JSON in JSON.
            (r#"{"d":"{\"password\":\"s3\",\"a\":1}","#, r##"{"d":"{\"password\":\"#\",\"a\":1}","##),
            (r#"{"d":"{\u0022password\u0022:\u0022s3\u0022}","#, r#"{"d":"{\u0022password\u0022:\u0022#\u0022}","#),
            (r#"{"client\u005fsecret":"s3","#, r##"{"client\u005fsecret":"#","##),
            (r#"{"client secret":"s3","#, r##"{"client secret":"#","##),
            // Prose.
            (
                r#"{"message":"wrong password: must not be empty","#,
                r#"{"message":"wrong password: must not be empty","#,
            ),
            (r#"{"code":"invalid_token","#, r#"{"code":"invalid_token","#),
            (r#"{"code":"SplxlOBeZQQYbYS6WxSbIA","#, r##"{"code":"#","##),
            ("<p class=\"token\" id=\"a\">no secret here</p>", "<p class=\"token\" id=\"a\">no secret here</p>"),
        ] {
            assert_eq!(masked(text), expected, "{text}");
        }
    }

    #[test]
    fn a_secret_in_a_multipart_body_that_is_cut_is_found_by_its_name() {
        let text = "--b\r\nContent-Disposition: form-data; name=\"client_secret\"\r\n\r\ns3\r\n--b\r\nContent-Disposition: \
                    form-data; name=user[password]; x=1\n\ns4";
        assert_eq!(masked(text), format!("{}#", &text[..text.find("s3").unwrap()]));
        let other = text.replace("client_secret", "email");
        assert_eq!(masked(&other), other.replace("s4", "#"));
        let plain = "--b\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\ns3\r\n--";
        assert_eq!(masked(plain), plain);
    }

    #[test]
    fn a_secret_whose_end_is_in_doubt_is_known_where_it_comes_again() {
        for text in [
            r#"{"password":"s3cr3t-value,"a":1"#,
            r#"{"tokens":["x","s3cr3t-value-0","#,
            "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\ns3cr3t-value\r\n--b\r\n\r\nx\r\n",
        ] {
            let redactor = Redactor::default();
            redactor.detect_nearly(text.as_bytes(), 2, &mut Vec::new());
            let value = if text.contains("tokens") { "s3cr3t-value-0" } else { "s3cr3t-value" };
            let seen =
                redactor.text(&format!("no such thing: {value}{}", if text.contains("rd\":\"s") { "," } else { "" }));
            assert!(!seen.contains("s3cr3t"), "{text}: {}", *seen);
        }
    }

    #[test]
    fn a_name_that_a_rule_adds_is_a_secrets_name() {
        let redactor = Redactor::new(Plan::new(&["pointer:/a/colour"]).unwrap());
        let mut marks = Vec::new();
        redactor.detect_nearly(br#"{"a":{"colour":"blue-green","#, 2, &mut marks);
        assert_eq!(marks.len(), 1);
    }

    /// A secret that no other text holds.
    const SECRET: &str = "S3cr3tValue-7Q";

    /// Documents with a secret under each of its members; `@` stands for it.
    const DOCUMENTS: &[&str] = &[
        r#"{"id":"a","client_secret":"@","n":[1,2]}"#,
        r#"{"a":{"password":"@"},"b":[{"access_token":"@","x":null}]}"#,
        r#"[{"name":"x y","api_key":"@"},true]"#,
        "{\n  \"title\": \"t, {u}\",\n  \"refresh_token\": \"@\",\n  \"z\": -1.5e3\n}",
        r#"{"tokens":["@",1],"q":"a \"b\" c"}"#,
        r#"{"note":"it's","credentials":{"user":"u","value":"@"},"w":""}"#,
        "{'client_secret': '@', 'other': [1, 2]}",
        "{client_secret: '@', other: [1, 2,],}",
        "{\"password\":\"@\"}\n{\"password\":\"@\"}\n",
        r#"{"d":"{\"password\":\"@\",\"n\":1}","e":1}"#,
    ];

    const NAMES: &[&str] =
        &["client_secret", "password", "access_token", "api_key", "refresh_token", "tokens", "credentials"];

    /// Where a character can go without the secret or its name going: not inside of either.
    fn is_structure(byte: u8) -> bool {
        matches!(byte, b'"' | b'\'' | b',' | b':' | b'{' | b'}' | b'[' | b']' | b' ' | b'\n')
    }

    /// `text` with one fault at `at`, where a character stands that is no part of a name or a value.
    fn faults(text: &str, at: usize) -> Vec<String> {
        let (before, here, after) = (&text[..at], &text[at..=at], &text[at + 1..]);
        let mut faults = vec![before.to_owned(), text[at..].to_owned(), format!("{before}{after}")];
        faults.extend([here, " ", "\n", "/*x*/"].map(|more| format!("{before}{more}{here}{after}")));
        match here {
            "\"" | "'" => faults.extend(["\"", "'", "`"].map(|quote| format!("{before}{quote}{after}"))),
            "," | "]" | "}" => faults.push(format!("{before},{here}{after}")),
            ":" => faults.push(format!("{before}={after}")),
            _ => {}
        }
        faults
    }

    #[test]
    fn a_secret_behind_its_name_is_masked_whatever_is_missing_or_too_much_around_it() {
        for document in DOCUMENTS {
            let text = document.replace('@', SECRET);
            for at in (0..text.len()).filter(|at| is_structure(text.as_bytes()[*at])) {
                for broken in faults(&text, at) {
                    let before = &broken[..broken.find(SECRET).unwrap_or(0)];
                    let named = NAMES.iter().any(|name| before.contains(name));
                    assert!(!named || !masked(&broken).contains(SECRET), "{broken}\n{}", masked(&broken));
                }
            }
        }
    }

    #[test]
    fn a_hostile_text_is_read_in_time_that_grows_with_it_and_no_faster() {
        for piece in [
            "pin:,",
            "pin:a,",
            "email:\"",
            "\"email\":\"a,",
            "code:\"",
            "code:{",
            "code:[\"",
            "pin:/*",
            "pin://",
            "a:",
            "key:'",
            "name=email;",
            "name=\"password\"",
            "password\\",
            "\"token\"{",
            "{\"secret\" ",
            "pin: ",
            "token:\\\"",
        ] {
            let began = std::time::Instant::now();
            masked(&piece.repeat((256 << 10) / piece.len()));
            let took = began.elapsed();
            assert!(took < std::time::Duration::from_secs(20), "{piece} took {took:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_only_places_inside_of_it_are_masked(text in "[\"'{}\\[\\]:=, \\\\\n%&;a-c0-3/*é]{0,40}(password|token|name)[\"'{}\\[\\]:=, \\\\\n%&;a-c0-3/*é]{0,40}") {
            masked(&text);
        }
    }
}
