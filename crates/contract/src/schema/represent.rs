//! The tape as `jsonschema` walks it: no value is copied, no number is rounded.

use std::{borrow::Cow, sync::OnceLock};

use contrail_exchange::json::{Items, Kind, Members, Node, Number};
use jsonschema::{
    JsonType,
    json::{Array, Json, JsonNumber, Node as Judged, NodeIdentity, Object},
};
use jsonschema_value::LazyInstance;
use serde_json::{Map, Value};

use super::work;

/// Steps that count for an error: its memory is that of many steps.
const ERROR_STEPS: u64 = 64;
/// Bytes of a text that count as a step.
const STEP_BYTES: usize = 64;
/// Names that a search compares in a step.
const STEP_NAMES: usize = 8;

/// The representation: `jsonschema::options_for::<Tape>()` gives validators that walk a
/// [`Document`](contrail_exchange::json::Document).
#[derive(Debug, Clone, Copy)]
pub(super) struct Tape;

/// A value to judge.
#[derive(Debug, Clone, Copy)]
pub(super) enum TapeNode<'a> {
    /// A value of a document.
    Value(Node<'a>),
    /// A string that stands in no document: a member's name, a path or query parameter.
    Text(&'a str),
    /// An object with this one member. It selects one of the schemas that were compiled together, each under a property
    /// of its own.
    Under(&'a str, Node<'a>),
}

/// A number by its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct TapeNumber<'a> {
    text: &'a str,
    plain: bool,
}

/// An object's members.
#[derive(Debug, Clone, Copy)]
pub(super) struct TapeObject<'a>(ObjectOf<'a>);

#[derive(Debug, Clone, Copy)]
enum ObjectOf<'a> {
    Document(Node<'a>),
    /// See [`TapeNode::Under`].
    Under(&'a str, Node<'a>),
}

/// An array's items.
#[derive(Debug, Clone, Copy)]
pub(super) struct TapeArray<'a>(Node<'a>);

/// See [`Object::members`].
#[derive(Debug)]
pub(super) struct TapeMembers<'a>(MembersOf<'a>);

#[derive(Debug)]
enum MembersOf<'a> {
    Document(Members<'a>),
    /// See [`TapeNode::Under`].
    Under(Option<(&'a str, Node<'a>)>),
}

/// See [`Array::elements`].
#[derive(Debug)]
pub(super) struct TapeItems<'a>(Items<'a>);

impl Json for Tape {
    type Node<'a> = TapeNode<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    /// A lookup is a scan of the members, so one pass over them replaces several.
    const KEYS_PER_LOOKUP: usize = 1;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(TapeNode<'_>) -> T) -> T {
        f(TapeNode::Text(string))
    }
}

impl<'a> TapeNode<'a> {
    fn value(self) -> Option<Node<'a>> {
        match self {
            Self::Value(node) => Some(node),
            Self::Text(_) | Self::Under(..) => None,
        }
    }

    fn of_kind(self, kind: Kind) -> Option<Node<'a>> {
        self.value().filter(|node| node.kind() == kind)
    }
}

