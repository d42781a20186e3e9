//! Documented values of open sets.

use serde_json::Value;

/// A documented value of an open set: `{name}` stands for any text that is not empty, `{origin}` for an origin.
pub(in crate::contract::schema) struct Known {
    pub(super) written: Box<str>,
    parts: Vec<Part>,
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(Box<str>),
    Any,
    Origin,
}

impl Known {
    pub(in crate::contract::schema) fn matches(&self, text: &str, is_origin: &dyn Fn(&str) -> bool) -> bool {
        matches(&self.parts, text, is_origin)
    }
}

/// Whether a text is this documented value of an open set, where any origin may stand for `{origin}`.
#[must_use]
pub fn is_known_value(written: &str, text: &str) -> bool {
    matches(&parts(written), text, &|_| true)
}

fn matches(parts: &[Part], text: &str, is_origin: &dyn Fn(&str) -> bool) -> bool {
    match parts {
        [] => text.is_empty(),
        [Part::Text(literal), rest @ ..] => {
            text.strip_prefix(&**literal).is_some_and(|text| matches(rest, text, is_origin))
        }
        [Part::Origin, rest @ ..] => {
            let after_scheme = text.find("://").map_or(text.len(), |at| at + 3);
            let end = text[after_scheme..].find(['/', '?', '#']).map_or(text.len(), |at| after_scheme + at);
            is_origin(&text[..end]) && matches(rest, &text[end..], is_origin)
        }
        [Part::Any] => !text.is_empty(),
        [Part::Any, rest @ ..] => text.char_indices().skip(1).any(|(at, _)| matches(rest, &text[at..], is_origin)),
    }
}

/// Reads `x-contrail-known-values`. What is no text is left out.
pub(in crate::contract::schema) fn known(keyword: Option<&Value>) -> Vec<Known> {
    let texts = keyword.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    texts.map(|written| Known { written: written.into(), parts: parts(written) }).collect()
}

/// `client_id:{client_id}` is a text and any text; braces without a name between them are text.
fn parts(written: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = written;
    let mut literal = String::new();
    while let Some(open) = rest.find('{') {
        let name = rest[open + 1..].split_once('}').map(|(name, _)| name);
        let is_name = |name: &&str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        };
        let Some(name) = name.filter(is_name) else {
            literal.push_str(&rest[..=open]);
            rest = &rest[open + 1..];
            continue;
        };
        literal.push_str(&rest[..open]);
        if !literal.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut literal).into()));
        }
        parts.push(if name == "origin" { Part::Origin } else { Part::Any });
        rest = &rest[open + name.len() + 2..];
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        parts.push(Part::Text(literal.into()));
    }
    parts
}
