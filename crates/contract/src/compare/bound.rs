//! Bounds of two schemas, compared by what they allow.

use std::cmp::Ordering;

use contrail_exchange::json::Number;
use serde_json::{Map, Value};

/// Keywords that bound the same, and whether they are upper bounds.
pub(super) const BOUNDS: [(&[&str], bool); 8] = [
    (&["maximum", "exclusiveMaximum"], true),
    (&["maxLength"], true),
    (&["maxItems"], true),
    (&["maxProperties"], true),
    (&["minimum", "exclusiveMinimum"], false),
    (&["minLength"], false),
    (&["minItems"], false),
    (&["minProperties"], false),
];

/// What a schema states as a bound.
pub(super) struct Bound<'s> {
    /// The keyword that states it.
    pub(super) keyword: &'static str,
    pub(super) limit: &'s Value,
    value: f64,
    /// Its exact value, of an integer the last one allowed.
    exact: Option<i128>,
    /// The limit itself is not allowed.
    is_exclusive: bool,
    is_upper: bool,
}

impl<'s> Bound<'s> {
    /// The tightest bound of these keywords; `None` where they bound nothing.
    pub(super) fn of(schema: &'s Map<String, Value>, keywords: &[&'static str], is_upper: bool) -> Option<Self> {
        let integer = schema.get("type").is_some_and(|name| name == "integer");
        let bounds = keywords.iter().filter_map(|keyword| {
            let limit = schema.get(*keyword)?;
            let mut exact = Number::parse(&limit.as_number()?.to_string()).as_i128();
            let mut is_exclusive = keyword.starts_with("exclusive");
            if let Some(limit) = exact.as_mut().filter(|_| is_exclusive && integer) {
                *limit = if is_upper { limit.checked_sub(1)? } else { limit.checked_add(1)? };
                is_exclusive = false;
            }
            // No length and no number of items is below 0.
            let bounds = is_upper || keywords.len() > 1 || exact != Some(0);
            let value = limit.as_f64()?;
            bounds.then_some(Self { keyword, limit, value, exact, is_exclusive, is_upper })
        });
        bounds.reduce(|one, other| {
            let tighter = if is_upper { Ordering::Less } else { Ordering::Greater };
            if other.order(&one) == Some(tighter) { other } else { one }
        })
    }

    /// Which of the two is lower; `None` where that is not known.
    pub(super) fn order(&self, other: &Self) -> Option<Ordering> {
        let order = match (self.exact, other.exact) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ if equal(self.limit, other.limit) => Ordering::Equal,
            _ => self.value.partial_cmp(&other.value).filter(|order| order.is_ne())?,
        };
        let (one, other) = (self.is_exclusive, other.is_exclusive);
        Some(order.then_with(|| if self.is_upper { other.cmp(&one) } else { one.cmp(&other) }))
    }
}

/// Whether two values are the same for JSON Schema, for which `1.0` is `1`.
pub(super) fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            Number::parse(&one.to_string()) == Number::parse(&other.to_string())
        }
        _ => one == other,
    }
}
