use std::collections::HashSet;

use contrail_exchange::json::Document;
use serde_json::json;

use super::*;
use crate::{
    Contract,
    model::{Definition, Scheme},
    schema::{ASSERTED_FORMATS, SchemaVerdict, Schemas},
};

#[allow(clippy::needless_pass_by_value)] // `json!` gives values
fn minimal(paths: Value) -> Value {
    json!({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths})
}

fn contract(document: Value) -> Contract {
    Contract::from_document(document).unwrap()
}

fn not_implemented(document: Value) -> Vec<String> {
    contract(document).documents()[0]
        .not_implemented()
        .iter()
        .map(|told| format!("{} {}", told.at, told.what))
        .collect()
}

#[test]
fn the_built_in_document_compiles_and_nothing_of_it_is_left_unchecked() {
    let contract = Contract::built_in();
    let ids: Vec<&str> = contract.documents()[0].model().operations.iter().map(|operation| &*operation.id).collect();
    assert_eq!(
        ids,
        [
            "getRateLimitPolicy",
            "getConnectionProfileTemplates",
            "getSynchronizedGroups",
            "redeliverEvent",
            "updateVerifiableCredentialTemplate",
            "testAction",
            "requestToken"
        ]
    );
    assert_eq!(contract.documents()[0].not_implemented(), []);
    assert_eq!((&*contract.title(), &*contract.version()), ("Tenant Management Interface", "2.0"));
    assert_eq!(contract.hash().len(), 64);
}

#[test]
fn the_declared_catalogue_has_242_scopes_of_89_resources() {
    let contract = Contract::built_in();
    let scopes = contract.documents()[0].model().scopes.as_ref().unwrap();
    let resources: HashSet<&str> = scopes.iter().map(|scope| scope.split_once(':').unwrap().1).collect();
    assert_eq!((scopes.iter().count(), resources.len()), (242, 89));
    let verbs: HashSet<&str> = scopes.iter().map(|scope| scope.split_once(':').unwrap().0).collect();
    assert_eq!(verbs, HashSet::from(["create", "read", "update", "delete"]));
}

