//! The values that `const` and `enum` allow.

use contrail_exchange::json::{ByValue, Kind, Node, Number};

use crate::schema::work;
use serde_json::{Map, Value};

use crate::schema::{gaps, order::shorter_first};

use super::kinds::Kinds;

/// Bytes of a value that count as a step where it is compared as a whole.
const STEP_BYTES: usize = 64;

/// Listed values. Texts, integers of 64 bits, booleans and null are compared at a look.
#[derive(Clone, Default)]
pub(super) struct Constants {
    /// Sorted, [`shorter_first`].
    texts: Vec<Box<[u8]>>,
    /// Sorted.
    numbers: Vec<i64>,
    /// `false`, `true`.
    booleans: [bool; 2],
    null: bool,
    /// The types of all others, at least: other numbers, arrays and objects.
    other_kinds: u8,
    others: ByValue<()>,
}

impl Constants {
    /// What the `const` and the `enum` of a schema allow together; `None` where there is neither.
    pub(super) fn of(schema: &Map<String, Value>) -> Option<Self> {
        let only = schema.get("const").map(|only| Self::among(std::slice::from_ref(only)));
        let several = schema.get("enum").map(|values| Self::among(values.as_array()?));
        match (only, several) {
            (Some(only), Some(several)) => Some(only?.and(&several?)),
            (only, several) => only.or(several)?,
        }
    }

    /// What a choice allows each of whose branches lists values, and states nothing else.
    pub(super) fn of_choice(keyword: &str, branches: &[Value]) -> Option<Self> {
        // By value, how many branches list it, and which was the last.
        let mut listed: ByValue<(usize, Option<usize>)> = ByValue::default();
        let mut values = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            let branch = branch.as_object()?;
            let mut stated = branch.keys().filter(|keyword| gaps::says_something(keyword));
            let (held, None) = (stated.next()?, stated.next()) else { return None };
            let held = match (held.as_str(), &branch[held]) {
                ("const", only) => std::slice::from_ref(only),
                ("enum", Value::Array(several)) => several,
                _ => return None,
            };
            for value in held {
                let (count, last) = listed.entry(value)?;
                if last.replace(index) != Some(index) {
                    *count += 1;
                }
            }
            values.extend(held);
        }
        if keyword == "oneOf" {
            values.retain(|value| listed.entry(value).is_some_and(|(count, _)| *count == 1));
        }
        Self::among(values)
    }

    fn among<'v>(values: impl IntoIterator<Item = &'v Value>) -> Option<Self> {
        let mut constants = Self::default();
        for value in values {
            let kind = match value {
                Value::Null => {
                    constants.null = true;
                    continue;
                }
                Value::Bool(value) => {
                    constants.booleans[usize::from(*value)] = true;
                    continue;
                }
                Value::String(text) => {
                    constants.texts.push(text.as_bytes().into());
                    continue;
                }
                Value::Number(number) => match any_integer(&number.to_string()) {
                    Some(number) => {
                        constants.numbers.push(number);
                        continue;
                    }
                    None => Kind::Number,
                },
                Value::Array(_) => Kind::Array,
                Value::Object(_) => Kind::Object,
            };
            constants.other_kinds |= Kinds::of(kind).0;
            constants.others.entry(value)?;
        }
        constants.texts.sort_unstable_by(|left, right| shorter_first(left, right));
        constants.numbers.sort_unstable();
        Some(constants)
    }

    /// Those that the others allow, too.
    pub(super) fn and(mut self, others: &Self) -> Self {
        self.texts.retain(|text| others.has_text(text));
        self.numbers.retain(|number| others.numbers.binary_search(number).is_ok());
        self.null &= others.null;
        self.booleans = [self.booleans[0] && others.booleans[0], self.booleans[1] && others.booleans[1]];
        self.other_kinds &= others.other_kinds;
        self.others.retain_in(&others.others);
        self
    }

    /// Their types, and maybe more.
    pub(super) fn kinds(&self) -> Kinds {
        let kinds = [
            (!self.texts.is_empty(), Kind::String),
            (!self.numbers.is_empty(), Kind::Number),
            (self.booleans.contains(&true), Kind::Boolean),
            (self.null, Kind::Null),
        ];
        let held = kinds.into_iter().filter(|(held, _)| *held);
        Kinds(held.fold(self.other_kinds, |kinds, (_, kind)| kinds | Kinds::of(kind).0))
    }

    /// Whether a value is one of them.
    pub(super) fn has(&self, value: Node<'_>) -> bool {
        match value.kind() {
            Kind::Null => self.null,
            Kind::Boolean => self.booleans[usize::from(value.as_bool() == Some(true))],
            Kind::String if self.texts.is_empty() => false,
            Kind::String => match value.plain_text() {
                Some(text) => self.has_text(text),
                None => value.as_str().is_some_and(|text| self.has_text(text.as_bytes())),
            },
            Kind::Number => {
                let number = integer(value.raw()).or_else(|| {
                    work::take(1 + (value.raw().len() / STEP_BYTES) as u64);
                    any_integer(value.raw())
                });
                match number {
                    Some(number) => self.numbers.binary_search(&number).is_ok(),
                    None => self.has_other(Kind::Number, value),
                }
            }
            kind @ (Kind::Array | Kind::Object) => self.has_other(kind, value),
        }
    }

    fn has_other(&self, kind: Kind, value: Node<'_>) -> bool {
        if !Kinds(self.other_kinds).has(kind) {
            return false;
        }
        work::take(1 + (value.span().len() / STEP_BYTES) as u64);
        self.others.get(value).is_some()
    }

    pub(super) fn has_text(&self, text: &[u8]) -> bool {
        self.texts.binary_search_by(|held| shorter_first(held, text)).is_ok()
    }
}

/// The integer of 64 bits that a number is, however it is written.
fn any_integer(text: &str) -> Option<i64> {
    Number::parse(text).as_i128()?.try_into().ok()
}

/// The integer that a number's text is, if it is written as one and has 64 bits.
pub(super) fn integer(text: &str) -> Option<i64> {
    if matches!(text.as_bytes(), [b'0'] | [b'1'..=b'9', ..] | [b'-', b'0'] | [b'-', b'1'..=b'9', ..]) {
        text.parse().ok()
    } else {
        None
    }
}
