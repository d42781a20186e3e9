//! No document makes the judging of a value unbounded. What a bound cuts off is left unjudged.

use contrail_exchange::json::Document;

use crate::schema::work;
use serde_json::{Map, Value, json};

use super::{found, schema};
use crate::schema::{Indeterminate, Schema, SchemaVerdict, Schemas, graph::Outcome};

/// Schemas each of whose five members is any of all.
fn web(count: usize) -> Schema {
    let all: Vec<Value> = (0..count).map(|index| json!({"$ref": format!("#/w/{index}")})).collect();
    let members: Map<String, Value> = (0..5).map(|name| (format!("x{name}"), json!({ "anyOf": all }))).collect();
    let one = json!({"type": "object", "properties": members});
    let schemas: Map<String, Value> = (0..count).map(|index| (index.to_string(), one.clone())).collect();
    Schemas::new(&std::sync::Arc::new(json!({ "w": schemas }))).at("/w/0")
}

/// Members at every level down to a depth.
fn nested(depth: usize, leaf: &Value) -> Value {
    if depth == 0 {
        return leaf.clone();
    }
    (0..5).map(|name| (format!("x{name}"), nested(depth - 1, leaf))).collect::<Map<_, _>>().into()
}

fn judged(schema: &Schema, value: &Value) -> Result<usize, Indeterminate> {
    let document = Document::parse(value.to_string()).unwrap();
    schema.judge(&document, &|_| false).map(|judged| judged.violations.len())
}

#[test]
fn a_value_that_a_web_of_choices_would_check_too_often_is_left_unjudged() {
    let web = web(40);
    assert_eq!(judged(&web, &nested(2, &json!({}))), Ok(0));
    assert_eq!(judged(&web, &nested(4, &json!({}))), Err(Indeterminate::STEPS));
}

#[test]
fn a_violation_whose_place_takes_too_many_steps_to_find_is_reported_of_the_whole_value() {
    // Every branch breaks at every level below, so that listing the places multiplies.
    let branch = |least: usize| json!({"type": "object", "properties": {"c": {"$ref": "#/s"}}, "minProperties": least});
    let mut branches: Vec<Value> = (0..12).map(|index| branch(index % 2)).collect();
    branches.push(json!({"type": "integer"}));
    let tree = schema(&json!({"s": {"anyOf": branches}}).to_string());
    let deep = |depth: usize| format!("{}\"x\"{}", "{\"c\":".repeat(depth), "}".repeat(depth));
    assert_eq!(found(&tree, &deep(2)), ["/c/c: an object or an integer"]);
    assert_eq!(found(&tree, &deep(7)), [": what the document shows, at every level"]);
}

#[test]
fn judgements_that_share_their_steps_end_together() {
    let web = web(40);
    let small = nested(1, &json!({}));
    let count = work::share(10_000, || (0..100).filter(|_| judged(&web, &small).is_ok()).count());
    assert!((1..100).contains(&count), "{count} of 100");
    assert_eq!(judged(&web, &small), Ok(0));
}

