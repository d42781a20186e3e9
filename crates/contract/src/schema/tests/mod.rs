//! Schemas, by example.

mod bounds;
mod openapi;

use contrail_exchange::json::Document;
use serde_json::Value;

use super::*;

fn schema(text: &str) -> Schema {
    let document: Value = serde_json::from_str(text).unwrap();
    Schemas::new(&std::sync::Arc::new(document)).at("/s")
}

/// What is found, as `at: expected` and `at?` for gaps.
fn found(schema: &Schema, text: &str) -> Vec<String> {
    let document = Document::parse(text.as_bytes().to_vec()).unwrap();
    let judged = schema.judge(&document, &|origin| origin == "https://t.example").unwrap();
    let breaches = judged.violations.into_iter().map(|b| format!("{}: {}", b.at, b.expected));
    let gaps = judged.gaps.into_iter();
    let gaps = gaps.map(|gap| match gap.kind {
        GapKind::Undocumented | GapKind::UndocumentedItem => format!("{}?", gap.at),
        GapKind::Unnamed { limit } => format!("{}? of {limit}", gap.at),
        GapKind::BeyondUnnamed { limit } => format!("{}! of {limit}", gap.at),
        GapKind::Value { known } => format!("{}? {known}", gap.at),
        GapKind::Unclear { expected } => format!("{}? {expected}", gap.at),
        GapKind::Content { expected } => format!("{}: {expected}", gap.at),
        GapKind::OtherSide { keyword } => format!("{}? {keyword}", gap.at),
    });
    breaches.chain(gaps).collect()
}

const POLICY: &str = r##"{
  "s": {"type":"object","required":["id","configuration"],"additionalProperties":false,"properties":{
    "id":{"type":"string","maxLength":3,"format":"rate-limit-policy-id"},
    "created_at":{"type":"string","format":"date-time"},
    "configuration":{"$ref":"#/v/c"}}},
  "v": {
    "c": {"oneOf":[{"$ref":"#/v/allow"},{"$ref":"#/v/block"},{"$ref":"#/v/redirect"}]},
    "limit": {"type":"integer","minimum":0,"maximum":10000},
    "allow": {"type":"object","required":["action"],"additionalProperties":false,
      "properties":{"action":{"type":"string","enum":["allow"]}}},
    "block": {"type":"object","required":["action","limit"],"additionalProperties":false,
      "properties":{"action":{"type":"string","enum":["block","log"]},"limit":{"$ref":"#/v/limit"}}},
    "redirect": {"type":"object","required":["action","limit","redirect_uri"],"additionalProperties":false,
      "properties":{"action":{"type":"string","const":"redirect"},"limit":{"$ref":"#/v/limit"},
        "redirect_uri":{"type":"string","format":"strict-https-uri"}}}
  }}"##;

