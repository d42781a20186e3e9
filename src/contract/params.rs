//! Parameters and forms: texts that were percent-encoded, and what they stand for.
//!
//! A text is decoded once, for judging only; what goes on the wire is never built from it. Lengths count Unicode scalar
//! values after decoding.

use std::{borrow::Cow, collections::HashSet};

use super::schema::{Schema, SchemaViolation, Types};
use crate::json::{Document, Fault, push_pointer, quote};

/// Percent-encoding or UTF-8 that is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadEncoding;

impl BadEncoding {
    /// What was expected instead.
    pub(super) const EXPECTED: &'static str = "percent-encoded UTF-8";
}

/// Decodes a path segment: a plus sign is a plus sign.
pub(super) fn decode_path(raw: &str) -> Result<Cow<'_, str>, BadEncoding> {
    if memchr::memchr(b'%', raw.as_bytes()).is_none() {
        return Ok(Cow::Borrowed(raw));
    }
    decode(raw.as_bytes(), false)
}

/// Decodes a name or value of a query or form: a plus sign is a space.
fn decode_query(raw: &[u8]) -> Result<Cow<'_, str>, BadEncoding> {
    decode(raw, true)
}

fn decode(raw: &[u8], plus: bool) -> Result<Cow<'_, str>, BadEncoding> {
    if !raw.iter().any(|byte| *byte == b'%' || (plus && *byte == b'+')) {
        return std::str::from_utf8(raw).map(Cow::Borrowed).map_err(|_| BadEncoding);
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match first {
            b'%' => {
                let [high, low, tail @ ..] = rest else { return Err(BadEncoding) };
                let digit = |byte: &u8| char::from(*byte).to_digit(16).ok_or(BadEncoding);
                out.push(u8::try_from(digit(high)? << 4 | digit(low)?).map_err(|_| BadEncoding)?);
                rest = tail;
            }
            b'+' if plus => out.push(b' '),
            other => out.push(*other),
        }
    }
    String::from_utf8(out).map(Cow::Owned).map_err(|_| BadEncoding)
}

/// One `name=value` of a query or form, decoded.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    /// The name; if its encoding is broken, the raw text with what is no UTF-8 replaced.
    pub(super) name: Result<Cow<'a, str>, Cow<'a, str>>,
    /// The value, likewise.
    pub(super) value: Result<Cow<'a, str>, Cow<'a, str>>,
}

/// The pairs of a raw query or form, in order.
pub(super) fn pairs(raw: &[u8]) -> impl Iterator<Item = Pair<'_>> {
    let text = |raw| decode_query(raw).map_err(|BadEncoding| String::from_utf8_lossy(raw));
    raw.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()).map(move |pair| {
        let (name, value) = match memchr::memchr(b'=', pair) {
            Some(at) => (&pair[..at], &pair[at + 1..]),
            None => (pair, &b""[..]),
        };
        Pair { name: text(name), value: text(value) }
    })
}

/// What the schema says against a parameter's text, as a clause that follows "expected"; nothing where it gives up.
pub(super) fn breach_of_text(schema: &Schema, text: &str) -> Option<Cow<'static, str>> {
    if schema.integer_certainly_conforms(text) {
        return None;
    }
    let breaches = match schema.types().coerce(text) {
        Some(document) => breaches(schema, &document),
        None => schema.violations_of_text(text).unwrap_or_default(),
    };
    joined(breaches.into_iter().map(|breach| breach.expected))
}

/// The same for a parameter that is an array.
pub(super) fn breach_of_texts(schema: &Schema, texts: &[&str]) -> Option<Cow<'static, str>> {
    let types = schema.item_types();
    let mut array = String::from("[");
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            array.push(',');
        }
        write_scalar(types, text, &mut array);
    }
    array.push(']');
    let document = Document::parse(array).ok()?;
    joined(breaches(schema, &document).into_iter().map(|breach| breach.expected))
}

fn breaches(schema: &Schema, document: &Document) -> Vec<SchemaViolation> {
    schema.judge(document, &|_| false).unwrap_or_default().violations
}

