//! Examples of a document, held to the schemas beside them.

use std::collections::HashMap;

use contrail_exchange::{
    json::{Document, unescape_pointer},
    media,
};
use serde_json::{Map, Value};

use super::{
    ContractDocument, refs,
    schema::{Schema, Schemas, Side},
};

impl ContractDocument {
    /// Examples of media types, parameters and headers that break the schema beside them, and examples and defaults
    /// that break their own schema: JSON pointer of each, and what it breaks first. Compiles the schemas once more.
    #[must_use]
    pub fn broken_examples(&self) -> Vec<(String, String)> {
        let document = self.compiled.schemas.document();
        let schemas = Schemas::new(document);
        let mut examples = Vec::new();
        refs::walk(document, &mut |at, object| {
            if let Some(held) = object.get("schema").filter(|_| is_json(at)) {
                let found = of(document, at, object);
                if !found.is_empty() {
                    let schema = schemas.at(&refs::below(at, &["schema"]));
                    let by = (shared(document, held), Side::of(at));
                    let one = |(at, value)| (at, value, Some((std::ptr::from_ref(value), by)), vec![schema.clone()]);
                    examples.extend(found.into_iter().map(one));
                }
            } else if !["schema", "content"].iter().any(|key| object.contains_key(*key)) {
                // One that conforms as one side has it is good.
                let own = own(at, object);
                let each = if own.is_empty() { Vec::new() } else { schemas.at_both_sides(at).to_vec() };
                examples.extend(own.into_iter().map(|(at, value)| (at, value, None, each.clone())));
            }
        });
        // Many places may share one example and its schema.
        let mut judged: HashMap<_, Option<String>> = HashMap::new();
        let broken = |(at, value, pair, schemas): (String, &Value, Option<_>, Vec<Schema>)| {
            let judge = || fault(value, &schemas);
            let fault = match pair {
                Some(pair) => judged.entry(pair).or_insert_with(judge).clone(),
                None => judge(),
            };
            Some((at, fault?))
        };
        examples.into_iter().filter_map(broken).collect()
    }
}

/// What of an example breaks the last of the schemas first, if it breaks all.
fn fault(example: &Value, schemas: &[Schema]) -> Option<String> {
    let example = Document::parse(example.to_string()).ok()?;
    let mut first = None;
    for schema in schemas {
        first = Some(schema.judge(&example, &|_| false).ok()?.violations.into_iter().next()?);
    }
    let first = first?;
    let place = if first.at.is_empty() { String::new() } else { format!("{}: ", first.at) };
    Some(format!("{place}expected {}", first.expected))
}

/// Where a schema stands; of a reference, where what it names stands.
fn shared(document: &Value, schema: &Value) -> *const Value {
    let alone = schema.as_object().filter(|schema| schema.len() == 1);
    let reference = alone.and_then(|schema| schema.get("$ref")?.as_str());
    std::ptr::from_ref(reference.and_then(|reference| refs::resolve(document, reference)).unwrap_or(schema))
}

/// Whether an object with a schema is a media type of JSON, or none at all (a parameter, a header).
fn is_json(at: &str) -> bool {
    let mut tokens = at.rsplit('/');
    let name = unescape_pointer(tokens.next().unwrap_or_default());
    tokens.next() != Some("content") || media::is_json(&media::essence(name.as_bytes()))
}

/// Examples and the default of a schema.
fn own<'d>(at: &str, schema: &'d Map<String, Value>) -> Vec<(String, &'d Value)> {
    let one = ["default", "example"].into_iter().filter_map(|key| Some((refs::below(at, &[key]), schema.get(key)?)));
    let listed = schema.get("examples").and_then(Value::as_array).into_iter().flatten().enumerate();
    one.chain(listed.map(|(index, value)| (refs::below(at, &["examples", &index.to_string()]), value))).collect()
}

fn of<'d>(document: &'d Value, at: &str, object: &'d Map<String, Value>) -> Vec<(String, &'d Value)> {
    let mut found: Vec<(String, &Value)> =
        object.get("example").map(|example| (refs::below(at, &["example"]), example)).into_iter().collect();
    for (name, example) in object.get("examples").and_then(Value::as_object).into_iter().flatten() {
        let at = refs::below(at, &["examples", name]);
        found.extend(value(refs::followed(document, example)).map(|value| (at, value)));
    }
    found
}