impl<'a> Judged<'a, Tape> for TapeNode<'a> {
    type Object = TapeObject<'a>;
    type Array = TapeArray<'a>;
    type Number = TapeNumber<'a>;

    fn as_object(&self) -> Option<TapeObject<'a>> {
        if !work::take(1) {
            return None;
        }
        match self {
            Self::Under(name, value) => Some(TapeObject(ObjectOf::Under(name, *value))),
            _ => self.of_kind(Kind::Object).map(|node| TapeObject(ObjectOf::Document(node))),
        }
    }

    fn as_array(&self) -> Option<TapeArray<'a>> {
        if work::take(1) { self.of_kind(Kind::Array).map(TapeArray) } else { None }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = match self {
            Self::Value(node) => node.as_str(),
            Self::Text(text) => Some(Cow::Borrowed(*text)),
            Self::Under(..) => None,
        };
        let steps = 1 + text.as_ref().map_or(0, |text| text.len() / STEP_BYTES) as u64;
        text.filter(|_| work::take(steps))
    }

    fn as_number(&self) -> Option<TapeNumber<'a>> {
        let number = self.of_kind(Kind::Number);
        work::take(1 + number.map_or(0, |number| number.raw().len() / STEP_BYTES) as u64);
        number.map(|node| TapeNumber { text: node.raw(), plain: node.is_written_as_integer() })
    }

    fn as_boolean(&self) -> Option<bool> {
        work::take(1);
        self.value()?.as_bool()
    }

    fn is_null(&self) -> bool {
        work::take(1);
        self.of_kind(Kind::Null).is_some()
    }

    fn is_number(&self) -> bool {
        work::take(1);
        self.of_kind(Kind::Number).is_some()
    }

    fn json_type(&self) -> JsonType {
        work::take(1);
        match self {
            Self::Text(_) => JsonType::String,
            Self::Under(..) => JsonType::Object,
            Self::Value(node) => match node.kind() {
                Kind::Null => JsonType::Null,
                Kind::Boolean => JsonType::Boolean,
                Kind::Number => JsonType::Number,
                Kind::String => JsonType::String,
                Kind::Array => JsonType::Array,
                Kind::Object => JsonType::Object,
            },
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        if !work::take(1) {
            return false;
        }
        match (self, expected) {
            (Self::Text(text), Value::String(expected)) => text == expected,
            (Self::Under(name, value), Value::Object(expected)) => {
                expected.len() == 1
                    && expected.get(*name).is_some_and(|expected| Self::Value(*value).equals_value(expected))
            }
            (Self::Text(_) | Self::Under(..), _) => false,
            (Self::Value(node), Value::String(expected)) => node.is_str(expected),
            (Self::Value(node), Value::Null) => node.kind() == Kind::Null,
            (Self::Value(node), Value::Bool(expected)) => node.as_bool() == Some(*expected),
            (Self::Value(node), Value::Number(expected)) => node.as_number().is_some_and(|text| {
                work::take(((text.len() + expected.as_str().len()) / STEP_BYTES) as u64);
                Number::parse(text) == Number::parse(expected.as_str())
            }),
            (Self::Value(node), Value::Array(expected)) => {
                node.kind() == Kind::Array
                    && node.len() == expected.len()
                    && node.items().zip(expected).all(|(item, expected)| Self::Value(item).equals_value(expected))
            }
            (Self::Value(node), Value::Object(expected)) => {
                node.kind() == Kind::Object
                    && node.len() == expected.len()
                    && expected.iter().all(|(name, expected)| {
                        work::take((node.len() / STEP_NAMES) as u64);
                        node.get(name).is_some_and(|value| Self::Value(value).equals_value(expected))
                    })
            }
        }
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(match self {
            Self::Value(node) => node.to_value(),
            Self::Text(text) => Value::String((*text).to_owned()),
            Self::Under(name, value) => {
                Value::Object([((*name).to_owned(), Self::Value(*value).to_value().into_owned())].into_iter().collect())
            }
        })
    }

    /// Of a container below the root, an error reports only its type: every branch of a choice copies what it reports.
    /// Of the root, all: jsonschema looks up where a pattern gave up in it.
    fn lazy_value(&self) -> LazyInstance<'a> {
        work::take(ERROR_STEPS);
        let (bytes, tag) = match self {
            Self::Value(node) => match node.kind() {
                Kind::Object => return LazyInstance::Ready(Cow::Owned(Value::Object(Map::new()))),
                Kind::Array => return LazyInstance::Ready(Cow::Owned(Value::Array(Vec::new()))),
                _ => (node.raw_bytes(), JSON),
            },
            Self::Text(text) => (text.as_bytes(), TEXT),
            Self::Under(..) => return LazyInstance::Ready(self.to_value()),
        };
        LazyInstance::Deferred { bytes, tag, make: value_of, cell: OnceLock::new() }
    }

    fn identity(&self) -> Option<NodeIdentity> {
        let (document, index) = self.value()?.identity();
        Some(NodeIdentity::tagged(document, index))
    }
}

/// What the bytes of a deferred value are.
const JSON: u32 = 0;
const TEXT: u32 = 1;

fn value_of(bytes: &[u8], tag: u32) -> Value {
    let text = || Value::String(String::from_utf8_lossy(bytes).into_owned());
    if tag == TEXT { text() } else { serde_json::from_slice(bytes).unwrap_or_else(|_| text()) }
}

impl<'a> Object<'a, Tape> for TapeObject<'a> {
    type Node = TapeNode<'a>;
    type MemberName = Cow<'a, str>;
    type MembersIter = TapeMembers<'a>;

    fn len(&self) -> usize {
        match self.0 {
            ObjectOf::Document(node) => node.len(),
            ObjectOf::Under(..) => 1,
        }
    }

    fn get(&self, key: &String) -> Option<TapeNode<'a>> {
        work::take(1 + (self.len() / STEP_NAMES) as u64);
        match self.0 {
            ObjectOf::Document(node) => node.get(key).map(TapeNode::Value),
            ObjectOf::Under(name, value) => (name == key).then_some(TapeNode::Value(value)),
        }
    }

    fn members(&self) -> TapeMembers<'a> {
        TapeMembers(match self.0 {
            ObjectOf::Document(node) => MembersOf::Document(Members::of(node)),
            ObjectOf::Under(name, value) => MembersOf::Under(Some((name, value))),
        })
    }
}

