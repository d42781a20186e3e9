//! The keys that a schema names for an object, to find the fields of a parameter that has names of its own.

use std::{collections::HashSet, sync::Arc};

use serde_json::{Map, Value};

use crate::{refs, schemas_at};

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
        let (mut keys, mut named, mut known) = (Self::default(), Vec::new(), HashSet::new());
        for at in schemas_at::composed(document, vec![at.to_owned()]) {
            let Some(Value::Object(schema)) = refs::at(document, &at) else { continue };
            let is_type = |kind: &Value| kind.as_str() == Some("object");
            match schema.get("type") {
                Some(Value::Array(kinds)) => {
                    keys.is_object |= kinds.iter().any(is_type);
                    keys.is_other |= kinds.iter().any(|kind| !is_type(kind) && kind.as_str() != Some("null"));
                }
                Some(kind) => {
                    keys.is_object |= is_type(kind);
                    keys.is_other |= !is_type(kind);
                }
                None => keys.is_object |= schema.contains_key("properties"),
            }
            let properties = schema.get("properties").and_then(Value::as_object);
            let names = properties.into_iter().flat_map(Map::keys).filter(|name| known.insert(*name));
            named.extend(names.map(|name| name.as_str().into()));
            keys.open |= schema.get("additionalProperties").is_some_and(|further| further != &Value::Bool(false));
            keys.open |= schema.contains_key("patternProperties");
        }
        keys.named = named.into();
        keys
    }
}