#[test]
fn every_operation_documents_the_three_headers_of_a_429() {
    for operation in &Contract::built_in().documents()[0].model().operations {
        let response = operation.responses.find(429).unwrap();
        let headers: Vec<&str> = response.headers.iter().map(|header| &*header.name).collect();
        assert_eq!(headers, ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"], "{}", operation.id);
    }
}

#[test]
fn only_the_first_operation_shows_its_scope_and_the_token_endpoint_asks_for_no_token() {
    for operation in &Contract::built_in().documents()[0].model().operations {
        let scopes = &operation.security.scopes;
        match &*operation.id {
            "getRateLimitPolicy" => assert_eq!(*scopes, [["read:rate_limit_policies".into()]]),
            _ => assert!(scopes.is_empty(), "{}", operation.id),
        }
        assert_eq!(operation.security.required, &*operation.id != "requestToken", "{}", operation.id);
        assert_eq!(operation.token_endpoint, &*operation.id == "requestToken", "{}", operation.id);
        let silent = !matches!(&*operation.id, "getRateLimitPolicy" | "requestToken");
        assert_eq!(operation.not_shown.contains(Unchecked::RequiredScope), silent, "{}", operation.id);
        assert_eq!(operation.not_shown.contains(Unchecked::SuccessStatus), &*operation.id != "getRateLimitPolicy");
    }
}

#[test]
fn paths_are_found_under_the_base_path_and_the_token_endpoint_beside_it() {
    let contract = Contract::built_in();
    for (method, path, expected) in [
        ("GET", "/api/v2/rate-limit-policies/x", Some(("getRateLimitPolicy", false))),
        ("GET", "/rate-limit-policies/x", None),
        ("GET", "/api/v2/rate-limit-policies/x/", None),
        ("GET", "/api/v2/rate-limit-policies/", None),
        ("GET", "/api/v2/rate-limit-policies//", None),
        ("GET", "/api/v2/Rate-limit-policies/x", None),
        ("HEAD", "/api/v2/rate-limit-policies/x", None),
        (
            "PATCH",
            "/api/v2/verifiable-credentials/verification/templates/x%2Fy",
            Some(("updateVerifiableCredentialTemplate", false)),
        ),
        ("POST", "/oauth/token/", Some(("requestToken", false))),
        ("POST", "/oauth/token", Some(("requestToken", true))),
        ("POST", "/api/v2/oauth/token", None),
        ("POST", "/oauth/token//", None),
        ("GET", "/oauth/token", None),
    ] {
        let found = contract.find(method, path);
        let found = found.as_ref().map(|matched| (&*matched.operation.id, matched.other_spelling));
        assert_eq!(found, expected, "{method} {path}");
    }
}

#[test]
fn the_contract_covers_its_base_path_and_its_token_endpoint_and_nothing_else() {
    let contract = Contract::built_in();
    for path in ["/api/v2", "/api/v2/", "/api/v2/nothing", "/oauth/token", "/oauth/token/"] {
        assert!(contract.covers(path), "{path}");
    }
    for path in ["/", "/api/v22", "/api", "/oauth/tokens", "/other", ""] {
        assert!(!contract.covers(path), "{path}");
    }
}

#[test]
fn an_unusable_schema_is_listed_with_its_place_even_if_nothing_uses_it() {
    let unusable = |document: Value| -> Vec<String> {
        contract(document).documents()[0].unusable_places().map(|place| place.at.clone()).collect()
    };
    let mut document = minimal(json!({"/a": {"get": {"parameters": [
        {"name": "n", "in": "query", "schema": {"type": "integr"}},
    ]}}}));
    assert_eq!(unusable(document.clone()), ["/paths/~1a/get/parameters/0/schema/type"]);
    document["paths"] = json!({});
    document["components"] = json!({"schemas": {"A": {"pattern": "("}}});
    assert_eq!(unusable(document), ["/components/schemas/A/pattern"]);
}

#[test]
fn what_operations_refer_to_and_inherit_is_compiled_once() {
    let message = json!({"content": {"application/json": {"schema": {"type": "object"}}}, "headers": {"X": {}}});
    let operation = json!({"parameters": [{"$ref": "#/components/parameters/Q"}], "requestBody": {"$ref": "#/components/requestBodies/B"},
        "responses": {"200": {"$ref": "#/components/responses/R"}}});
    let mut document = minimal(json!({"/a": {"post": operation}, "/b": {"post": operation}}));
    document["security"] = json!([{"s": []}]);
    document["components"] = json!({"parameters": {"Q": {"name": "q", "in": "query"}}, "requestBodies": {"B": message},
        "responses": {"R": message}, "securitySchemes": {"s": {"type": "http", "scheme": "bearer"}}});
    let contract = contract(document);
    let [a, b] = &contract.documents()[0].model().operations[..] else { panic!("two operations") };
    let body = |operation: &Operation| match &operation.request_body {
        RequestBody::Documented { content, .. } => Arc::clone(content),
        other => panic!("{other:?}"),
    };
    let response = |operation: &Operation| {
        let response = operation.responses.find(200).unwrap();
        (Arc::clone(&response.content), Arc::clone(&response.headers))
    };
    assert!(Arc::ptr_eq(&a.security, &b.security) && a.security.required);
    assert!(Arc::ptr_eq(&a.parameters[0], &b.parameters[0]));
    assert!(Arc::ptr_eq(&body(a), &body(b)) && body(a).len() == 1);
    let ((content, headers), (other_content, other_headers)) = (response(a), response(b));
    assert!(Arc::ptr_eq(&content, &other_content) && content.len() == 1);
    assert!(Arc::ptr_eq(&headers, &other_headers) && headers.len() == 1);
}

#[test]
fn what_a_document_multiplies_beyond_its_bounds_is_listed_as_left_out() {
    let paths: Map<String, Value> =
        (0..101).map(|path| (format!("/p{path}"), json!({"$ref": "#/components/pathItems/P"}))).collect();
    let operations: Map<String, Value> = (0..1000).map(|name| (format!("M{name}"), json!({}))).collect();
    let mut document = minimal(Value::Object(paths));
    document["openapi"] = json!("3.2.0");
    document["components"] = json!({"pathItems": {"P": {"additionalOperations": operations}}});
    document["servers"] = (0..10_001).map(|base| json!({"url": format!("/b{base}")})).collect();
    let contract = contract(document);
    let document = &contract.documents()[0];
    assert_eq!(document.model().operations.len(), 100_000);
    let unusable: Vec<String> =
        document.unusable_places().map(|place| format!("{} {}", place.at, place.reason)).collect();
    assert!(unusable.contains(&"/servers/10000 10000 base paths precede it".to_owned()), "{unusable:?}");
    let left_out = "100000 operations precede it: it and the rest of `/p100` are left out";
    assert_eq!(unusable.last().map(|place| place.ends_with(left_out)), Some(true), "{unusable:?}");
    assert!(contract.find("M999", "/b9999/p99").is_some());
    assert!(contract.find("M0", "/b9999/p100").is_none());
}

#[test]
fn a_path_item_of_several_paths_is_compiled_once_and_a_second_parameter_of_a_name_is_listed() {
    let parameter = |place: &str| json!({"name": "q", "in": place, "schema": {}});
    let item = json!({"parameters": [parameter("query"), parameter("query"), parameter("header")], "get": {}});
    let shared = json!({"$ref": "#/components/pathItems/P"});
    let mut document = minimal(json!({"/a": shared, "/b": shared}));
    document["components"] = json!({"pathItems": {"P": item}});
    let contract = contract(document);
    let document = &contract.documents()[0];
    let [a, b] = &document.model().operations[..] else { panic!("two operations") };
    assert_eq!([&*a.id, &*b.id, &*a.path, &*b.path], ["GET /a", "GET /b", "/a", "/b"]);
    assert!(Arc::ptr_eq(&a.parameters, &b.parameters) && Arc::ptr_eq(&a.responses, &b.responses));
    assert_eq!(a.parameters.len(), 2);
    let unusable: Vec<&str> = document.unusable_places().map(|place| &*place.at).collect();
    assert_eq!(unusable, ["/components/pathItems/P/parameters/1"]);
}

#[test]
fn a_bad_place_is_listed_and_never_refuses_the_document() {
    for (paths, expected) in [
        (
            json!({"/a": {"get": {"security": [{"nope": []}]}}}),
            "/paths/~1a/get/security/0 the document does not define the security scheme `nope`",
        ),
        (json!({"/a": {"get": []}}), "/paths/~1a/get it has to be an object"),
        (json!({"/a": 5}), "/paths/~1a it has to be an object"),
        (
            json!({"/a": {"$ref": "#/nowhere"}}),
            "/paths/~1a/$ref it refers to `#/nowhere`, which the document does not define",
        ),
        (json!({"/a/{id": {"get": {}}}), "/paths/~1a~1{id/get the path `/a/{id` cannot be routed"),
        (json!({"/a": {"get": {"parameters": {}}}}), "/paths/~1a/get/parameters it has to be a list"),
        (json!({"/a": {"get": {"parameters": [{"in": "query"}]}}}), "/paths/~1a/get/parameters/0 `name` has to be"),
        (
            json!({"/a": {"get": {"parameters": [{"name": "a", "in": "moon"}]}}}),
            "/paths/~1a/get/parameters/0 `in: moon`",
        ),
        (json!({"/a": {"get": {"responses": {"2X": {}}}}}), "/paths/~1a/get/responses/2X `2X` is neither a status"),
        (
            json!({"/a": {"get": {"responses": {"200": {"$ref": "other.yaml#/r"}}}}}),
            "/paths/~1a/get/responses/200/$ref it refers to `other.yaml#/r`, which is not a place in the document or in a file beside it",
        ),
        (
            json!({"/a": {"get": {"responses": {"200": {"content": {"json": {}}}}}}}),
            "/paths/~1a/get/responses/200/content/json `json` is not a media type",
        ),
        (json!({"/a": {"get": {"requestBody": []}}}), "/paths/~1a/get/requestBody it has to be an object"),
        (json!({"/a": {"get": {"operationId": 5}}}), "/paths/~1a/get/operationId it has to be a string"),
        (
            json!({"/a": {"get": {"operationId": "x"}, "put": {"operationId": "x"}}}),
            "/paths/~1a/put/operationId the operation id `x` is also that of `/a`",
        ),
        (
            json!({"/a": {"get": {"x-contrail-relations": [{"kind": "identity", "parameter": "id", "response": "/id"}]}}}),
            "/paths/~1a/get/x-contrail-relations/0 the operation documents no path parameter `id`",
        ),
        (json!({"/a": {"get": {"servers": [{}]}}}), "/paths/~1a/get/servers/0 it needs a `url`"),
        (json!({"/a": {"get": {"servers": {}}}}), "/paths/~1a/get/servers it has to be a list"),
        (
            json!({"/a": {"get": {"requestBody": {"required": "true"}}}}),
            "/paths/~1a/get/requestBody/required it has to be true or false",
        ),
        (
            json!({"/a": {"get": {"x-contrail-request-body": "maybe"}}}),
            "/paths/~1a/get/x-contrail-request-body it has to be `none`",
        ),
        (
            json!({"/a": {"get": {"parameters": [{"name": "q", "in": "query", "explode": "false"}]}}}),
            "/paths/~1a/get/parameters/0/explode it has to be true or false",
        ),
        (
            json!({"/a": {"get": {"parameters": [{"name": "q", "in": "query", "required": 1}]}}}),
            "/paths/~1a/get/parameters/0/required it has to be true or false",
        ),
        (
            json!({"/a": {"get": {"responses": {"200": {"headers": {"X": "s"}}}}}}),
            "/paths/~1a/get/responses/200/headers/X it has to be an object",
        ),
        (json!({"/a": {"get": {"responses": {"200": "s"}}}}), "/paths/~1a/get/responses/200 it has to be an object"),
    ] {
        let mut paths = paths;
        paths["/good"] = json!({"get": {"operationId": "good"}});
        let contract = contract(minimal(paths));
        let listed: Vec<String> =
            contract.documents()[0].unusable_places().map(|place| format!("{} {}", place.at, place.reason)).collect();
        assert!(listed.len() == 1 && listed[0].starts_with(expected), "{expected}: {listed:?}");
        assert!(contract.find("GET", "/good").is_some(), "{expected}");
    }
}

#[test]
fn an_unusable_media_type_leaves_the_body_unjudged() {
    let response = json!({"200": {"content": {"json": {}, "application/json": {"schema": {"type": "object"}}}}});
    let contract = contract(minimal(json!({"/a": {"get": {"responses": response}}})));
    let content = &contract.documents()[0].model().operations[0].responses.find(200).unwrap().content;
    let types: Vec<_> = content.iter().map(|content| (content.range.essence(), content.schema.is_some())).collect();
    assert_eq!(types, [("application/json", true), ("*/*", false)]);
}

#[test]
fn what_is_not_implemented_is_listed_and_left_out_of_the_model() {
    let mut document = minimal(json!({"/a": {
        "parameters": [
            {"name": "x", "in": "query", "content": {"application/xml": {"schema": {}}}},
            {"name": "s", "in": "header", "style": "form", "schema": {}},
        ],
        "post": {
            "operationId": "a",
            "callbacks": {},
            "requestBody": {"content": {"application/xml": {"schema": {"type": "object"}},
                "text/csv": {"schema": {"type": "array"}}, "text/html": {"schema": {"type": "string"}},
                "text/xml": {"schema": {"type": "string"}}, "multipart/form-data":
                {"encoding": {"a": {"headers": {"X-A": {"required": true}}, "encoding": {}}}}}},
                    },
    }}));
    document["webhooks"] = json!({});
    assert_eq!(
        not_implemented(document.clone()),
        [
            "/paths/~1a/parameters/0/content/application~1xml parameters of `application/xml` are not checked",
            "/paths/~1a/post/callbacks callbacks are not checked",
            "/paths/~1a/post/requestBody/content/application~1xml bodies of `application/xml` are not checked against their schema",
            "/paths/~1a/post/requestBody/content/text~1csv bodies of `text/csv` are not checked against their schema",
            "/paths/~1a/post/requestBody/content/text~1xml bodies of `text/xml` are not checked against their schema",
            "/paths/~1a/post/requestBody/content/multipart~1form-data/encoding/a/headers headers of parts are not checked",
            "/paths/~1a/post/requestBody/content/multipart~1form-data/encoding/a/encoding `encoding` is not read",
            "/webhooks webhooks are not checked",
        ]
        .map(str::to_owned)
        .to_vec()
        .into_iter()
        .collect::<Vec<_>>()
    );
    let contract = contract(document);
    let operation = &contract.documents()[0].model().operations[0];
    assert!(operation.parameters.iter().all(|parameter| matches!(parameter.definition, Definition::NotRead)));
    let unusable: Vec<_> = contract.documents()[0].unusable_places().map(|place| &*place.at).collect();
    assert_eq!(unusable, ["/paths/~1a/parameters/1/style"]);
}

#[test]
fn what_schemas_say_in_ways_that_are_not_checked_is_listed() {
    let mut document = minimal(json!({}));
    document["components"] = json!({"schemas": {
        "A": {"$anchor": "a", "format": "int65", "readOnly": true, "properties": {"format": {"format": "date-time"}}},
        "B": {"$ref": "#a"},
        "C": {"format": "secret-form", "x-contrail-not-shown": ["format-grammar"], "enum": [{"format": "x"}]},
        "D": {"$ref": "#/components/schemas/A"},
        "E": {"type": "string", "contentSchema": {"type": "integer"}},
        "F": {"type": "string", "contentSchema": true},
        "G": {"type": "string", "contentMediaType": "application/json", "contentSchema": {"type": "integer"}},
    }});
    assert_eq!(
        not_implemented(document),
        [
            "/components/schemas/A the format `int65` is not checked",
            "/components/schemas/E `contentSchema` is not checked: contrail reads the content of a text only if that \
             is JSON (here and at 1 more place)"
        ]
    );
}

/// One text that each asserted format refuses: a format that is on the list and not asserted would be a silent pass.
#[test]
fn every_format_that_counts_as_checked_is_asserted() {
    let mut passed = Vec::new();
    for format in ASSERTED_FORMATS {
        let schema = json!({ "format": format });
        let compiled = Schemas::new(&std::sync::Arc::new(schema)).at("");
        let odd = if format == "regex" { "(" } else { "<%>{ " };
        // An integer's format is a range.
        let number = Document::parse("1e30".to_owned()).unwrap();
        let violates = |judged: SchemaVerdict| !judged.violations.is_empty();
        if compiled.violations_of_text(odd).unwrap().is_empty()
            && !compiled.judge(&number, &|_| false).is_ok_and(violates)
        {
            passed.push(format);
        }
    }
    assert_eq!(passed, [""; 0]);
}

#[test]
fn a_security_scheme_that_no_message_shows_is_listed_and_one_that_is_not_defined_leaves_authentication_unchecked() {
    let schemes = |name: &str| {
        let mut document = minimal(json!({"/a": {"get": {"security": [{name: []}]}}}));
        document["components"] = json!({"securitySchemes": {"tls": {"type": "mutualTLS"}}});
        contract(document)
    };
    let hidden = schemes("tls");
    assert_eq!(
        hidden.documents()[0].not_implemented()[0].what,
        "the security scheme `tls` is not checked: a client's certificate is in no HTTP message"
    );
    assert!(!hidden.documents()[0].model().operations[0].security.required);
    let others = |name: &str| {
        let document = schemes(name);
        document.documents()[0].model().operations[0].security.alternatives[0].others.clone()
    };
    assert_eq!(others("other"), [Scheme::Unseen("other".into())]);
}

#[test]
fn parameters_of_the_path_item_hold_unless_the_operation_says_otherwise() {
    let parameter = |max: u64| json!({"name": "n", "in": "query", "required": max == 1, "schema": {"maximum": max}});
    let document =
        minimal(json!({"/a": {"parameters": [parameter(9)], "get": {}, "put": {"parameters": [parameter(1)]}}}));
    let contract = contract(document);
    let required: Vec<Vec<bool>> = contract.documents()[0]
        .model()
        .operations
        .iter()
        .map(|operation| operation.parameters.iter().map(|parameter| parameter.required).collect())
        .collect();
    assert_eq!(required, [[false], [true]]);
    assert_eq!(&*contract.documents()[0].model().operations[0].id, "GET /a");
}

#[test]
fn an_operation_is_found_under_every_server_and_its_own_servers_come_first() {
    let mut document = minimal(json!({
        "/a": {"get": {"operationId": "a"}},
        "/b": {"servers": [{"url": "https://x.example/own"}], "get": {"operationId": "b"}},
    }));
    document["servers"] = json!([{"url": "https://x.example/v1"}, {"url": "/v2/"}, {"url": "https://y.example/v1"}]);
    let contract = contract(document);
    for (path, expected) in [("/v1/a", true), ("/v2/a", true), ("/a", false), ("/own/b", true), ("/v1/b", false)] {
        assert_eq!(contract.find("GET", path).is_some(), expected, "{path}");
    }
}

#[test]
fn a_document_that_refers_to_itself_compiles() {
    let mut document = minimal(json!({"/a": {"get": {"responses": {"200": {
        "description": "", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/T"}}},
    }}}}}));
    document["components"] = json!({"schemas": {"T": {
        "type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/T"}}},
    }}});
    contract(document);
}

