//! The tape as `jsonschema` walks it: no value is copied, no number is rounded.

use std::{borrow::Cow, sync::OnceLock};

use jsonschema::{
    JsonType,
    json::{Array, Json, JsonNumber, Node as Judged, NodeIdentity, Object},
};
use jsonschema_value::LazyInstance;
use serde_json::{Map, Value};

use super::{
    Kind, Node, Number,
    node::{Items, Members},
    work,
};

/// Steps that count for an error: its memory is that of many steps.
const ERROR_STEPS: u64 = 64;
/// Bytes of a text that count as a step.
const STEP_BYTES: usize = 64;
/// Names that a search compares in a step.
const STEP_NAMES: usize = 8;

/// The representation: `jsonschema::options_for::<Tape>()` gives validators that walk a [`super::Document`].
#[derive(Debug, Clone, Copy)]
pub struct Tape;

/// A value to judge.
#[derive(Debug, Clone, Copy)]
pub enum TapeNode<'a> {
    /// A value of a document.
    Value(Node<'a>),
    /// A string that stands in no document: a member's name, a path or query parameter.
    Text(&'a str),
    /// An object with this one member. It selects one of the schemas that were compiled together, each under a property
    /// of its own.
    Under(&'a str, Leaf<'a>),
}

/// A value to judge, or a text that stands in no document.
#[derive(Debug, Clone, Copy)]
pub enum Leaf<'a> {
    /// A value of a document.
    Value(Node<'a>),
    /// A string that stands in no document.
    Text(&'a str),
}

impl<'a> From<Leaf<'a>> for TapeNode<'a> {
    fn from(leaf: Leaf<'a>) -> Self {
        match leaf {
            Leaf::Value(node) => Self::Value(node),
            Leaf::Text(text) => Self::Text(text),
        }
    }
}

/// A number by its text.
#[derive(Debug, Clone, Copy)]
pub struct TapeNumber<'a> {
    text: &'a str,
    plain: bool,
}

/// An object's members.
#[derive(Debug, Clone, Copy)]
pub struct TapeObject<'a>(ObjectOf<'a>);

#[derive(Debug, Clone, Copy)]
enum ObjectOf<'a> {
    Document(Node<'a>),
    /// See [`TapeNode::Under`].
    Under(&'a str, Leaf<'a>),
}

/// An array's items.
#[derive(Debug, Clone, Copy)]
pub struct TapeArray<'a>(Node<'a>);

/// See [`Object::members`].
#[derive(Debug)]
pub struct TapeMembers<'a>(MembersOf<'a>);

#[derive(Debug)]
enum MembersOf<'a> {
    Document(Members<'a>),
    /// See [`TapeNode::Under`].
    Under(Option<(&'a str, Leaf<'a>)>),
}

/// See [`Array::elements`].
#[derive(Debug)]
pub struct TapeItems<'a>(Items<'a>);

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
            Self::Under(name, leaf) => Some(TapeObject(ObjectOf::Under(name, *leaf))),
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
            (Self::Under(name, leaf), Value::Object(expected)) => {
                expected.len() == 1
                    && expected.get(*name).is_some_and(|expected| Self::from(*leaf).equals_value(expected))
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
            Self::Under(name, leaf) => {
                Value::Object([((*name).to_owned(), Self::from(*leaf).to_value().into_owned())].into_iter().collect())
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
            ObjectOf::Under(name, leaf) => (name == key).then_some(leaf.into()),
        }
    }

    fn members(&self) -> TapeMembers<'a> {
        TapeMembers(match self.0 {
            ObjectOf::Document(node) => MembersOf::Document(Members::of(node)),
            ObjectOf::Under(name, leaf) => MembersOf::Under(Some((name, leaf))),
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
            MembersOf::Under(one) => one.take().map(|(name, leaf)| (Cow::Borrowed(name), leaf.into())),
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
