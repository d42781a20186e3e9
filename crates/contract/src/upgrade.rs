//! OpenAPI 3.0 documents as 3.1 ones: keywords of the 3.0 dialect become those of JSON Schema.

use serde_json::{Map, Value, json};

use super::{ContractError, schema::NULLABLE};

/// Turns a 3.0 document into a 3.1 one; one of 3.1 or 3.2 stays as it is.
///
/// # Errors
///
/// [`ContractError::NotOpenApi`] for any other version, and for what is no OpenAPI document at all.
pub(super) fn upgrade(document: &mut Value) -> Result<(), ContractError> {
    let not_open_api = |found: String| Err(ContractError::NotOpenApi { found });
    let version = match (document.get("openapi"), document.get("swagger")) {
        (Some(Value::String(version)), _) => version.clone(),
        (Some(Value::Number(version)), _) => version.to_string(),
        (None, Some(_)) => return not_open_api("it is a Swagger 2.0 document".to_owned()),
        _ => return not_open_api("it has no `openapi` version".to_owned()),
    };
    let is = |minor: &str| version == minor || version.strip_prefix(minor).is_some_and(|rest| rest.starts_with('.'));
    if is("3.1") || is("3.2") {
        return Ok(());
    }
    if !is("3.0") {
        return not_open_api(format!("it is `openapi: {version}`"));
    }
    if let Some(held) = document.get_mut("openapi") {
        *held = json!("3.1.0");
    }
    find_schemas(document, false);
    Ok(())
}

/// Looks for schemas wherever OpenAPI 3.0 puts them: under `schema`, and as members of `schemas`.
fn find_schemas(value: &mut Value, names: bool) {
    match value {
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                match key.as_str() {
                    _ if names => find_schemas(member, false),
                    "schema" => schema(member),
                    "schemas" => each(member, schema),
                    "content" => {
                        unstyled(member);
                        find_schemas(member, true);
                    }
                    "example" | "examples" | "default" | "enum" => {}
                    key if key.starts_with("x-") => {}
                    "paths" | "pathItems" | "responses" | "parameters" | "requestBodies" | "headers" | "callbacks"
                    | "encoding" => find_schemas(member, true),
                    _ => find_schemas(member, false),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| find_schemas(item, false)),
        _ => {}
    }
}

/// In 3.0, `style`, `explode` and `allowReserved` of an encoding "SHALL be ignored if the request body media type is not
/// `application/x-www-form-urlencoded`".
fn unstyled(content: &mut Value) {
    for (name, media_type) in content.as_object_mut().into_iter().flatten() {
        let encodings = media_type.get_mut("encoding").and_then(Value::as_object_mut);
        for encoding in encodings.filter(|_| name.starts_with("multipart/")).into_iter().flat_map(Map::values_mut) {
            for keyword in ["style", "explode", "allowReserved"] {
                encoding.as_object_mut().map(|held| held.shift_remove(keyword));
            }
        }
    }
}

fn each(value: &mut Value, change: fn(&mut Value)) {
    match value {
        Value::Object(members) => members.values_mut().for_each(change),
        Value::Array(items) => items.iter_mut().for_each(change),
        _ => {}
    }
}

fn schema(value: &mut Value) {
    let Value::Object(members) = value else { return };
    if let Some(target) = members.get("$ref").filter(|target| target.is_string()).cloned() {
        // 3.0 ignores what stands beside a `$ref`; 3.1 would apply it.
        let nullable = members.get("nullable") == Some(&Value::Bool(true));
        members.clear();
        members.insert("$ref".to_owned(), target);
        if nullable {
            members.insert(NULLABLE.to_owned(), Value::Bool(true));
        }
        return;
    }
    nullable(members);
    exclusive(members, "exclusiveMinimum", "minimum");
    exclusive(members, "exclusiveMaximum", "maximum");
    if let Some(example) = members.shift_remove("example") {
        members.insert("examples".to_owned(), json!([example]));
    }
    for keyword in ["properties", "allOf", "anyOf", "oneOf"] {
        if let Some(held) = members.get_mut(keyword) {
            each(held, schema);
        }
    }
    for keyword in ["items", "not", "additionalProperties"] {
        if let Some(held) = members.get_mut(keyword) {
            schema(held);
        }
    }
}

/// `nullable: true` adds `null` to the type beside it (3.0.3). Where there is no type, or another keyword excludes
/// null, the versions of OpenAPI 3.0 differ: null is a gap.
fn nullable(members: &mut Map<String, Value>) {
    let Some(Value::Bool(true)) = members.shift_remove("nullable") else { return };
    if let Some(Value::String(kind)) = members.get("type") {
        let both = json!([kind, "null"]);
        members.insert("type".to_owned(), both);
    }
    let excludes = |keyword: &str| match members.get(keyword) {
        None => false,
        Some(Value::Array(values)) if keyword == "enum" => !values.contains(&Value::Null),
        Some(_) => true,
    };
    if !members.contains_key("type") || ["enum", "allOf", "anyOf", "oneOf", "not"].into_iter().any(excludes) {
        members.insert(NULLABLE.to_owned(), Value::Bool(true));
    }
}

