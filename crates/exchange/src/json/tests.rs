use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn parse(text: &str) -> Document {
    Document::parse(text.as_bytes().to_vec()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn fault(text: impl AsRef<[u8]>) -> (SyntaxFault, usize) {
    let error = Document::parse(text.as_ref().to_vec()).expect_err("ill-formed");
    (error.fault, error.offset)
}

fn canonical(text: &str) -> String {
    let mut out = String::new();
    parse(text).root().canonical(&mut out);
    out
}

#[test]
fn grammar_faults_are_found_where_they_stand() {
    for (text, offset) in [
        ("", 0),
        ("  ", 2),
        ("{", 1),
        ("[1,]", 3),
        ("[,1]", 1),
        ("{\"a\":1,}", 7),
        ("{\"a\" 1}", 5),
        ("{\"a\":}", 5),
        ("{a:1}", 1),
        ("[1}", 2),
        ("{]", 1),
        ("[1 2]", 3),
        ("1 2", 2),
        ("]", 0),
        ("nul", 0),
        ("nulll", 4),
        ("True", 0),
        ("01", 1),
        ("-", 1),
        ("+1", 0),
        (".5", 0),
        ("1.", 2),
        ("1.e5", 2),
        ("1e", 2),
        ("1e+", 3),
        ("NaN", 0),
        ("\"a", 2),
        ("\"a\nb\"", 2),
        ("\"a long enough text to leave the near part\tb\"", 42),
        ("\"\\x\"", 1),
        ("\"\\u12g4\"", 1),
        ("\"\\u12", 1),
        ("\"\\", 1),
        ("'a'", 0),
        ("[1]//", 3),
        ("\u{a0}1", 0),
        ("{\"a\":1 \"b\":2}", 7),
        ("{1:2}", 1),
        ("[\"a\":1]", 4),
    ] {
        assert_eq!(fault(text), (SyntaxFault::Grammar, offset), "{text:?}");
    }
}

#[test]
fn a_byte_order_mark_is_a_fault() {
    assert_eq!(fault("\u{feff}{}"), (SyntaxFault::ByteOrderMark, 0));
}

#[test]
fn invalid_utf8_is_a_fault_inside_and_outside_of_strings() {
    assert_eq!(fault(b"[\"a\xffb\"]"), (SyntaxFault::Utf8, 3));
    assert_eq!(fault(b"[\xc3(]"), (SyntaxFault::Utf8, 1));
    assert_eq!(fault(b"\"\xed\xa0\x80\""), (SyntaxFault::Utf8, 1));
    assert_eq!(fault(b"[1,,\"\xff\"]"), (SyntaxFault::Grammar, 3), "an earlier fault comes first");
}

#[test]
fn half_a_surrogate_pair_is_a_fault() {
    for text in [r#""\ud800""#, r#""\udc00""#, r#""\ud800x""#, r#""\ud800\n""#, r#""\ud800\ud800""#, r#""\uDBFFA""#] {
        assert_eq!(fault(text), (SyntaxFault::LoneSurrogate, 1), "{text}");
    }
    assert_eq!(parse(r#""\ud83d\uDE00""#).root().as_str().as_deref(), Some("😀"));
}

#[test]
fn duplicate_keys_are_a_fault_at_any_level_and_under_any_spelling() {
    assert_eq!(fault(r#"{"a":1,"a":2}"#), (SyntaxFault::DuplicateKey, 7));
    assert_eq!(fault(r#"{"a":1,"\u0061":2}"#).0, SyntaxFault::DuplicateKey);
    assert_eq!(fault(r#"[{"x":{"/":1,"b":2,"\/":3}}]"#).0, SyntaxFault::DuplicateKey);
    assert_eq!(fault(r#"{"":1,"":2}"#).0, SyntaxFault::DuplicateKey);
    let many: Vec<String> = (0..100).map(|n| format!("\"k{n}\":{n},")).collect();
    let many = many.concat();
    assert_eq!(fault(format!("{{{many}\"k\\u0037\":0}}")).0, SyntaxFault::DuplicateKey);
    parse(&format!("{{{many}\"k\":0}}"));
    // Names of one length that begin and end alike.
    let alike: Vec<String> = (0..100).map(|n| format!("\"beginning {n:02} the end\":{n}")).collect();
    let alike = alike.join(",");
    parse(&format!("{{{alike}}}"));
    assert_eq!(fault(format!("{{{alike},\"beginning 42 the end\":0}}")).0, SyntaxFault::DuplicateKey);
    parse(r#"{"a":{"a":{"a":1}},"b":{"a":1}}"#);
}

#[test]
fn nesting_up_to_the_limit_is_read_and_beyond_it_is_our_limit_not_a_fault() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let document = parse(&deep(MAX_DEPTH));
        let mut text = String::new();
        document.root().canonical(&mut text);
        assert_eq!(text, deep(MAX_DEPTH));
        assert_eq!(compact(&document), deep(MAX_DEPTH).into_bytes());
        assert_eq!(compact(&Document::parse(pretty(&document)).unwrap()), deep(MAX_DEPTH).into_bytes());
        assert_eq!(fault(deep(MAX_DEPTH + 1)).0, SyntaxFault::TooDeep);
        assert_eq!(fault(open.repeat(1_000_000)).0, SyntaxFault::TooDeep);
    }
    assert!(SyntaxFault::TooDeep.is_limit());
}

#[test]
fn any_number_that_the_grammar_allows_is_read_as_written() {
    for text in ["0", "-0", "1e400", "-1E+999999999", "0.0000", "1234567890123456789012345678901234567890", "1e-400"] {
        assert_eq!(parse(text).root().as_number(), Some(text));
        assert_eq!(parse(text).root().to_value().to_string(), text);
    }
}

#[test]
fn equal_numbers_have_one_canonical_text_and_different_ones_do_not() {
    for equal in [
        &["0", "-0", "0.0", "-0.00e5", "0e999999999999999999999999"][..],
        &["1", "1.0", "10e-1", "0.1e1", "1e0", "1E+0", "1e-0", "100e-2"],
        &["100", "1e2", "1.00e2", "0.001e5", "1000e-1"],
        &["-1.5", "-15e-1", "-0.150e1"],
        &["1e400", "10e399", "0.1e401", "1e+0400"],
        &["1e999999999", "10e999999998"],
        &["1e99999999999999999999", "10e99999999999999999998", "0.1e100000000000000000000"],
        &["1e-99999999999999999999", "0.1e-99999999999999999998", "10e-100000000000000000000"],
        &["1e1000000000000000000", "10e999999999999999999", "0.01e1000000000000000002"],
        &["12345678901234567890123456789012345678900", "123456789012345678901234567890123456789e2"],
    ] {
        for text in equal {
            assert_eq!(canonical(text), canonical(equal[0]), "{text} is {}", equal[0]);
            assert_eq!(Number::parse(text), Number::parse(equal[0]));
        }
    }
    let different =
        ["0", "1", "-1", "10", "1e1000", "1e1001", "1e99999999999999999999", "1e99999999999999999998", "0.1"];
    for (index, left) in different.iter().enumerate() {
        for right in &different[index + 1..] {
            assert_ne!(canonical(left), canonical(right));
        }
    }
    assert_eq!(canonical("1e2"), "100");
    assert_eq!(canonical("10000.0000000000000000001"), "100000000000000000000001e-19");
}

#[test]
fn canonical_text_sorts_members_and_undoes_escapes() {
    assert_eq!(
        canonical(" { \"b\" : [ 1.0 , { } , [ ] ] , \"\\u0061\" : \"\\u00e9\\/\\n\\u0001\" , \"c\" : null } "),
        "{\"a\":\"é/\\n\\u0001\",\"b\":[1,{},[]],\"c\":null}"
    );
}

#[test]
fn pointers_find_members_and_items() {
    let document = parse(r#"{"a/b":{"m~n":[10,{"":true}]},"0":1}"#);
    let raw = |pointer| document.pointer(pointer).map(Node::raw);
    assert_eq!(raw("/a~1b/m~0n/0"), Some("10"));
    assert_eq!(raw("/a~1b/m~0n/1/"), Some("true"));
    assert_eq!(raw("/0"), Some("1"));
    assert_eq!(raw("").map(str::len), Some(document.source().len()));
    for absent in
        ["/x", "a", "/a~1b/m~0n/2", "/a~1b/m~0n/00", "/a~1b/m~0n/-", "/0/0", "/a~1b/m~0n/99999999999999999999"]
    {
        assert_eq!(raw(absent), None, "{absent}");
    }
    let mut pointer = String::new();
    push_pointer(&mut pointer, "a/b");
    push_pointer(&mut pointer, "m~n");
    assert_eq!(pointer, "/a~1b/m~0n");
}

#[test]
fn pretty_moves_white_space_only() {
    let document = parse(r#"{"b":1.00,"a":[1e2,{},[ ],"\u0041, {x}: \"y\""],"c":{"d":null}}"#);
    let laid_out = String::from_utf8(pretty(&document)).unwrap();
    assert_eq!(
        laid_out,
        "{\n  \"b\": 1.00,\n  \"a\": [\n    1e2,\n    {},\n    [],\n    \"\\u0041, {x}: \\\"y\\\"\"\n  ],\n  \"c\": {\n    \
         \"d\": null\n  }\n}"
    );
    assert_eq!(compact(&parse(&laid_out)), compact(&document));
}

#[test]
fn indentation_cannot_multiply_a_hostile_document() {
    let deep = format!("{}{}{}", "[".repeat(1999), "[1],".repeat(10_000) + "[1]", "]".repeat(1999));
    assert!(pretty(&parse(&deep)).len() < 2 * deep.len());
}

#[test]
fn splice_replaces_spans_and_keeps_the_rest() {
    let document = parse(r#"{"a":"x","b":[1,2]}"#);
    let edits: Vec<_> =
        ["/a", "/b/1"].iter().map(|pointer| (document.pointer(pointer).unwrap().span(), b"null".to_vec())).collect();
    assert_eq!(splice(document.source(), &edits), br#"{"a":null,"b":[1,null]}"#);
}

fn values() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(|n| format!("{n:e}")),
        "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
    ]
    .prop_map(|text| Value::Number(serde_json::Number::from_string_unchecked(text)));
    let leaf =
        prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::Bool), number, ".*".prop_map(Value::String)];
    leaf.prop_recursive(6, 64, 20, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((".{0,12}", inner), 0..20)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

#[test]
fn what_a_literal_cannot_hold_is_escaped_wherever_it_stands_in_a_word() {
    for filler in ["x", "é"] {
        for at in 0..20 {
            for byte in 0..0x80_u8 {
                let text = format!("{}{}\"rest", filler.repeat(at), char::from(byte));
                let mut out = String::new();
                quote(&text, &mut out);
                assert_eq!(out, serde_json::to_string(&text).unwrap());
            }
        }
    }
}

proptest! {
    #[test]
    fn what_serde_json_writes_is_read_alike(value in values()) {
        for text in [serde_json::to_string(&value).unwrap(), serde_json::to_string_pretty(&value).unwrap()] {
            let document = parse(&text);
            prop_assert_eq!(document.root().to_value(), value.clone());
            prop_assert_eq!(String::from_utf8(compact(&document)).unwrap(), serde_json::to_string(&value).unwrap());
            prop_assert_eq!(compact(&Document::parse(pretty(&document)).unwrap()), compact(&document));
        }
    }

    #[test]
    fn laying_out_agrees_with_serde_json(value in values()) {
        let document = parse(&value.to_string());
        prop_assert_eq!(String::from_utf8(pretty(&document)).unwrap(), serde_json::to_string_pretty(&value).unwrap());
    }

    #[test]
    fn the_canonical_text_is_json_of_the_same_value_and_stable(value in values()) {
        let text = canonical(&value.to_string());
        prop_assert_eq!(&canonical(&text), &text);
        prop_assert!(jsonschema::json::cmp::equal(&parse(&text).root().to_value(), &value));
    }

    #[test]
    fn quoting_agrees_with_serde_json(text in any::<String>()) {
        let mut out = String::new();
        quote(&text, &mut out);
        prop_assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text.clone());
        prop_assert_eq!(parse(&out).root().as_str().unwrap().into_owned(), text);
    }

    #[test]
    fn no_bytes_make_it_panic_and_what_it_takes_serde_json_takes(bytes in prop::collection::vec(
        prop_oneof![3 => prop::sample::select(b"{}[]\",:\\u0123 eE+-.tfn\n".to_vec()), 1 => any::<u8>()], 0..40)
    ) {
        if let Ok(document) = Document::parse(bytes.clone()) {
            prop_assert!(serde_json::from_slice::<Value>(&bytes).is_ok());
            prop_assert!(!pretty(&document).is_empty());
            // A number keeps its notation here, and `0e0` becomes `0e+0` there.
            let value = serde_json::from_slice::<Value>(&bytes).unwrap();
            prop_assert!(jsonschema::json::cmp::equal(&document.root().to_value(), &value));
        }
    }
}
