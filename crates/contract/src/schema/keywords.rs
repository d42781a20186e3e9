//! Keywords of JSON Schema: which hold schemas, and which vocabulary they belong to.

use serde_json::{Map, Value};

use crate::refs::{self, below};

/// States that null is a gap where the rest of the schema excludes it; in the judge's document it holds that rest.
pub(crate) const NULLABLE: &str = "x-contrail-nullable";

/// Holds the keyword (`readOnly`, `writeOnly`) by which a member belongs to the other side of an exchange.
pub(super) const OTHER_SIDE: &str = "x-contrail-other-side";

/// What a keyword holds.
pub(crate) enum Holds {
    /// A schema.
    One,
    /// A list of schemas.
    List,
    /// An object whose members are schemas.
    Members,
    Other,
}

pub(crate) fn holds(keyword: &str) -> Holds {
    match keyword {
        "items"
        | "additionalProperties"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "contentSchema" => Holds::One,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Holds::List,
        "properties" | "patternProperties" | "dependentSchemas" | "$defs" => Holds::Members,
        _ => Holds::Other,
    }
}

/// The schemas that stand in a schema.
pub(super) fn subschemas(pointer: &str, schema: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for (keyword, value) in schema {
        match (holds(keyword), value) {
            (Holds::One, Value::Object(_)) => found.push(below(pointer, &[keyword])),
            (Holds::List, Value::Array(schemas)) => {
                found.extend((0..schemas.len()).map(|index| below(pointer, &[keyword, &index.to_string()])));
            }
            (Holds::Members, Value::Object(schemas)) => {
                found.extend(schemas.keys().map(|name| below(pointer, &[keyword, name])));
            }
            _ => {}
        }
    }
    found
}

/// The schemas that a schema leads to: those that stand in it, and the one that it refers to.
pub(super) fn targets(pointer: &str, schema: &Map<String, Value>) -> Vec<String> {
    let mut targets = subschemas(pointer, schema);
    targets.extend(schema.get("$ref").and_then(Value::as_str).and_then(refs::target));
    targets
}

/// The keywords by which a schema leads to others for the same value, with those.
pub(super) fn same_value<'s>(pointer: &str, schema: &'s Map<String, Value>) -> Vec<(&'s str, Vec<String>)> {
    let mut found = Vec::new();
    for (keyword, value) in schema {
        let parts: Vec<String> = match (keyword.as_str(), value) {
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                (0..schemas.len()).map(|index| below(pointer, &[keyword, &index.to_string()])).collect()
            }
            ("not" | "if" | "then" | "else", Value::Object(_)) => vec![below(pointer, &[keyword])],
            ("dependentSchemas", Value::Object(schemas)) => {
                schemas.keys().map(|name| below(pointer, &[keyword, name])).collect()
            }
            ("$ref", Value::String(target)) => refs::target(target).into_iter().collect(),
            _ => continue,
        };
        found.push((keyword.as_str(), parts));
    }
    found
}

/// The vocabulary of a keyword that restricts values; `None` for any other.
pub(super) fn vocabulary(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "type" | "const" | "enum" | "multipleOf" | "maximum" | "exclusiveMaximum" | "minimum" | "exclusiveMinimum"
        | "maxLength" | "minLength" | "pattern" | "maxItems" | "minItems" | "uniqueItems" | "maxContains"
        | "minContains" | "maxProperties" | "minProperties" | "required" | "dependentRequired" => "validation",
        "prefixItems"
        | "items"
        | "contains"
        | "additionalProperties"
        | "properties"
        | "patternProperties"
        | "dependentSchemas"
        | "propertyNames"
        | "if"
        | "then"
        | "else"
        | "allOf"
        | "anyOf"
        | "oneOf"
        | "not" => "applicator",
        "unevaluatedItems" | "unevaluatedProperties" => "unevaluated",
        _ => return None,
    })
}