#[test]
fn a_variant_that_fails_is_reported_at_its_own_places() {
    let policy = schema(POLICY);
    let of = |configuration: &str| found(&policy, &format!(r#"{{"id":"x","configuration":{configuration}}}"#));
    for good in [
        r#"{"action":"allow"}"#,
        r#"{"action":"log","limit":0}"#,
        r#"{"action":"block","limit":10000.0}"#,
        r#"{"action":"redirect","limit":1e3,"redirect_uri":"https://a.example/"}"#,
    ] {
        assert_eq!(of(good), [""; 0], "{good}");
    }
    for (bad, expected) in [
        (r#"{"action":"block","limit":10001}"#, &["/configuration/limit: at most 10000"][..]),
        (r#"{"action":"block","limit":-1}"#, &["/configuration/limit: at least 0"]),
        (r#"{"action":"log","limit":5.5}"#, &["/configuration/limit: an integer"]),
        (r#"{"action":"log","limit":1e400}"#, &["/configuration/limit: at most 10000"]),
        (r#"{"action":"log","limit":10000.0000000000000000001}"#, &["/configuration/limit: an integer"]),
        (r#"{"action":"block"}"#, &["/configuration/limit: this field to be there"]),
        (r#"{"action":"allow","limit":1}"#, &["/configuration/limit: no such field"]),
        (
            r#"{"action":"redirect","limit":1,"redirect_uri":"http://a.example"}"#,
            &["/configuration/redirect_uri: an absolute https URI with a host"],
        ),
        (r#"{"action":"redirect","limit":1}"#, &["/configuration/redirect_uri: this field to be there"]),
        (
            r#"{"action":"block","limit":1,"redirect_uri":"https://a.example"}"#,
            &["/configuration/redirect_uri: no such field"],
        ),
        (r#"{"action":"throttle"}"#, &["/configuration/action: one of `allow`, `block`, `log`, `redirect`"]),
        (r#"{"action":5,"limit":1}"#, &["/configuration/action: one of `allow`, `block`, `log`, `redirect`"]),
        (r#"{"limit":1}"#, &["/configuration/action: this field to be there"]),
        ("{}", &["/configuration/action: this field to be there"]),
        ("[]", &["/configuration: an object"]),
        ("null", &["/configuration: an object"]),
    ] {
        assert_eq!(of(bad), expected, "{bad}");
    }
}

#[test]
fn closed_objects_bounds_formats_and_missing_members_are_breaches_at_their_places() {
    let policy = schema(POLICY);
    for (bad, expected) in [
        ("{}", &["/configuration: this field to be there", "/id: this field to be there"][..]),
        (r#"{"id":"abcd","configuration":{"action":"allow"}}"#, &["/id: at most 3 characters"]),
        (r#"{"id":5,"configuration":{"action":"allow"}}"#, &["/id: a string"]),
        (r#"{"id":"x","a/b":{"c":1},"configuration":{"action":"allow"}}"#, &["/a~1b: no such field"]),
        (
            r#"{"id":"x","created_at":"2026-13-01T00:00:00Z","configuration":{"action":"allow"}}"#,
            &["/created_at: a date-time (RFC 3339)"],
        ),
        (
            r#"{"id":"x","created_at":"yesterday","configuration":{"action":"allow"}}"#,
            &["/created_at: a date-time (RFC 3339)"],
        ),
        ("5", &[": an object"]),
    ] {
        assert_eq!(found(&policy, bad), expected, "{bad}");
    }
    let good = r#"{"id":"😀äx","created_at":"2026-11-21T03:00:00.123+02:00","configuration":{"action":"allow"}}"#;
    assert_eq!(found(&policy, good), [""; 0]);
}

#[test]
fn a_member_that_no_schema_names_is_a_gap_and_nothing_below_it_is() {
    let open = schema(
        r##"{"s":{"type":"object","properties":{"a":{"type":"string"},"deep":{"type":"array","items":{"$ref":"#/i"}}}},
             "i":{"type":"object","properties":{"x":{"type":"object"}}}}"##,
    );
    assert_eq!(found(&open, r#"{"a":"1","deep":[{"x":{}},{}]}"#), [""; 0]);
    assert_eq!(
        found(&open, r#"{"b":{"c":1},"deep":[{"x":{"y":1}},{"z":[1]}],"":0}"#),
        ["/b?", "/deep/0/x/y?", "/deep/1/z?", "/?"]
    );
    assert_eq!(found(&open, r#"{"deep":{"a":1}}"#), ["/deep: an array"], "a wrong type has no gaps below it");
}

#[test]
fn free_form_objects_and_empty_schemas_account_for_everything_below() {
    let free = schema(
        r#"{"s":{"type":"object","properties":{"p":{"type":"object","additionalProperties":true},"q":true,"r":{},
            "d":{"description":"anything"}}}}"#,
    );
    assert_eq!(found(&free, r#"{"p":{"a":{"b":[{}]}},"q":{"a":1},"r":[1],"d":[{"x":1}]}"#), [""; 0]);
}

#[test]
fn what_any_applicable_schema_names_is_accounted_for() {
    let composed = schema(
        r##"{"s":{"allOf":[{"$ref":"#/base"},{"properties":{"b":{"type":"integer"}}}],"anyOf":[
              {"properties":{"kind":{"const":"x"},"x":{"type":"string"}},"required":["kind"]},
              {"properties":{"kind":{"const":"y"},"y":{"type":"string"}},"required":["kind"]}],
              "if":{"required":["b"]},"then":{"properties":{"t":{}}},"else":{"properties":{"e":{}}},
              "patternProperties":{"^x-":{"type":"string"}},"dependentSchemas":{"b":{"properties":{"d":{}}}}},
             "base":{"type":"object","properties":{"a":{"type":"string"},"self":{"$ref":"#/s"}}}}"##,
    );
    assert_eq!(found(&composed, r#"{"kind":"x","a":"1","b":2,"x":"3","t":1,"x-y":"z","d":1}"#), [""; 0]);
    assert_eq!(found(&composed, r#"{"kind":"x","y":"3","t":1,"e":1,"d":1}"#), ["/y?", "/t?", "/d?"]);
    assert_eq!(found(&composed, r#"{"kind":"y","self":{"kind":"x","x":"1","y":"2"}}"#), ["/self/y?"]);
}

#[test]
fn a_value_outside_of_the_known_ones_is_a_gap() {
    let known = schema(
        r#"{"s":{"type":"array","items":{"type":"string",
            "x-contrail-known-values":["default","client_id:{id}","{origin}/api/","{ odd }"]}}}"#,
    );
    assert_eq!(
        found(&known, r#"["default","client_id:a","https://t.example/api/","{ odd }","client_id:ä😀"]"#),
        [""; 0]
    );
    let all = "? `default`, `client_id:{id}`, `{origin}/api/`, `{ odd }`";
    let gaps: Vec<String> = (0..5).map(|index| format!("/{index}{all}")).collect();
    assert_eq!(
        found(&known, r#"["Default","client_id:","https://u.example/api/","xdefault","https://t.example/api/x"]"#),
        gaps
    );
    assert_eq!(found(&known, "[5]"), ["/0: a string"]);
}

#[test]
fn unnamed_keys_are_gaps_up_to_their_number_and_violations_beyond_it() {
    let overrides = schema(
        r#"{"s":{"type":"object","properties":{"ad":{"type":"object"}},"x-contrail-unnamed-keys":2,
            "additionalProperties":{"type":"object","properties":{"f":{"type":"string"}}}}}"#,
    );
    assert_eq!(found(&overrides, r#"{"ad":{},"k1":{"f":"x"},"k2":{}}"#), ["/k1? of 2", "/k2? of 2"]);
    assert_eq!(
        found(&overrides, r#"{"k1":{},"ad":{},"k2":{"g":1},"k3":{"f":5}}"#),
        ["/k3/f: a string", "/k1? of 2", "/k2? of 2", "/k2/g?", "/k3! of 2"]
    );
}

#[test]
fn an_unusable_place_is_listed_and_leaves_the_rest_judged_in_part() {
    for (text, at) in [
        (r#"{"s":{"minLength":2,"type":"strnig"}}"#, "/s/type"),
        (r#"{"s":{"minLength":2,"maxLength":-1}}"#, "/s/maxLength"),
        (r#"{"s":{"minLength":2,"pattern":"("}}"#, "/s/pattern"),
        (r##"{"s":{"minLength":2,"$ref":"#/nowhere"}}"##, "/s/$ref"),
        (r#"{"s":{"minLength":2,"exclusiveMinimum":true}}"#, "/s/exclusiveMinimum"),
        (r#"{"s":{"minLength":2,"items":[{}]}}"#, "/s/items"),
        (r#"{"s":{"minLength":2,"anyOf":[]}}"#, "/s/anyOf"),
        (r#"{"s":{"minLength":2,"allOf":[5]}}"#, "/s/allOf/0"),
        (r#"{"s":{"minLength":2,"x-contrail-unnamed-keys":"three"}}"#, "/s/x-contrail-unnamed-keys"),
        (r#"{"s":{"minLength":2,"x-contrail-known-values":"none"}}"#, "/s/x-contrail-known-values"),
    ] {
        let schemas = Schemas::new(&std::sync::Arc::new(serde_json::from_str(text).unwrap()));
        let schema = schemas.at("/s");
        assert_eq!(schemas.unusable().iter().map(|place| &place.at).collect::<Vec<_>>(), [at], "{text}");
        let judge =
            |value: &str| schema.judge(&Document::parse(value.as_bytes().to_vec()).unwrap(), &|_| false).unwrap();
        let conforming = judge("\"ab\"");
        assert!(conforming.is_partial(), "{text}");
        assert_eq!(SchemaVerdict { open: Vec::new(), ..conforming }, SchemaVerdict::default(), "{text}");
        let violating = judge("\"a\"");
        assert_eq!((violating.violations.len(), violating.is_partial()), (1, true), "{text}");
    }
}

#[test]
fn a_name_twice_in_required_and_a_loose_pattern_are_judged_as_meant() {
    let twice = schema(r#"{"s":{"properties":{"a":{},"b":{}},"required":["a","b","a"]}}"#);
    assert_eq!(found(&twice, r#"{"a":1,"b":2}"#), [""; 0]);
    assert_eq!(found(&twice, r#"{"a":1}"#), ["/b: this field to be there"]);
    let loose = schema(r#"{"s":{"type":"string","pattern":"^[\\w-\\.~%]+$"}}"#);
    assert_eq!(found(&loose, r#""a-b.c~%""#), [""; 0]);
    assert_eq!(found(&loose, r#""a b""#).len(), 1);
}

#[test]
fn a_reference_into_a_pattern_of_names_leads_there_in_whatever_form_the_judge_has_it() {
    let one = schema(
        r##"{"s": {
            "patternProperties": {"^x.\\b": {"patternProperties": {"^.$": {"oneOf": [{"type": "integer"}, {"type": "boolean"}]}}}},
            "properties": {"p": {"$ref": "#/s/patternProperties/%5Ex.%5Cb/patternProperties/%5E.$"}}}}"##,
    );
    assert_eq!(found(&one, r#"{"p": 5, "xy": {"a": true}}"#), [""; 0]);
    assert_eq!(found(&one, r#"{"p": "a"}"#), ["/p: an integer or a boolean"]);
    assert_eq!(found(&one, r#"{"xy": {"a": "b"}}"#), ["/xy/a: an integer or a boolean"]);
}

#[test]
fn dots_classes_and_sets_of_a_pattern_take_what_ecmascript_gives_them() {
    let characters =
        ["a", "0", "_", "!", " ", "\n", "\r", "\u{85}", "\u{a0}", "\u{661}", "\u{e9}", "\u{2028}", "\u{feff}"];
    let taken = |pattern: &str| -> String {
        let schema = schema(&serde_json::json!({"s": {"pattern": pattern}}).to_string());
        let judged = characters.map(|text| schema.violations_of_text(text).map(|violations| violations.is_empty()));
        judged.into_iter().map(|taken| if taken.unwrap() { '1' } else { '.' }).collect()
    };
    for (pattern, expected) in [
        ("^.$", "11111..1111.1"),
        ("^[.a]$", "1............"),
        ("^[^]$", "1111111111111"),
        ("^[]$", "............."),
        (r"^\d$", ".1..........."),
        (r"^\s$", "....111.1..11"),
        (r"^\W$", "...1111111111"),
    ] {
        assert_eq!(taken(pattern), expected, "{pattern}");
        assert_eq!(taken(&format!("(?=^){pattern}")), expected, "{pattern}, with look-around");
    }
    for (set, expected) in [
        (r"\d", ".1..........."),
        (r"\D", "1.11111111111"),
        (r"\w", "111.........."),
        (r"\W", "...1111111111"),
        (r"\s", "....111.1..11"),
        (r"\S", "1111...1.11.."),
    ] {
        assert_eq!(taken(&format!("(?=^)^[{set}]$")), expected, "{set}");
        assert_eq!(taken(&format!("^[{set}]$")), expected, "{set}");
        assert_eq!(taken(&format!("(?=^)^[{set}-.]$")), expected, "{set}");
    }
    let lines = schema(r#"{"s":{"pattern":"^a.+$"}}"#);
    assert_eq!(found(&lines, "\"a\\r\""), [": a text that matches `^a.+$`"]);
}

#[test]
fn a_part_of_all_of_that_states_nothing_frees_nothing() {
    let described = schema(
        r##"{"s":{"properties":{"a":{"allOf":[{"$ref":"#/t"},{"description":"d"}]},"b":{"allOf":[{"description":"d"}]}}},
             "t":{"type":"object","properties":{"x":{}}}}"##,
    );
    assert_eq!(found(&described, r#"{"a":{"x":{"y":1},"z":1},"b":{"c":1}}"#), ["/a/z?"]);
}

#[test]
fn nothing_is_undocumented_in_a_value_that_the_schema_lists_whole() {
    let listed = schema(r#"{"s":{"enum":[{"a":[1]},[{"b":2}],"x"]}}"#);
    for value in [r#"{"a":[1.0]}"#, r#"[{"b":2}]"#, "\"x\""] {
        assert_eq!(found(&listed, value), [""; 0], "{value}");
    }
    assert_eq!(found(&listed, r#"{"a":[2]}"#).len(), 1);
    let constant = schema(r#"{"s":{"type":"object","properties":{"c":{"const":{"k":1}}}}}"#);
    assert_eq!(found(&constant, r#"{"c":{"k":1},"d":1}"#), ["/d?"]);
}

#[test]
fn a_member_that_is_required_and_nowhere_described_is_a_gap() {
    let required = schema(r#"{"s":{"type":"object","required":["x"]}}"#);
    assert_eq!(found(&required, r#"{"x":1}"#), ["/x?"]);
    assert_eq!(found(&required, "{}"), ["/x: this field to be there"]);
    let chosen = schema(r#"{"s":{"anyOf":[{"required":["x"]},{"required":["y"]}],"properties":{"x":{}}}}"#);
    assert_eq!(found(&chosen, r#"{"x":1}"#), [""; 0]);
    assert_eq!(found(&chosen, r#"{"y":1}"#), ["/y?"]);
    let described = schema(r#"{"s":{"required":["x"],"allOf":[{"properties":{"x":{}}}]}}"#);
    assert_eq!(found(&described, r#"{"x":1}"#), [""; 0]);
}

#[test]
fn members_that_an_unusable_keyword_was_to_document_are_no_gaps() {
    let patterns =
        schema(r#"{"s":{"patternProperties":{"(":{},"^b":{"type":"string"}},"additionalProperties":false}}"#);
    assert_eq!(found(&patterns, r#"{"a":1,"b":2}"#), [""; 0]);
    let members = schema(r#"{"s":{"type":"object","properties":["a"]}}"#);
    assert_eq!(found(&members, r#"{"a":1}"#), [""; 0]);
}

#[test]
fn a_web_of_schemas_that_refer_to_each_other_by_choices_is_built_once() {
    let schemas: serde_json::Map<String, Value> = (0..60)
        .map(|index: usize| {
            let others = (1..=5).map(|step| serde_json::json!({"$ref": format!("#/w/{}", (index * 7 + step) % 60)}));
            let others: Vec<Value> = std::iter::once(serde_json::json!({"type": "string"})).chain(others).collect();
            let members = serde_json::json!({"type": "object", "properties": {"next": {"anyOf": others}}});
            (index.to_string(), members)
        })
        .collect();
    let all = Schemas::new(&std::sync::Arc::new(serde_json::json!({ "w": schemas })));
    let places: Vec<Schema> = (0..60).map(|index| all.at(&format!("/w/{index}"))).collect();
    for schema in &places {
        assert_eq!(found(schema, r#"{"next":{"next":"x"}}"#), [""; 0]);
        assert_eq!(found(schema, r#"{"next":{"next":5}}"#).len(), 1);
        assert_eq!(found(schema, r#"{"next":{"other":5}}"#), ["/next/other?"]);
    }
}

#[test]
fn a_chain_of_references_takes_time_in_proportion_to_it() {
    // Where each schema looked at all on the way to it, this took a minute.
    let mut chain: serde_json::Map<String, Value> = (0..20_000)
        .map(|n| (n.to_string(), serde_json::json!({"allOf": [{"$ref": format!("#/c/{}", n + 1)}]})))
        .collect();
    chain.insert("20000".to_owned(), serde_json::json!({"type": "object"}));
    let all = Schemas::new(&std::sync::Arc::new(serde_json::json!({ "c": chain })));
    assert_eq!(found(&all.at("/c/20000"), "{}"), [""; 0]);
}

#[test]
fn a_recursive_schema_judges_a_deep_value_without_overflow() {
    let tree = schema(r##"{"s":{"type":"object","properties":{"c":{"$ref":"#/s"}}}}"##);
    let deep = format!("{}{}{}", "{\"c\":".repeat(1999), "{\"d\":1}", "}".repeat(1999));
    assert_eq!(found(&tree, &deep), [format!("{}/d?", "/c".repeat(1999))]);
    let wrong = deep.replace("{\"d\":1}", "1");
    assert_eq!(found(&tree, &wrong).len(), 1);
}

#[test]
fn a_pattern_that_is_too_costly_leaves_the_value_unjudged() {
    let costly = schema(r#"{"s":{"type":"string","pattern":"^(a|aa|aaa)+(?!x)b$"}}"#);
    let text = "a".repeat(60);
    assert_eq!(costly.violations_of_text(&text), Err(Indeterminate::PATTERN));
    assert_eq!(costly.violations_of_text("b").map(|breaches| breaches.len()), Ok(1));
    assert_eq!(costly.violations_of_text("ab"), Ok(Vec::new()));
}

#[test]
fn a_value_outside_of_a_long_enumeration_takes_time_in_proportion_to_it_and_shows_only_its_beginning() {
    // Where each value was compared with each, this took minutes. A body of a thousand such values took 800 MB.
    let values: Vec<String> = (0..100_000).map(|n| format!("value-{n}")).collect();
    let long = schema(&serde_json::json!({"s": {"enum": values}}).to_string());
    assert_eq!(found(&long, r#""value-99999""#), [""; 0]);
    let [message] = &found(&long, r#""other""#)[..] else { panic!("one message") };
    let shown = message.split(", ").count() - 1;
    let expected: Vec<String> = values[..shown].iter().map(|value| format!("`{value}`")).collect();
    assert_eq!(*message, format!(": one of {}, and others", expected.join(", ")));
    assert!((16_300..16_500).contains(&message.len()), "{}", message.len());
}

#[test]
fn what_a_value_violates_beyond_a_bound_leaves_the_verdict_open() {
    let closed = schema(r#"{"s":{"type":"object","properties":{"x":{}},"additionalProperties":false}}"#);
    let items = schema(r#"{"s":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}}}}"#);
    let open = schema(r#"{"s":{"type":"object"}}"#);
    let members = |count: usize| {
        let members: Vec<String> = (0..count).map(|n| format!("\"k{n}\":1")).collect();
        format!("{{{}}}", members.join(","))
    };
    let list = |count: usize| format!("[{}]", vec![r#"{"a":1}"#; count].join(","));
    for (schema, text, places, partial) in [
        (&closed, members(100), 100, false),
        (&closed, members(3000), 100, true),
        (&items, list(100), 100, false),
        (&items, list(101), 100, true),
        (&open, members(999), 999, false),
        (&open, members(3000), 1000, true),
    ] {
        let document = Document::parse(text.clone()).unwrap();
        for judged in [schema.judge(&document, &|_| false), schema.judge_in_full(&document, &|_| false)] {
            let judged = judged.unwrap();
            let found = (judged.violations.len() + judged.gaps.len(), judged.is_partial());
            assert_eq!(found, (places, partial), "{} bytes of {}", text.len(), &text[..20]);
        }
    }
    let empty = schema(r#"{"s":{"type":"object","additionalProperties":false}}"#);
    assert_eq!(found(&empty, r#"{"a":1,"b":2}"#), [": no fields"]);
}

#[test]
fn a_recursive_schema_of_several_keywords_per_level_has_stack_enough() {
    let tree = schema(
        r##"{"s":{"allOf":[{"$ref":"#/t"}]},
             "t":{"oneOf":[{"type":"integer"},{"allOf":[{"type":"object","additionalProperties":false,
                "properties":{"c":{"type":"array","items":{"anyOf":[{"if":{"type":"null"},"else":{"$ref":"#/s"}}]}}}}]}]}}"##,
    );
    let deep = |leaf: &str| format!("{}{leaf}{}", "{\"c\":[".repeat(999), "]}".repeat(999));
    let deep = |leaf| Document::parse(deep(leaf)).unwrap();
    assert_eq!(tree.judge(&deep("1"), &|_| false), Err(Indeterminate::STEPS));
    assert_eq!(tree.judge(&deep("\"x\""), &|_| false).unwrap().violations.len(), 1);
}

#[test]
fn finding_where_a_value_breaks_a_recursive_choice_ends() {
    // Each level breaks both branches, so that listing every place doubles the work per level.
    let tree = schema(
        r##"{"s":{"anyOf":[{"type":"object","properties":{"c":{"$ref":"#/s"}},"required":["c"]},
            {"type":"object","properties":{"c":{"$ref":"#/s"}},"minProperties":1},{"type":"integer"}]}}"##,
    );
    let deep = |depth: usize| format!("{}\"x\"{}", "{\"c\":".repeat(depth), "}".repeat(depth));
    assert_eq!(found(&tree, &deep(1)), ["/c: an object or an integer"]);
    assert_eq!(found(&tree, &deep(40)), [": what the document shows, at every level"]);
}

#[test]
fn places_with_the_same_schema_share_a_build_unless_it_matters_where_they_stand() {
    let tree = serde_json::json!({"type": "object", "properties": {"n": {"$ref": "#/tree"}}});
    let choice = serde_json::json!({"properties": {"x": {"discriminator": {"propertyName": "kind"}}}});
    let text = serde_json::json!({"type": "string"});
    let whole = serde_json::json!({"$ref": "#/tree"});
    let document = serde_json::json!({"a": text, "b": text, "c": whole, "d": whole, "tree": tree, "same": tree,
        "choice": choice, "other": choice});
    let schemas = Schemas::new(&std::sync::Arc::new(document));
    let places = ["/a", "/b", "/c", "/d", "/tree", "/same", "/choice", "/other"].map(|at| schemas.at(at));
    let built: Vec<usize> = (0..places.len()).map(|place| schemas.build_of(place).1).collect();
    assert_eq!(built, [0, 0, 1, 1, 2, 3, 4, 5]);
    assert_eq!(found(&places[1], "1"), [": a string"]);
    for tree in &places[2..6] {
        assert_eq!(found(tree, r#"{"n": {"n": 1}, "m": 1}"#), ["/n/n: an object", "/m?"]);
    }
}
