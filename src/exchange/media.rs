//! Media types, and the grammars of header fields and bodies that they name: parameters (RFC 9110, section 5.6.6), form
//! fields, multipart parts (RFC 2046, section 5.1; RFC 7578). One reader of each, for all that read a message.
//!
//! Fields and parts are ranges of the text that they stand in. Readers of other makes disagree about odd messages (a quote
//! inside a quote, a name given twice, a bare line feed): [`parameter`] and [`multipart`] read as the standard says,
//! [`every_parameter`] and [`LineEnds`] give what else a reader may see there.

use std::{borrow::Cow, ops::Range};

use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::Headers;

/// The media type of a form.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// The media type of JSON.
pub(crate) const JSON: &str = "application/json";

/// The media type of a form with files.
pub(crate) const MULTIPART_FORM: &str = "multipart/form-data";

/// Whether a media type is a sequence of items that stand by themselves (OpenAPI 3.2, section 4.14.3).
pub(crate) fn is_sequence(essence: &str) -> bool {
    let json = ["application/jsonl", "application/x-ndjson", "application/x-jsonlines", "application/json-seq"];
    json.contains(&essence) || essence == EVENT_STREAM || essence.ends_with("+json-seq")
}

/// The media type of server-sent events.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// Type and subtype of a `Content-Type`, in lower case, without parameters.
pub(crate) fn essence(value: &[u8]) -> Cow<'_, str> {
    let essence = value[..memchr::memchr(b';', value).unwrap_or(value.len())].trim_ascii();
    match std::str::from_utf8(essence) {
        Ok(essence) if !essence.bytes().any(|byte| byte.is_ascii_uppercase()) => Cow::Borrowed(essence),
        _ => Cow::Owned(String::from_utf8_lossy(essence).trim().to_ascii_lowercase()),
    }
}

/// Whether a media type says that its content is JSON: `application/json`, or a structured type such as
/// `application/problem+json`.
pub(crate) fn is_json(essence: &str) -> bool {
    essence == "application/json" || has_json_suffix(essence)
}

/// Whether it is a structured type of JSON (RFC 6839).
pub(crate) fn has_json_suffix(essence: &str) -> bool {
    let subtype = essence.split_once('/').map(|(_, subtype)| subtype);
    subtype.and_then(|subtype| subtype.strip_suffix("+json")).is_some_and(|name| !name.is_empty())
}

/// Whether a sender of this media type means JSON, in a registered type ([`is_json`]) or in one of its own.
pub(crate) fn means_json(essence: &str) -> bool {
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

/// The members of a list (RFC 9110, section 5.6.1), empty ones left out. A comma inside quotes separates none.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    let members = value.split(move |byte| {
        let separates = *byte == b',' && !quoted;
        quoted ^= *byte == b'"' && !escaped;
        escaped = quoted && *byte == b'\\' && !escaped;
        separates
    });
    members.map(<[u8]>::trim_ascii).filter(|member| !member.is_empty())
}

/// The value of a header field, several of one name joined as a list (RFC 9110, section 5.3); `None` without one,
/// `Some(None)` where it is no UTF-8.
#[allow(clippy::option_option)]
pub(crate) fn joined<'h>(headers: &'h Headers, name: &'h str) -> Option<Option<Cow<'h, str>>> {
    let mut values = headers.get_all(name).map(|value| std::str::from_utf8(value.as_bytes()).ok());
    let first = values.next()?.map(Cow::Borrowed);
    Some(values.fold(first, |joined, value| Some(Cow::Owned(format!("{}, {}", joined?, value?)))))
}

/// The pairs of a `Cookie` header (RFC 6265, section 4.2.1).
pub(crate) fn cookies(value: &str) -> impl Iterator<Item = (&str, &str)> {
    value.split(';').filter_map(|pair| pair.trim().split_once('='))
}

/// A parameter of a header field's value, unquoted; the first of this name. It may have no value.
pub(crate) fn parameter(value: &[u8], name: &str) -> Option<Vec<u8>> {
    let mut rest = &value[memchr::memchr(b';', value)? + 1..];
    loop {
        let end = rest.iter().position(|byte| matches!(byte, b'=' | b';')).unwrap_or(rest.len());
        let key = rest[..end].trim_ascii();
        let (found, after) = match &rest[end..] {
            [b'=', after @ ..] => quoted_or_token(after.trim_ascii_start()),
            after => (Vec::new(), after),
        };
        if key.eq_ignore_ascii_case(name.as_bytes()) {
            return Some(found);
        }
        rest = &after[memchr::memchr(b';', after)? + 1..];
    }
}