#[test]
fn spellings_of_one_pattern_are_told_apart_up_to_a_bound_and_left_out_beyond() {
    // Five times the letter `i`, each escaped or not, which means the same.
    let spelled = |number: usize| {
        let letter = |bit: usize| if number >> bit & 1 == 1 { r"\i" } else { "i" };
        format!("^{}$", (0..5).map(letter).collect::<String>())
    };
    let patterns: Map<String, Value> = (0..20).map(|number| (spelled(number), json!({"minimum": number}))).collect();
    let document = json!({"s": {"patternProperties": patterns}, "t": {"pattern": spelled(1)}});
    let schemas = Schemas::new(&std::sync::Arc::new(document));
    let (names, text) = (schemas.at("/s"), schemas.at("/t"));
    assert_eq!(found(&text, r#""x""#), [r": a text that matches `^\iiiii$`"]);
    assert_eq!(schemas.unusable().len(), 1);
    assert_eq!(found(&names, r#"{"iiiii": 0}"#), Vec::<String>::new());
}

#[test]
fn patterns_are_left_out_where_all_together_would_be_too_large() {
    let members: Map<String, Value> = (0..40)
        .map(|index| (format!("m{index}"), json!({"pattern": format!("^(?:[a-z]{{1,9}}-?){{1,{}}}$", 500 + index)})))
        .collect();
    let schemas = Schemas::new(&std::sync::Arc::new(json!({"s": {"type": "object", "properties": members}})));
    let schema = schemas.at("/s");
    let unusable = schemas.unusable();
    let reason = "contrail cannot run this regular expression";
    assert!((1..40).contains(&unusable.len()), "{} of 40", unusable.len());
    assert!(unusable.iter().all(|place| place.reason == reason), "{unusable:?}");
    assert_eq!(judged(&schema, &json!({"m0": "A"})), Ok(1));
    assert_eq!(judged(&schema, &json!({"m39": "A"})), Ok(0));
}

#[test]
fn patterns_that_repeat_a_set_as_often_as_vendors_do_are_run() {
    let patterns = [r"^[\w-]{0,255}$", r"^(\w|\.|-){1,255}$", r"^[\w.@() -]{1,2000}$", "^.{1,1000}$"];
    let members: Map<String, Value> =
        patterns.iter().map(|text| ((*text).to_owned(), json!({"pattern": text}))).collect();
    let schemas = Schemas::new(&std::sync::Arc::new(json!({"s": {"type": "object", "properties": members}})));
    let schema = schemas.at("/s");
    assert_eq!(schemas.unusable(), []);
    for (pattern, most) in patterns.iter().zip([255, 255, 2000, 1000]) {
        assert_eq!(judged(&schema, &json!({*pattern: "a".repeat(most)})), Ok(0), "{pattern}");
        assert_eq!(judged(&schema, &json!({*pattern: "a".repeat(most + 1)})), Ok(1), "{pattern}");
    }
}

#[test]
fn choices_that_multiply_each_other_do_not_multiply_the_graph() {
    let names: Map<String, Value> = (0..1000).map(|name| (format!("p{name}"), json!({"type": "string"}))).collect();
    let branch = |choice: usize, index: usize| {
        let name = format!("q{choice}");
        json!({"properties": {name.clone(): {"const": index}}, "required": [name]})
    };
    let choice = |choice: usize| json!({"oneOf": (0..3).map(|index| branch(choice, index)).collect::<Vec<_>>()});
    let choices: Vec<Value> = (0..14).map(choice).collect();
    let one = schema(&json!({"s": {"type": "object", "properties": names, "allOf": choices}}).to_string());
    let mut value: Map<String, Value> = (0..14).map(|choice| (format!("q{choice}"), json!(choice % 3))).collect();
    value.insert("p7".to_owned(), json!("x"));
    assert_eq!(found(&one, &Value::Object(value.clone()).to_string()), [""; 0]);
    value.insert("p7".to_owned(), json!(5));
    assert_eq!(found(&one, &Value::Object(value).to_string()), ["/p7: a string"]);
}

#[test]
fn a_schema_of_many_parts_with_names_of_their_own_is_judged_by_one_walk() {
    let part = |index: usize| json!({"properties": {format!("a{index}"): {"type": "string"}}});
    let value = Document::parse(r#"{"a1":"x"}"#).unwrap();
    for count in [100, 2500] {
        let schema = schema(&json!({"s": {"allOf": (0..count).map(part).collect::<Vec<_>>()}}).to_string());
        assert_eq!(schema.walked(&value, &|_| false), (Outcome::Conforms, true), "{count}");
        assert_eq!(judged(&schema, &json!({"a1": 1})), Ok(1), "{count}");
    }
}

/// A JSON array of these texts.
fn array(items: impl Iterator<Item = String>) -> Document {
    Document::parse(format!("[{}]", items.collect::<Vec<_>>().join(","))).unwrap()
}

fn judged_items(each: &Value, items: impl Iterator<Item = String>) -> Result<Vec<String>, Indeterminate> {
    let schema = schema(&json!({"s": {"type": "array", "items": each}}).to_string());
    let judged = schema.judge(&array(items), &|_| false)?;
    Ok(judged.violations.into_iter().map(|violation| violation.at).collect())
}

#[test]
fn listed_values_are_found_however_many_there_are_and_however_they_are_written() {
    const COUNT: usize = 4000;
    type Write = fn(usize) -> String;
    let kinds: [(Write, Write, &str); 5] = [
        (|index| index.to_string(), |index| format!("{index}.0"), "0.5"),
        (|index| format!("{index}.5"), |index| format!("{index}.50"), "7"),
        (|index| format!("1{index:040}"), |index| format!("1{index:040}e0"), "7"),
        (|index| format!(r#"{{"a":{index},"b":[1]}}"#), |index| format!(r#"{{"b":[1.0],"a":{index}}}"#), r#"{"a":0}"#),
        (
            |index| if index % 2 == 0 { format!("\"x{index}\"") } else { format!("[{index}]") },
            |index| if index % 2 == 0 { format!("\"\\u0078{index}\"") } else { format!("[{index}e0]") },
            "[]",
        ),
    ];
    for (write, otherwise, bad) in kinds {
        let values = array((0..COUNT).map(write)).root().to_value();
        let same = || (0..COUNT).rev().map(otherwise);
        let each = json!({ "enum": values });
        assert_eq!(judged_items(&each, same()), Ok(Vec::new()), "{}", write(1));
        let one_bad = same().take(5).chain([bad.to_owned()]).chain(same().take(5));
        assert_eq!(judged_items(&each, one_bad), Ok(vec!["/5".to_owned()]), "{bad}");
        let each = json!({"oneOf": [{"enum": values}, {"const": values[7]}]});
        assert_eq!(judged_items(&each, same().skip(COUNT - 10)), Ok(vec!["/2".to_owned()]));
    }
}

#[test]
fn a_branch_that_lists_values_is_found_however_many_there_are() {
    let consts: Vec<Value> = (0..4000).map(|index| json!({ "const": index })).collect();
    for keyword in ["oneOf", "anyOf"] {
        let each = json!({ keyword: consts });
        assert_eq!(judged_items(&each, (0..4000).rev().map(|index| format!("{index}.0"))), Ok(Vec::new()), "{keyword}");
    }
}

#[test]
fn the_values_of_an_open_set_are_found_however_many_there_are() {
    let known: Vec<String> = (0..20_000).map(|index| format!("v{index}")).collect();
    let each = json!({"type": "string", "x-contrail-known-values": known});
    assert_eq!(judged_items(&each, known.iter().rev().map(|value| format!("\"{value}\""))), Ok(Vec::new()));
}

#[test]
fn a_member_selects_its_branch_however_many_there_are() {
    const COUNT: usize = 2000;
    let name = |index: usize| format!("C{index}");
    let branch = json!({"type": "object", "properties": {"t": {"type": "string"}}, "required": ["t"]});
    let mut schemas: Map<String, Value> = (0..COUNT).map(|index| (name(index), branch.clone())).collect();
    let to = |index: usize| format!("#/components/schemas/{}", name(index));
    let mapping: Map<String, Value> = (0..COUNT).map(|index| (format!("t{index}"), json!(to(index)))).collect();
    let all: Vec<Value> = (0..COUNT).map(|index| json!({"$ref": to(index)})).collect();
    schemas.insert("S".to_owned(), json!({"oneOf": all, "discriminator": {"propertyName": "t", "mapping": mapping}}));
    let document = json!({"components": {"schemas": schemas}, "s": {"items": {"$ref": "#/components/schemas/S"}}});
    let schema = schema(&document.to_string());
    let items = array((0..COUNT).rev().map(|index| format!(r#"{{"t":"t{index}"}}"#)));
    assert_eq!(schema.judge(&items, &|_| false), Ok(SchemaVerdict::default()));
}

/// The steps of a judgement that leaves something unjudged.
fn unjudged(schema: &Schema, value: &Document) -> u64 {
    const SHARED: u64 = 1 << 40;
    work::share(SHARED, || {
        let judged = schema.judge_in_full(value, &|_| false);
        assert!(judged.as_ref().map_or(true, SchemaVerdict::is_partial), "{judged:?}");
        SHARED - work::granted(SHARED)
    })
}

#[test]
fn names_that_many_patterns_are_tried_on_are_left_unjudged_at_the_bound() {
    let patterns: Map<String, Value> = (0..20_000).map(|index| (format!("^k{index}$"), json!({}))).collect();
    let each = schema(&json!({"s": {"patternProperties": patterns}}).to_string());
    let names: Map<String, Value> = (0..20_000).map(|index| (format!("k{index}"), json!(1))).collect();
    let value = Document::parse(Value::from(names).to_string()).unwrap();
    let steps = unjudged(&each, &value);
    assert!(steps < 20_000 * 2_000, "{steps}");
}

#[test]
fn items_that_many_parts_judge_are_left_unjudged_at_the_bound() {
    let parts: Vec<Value> = (0..15_000).map(|index| json!({"minimum": -index})).collect();
    let each = schema(&json!({"s": {"items": {"allOf": parts}}}).to_string());
    let value = array((0..10_000).map(|index| index.to_string()));
    let steps = unjudged(&each, &value);
    assert!(steps < 15_000 * 1_000, "{steps}");
}
