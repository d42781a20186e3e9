//! The values that `const` and `enum` allow.

use contrail_exchange::json::{ByValue, Kind, Node, Number};

use serde_json::Value;

use super::compile::says_something;
use crate::schema::{keywords::NULLABLE, order::shorter_first, work};

/// Bytes of a value that count as a step where it is compared as a whole.
const STEP_BYTES: usize = 64;

/// Listed values. Texts, integers of 64 bits, booleans and null are compared at a look.
#[derive(Default)]
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
    /// What `const` or `enum` allows.
    pub(super) fn of(keyword: &str, value: &Value) -> Option<Self> {
        if keyword == "const" { Self::among(std::slice::from_ref(value)) } else { Self::among(value.as_array()?) }
    }

    /// What a choice allows each of whose branches lists values, and states nothing else.
    pub(super) fn of_choice(keyword: &str, branches: &[Value]) -> Option<Self> {
        // By value, how many branches list it, and which was the last.
        let mut listed: ByValue<(usize, Option<usize>)> = ByValue::default();
        let mut values = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            let branch = branch.as_object().filter(|branch| !branch.contains_key(NULLABLE))?;
            let mut stated = branch.keys().filter(|keyword| says_something(keyword));
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
            constants.other_kinds |= 1 << kind as u8;
            constants.others.entry(value)?;
        }
        constants.texts.sort_unstable_by(|left, right| shorter_first(left, right));
        constants.numbers.sort_unstable();
        Some(constants)
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
        if self.other_kinds >> kind as u8 & 1 == 0 {
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
