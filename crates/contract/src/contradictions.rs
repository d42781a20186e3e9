//! Schemas of a document that contradict themselves: what no value, or no value of a type, can conform to. Only what
//! is certain, and shows without search: parts that apply to the same value (`$ref`, `allOf`) taken together.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use super::{
    ContractDocument, refs,
    schema::{self, NULLABLE, parts},
};

type Parts<'d> = Vec<&'d Map<String, Value>>;

/// Keywords that bound values of a type: the lower one, the upper one.
const BOUNDS: [(&str, &str, &str); 4] = [
    ("string", "minLength", "maxLength"),
    ("array", "minItems", "maxItems"),
    ("object", "minProperties", "maxProperties"),
    ("number", "minimum", "maximum"),
];

/// The types of JSON Schema. An integer is a number, too.
const TYPES: [&str; 7] = ["null", "boolean", "string", "array", "object", "number", "integer"];

impl ContractDocument {
    /// Schemas that contradict themselves: JSON pointer of each, and what excludes what.
    #[must_use]
    pub fn contradictions(&self) -> Vec<(String, String)> {
        let document = self.resolved();
        let mut found = Vec::new();
        refs::walk(document, &mut |at, schema| {
            let all = parts(document, schema);
            let inner = || all.iter().skip(1).any(|part| !contradictions(document, &parts(document, part)).is_empty());
            let own = contradictions(document, &all);
            // What a part of it contradicts is listed with that part.
            if !own.is_empty() && !inner() {
                found.extend(own.into_iter().map(|reason| (at.to_owned(), reason)));
            }
        });
        found
    }
}

fn contradictions<'d>(document: &'d Value, parts: &Parts<'d>) -> Vec<String> {
    if let Some(reason) = of_values(parts) {
        return vec![reason];
    }
    let mut found: Vec<String> = BOUNDS.iter().filter_map(|bounds| of_bounds(parts, *bounds)).collect();
    found.extend(of_members(document, parts));
    found
}

/// Whether types and listed values leave no value.
fn of_values(parts: &Parts<'_>) -> Option<String> {
    // Whether null conforms is left open there.
    if parts.iter().any(|part| part.contains_key(NULLABLE)) {
        return None;
    }
    if !TYPES.iter().any(|kind| allows(parts, kind)) {
        return Some("no value conforms: its types exclude each other".to_owned());
    }
    let lists: Vec<Vec<&Value>> = parts
        .iter()
        .flat_map(|part| {
            let listed = part.get("enum").and_then(Value::as_array).map(|values| values.iter().collect());
            listed.into_iter().chain(part.get("const").map(|value| vec![value]))
        })
        .collect();
    let first = lists.first()?;
    if lists.iter().any(Vec::is_empty) {
        return Some("no value conforms: its list of values is empty".to_owned());
    }
    let of_type = |value: &&&Value| kinds_of(value).iter().any(|kind| allows(parts, kind));
    if !first.iter().any(|value| of_type(&value)) {
        return Some("no value conforms: none of those that it lists has its type".to_owned());
    }
    let in_all = |value: &&Value| lists.iter().all(|list| list.iter().any(|other| may_equal(value, other)));
    let left = first.iter().filter(of_type).any(in_all);
    (!left).then(|| "no value conforms: its lists of values have none in common".to_owned())
}

/// Whether the types that the parts state allow a type.
fn allows(parts: &Parts<'_>, kind: &str) -> bool {
    let is = |stated: &str| stated == kind || stated == "number" && kind == "integer" || !TYPES.contains(&stated);
    parts.iter().all(|part| match part.get("type") {
        Some(Value::String(stated)) => is(stated),
        Some(Value::Array(stated)) => stated.is_empty() || stated.iter().any(|stated| stated.as_str().is_none_or(is)),
        _ => true,
    })
}

/// The types that a value may have.
fn kinds_of(value: &Value) -> &'static [&'static str] {
    match value {
        Value::Null => &["null"],
        Value::Bool(_) => &["boolean"],
        Value::String(_) => &["string"],
        Value::Array(_) => &["array"],
        Value::Object(_) => &["object"],
        // `1.0` and `1e400` are integers.
        Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() != 0.0) => &["number"],
        Value::Number(_) => &["number", "integer"],
    }
}

fn may_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => true,
        _ => a == b,
    }
}

fn of_bounds(parts: &Parts<'_>, (kind, lower, upper): (&str, &str, &str)) -> Option<String> {
    let bounds = |key: &str| parts.iter().filter_map(|part| part.get(key)?.as_f64()).collect::<Vec<_>>();
    let least = bounds(lower).into_iter().reduce(f64::max)?;
    let most = bounds(upper).into_iter().reduce(f64::min)?;
    let is_possible = allows(parts, kind) || kind == "number" && allows(parts, "integer");
    (least > most && is_possible).then(|| format!("no {kind} conforms: `{lower}` is {least}, and `{upper}` is {most}"))
}

fn properties(part: &Map<String, Value>) -> Option<&Map<String, Value>> {
    part.get("properties").and_then(Value::as_object)
}