/// A boolean `exclusiveMinimum` turns the `minimum` beside it into an exclusive one.
fn exclusive(members: &mut Map<String, Value>, exclusive: &str, inclusive: &str) {
    let Some(Value::Bool(on)) = members.get(exclusive).cloned() else { return };
    members.shift_remove(exclusive);
    if !on {
        return;
    }
    if let Some(bound) = members.shift_remove(inclusive) {
        members.insert(exclusive.to_owned(), bound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upgraded(schema: &Value) -> Value {
        let mut document = json!({"openapi": "3.0.3", "components": {"schemas": {"A": schema}}});
        upgrade(&mut document).unwrap();
        assert_eq!(document["openapi"], "3.1.0");
        document["components"]["schemas"]["A"].clone()
    }

    #[test]
    fn a_nullable_type_of_3_0_takes_null() {
        assert_eq!(upgraded(&json!({"type": "string", "nullable": true})), json!({"type": ["string", "null"]}));
        assert_eq!(upgraded(&json!({"type": "string", "nullable": false})), json!({"type": "string"}));
    }

    #[test]
    fn a_boolean_exclusive_bound_of_3_0_becomes_the_bound_itself() {
        let schema = json!({"minimum": 1, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false});
        assert_eq!(upgraded(&schema), json!({"exclusiveMinimum": 1, "maximum": 9}));
    }

    #[test]
    fn an_example_of_3_0_becomes_the_only_one_of_a_list() {
        assert_eq!(upgraded(&json!({"example": "a"})), json!({"examples": ["a"]}));
    }

    #[test]
    fn what_stands_beside_a_ref_of_3_0_is_ignored() {
        assert_eq!(upgraded(&json!({"$ref": "#/x", "maxLength": 1})), json!({"$ref": "#/x"}));
    }

    #[test]
    fn a_nullable_beside_what_excludes_null_stays_as_an_extension() {
        for schema in
            [json!({"$ref": "#/x"}), json!({"anyOf": [{}]}), json!({"type": ["string", "null"], "enum": ["a"]})]
        {
            let mut nullable = schema.clone();
            nullable["nullable"] = json!(true);
            if nullable["type"].is_array() {
                nullable["type"] = json!("string");
            }
            let mut expected = schema;
            expected[NULLABLE] = json!(true);
            assert_eq!(upgraded(&nullable), expected);
        }
        let with_null = json!({"type": "string", "nullable": true, "enum": ["a", null]});
        assert_eq!(upgraded(&with_null), json!({"type": ["string", "null"], "enum": ["a", null]}));
    }

    #[test]
    fn nested_schemas_are_found_wherever_they_stand() {
        let nullable = json!({"type": "string", "nullable": true});
        let schema = json!({
            "properties": {"schema": nullable, "example": nullable}, "items": nullable, "allOf": [nullable],
            "additionalProperties": nullable,
        });
        assert_eq!(upgraded(&schema).to_string().matches(r#"["string","null"]"#).count(), 5);
        let mut document = json!({"openapi": "3.0.0", "paths": {"/x": {"get": {
            "parameters": [{"schema": nullable}],
            "responses": {"default": {"content": {"application/json": {"schema": nullable}}}},
        }}}});
        upgrade(&mut document).unwrap();
        assert_eq!(document.to_string().matches(r#"["string","null"]"#).count(), 2);
    }

    #[test]
    fn a_document_of_3_1_or_3_2_stays_as_it_is() {
        for version in ["3.1.0", "3.2.0"] {
            let document = json!({"openapi": version, "components": {"schemas": {"A": {"nullable": true}}}});
            let mut upgraded = document.clone();
            upgrade(&mut upgraded).unwrap();
            assert_eq!(upgraded, document);
        }
    }

    #[test]
    fn styles_of_the_parts_of_a_3_0_form_are_ignored() {
        let encoding = json!({"l": {"style": "form", "explode": false, "contentType": "text/plain"}});
        let content = json!({"multipart/form-data": {"encoding": encoding},
            "application/x-www-form-urlencoded": {"encoding": encoding}});
        let mut document = json!({"openapi": "3.0.0", "components": {"requestBodies": {"A": {"content": content}}}});
        upgrade(&mut document).unwrap();
        let content = &document["components"]["requestBodies"]["A"]["content"];
        assert_eq!(content["multipart/form-data"]["encoding"], json!({"l": {"contentType": "text/plain"}}));
        assert_eq!(content["application/x-www-form-urlencoded"]["encoding"], encoding);
    }

    #[test]
    fn other_documents_are_refused_by_what_they_say() {
        for (document, expected) in [
            (json!({"swagger": "2.0"}), "it is a Swagger 2.0 document"),
            (json!({"openapi": "4.0.0"}), "it is `openapi: 4.0.0`"),
            (json!({"openapi": "3.10.0"}), "it is `openapi: 3.10.0`"),
            (json!({}), "it has no `openapi` version"),
        ] {
            let error = upgrade(&mut document.clone()).unwrap_err().to_string();
            let takes = "contrail takes OpenAPI 3.0 to 3.2";
            assert_eq!(error, format!("not an OpenAPI document that contrail can use: {expected}; {takes}"));
        }
    }
}
