//! What OpenAPI states about a schema beyond JSON Schema.

use std::sync::Arc;

use contrail_exchange::json::Document;
use serde_json::{Value, json};

use crate::schema::{GapKind, Schema, SchemaVerdict, Schemas, graph::Outcome};

const RESPONSE: &str = "/components/responses/R/content/application~1json/schema";
const REQUEST: &str = "/components/requestBodies/R/content/application~1json/schema";

/// The schema `S` of these components, as a response's or a request's.
fn schema(components: &Value, place: &str) -> Schema {
    let content = json!({"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}});
    let document = json!({"openapi": "3.1.0", "components": {
        "schemas": components, "responses": {"R": content}, "requestBodies": {"R": content}}});
    let schemas = Schemas::new(&Arc::new(document));
    let schema = schemas.at(place);
    let _ = schemas.at(if place == RESPONSE { REQUEST } else { RESPONSE });
    schema
}

fn judged(schema: &Schema, value: &str) -> SchemaVerdict {
    schema.judge(&Document::parse(value.to_owned()).unwrap(), &|_| false).unwrap()
}

/// What is found: `at: expected`, `at?` for gaps, and `partial` where it is not all.
fn found(schema: &Schema, value: &str) -> Vec<String> {
    let judged = judged(schema, value);
    let partial = judged.is_partial().then(|| "partial".to_owned());
    let violations = judged.violations.into_iter().map(|violation| format!("{}: {}", violation.at, violation.expected));
    let gaps = judged.gaps.into_iter().map(|gap| match gap.kind {
        GapKind::Undocumented | GapKind::UndocumentedItem => format!("{}?", gap.at),
        GapKind::Value { known } => format!("{}? {known}", gap.at),
        GapKind::Unclear { expected } => format!("{}? {expected}", gap.at),
        other => format!("{}? {other:?}", gap.at),
    });
    violations.chain(gaps).chain(partial).collect()
}

#[test]
fn a_read_only_member_is_required_in_responses_alone_and_a_write_only_one_in_requests() {
    let components = json!({
        "S": {"required": ["id", "secret", "name"], "properties": {
            "id": {"type": "string", "readOnly": true}, "secret": {"$ref": "#/components/schemas/W"},
            "name": {"type": "string"}}},
        "W": {"type": "string", "writeOnly": true},
    });
    let (request, response) = (schema(&components, REQUEST), schema(&components, RESPONSE));
    assert_eq!(found(&request, r#"{"secret":"s","name":"n"}"#), [""; 0]);
    assert_eq!(found(&response, r#"{"id":"i","name":"n"}"#), [""; 0]);
    let read_only = r#"/id? OtherSide { keyword: "readOnly" }"#;
    let write_only = r#"/secret? OtherSide { keyword: "writeOnly" }"#;
    let missing = |at: &str| format!("{at}: this field to be there");
    assert_eq!(found(&request, r#"{"id":"i"}"#), [&missing("/name"), &missing("/secret"), read_only]);
    assert_eq!(found(&response, r#"{"secret":"s"}"#), [&missing("/id"), &missing("/name"), write_only]);
    assert_eq!(found(&request, r#"{"id":5,"secret":"s","name":"n"}"#), ["/id: a string", read_only]);
}

#[test]
fn a_member_of_the_other_side_is_a_gap_whatever_its_schema_and_its_value() {
    let components = json!({
        "S": {"additionalProperties": false, "properties": {
            "e": {"enum": ["x", "y"], "readOnly": true},
            "a": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"b": {}}}], "readOnly": true},
            "o": {"type": "object", "additionalProperties": true, "readOnly": true},
            "u": {"readOnly": true},
            "w": {"$ref": "#/components/schemas/S", "writeOnly": true},
            "l": {"type": "array", "items": {"properties": {"i": {"type": "integer", "readOnly": true}}}}}},
    });
    let (request, response) = (schema(&components, REQUEST), schema(&components, RESPONSE));
    for (value, at) in [
        (r#"{"e":"x"}"#, "/e"),
        (r#"{"a":"t"}"#, "/a"),
        (r#"{"a":{"b":1,"c":2}}"#, "/a"),
        (r#"{"o":{}}"#, "/o"),
        (r#"{"o":{"any":1}}"#, "/o"),
        (r#"{"u":null}"#, "/u"),
        (r#"{"w":{"u":[1]}}"#, "/w/u"),
        (r#"{"l":[{"i":1}]}"#, "/l/0/i"),
    ] {
        assert_eq!(found(&request, value), [format!(r#"{at}? OtherSide {{ keyword: "readOnly" }}"#)], "{value}");
    }
    assert_eq!(found(&response, r#"{"e":"x","a":"t","o":{"any":1},"u":{"v":1},"l":[{"i":1}]}"#), [""; 0]);
    assert_eq!(found(&response, r#"{"w":{}}"#), [r#"/w? OtherSide { keyword: "writeOnly" }"#]);
}

#[test]
fn a_parts_required_member_is_read_only_where_another_part_marks_it() {
    let components = json!({
        "S": {"allOf": [{"$ref": "#/components/schemas/B"}, {"required": ["id", "x"]}]},
        "B": {"properties": {"id": {"allOf": [{"type": "string"}, {"readOnly": true}]}, "x": {}}},
    });
    assert_eq!(found(&schema(&components, REQUEST), r#"{"x":1}"#), [""; 0]);
    assert_eq!(found(&schema(&components, RESPONSE), r#"{"x":1}"#), ["/id: this field to be there"]);
}

#[test]
fn the_json_in_a_text_is_held_to_the_schema_of_its_content() {
    let components = json!({"S": {"properties": {
        "j": {"type": "string", "contentMediaType": "application/json",
              "contentSchema": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}},
        "m": {"type": "string", "contentMediaType": "application/vnd.x+json"},
        "u": {"type": "string", "contentSchema": {"type": "integer"}},
        "h": {"type": "string", "contentMediaType": "text/html"},
        "b": {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"},
        "x": {"type": "string", "contentEncoding": "base32"},
        "c": {"anyOf": [{"type": "integer"}, {"type": "string", "contentMediaType": "application/json",
              "contentSchema": {"$ref": "#/components/schemas/S"}}]}}}});
    let schema = schema(&components, RESPONSE);
    let content =
        |at: &str| format!("{at}? Content {{ expected: \"JSON text that conforms to its `contentSchema`\" }}");
    assert_eq!(found(&schema, r#"{"j":"{\"id\":1}","m":"[]","h":"<p>","b":"AAAA","c":1}"#), [""; 0]);
    assert_eq!(found(&schema, r#"{"j":"{\"id\":\"x\"}"}"#), [content("/j")]);
    assert_eq!(found(&schema, r#"{"j":"{\"id\":1,\"z\":1}"}"#), ["/j/z?"]);
    for malformed in [r#"{"j":"{"}"#, r#"{"m":""}"#, r#"{"c":"{\"a\":1,\"a\":1}"}"#] {
        let found = found(&schema, malformed);
        assert!(found.len() == 1 && found[0].contains("well-formed JSON text"), "{found:?}");
    }
    assert_eq!(found(&schema, r#"{"b":"<p>"}"#), ["/b: the format `byte`"]);
    for unread in [r#"{"u":"1"}"#, r#"{"x":"A"}"#] {
        assert_eq!(found(&schema, unread), ["partial"], "{unread}");
    }
    assert_eq!(found(&schema, r#"{"c":"{\"c\":\"{\\\"c\\\":true}\"}"}"#), [content("/c/c")]);
}

#[test]
fn integer_formats_are_ranges() {
    let components = json!({"S": {"properties": {
        "a": {"type": "integer", "format": "int32"}, "b": {"type": "integer", "format": "int64", "minimum": 0},
        "c": {"type": "string", "format": "int64"}, "d": {"type": "integer", "format": "int32", "maximum": 1e300}}}});
    let schema = schema(&components, RESPONSE);
    let plain = Document::parse(r#"{"a":-2147483648,"b":5,"c":"99999999999999999999"}"#.to_owned()).unwrap();
    assert_eq!(schema.walked(&plain, &|_| false), (Outcome::Conforms, true));
    assert_eq!(found(&schema, r#"{"a":2147483647,"b":9223372036854775807,"d":1}"#), [""; 0]);
    assert_eq!(
        found(&schema, r#"{"a":2147483648,"b":9223372036854775808,"d":-2147483649}"#),
        ["/a: at most 2147483647", "/b: at most 9223372036854775807", "/d: at least -2147483648"]
    );
    assert_eq!(found(&schema, r#"{"b":-1}"#), ["/b: at least 0"]);
}

#[test]
fn every_integer_format_of_the_registry_is_a_range() {
    for (format, least, most, beyond) in [
        ("int8", "-128", "127", ["-129", "128"]),
        ("int16", "-32768", "32767", ["-32769", "32768"]),
        ("int32", "-2147483648", "2147483647", ["-2147483649", "2147483648"]),
        ("int64", "-9223372036854775808", "9223372036854775807", ["-9223372036854775809", "9223372036854775808"]),
        ("uint8", "0", "255", ["-1", "256"]),
        ("uint16", "0", "65535", ["-1", "65536"]),
        ("uint32", "0", "4294967295", ["-1", "4294967296"]),
        ("uint64", "0", "18446744073709551615", ["-1", "18446744073709551616"]),
    ] {
        let schema = schema(&json!({"S": {"type": "integer", "format": format}}), RESPONSE);
        assert_eq!(found(&schema, least), [""; 0], "{format}");
        assert_eq!(found(&schema, most), [""; 0], "{format}");
        assert_eq!(found(&schema, beyond[0]), [format!(": at least {least}")]);
        assert_eq!(found(&schema, beyond[1]), [format!(": at most {most}")]);
    }
}

#[test]
fn a_null_that_nullable_allows_and_the_rest_excludes_is_a_gap() {
    let gap = |at: &str| format!("{at}? another value: `nullable` allows null, and the rest of the schema excludes it");
    let components = json!({
        "S": {"properties": {
            "a": {"anyOf": [{"type": "string"}, {"$ref": "#/components/schemas/T"}], "x-contrail-nullable": true},
            "b": {"type": ["string", "null"], "enum": ["x"], "x-contrail-nullable": true},
            "c": {"$ref": "#/components/schemas/T", "x-contrail-nullable": true},
            "d": {"x-contrail-nullable": true},
            "e": {"$ref": "#/components/schemas/S/properties/a/anyOf/1"},
        }},
        "T": {"type": "object", "additionalProperties": false, "properties": {"s": {"$ref": "#/components/schemas/S"}}},
    });
    let schema = schema(&components, RESPONSE);
    assert_eq!(found(&schema, r#"{"a":null,"b":null,"c":null,"d":null}"#), [gap("/a"), gap("/b"), gap("/c")]);
    assert_eq!(found(&schema, r#"{"a":{"s":{"c":{}}},"b":"x","c":{"s":{}},"d":5,"e":{}}"#), [""; 0]);
    assert_eq!(
        found(&schema, r#"{"a":5,"b":"y","c":{"t":1},"e":null}"#),
        ["/a: a string or an object", "/b: `x`", "/c/t: no such field", "/e: an object"]
    );
}

#[test]
fn a_discriminator_selects_the_branch() {
    let components = json!({
        "S": {"oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
              "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat", "hound": "Dog"}}},
        "Cat": {"type": "object", "properties": {"kind": {"type": "string"}, "meow": {"type": "boolean"}}},
        "Dog": {"type": "object", "properties": {"kind": {"type": "string"}, "bark": {"type": "boolean"}}},
    });
    let schema = schema(&components, RESPONSE);
    let conforms_at_once = |value: &str| {
        let document = Document::parse(value.to_owned()).unwrap();
        schema.walked(&document, &|_| false) == (Outcome::Conforms, true)
    };
    for good in [r#"{"kind":"cat","meow":true}"#, r#"{"kind":"hound","bark":true}"#, r#"{"kind":"Dog"}"#] {
        assert_eq!(found(&schema, good), [""; 0], "{good}");
        assert!(conforms_at_once(good), "{good}");
    }
    assert_eq!(found(&schema, r#"{"kind":"cat","meow":5}"#), ["/meow: a boolean"]);
    assert_eq!(found(&schema, r#"{"kind":"cat","bark":5}"#), ["/bark?"]);
    assert_eq!(
        found(&schema, r#"{"kind":"cow","meow":5}"#),
        ["/kind? `cat`, `Cat`, `hound`, `Dog`", "/meow?"],
        "one branch holds, and no value of the discriminator names it"
    );
    assert_eq!(found(&schema, r#"{"kind":"cow"}"#)[0], ": exactly one of the 2 documented variants (2 fit: /0, /1)");
    assert_eq!(found(&schema, "5"), [": an object"]);
}

#[test]
fn a_discriminator_of_a_parent_selects_the_schema_that_documents_the_value() {
    let components = json!({
        "S": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}},
              "discriminator": {"propertyName": "kind"}},
        "Cat": {"allOf": [{"$ref": "#/components/schemas/S"}, {"properties": {"meow": {"type": "boolean"}}}]},
        "Lion": {"allOf": [{"$ref": "#/components/schemas/Cat"}, {"properties": {"roar": {"type": "boolean"}}}]},
    });
    let schema = schema(&components, RESPONSE);
    assert_eq!(found(&schema, r#"{"kind":"Cat","meow":true}"#), [""; 0]);
    assert_eq!(found(&schema, r#"{"kind":"Lion","meow":true,"roar":false}"#), [""; 0]);
    assert_eq!(found(&schema, r#"{"kind":"S"}"#), [""; 0]);
    assert_eq!(found(&schema, r#"{"kind":"Cat","roar":true}"#), ["/roar?"]);
    assert_eq!(found(&schema, r#"{"kind":"Cow","x":1}"#), ["/kind? `Cat`, `Lion`, `S`", "/x?"]);
    assert_eq!(found(&schema, "{}"), ["/kind: this field to be there"]);
    assert_eq!(
        found(&schema, r#"{"kind":"Cat","meow":5}"#),
        ["? a value of the schema that its `kind` names", "/meow?"]
    );
}

#[test]
fn a_child_that_a_choice_selected_is_no_gap_beside_its_violation() {
    let components = json!({
        "S": {"oneOf": [{"$ref": "#/components/schemas/Cat"}], "discriminator": {"propertyName": "kind"}},
        "Pet": {"type": "object", "properties": {"kind": {"type": "string"}}, "discriminator": {"propertyName": "kind"}},
        "Cat": {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {"meow": {"type": "boolean"}}}]},
    });
    assert_eq!(found(&schema(&components, RESPONSE), r#"{"kind":"Cat","meow":5}"#), ["/meow: a boolean"]);
}

#[test]
fn a_choice_that_only_an_unchecked_format_could_decide_is_unchecked() {
    let components = json!({"S": {"properties": {
        "net": {"oneOf": [{"type": "string", "format": "ipv4"}, {"type": "string", "format": "cidr"}]},
        "not": {"not": {"format": "cidr"}},
        "hint": {"oneOf": [{"type": "string", "format": "password"}, {"type": "string"}]}}}});
    let schema = schema(&components, RESPONSE);
    assert_eq!(found(&schema, r#"{"net":"192.0.2.7"}"#), ["partial"]);
    assert_eq!(found(&schema, r#"{"net":"192.0.2.0/24"}"#), [""; 0]);
    assert_eq!(found(&schema, r#"{"net":5,"not":"x"}"#), ["/net: a string", "partial"]);
    assert_eq!(found(&schema, r#"{"hint":"x"}"#), ["/hint: exactly one of the 2 documented variants (2 fit: /0, /1)"]);
}

#[test]
fn a_choice_names_how_many_variants_fit_and_every_one_that_could_be_meant() {
    let part = |name: &str| json!({"type": "object", "properties": {name: {"type": "integer"}}});
    let named = |name: &str| json!({"type": "object", "required": [name]});
    let components = json!({"S": {"properties": {
        "open": {"oneOf": [part("a"), part("b"), {"type": "object", "required": ["c"], "maxProperties": 1}]},
        "named": {"oneOf": [named("a"), named("b")]},
        "end": {"anyOf": [{"enum": ["now"]}, {"type": "integer"}, {"type": "null"}]},
        "lists": {"oneOf": [{"const": "x"}, {"enum": ["y", "z"]}]}}}});
    let schema = schema(&components, RESPONSE);
    for (value, expected) in [
        (r#"{"open":{"a":1,"b":2}}"#, "/open: exactly one of the 3 documented variants (2 fit: /0, /1)"),
        (r#"{"open":{"c":1}}"#, "/open: exactly one of the 3 documented variants (3 fit: /0, /1, /2)"),
        (r#"{"named":{}}"#, "/named: one of the 2 documented variants (none fits)"),
        (r#"{"end":"tomorrow"}"#, "/end: `now` or an integer"),
        (r#"{"end":5.5}"#, "/end: `now` or an integer"),
        (r#"{"lists":"w"}"#, "/lists: one of `x`, `y`, `z`"),
    ] {
        assert_eq!(found(&schema, value)[0], expected, "{value}");
    }
}

#[test]
fn an_unusable_place_counts_where_the_value_comes_to_it_and_is_named_with_its_reason() {
    let bad = json!({"type": "string", "pattern": "(?i)x"});
    let components = json!({"S": {"type": "object", "properties": {
        "a": {}, "b": bad, "list": {"type": "array", "items": {"properties": {"c": bad, "d": {"type": "integer"}}}},
        "one": {"oneOf": [{"type": "integer"}, bad]}, "lost": {"$ref": "#/nowhere"}, "names": {"propertyNames": bad},
        "free": {"allOf": [{"oneOf": [{}, {"type": "string"}]}, {"properties": {"e": bad}}]}}}});
    let schema = schema(&components, RESPONSE);
    let open = |value: &str| -> Vec<String> {
        let judged = judged(&schema, value);
        assert_eq!(judged.violations, [], "{value}");
        judged.open.into_iter().map(|open| format!("{}: {}", open.at, open.why)).collect()
    };
    for value in [r#"{"a":1}"#, "{}", r#"{"list":[{"d":1}]}"#, r#"{"list":[]}"#, r#"{"one":5}"#] {
        assert_eq!(open(value), [""; 0], "{value}");
    }
    let pattern = "the document's `pattern` is unusable: ECMA-262 has no `(?i)`";
    assert_eq!(open(r#"{"a":1,"b":"y"}"#), [format!("/b: {pattern}")]);
    assert_eq!(open(r#"{"list":[{"d":1},{"c":"y"}]}"#), [format!("/list/1/c: {pattern}")]);
    assert_eq!(open(r#"{"one":"y"}"#), [format!("/one: {pattern}")]);
    let lost = open(r#"{"lost":{"k":[1]}}"#);
    assert!(lost.len() == 1 && lost[0].starts_with("/lost: the document's `$ref` is unusable: "), "{lost:?}");
    assert_eq!(open(r#"{"names":{"y":1}}"#), ["/names: contrail cannot use all of its `propertyNames`"]);
    assert_eq!(
        open(r#"{"free":{"e":"y"}}"#),
        ["/free: contrail cannot use all that the document states of parts of it"]
    );
}

#[test]
fn a_broken_part_of_a_choice_or_a_negation_gives_no_violation() {
    let broken = json!({"type": "string", "minLength": "two"});
    for (part, value) in [
        (json!({"not": broken}), r#""x""#),
        (json!({"oneOf": [broken, {"maxLength": 1}]}), r#""x""#),
        (json!({"if": broken, "then": false}), r#""x""#),
        (json!({"contains": broken, "maxContains": 1}), r#"["x","y"]"#),
        (json!({"patternProperties": {"(": {}}, "additionalProperties": false}), r#"{"x":1}"#),
        (json!({"prefixItems": 5, "items": false}), "[1]"),
        (json!({"allOf": [{"$ref": "#/nowhere"}], "unevaluatedProperties": false}), r#"{"x":1}"#),
    ] {
        let judged = judged(&schema(&json!({ "S": part }), RESPONSE), value);
        assert!(judged.is_partial(), "{part}");
        assert_eq!(judged.violations, [], "{part}");
    }
}

#[test]
fn a_keyword_that_json_schema_has_no_more_restricts_nothing() {
    let part = json!({"properties": {"a": {}, "b": {}}, "dependencies": {"a": ["b"], "b": {"required": ["c"]}}});
    let schema = schema(&json!({ "S": part }), RESPONSE);
    assert_eq!(found(&schema, r#"{"a":1}"#), [""; 0]);
    assert_eq!(found(&schema, r#"{"b":1}"#), [""; 0]);
}

#[test]
fn what_an_unusable_place_was_to_document_is_no_gap() {
    let known = json!({"properties": {"v": {"type": "integer"}}});
    for (part, value) in [
        (json!({"$ref": "#/nowhere", "properties": {"v": {}}}), r#"{"k":[{"l":1}]}"#),
        (json!({"$dynamicRef": "#nowhere", "properties": {"v": {}}}), r#"{"k":1}"#),
        (json!({"allOf": [{"$ref": "#/nowhere"}, known]}), r#"{"k":1}"#),
        (json!({"allOf": [5, known]}), r#"{"k":1}"#),
        (json!({"anyOf": [], "properties": {"v": {}}}), r#"{"k":1}"#),
        (json!({"oneOf": 5, "properties": {"v": {}}}), r#"{"k":1}"#),
        (json!({"if": 5, "then": {"properties": {"k": {}}}, "properties": {"v": {}}}), r#"{"k":1}"#),
        (json!({"dependentSchemas": 5, "properties": {"v": {}}}), r#"{"k":1}"#),
        (json!({"additionalProperties": 5, "properties": {"v": {}}}), r#"{"k":1}"#),
        (json!({"prefixItems": [{}], "items": 5}), "[1,{}]"),
    ] {
        let judged = judged(&schema(&json!({ "S": part }), RESPONSE), value);
        assert!(judged.is_partial(), "{part}");
        assert_eq!((judged.violations, judged.gaps), (Vec::new(), Vec::new()), "{part}");
    }
    let closed = json!({"$ref": "#/nowhere", "properties": {"v": {}}, "additionalProperties": false});
    let closed = schema(&json!({ "S": closed }), RESPONSE);
    assert_eq!(found(&closed, r#"{"k":1}"#), ["/k: no such field", "partial"]);
}

#[test]
fn parts_that_multiply_the_ways_to_check_a_value_are_left_out() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let mut components = serde_json::Map::new();
        for index in 0..60 {
            let next = json!({"$ref": format!("#/components/schemas/W{}", index + 1)});
            components.insert(format!("W{index}"), json!({ keyword: [next, next] }));
        }
        components.insert("W60".to_owned(), json!({"type": "object"}));
        components.insert("S".to_owned(), json!({"type": "object", "allOf": [{"$ref": "#/components/schemas/W0"}]}));
        let schema = schema(&components.into(), RESPONSE);
        assert!(judged(&schema, r#"{"a":1}"#).is_partial(), "{keyword}");
        let wrong = found(&schema, "5");
        assert_eq!(
            (wrong[0].as_str(), wrong.last().map(String::as_str)),
            (": an object", Some("partial")),
            "{keyword}"
        );
    }
}

#[test]
fn schemas_that_refer_in_a_circle_or_in_a_long_chain_are_judged() {
    let r = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    for circle in [
        json!({"S": r("S")}),
        json!({"S": {"allOf": [r("S")]}}),
        json!({"S": {"anyOf": [{"type": "string"}, r("S")]}}),
        json!({"S": {"oneOf": [r("C"), r("D")], "discriminator": {"propertyName": "k"}, "properties": {"k": {}}},
               "C": {"allOf": [r("S"), {"properties": {"m": {}}}]}, "D": {"allOf": [r("S")]}}),
    ] {
        let _ = judged(&schema(&circle, RESPONSE), r#"{"k":"C","m":1}"#);
    }
    for (length, expected) in [(100, ": a string"), (3000, "partial")] {
        let mut chain: serde_json::Map<String, Value> =
            (0..length).map(|index| (format!("C{index}"), r(&format!("C{}", index + 1)))).collect();
        chain.insert(format!("C{length}"), json!({"type": "string"}));
        chain.insert("S".to_owned(), r("C0"));
        assert_eq!(found(&schema(&chain.into(), RESPONSE), "5"), [expected]);
    }
}