/// What stands after the `=` of a parameter, and what follows it.
fn quoted_or_token(text: &[u8]) -> (Vec<u8>, &[u8]) {
    if let [b'"', quoted @ ..] = text {
        let (mut value, mut at) = (Vec::new(), 0);
        loop {
            match quoted.get(at..).unwrap_or_default() {
                [] => return (value, &[]),
                [b'"', after @ ..] => return (value, after),
                [b'\\', escaped, ..] => {
                    value.push(*escaped);
                    at += 2;
                }
                [byte, ..] => {
                    value.push(*byte);
                    at += 1;
                }
            }
        }
    }
    let end = memchr::memchr(b';', text).unwrap_or(text.len());
    (text[..end].trim_ascii().to_vec(), &text[end..])
}

/// Every value that some reader takes for a parameter of this name, wherever in the text, also where the standard sees
/// none: inside the quotes of another one, under its extended name (`name*`, RFC 8187), in pieces (`name*0`, RFC 2231),
/// with the backslash as itself, up to the next blank or `;`. `None` if the name comes too often to read each value.
pub(crate) fn every_parameter(text: &[u8], name: &str) -> Option<Vec<Vec<u8>>> {
    /// Places with this name; each value may reach to the end of the text.
    const MAX_PLACES: usize = 64;
    let mut values: Vec<Vec<u8>> = Vec::new();
    let mut pieces: Vec<(u32, Vec<u8>)> = Vec::new();
    let mut places = 0;
    let lower = text.to_ascii_lowercase();
    for at in memchr::memmem::find_iter(&lower, name.as_bytes()) {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'*');
        if lower[..at].last().is_some_and(is_part) {
            continue;
        }
        let rest = &text[at + name.len()..];
        let stars = rest.iter().take_while(|byte| **byte == b'*' || byte.is_ascii_digit()).count();
        let (mark, rest) = rest.split_at(stars);
        let Some(rest) = rest.trim_ascii_start().strip_prefix(b"=") else { continue };
        places += 1;
        if places > MAX_PLACES {
            return None;
        }
        let rest = rest.trim_ascii_start();
        let mut readings = vec![quoted_or_token(rest).0];
        if let Some(quoted) = rest.strip_prefix(b"\"") {
            readings.push(quoted[..memchr::memchr(b'"', quoted).unwrap_or(quoted.len())].to_vec());
        }
        let trim = |text: &[u8]| -> Vec<u8> {
            let is_quote = |byte: &u8| !matches!(byte, b'"' | b'\'') && !byte.is_ascii_whitespace();
            let start = text.iter().position(is_quote).unwrap_or(text.len());
            let end = text.iter().rposition(is_quote).map_or(start, |last| last + 1);
            text[start..end].to_vec()
        };
        readings.push(trim(&rest[..memchr::memchr(b';', rest).unwrap_or(rest.len())]));
        readings.push(trim(rest.split(u8::is_ascii_whitespace).next().unwrap_or_default()));
        let index = std::str::from_utf8(mark).unwrap_or_default().trim_matches('*').parse().ok();
        for value in readings {
            let coded = memchr::memchr(b'%', &value).is_some();
            // An extended value names its character set and language first.
            let inner = value.splitn(3, |byte| *byte == b'\'').nth(2).map(<[u8]>::to_vec);
            for value in inner.into_iter().chain([value]) {
                let value = if coded { percent_encoding::percent_decode(&value).collect() } else { value };
                match index {
                    Some(index) => pieces.push((index, value)),
                    None if values.contains(&value) => {}
                    None => values.push(value),
                }
            }
        }
    }
    if !pieces.is_empty() {
        pieces.sort_by_key(|(index, _)| *index);
        let alone: Vec<Vec<u8>> = pieces.iter().map(|(_, value)| value.clone()).collect();
        // Of each piece its first reading.
        pieces.dedup_by_key(|(index, _)| *index);
        values.push(pieces.into_iter().flat_map(|(_, value)| value).collect());
        values.extend(alone);
    }
    Some(values)
}

