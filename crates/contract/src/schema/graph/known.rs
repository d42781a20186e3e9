//! Documented values of open sets.

use ahash::AHashSet;
use serde_json::Value;

use crate::schema::work;

/// Bytes of a text that are compared in a step.
const STEP_BYTES: usize = 64;

/// The documented values of an open set.
#[derive(Default)]
pub(in crate::schema) struct KnownValues {
    /// In the order of the document.
    pub(super) written: Vec<Box<str>>,
    texts: AHashSet<Box<str>>,
    forms: Vec<KnownForm>,
}

/// A documented value that stands for many: `{name}` stands for any text that is not empty, `{origin}` for an origin.
#[derive(Debug)]
pub struct KnownForm(Vec<Part>);

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(Box<str>),
    Any,
    Origin,
}

impl KnownValues {
    /// Reads `x-contrail-known-values`. What is no text is left out.
    pub(in crate::schema) fn of(keyword: Option<&Value>) -> Self {
        let mut known = Self::default();
        for written in keyword.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            match KnownForm::of(written) {
                Some(form) => known.forms.push(form),
                None => drop(known.texts.insert(written.into())),
            }
            known.written.push(written.into());
        }
        known
    }

    pub(in crate::schema) fn is_empty(&self) -> bool {
        self.written.is_empty()
    }

    pub(in crate::schema) fn matches(&self, text: &str, is_origin: &dyn Fn(&str) -> bool) -> bool {
        self.texts.contains(text) || self.forms.iter().any(|form| form.matches(text, is_origin))
    }
}

impl KnownForm {
    /// What a value stands for; `None` for a text that stands for itself.
    #[must_use]
    pub fn of(written: &str) -> Option<Self> {
        let parts = parts(written);
        (!matches!(parts[..], [] | [Part::Text(_)])).then_some(Self(parts))
    }

    /// Whether a text is one of those that it stands for.
    pub fn matches(&self, text: &str, is_origin: &dyn Fn(&str) -> bool) -> bool {
        // How much of the text the parts so far may be, ascending.
        let mut ends = vec![0];
        for (index, part) in self.0.iter().enumerate() {
            if !work::take((ends.len() + text.len() / STEP_BYTES) as u64) {
                return false;
            }
            match part {
                Part::Text(literal) => {
                    ends.retain_mut(|end| {
                        let holds = text[*end..].starts_with(&**literal);
                        *end += if holds { literal.len() } else { 0 };
                        holds
                    });
                }
                Part::Origin => {
                    let mut origins: Vec<usize> = ends.iter().filter_map(|end| origin(text, *end, is_origin)).collect();
                    origins.dedup();
                    ends = origins;
                }
                Part::Any if index + 1 == self.0.len() => return ends.first().is_some_and(|end| *end < text.len()),
                Part::Any => {
                    let Some(first) = ends.first().copied() else { return false };
                    ends.clear();
                    ends.extend(text[first..].char_indices().skip(1).map(|(at, _)| first + at));
                }
            }
        }
        ends.last() == Some(&text.len())
    }
}

/// Where the origin ends that begins at a place of a text.
fn origin(text: &str, start: usize, is_origin: &dyn Fn(&str) -> bool) -> Option<usize> {
    let rest = &text[start..];
    let after_scheme = rest.find("://").map_or(rest.len(), |at| at + 3);
    let end = rest[after_scheme..].find(['/', '?', '#']).map_or(rest.len(), |at| after_scheme + at);
    is_origin(&rest[..end]).then_some(start + end)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(written: &str, text: &str) -> bool {
        let known = KnownValues::of(Some(&serde_json::json!([written])));
        known.matches(text, &|origin| origin == "https://t.example")
    }

    #[test]
    fn a_name_in_braces_stands_for_any_text_and_origin_for_an_origin() {
        for text in ["client_id:a", "client_id:{client_id}", "client_id:a:b"] {
            assert!(matches("client_id:{client_id}", text), "{text}");
        }
        assert!(!matches("client_id:{client_id}", "client_id:"));
        for (text, expected) in [("a/b/c", true), ("a//c", false), ("a/é/c", true), ("a/b/c/c", true), ("a/b/d", false)]
        {
            assert_eq!(matches("a/{b}/c", text), expected, "{text}");
        }
        for (text, expected) in
            [("https://t.example/x", true), ("https://u.example/x", false), ("https://t.example/", false)]
        {
            assert_eq!(matches("{origin}/{x}", text), expected, "{text}");
        }
        assert!(matches("{}", "{}") && !matches("{}", "x") && matches("", ""));
    }

    #[test]
    fn many_names_do_not_multiply_the_steps() {
        let written = "{a}x".repeat(40) + "y";
        let (matched, steps) = work::bounded(u64::MAX, || matches(&written, &"x".repeat(2000)));
        assert_eq!(matched, Some(false));
        assert!(steps < 500_000, "{steps}");
    }
}
