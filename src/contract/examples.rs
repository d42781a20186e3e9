//! Examples of a document, held to the schemas beside them.

use serde_json::{Map, Value};

use super::{ContractDocument, refs, schema::Schemas};
use crate::{
    exchange::media,
    json::{Document, unescape_pointer},
};

impl ContractDocument {
    /// Examples of media types, parameters and headers that break the schema beside them: JSON pointer of each, and
    /// what it breaks first. Compiles the schemas once more.
    #[must_use]
    pub fn broken_examples(&self) -> Vec<(String, String)> {
        let document = self.compiled.schemas.document();
        let schemas = Schemas::new(document);
        let mut examples = Vec::new();
        refs::walk(document, &mut |at, object| {
            if !object.contains_key("schema") || !is_json(at) {
                return;
            }
            let schema = schemas.at(&refs::below(at, &["schema"]));
            let found = of(document, at, object).into_iter();
            examples.extend(found.map(|(at, value)| (at, value, schema.clone())));
        });
        let broken = |(at, value, schema): (String, &Value, super::schema::Schema)| {
            let value = Document::parse(value.to_string()).ok()?;
            let first = schema.judge(&value, &|_| false).ok()?.violations.into_iter().next()?;
            let place = if first.at.is_empty() { String::new() } else { format!("{}: ", first.at) };
            Some((at, format!("{place}expected {}", first.expected)))
        };
        examples.into_iter().filter_map(broken).collect()
    }
}

/// Whether an object with a schema is a media type of JSON, or none at all (a parameter, a header).
fn is_json(at: &str) -> bool {
    let mut tokens = at.rsplit('/');
    let name = unescape_pointer(tokens.next().unwrap_or_default());
    tokens.next() != Some("content") || media::is_json(&media::essence(name.as_bytes()))
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
pub(crate) fn value(example: &Value) -> Option<&Value> {
    example.get("dataValue").or_else(|| example.get("value"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::contract::Contract;

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
