use std::{collections::BTreeMap, fmt};

use proptest::prelude::*;
use serde::{Deserialize, Deserializer, de::Visitor};
use serde_json::error::Category;

use super::*;
use crate::json::strings;

/// Each way in which a member is read.
#[derive(Debug, PartialEq, Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    text: Option<&'a str>,
    owned: Option<String>,
    bytes: Option<Lossless>,
    #[serde(default)]
    list: Vec<Members<'a>>,
    map: Option<BTreeMap<String, bool>>,
    count: Option<u64>,
    signed: Option<i32>,
    real: Option<f64>,
}

#[derive(Debug, PartialEq)]
struct Lossless(Vec<u8>);

impl<'de> Deserialize<'de> for Lossless {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Lossless;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<Lossless, E> {
                Ok(Lossless(text.into()))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lossless, E> {
                Ok(Lossless(bytes.to_vec()))
            }
        }

        deserializer.deserialize_bytes(Bytes)
    }
}

#[track_caller]
fn same(text: &[u8]) {
    let theirs = serde_json::from_slice::<Members<'_>>(text).map_err(|error| match error.classify() {
        Category::Eof => LenientError::Cut,
        Category::Data => LenientError::Shape,
        Category::Syntax | Category::Io => LenientError::Grammar,
    });
    let ours = read::<Members<'_>>(text).map_err(|misfit| match misfit {
        LenientError::Duplicate(_) => LenientError::Shape,
        LenientError::Surrogate => LenientError::Grammar,
        other => other,
    });
    // A number that breaks off is wrong for them, not cut, and so is a string that does behind a control character.
    let wrong = text.last().is_some_and(|last| b"-+.eE".contains(last)) || strings::control(text).is_some();
    if !(wrong && ours == Err(LenientError::Cut) && theirs.is_err()) {
        assert_eq!(ours, theirs, "{}", text.escape_ascii());
    }
}

#[test]
fn it_reads_what_serde_json_reads_and_agrees_with_it_on_the_rest() {
    for text in [
        r#" { "text" : "a" , "owned":"\"\\\/\b\f\n\r\té😀", "bytes":"\ud800 \udc00\ud83d\ude00\ud800A" } "#,
        r#"{"text":null,"list":[{"count":1},{"count":0,"signed":-3,"real":1.5e3}],"map":{"a":true,"\u0062":false}}"#,
        r#"{"other":[{},[],[{"a":[null,true,false,-0.5e-3,"\ud800"]}],{"a":1,"a":2}],"count":18446744073709551615}"#,
        r#"["a","b",null,[],null,1,2,3]"#,
        r#"["a"]"#,
        r#"["a","b",null,[],null,1,2,3,4]"#,
        r#"{"count":1,"count":1}"#,
        r#"{"text":"a\n"}"#,
        r#"{"owned":"\ud800"}"#,
        r#"{"owned":1}"#,
        r#"{"count":"1"}"#,
        r#"{"count":1.0}"#,
        r#"{"count":-1}"#,
        r#"{"list":{}}"#,
        r#"{"map":[]}"#,
        r#"{"bytes":[1]}"#,
        r#"{"x":"\u12g4"}"#,
        r#"{"x":"\x"}"#,
        r#"{"x":01}"#,
        r#"{"x":[1,]}"#,
        r#"{"x":[1}"#,
        r#"{"x":{"a" 1}}"#,
        r#"{"x":1,}"#,
        r"{,}",
        r#"{"list":[,]}"#,
        r#"{"x":1} x"#,
        r#"{"x":nul"#,
        r#"{"x":nulx"#,
        "",
        "5",
        "null",
    ] {
        same(text.as_bytes());
        for end in 0..text.len() {
            same(&text.as_bytes()[..end]);
        }
    }
    for odd in [&b"\xff"[..], b"\t", b"\0"] {
        for (before, after) in
            [("{\"bytes\":\"", "\"}"), ("{\"owned\":\"", "\"}"), ("{\"", "\":1}"), ("{\"x\":\"", "\"}")]
        {
            same(&[before.as_bytes(), odd, after.as_bytes()].concat());
        }
    }
}

#[test]
fn a_name_that_breaks_off_behind_a_control_character_is_refused() {
    same(b"{\"list\":[{\"count\0:7}]}");
}

#[test]
fn long_strings_lose_nothing_wherever_their_escapes_stand() {
    for length in 490..530 {
        for escape in ["\\n", "\\\"", "\\u00e9", "\\ud83d\\ude00", "\\ud83d"] {
            let inside = format!("\\t{}{escape}{escape}é{escape}", "x".repeat(length));
            same(format!(r#"{{"bytes":"{inside}"}}"#).as_bytes());
        }
    }
}

#[test]
fn a_value_gives_its_own_text() {
    let held: BTreeMap<String, Option<Raw<'_>>> = read(br#"{"a": [1.50, "\ud800"] ,"b":null,"c":"x"}"#).unwrap();
    let texts: Vec<_> = held.values().map(|raw| raw.map(Raw::get)).collect();
    assert_eq!(texts, [Some(r#"[1.50, "\ud800"]"#), None, Some(r#""x""#)]);
    assert_eq!(read::<Raw<'_>>(b"{\"a\":\"\xff\"}").unwrap_err(), LenientError::Grammar);
}

#[test]
fn every_value_but_an_object_gives_none_where_an_object_is_asked_for() {
    #[derive(Deserialize)]
    struct Holder<'a> {
        #[serde(borrow, default, deserialize_with = "object")]
        held: Option<Members<'a>>,
    }

    let held = |text: &'static str| read::<Holder<'_>>(text.as_bytes()).map(|holder| holder.held);
    for none in ["{}", r#"{"held":null}"#, r#"{"held":"{"}"#, r#"{"held":[{"count":1}]}"#, r#"{"held": -1.5e3 }"#] {
        assert_eq!(held(none), Ok(None), "{none}");
    }
    assert_eq!(held(r#"{"held": {"count":1}}"#).unwrap().unwrap().count, Some(1));
    assert_eq!(held(r#"{"held":{"count":"1"}}"#), Err(LenientError::Shape));
    assert_eq!(held(r#"{"held":[1"#), Err(LenientError::Cut));
    assert_eq!(held(r#"{"held":tru}"#), Err(LenientError::Grammar));
}

#[test]
fn depth_does_not_matter_where_nobody_reads() {
    let deep = format!(r#"{{"x":{}{},"count":1}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(read::<Members<'_>>(deep.as_bytes()).unwrap().count, Some(1));
}

proptest! {
    #[test]
    fn it_agrees_with_serde_json_about_any_text(
        owned in ".{0,30}", key in ".{0,9}", at in any::<prop::sample::Index>(), byte: u8, what in 0..4_u8,
    ) {
        let value = serde_json::json!({"owned": owned, "bytes": owned, key: [owned, {"a": -1.5}], "list": [{"count": 7}]});
        let mut text = value.to_string().into_bytes();
        let at = at.index(text.len());
        match what {
            0 => {}
            1 => text[at] = byte,
            2 => text[at] = b"\"\\{}[],:u01 \n"[usize::from(byte) % 13],
            _ => text.truncate(at),
        }
        same(&text);
    }
}
