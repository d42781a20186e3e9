//! `$ref`: where it stands, what it names, and whether that exists. Within one document only.

use std::collections::HashMap;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;

use super::{ContractError, UnusablePlace, error::invalid};
use crate::json::push_pointer;

/// What a URI fragment cannot hold as it is, and the percent sign.
const FRAGMENT: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'%').add(b'<').add(b'>').add(b'`').add(b'^').add(b'{').add(b'}').add(b'|');

/// Longest chain of references that is followed before it is called a loop.
const LONGEST_CHAIN: usize = 64;

/// Every `$ref` of the document that names nothing in it.
pub(super) fn dangling(document: &Value) -> Vec<UnusablePlace> {
    let mut dangling = Vec::new();
    if is_rebased(document) {
        return dangling;
    }
    walk(document, &mut |at, object| {
        let Some(target) = object.get("$ref").and_then(Value::as_str) else { return };
        let named = target.strip_prefix('#').and_then(pointer);
        if named.is_none_or(|pointer| document.pointer(&pointer).is_none()) {
            dangling.push(UnusablePlace::dangling(at, target));
        }
    });
    dangling
}

/// Follows the `$ref` of an OpenAPI object (a parameter, a response, a path item, …) to what it names, with the JSON
/// pointer of the place where that stands.
///
/// # Errors
///
/// [`ContractError::DanglingRef`], and [`ContractError::Invalid`] for references that only name each other.
pub(super) fn follow<'a>(
    document: &'a Value,
    at: &str,
    mut value: &'a Value,
) -> Result<(String, &'a Value), ContractError> {
    let mut place = at.to_owned();
    for _ in 0..LONGEST_CHAIN {
        let Some(target) = value.get("$ref").and_then(Value::as_str) else { return Ok((place, value)) };
        let named = target.strip_prefix('#').and_then(pointer);
        match named.and_then(|pointer| document.pointer(&pointer).map(|value| (pointer, value))) {
            Some((pointer, found)) => (place, value) = (pointer, found),
            None => return Err(ContractError::DanglingRef { at: place, target: target.to_owned() }),
        }
    }
    Err(invalid(at, "its `$ref` leads in a circle"))
}

/// The JSON pointer that a URI fragment stands for; `None` if its percent-encoding is broken.
pub(super) fn pointer(fragment: &str) -> Option<String> {
    percent_encoding::percent_decode_str(fragment).decode_utf8().ok().map(Into::into)
}

/// Whether any object in a document has a `$id` that may be a schema's: references below it start from there.
pub(super) fn is_rebased(document: &Value) -> bool {
    let mut todo = vec![document];
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(members) if members.get("$id").is_some_and(Value::is_string) => return true,
            Value::Object(members) => todo.extend(members.values()),
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
    false
}

/// Rewrites references to an `$anchor` into references to the place where it stands, the only ones that are followed.
/// What refers to an anchor that does not exist stays, and dangles.
/// A document with a `$id` stays: its references start elsewhere, and the judge resolves them.
pub(super) fn resolve_anchors(document: &mut Value) {
    if is_rebased(document) {
        return;
    }
    let mut anchors: HashMap<String, String> = HashMap::new();
    let mut named: Vec<(String, String)> = Vec::new();
    walk(document, &mut |at, object| {
        if let Some(anchor) = object.get("$anchor").and_then(Value::as_str) {
            anchors.entry(anchor.to_owned()).or_insert_with(|| at.to_owned());
        }
        let target = object.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
        if let Some(anchor) = target.filter(|target| !target.is_empty() && !target.starts_with('/')) {
            named.push((at.to_owned(), anchor.to_owned()));
        }
    });
    for (at, anchor) in named {
        let Some(place) = anchors.get(&anchor) else { continue };
        if let Some(target) = document.pointer_mut(&at).and_then(|object| object.get_mut("$ref")) {
            *target = Value::String(format!("#{}", utf8_percent_encode(place, FRAGMENT)));
        }
    }
}

/// Visits every object of the document that OpenAPI or JSON Schema gives a meaning to, with its JSON pointer: not
/// what stands in examples, defaults, enumerations and extensions.
pub(super) fn walk<'a>(document: &'a Value, visit: &mut impl FnMut(&str, &'a serde_json::Map<String, Value>)) {
    let mut at = String::new();
    descend(document, &mut at, false, visit);
}

/// Keywords whose members are names that the author chose.
fn holds_names(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties"
            | "patternProperties"
            | "dependentSchemas"
            | "$defs"
            | "definitions"
            | "schemas"
            | "responses"
            | "parameters"
            | "requestBodies"
            | "headers"
            | "securitySchemes"
            | "links"
            | "callbacks"
            | "pathItems"
            | "paths"
            | "webhooks"
            | "content"
            | "encoding"
            | "variables"
    )
}

fn descend<'a>(
    value: &'a Value,
    at: &mut String,
    names: bool,
    visit: &mut impl FnMut(&str, &'a serde_json::Map<String, Value>),
) {
    let length = at.len();
    match value {
        Value::Object(object) => {
            if !names {
                visit(at, object);
            }
            for (key, member) in object {
                let opaque = matches!(key.as_str(), "example" | "examples" | "default" | "enum" | "const" | "mapping")
                    || key.starts_with("x-");
                if !names && opaque {
                    continue;
                }
                push_pointer(at, key);
                descend(member, at, !names && holds_names(key), visit);
                at.truncate(length);
            }
        }
        Value::Array(array) => {
            for (index, item) in array.iter().enumerate() {
                push_pointer(at, &index.to_string());
                descend(item, at, false, visit);
                at.truncate(length);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_ref_to_an_anchor_becomes_one_to_its_place() {
        let mut document = json!({"components": {"schemas": {
            "a/b {c}": {"$anchor": "here"}, "B": {"$ref": "#here"}, "C": {"$ref": "#nowhere"},
        }}});
        resolve_anchors(&mut document);
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["B"]["$ref"], "#/components/schemas/a~1b%20%7Bc%7D");
        assert_eq!(schemas["C"]["$ref"], "#nowhere");
    }

    #[test]
    fn a_chain_of_refs_is_followed_to_its_end() {
        let document = json!({"a": {"$ref": "#/b"}, "b": {"$ref": "#/c"}, "c": {"name": "x"}});
        assert_eq!(follow(&document, "/a", &document["a"]).unwrap(), ("/c".to_owned(), &json!({"name": "x"})));
    }

    #[test]
    fn refs_that_only_name_each_other_are_an_error() {
        let document = json!({"a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}});
        assert!(follow(&document, "/a", &document["a"]).unwrap_err().to_string().contains("circle"));
    }
}
