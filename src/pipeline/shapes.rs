//! Bounds that redaction's labels have to fit, read from the contract's document.

use std::{fmt, sync::Arc};

use serde_json::Value;

use crate::{
    contract::{Contract, ContractDocument},
    json::pointer_tokens,
    redact::{Bounds, Shapes},
};

/// Maximum chain of references and alternatives that is followed.
const MAX_DEPTH: usize = 16;

/// The length bounds of a contract's schemas. Alternatives are taken together: a label fits all of them where it can.
pub struct ContractShapes(Arc<Contract>);

impl ContractShapes {
    /// Of this contract.
    #[must_use]
    pub fn new(contract: Arc<Contract>) -> Self {
        Self(contract)
    }
}

impl fmt::Debug for ContractShapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ContractShapes")
    }
}

impl Shapes for ContractShapes {
    fn bounds(&self, operation: &str, response: bool, pointer: &str) -> Bounds {
        let mut bounds = Bounds::default();
        for document in self.0.documents().iter().map(ContractDocument::document) {
            for schema in schemas(document, operation, response, pointer) {
                let length =
                    |name: &str| schema.get(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
                bounds.min = bounds.min.max(length("minLength"));
                bounds.max = match (bounds.max, length("maxLength")) {
                    (Some(held), Some(new)) => Some(held.min(new)),
                    (held, new) => held.or(new),
                };
            }
        }
        bounds
    }
}

/// The schemas of a place in an operation's bodies, with all that they refer to and combine.
fn schemas<'a>(document: &'a Value, operation: &str, response: bool, pointer: &str) -> Vec<&'a Value> {
    let mut schemas = Vec::new();
    for held in members(document.get("paths")).flat_map(|item| members(Some(item))) {
        if held.get("operationId").and_then(Value::as_str) == Some(operation) {
            collect(document, held, response, &mut schemas);
        }
    }
    for token in pointer_tokens(pointer) {
        schemas = schemas.into_iter().flat_map(|schema| step(document, schema, &token)).collect();
    }
    schemas.into_iter().flat_map(|schema| alternatives(document, schema, MAX_DEPTH)).collect()
}

fn members(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_object).into_iter().flat_map(serde_json::Map::values)
}

/// The schemas of an operation's bodies.
fn collect<'a>(document: &'a Value, operation: &'a Value, response: bool, schemas: &mut Vec<&'a Value>) {
    let messages: Vec<&Value> = if response {
        members(operation.get("responses")).collect()
    } else {
        operation.get("requestBody").into_iter().collect()
    };
    for message in messages {
        let message = resolve(document, message, MAX_DEPTH);
        schemas.extend(members(message.get("content")).filter_map(|media| media.get("schema")));
    }
}

fn resolve<'a>(document: &'a Value, value: &'a Value, depth: usize) -> &'a Value {
    let target = value.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    match target.and_then(|pointer| document.pointer(pointer)) {
        Some(target) if depth > 0 => resolve(document, target, depth - 1),
        _ => value,
    }
}

/// A schema with all that it refers to and combines.
fn alternatives<'a>(document: &'a Value, schema: &'a Value, depth: usize) -> Vec<&'a Value> {
    let schema = resolve(document, schema, depth);
    let mut all = vec![schema];
    if depth == 0 {
        return all;
    }
    for word in ["allOf", "anyOf", "oneOf"] {
        for part in schema.get(word).and_then(Value::as_array).into_iter().flatten() {
            all.extend(alternatives(document, part, depth - 1));
        }
    }
    for word in ["then", "else"] {
        all.extend(schema.get(word).into_iter().flat_map(|part| alternatives(document, part, depth - 1)));
    }
    all
}

/// The schemas of the member or item `token`.
fn step<'a>(document: &'a Value, schema: &'a Value, token: &str) -> Vec<&'a Value> {
    alternatives(document, schema, MAX_DEPTH)
        .into_iter()
        .filter_map(|schema| {
            let named = schema.get("properties").and_then(|properties| properties.get(token));
            let other = || schema.get("additionalProperties").or_else(|| schema.get("items"));
            named.or_else(other).filter(|found| found.is_object())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_learns_the_bounds_of_its_field() {
        let shapes = ContractShapes::new(Contract::built_in());
        let bounds = |response, pointer| shapes.bounds("updateVerifiableCredentialTemplate", response, pointer);
        assert_eq!(bounds(false, "/name"), Bounds { min: Some(1), max: Some(255) });
        assert_eq!(bounds(true, "/custom_certificate_authority"), Bounds { min: Some(1), max: Some(4096) });
        assert_eq!(bounds(true, "/nothing"), Bounds::default());
        assert_eq!(shapes.bounds("getRateLimitPolicy", true, "/id").max, Some(26));
    }
}
