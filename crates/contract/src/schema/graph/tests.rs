use contrail_exchange::json::Document;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::Outcome;
use crate::{
    Contract,
    schema::{Schema, SchemaVerdict, Schemas},
};

fn schema(document: &Value, pointer: &str) -> Schema {
    Schemas::new(&std::sync::Arc::new(document.clone())).at(pointer)
}

fn of(text: &str) -> Schema {
    schema(&json!({ "s": serde_json::from_str::<Value>(text).unwrap() }), "/s")
}

fn is_origin(text: &str) -> bool {
    text == "https://t.example"
}

/// The outcome of a walk: what conforms, what conforms with something undocumented, what is in doubt, what violates.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Seen {
    Conforms,
    Valid,
    Doubt,
    Violates,
}

fn seen(schema: &Schema, document: &Document) -> Seen {
    match schema.walked(document, &is_origin) {
        (Outcome::Conforms, true) => Seen::Conforms,
        (Outcome::Conforms, false) => Seen::Valid,
        (Outcome::Doubt, _) => Seen::Doubt,
        (Outcome::Violates, _) => Seen::Violates,
    }
}

/// The walk's outcome for the text, with which the judge agrees.
fn outcome(schema: &Schema, text: &str) -> Seen {
    let document = Document::parse(text.as_bytes().to_vec()).unwrap();
    let outcome = seen(schema, &document);
    let in_full = schema.judge_in_full(&document, &is_origin);
    match outcome {
        Seen::Conforms => assert_eq!(in_full, Ok(SchemaVerdict::default()), "{text}"),
        Seen::Valid => assert_eq!(in_full.as_ref().map(|judged| &judged.violations[..]), Ok(&[][..]), "{text}"),
        Seen::Violates => assert!(in_full.as_ref().is_ok_and(|judged| !judged.violations.is_empty()), "{text}"),
        Seen::Doubt => {}
    }
    if let Some(accepts) = schema.accepts_at_a_look(document.root()) {
        let conforms = |judged: &SchemaVerdict| judged.violations.is_empty() && !judged.is_partial();
        assert_eq!(in_full.as_ref().map(conforms), Ok(accepts), "{text}");
    }
    // The branches that the walk decides make no difference.
    assert_eq!(schema.judge(&document, &is_origin), schema.judge_in_full(&document, &is_origin), "{text}");
    outcome
}

/// Whether one look decides the text.
fn conforms_at_once(schema: &Schema, text: &str) -> bool {
    outcome(schema, text) == Seen::Conforms
}

#[test]
fn every_documented_body_that_is_as_shown_is_settled_by_one_look() {
    let contract = Contract::built_in();
    let of = |name: &str| schema(contract.document(), &format!("/components/schemas/{name}"));
    let policy = of("RateLimitPolicy");
    for configuration in [
        r#"{"action":"allow"}"#,
        r#"{"limit":0,"action":"log"}"#,
        r#"{"action":"redirect","limit":10000,"redirect_uri":"https://busy.example/later"}"#,
        r#"{"action":"redirect","limit":1,"redirect_uri":"https://user@[::1]:8443/?a=b"}"#,
    ] {
        for selector in ["client_id:abc", "default", "cimd_clients"] {
            let policy_text = format!(
                r#"{{"id":"rlp_1","resource":"oauth_authentication_api","consumer":"client",
                    "consumer_selector":"{selector}","configuration":{configuration},
                    "updated_at":"2026-02-28T23:59:59.999Z","created_at":"2026-11-30T00:00:00+01:00"}}"#
            );
            assert!(conforms_at_once(&policy, &policy_text), "{policy_text}");
        }
    }
    for (name, text) in [
        (
            "ConnectionProfileTemplate",
            r#"{"id":"1","display_name":"\u00e4","template":{"name":"x","organization":{"show_as_button":"none"},
                "enabled_features":["scim"],"connection_config":{"any":[1.5,{"\u0061":1}]},
                "strategy_overrides":{"ad":{"enabled_features":[]}}}}"#,
        ),
        ("SynchronizedGroup", r#"{"id":"grp_1"}"#),
        (
            "VerifiableCredentialTemplate",
            r#"{"id":"1","name":"n","dialect":"simplified/1.0","presentation":
                {"org.iso.18013.5.1.mDL":{"org.iso.18013.5.1":{"given_name":true,"portrait":false}}}}"#,
        ),
        ("VerifiableCredentialTemplateUpdate", r#"{"dialect":"simplified/1.0","version":3}"#),
        ("ActionTestRequest", r#"{"payload":{"x":[null,{"deep":[[1e400]]}]}}"#),
    ] {
        assert!(conforms_at_once(&of(name), text), "{name}");
    }
}

