//! Changes of schemas, by which their references become pointers.

use serde_json::{Map, Value, json};

use crate::refs;

/// A change of one schema.
pub(super) enum Edit {
    Set(&'static str, Value),
    Remove(String),
    /// One more part of `allOf`.
    Also(Value),
}

impl Edit {
    pub(super) fn apply(self, schema: &mut Map<String, Value>) {
        match self {
            Self::Set(keyword, value) => {
                schema.insert(keyword.to_owned(), value);
            }
            Self::Remove(keyword) => {
                schema.shift_remove(&keyword);
            }
            Self::Also(part) => {
                if let Value::Array(parts) = schema.entry("allOf").or_insert_with(|| json!([])) {
                    parts.push(part);
                }
            }
        }
    }
}

/// The reference to a place of the document.
pub(super) fn to_pointer(pointer: &str) -> Value {
    Value::String(refs::reference(pointer))
}
