//! Whether two schemas state the same.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use crate::{
    refs,
    schema::{Holds, NULLABLE, holds, says_something},
};

/// Whether two schemas state the same, wherever their parts stand.
pub(super) struct Same<'a> {
    old: &'a Value,
    new: &'a Value,
    seen: HashSet<(*const Value, *const Value)>,
}

impl<'a> Same<'a> {
    pub(super) fn new(old: &'a Value, new: &'a Value) -> Self {
        Self { old, new, seen: HashSet::new() }
    }

    pub(super) fn schemas(&mut self, old: &'a Value, new: &'a Value) -> bool {
        let (old, new) = (target(self.old, old), target(self.new, new));
        if !self.seen.insert((std::ptr::from_ref(old), std::ptr::from_ref(new))) {
            return true;
        }
        let (Some(one), Some(other)) = (old.as_object(), new.as_object()) else { return old == new };
        self.keywords(one, other, &[])
    }

    /// Whether all keywords but these state the same.
    pub(super) fn keywords(
        &mut self,
        one: &'a Map<String, Value>,
        other: &'a Map<String, Value>,
        without: &[&str],
    ) -> bool {
        let keys = |schema: &'a Map<String, Value>| -> BTreeSet<&str> {
            schema.keys().map(String::as_str).filter(|key| restricts(key) && !without.contains(key)).collect()
        };
        let (held, others) = (keys(one), keys(other));
        held == others && held.iter().all(|key| self.keyword(key, &one[*key], &other[*key]))
    }

    fn keyword(&mut self, keyword: &str, old: &'a Value, new: &'a Value) -> bool {
        match (holds(keyword), old, new) {
            (Holds::One, ..) => self.schemas(old, new),
            (Holds::List, Value::Array(old), Value::Array(new)) => {
                old.len() == new.len() && old.iter().zip(new).all(|(old, new)| self.schemas(old, new))
            }
            (Holds::Members, Value::Object(old), Value::Object(new)) => {
                old.len() == new.len()
                    && old.iter().all(|(name, old)| new.get(name).is_some_and(|new| self.schemas(old, new)))
            }
            _ if keyword == "$ref" => match (old.as_str(), new.as_str()) {
                (Some(one), Some(other)) => match (refs::resolve(self.old, one), refs::resolve(self.new, other)) {
                    (Some(old), Some(new)) => self.schemas(old, new),
                    _ => one == other,
                },
                _ => old == new,
            },
            _ => old == new,
        }
    }
}

/// What a schema leads to, as long as nothing beside the reference restricts anything.
pub(super) fn target<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..refs::MAX_CHAIN {
        let Some(Value::String(reference)) = schema.get("$ref") else { break };
        let alone = schema.as_object().is_some_and(|schema| schema.keys().all(|key| key == "$ref" || !restricts(key)));
        let Some(found) = refs::resolve(document, reference) else { break };
        if !alone {
            break;
        }
        schema = found;
    }
    schema
}

/// Whether a schema restricts nothing.
pub(super) fn is_silent(schema: &Map<String, Value>) -> bool {
    !schema.keys().any(|key| restricts(key))
}

/// Whether the check reads a keyword: it is no annotation, no definition and no name.
fn restricts(keyword: &str) -> bool {
    keyword == NULLABLE || keyword != "definitions" && says_something(keyword)
}
