//! Which schemas of a document describe a place of a value, without judging the value.

use serde_json::Value;

use super::refs::{at, below, target};

/// Maximum schemas that one value is looked up in.
const MAX_SCHEMAS: usize = 200;

/// JSON pointers of these schemas and of all that they are composed of or refer to.
pub fn composed(document: &Value, mut open: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    while let Some(place) = open.pop() {
        let Some(schema) = at(document, &place) else { continue };
        if all.contains(&place) || all.len() == MAX_SCHEMAS {
            continue;
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let branches = schema.get(keyword).and_then(Value::as_array).map_or(0, Vec::len);
            open.extend((0..branches).rev().map(|index| below(&place, &[keyword, &index.to_string()])));
        }
        open.extend(schema.get("$ref").and_then(Value::as_str).and_then(target));
        all.push(place);
    }
    all
}

/// JSON pointers of the schemas that these state for a member of an object, or an item of an array; `*` is any item.
pub fn of_member(document: &Value, schemas: &[String], token: &str) -> Vec<String> {
    let is_index = token == "*" || token.bytes().all(|byte| byte.is_ascii_digit());
    let found = schemas.iter().filter_map(|schema| {
        let node = at(document, schema)?;
        if node.get("properties").and_then(|properties| properties.get(token)).is_some() {
            Some(below(schema, &["properties", token]))
        } else if node.get("items").is_some_and(Value::is_object) && is_index {
            Some(below(schema, &["items"]))
        } else if node.get("additionalProperties").is_some_and(Value::is_object) {
            Some(below(schema, &["additionalProperties"]))
        } else {
            None
        }
    });
    found.collect()
}