/// A value that a mail client wrote in encoded words (RFC 2047), decoded; `None` if there is none in it.
pub(crate) fn encoded_words(value: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = value;
    let mut is_coded = false;
    while let Some(at) = memchr::memmem::find(rest, b"=?") {
        let mut pieces = rest[at + 2..].splitn(4, |byte| *byte == b'?');
        let (_, coding, text, after) = (pieces.next(), pieces.next(), pieces.next(), pieces.next());
        let (Some(coding), Some(text), Some(after)) = (coding, text, after.and_then(|after| after.strip_prefix(b"=")))
        else {
            break;
        };
        // White space between two words separates them only.
        if !is_coded || !rest[..at].trim_ascii().is_empty() {
            out.extend_from_slice(&rest[..at]);
        }
        match coding {
            b"b" | b"B" => out.extend(BASE64_STANDARD.decode(text).ok()?),
            b"q" | b"Q" => out.extend(quoted_printable(text)),
            _ => return None,
        }
        is_coded = true;
        rest = after;
    }
    out.extend_from_slice(rest);
    is_coded.then_some(out)
}

/// Undoes the `Q` coding of an encoded word.
fn quoted_printable(text: &[u8]) -> Vec<u8> {
    let coded: Vec<u8> = text.iter().map(|byte| if *byte == b'_' { b' ' } else { *byte }).collect();
    let mut out = Vec::with_capacity(coded.len());
    let mut rest = coded.as_slice();
    while let [byte, after @ ..] = rest {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *byte == b'=') {
            Some(decoded) => {
                out.push(decoded);
                rest = &after[2..];
            }
            None => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    out
}

/// A field of a form or a query: where its name and its value stand, percent-encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: Range<usize>,
    /// Empty, at the end of the name, where there is no `=`.
    pub(crate) value: Range<usize>,
}

/// The fields of a form or a query, in order; there may be empty ones.
pub(crate) fn fields(text: &[u8]) -> impl Iterator<Item = Field> {
    let mut start = 0;
    text.split(|byte| *byte == b'&').map(move |piece| {
        let end = start + piece.len();
        let equals = memchr::memchr(b'=', piece).map(|at| start + at);
        start = end + 1;
        Field { name: start - 1 - piece.len()..equals.unwrap_or(end), value: equals.map_or(end, |at| at + 1)..end }
    })
}

/// What ends a line of a multipart body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnds {
    /// CRLF, as the standard says.
    Crlf,
    /// A line feed by itself too, as most readers take it.
    Any,
}

/// A multipart body, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Multipart {
    pub(crate) parts: Vec<Part>,
    /// What stands before the first delimiter and after the last.
    pub(crate) outside: [Range<usize>; 2],
}

/// A part of a multipart body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its header fields, without the empty line.
    pub(crate) head: Range<usize>,
    pub(crate) body: Range<usize>,
}

/// Takes a multipart body apart; `None` if it is none: no delimiter, a line that only begins like one, no end.
pub(crate) fn multipart(content: &[u8], boundary: &[u8], ends: LineEnds) -> Option<Multipart> {
    if boundary.is_empty() {
        return None;
    }
    let delimiter = [b"--", boundary].concat();
    let finder = memchr::memmem::Finder::new(&delimiter);
    let begins_line = |at: usize| match ends {
        LineEnds::Crlf => at == 0 || content[..at].ends_with(b"\r\n"),
        LineEnds::Any => at == 0 || content[..at].ends_with(b"\n"),
    };
    let find = |mut from: usize| -> Option<usize> {
        loop {
            let at = from + finder.find(content.get(from..)?)?;
            if begins_line(at) {
                return Some(at);
            }
            from = at + 1;
        }
    };
    let mut at = find(0)?;
    let before = 0..at;
    let mut parts = Vec::new();
    loop {
        let rest = &content[at + delimiter.len()..];
        if rest.starts_with(b"--") {
            return Some(Multipart { parts, outside: [before, at + delimiter.len() + 2..content.len()] });
        }
        let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let start = content.len() - rest.len() + blank + line_end(&rest[blank..], ends)?;
        let next = find(start)?;
        // A delimiter right after a part's head takes the head's last line end for its own.
        let end = (next - before_line(content, next, ends)).max(start);
        let gap = head_end(&content[start..end], ends)?;
        parts.push(Part { head: start..start + gap.start, body: start + gap.end..end });
        at = next;
    }
}

/// The length of the line end that a text begins with.
fn line_end(text: &[u8], ends: LineEnds) -> Option<usize> {
    match text {
        [b'\r', b'\n', ..] => Some(2),
        [b'\n', ..] if ends == LineEnds::Any => Some(1),
        _ => None,
    }
}

