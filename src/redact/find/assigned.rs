//! Values after a name and a sign: `name=value`, `"name": "value"`, `name is value`; and arguments of commands.

use super::{
    emit::Emit,
    names::{self, FieldContext},
    steps::looked,
};
use crate::redact::{
    kind::{self, Kind},
    label,
};

expression!(
    AUTHORIZATION,
    r#"(?i-u)authorization\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?[a-z][a-z0-9-]{1,30}[ \t]+([a-z0-9._~+/=-]{8,})"#
);
expression!(
    FIELD,
    r#"(?-u)([A-Za-z][A-Za-z0-9_.-]{1,60})(?:(?:\\?["'])?\]?\s{0,20}(=>|:=|={1,3}|:)|\s{1,3}(is:?|was:?)[\s"'`])"#
);
// Searched only after the name of a secret: a value may reach to the end of the text.
expression!(
    VALUE,
    concat!(
        r"\A(?-u)\s{0,20}",
        // What YAML writes before a value: a block's sign, a tag, an anchor, an item's dash.
        r"(?:(?:[|>][0-9+-]{0,2}|[!&][A-Za-z!]{1,40}|-)\s{1,20})?",
        r#"(?:"""((?s:.*?))"""|[bBrRuU]{0,2}\\?"((?:[^"\\]|\\[^"])*)\\?"|[bBrRuU]{0,2}'([^']*)'|([^\s"'&;,<>(){}\\]+))"#
    )
);
// An option's name shows it; its value has to look random, since a manual writes `--password VALUE`.
expression!(OPTION, r#"(?-u)(?:\A|[\s"'])--?([A-Za-z][A-Za-z0-9_-]*)[ \t]+["']?([^\s"'-][^\s"']+)"#);
// curl's user and password.
expression!(USER, r#"(?-u)\s(?:-[A-Za-z]{0,6}[uU][ \t]*|--(?:proxy-)?user[ \t=]+)["']?[^\s:"']+:([^\s"'$<{][^\s"']*)"#);

/// The credential behind `Authorization:` in a text, of any scheme.
pub(super) fn find_authorization(text: &[u8], emit: &mut Emit<'_>) {
    let Some(authorization) = &*AUTHORIZATION else { return };
    let values = authorization.captures_iter(text).filter_map(|hit| hit.get(1));
    for value in values.filter(|value| kind::is_opaque(value.as_bytes()) && !label::holds(value.as_bytes())) {
        emit(value.range(), Kind::Credential);
    }
}

/// Values after a name and a sign: `name=value`, `"name": "value"`; and after `name is`, where they look random.
pub(super) fn find(text: &[u8], emit: &mut Emit<'_>) {
    /// Longest that stands before a value in YAML.
    const MAX_PREFIX: usize = 64;
    let (Some(field), Some(expression)) = (&*FIELD, &*VALUE) else { return };
    let mut from = 0;
    // The end of an unquoted value that is not opaque. No part of it up to this end is opaque either.
    let mut plain_until = 0;
    while let Some(hit) = field.captures_at(text, from) {
        let Some(name) = hit.get(1) else { break };
        let (Some(sign), is_prose) = (hit.get(2).or_else(|| hit.get(3)), hit.get(3).is_some()) else { break };
        looked(sign.end() - from);
        from = sign.end();
        let name = std::str::from_utf8(name.as_bytes()).unwrap_or_default();
        // `.` joins names in properties files (`app.client.secret=`); the last one counts.
        let last = name.rsplit('.').next().unwrap_or_default();
        let assigned = sign.as_bytes() == b"=";
        let place = if assigned { FieldContext::Parameter } else { FieldContext::Text };
        let Some(kind) = names::by_name(last, place).or_else(|| names::by_name(name, place)) else { continue };
        let bare = kind == Kind::Code && last.eq_ignore_ascii_case("code") || kind == Kind::ApiKey && last == "key";
        if (bare || !assigned) && from + MAX_PREFIX < plain_until {
            continue;
        }
        let Some(hit) = expression.captures(&text[from..]) else {
            looked(if opens_quote(&text[from..]) { text.len() - from } else { MAX_PREFIX });
            continue;
        };
        let quoted = hit.get(1).or_else(|| hit.get(2)).or_else(|| hit.get(3));
        let Some(value) = quoted.or_else(|| hit.get(4)) else { continue };
        looked(value.end());
        let mut range = from + value.start()..from + value.end();
        if quoted.is_none() && text.get(range.end) == Some(&b'&') {
            let end = beyond_ampersand(text, range.end, assigned);
            // The first piece may be all of it.
            if end > range.end && kind::is_opaque(&text[range.clone()]) && !label::holds(&text[range.clone()]) {
                emit(range.clone(), kind);
            }
            range.end = end;
        }
        if is_prose {
            range.start += usize::from(value.as_bytes().starts_with(b"`"));
            range.end -= text[range.clone()].iter().rev().take_while(|byte| b".?!`".contains(byte)).count();
            range.end = range.end.max(range.start);
        }
        let value = &text[range.clone()];
        let telling = kind::is_opaque(value);
        if value.is_empty() || ((bare || is_prose) && !telling) || (!assigned && quoted.is_none() && !telling) {
            if quoted.is_none() {
                plain_until = range.end;
            }
            continue;
        }
        if !label::holds(value) {
            emit(range.clone(), kind);
            if let Some(end) = second_half(text, range.end).filter(|_| quoted.is_none()) {
                emit(range.start..end, kind);
                range.end = end;
            }
        }
        from = range.end;
    }
}

/// Secrets among the arguments of a command: `--password VALUE`, `curl -u user:password`.
pub(super) fn find_arguments(text: &[u8], emit: &mut Emit<'_>) {
    let (Some(option), Some(user)) = (&*OPTION, &*USER) else { return };
    for hit in option.captures_iter(text) {
        let (Some(name), Some(value)) = (hit.get(1), hit.get(2)) else { continue };
        let name = std::str::from_utf8(name.as_bytes()).unwrap_or_default();
        if let Some(kind) = names::by_name(name, FieldContext::Text)
            && kind::is_opaque(value.as_bytes())
            && !label::holds(value.as_bytes())
        {
            emit(value.range(), kind);
        }
    }
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

/// Whether a value begins with a quote: its end may be anywhere, or nowhere.
fn opens_quote(text: &[u8]) -> bool {
    let begin = text.iter().take(20).position(|byte| !byte.is_ascii_whitespace()).unwrap_or_default();
    let value = &text[begin..];
    matches!(value.strip_prefix(b"\\").unwrap_or(value), [b'"' | b'\'', ..])
}

/// The end of a value with an `&` in it: no piece of it is a field of a form (`&name=`) or an entity (`&name;`). After
/// a `=`, where a form is likelier, each piece has to look random.
fn beyond_ampersand(text: &[u8], mut end: usize, assigned: bool) -> usize {
    /// Shortest piece that looks random.
    const MIN_RANDOM: usize = 8;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'&;,<>(){}\\=".contains(byte);
    while let Some(rest) = text[end..].strip_prefix(b"&") {
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        looked(length);
        let piece = &rest[..length];
        let is_random = length >= MIN_RANDOM
            && piece.iter().any(u8::is_ascii_digit)
            && piece.iter().any(u8::is_ascii_alphabetic)
            && !label::holds(piece);
        if length == 0 || matches!(rest.get(length), Some(b'=' | b';')) || (assigned && !is_random) {
            break;
        }
        end += 1 + length;
    }
    end
}

/// The end of a value that goes on behind a `;`, as it does in an INI file: what follows looks random and ends the
/// word.
fn second_half(text: &[u8], at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix(b";")?;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'&;,<>(){}\\=".contains(byte);
    let length = rest.iter().position(ends).unwrap_or(rest.len());
    looked(length);
    let ends_word = rest.get(length).is_none_or(u8::is_ascii_whitespace);
    let half = &rest[..length];
    (ends_word && kind::is_opaque(half) && !label::holds(half)).then_some(at + 1 + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        super::super::emit::found(text, find_arguments)
    }

    #[test]
    fn a_secret_among_the_arguments_of_a_command_is_one() {
        for text in [
            "curl -u me:Q1w2e3r4t5y6 https://x",
            "curl -su 'me:Q1w2e3r4t5y6' https://x",
            "curl --user=me:Q1w2e3r4t5y6 https://x",
            "login --password Q1w2e3r4t5y6",
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
}