fn joined(clauses: impl Iterator<Item = Cow<'static, str>>) -> Option<Cow<'static, str>> {
    clauses.reduce(|left, right| if left == right { left } else { format!("{left} and {right}").into() })
}

/// Appends a text as the JSON scalar that it stands for, else as a string.
fn write_scalar(types: Types, text: &str, out: &mut String) {
    if types.coerce(text).is_some() {
        out.push_str(text);
    } else {
        quote(text, out);
    }
}

/// What a form comes to.
#[derive(Debug)]
pub(super) enum Form {
    /// An object with its fields, scalars coerced as the schema says, objects read from their JSON text.
    Fields(Document),
    /// It is no form: the places (pointers to fields), what was expected, and what was seen.
    Malformed(Vec<(String, Cow<'static, str>, Option<String>)>),
    /// Beyond a limit of ours.
    TooMuch,
}

/// Reads `application/x-www-form-urlencoded` as the object that the schema describes.
pub(super) fn form(raw: &[u8], schema: Option<&Schema>) -> Form {
    let mut object = String::from("{");
    let mut names: HashSet<Cow<'_, str>> = HashSet::new();
    let mut faults = Vec::new();
    for Pair { name, value } in pairs(raw) {
        let mut at = String::new();
        push_pointer(&mut at, name.as_ref().unwrap_or_else(|raw| raw));
        let (name, value) = match (name, value) {
            (Ok(name), Ok(value)) => (name, value),
            (_, Err(raw)) | (Err(raw), _) => {
                faults.push((at, BadEncoding::EXPECTED.into(), Some(raw.into_owned())));
                continue;
            }
        };
        if names.contains(&name) {
            faults.push((at, "this field once".into(), None));
            continue;
        }
        if !names.is_empty() {
            object.push(',');
        }
        quote(&name, &mut object);
        object.push(':');
        let types = schema.map(|schema| schema.member_types(&name)).unwrap_or_default();
        if types.is_container() {
            match Document::parse(value.as_bytes().to_vec()) {
                Ok(_) => object.push_str(&value),
                // No JSON at all is a text where an object belongs, which the judge says.
                Err(error) if error.fault == Fault::Grammar => quote(&value, &mut object),
                Err(error) if error.fault.is_limit() => return Form::TooMuch,
                Err(error) => {
                    faults.push((at, format!("well-formed JSON text: {error}").into(), None));
                    object.push_str("null");
                }
            }
        } else {
            write_scalar(types, &value, &mut object);
        }
        names.insert(name);
    }
    object.push('}');
    if !faults.is_empty() {
        return Form::Malformed(faults);
    }
    Document::parse(object).map_or(Form::TooMuch, Form::Fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::schema::Schemas;

    fn schema(text: &str) -> Schema {
        let document = serde_json::json!({ "s": serde_json::from_str::<serde_json::Value>(text).unwrap() });
        Schemas::new(std::sync::Arc::new(document)).at("/s")
    }

    #[test]
    fn decoding_is_strict_and_a_plus_is_a_space_in_queries_only() {
        assert_eq!(decode_path("a%7Cb+c%2Fd").unwrap(), "a|b+c/d");
        assert_eq!(decode_query(b"a%2Bb+c%3D").unwrap(), "a+b c=");
        assert_eq!(decode_path("%C3%A4ä").unwrap(), "ää");
        for bad in ["%", "%4", "a%zz", "%ff", "%C3", "%+1"] {
            assert_eq!(decode_path(bad), Err(BadEncoding), "{bad}");
        }
    }

    #[test]
    fn an_integer_in_a_query_is_written_as_one() {
        let take = schema(r#"{"type":"integer","minimum":1,"maximum":100}"#);
        for good in ["1", "50", "100"] {
            assert_eq!(breach_of_text(&take, good), None, "{good}");
        }
        for bad in ["", "5.0", "+5", "05", "1e1", " 5", "5 ", "five", "0x5", "true", "\"5\"", "[5]", "null"] {
            assert_eq!(breach_of_text(&take, bad).as_deref(), Some("an integer"), "{bad:?}");
        }
        assert_eq!(breach_of_text(&take, "0").as_deref(), Some("at least 1"));
        assert_eq!(breach_of_text(&take, "-5").as_deref(), Some("at least 1"));
        assert_eq!(breach_of_text(&take, "101").as_deref(), Some("at most 100"));
        assert_eq!(breach_of_text(&take, "99999999999999999999999999").as_deref(), Some("at most 100"));
    }

    #[test]
    fn other_scalars_are_read_by_their_type_and_texts_stay_texts() {
        assert_eq!(breach_of_text(&schema(r#"{"type":"number","maximum":2}"#), "1.5"), None);
        assert_eq!(breach_of_text(&schema(r#"{"type":"number"}"#), "x").as_deref(), Some("a number"));
        assert_eq!(breach_of_text(&schema(r#"{"type":"boolean"}"#), "true"), None);
        assert_eq!(breach_of_text(&schema(r#"{"type":"boolean"}"#), "1").as_deref(), Some("a boolean"));
        assert_eq!(breach_of_text(&schema(r#"{"type":"string","enum":["5"]}"#), "5"), None);
        assert_eq!(breach_of_text(&schema(r#"{"type":["string","integer"]}"#), "5.0"), None);
        let lengths = schema(r#"{"type":"string","maxLength":2}"#);
        assert_eq!(breach_of_text(&lengths, "😀ä"), None, "characters are counted, not bytes");
        assert_eq!(breach_of_text(&lengths, "abc").as_deref(), Some("at most 2 characters"));
    }

    #[test]
    fn repeated_items_are_judged_as_an_array() {
        let ids = schema(r#"{"type":"array","maxItems":2,"items":{"type":"integer"}}"#);
        assert_eq!(breach_of_texts(&ids, &["1", "2"]), None);
        assert_eq!(breach_of_texts(&ids, &["1", "x"]).as_deref(), Some("an integer"));
        assert_eq!(breach_of_texts(&ids, &["1", "2", "3"]).as_deref(), Some("at most 2 items"));
    }

    fn fields(raw: &str, schema: &Schema) -> String {
        match form(raw.as_bytes(), Some(schema)) {
            Form::Fields(document) => String::from_utf8(document.source().to_vec()).unwrap(),
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
        for (bad, at) in [("n=1&n=2", "/n"), ("n=%zz", "/n"), ("n=%ff", "/n"), ("%zz=1", "/%zz"), ("a~/b=%", "/a~0~1b")]
        {
            match form(bad.as_bytes(), Some(&schema)) {
                Form::Malformed(faults) => assert_eq!(faults[0].0, at),
                other => panic!("{bad}: {other:?}"),
            }
        }
        assert!(matches!(form(b"p={\"a\":1,\"a\":2}", Some(&schema)), Form::Malformed(_)));
        let deep = format!("p={}", "[".repeat(3000));
        assert!(matches!(form(deep.as_bytes(), Some(&schema)), Form::TooMuch));
    }
}
