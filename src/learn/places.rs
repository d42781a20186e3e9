//! The place of a fact in a document.

use serde_json::Value;

use crate::{
    contract::{Operation, below, follow, model::response_keys, schemas_at},
    exchange::{Response, media},
    json::pointer_tokens,
};

/// Where the document has the response of a status, or would have it.
#[derive(Debug)]
pub(super) struct Listed<'d> {
    /// JSON pointer.
    pub(super) at: String,
    /// What is there; `None` if nothing is.
    pub(super) exact: Option<&'d Value>,
    /// The response of the status's class, with its pointer.
    pub(super) class: Option<(String, &'d Value)>,
}

/// The place of a status; `None` where the document needs none: it has a default for all others, or no response at all.
pub(super) fn response<'d>(document: &'d Value, operation: &Operation, status: u16) -> Option<Listed<'d>> {
    let responses_at = below(&operation.at, &["responses"]);
    let responses = document.pointer(&responses_at)?.as_object()?;
    let find = |key: &str| {
        let (at, found) = responses.get_key_value(key).map(|(key, found)| (below(&responses_at, &[key]), found))?;
        follow(document, &at, found).ok()
    };
    let [number, upper, lower, default] = response_keys(status);
    if let Some((at, exact)) = find(&number) {
        return Some(Listed { at, exact: Some(exact), class: None });
    }
    if responses.is_empty() || responses.contains_key(&default) {
        return None;
    }
    let class = find(&upper).or_else(|| find(&lower));
    Some(Listed { at: below(&responses_at, &[&number]), exact: None, class })
}

/// JSON pointer of the schema of a response's body.
pub(super) fn body_schema(document: &Value, listed: &Listed<'_>, response: &Response) -> Option<String> {
    let class = || listed.class.as_ref().map(|(at, class)| (at, *class));
    let (at, described) = listed.exact.map(|exact| (&listed.at, exact)).or_else(class)?;
    let media_type = media::essence(response.headers.get("content-type")?.as_bytes());
    let content = described.get("content")?.as_object()?;
    let (name, _) = content.iter().find(|(name, _)| *media::essence(name.as_bytes()) == *media_type)?;
    let schema = below(at, &["content", name, "schema"]);
    document.pointer(&schema).map(|_| schema)
}

/// What a schema has at a place of a value.
#[derive(Debug, PartialEq)]
pub(super) enum SchemaPlace {
    /// A set of known values (`x-contrail-known-values`), in the schema at this pointer.
    Known(String),
    /// Nothing: the object's schema at this pointer does not name the field.
    Further { object: String, name: String },
}

/// Finds the place of the value at `at` of a body of this schema.
pub(super) fn of_value(document: &Value, schema: &str, at: &str) -> Option<SchemaPlace> {
    let mut schemas = schemas_at::composed(document, vec![schema.to_owned()]);
    let mut tokens = pointer_tokens(at).peekable();
    while let Some(token) = tokens.next() {
        let next = schemas_at::of_member(document, &schemas, &token);
        if next.is_empty() {
            let is_open = |schema: &&String| {
                document.pointer(schema).is_some_and(|node| {
                    node.get("properties").is_some()
                        && node.get("additionalProperties").is_none_or(Value::is_object)
                        && node.get("x-contrail-unnamed-keys").is_none()
                })
            };
            let object = schemas.iter().find(is_open).filter(|_| tokens.peek().is_none())?;
            return Some(SchemaPlace::Further { object: object.clone(), name: token.into_owned() });
        }
        schemas = schemas_at::composed(document, next);
    }
    let known =
        |schema: &String| document.pointer(schema).is_some_and(|node| node.get("x-contrail-known-values").is_some());
    schemas.into_iter().find(known).map(SchemaPlace::Known)
}
