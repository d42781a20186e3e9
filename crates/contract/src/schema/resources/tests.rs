use std::sync::Arc;

use contrail_exchange::json::Document;
use serde_json::{Value, json};

use super::super::{GapKind, Schemas};

/// A document with these components, and what its schema `S` finds of a value: `at: expected`, and `at?` for gaps.
fn found(components: &Value, value: &str) -> Vec<String> {
    let schemas = Schemas::new(&Arc::new(json!({"openapi": "3.1.0", "components": {"schemas": components}})));
    let schema = schemas.at("/components/schemas/S");
    assert_eq!(schemas.unusable(), []);
    let judged = schema.judge(&Document::parse(value.to_owned()).unwrap(), &|_| false).unwrap();
    assert!(!judged.is_partial(), "{value}");
    let violations = judged.violations.into_iter().map(|violation| format!("{}: {}", violation.at, violation.expected));
    violations
        .chain(judged.gaps.into_iter().map(|gap| match gap.kind {
            GapKind::Undocumented | GapKind::UndocumentedItem => format!("{}?", gap.at),
            other => format!("{}? {other:?}", gap.at),
        }))
        .collect()
}

#[test]
fn references_start_from_the_nearest_id() {
    let components = json!({
        "S": {"$id": "https://a.example/x/s", "properties": {
            "whole": {"$ref": "#"}, "named": {"$ref": "other"}, "placed": {"$ref": "other#/$defs/n"},
            "anchored": {"$ref": "/x/other#here"}, "urn": {"$ref": "urn:x:y"},
            "inner": {"$id": "deep/", "properties": {"up": {"$ref": "../other"}, "self": {"$ref": "#"}}},
        }},
        "O": {"$id": "https://a.example/x/other", "type": "string",
              "$defs": {"n": {"type": "integer"}, "h": {"$anchor": "here", "type": "boolean"}}},
        "U": {"$id": "urn:x:y", "type": "null"},
    });
    let good =
        r#"{"whole":{"named":"a"},"named":"a","placed":1,"anchored":true,"urn":null,"inner":{"up":"a","self":{}}}"#;
    assert_eq!(found(&components, good), [""; 0]);
    let bad = r#"{"whole":{"named":1},"named":1,"placed":"a","anchored":1,"urn":1,"inner":{"up":1,"self":{"up":1}}}"#;
    assert_eq!(
        found(&components, bad),
        [
            "/anchored: a boolean",
            "/inner/self/up: a string",
            "/inner/up: a string",
            "/named: a string",
            "/placed: an integer",
            "/urn: null",
            "/whole/named: a string",
        ]
    );
    assert_eq!(found(&components, r#"{"whole":{"x":1},"inner":{"self":{"y":1}}}"#), ["/whole/x?", "/inner/self/y?"]);
}

#[test]
fn anchors_of_the_document_are_found_from_schemas_without_an_id() {
    let components =
        json!({"S": {"properties": {"a": {"$ref": "#here"}}}, "a/b {c}": {"$anchor": "here", "type": "string"}});
    assert_eq!(found(&components, r#"{"a":1}"#), ["/a: a string"]);
    assert_eq!(found(&components, r#"{"a":"1"}"#), [""; 0]);
}

#[test]
fn a_dynamic_reference_leads_to_the_outermost_anchor_of_its_name() {
    let tree = json!({"$id": "https://a.example/tree", "$dynamicAnchor": "node", "type": "object",
        "properties": {"data": true, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}}});
    let components = json!({
        "S": {"$id": "https://a.example/strict", "$dynamicAnchor": "node", "$ref": "tree",
              "unevaluatedProperties": false},
        "T": tree,
    });
    assert_eq!(found(&components, r#"{"children":[{"data":1,"children":[]}]}"#), [""; 0]);
    assert_eq!(found(&components, r#"{"children":[{"daat":1}]}"#), ["/children/0/daat: no such field"]);
    let open = json!({"S": tree, "T": {"$id": "https://a.example/strict", "$dynamicAnchor": "node", "type": "string"}});
    assert_eq!(found(&open, r#"{"children":[{"daat":1}]}"#), ["/children/0/daat?"]);
}

#[test]
fn an_id_in_an_example_or_an_enum_names_nothing() {
    let components = json!({
        "S": {"properties": {"a": {"$ref": "https://a.example/s"}}, "examples": [{"$id": "https://a.example/s"}],
              "enum": [{"a": 1}, {"$id": "https://a.example/s", "type": "null"}]},
        "T": {"$id": "https://a.example/s", "type": "integer"},
    });
    assert_eq!(found(&components, r#"{"a":1}"#), [""; 0]);
}

#[test]
fn a_reference_that_names_nothing_and_another_dialect_are_listed() {
    let document = json!({"openapi": "3.1.0", "components": {"schemas": {
        "S": {"$id": "https://a.example/s", "properties": {"a": {"$ref": "missing"}, "b": {"$dynamicRef": "#none"},
              "c": {"$schema": "http://json-schema.org/draft-07/schema#"},
              "d": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}},
    }}});
    let schemas = Schemas::new(&Arc::new(document));
    let schema = schemas.at("/components/schemas/S");
    let at: Vec<&str> =
        schemas.unusable().iter().map(|place| place.at.rsplit("S/properties/").next().unwrap()).collect();
    assert_eq!(at, ["a/$ref", "b/$dynamicRef", "c/$schema"]);
    let judged = schema.judge(&Document::parse(r#"{"d":{"type":5}}"#.to_owned()).unwrap(), &|_| false).unwrap();
    assert!(judged.violations.iter().any(|violation| violation.at.starts_with("/d")));
}

#[test]
fn copies_for_dynamic_references_are_bounded() {
    // Each resource has an anchor of its own for each name and refers to all others, so that scopes differ by the way.
    let resources: serde_json::Map<String, Value> = (0..12)
        .map(|index| {
            let anchors: serde_json::Map<String, Value> = (0..12)
                .filter(|name| (index * 7 + name) % 3 != 0)
                .map(|name| (format!("a{name}"), json!({"$dynamicAnchor": format!("n{name}")})))
                .collect();
            let all: Vec<Value> = (0..12).map(|other| json!({"$ref": format!("r{other}")})).collect();
            let schema = json!({"$id": format!("https://a.example/r{index}"), "$defs": anchors,
                "properties": {"p": {"anyOf": all}, "q": {"$dynamicRef": format!("#n{}", (index + 1) % 12)}}});
            (format!("R{index}"), schema)
        })
        .collect();
    let schemas = Schemas::new(&Arc::new(json!({"openapi": "3.1.0", "components": {"schemas": resources}})));
    let schema = schemas.at("/components/schemas/R0");
    let judged = schema.judge(&Document::parse(r#"{"p":{"p":{"p":{}}}}"#.to_owned()).unwrap(), &|_| false);
    assert!(judged.is_ok_and(|judged| judged.violations.is_empty()));
}
