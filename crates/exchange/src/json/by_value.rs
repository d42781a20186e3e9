//! Lookup by value, however long the list is.

use std::borrow::Cow;

use ahash::AHashMap;
use serde_json::Value;

use super::{Document, Kind, Node, quote};

/// What belongs to JSON values, found by value: `1`, `1.0` and `1e0` are one, and so are objects with other orders of
/// the same members.
#[derive(Debug, Clone)]
pub struct ByValue<T>(AHashMap<Box<str>, T>);

impl<T> Default for ByValue<T> {
    fn default() -> Self {
        Self(AHashMap::new())
    }
}

impl<T: Default> ByValue<T> {
    /// What belongs to a value, the default at first; `None` for a value beyond the bounds of a [`Document`].
    pub fn entry(&mut self, value: &Value) -> Option<&mut T> {
        let text = match value {
            Value::String(text) => quoted(text),
            other => {
                let mut text = String::new();
                Document::parse(other.to_string()).ok()?.root().canonical(&mut text);
                text
            }
        };
        Some(self.0.entry(text.into()).or_default())
    }
}

impl<T> ByValue<T> {
    /// What belongs to a value of a document.
    pub fn get(&self, value: Node<'_>) -> Option<&T> {
        self.0.get(&*value.by_value())
    }

    /// What belongs to a string.
    pub fn get_text(&self, text: &str) -> Option<&T> {
        self.0.get(&*quoted(text))
    }

    /// What belongs to each value, in no order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.values()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> Node<'a> {
    /// The text that all equal values have, and no others ([`Node::canonical`]).
    pub(super) fn by_value(self) -> Cow<'a, str> {
        match self.kind() {
            Kind::Null | Kind::Boolean => Cow::Borrowed(self.raw()),
            Kind::String if self.plain_text().is_some() => Cow::Borrowed(self.raw()),
            _ => {
                let mut text = String::new();
                self.canonical(&mut text);
                Cow::Owned(text)
            }
        }
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quote(text, &mut quoted);
    quoted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_found_however_it_is_written() {
        let mut listed = ByValue::<usize>::default();
        let values: Vec<Value> =
            serde_json::from_str(r#"["a\"b", 1.0, 12345678901234567890123, {"a": [1], "b": null}, true, 2.50]"#)
                .unwrap();
        for (index, value) in values.iter().enumerate() {
            *listed.entry(value).unwrap() = index;
        }
        let found = |text: &str| listed.get(Document::parse(text.to_owned()).unwrap().root()).copied();
        assert_eq!(found(r#""\u0061\"b""#), Some(0));
        assert_eq!([found("1"), found("1e0"), found("0.1E1"), found("1.5")], [Some(1), Some(1), Some(1), None]);
        assert_eq!([found("12345678901234567890123.0"), found("12345678901234567890124")], [Some(2), None]);
        assert_eq!(found(r#"{"b": null, "a": [1.0]}"#), Some(3));
        assert_eq!([found("true"), found("false"), found("\"true\""), found("25e-1")], [Some(4), None, None, Some(5)]);
        assert_eq!(listed.get_text("a\"b"), Some(&0));
        assert!(ByValue::<()>::default().entry(&json!("x")).is_some());
    }
}