/// Members that are required or documented by one part, and that another excludes.
fn of_members<'d>(document: &'d Value, parts: &Parts<'d>) -> Vec<String> {
    let mut found = Vec::new();
    if !allows(parts, "object") {
        return found;
    }
    let mut members: BTreeMap<&str, Vec<&'d Value>> = BTreeMap::new();
    for (name, schema) in parts.iter().filter_map(|part| properties(part)).flatten() {
        members.entry(name).or_default().push(schema);
    }
    let required: HashSet<&str> = parts
        .iter()
        .flat_map(|part| part.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str))
        .collect();
    for name in &required {
        members.entry(name).or_default();
    }
    let closed = |part: &&&Map<String, Value>| {
        part.get("additionalProperties") == Some(&Value::Bool(false))
            && !part.contains_key("patternProperties")
            && part.get("properties").is_none_or(Value::is_object)
    };
    for (name, schemas) in members {
        let held: Vec<_> = schemas.iter().filter_map(|schema| schema.as_object()).collect();
        let own: Parts<'d> = held.iter().flat_map(|one| schema::parts(document, one)).collect();
        // On one of the two sides such a member need not be there.
        let one_sided = |part: &&Map<String, Value>| {
            ["readOnly", "writeOnly"].iter().any(|key| part.get(*key) == Some(&Value::Bool(true)))
        };
        let lacks = |part: &&Map<String, Value>| properties(part).is_none_or(|all| !all.contains_key(name));
        if parts.iter().filter(closed).any(lacks) && !own.iter().any(one_sided) {
            let excludes = "`additionalProperties: false` excludes";
            found.push(if required.contains(name) {
                format!("no object conforms: it requires `{name}`, which {excludes}")
            } else {
                format!("no object has the documented field `{name}`: {excludes} it")
            });
        } else if held.len() > 1 && !held.iter().any(|one| of_values(&schema::parts(document, one)).is_some()) {
            found.extend(of_values(&own).map(|reason| format!("field `{name}`: {reason}")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::Contract;

    fn found(version: &str, schemas: &Value) -> Vec<String> {
        let document = json!({"openapi": version, "info": {}, "paths": {}, "components": {"schemas": schemas}});
        let contract = Contract::from_document(document).unwrap();
        let found = contract.documents()[0].contradictions().into_iter();
        found.map(|(at, reason)| format!("{} {reason}", at.trim_start_matches("/components/schemas/"))).collect()
    }

    #[test]
    fn a_schema_that_excludes_what_it_asks_for_is_found_once_with_its_reason() {
        let closed = json!({"type": "object", "additionalProperties": false, "properties": {"a": {}}});
        let schemas = json!({
            "Text": {"type": "string"},
            "Types": {"$ref": "#/components/schemas/Text", "type": ["integer", "null"]},
            "Outer": {"allOf": [{"$ref": "#/components/schemas/Types"}, {"maxLength": 5}]},
            "Listed": {"type": "string", "enum": [1, null]},
            "Nothing": {"type": "string", "enum": []},
            "Lists": {"allOf": [{"enum": ["a", 1.0]}, {"const": "b"}]},
            "Whole": {"type": "integer", "minimum": 5, "maximum": 3},
            "Bounds": {"minLength": 5, "allOf": [{"maxLength": 3}]},
            "Closed": closed,
            "Required": {"type": "object", "required": ["a", "b"], "allOf": [{"$ref": "#/components/schemas/Closed"}]},
            "Optional": {"allOf": [{"$ref": "#/components/schemas/Closed"}, {"properties": {"a": {}, "c": {}}}]},
            "Member": {"properties": {"n": {"type": "integer"}}, "allOf": [{"properties": {"n": {"const": "x"}}}]},
        });
        assert_eq!(
            found("3.1.0", &schemas),
            [
                "Types no value conforms: its types exclude each other",
                "Listed no value conforms: none of those that it lists has its type",
                "Nothing no value conforms: its list of values is empty",
                "Lists no value conforms: its lists of values have none in common",
                "Whole no number conforms: `minimum` is 5, and `maximum` is 3",
                "Bounds no string conforms: `minLength` is 5, and `maxLength` is 3",
                "Required no object conforms: it requires `b`, which `additionalProperties: false` excludes",
                "Optional no object has the documented field `c`: `additionalProperties: false` excludes it",
                "Member field `n`: no value conforms: none of those that it lists has its type",
            ]
        );
    }

    #[test]
    fn what_some_value_conforms_to_is_no_contradiction() {
        let closed = |more: Value| {
            let mut schema = json!({"type": "object", "additionalProperties": false});
            schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            schema
        };
        let schemas = json!({
            "Number": {"type": "number", "allOf": [{"type": "integer"}, {"enum": [1.0, 2]}, {"const": 1}]},
            "Other": {"type": "integer", "minLength": 5, "maxLength": 3},
            "Choice": {"anyOf": [{"type": "string"}, {"type": "integer"}], "type": "integer"},
            "Null": {"type": "string", "nullable": true, "enum": ["a", null]},
            "Patterns": closed(json!({"required": ["x-a"], "patternProperties": {"^x-": {}}})),
            "Sided": {"required": ["s"], "allOf": [closed(json!({})), {"properties": {"s": {"writeOnly": true}}}]},
            "Names": closed(json!({"required": ["a"], "properties": {"a": {"properties": {"type": {"enum": ["x"]}}}}})),
            "Empty": {"type": [], "enum": "x", "required": "a"},
        });
        for version in ["3.0.3", "3.1.0"] {
            assert!(found(version, &schemas).is_empty(), "{:?}", found(version, &schemas));
        }
    }
}
