//! Several documents as one, for `contract --export`.
//!
//! The first document that has an operation keeps it. Servers and security, which OpenAPI states once for a whole
//! document, move to each operation. A component gets another name where an earlier document uses its name. What one
//! document cannot hold is listed ([`Union::differences`]).

mod names;
mod routes;
mod whole;

use serde_json::{Map, Value, json};

use self::routes::Routes;
use super::ContractDocument;

/// What a document states once for all its operations, and may state for each.
const SHARED: [&str; 2] = ["servers", "security"];
/// The keys of a path item that are no operations.
const OF_THE_ITEM: [&str; 4] = ["servers", "parameters", "summary", "description"];

/// Operations of methods that have no key of their own (OpenAPI 3.2).
const FURTHER: &str = "additionalOperations";

/// The union of documents.
#[derive(Debug)]
pub(super) struct Union {
    /// Of OpenAPI 3.2 where one of them is, else of 3.1.
    pub(super) document: Value,
    /// Where it judges otherwise than the documents in their order.
    pub(super) differences: Vec<String>,
}

/// The union of documents, with the operations of all.
pub(super) fn union(documents: &[ContractDocument]) -> Union {
    let joined = |text: fn(&ContractDocument) -> &str| documents.iter().map(text).collect::<Vec<_>>().join(" + ");
    let info = json!({"title": joined(ContractDocument::title), "version": joined(ContractDocument::version)});
    let mut members = Map::new();
    let (mut paths, mut components) = (Map::new(), Map::new());
    let mut routes = Routes::default();
    for (index, own) in documents.iter().enumerate() {
        let mut document = Value::clone(own.resolved());
        let dynamic = names::settle(own.document(), &mut document);
        let unusable = |at: &String| {
            let name = own.name();
            format!("`{at}` of `{name}` is unusable: where its `$dynamicRef` leads depends on the way to it")
        };
        routes.differences.extend(dynamic.iter().map(unusable));
        names::lift(&mut document);
        names::rename(&mut document, &components);
        routes.next(&documents[..index], own);
        let Value::Object(mut document) = document else { continue };
        let held = document.shift_remove("paths");
        for (path, item) in object(held) {
            let items = document.get("components").and_then(|components| components.get("pathItems"));
            add_path(&mut paths, &path, object(Some(resolved(item, items))), &document, &mut routes);
        }
        for (section, held) in object(document.shift_remove("components")) {
            // Anything else is an extension.
            if let Value::Object(section) = components.entry(section).or_insert_with(|| json!({})) {
                section.extend(object(Some(held)));
            }
        }
        document.retain(|key, _| key.starts_with("x-"));
        for (key, value) in document {
            members.entry(key).or_insert(value);
        }
    }
    let is_3_2 = |document: &ContractDocument| {
        document.document().get("openapi").and_then(Value::as_str).is_some_and(|version| version.starts_with("3.2"))
    };
    let version = if documents.iter().any(is_3_2) { "3.2.0" } else { "3.1.0" };
    let mut differences = routes.differences;
    differences.extend(whole::differences(documents, &mut members));
    let mut document = json!({"openapi": version, "info": info, "paths": paths, "components": components});
    if let Some(document) = document.as_object_mut() {
        document.extend(members);
    }
    Union { document, differences }
}

fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

/// A path item that is a reference to one of the document's own, followed.
fn resolved(item: Value, items: Option<&Value>) -> Value {
    let name =
        item.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix("#/components/pathItems/"));
    name.and_then(|name| items?.get(name)).cloned().unwrap_or(item)
}

