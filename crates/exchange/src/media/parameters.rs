//! Parses header fields: lists, cookies and parameters (RFC 9110, section 5.6.6).

use std::borrow::Cow;

use crate::Headers;

/// The members of a list (RFC 9110, section 5.6.1), empty ones left out. A comma inside quotes separates none.
pub fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
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
pub fn joined<'h>(headers: &'h Headers, name: &'h str) -> Option<Option<Cow<'h, str>>> {
    let mut values = headers.get_all(name).map(|value| std::str::from_utf8(value.as_bytes()).ok());
    let first = values.next()?.map(Cow::Borrowed);
    Some(values.fold(first, |joined, value| Some(Cow::Owned(format!("{}, {}", joined?, value?)))))
}

/// The pairs of a `Cookie` header (RFC 6265, section 4.2.1).
pub fn cookies(value: &str) -> impl Iterator<Item = (&str, &str)> {
    value.split(';').filter_map(|pair| pair.trim().split_once('='))
}

/// The parameters of a header field's value: names as they stand there, and unquoted values; a value may be empty.
pub fn parameters(value: &[u8]) -> impl Iterator<Item = (&[u8], Vec<u8>)> {
    let mut rest = value;
    std::iter::from_fn(move || {
        rest = &rest[memchr::memchr(b';', rest)? + 1..];
        let end = rest.iter().position(|byte| matches!(byte, b'=' | b';')).unwrap_or(rest.len());
        let name = rest[..end].trim_ascii();
        let value;
        (value, rest) = match &rest[end..] {
            [b'=', after @ ..] => quoted_or_token(after.trim_ascii_start()),
            after => (Vec::new(), after),
        };
        Some((name, value))
    })
}

/// A parameter of a header field's value, unquoted; the first of this name.
pub fn parameter(value: &[u8], name: &str) -> Option<Vec<u8>> {
    let named = parameters(value).find(|(held, _)| held.eq_ignore_ascii_case(name.as_bytes()));
    named.map(|(_, value)| value)
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
pub fn every_parameter(text: &[u8], name: &str) -> Option<Vec<Vec<u8>>> {
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

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_parameter_that_comes_too_often_is_not_read() {
        assert!(every_parameter("; name=a".repeat(64).as_bytes(), "name").is_some());
        assert_eq!(every_parameter("name=".repeat(100_000).as_bytes(), "name"), None);
    }

    fn text(bytes: Option<Vec<u8>>) -> Option<String> {
        bytes.map(|bytes| String::from_utf8(bytes).unwrap())
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
}
