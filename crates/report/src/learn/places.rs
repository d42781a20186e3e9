//! The place of a fact in a document.

use std::collections::HashSet;

use contrail_contract::{
    ContractDocument, MediaRange, Operation, below, follow, model::response_keys, most_specific, schemas_at, target,
};
use contrail_exchange::{Response, json::pointer_tokens, media};
use serde_json::Value;

/// Where the document has the response of a status, or would have it.
#[derive(Debug)]
pub(super) struct ResponsePlace<'d> {
    /// JSON pointer.
    pub(super) at: String,
    /// What is there; `None` if nothing is.
    pub(super) exact: Option<&'d Value>,
    /// The response of the status's class, or of all other statuses, with its pointer.
    pub(super) class: Option<(String, &'d Value)>,
    /// It is the one of all other statuses.
    pub(super) is_default: bool,
}

/// The place of a status; `None` where the document has no response at all.
pub(super) fn response<'d>(document: &'d Value, operation: &Operation, status: u16) -> Option<ResponsePlace<'d>> {
    let responses_at = below(&operation.at, &["responses"]);
    let responses = document.pointer(&responses_at)?.as_object()?;
    let find = |key: &str| {
        let (at, found) = responses.get_key_value(key).map(|(key, found)| (below(&responses_at, &[key]), found))?;
        follow(document, &at, found).ok()
    };
    let [number, upper, lower, default] = response_keys(status);
    if let Some((at, exact)) = find(&number) {
        return Some(ResponsePlace { at, exact: Some(exact), class: None, is_default: false });
    }
    // OpenAPI has no place for another status.
    if responses.is_empty() || !(100..600).contains(&status) {
        return None;
    }
    let class = find(&upper).or_else(|| find(&lower));
    let is_default = class.is_none() && responses.contains_key(&default);
    let class = class.or_else(|| find(&default));
    Some(ResponsePlace { at: below(&responses_at, &[&number]), exact: None, class, is_default })
}

/// JSON pointer of the schema of a response's body.
pub(super) fn body_schema(
    contract: &ContractDocument,
    listed: &ResponsePlace<'_>,
    response: &Response,
) -> Option<String> {
    let class = || listed.class.as_ref().map(|(at, class)| (at, *class));
    let (at, described) = listed.exact.map(|exact| (&listed.at, exact)).or_else(class)?;
    let value = response.headers.get("content-type")?.as_bytes();
    let content = described.get("content")?.as_object()?;
    let ranges: Vec<_> = content.keys().filter_map(|name| Some((MediaRange::parse(name)?, name))).collect();
    let ranges = ranges.iter().map(|(range, name)| (range, name));
    let name = most_specific(ranges, &media::essence(value), value, contract.model().takes_suffixes())?;
    let schema = below(at, &["content", name, "schema"]);
    contract.document().pointer(&schema).map(|_| schema)
}

/// The schemas that request bodies refer to, directly or not, as JSON pointers.
pub(super) fn of_requests(document: &Value, operations: &[Operation]) -> HashSet<String> {
    let body = |operation: &Operation| document.pointer(&below(&operation.at, &["requestBody"]));
    let mut open: Vec<&Value> = operations.iter().filter_map(body).collect();
    let mut found = HashSet::new();
    while let Some(node) = open.pop() {
        match node {
            Value::Object(members) => {
                open.extend(members.values());
                let named = members.get("$ref").and_then(Value::as_str).and_then(target);
                if let Some(named) = named.filter(|named| !found.contains(named)) {
                    open.extend(document.pointer(&named));
                    found.insert(named);
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}

/// How many responses of operations lead to the one at this JSON pointer.
pub(super) fn uses(document: &Value, operations: &[Operation], at: &str) -> usize {
    let leads = |operation: &Operation| {
        let responses_at = below(&operation.at, &["responses"]);
        let responses = document.pointer(&responses_at).and_then(Value::as_object);
        let leads = |(key, response): &(&String, &Value)| {
            follow(document, &below(&responses_at, &[key]), response).is_ok_and(|(place, _)| place == at)
        };
        responses.into_iter().flatten().filter(leads).count()
    };
    operations.iter().map(leads).sum()
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
