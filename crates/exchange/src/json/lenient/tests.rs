use std::{collections::BTreeMap, fmt};

use proptest::prelude::*;
use serde::{Deserialize, Deserializer, de::Visitor};
use serde_json::error::Category;

use super::*;

objects! {
    /// Each way in which a member is read.
    #[derive(PartialEq, Deserialize)]
    struct Members {
        owned: Option<String> = "owned",
        lossy: Option<Lossy> = "lossy",
        #[serde(default)]
        list: Vec<Members> = "list",
        map: Option<Map> = "map",
        count: Option<u64> = "count",
        place: Option<usize> = "place",
    }
}

#[derive(Debug, PartialEq, Deserialize)]
struct Map(BTreeMap<String, bool>);

impl Read<'_> for Map {
    fn read(reader: &mut Reader<'_>) -> Result<Self, LenientError> {
        let mut members = BTreeMap::new();
        reader.object(|name, reader| {
            members.insert(name.to_owned(), bool::read(reader)?);
            Ok(())
        })?;
        Ok(Self(members))
    }
}

#[derive(Debug, PartialEq)]
struct Lossy(String);

impl Read<'_> for Lossy {
    fn read(reader: &mut Reader<'_>) -> Result<Self, LenientError> {
        Ok(Self(reader.lossy()?.into_owned()))
    }
}

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Lossy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<Lossy, E> {
                Ok(Lossy(text.into()))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
            }
        }

        deserializer.deserialize_bytes(Bytes)
    }
}

#[track_caller]
fn same(text: &[u8]) {
    let theirs = serde_json::from_slice::<Members>(text).map_err(|error| match error.classify() {
        Category::Eof => LenientFault::Cut,
        Category::Data => LenientFault::Shape(None),
        Category::Syntax | Category::Io => LenientFault::Grammar,
    });
    let ours = read::<Members>(text).map_err(|error| match error.fault() {
        LenientFault::Duplicate(_) | LenientFault::Shape(_) => LenientFault::Shape(None),
        LenientFault::Surrogate => LenientFault::Grammar,
        other => other,
    });
    // They take an array for an object with these members. Where text breaks off in a number, behind a control
    // character or after a name that was there before, that is what is wrong with it for us.
    let is_array = text.trim_ascii_start().starts_with(b"[") || memchr::memmem::find(text, b"[[").is_some();
    if !(is_array && ours == Err(LenientFault::Shape(None)) || ours == Err(LenientFault::Cut) && theirs.is_err()) {
        assert_eq!(ours, theirs, "{}", text.escape_ascii());
    }
}

#[test]
fn it_reads_what_serde_json_reads_and_agrees_with_it_on_the_rest() {
    for text in [
        r#" { "lossy" : "a" , "owned":"\"\\\/\b\f\n\r\té😀", "other":"\ud800 \udc00\ud83d\ude00\ud800A" } "#,
        r#"{"owned":null,"list":[{"count":1},{"count":0,"place":3}],"map":{"a":true,"\u0062":false}}"#,
        r#"{"other":[{},[],[{"a":[null,true,false,-0.5e-3,"\ud800"]}],{"a":1,"a":2}],"count":18446744073709551615}"#,
        r#"["a","b",null,[],null,1,2,3]"#,
        r#"["a"]"#,
        r#"["a","b",null,[],null,1,2,3,4]"#,
        r#"{"count":1,"count":1}"#,
        r#"{"owned":"a\n"}"#,
        r#"{"lossy":"\ud800 \udc00\ud83d\ude00\ud800A"}"#,
        r#"{"owned":"\ud800"}"#,
        r#"{"owned":1}"#,
        r#"{"count":"1"}"#,
        r#"{"count":1.0}"#,
        r#"{"count":-1}"#,
        r#"{"list":{}}"#,
        r#"{"map":[]}"#,
        r#"{"lossy":[1]}"#,
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
            [("{\"lossy\":\"", "\"}"), ("{\"owned\":\"", "\"}"), ("{\"", "\":1}"), ("{\"x\":\"", "\"}")]
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
            same(format!(r#"{{"lossy":"{inside}"}}"#).as_bytes());
        }
    }
}

#[test]
fn a_value_gives_its_own_text() {
    let mut texts = Vec::new();
    let text = br#"{"a": [1.50, "\ud800"] ,"b":null,"c":"x"}"#;
    let read_each = |reader: &mut Reader<'static>| {
        reader.object(|_, reader| {
            texts.push(Option::<Raw<'_>>::read(reader)?.map(Raw::get));
            Ok(())
        })
    };
    read_by(text, read_each).unwrap();
    assert_eq!(texts, [Some(r#"[1.50, "\ud800"]"#), None, Some(r#""x""#)]);
    assert_eq!(read::<Raw<'_>>(b"{\"a\":\"\xff\"}").unwrap_err().fault(), LenientFault::Grammar);
}

#[test]
fn depth_does_not_matter_where_nobody_reads() {
    let deep = format!(r#"{{"x":{}{},"count":1}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(read::<Members>(deep.as_bytes()).unwrap().count, Some(1));
}

proptest! {
    #[test]
    fn it_agrees_with_serde_json_about_any_text(
        owned in ".{0,30}", key in ".{0,9}", at in any::<prop::sample::Index>(), byte: u8, what in 0..4_u8,
    ) {
        let value = serde_json::json!({"owned": owned, "lossy": owned, key: [owned, {"a": -1.5}], "list": [{"count": 7}]});
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