impl<'a> Iterator for TapeMembers<'a> {
    type Item = (Cow<'a, str>, TapeNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if !work::take(1) {
            return None;
        }
        match &mut self.0 {
            MembersOf::Document(members) => {
                let (name, value) = members.next()?;
                Some((members.name_ref(name), TapeNode::Value(value)))
            }
            MembersOf::Under(one) => one.take().map(|(name, value)| (Cow::Borrowed(name), TapeNode::Value(value))),
        }
    }
}

impl<'a> Array<'a, Tape> for TapeArray<'a> {
    type Node = TapeNode<'a>;
    type ElementsIter = TapeItems<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> TapeItems<'a> {
        TapeItems(Items::of(self.0))
    }

    fn is_unique(&self) -> bool {
        !work::take((self.0.span().len() / STEP_BYTES) as u64) || self.0.equal_items().is_none()
    }
}

impl<'a> Iterator for TapeItems<'a> {
    type Item = TapeNode<'a>;

    fn next(&mut self) -> Option<TapeNode<'a>> {
        if work::take(1) { self.0.next().map(TapeNode::Value) } else { None }
    }
}

impl TapeNumber<'_> {
    fn as_i128(self) -> Option<i128> {
        if self.plain { self.text.parse().ok() } else { Number::parse(self.text).as_i128() }
    }
}

impl JsonNumber for TapeNumber<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.as_i128()?.try_into().ok()
    }

    fn as_i64(&self) -> Option<i64> {
        self.as_i128()?.try_into().ok()
    }

    fn as_f64(&self) -> Option<f64> {
        self.text.parse().ok().filter(|value: &f64| value.is_finite())
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.text)
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(serde_json::Number::from_string_unchecked(self.text.to_owned()))
    }

    fn is_integer(&self) -> bool {
        self.plain || Number::parse(self.text).is_integer()
    }

    fn is_written_as_integer(&self) -> bool {
        self.plain
    }
}

#[cfg(test)]
mod tests {
    use contrail_exchange::json::Document;
    use jsonschema::Validator;

    use super::*;

    fn schema(text: &str) -> Validator<Tape> {
        jsonschema::options_for::<Tape>().build(&serde_json::from_str::<Value>(text).unwrap()).unwrap()
    }

    fn valid(schema: &Validator<Tape>, text: &str) -> bool {
        schema.is_valid(TapeNode::Value(Document::parse(text.to_owned().into_bytes()).unwrap().root()))
    }

    #[test]
    fn bounds_are_exact() {
        let bounded = schema(r#"{"type":"integer","minimum":0,"maximum":10000}"#);
        for good in ["0", "-0", "10000", "1e4", "10000.0", "5.0", "1e3", "0e999", "0.0"] {
            assert!(valid(&bounded, good), "{good}");
        }
        for bad in
            ["-1", "10001", "10000.0000000000000000001", "1e400", "1e999999999", "5.5", "1e-400", "\"5\"", "-1e400"]
        {
            assert!(!valid(&bounded, bad), "{bad}");
        }
        let number = schema(r#"{"type":"number","exclusiveMinimum":0,"maximum":10000}"#);
        assert!(valid(&number, "1e-400"));
        assert!(!valid(&number, "10000.0000000000000000001"));
        assert!(!valid(&number, "1e400"));
        assert!(!valid(&number, "0.0"));
        assert!(valid(&schema(r#"{"multipleOf":0.1}"#), "0.3"));
    }

    #[test]
    fn strings_names_and_containers_are_seen() {
        let all = schema(
            r#"{"type":"object","required":["a"],"additionalProperties":false,"propertyNames":{"maxLength":1},
                "properties":{"a":{"type":"array","uniqueItems":true,"items":{"type":["string","null","boolean"]}},
                              "b":{"const":{"x":[1,2.0]}},"c":{"maxLength":1,"minLength":1},"d":{"enum":[1,"e",null]}}}"#,
        );
        for good in [
            r#"{"a":[]}"#,
            r#"{"\u0061":["x",null,true]}"#,
            r#"{"a":[],"b":{"x":[1.0,2]}}"#,
            r#"{"a":[],"c":"\ud83d\ude00"}"#,
            r#"{"a":[],"d":1.0}"#,
        ] {
            assert!(valid(&all, good), "{good}");
        }
        for bad in [
            "{}",
            r#"{"a":[1]}"#,
            r#"{"a":["x","\u0078"]}"#,
            r#"{"a":[],"b":{"x":[1,3]}}"#,
            r#"{"a":[],"c":"ab"}"#,
            r#"{"a":[],"d":"f"}"#,
            r#"{"a":[],"zz":1}"#,
            "[]",
        ] {
            assert!(!valid(&all, bad), "{bad}");
        }
    }
}