#[test]
fn the_hash_is_that_of_the_effective_document() {
    let folder = tempfile::tempdir().unwrap();
    let overlay = folder.path().join("o.yaml");
    std::fs::write(&overlay, "overlay: 1.0.0\nactions:\n  - target: $.info\n    update: {title: Other}\n").unwrap();
    let changed = Contract::load(&[], std::slice::from_ref(&overlay)).unwrap();
    let built_in = Contract::built_in();
    assert_ne!(changed.hash(), built_in.hash());
    assert_eq!(changed.title(), "Other");
    let exported = folder.path().join("e.yaml");
    for text in [built_in.to_yaml(), built_in.document().to_string()] {
        std::fs::write(&exported, text).unwrap();
        assert_eq!(Contract::load(std::slice::from_ref(&exported), &[]).unwrap().hash(), built_in.hash());
    }
}

#[test]
fn an_overlay_can_show_a_scope_with_either_scheme() {
    let folder = tempfile::tempdir().unwrap();
    let overlay = folder.path().join("o.yaml");
    for update in [
        "{security: [{bearerAuth: ['read:connections']}]}",
        "{security: [{oAuth2ClientCredentials: ['read:connections']}]}",
    ] {
        let action = "$.paths['/connections/{id}/directory-provisioning/synchronized-groups'].get";
        std::fs::write(&overlay, format!("overlay: 1.0.0\nactions:\n  - target: \"{action}\"\n    update: {update}\n"))
            .unwrap();
        let contract = Contract::load(&[], std::slice::from_ref(&overlay)).unwrap();
        let operation = &contract.documents()[0].model().operations[2];
        assert_eq!(operation.security.scopes, [["read:connections".into()]], "{update}");
        assert!(operation.security.required && !operation.not_shown.contains(Unchecked::RequiredScope));
        assert_eq!(contract.warnings(), [""; 0]);
    }
}