/// The value of an Example Object, as JSON; `dataValue` is that of OpenAPI 3.2.
pub fn value(example: &Value) -> Option<&Value> {
    example.get("dataValue").or_else(|| example.get("value"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::Contract;

    #[test]
    fn an_example_or_default_that_breaks_its_own_schema_is_found() {
        let sided = json!({"type": "object", "required": ["r", "w"], "properties": {
            "r": {"readOnly": true}, "w": {"writeOnly": true}, "default": {"type": "string", "default": "x"}}});
        let with = |example: serde_json::Value| {
            let mut schema = sided.clone();
            schema["examples"] = json!([example]);
            schema
        };
        let contract = Contract::from_document(json!({"openapi": "3.1.0", "info": {}, "paths": {},
            "servers": [{"url": "/{v}", "variables": {"v": {"default": "v1", "enum": ["v1"]}}}],
            "components": {"schemas": {
                "Default": {"type": "integer", "default": "1"},
                "Example": {"type": "array", "items": {"maximum": 5, "example": 6}},
                "Examples": {"type": "string", "examples": ["x", 5]},
                "Request": with(json!({"w": 1})), "Response": with(json!({"r": 1})), "Neither": with(json!({}))}}}));
        assert_eq!(
            contract.unwrap().documents()[0].broken_examples(),
            [
                ("/components/schemas/Default/default", "expected an integer"),
                ("/components/schemas/Example/items/example", "expected at most 5"),
                ("/components/schemas/Examples/examples/1", "expected a string"),
                ("/components/schemas/Neither/examples/0", "/r: expected this field to be there"),
            ]
            .map(|(at, reason)| (at.to_owned(), reason.to_owned()))
        );
    }

    #[test]
    fn an_example_that_several_places_refer_to_is_listed_at_each_by_its_own_schema() {
        let media = |name: &str| {
            let schema = json!({"$ref": format!("#/components/schemas/{name}")});
            let example = json!({"e": {"$ref": "#/components/examples/E"}});
            json!({"description": "x", "content": {"application/json": {"schema": schema, "examples": example}}})
        };
        let contract = Contract::from_document(json!({"openapi": "3.1.0", "info": {}, "paths": {"/a": {"get": {
            "responses": {"200": media("Text"), "201": media("Text"), "202": media("Number")}}}},
            "components": {"examples": {"E": {"value": 5}},
                "schemas": {"Text": {"type": "string"}, "Number": {"type": "number"}}}}));
        let at = |status: u16| format!("/paths/~1a/get/responses/{status}/content/application~1json/examples/e");
        let expected = [200, 201].map(|status| (at(status), "expected a string".to_owned()));
        assert_eq!(contract.unwrap().documents()[0].broken_examples(), expected);
    }

    #[test]
    fn an_example_that_breaks_the_schema_beside_it_is_found() {
        let schema = json!({"type": "object", "required": ["id", "secret"], "properties": {"id": {"type": "integer"},
            "secret": {"type": "string", "writeOnly": true}}});
        let media = |example: serde_json::Value| json!({"schema": schema, "example": example});
        let contract = Contract::from_document(json!({"openapi": "3.2.0", "info": {}, "paths": {"/a": {"put": {
            "parameters": [{"name": "n", "in": "query", "schema": {"type": "integer"}, "example": "x"}],
            "requestBody": {"content": {"application/json": media(json!({"id": 1}))}},
            "responses": {"200": {"content": {
                "application/json": {"schema": schema, "examples": {"good": {"value": {"id": 1}},
                    "bad": {"dataValue": {"id": "1"}}, "other": {"$ref": "#/components/examples/O"}}},
                "application/xml": media(json!("<a/>"))}}}}}},
            "components": {"examples": {"O": {"value": 5}}}}));
        assert_eq!(
            contract.unwrap().documents()[0].broken_examples(),
            [
                ("/paths/~1a/put/parameters/0/example", "expected an integer"),
                (
                    "/paths/~1a/put/requestBody/content/application~1json/example",
                    "/secret: expected this field to be there"
                ),
                ("/paths/~1a/put/responses/200/content/application~1json/examples/bad", "/id: expected an integer"),
                ("/paths/~1a/put/responses/200/content/application~1json/examples/other", "expected an object"),
            ]
            .map(|(at, reason)| (at.to_owned(), reason.to_owned()))
        );
    }
}