/// The length of the line end before the line that begins at `at`.
fn before_line(content: &[u8], at: usize, ends: LineEnds) -> usize {
    match &content[..at] {
        [.., b'\r', b'\n'] => 2,
        [.., b'\n'] if ends == LineEnds::Any => 1,
        _ => 0,
    }
}

/// Where the empty line stands that ends a part's head, with the line end before it.
fn head_end(part: &[u8], ends: LineEnds) -> Option<Range<usize>> {
    if let Some(length) = line_end(part, ends) {
        return Some(0..length);
    }
    memchr::memchr_iter(b'\n', part).find_map(|at| {
        let line = before_line(part, at + 1, ends);
        let length = line_end(&part[at + 1..], ends).filter(|_| line > 0)?;
        Some(at + 1 - line..at + 1 + length)
    })
}

/// The header fields of a part's head, in order, folded lines joined by a blank.
pub(crate) fn part_fields(head: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut fields: Vec<(String, Vec<u8>)> = Vec::new();
    for line in head.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match (line.first(), fields.last_mut()) {
            (Some(b' ' | b'\t'), Some((_, value))) => {
                value.push(b' ');
                value.extend_from_slice(line.trim_ascii());
            }
            _ => {
                if let Some(colon) = memchr::memchr(b':', line) {
                    let name = String::from_utf8_lossy(line[..colon].trim_ascii()).to_ascii_lowercase();
                    fields.push((name, line[colon + 1..].trim_ascii().to_vec()));
                }
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_comes_too_often_is_not_read() {
        assert!(every_parameter("; name=a".repeat(64).as_bytes(), "name").is_some());
        assert_eq!(every_parameter("name=".repeat(100_000).as_bytes(), "name"), None);
    }

    #[test]
    fn encoded_words_are_decoded() {
        for (value, expected) in [
            ("=?utf-8?B?Y2xpZW50X3NlY3JldA==?=", Some("client_secret")),
            ("=?UTF-8?q?client=5Fsecret?=", Some("client_secret")),
            ("=?utf-8?Q?a_b?= =?utf-8?b?Yw==?=", Some("a bc")),
            ("x =?utf-8?Q?=C3=A9?= y", Some("x é y")),
            ("=?utf-8?Q?a=?=", Some("a=")),
            ("=?utf-8?B?!?=", None),
            ("=?utf-8?X?a?=", None),
            ("client_secret", None),
            ("=?utf-8?Q?a", None),
        ] {
            let found = encoded_words(value.as_bytes());
            assert_eq!(found.as_deref().map(String::from_utf8_lossy).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn a_list_is_split_at_commas_outside_of_quotes() {
        for (value, members) in [
            ("", &[][..]),
            (" , ,", &[]),
            ("a, b ,c", &["a", "b", "c"]),
            (r#"a;x="1, 2", b"#, &[r#"a;x="1, 2""#, "b"]),
            (r#"a;x="\", b", c"#, &[r#"a;x="\", b""#, "c"]),
            (r#"a;x="\\", b"#, &[r#"a;x="\\""#, "b"]),
        ] {
            let found: Vec<&[u8]> = list(value.as_bytes()).collect();
            assert_eq!(found, members.iter().map(|member| member.as_bytes()).collect::<Vec<_>>(), "{value}");
        }
    }

    fn text(bytes: Option<Vec<u8>>) -> Option<String> {
        bytes.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn the_meanings_of_json_differ_where_their_names_say() {
        for (value, registered, meant) in [
            ("application/json", true, true),
            ("Application/JSON ; charset=utf-8", true, true),
            ("application/problem+json", true, true),
            ("text/json", false, true),
            ("application/+json", false, true),
            ("+json", false, true),
            ("application/jsonp", false, false),
            ("text/plain", false, false),
        ] {
            let essence = essence(value.as_bytes());
            assert_eq!((is_json(&essence), means_json(&essence)), (registered, meant), "{value}");
        }
    }

    #[test]
    fn a_parameter_is_read_through_quotes_and_quoted_pairs() {
        for (value, expected) in [
            ("form-data; name=a", Some("a")),
            ("form-data; name = \"a b\"", Some("a b")),
            ("form-data; filename=\"x; name=b\"; name=\"a\"", Some("a")),
            ("form-data; filename=\"x\\\"; name=b\"; NAME=a ; name=c", Some("a")),
            ("form-data; flag; name=\"a\\\\\"", Some("a\\")),
            ("form-data; name", Some("")),
            ("form-data; filename=name", None),
            ("name=a", None),
            ("", None),
        ] {
            assert_eq!(text(parameter(value.as_bytes(), "name")).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn every_value_that_a_reader_may_take_for_a_parameter_is_found() {
        for (value, wanted) in [
            ("form-data; name=a; name=\"b\"", &["a", "b"][..]),
            ("form-data; filename=\"x; name=b\"; name=\"a\"", &["b", "a"]),
            ("form-data; filename=\"x\\\"; name=b\"; name=a", &["b", "a"]),
            ("form-data; name=\"a\\\"b\"", &["a\"b", "a\\"]),
            ("form-data; name*=UTF-8''client%5Fsecret; filename=x", &["client_secret"]),
            ("form-data; name*1=\"secret\"; name*0=\"client_\"", &["client_secret", "secret"]),
            ("form-data; name*0*=utf-8'en'client%5F; name*1=secret", &["client_secret"]),
            ("form-data;name='a'", &["a"]),
            ("form-data; name=\"a;b\"", &["a;b", "a"]),
        ] {
            let found = every_parameter(value.as_bytes(), "name").unwrap();
            for wanted in wanted {
                assert!(found.iter().any(|found| found == wanted.as_bytes()), "{wanted} in {value}: {found:?}");
            }
        }
        assert_eq!(every_parameter(b"form-data; filename=a; x-name=b", "name"), Some(Vec::new()));
    }

    #[test]
    fn the_fields_of_a_form_are_where_they_stand() {
        let text = b"a=1&b&=c&&d=e=f";
        let found: Vec<_> = fields(text).map(|field| (&text[field.name], &text[field.value])).collect();
        let expected: [(&[u8], &[u8]); 5] = [(b"a", b"1"), (b"b", b""), (b"", b"c"), (b"", b""), (b"d", b"e=f")];
        assert_eq!(found, expected);
    }

    fn parts<'a>(content: &'a str, boundary: &str, ends: LineEnds) -> Option<Vec<(&'a str, &'a str)>> {
        let found = multipart(content.as_bytes(), boundary.as_bytes(), ends)?;
        Some(found.parts.into_iter().map(|part| (&content[part.head], &content[part.body])).collect())
    }

    #[test]
    fn the_parts_of_a_multipart_body_are_found_and_a_broken_one_is_refused() {
        let whole = "before\r\n--b \r\nA: 1\r\n\r\none\r\n--b\r\n\r\ntwo\n--b\r\n--b--\r\nafter";
        let found = parts(whole, "b", LineEnds::Crlf).unwrap();
        assert_eq!(found, [("A: 1", "one"), ("", "two\n--b")]);
        let outside = multipart(whole.as_bytes(), b"b", LineEnds::Crlf).unwrap().outside;
        assert_eq!(outside.map(|range| &whole[range]), ["before\r\n", "\r\nafter"]);
        for broken in ["--b\r\n\r\none\r\n", "--b\r\nno end", "--bx\r\n\r\n--b--", "", "--b", "--b\r\nA: 1\r\n--b--"] {
            for ends in [LineEnds::Crlf, LineEnds::Any] {
                assert_eq!(parts(broken, "b", ends), None, "{broken}");
            }
        }
        assert_eq!(parts("--\r\n\r\n----", "", LineEnds::Any), None);
    }

    #[test]
    fn a_bare_line_feed_ends_a_line_only_where_any_does() {
        let body = "--b\nA: 1\n\none\n--b\r\nB: 2\r\n\r\ntwo\n\n--b--";
        assert_eq!(parts(body, "b", LineEnds::Crlf), None);
        assert_eq!(parts(body, "b", LineEnds::Any).unwrap(), [("A: 1", "one"), ("B: 2", "two\n")]);
        let mixed = "--b\r\nA: 1\n\nB: 2\r\n\r\none\r\n--b--";
        assert_eq!(parts(mixed, "b", LineEnds::Crlf).unwrap(), [("A: 1\n\nB: 2", "one")]);
        assert_eq!(parts(mixed, "b", LineEnds::Any).unwrap(), [("A: 1", "B: 2\r\n\r\none")]);
    }

    #[test]
    fn the_fields_of_a_part_are_read_whatever_their_case_blanks_and_folds() {
        let head = b"Content-DISPOSITION : form-data;\r\n\tname=\"a\"\r\nno field\nX: 1";
        let found = part_fields(head);
        assert_eq!(found[0], ("content-disposition".to_owned(), b"form-data; name=\"a\"".to_vec()));
        assert_eq!(found[1], ("x".to_owned(), b"1".to_vec()));
        assert_eq!(found.len(), 2);
    }
}