#[test]
fn what_breaks_a_schema_or_what_no_schema_names_is_never_settled() {
    for (text, values) in [
        (r#"{"type":"integer","minimum":1,"maximum":5}"#, &["0", "6", "1.5", "\"1\"", "null", "1e400"][..]),
        (r#"{"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":5}"#, &["1", "5"]),
        (
            r#"{"type":"integer","minimum":-9223372036854775808,"exclusiveMaximum":9007199254740994}"#,
            &["9007199254740994", "9223372036854775807", "-9223372036854775809"],
        ),
        (r#"{"const":9007199254740993}"#, &["9007199254740992", "9007199254740994"]),
        (r#"{"type":"string","minLength":2,"maxLength":3}"#, &["\"ä\"", "\"äöüä\"", "\"\"", "\"\\u0061\"", "5"]),
        (r#"{"enum":["a","b"]}"#, &["\"c\"", "null", "[]"]),
        (r#"{"const":5}"#, &["6", "\"5\"", "[]", "true"]),
        (r#"{"enum":[true,null]}"#, &["false", "0", "\"null\""]),
        (r#"{"enum":[1.5,[1],{}]}"#, &["1", "[2]", "null"]),
        (r#"{"const":1,"enum":[1,2]}"#, &["2"]),
        (r#"{"allOf":[{"enum":[1,"x"]},{"enum":["x",2]}]}"#, &["1", "2"]),
        (r#"{"type":"string","pattern":"^a+$"}"#, &["\"b\"", "\"\""]),
        (r#"{"type":"number","multipleOf":2}"#, &["3", "2.5"]),
        (r#"{"type":"array","items":{},"uniqueItems":true,"minItems":1,"maxItems":2}"#, &["[]", "[1,1]", "[1,2,3]"]),
        (r#"{"type":"array"}"#, &["[1]"]),
        (r#"{"type":"object"}"#, &[r#"{"a":1}"#]),
        (r#"{"type":"object","properties":{"a":false}}"#, &[r#"{"a":1}"#]),
        (
            r#"{"type":"object","required":["a"],"additionalProperties":true,"maxProperties":1}"#,
            &["{}", r#"{"a":1,"b":1}"#],
        ),
        (
            r#"{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"null"},"x-contrail-unnamed-keys":1}"#,
            &[r#"{"b":null}"#, r#"{"a":1,"b":null}"#],
        ),
        (
            r#"{"type":"string","x-contrail-known-values":["a{b}","{origin}/"]}"#,
            &["\"a\"", "\"b\"", "\"https://u.example/\""],
        ),
        (
            r#"{"type":"string","format":"date-time"}"#,
            &["\"2026-02-30T00:00:00Z\"", "\"2026-00-01T00:00:00Z\"", "\"x\""],
        ),
        (r#"{"type":"string","format":"uuid"}"#, &["\"x\""]),
    ] {
        let schema = of(text);
        for value in values {
            assert!(!conforms_at_once(&schema, value), "{text}: {value}");
        }
    }
}

#[test]
fn what_such_schemas_allow_conforms_at_once() {
    for (text, values) in [
        (r#"{"type":"integer","minimum":1,"maximum":5}"#, &["1", "5"][..]),
        (r#"{"type":["integer","null"],"exclusiveMinimum":-2,"exclusiveMaximum":1}"#, &["-1", "-0", "null"]),
        (r#"{"type":"number"}"#, &["1.5", "1e400"]),
        (
            r#"{"type":"integer","minimum":-9223372036854775808,"exclusiveMaximum":9007199254740994}"#,
            &["9007199254740993", "-9223372036854775808"],
        ),
        (r#"{"const":9007199254740993}"#, &["9007199254740993"]),
        (r#"{"type":"string","minLength":2,"maxLength":3}"#, &["\"äö\"", "\"äöü\"", "\"abc\"", "\"😀😀\""]),
        (r#"{"const":5}"#, &["5"]),
        (r#"{"enum":[1,-2,true,null,"\u0061"]}"#, &["1", "-2", "true", "null", "\"a\"", "\"\\u0061\""]),
        (r#"{"enum":[1.5,[1],{}]}"#, &["1.5", "15e-1", "{}"]),
        (r#"{"const":1,"enum":[1,2]}"#, &["1"]),
        (r#"{"allOf":[{"enum":[1,"x"]},{"enum":["x",2]}]}"#, &["\"x\""]),
        (r#"{"type":"string","pattern":"^a+$"}"#, &["\"aa\"", "\"\\u0061\""]),
        (r#"{"type":"array","items":{"type":"string"},"uniqueItems":true}"#, &["[]", r#"["a","b"]"#]),
        (r#"{"type":"string","format":"uuid"}"#, &["\"6f3d2f4e-1c55-4c1a-8a55-0d4b8f3a9e01\""]),
        (r#"{"type":"string","format":"nobody-knows"}"#, &["\"x\""]),
        (
            r#"{"anyOf":[{"type":"null"},{"type":"object","properties":{"a":{"type":"string"}}}]}"#,
            &["null", r#"{"a":"x"}"#, "{}"],
        ),
    ] {
        let schema = of(text);
        for value in values {
            assert!(conforms_at_once(&schema, value), "{text}: {value}");
        }
    }
}

#[test]
fn schemas_that_speak_of_a_value_together_are_asked_together() {
    let composed = of(r#"{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},
            {"properties":{"b":{"type":"integer","maximum":5},"a":{"maxLength":2}}}],
            "oneOf":[{"properties":{"kind":{"const":"x"},"x":{"type":"string"}},"required":["kind"]},
                {"properties":{"kind":{"const":"y"},"y":{"type":"string"}},"required":["kind"]}]}"#);
    assert!(conforms_at_once(&composed, r#"{"a":"1","b":5,"kind":"x","x":"1"}"#));
    for other in [
        r#"{"a":"123","b":5,"kind":"x"}"#,
        r#"{"a":"1","b":6,"kind":"x"}"#,
        r#"{"a":"1","kind":"x","y":"1"}"#,
        r#"{"a":"1","kind":"z"}"#,
        r#"{"b":1,"kind":"x"}"#,
        r#"{"a":"1"}"#,
    ] {
        assert!(!conforms_at_once(&composed, other), "{other}");
    }
}

#[test]
fn numbers_and_booleans_decide_a_choice_however_they_are_written() {
    let branch = |kind: Value, name: &str| {
        json!({"type": "object", "required": ["kind", name], "additionalProperties": false,
            "properties": {"kind": {"enum": [kind]}, name: {"not": {"type": "null"}}}})
    };
    let schema = of(&json!({"oneOf": [branch(json!(1), "x"), branch(json!(2), "x"), branch(json!(true), "y"),
        {"const": 3}, {"enum": [false, 4]}]})
    .to_string());
    for (text, expected) in [
        // The members are in doubt: only the branches that certainly do not hold are not asked.
        (r#"{"kind":1,"x":1}"#, Seen::Doubt),
        (r#"{"kind":3,"x":1}"#, Seen::Violates),
        (r#"{"kind":false,"y":1}"#, Seen::Violates),
        (r#"{"kind":true,"x":1}"#, Seen::Violates),
        (r#"{"kind":1.0,"x":1}"#, Seen::Doubt),
        ("3", Seen::Conforms),
        ("3.0", Seen::Conforms),
        ("false", Seen::Conforms),
        ("true", Seen::Violates),
    ] {
        assert_eq!(outcome(&schema, text), expected, "{text}");
    }
}

#[test]
fn branches_that_might_both_hold_are_each_looked_at() {
    for (keyword, both_hold) in [("oneOf", Seen::Violates), ("anyOf", Seen::Conforms)] {
        let both =
            of(&format!(r#"{{"{keyword}":[{{"type":"string","maxLength":2}},{{"type":"string","minLength":1}}]}}"#));
        assert_eq!(outcome(&both, "\"abc\""), Seen::Conforms, "only the second");
        assert_eq!(outcome(&both, "\"a\""), both_hold);
        assert_eq!(outcome(&both, "5"), Seen::Violates);
    }
    let unknown = of(r#"{"anyOf":[{"not":{"type":"null"}},{"type":"object","properties":{"a":{}}}]}"#);
    assert_eq!(outcome(&unknown, r#"{"a":1}"#), Seen::Doubt, "the first may document something else");
    assert_eq!(outcome(&unknown, "5"), Seen::Doubt);
}

#[test]
fn a_value_that_conforms_with_gaps_and_one_that_violates_are_told_apart() {
    let schema = of(r#"{"type":"object","required":["a"],"properties":{"a":{"type":"string","maxLength":3},
        "closed":{"type":"object","additionalProperties":false},"list":{"type":"array"}}}"#);
    for (text, expected) in [
        (r#"{"a":"\u0061\n","closed":{}}"#, Seen::Conforms),
        (r#"{"\u0061":"x"}"#, Seen::Conforms),
        (r#"{"a":"x","b":1}"#, Seen::Valid),
        (r#"{"a":"x","list":[1]}"#, Seen::Valid),
        (r#"{"b":1}"#, Seen::Violates),
        (r#"{"b":1,"a":"\u0061bcd"}"#, Seen::Violates),
        (r#"{"a":"x","closed":{"b":1}}"#, Seen::Violates),
    ] {
        assert_eq!(outcome(&schema, text), expected, "{text}");
    }
}

#[test]
fn a_choice_that_a_format_without_a_check_decides_is_left_open() {
    let address = json!({"type": "string", "oneOf": [{"format": "ipv4"}, {"format": "cidr"}, {"maxLength": 2}]});
    let list = of(&json!({"type": "array", "items": address}).to_string());
    assert_eq!(outcome(&list, r#"["10.0.0.0/8"]"#), Seen::Conforms);
    assert_eq!(outcome(&list, r#"["10.0.0.0/8","10.0.0.1"]"#), Seen::Valid);
    assert_eq!(outcome(&list, r#"["10.0.0.1",1]"#), Seen::Violates);
    let member = |any: Value| of(&json!({"type": "object", "properties": {"a": address}, "anyOf": any}).to_string());
    assert_eq!(outcome(&member(json!([{"type": "object"}])), r#"{"a":"10.0.0.1"}"#), Seen::Valid);
    // Nothing is reported of what a silent branch frees.
    for any in [json!([true, {"type": "string"}]), json!([true, {"required": ["a"]}])] {
        assert_eq!(outcome(&member(any), r#"{"a":"10.0.0.1"}"#), Seen::Conforms);
    }
    let beside =
        of(&json!({"type": "array", "items": {"anyOf": [address, {"type": "object", "properties": {}}]}}).to_string());
    assert_eq!(outcome(&beside, r#"["10.0.0.1",{"b":1}]"#), Seen::Valid);
}

#[test]
fn null_is_in_doubt_where_the_document_allows_it_beside_a_schema_that_excludes_it() {
    for text in [
        r#"{"type":"string","x-contrail-nullable":true}"#,
        r#"{"enum":["x"],"x-contrail-nullable":true}"#,
        r#"{"oneOf":[{"type":"string"},{"type":"integer"}],"x-contrail-nullable":true}"#,
        r#"{"oneOf":[{"type":"string","x-contrail-nullable":true},{"type":["null","integer"]}]}"#,
    ] {
        assert_eq!(outcome(&of(text), "null"), Seen::Doubt, "{text}");
    }
}

#[test]
fn nested_choices_are_decided_once_for_each_value() {
    let branch = |name: &str| {
        json!({"type": "object", "required": ["next"], "properties":
        {"next": {"$ref": "#/s"}, "kind": {"type": "string"}, name: {"type": "integer"}}})
    };
    let schema = schema(&json!({"s": {"anyOf": [{"type": "null"}, branch("x"), branch("y"), branch("z")]}}), "/s");
    let nested = |depth: usize, innermost: &str| {
        format!("{}{innermost}{}", r#"{"kind":"k","next":"#.repeat(depth), "}".repeat(depth))
    };
    let of = |text: String| {
        let document = Document::parse(text.into_bytes()).unwrap();
        seen(&schema, &document)
    };
    assert_eq!(of(nested(60, "null")), Seen::Conforms);
    assert_eq!(of(nested(60, "5")), Seen::Violates);
    assert_eq!(of(nested(60, r#"{"next":null,"w":1}"#)), Seen::Valid);
}

#[test]
fn a_keyword_that_is_not_known_here_leaves_every_value_in_doubt() {
    for keyword in [
        r#""not":{"type":"null"}"#,
        r#""if":{"type":"string"}"#,
        r#""patternProperties":{"^a":{}}"#,
        r#""unevaluatedProperties":false"#,
        r#""prefixItems":[{}]"#,
        r#""contains":{}"#,
        r#""propertyNames":{"maxLength":1}"#,
        r#""dependentSchemas":{"a":{}}"#,
        r#""nobodyKnows":1"#,
    ] {
        assert!(!conforms_at_once(&of(&format!("{{{keyword}}}")), "5"), "{keyword}");
    }
}

#[test]
fn a_schema_with_a_base_of_its_own_conforms_at_once() {
    let document = json!({"components": {"schemas": {"S": {"$id": "https://x.example/s", "type": "null"}}}});
    assert!(conforms_at_once(&schema(&document, "/components/schemas/S"), "null"));
}

#[test]
fn a_schema_that_refers_to_itself_is_followed_as_deep_as_the_value_goes() {
    let tree = schema(
        &json!({"s": {"type": "object", "properties": {"c": {"$ref": "#/s"}, "n": {"type": "array", "items": {"$ref": "#/s"}}}}}),
        "/s",
    );
    assert!(conforms_at_once(&tree, r#"{"c":{"c":{},"n":[{},{"c":{}}]}}"#));
    assert!(!conforms_at_once(&tree, r#"{"c":{"c":{},"n":[{},{"d":{}}]}}"#));
}

#[test]
fn a_discriminator_that_is_no_text_selects_nothing() {
    let members = |kind: &str| json!({"type": "object", "properties": {"kind": {}, kind: {}}});
    let document = json!({
        "s": {"oneOf": [{"$ref": "#/components/schemas/a"}, {"$ref": "#/components/schemas/b"}],
            "discriminator": {"propertyName": "kind"}},
        "components": {"schemas": {"a": members("a"), "b": members("b")}},
    });
    let selected = schema(&document, "/s");
    assert_eq!(outcome(&selected, r#"{"kind":"\u0061","a":1}"#), Seen::Conforms);
    assert_eq!(outcome(&selected, r#"{"kind":5}"#), Seen::Violates, "both hold");
}

#[test]
fn what_decides_a_choice_of_one_branch_is_judged_with_every_part() {
    let one = of(&json!({"oneOf": [{"type": "object", "properties": {"a": {"enum": ["x", "y"]}},
        "additionalProperties": {"items": {"type": "object"}}}]})
    .to_string());
    assert_eq!(outcome(&one, r#"{"a":"yy","b":[null,null,null]}"#), Seen::Violates);
}

#[test]
fn names_are_found_in_any_order_among_few_and_among_many() {
    for count in [3, 30] {
        let names: Vec<String> = (0..count).map(|n| format!("name_{n}")).collect();
        let properties: Vec<String> = names.iter().map(|name| format!(r#""{name}":{{"const":"{name}"}}"#)).collect();
        let schema =
            of(&format!(r#"{{"properties":{{{}}},"required":["{}"]}}"#, properties.join(","), names.join("\",\"")));
        let mut members: Vec<String> = names.iter().map(|name| format!(r#""{name}":"{name}""#)).collect();
        for _ in 0..count {
            members.rotate_left(1);
            assert!(conforms_at_once(&schema, &format!("{{{}}}", members.join(","))));
            assert!(!conforms_at_once(&schema, &format!("{{{}}}", members[1..].join(","))));
        }
        members.reverse();
        assert!(conforms_at_once(&schema, &format!("{{{}}}", members.join(","))));
    }
}

/// Schemas over few names and values, so that they often agree with the values below.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({"type": "string"})),
        Just(json!({"type": ["integer", "null"]})),
        Just(json!({"type": "number", "minimum": 0, "exclusiveMaximum": 2})),
        Just(json!({"type": "string", "minLength": 1, "maxLength": 2})),
        Just(json!({"enum": ["x", "y"]})),
        Just(json!({"enum": ["x", 1, null]})),
        Just(json!({"enum": [true, -1, "y"]})),
        Just(json!({"enum": [1.5, [], "x"]})),
        Just(json!({"const": 1})),
        Just(json!({"format": "ipv4"})),
        Just(json!({"type": "string", "format": "cidr"})),
        Just(json!({"const": "x"})),
        Just(json!({"x-contrail-known-values": ["x", "y{any}"]})),
        Just(json!({"pattern": "^x"})),
        Just(json!({"not": {"type": "null"}})),
        Just(json!({"properties": {"a": {"$ref": "#/d"}}})),
        Just(json!({"items": {"$ref": "#/s"}})),
        Just(json!({"type": "object"})),
        Just(json!({"type": "object", "additionalProperties": true})),
        Just(json!({"type": "string", "x-contrail-nullable": true})),
        Just(json!({"format": "nobody-knows"})),
        Just(json!({"$ref": "#/components/schemas/Parent"})),
        Just(json!({"oneOf": [{"$ref": "#/components/schemas/One"}, {"$ref": "#/components/schemas/Other"}],
            "discriminator": {"propertyName": "a", "mapping": {"x": "One", "y": "#/components/schemas/Other"}}})),
        Just(json!({"anyOf": [{"$ref": "#/components/schemas/One"}, {"$ref": "#/components/schemas/Other"}],
            "discriminator": {"propertyName": "a", "mapping": {"x": "One"}, "defaultMapping": "Other"}})),
        Just(json!({"type": "array", "contains": {"$ref": "#/d"}})),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let few = |inner: BoxedStrategy<Value>| prop::collection::vec(inner, 1..4);
        let named = prop::collection::btree_map("[abc]", inner.clone(), 0..3);
        let required = prop::collection::btree_set("[abc]", 0..2);
        prop_oneof![
            4 => (named, required, prop::option::of(inner.clone()), prop::option::of(0..3), prop::option::of(0..3))
                .prop_map(|(properties, required, rest, unnamed, most)| {
                    let mut schema = json!({"type": "object", "properties": properties, "required": required});
                    let mut set = |keyword: &str, value: Option<Value>| {
                        if let Some(value) = value {
                            schema[keyword] = value;
                        }
                    };
                    set("additionalProperties", rest);
                    set("x-contrail-unnamed-keys", unnamed.map(Value::from));
                    set("maxProperties", most.map(Value::from));
                    schema
                }),
            1 => inner.clone().prop_map(|items| json!({"type": "array", "items": items, "minItems": 1, "uniqueItems": true})),
            1 => few(inner.clone().boxed()).prop_map(|all| json!({"allOf": all})),
            1 => few(inner.clone().boxed()).prop_map(|any| json!({"anyOf": any})),
            2 => few(inner.clone().boxed()).prop_map(|one| json!({"oneOf": one})),
            1 => few(inner.clone().boxed()).prop_map(|one| json!({"oneOf": one, "x-contrail-nullable": true})),
            1 => (inner.clone(), few(inner.boxed())).prop_map(|(left, any)| json!({"allOf": [left], "oneOf": any, "properties": {"a": {"const": "x"}}})),
        ]
    })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(1)),
        Just(json!(1.0)),
        Just(json!("10.0.0.1")),
        Just(json!(-1)),
        Just(json!(1.5)),
        Just(json!("x")),
        Just(json!("y")),
        Just(json!("yy")),
        Just(json!("")),
        Just(json!(true)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::btree_map("[abcd]", inner.clone(), 0..4).prop_map(|members| json!(members)),
            prop::collection::vec(inner, 0..5).prop_map(Value::from),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_judge_agrees_with_one_walk_at_any_value(
        root in schemas(),
        others in prop::collection::vec(schemas(), 4),
        values in prop::collection::vec(values(), 12),
    ) {
        let [other, one, second, parent] = &others[..] else { unreachable!() };
        let parent = json!({"allOf": [parent], "discriminator": {"propertyName": "a"}});
        let child = json!({"allOf": [{"$ref": "#/components/schemas/Parent"}, second]});
        let document = json!({"s": root, "d": other,
            "components": {"schemas": {"One": one, "Other": second, "Parent": parent, "x": child}}});
        let schema = schema(&document, "/s");
        for value in values {
            outcome(&schema, &value.to_string());
        }
    }
}
