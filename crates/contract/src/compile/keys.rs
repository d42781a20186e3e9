//! The keys that a schema names for an object, to find the fields of a parameter that has names of its own.

use std::{collections::HashSet, sync::Arc};

use serde_json::Value;

use super::members::child;
use crate::refs;

/// Maximum schemas that are searched for the keys of one parameter.
const MAX_SCHEMAS: usize = 256;

/// The keys that a schema names for an object.
#[derive(Default)]
pub(super) struct Keys {
    pub(super) named: Arc<[Box<str>]>,
    pub(super) open: bool,
    pub(super) is_object: bool,
    /// It may be something else as well.
    pub(super) is_other: bool,
}

impl Keys {
    pub(super) fn of(document: &Value, at: &str) -> Self {
        let (mut keys, mut named) = (Self::default(), Vec::new());
        keys.gather(document, at, &mut HashSet::new(), &mut named);
        let mut known = HashSet::new();
        named.retain(|name| known.insert(*name));
        keys.named = named.into_iter().map(Into::into).collect();
        keys
    }

    pub(super) fn gather<'d>(
        &mut self,
        document: &'d Value,
        at: &str,
        seen: &mut HashSet<String>,
        named: &mut Vec<&'d str>,
    ) {
        if seen.len() == MAX_SCHEMAS || !seen.insert(at.to_owned()) {
            return;
        }
        let Some(Value::Object(schema)) = refs::at(document, at) else { return };
        let is_type = |kind: &Value| kind.as_str() == Some("object");
        match schema.get("type") {
            Some(Value::Array(kinds)) => {
                self.is_object |= kinds.iter().any(is_type);
                self.is_other |= kinds.iter().any(|kind| !is_type(kind) && kind.as_str() != Some("null"));
            }
            Some(kind) => {
                self.is_object |= is_type(kind);
                self.is_other |= !is_type(kind);
            }
            None => self.is_object |= schema.contains_key("properties"),
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        named.extend(properties.into_iter().flat_map(serde_json::Map::keys).map(String::as_str));
        self.open |= schema.get("additionalProperties").is_some_and(|further| further != &Value::Bool(false));
        self.open |= schema.contains_key("patternProperties");
        if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(refs::target) {
            self.gather(document, &target, seen, named);
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for index in 0..schema.get(keyword).and_then(Value::as_array).map_or(0, Vec::len) {
                self.gather(document, &format!("{}/{index}", child(at, keyword)), seen, named);
            }
        }
    }
}
