use std::borrow::Cow;

use serde_json::json;

use super::*;
use crate::{
    model::{Definition, Encoding, Notation},
    schema::{Schema, Schemas},
};

fn schema(text: &str) -> Schema {
    let document = json!({ "s": serde_json::from_str::<serde_json::Value>(text).unwrap() });
    Schemas::new(&std::sync::Arc::new(document)).at("/s")
}

fn notation(style: Style, explode: bool) -> Notation {
    Notation { style, explode, allow_reserved: false }
}

/// What is expected instead of a text in a query.
fn violation(schema: &Schema, text: &str) -> Option<String> {
    let definition = Definition::Schema(schema.clone());
    let judged = judge_text("p", notation(Style::Form, true), &definition, &(text, text.into()), true);
    assert!(judged.open.is_none(), "{text}");
    judged.violation.map(Cow::into_owned)
}

#[test]
fn an_integer_in_a_query_is_written_as_one() {
    let take = schema(r#"{"type":"integer","minimum":1,"maximum":100}"#);
    for good in ["1", "50", "100"] {
        assert_eq!(violation(&take, good), None, "{good}");
    }
    for bad in ["", "5.0", "+5", "05", "1e1", " 5", "5 ", "five", "0x5", "true", "\"5\"", "[5]", "null"] {
        assert_eq!(violation(&take, bad).as_deref(), Some("an integer"), "{bad:?}");
    }
    assert_eq!(violation(&take, "0").as_deref(), Some("at least 1"));
    assert_eq!(violation(&take, "-5").as_deref(), Some("at least 1"));
    assert_eq!(violation(&take, "101").as_deref(), Some("at most 100"));
    assert_eq!(violation(&take, "99999999999999999999999999").as_deref(), Some("at most 100"));
}

#[test]
fn other_scalars_are_read_by_their_type_and_texts_stay_texts() {
    assert_eq!(violation(&schema(r#"{"type":"number","maximum":2}"#), "1.5"), None);
    assert_eq!(violation(&schema(r#"{"type":"number"}"#), "x").as_deref(), Some("a number"));
    assert_eq!(violation(&schema(r#"{"type":"boolean"}"#), "true"), None);
    assert_eq!(violation(&schema(r#"{"type":"boolean"}"#), "1").as_deref(), Some("a boolean"));
    assert_eq!(violation(&schema(r#"{"type":"string","enum":["5"]}"#), "5"), None);
    assert_eq!(violation(&schema(r#"{"type":["string","integer"]}"#), "5.0"), None);
    let lengths = schema(r#"{"type":"string","maxLength":2}"#);
    assert_eq!(violation(&lengths, "😀ä"), None, "characters are counted, not bytes");
    assert_eq!(violation(&lengths, "abc").as_deref(), Some("at most 2 characters"));
}

#[test]
fn a_value_violates_its_schema_only_if_no_reading_fits() {
    for (schema_text, good, bad) in [
        (r#"{"enum":[1,2,true]}"#, &["1", "true"][..], &["3", "one"][..]),
        (r#"{"anyOf":[{"type":"integer"},{"enum":["all"]}]}"#, &["7", "all"], &["7.5", "5.0", "none"]),
        (r#"{"anyOf":[{"type":"integer"},{"type":"string","format":"uuid"}]}"#, &["7"], &["seven"]),
        (r#"{"type":["integer","null"]}"#, &["7", "", "null"], &["x"]),
        (
            r#"{"anyOf":[{"type":"string","enum":["all"]},{"type":"array","items":{"type":"integer"}}]}"#,
            &["all", "1,2", "7"],
            &["1,x", "none"],
        ),
        (r#"{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]}"#, &["5,5"], &["5,five"]),
        (
            r#"{"oneOf":[{"type":"array","items":{"type":"integer"}},{"type":"array","items":{"type":"boolean"}}]}"#,
            &["1,2", "true,false"],
            &["1,true"],
        ),
        (
            r#"{"anyOf":[{"type":"array","items":{"enum":["a"]}},{"type":"array","items":{"type":"integer"}}]}"#,
            &["1,2", "a,a"],
            &["a,1", "b"],
        ),
    ] {
        let schema = schema(schema_text);
        let one = |text: &str| {
            let definition = Definition::Schema(schema.clone());
            judge_text("p", notation(Style::Form, false), &definition, &(text, text.into()), true)
        };
        for text in good {
            assert_eq!(one(text), Judgement::default(), "{text} by {schema_text}");
        }
        for text in bad {
            assert!(one(text).violation.is_some(), "{text} by {schema_text}");
        }
    }
}

#[test]
fn a_list_of_objects_has_no_notation_so_that_it_is_left_open() {
    let list = schema(r#"{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"}}}}"#);
    for explode in [true, false] {
        let definition = Definition::Schema(list.clone());
        let one = judge_text("p", notation(Style::Form, explode), &definition, &("{}", "{}".into()), true);
        assert!(one.open.is_some() && one.violation.is_none());
    }
}

#[test]
fn every_style_of_one_text_is_read() {
    let list = r#"{"type":"array","items":{"type":"integer"}}"#;
    let object =
        r#"{"type":"object","properties":{"R":{"type":"integer"},"G":{"type":"string"}},"additionalProperties":false}"#;
    for (style, explode, schema_text, good, bad) in [
        (Style::Simple, false, list, &["1", "1,2"][..], &["1;2", "a"][..]),
        (Style::Simple, true, list, &["1,2"], &["1,b"]),
        (Style::Simple, false, object, &["R,1,G,a"], &["R,x", "R,1,G", "R=1", "B,1"]),
        (Style::Simple, true, object, &["R=1,G=a", "G=a"], &["R,1", "R=x"]),
        (Style::Label, false, list, &[".1", ".1,2", ".1.2"], &["1", ".a"]),
        (Style::Label, true, list, &[".1.2"], &["1.2", ".1,2"]),
        (Style::Label, false, object, &[".R,1,G,a", ".R.1.G.a"], &[".R,x"]),
        (Style::Label, true, object, &[".R=1.G=a"], &[".R,1"]),
        (Style::Matrix, false, list, &[";p=1", ";p=1,2"], &["1", ";q=1", ";p=a"]),
        (Style::Matrix, true, list, &[";p=1;p=2"], &[";p=1,2", ";p=1;q=2"]),
        (Style::Matrix, false, object, &[";p=R,1,G,a"], &[";p=R,x"]),
        (Style::Matrix, true, object, &[";R=1;G=a"], &[";R=x", ";p=R,1"]),
        (Style::Form, false, list, &["1,2", "1%2C2", ""], &["1|2"]),
        (Style::SpaceDelimited, false, list, &["1%202", "1+2"], &["1,2"]),
        (Style::PipeDelimited, false, list, &["1|2", "1%7C2"], &["1,2"]),
    ] {
        let definition = Definition::Schema(schema(schema_text));
        let form = matches!(style, Style::Form | Style::SpaceDelimited | Style::PipeDelimited);
        let judge = |raw: &str| {
            let pair = format!("p={raw}");
            let decoded = if form {
                pairs(pair.as_bytes()).next().unwrap().value.unwrap().into_owned()
            } else {
                decode_plain(raw).unwrap().into_owned()
            };
            judge_text("p", notation(style, explode), &definition, &(raw, decoded.into()), form)
        };
        for text in good {
            assert_eq!(judge(text), Judgement::default(), "{text} as {style:?}, {explode}, {schema_text}");
        }
        for text in bad {
            assert!(judge(text).violation.is_some(), "{text} as {style:?}, {explode}, {schema_text}");
        }
    }
}

#[test]
fn a_separator_inside_a_value_is_percent_encoded() {
    let definition = Definition::Schema(schema(r#"{"type":"array","items":{"enum":["a,b","c"]}}"#));
    let raw = "a%2Cb,c";
    let decoded = decode_plain(raw).unwrap();
    assert_eq!(
        judge_text("p", notation(Style::Simple, false), &definition, &(raw, decoded), false),
        Judgement::default()
    );
}

fn fields(raw: &str, schema: &Schema) -> String {
    let documented = Documented { schema: Some(schema), encodings: &[], no_repeats: true };
    match form(raw.as_bytes(), documented, &|_| false) {
        Form::Fields(fields) => String::from_utf8(fields.document.source().to_vec()).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_form_is_read_as_the_object_that_its_schema_describes() {
    let schema = schema(
        r#"{"type":"object","properties":{"n":{"type":"string"},"v":{"type":"integer"},"p":{"type":"object"}}}"#,
    );
    assert_eq!(
        fields("n=a+b%26&v=5&p=%7B%22x%22%3A1.0%7D&other[k]=1&v2=5", &schema),
        r#"{"n":"a b&","v":5,"p":{"x":1.0},"other[k]":"1","v2":"5"}"#
    );
    assert_eq!(fields("v=5.0&p=nothing&n=5", &schema), r#"{"v":"5.0","p":"nothing","n":"5"}"#);
    assert_eq!(fields("n", &schema), r#"{"n":""}"#);
    let documented = Documented { schema: Some(&schema), encodings: &[], no_repeats: true };
    let read = |raw: &[u8]| form(raw, documented, &|_| false);
    for (bad, at) in [("n=1&n=2", "/n"), ("n=%zz", "/n"), ("n=%ff", "/n"), ("%zz=1", "/%zz"), ("a~/b=%", "/a~0~1b")] {
        match read(bad.as_bytes()) {
            Form::Malformed(faults) => assert_eq!(faults[0].0, at),
            other => panic!("{bad}: {other:?}"),
        }
    }
    assert!(matches!(read(b"p={\"a\":1,\"a\":2}"), Form::Malformed(_)));
    let deep = format!("p={}", "{\"a\":".repeat(3000));
    assert!(matches!(read(deep.as_bytes()), Form::TooMuch));
}

#[test]
fn the_members_of_an_object_of_fields_have_the_types_of_their_schemas() {
    let schema = schema(
        r##"{"type":"object","properties":{"p":{"anyOf":[{"$ref":"#/s/$defs/price"},{"enum":[""]}]}},"$defs":{"price":{
            "type":"object","additionalProperties":false,"properties":{
            "amount":{"type":"integer"},"name":{"type":"string"},"active":{"type":"boolean"},
            "tiers":{"type":"array","items":{"type":"object","properties":{"up_to":{"type":"integer"}}}},
            "rates":{"type":"array","items":{"type":"number"}},
            "metadata":{"type":"object","additionalProperties":{"type":"string"}}}}}}"##,
    );
    let encoding =
        Encoding { field: "p".into(), style: Some(Style::DeepObject), explode: true, content_types: Box::default() };
    let documented = Documented { schema: Some(&schema), encodings: &[encoding], no_repeats: true };
    for (raw, expected) in [
        ("p[amount]=5&p[name]=5&p[active]=true", r#"{"p":{"amount":5,"name":"5","active":true}}"#),
        ("p[tiers][0][up_to]=5&q=1&p[tiers][1][up_to]=6", r#"{"p":{"tiers":[{"up_to":5},{"up_to":6}]},"q":"1"}"#),
        ("p[rates][]=1.5&p[rates][]=2", r#"{"p":{"rates":[1.5,2]}}"#),
        ("p[rates]=1.5", r#"{"p":{"rates":[1.5]}}"#),
        ("p[metadata][7]=5", r#"{"p":{"metadata":{"7":"5"}}}"#),
        ("p=", r#"{"p":""}"#),
    ] {
        match form(raw.as_bytes(), documented, &|_| false) {
            Form::Fields(fields) => {
                assert_eq!(String::from_utf8_lossy(fields.document.source()), expected);
                assert_eq!(fields.judged.unwrap().violations, [], "{raw}");
            }
            other => panic!("{raw}: {other:?}"),
        }
    }
}

#[test]
fn an_array_in_a_form_is_a_repeated_field_and_never_json_text() {
    let schema = schema(
        r#"{"type":"object","properties":{"t":{"type":"array","items":{"type":"integer"}},"s":{"type":"string"}}}"#,
    );
    for (raw, expected) in
        [("t=1&t=2", r#"{"t":[1,2]}"#), ("t=1", r#"{"t":[1]}"#), ("t=%5B1%2C2%5D", r#"{"t":["[1,2]"]}"#)]
    {
        assert_eq!(fields(raw, &schema), expected, "{raw}");
    }
    let encoding =
        |explode| [Encoding { field: "t".into(), style: Some(Style::Form), explode, content_types: Box::default() }];
    for (explode, raw, is_read) in [(true, "t=1&t=2", true), (false, "t=1,2", true), (false, "t=1&t=2", false)] {
        let documented = Documented { schema: Some(&schema), encodings: &encoding(explode), no_repeats: false };
        let is_form = matches!(form(raw.as_bytes(), documented, &|_| false), Form::Fields(_));
        assert_eq!(is_form, is_read, "{raw}, {explode}");
    }
    let documented = Documented { schema: Some(&schema), encodings: &[], no_repeats: false };
    assert!(matches!(form(b"s=1&s=2", documented, &|_| false), Form::Malformed(_)));
    assert!(matches!(form(b"u=1&u=2", documented, &|_| false), Form::Fields(_)));
}

#[test]
fn a_field_that_comes_once_may_be_the_only_container_in_an_array() {
    let schema = schema(
        r#"{"type":"object","properties":{
            "o":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"}}}},
            "a":{"type":"array","items":{"type":"array","items":{"type":"integer"}}}}}"#,
    );
    let documented = Documented { schema: Some(&schema), encodings: &[], no_repeats: true };
    for (raw, expected, violation, open) in [
        (r#"o={"x":1}"#, r#"{"o":[{"x":1}]}"#, None, false),
        (r#"o={"x":1}&o={"x":2}"#, r#"{"o":[{"x":1},{"x":2}]}"#, None, false),
        (r#"o={"x":"y"}"#, r#"{"o":[{"x":"y"}]}"#, Some("/o/0/x"), false),
        // No specification has a notation for these.
        (r#"o=[{"x":1}]"#, r#"{"o":["[{\"x\":1}]"]}"#, None, true),
        ("a=[1]", r#"{"a":["[1]"]}"#, None, true),
        ("a=[[1]]", r#"{"a":["[[1]]"]}"#, None, true),
    ] {
        match form(raw.as_bytes(), documented, &|_| false) {
            Form::Fields(fields) => {
                assert_eq!(String::from_utf8_lossy(fields.document.source()), expected);
                let judged = fields.judged.unwrap();
                assert_eq!(judged.violations.first().map(|violation| &*violation.at), violation, "{raw}");
                assert_eq!(judged.is_partial(), open, "{raw}");
            }
            other => panic!("{raw}: {other:?}"),
        }
    }
}

#[test]
fn a_field_with_a_style_is_no_json_text() {
    let schema = schema(
        r#"{"type":"object","properties":{
            "o":{"type":"object","properties":{"k":{"type":"integer"}}},
            "s":{"type":"array","items":{"type":"string","maxLength":3}},
            "j":{"type":"array","items":{"type":"integer"}},
            "i":{"type":"array","items":{"type":"object"}}}}"#,
    );
    let deep = |field: &str| Encoding {
        field: field.into(),
        style: Some(Style::DeepObject),
        explode: true,
        content_types: Box::default(),
    };
    let json = crate::media_type::MediaRange::parse("application/json").unwrap();
    let json = Encoding { field: "j".into(), style: None, explode: false, content_types: [json].into() };
    let encodings = [deep("i"), json, deep("o")];
    let documented = Documented { schema: Some(&schema), encodings: &encodings, no_repeats: true };
    for (raw, violation, open) in [
        (r#"o={"k":1}"#, Some("/o"), false),
        ("o[k]=1", None, false),
        (r#"s=["a","b"]"#, Some("/s/0"), false),
        (r#"i=[{"price":"p"}]"#, None, true),
        ("j=[1,2]", None, false),
        ("j=1", None, false),
    ] {
        let Form::Fields(fields) = form(raw.as_bytes(), documented, &|_| false) else { panic!("{raw}") };
        let judged = fields.judged.unwrap();
        assert_eq!(judged.violations.first().map(|violation| &*violation.at), violation, "{raw}");
        assert_eq!(judged.is_partial(), open, "{raw}");
    }
}
