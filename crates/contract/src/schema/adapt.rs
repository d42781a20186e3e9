//! The document as one side of an exchange reads it: what OpenAPI states and JSON Schema has no word for.

use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use super::keywords::OTHER_SIDE;
use crate::refs::{self, below};

/// The side of an exchange that a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    /// Parameters and bodies of requests: `readOnly` members are not required, and a gap.
    Request,
    /// Headers and bodies of responses: `writeOnly` members are not required, and a gap.
    Response,
}

impl Side {
    pub(super) const BOTH: [Self; 2] = [Self::Request, Self::Response];

    /// The side of the schema at a JSON pointer into an OpenAPI document.
    pub(crate) fn of(pointer: &str) -> Self {
        let mut tokens = pointer.split('/').skip(1);
        while let Some(token) = tokens.next() {
            match token {
                "requestBody" | "requestBodies" | "parameters" => return Self::Request,
                "responses" | "headers" => return Self::Response,
                // What follows is a name.
                "paths" | "pathItems" | "webhooks" => drop(tokens.next()),
                "callbacks" => drop(tokens.by_ref().take(2).last()),
                _ => {}
            }
        }
        Self::Response
    }

    /// The keyword of members that this side may lack, whatever `required` states.
    pub(super) fn optional(self) -> &'static str {
        match self {
            Self::Request => "readOnly",
            Self::Response => "writeOnly",
        }
    }
}

/// Bound on the references and parts that are followed from one schema.
const MAX_PARTS: usize = 256;

/// Names that `required` loses at the schemas with these pointers.
pub(super) type Relaxed = Vec<(String, HashSet<String>)>;

/// What `required` does not ask of one side.
pub(super) fn relaxed(document: &Value, schemas: &[String], side: Side) -> Relaxed {
    let keyword = side.optional();
    let mut relaxed = Relaxed::new();
    for at in schemas {
        let Some(schema) = refs::at(document, at).and_then(Value::as_object) else { continue };
        let parts = schema.get("allOf").and_then(Value::as_array).map_or(0, Vec::len);
        let parts = (0..parts).map(|index| below(at, &["allOf", &index.to_string()]));
        let requiring: Vec<String> = std::iter::once(at.clone())
            .chain(parts)
            .filter(|part| refs::at(document, part).is_some_and(|part| part.get("required").is_some()))
            .collect();
        if requiring.is_empty() {
            continue;
        }
        let names = optional_names(document, schema, keyword);
        if !names.is_empty() {
            relaxed.extend(requiring.into_iter().map(|at| (at, names.clone())));
        }
    }
    relaxed
}

/// The members that a schema, or one that applies with it, marks with a keyword.
fn optional_names(document: &Value, schema: &Map<String, Value>, keyword: &'static str) -> HashSet<String> {
    let mut names = HashSet::new();
    for part in parts(document, schema) {
        names.extend(marked(document, part, keyword).cloned());
    }
    names
}

/// The members that a schema itself names and marks with a keyword.
fn marked<'d>(
    document: &'d Value,
    schema: &'d Map<String, Value>,
    keyword: &'static str,
) -> impl Iterator<Item = &'d String> {
    let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let marks = move |part: &Map<String, Value>| part.get(keyword) == Some(&Value::Bool(true));
    let marked = members.filter(move |(_, member)| {
        member.as_object().is_some_and(|member| parts(document, member).into_iter().any(marks))
    });
    marked.map(|(name, _)| name)
}

/// Members that the other side alone has: the pointers of their schemas.
pub(super) fn of_other_side(document: &Value, schemas: &[String], side: Side) -> Vec<String> {
    let members = |at: &String| {
        let schema = refs::at(document, at).and_then(Value::as_object).into_iter();
        let names = schema.flat_map(|schema| marked(document, schema, side.optional()));
        names.map(|name| below(at, &["properties", name])).collect::<Vec<_>>()
    };
    schemas.iter().flat_map(members).collect()
}

/// A schema and those that apply with it by `$ref` and `allOf`.
pub(crate) fn parts<'d>(document: &'d Value, schema: &'d Map<String, Value>) -> Vec<&'d Map<String, Value>> {
    let mut found = vec![schema];
    let mut seen: HashSet<String> = HashSet::new();
    let mut next = 0;
    while let Some(part) = found.get(next).copied().filter(|_| next < MAX_PARTS) {
        next += 1;
        let target = part.get("$ref").and_then(Value::as_str).and_then(refs::target);
        if let Some(target) = target.filter(|target| seen.insert(target.clone())) {
            found.extend(refs::at(document, &target).and_then(Value::as_object));
        }
        found.extend(part.get("allOf").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object));
    }
    found
}

/// Applies what one side does not require, and what it does not have.
pub(super) fn relax(document: &mut Value, relaxed: &Relaxed, of_other_side: &[String], side: Side) {
    for at in of_other_side {
        if let Some(Value::Object(schema)) = document.pointer_mut(at) {
            schema.insert(OTHER_SIDE.to_owned(), side.optional().into());
        }
    }
    for (at, names) in relaxed {
        if let Some(Value::Array(required)) = document.pointer_mut(at).and_then(|schema| schema.get_mut("required")) {
            required.retain(|name| name.as_str().is_none_or(|name| !names.contains(name)));
        }
    }
}

/// The range of numbers that a format states, by the registry of OpenAPI.
fn range(format: &str) -> Option<(i64, u64)> {
    Some(match format {
        "int8" => (i8::MIN.into(), 0x7f),
        "int16" => (i16::MIN.into(), 0x7fff),
        "int32" => (i32::MIN.into(), 0x7fff_ffff),
        "int64" => (i64::MIN, 0x7fff_ffff_ffff_ffff),
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "uint64" => (0, u64::MAX),
        _ => return None,
    })
}

/// Turns `contentEncoding: base64` into the format of OpenAPI 3.0 that asserts it.
pub(super) fn assert_base64(document: &mut Value, schemas: &[String]) {
    for at in schemas {
        let Some(Value::Object(schema)) = document.pointer_mut(at) else { continue };
        let coding = schema.get("contentEncoding").and_then(Value::as_str);
        let format = schema.get("format").is_none_or(|format| format == "byte");
        if format && coding.is_some_and(|coding| coding.eq_ignore_ascii_case("base64")) {
            schema.insert("format".to_owned(), "byte".into());
            // What the text is coded from is not read.
            if !schema.contains_key("contentSchema") {
                schema.shift_remove("contentEncoding");
                schema.shift_remove("contentMediaType");
            }
        }
    }
}

/// Turns the formats of integers into bounds.
pub(super) fn bound_integers(document: &mut Value, schemas: &[String]) {
    for at in schemas {
        let Some(Value::Object(schema)) = document.pointer_mut(at) else { continue };
        let Some((least, most)) = schema.get("format").and_then(Value::as_str).and_then(range) else { continue };
        let bounds = [("minimum", true, Number::from(least)), ("maximum", false, Number::from(most))];
        for (keyword, lower, limit) in bounds {
            let narrower = |held: &Value| {
                let both = held.as_f64().zip(limit.as_f64());
                both.is_some_and(|(held, limit)| if lower { held < limit } else { held > limit })
            };
            if schema.get(keyword).is_none_or(narrower) {
                schema.insert(keyword.to_owned(), Value::Number(limit));
            }
        }
    }
}