/// Adds the operations of a path that the union lacks, each with what the document and the path item state for all.
fn add_path(
    paths: &mut Map<String, Value>,
    path: &str,
    mut item: Map<String, Value>,
    document: &Map<String, Value>,
    routes: &mut Routes<'_>,
) {
    let of_item: Vec<Option<Value>> = OF_THE_ITEM.iter().map(|key| item.shift_remove(*key)).collect();
    let held = paths.entry(path.to_owned()).or_insert_with(|| json!({}));
    let further = object(item.shift_remove(FURTHER)).into_iter().map(|entry| (true, entry));
    let all: Vec<_> = item.into_iter().map(|entry| (false, entry)).chain(further).collect();
    for (is_further, (method, mut operation)) in all {
        if let Some(operation) = operation.as_object_mut() {
            if let Some(servers) = &of_item[0] {
                operation.entry("servers").or_insert_with(|| servers.clone());
            }
            for key in SHARED {
                document.get(key).map(|shared| operation.entry(key).or_insert_with(|| shared.clone()));
            }
            if let Some(Value::Array(inherited)) = &of_item[1] {
                let own = operation.entry("parameters").or_insert_with(|| json!([]));
                let Some(own) = own.as_array_mut() else { continue };
                let missing = |parameter: &&Value| {
                    !own.iter().any(|own| ["name", "in"].iter().all(|key| own.get(key) == parameter.get(key)))
                };
                let inherited: Vec<Value> = inherited.iter().filter(missing).cloned().collect();
                own.splice(0..0, inherited);
            }
        }
        let mut held = held.as_object_mut();
        if is_further {
            held = held.and_then(|held| held.entry(FURTHER).or_insert_with(|| json!({})).as_object_mut());
        }
        let Some(held) = held else { continue };
        let name = if is_further { method.clone() } else { method.to_ascii_uppercase() };
        if !operation.is_object() || routes.add(&name, path, &mut operation, held.contains_key(&method)) {
            held.entry(method).or_insert(operation);
        }
    }
    if held.as_object().is_some_and(Map::is_empty) {
        paths.shift_remove(path);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn union_of(documents: &[Value]) -> Value {
        with_differences(documents).document
    }

    fn with_differences(documents: &[Value]) -> Union {
        let compiled = documents.iter().enumerate().map(|(index, document)| {
            ContractDocument::compile(format!("{index}.json"), document.clone(), &HashMap::new()).unwrap()
        });
        union(&compiled.collect::<Vec<_>>())
    }

    #[test]
    fn an_operation_of_an_earlier_document_stays_and_a_later_one_adds_the_rest() {
        let first = json!({"openapi": "3.1.0", "info": {"title": "A", "version": "1"}, "paths": {
            "/a": {"get": {"operationId": "first"}}}});
        let second = json!({"openapi": "3.1.0", "info": {"title": "B", "version": "2"},
            "servers": [{"url": "/v1"}], "paths": {
            "/a": {"parameters": [{"name": "q", "in": "query"}], "get": {"operationId": "second"},
                "post": {"operationId": "third"}}}});
        let union = union_of(&[first, second]);
        assert_eq!(union["info"], json!({"title": "A + B", "version": "1 + 2"}));
        assert_eq!(union["paths"]["/a"]["get"], json!({"operationId": "first"}));
        assert_eq!(
            union["paths"]["/a"]["post"],
            json!({"operationId": "third", "servers": [{"url": "/v1"}],
            "parameters": [{"name": "q", "in": "query"}]})
        );
    }

    /// A document with an operation `get` for each path.
    fn paths(servers: &Value, paths: &[&str]) -> Value {
        let items: Map<String, Value> =
            paths.iter().map(|path| ((*path).to_owned(), json!({"get": {"operationId": path}}))).collect();
        json!({"openapi": "3.1.0", "info": {}, "servers": servers, "paths": items})
    }

    #[test]
    fn an_operation_that_an_earlier_document_always_judges_is_left_out() {
        let first = paths(&json!([{"url": "/v1"}]), &["/a/{id}", "/b"]);
        let second = paths(&json!([{"url": "/"}]), &["/v1/a/me", "/v1/b", "/v1/{x}"]);
        let union = with_differences(&[first, second]);
        assert_eq!(union.differences, [""; 0]);
        let paths: Vec<&String> = union.document["paths"].as_object().unwrap().keys().collect();
        assert_eq!(paths, ["/a/{id}", "/b", "/v1/{x}"]);
    }

    #[test]
    fn a_server_under_which_an_earlier_document_judges_is_left_out() {
        let first = paths(&json!([]), &["/v1/a"]);
        let second = paths(&json!([{"url": "/v1"}, {"url": "/v2"}]), &["/a"]);
        let union = with_differences(&[first, second]);
        assert_eq!(union.document["paths"]["/a"]["get"]["servers"], json!([{"url": "/v2"}]));
        assert_eq!(union.differences, [""; 0]);
    }

    #[test]
    fn operations_that_one_document_cannot_hold_alike_are_listed() {
        let first = paths(&json!([{"url": "https://x.example/v1"}]), &["/a", "/b/{x}/c", "/d/{x}.json/{y}"]);
        let second = paths(&json!([{"url": "https://x.example/v2"}]), &["/a", "/b"]);
        let third = paths(&json!([{"url": "/v1"}]), &["/b/me/{y}", "/d/me/{y}", "/{z}/{x}/c", "/b/{x}-1/{y}"]);
        let union = with_differences(&[first, second, third]);
        assert_eq!(
            union.differences,
            [
                "`GET /v2/a` of `1.json` is left out: an earlier document has this method of `/a`",
                "`GET /v1/b/me/{y}` of `2.json` also judges requests that `GET /v1/b/{x}/c` of `0.json` judges",
                "`GET /v1/b/{x}-1/{y}` of `2.json` also judges requests that `GET /v1/b/{x}/c` of `0.json` judges",
            ]
        );
    }

    #[test]
    fn an_operation_that_an_earlier_document_has_for_other_hosts_is_listed() {
        let of = |host: &str| paths(&json!([{"url": format!("https://{host}/v1")}]), &["/a"]);
        let union = with_differences(&[of("x.example"), of("y.example")]);
        let lost = "`GET /v1/a` of `1.json` is left out: an earlier document has it, for other hosts";
        assert_eq!(union.differences, [lost]);
        assert_eq!(with_differences(&[of("x.example"), of("x.example")]).differences, [""; 0]);
    }

    #[test]
    fn what_holds_for_whole_documents_that_differ_in_it_is_left_out_and_listed() {
        let document = |more: Value| {
            let mut document = paths(&json!([]), &[]);
            document.as_object_mut().unwrap().extend(object(Some(more)));
            document
        };
        let scopes = |name: &str| {
            json!({"components": {"securitySchemes": {"o": {"type": "oauth2", "flows": {"clientCredentials": {
                "tokenUrl": "/t", "scopes": {name: ""}}}}}}})
        };
        let union = with_differences(&[document(scopes("a")), document(scopes("b"))]);
        let expected = "the documents declare different scopes: one that any declares is no `auth.scope.undeclared`";
        assert_eq!(union.differences, [expected]);
        let types = || json!({"x-contrail-media-types": ["application/json"]});
        let union = with_differences(&[document(types()), document(types())]);
        assert_eq!(
            (&union.document["x-contrail-media-types"][0], union.differences.len()),
            (&"application/json".into(), 0)
        );
        let union = with_differences(&[document(json!({})), document(types())]);
        assert_eq!(union.document.get("x-contrail-media-types"), None);
        assert_eq!(
            union.differences,
            ["`x-contrail-media-types` holds for a whole document and is not in each alike: it is left out"]
        );
    }

    #[test]
    fn a_reference_to_an_operation_leads_to_that_of_its_own_document() {
        let document = |kind: &str| {
            let answer = json!({"description": "", "content": {"application/json": {"schema": {"type": kind}}}});
            json!({"openapi": "3.1.0", "info": {}, "paths": {
                "/s": {"get": {"responses": {"200": answer}}},
                (format!("/{kind}")): {"get": {"responses": {"200": {"$ref": "#/paths/~1s/get/responses/200"}}}}}})
        };
        let union = union_of(&[document("string"), document("number")]);
        for kind in ["string", "number"] {
            let response = &union["paths"][format!("/{kind}")]["get"]["responses"]["200"];
            let (_, response) = crate::contract::follow(&union, "", response).unwrap();
            assert_eq!(response["content"]["application/json"]["schema"]["type"], kind);
        }
    }

    #[test]
    fn a_renamed_schema_keeps_the_value_that_the_discriminator_of_its_parent_has_for_it() {
        let document = |kind: &str| {
            json!({"openapi": "3.1.0", "info": {}, "paths": {}, "components": {"schemas": {
                "Pet": {"discriminator": {"propertyName": "k"}},
                "Cat": {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {"v": {"type": kind}}}]}}}})
        };
        let union = union_of(&[document("string"), document("number")]);
        let schemas = &union["components"]["schemas"];
        assert_eq!(schemas["Pet"]["discriminator"], json!({"propertyName": "k"}));
        let mapping = json!({"Cat": "#/components/schemas/Cat_2"});
        assert_eq!(schemas["Pet_2"]["discriminator"], json!({"propertyName": "k", "mapping": mapping}));
    }

    #[test]
    fn a_dynamic_reference_leads_to_the_anchor_of_its_own_document() {
        let document = |kind: &str| {
            json!({"openapi": "3.1.0", "info": {}, "paths": {}, "components": {"schemas": {
                "List": {"items": {"$dynamicRef": "#x"}}, "Item": {"$dynamicAnchor": "x", "type": kind}}}})
        };
        let mut other = document("boolean");
        other["components"]["schemas"]["Item"]["$id"] = "https://x.example/item".into();
        let union = with_differences(&[document("string"), document("number"), other]);
        let schemas = &union.document["components"]["schemas"];
        assert_eq!(schemas["List"]["items"], json!({"$ref": "#/components/schemas/Item"}));
        assert_eq!(schemas["List_2"]["items"], json!({"$ref": "#/components/schemas/Item_2"}));
        assert_eq!(schemas["Item_2"], json!({"type": "number"}));
        assert_eq!(
            union.differences,
            ["`/components/schemas/List/items` of `2.json` is unusable: where its `$dynamicRef` leads depends on the \
              way to it"]
        );
    }

    #[test]
    fn a_component_whose_name_is_in_use_gets_another_one_and_keeps_its_references() {
        let document = |kind: &str| {
            json!({"openapi": "3.1.0", "info": {}, "paths": {(format!("/{kind}")): {"get": {
            "security": [{"s": ["x"]}], "responses": {"200": {"description": "", "content": {"application/json":
            {"schema": {"oneOf": [{"$ref": "#/components/schemas/A~1b"}], "discriminator": {"propertyName": "p"}}}}}}}}},
            "components": {"schemas": {"A/b": {"type": kind}, "C": {"$ref": "#/components/schemas/A~1b/type"}},
            "securitySchemes": {"s": {"type": kind}}}})
        };
        let union = union_of(&[document("string"), document("number")]);
        let schemas = &union["components"]["schemas"];
        assert_eq!((&schemas["A/b"]["type"], &schemas["A/b_2"]["type"]), (&json!("string"), &json!("number")));
        assert_eq!(schemas["C_2"]["$ref"], "#/components/schemas/A~1b_2/type");
        let get = &union["paths"]["/number"]["get"];
        assert_eq!(get["security"], json!([{"s_2": ["x"]}]));
        let choice = &get["responses"]["200"]["content"]["application/json"]["schema"];
        assert_eq!(choice["oneOf"], json!([{"$ref": "#/components/schemas/A~1b_2"}]));
        assert_eq!(choice["discriminator"]["mapping"], json!({"A/b": "#/components/schemas/A~1b_2"}));
    }
}
