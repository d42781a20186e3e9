//! The scalars that `const` and `enum` allow.

use serde_json::{Map, Value};

use crate::json::{Kind, Node};

use super::kinds::Kinds;

/// Scalars that are compared at a look: texts, integers of 64 bits, booleans and null.
#[derive(Clone, Default)]
pub(super) struct Constants {
    /// Sorted.
    texts: Vec<Box<[u8]>>,
    /// Sorted.
    numbers: Vec<i64>,
    /// `false`, `true`.
    booleans: [bool; 2],
    null: bool,
}

impl Constants {
    /// What the `const` and the `enum` of a schema allow together; `None` where there is neither, or where they allow
    /// anything else.
    pub(super) fn of(schema: &Map<String, Value>) -> Option<Self> {
        let only = schema.get("const").map(|only| Self::among(std::slice::from_ref(only)));
        let several = schema.get("enum").map(|values| Self::among(values.as_array()?));
        match (only, several) {
            (Some(only), Some(several)) => Some(only?.and(&several?)),
            (only, several) => only.or(several)?,
        }
    }

    fn among(values: &[Value]) -> Option<Self> {
        let mut constants = Self::default();
        for value in values {
            match value {
                Value::Null => constants.null = true,
                Value::Bool(value) => constants.booleans[usize::from(*value)] = true,
                Value::Number(number) => constants.numbers.push(integer(&number.to_string())?),
                Value::String(text) => constants.texts.push(text.as_bytes().into()),
                Value::Array(_) | Value::Object(_) => return None,
            }
        }
        constants.texts.sort_unstable();
        constants.numbers.sort_unstable();
        Some(constants)
    }

    /// Those that the others allow, too.
    pub(super) fn and(mut self, others: &Self) -> Self {
        self.texts.retain(|text| others.has_text(text));
        self.numbers.retain(|number| others.numbers.binary_search(number).is_ok());
        self.null &= others.null;
        self.booleans = [self.booleans[0] && others.booleans[0], self.booleans[1] && others.booleans[1]];
        self
    }

    /// Their types.
    pub(super) fn kinds(&self) -> Kinds {
        let kinds = [
            (!self.texts.is_empty(), Kind::String),
            (!self.numbers.is_empty(), Kind::Number),
            (self.booleans.contains(&true), Kind::Boolean),
            (self.null, Kind::Null),
        ];
        let held = kinds.into_iter().filter(|(held, _)| *held);
        Kinds(held.fold(0, |kinds, (_, kind)| kinds | Kinds::of(kind).0))
    }

    /// Whether a value is one of them; `None` for a number that is written in another way.
    pub(super) fn has(&self, value: Node<'_>) -> Option<bool> {
        Some(match value.kind() {
            Kind::Null => self.null,
            Kind::Boolean => self.booleans[usize::from(value.as_bool()?)],
            Kind::Number if self.numbers.is_empty() => false,
            Kind::Number => self.numbers.binary_search(&integer(value.as_number()?)?).is_ok(),
            Kind::String if self.texts.is_empty() => false,
            Kind::String => match value.plain_text() {
                Some(text) => self.has_text(text),
                None => self.has_text(value.as_str()?.as_bytes()),
            },
            Kind::Array | Kind::Object => false,
        })
    }

    pub(super) fn has_text(&self, text: &[u8]) -> bool {
        self.texts.binary_search_by(|held| (**held).cmp(text)).is_ok()
    }
}

/// Branches by the scalars that they allow, a bit for each.
#[derive(Default)]
pub(super) struct ByConstant {
    /// The types whose values are found here: every branch that takes one names its values.
    kinds: Kinds,
    /// Sorted.
    texts: Vec<(Box<[u8]>, u128)>,
    /// Sorted.
    numbers: Vec<(i64, u128)>,
}

impl ByConstant {
    /// Of branches with the types that they take and the values that they allow.
    pub(super) fn of<'c>(branches: impl Iterator<Item = (Kinds, Option<&'c Constants>)>) -> Self {
        let mut found = Self { kinds: Kinds(Kinds::of(Kind::String).0 | Kinds::of(Kind::Number).0), ..Self::default() };
        for (index, (kinds, constants)) in branches.enumerate() {
            let Some(constants) = constants else {
                found.kinds.0 &= !kinds.0;
                continue;
            };
            if kinds.has(Kind::String) {
                found.texts.extend(constants.texts.iter().map(|text| (text.clone(), 1 << index)));
            }
            if kinds.has(Kind::Number) {
                found.numbers.extend(constants.numbers.iter().map(|number| (*number, 1 << index)));
            }
        }
        join(&mut found.texts);
        join(&mut found.numbers);
        found
    }

    /// The branches that a value does not break for certain; `None` where it is not found here.
    pub(super) fn branches(&self, kind: Kind, value: Node<'_>) -> Option<u128> {
        if !self.kinds.has(kind) {
            return None;
        }
        let found = if kind == Kind::String {
            let text = value.plain_text()?;
            self.texts.binary_search_by(|(held, _)| (**held).cmp(text)).map(|at| self.texts[at].1)
        } else {
            let number = integer(value.as_number()?)?;
            self.numbers.binary_search_by_key(&number, |(held, _)| *held).map(|at| self.numbers[at].1)
        };
        Some(found.unwrap_or(0))
    }
}

/// Sorts values, each of them once with all its branches.
fn join<T: Ord>(values: &mut Vec<(T, u128)>) {
    values.sort_unstable();
    values.dedup_by(|next, first| {
        let equal = next.0 == first.0;
        first.1 |= if equal { next.1 } else { 0 };
        equal
    });
}

/// The integer that a number's text is, if it is written as one and has 64 bits.
pub(super) fn integer(text: &str) -> Option<i64> {
    if matches!(text.as_bytes(), [b'0'] | [b'1'..=b'9', ..] | [b'-', b'0'] | [b'-', b'1'..=b'9', ..]) {
        text.parse().ok()
    } else {
        None
    }
}