#[test]
fn what_openapi_3_2_adds_and_contrail_does_not_read_is_listed() {
    let media = json!({"schema": {"$ref": "#/components/schemas/A"}, "prefixEncoding": [{}], "itemEncoding": {}});
    let mut document = minimal(json!({"/a": {
        "query": {"operationId": "q", "requestBody": {"content": {"multipart/form-data": media}}},
        "additionalOperations": {"LINK": {"operationId": "l"}, "POST": {"operationId": "p"}, "A B": {"operationId": "x"}},
    }}));
    document["openapi"] = json!("3.2.0");
    document["components"] = json!({"schemas": {
        "A": {"oneOf": [{"$ref": "#/components/schemas/B"}],
              "discriminator": {"propertyName": "k", "defaultMapping": "C"}},
        "B": {"type": "object"},
        "C": {"type": "object"},
    }});
    assert_eq!(
        not_implemented(document.clone()),
        [
            "/paths/~1a/query/requestBody/content/multipart~1form-data/prefixEncoding `prefixEncoding` is not read",
            "/paths/~1a/query/requestBody/content/multipart~1form-data/itemEncoding `itemEncoding` is not read",
            "/components/schemas/A/discriminator `defaultMapping` leads to no branch: values under this discriminator are unchecked",
        ]
    );
    let contract = contract(document);
    let ids: Vec<&str> = contract.documents()[0].model().operations.iter().map(|operation| &*operation.id).collect();
    assert_eq!(ids, ["q", "l"]);
    assert!(contract.find("QUERY", "/a").is_some() && contract.find("LINK", "/a").is_some());
    let unusable: Vec<_> = contract.documents()[0].unusable_places().map(|place| &*place.reason).collect();
    assert_eq!(unusable, ["`POST` is not a method that is allowed here", "`A B` is not a method that is allowed here"]);
}
