//! The resolution of a document: each of its references becomes a pointer.

use std::sync::Arc;

use jsonschema::uri;
use serde_json::{Map, Value};

use super::found::Resources;
use crate::refs::{self, below};

/// The document's own base, which nothing is fetched from.
const BASE: &str = "contrail:/document";

/// A document whose references are pointers.
pub(in crate::schema) struct Resolved {
    pub(in crate::schema) document: Arc<Value>,
    pub(super) resources: Resources,
}

impl Resolved {
    /// Resolves the references of a document. One without resources of its own is not copied.
    pub(in crate::schema) fn of(document: &Arc<Value>) -> Self {
        if !needs_resolving(document) {
            return Self { document: Arc::clone(document), resources: Resources::default() };
        }
        let mut resources = Resources::default();
        let base = document.get("$self").and_then(Value::as_str).unwrap_or(BASE);
        let parse = |text: &str| uri::from_str(text).ok();
        let Some(base) = parse(base).or_else(|| parse(BASE)) else {
            return Self { document: Arc::clone(document), resources };
        };
        resources.add_root(String::new(), base);
        for place in schema_places(document) {
            resources.discover(document, place, 0);
        }
        let edits = resources.edits(document);
        let mut resolved = Value::clone(document);
        for (at, edit) in edits {
            if let Some(Value::Object(schema)) = resolved.pointer_mut(&at) {
                edit.apply(schema);
            }
        }
        Self { document: Arc::new(resolved), resources }
    }
}

/// A quick look: whether any object names a resource, or refers to anything but a place of the document.
fn needs_resolving(document: &Value) -> bool {
    let mut todo = vec![document];
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(members) => {
                let names = |keyword: &str| members.get(keyword).is_some_and(Value::is_string);
                let elsewhere = |keyword: &str| {
                    members.get(keyword).and_then(Value::as_str).is_some_and(|target| !target.starts_with("#/"))
                };
                if ["$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$schema"].into_iter().any(names)
                    || elsewhere("$ref")
                {
                    return true;
                }
                todo.extend(members.values());
            }
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
    false
}

/// The places of schemas in an OpenAPI document.
fn schema_places(document: &Value) -> Vec<String> {
    let mut places = Vec::new();
    refs::walk(document, &mut |at, object| {
        for keyword in ["schema", "itemSchema"] {
            if object.get(keyword).is_some_and(Value::is_object) {
                places.push(below(at, &[keyword]));
            }
        }
        if at == "/components" {
            let schemas = object.get("schemas").and_then(Value::as_object).into_iter().flat_map(Map::keys);
            places.extend(schemas.map(|name| below(at, &["schemas", name])));
        }
    });
    places
}
