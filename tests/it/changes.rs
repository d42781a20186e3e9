//! `contrail diff --contract OLD --contract NEW`: what changed between two contracts, and what would now fail.

use std::{fs, path::Path, sync::Arc};

use contrail_contract::{
    Contract,
    compare::{Change, compare},
};
use serde_json::{Value, json};

use crate::support::{
    command::{Ran, contrail, run_in},
    golden::{assert_golden, assert_output},
    har,
};

fn contract(document: &Value) -> Contract {
    let mut whole = json!({"openapi": "3.1.0", "info": {"title": "T", "version": "1"}});
    whole.as_object_mut().unwrap().extend(document.as_object().unwrap().clone());
    Contract::from_document(whole).unwrap()
}

/// The changes between two documents, each as `IMPACT KIND [OPERATION] PLACE`.
fn changes(old: &Value, new: &Value) -> Vec<String> {
    let line = |change: Change| {
        let parts = [change.impact.name(), &change.kind, change.operation.as_deref().unwrap_or("-"), &change.place];
        parts.join(" ").trim_end().to_owned()
    };
    compare(&contract(old), &contract(new)).into_iter().map(line).collect()
}

fn with_operation(operation: &Value) -> Value {
    json!({"paths": {"/x/{id}": {"post": operation}}})
}

/// The changes that a schema makes in a request body and in a response body, without what is the same in both.
fn in_bodies(old: &Value, new: &Value) -> [Vec<String>; 2] {
    let of = |document: fn(&Value) -> Value, subject: &str, place: &str| {
        let strip =
            |line: String| line.replacen(&format!("{subject}-"), "", 1).replace(place, "").trim_end().to_owned();
        changes(&document(old), &document(new)).into_iter().map(strip).map(|line| line.replace(" op", "")).collect()
    };
    let request = |schema: &Value| {
        with_operation(
            &json!({"operationId": "op", "requestBody": {"content": {"application/json": {"schema": schema}}}}),
        )
    };
    let response = |schema: &Value| {
        let content = json!({"application/json": {"schema": schema}});
        with_operation(&json!({"operationId": "op", "responses": {"200": {"description": "", "content": content}}}))
    };
    [of(request, "request-body", " request body"), of(response, "response-body", " response 200")]
}

#[test]
fn a_request_may_only_get_wider_and_a_response_only_narrower() {
    let mut told = Vec::new();
    for (old, new) in [
        (json!({"type": "string"}), json!({"type": "integer"})),
        (json!({"type": "integer"}), json!({"type": "number"})),
        (json!({"type": "string"}), json!({"type": ["string", "null"]})),
        (json!({"enum": ["a", "b"]}), json!({"enum": ["a"]})),
        (json!({"enum": ["a"]}), json!({"enum": ["a", "b"]})),
        (json!({"const": "a"}), json!({"enum": ["a", "b"]})),
        (json!({"type": "string"}), json!({"type": "string", "enum": ["a"]})),
        (json!({"type": "string", "maxLength": 10}), json!({"type": "string", "maxLength": 5})),
        (json!({"type": "integer", "minimum": 10}), json!({"type": "integer", "minimum": 5})),
        (json!({"type": "string"}), json!({"type": "string", "pattern": "a"})),
        (json!({"type": "string", "pattern": "a"}), json!({"type": "string", "pattern": "b"})),
        (json!({"type": "string"}), json!({"type": "string", "format": "uuid"})),
        (json!({"type": "object"}), json!({"type": "object", "additionalProperties": false})),
        (json!({"type": "object"}), json!({"type": "object", "properties": {"a": {"type": "string"}}})),
        (json!({"type": "object", "properties": {"a": {"type": "string"}}}), json!({"type": "object"})),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        ),
        (
            json!({"type": "object"}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}),
            json!({"type": "object", "additionalProperties": false}),
        ),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            json!({"type": "array", "items": {"type": "string", "maxLength": 3}}),
        ),
        (json!({}), json!({"type": "string"})),
        (json!({"type": "string"}), json!({"description": "nothing"})),
        (json!({"type": "string", "description": "a"}), json!({"type": "string", "description": "b", "x-a": 1})),
        (
            json!({"type": "string", "x-contrail-known-values": ["a"]}),
            json!({"type": "string", "x-contrail-known-values": ["b"]}),
        ),
    ] {
        let [request, response] = in_bodies(&old, &new);
        let (request, response) = (request.join(", "), response.join(", "));
        told.push(format!("{old} → {new}\n  request: {request}\n  response: {response}\n"));
    }
    assert_golden("diff/a_request_may_only_get_wider_and_a_response_only_narrower.txt", &told.concat());
}

#[test]
fn bounds_are_compared_by_what_they_allow_whatever_keyword_states_them() {
    let of = |kind: &str, schema: &Value| {
        let mut schema = schema.clone();
        schema["type"] = json!(kind);
        schema
    };
    let number = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    for (kind, old, new, request) in [
        (
            "integer",
            json!({"maximum": 9}),
            json!({"exclusiveMaximum": 100}),
            Some("non-breaking exclusive-maximum-increased"),
        ),
        ("integer", json!({"maximum": 9}), json!({"exclusiveMaximum": 10}), None),
        ("integer", json!({"exclusiveMinimum": 0}), json!({"minimum": 1}), None),
        ("number", json!({"maximum": 9}), json!({"exclusiveMaximum": 9}), Some("breaking exclusive-maximum-decreased")),
        ("number", json!({"exclusiveMinimum": 9}), json!({"minimum": 9}), Some("non-breaking minimum-decreased")),
        ("number", json!({"maximum": 9}), json!({"maximum": 9, "exclusiveMaximum": 20}), None),
        (
            "number",
            json!({"maximum": 9, "exclusiveMaximum": 5}),
            json!({"maximum": 9}),
            Some("non-breaking maximum-increased"),
        ),
        ("number", json!({"minimum": 1}), json!({"minimum": 1.0}), None),
        ("number", json!({"minimum": 0.5}), json!({"minimum": number("5e-1")}), None),
        ("number", json!({"multipleOf": 1}), json!({"multipleOf": 1.0}), None),
        ("number", json!({"enum": [1, 2]}), json!({"enum": [1.0, 2]}), None),
        (
            "integer",
            json!({"maximum": number("9007199254740993")}),
            json!({"maximum": number("9007199254740992")}),
            Some("breaking maximum-decreased"),
        ),
        ("string", json!({}), json!({"minLength": 0}), None),
        ("array", json!({"minItems": 0}), json!({"minItems": 1}), Some("breaking min-items-set")),
        ("object", json!({"minProperties": 1}), json!({"minProperties": 0}), Some("non-breaking min-properties-unset")),
    ] {
        let [found, _] = in_bodies(&of(kind, &old), &of(kind, &new));
        assert_eq!(found, Vec::from_iter(request), "{old} {new}");
    }
    let parameter = |schema: Value| {
        with_operation(&json!({"parameters": [{"name": "q", "in": "query", "schema": of("integer", &schema)}]}))
    };
    let (old, new) = (parameter(json!({"maximum": 9})), parameter(json!({"exclusiveMaximum": 100})));
    assert_eq!(compare(&contract(&old), &contract(&new))[0].message, "`maximum` 9 became `exclusiveMaximum` 100");
}

#[test]
fn what_is_not_compared_by_what_it_allows_is_changed_and_never_judged() {
    let string = |max: u32| json!({"type": "string", "maxLength": max});
    let object = |property: &str| json!({"type": "object", "required": [property]});
    for (old, new, expected) in [
        (json!({"not": string(1)}), json!({"not": string(2)}), "unclear schema-changed"),
        (json!({"oneOf": [string(2)]}), json!({"oneOf": [string(1)]}), "unclear max-length-decreased"),
        (json!({"anyOf": [string(2)]}), json!({"anyOf": [string(2), string(9)]}), "unclear schema-changed"),
        (
            json!({"type": "string", "if": string(1)}),
            json!({"type": "string", "then": string(1)}),
            "unclear schema-changed",
        ),
        (
            json!({"patternProperties": {"a": string(1)}}),
            json!({"patternProperties": {"a": string(2)}}),
            "unclear schema-changed",
        ),
        (
            json!({"type": "number", "multipleOf": 2}),
            json!({"type": "number", "multipleOf": 3}),
            "unclear multiple-of-changed",
        ),
        (json!(false), string(1), "unclear schema-changed"),
    ] {
        assert_eq!(in_bodies(&old, &new), [[expected], [expected]], "{old} {new}");
    }
    // One part of an `allOf` may make up for another.
    let (old, new) =
        (json!({"allOf": [object("a"), {"type": "object"}]}), json!({"allOf": [{"type": "object"}, object("a")]}));
    for found in in_bodies(&old, &new) {
        assert!(found.len() == 2 && found.iter().all(|line| line.starts_with("unclear")), "{found:?}");
    }
    // Null makes up for nothing.
    let or_null = |max| json!({"oneOf": [{"type": "null"}, string(max)]});
    let judged = [["breaking max-length-decreased"], ["non-breaking max-length-decreased"]];
    assert_eq!(in_bodies(&or_null(2), &or_null(1)), judged);
    // A single part that changes is judged.
    let (old, new) =
        (json!({"allOf": [string(2), {"type": "string"}]}), json!({"allOf": [string(1), {"type": "string"}]}));
    assert_eq!(in_bodies(&old, &new), [["breaking max-length-decreased"], ["non-breaking max-length-decreased"]]);
}

#[test]
fn a_read_only_property_is_none_of_a_request_and_a_write_only_one_none_of_a_response() {
    let object = |required: Value, key: &str| json!({"type": "object", "properties": {"a": {"type": "string", key: true}}, "required": required});
    let of = |key| in_bodies(&object(json!([]), key), &object(json!(["a"]), key));
    assert_eq!(of("readOnly")[0], [""; 0]);
    assert_eq!(of("readOnly")[1].len(), 1);
    assert_eq!(of("writeOnly")[0].len(), 1);
    assert_eq!(of("writeOnly")[1], [""; 0]);
}

#[test]
fn schemas_that_state_the_same_elsewhere_or_refer_to_themselves_do_not_differ() {
    let tree = json!({"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Tree"}, "n": {"type": "integer"}}});
    let document = |schema: Value, components: Value| {
        let body = json!({"content": {"application/json": {"schema": schema}}});
        let mut whole = with_operation(&json!({"operationId": "op", "requestBody": body}));
        whole["components"] = json!({"schemas": components});
        whole
    };
    let referred = document(json!({"$ref": "#/components/schemas/Tree"}), json!({"Tree": tree}));
    let inline = document(tree.clone(), json!({"Tree": tree}));
    assert_eq!(changes(&referred, &inline), [""; 0]);
    let mut other = tree;
    other["properties"]["n"]["maximum"] = json!(3);
    let narrower = document(json!({"$ref": "#/components/schemas/Tree"}), json!({"Tree": other}));
    assert_eq!(changes(&referred, &narrower), ["breaking request-property-maximum-set op request body at `/n`"]);
}

#[test]
fn what_changed_in_a_schema_that_many_messages_share_is_listed_for_each() {
    let document = |maximum: u32| {
        let body = json!({"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}});
        let operation = json!({"requestBody": body, "responses": {"200": body}});
        json!({"paths": {"/a": {"post": operation}, "/b": {"post": operation}}, "components": {"schemas": {
            "S": {"type": "object", "properties": {"same": {"$ref": "#/components/schemas/Same"}, "n": {"type": "integer", "maximum": maximum}}},
            "Same": {"type": "string"}}}})
    };
    assert_eq!(changes(&document(5), &document(5)), [""; 0]);
    let found = changes(&document(5), &document(3));
    let of =
        |operation: &str| format!("breaking request-property-maximum-decreased POST {operation} request body at `/n`");
    for operation in ["/a", "/b"] {
        assert!(found.contains(&of(operation)), "{found:?}");
    }
    assert_eq!(found.len(), 4, "{found:?}");
}

#[test]
fn operations_are_the_same_by_method_and_path_whatever_their_names_and_servers() {
    let document = |server: &str, path: &str, id: &str| json!({"servers": [{"url": server}], "paths": {path: {"get": {"operationId": id}}}});
    let old = document("/v1", "/x/{id}", "a");
    assert_eq!(changes(&old, &document("/", "/v1/x/{key}", "b")), [""; 0]);
    assert_eq!(
        changes(&old, &document("/v2", "/x/{id}", "a")),
        ["breaking base-path-removed - base path `/v1`", "non-breaking base-path-added - base path `/v2`"]
    );
    assert_eq!(
        changes(&old, &document("/v1", "/y", "b")),
        ["non-breaking operation-added b", "breaking operation-removed a"]
    );
}

#[test]
fn a_new_operation_that_takes_requests_of_another_one_is_breaking() {
    let document = |paths: &[&str]| {
        let paths: Value = paths.iter().map(|path| (String::from(*path), json!({"post": {}}))).collect();
        json!({"servers": [{"url": "/v1"}], "paths": paths})
    };
    for (path, expected) in [
        ("/a/x", "breaking operation-added POST /a/x"),
        ("/a/{id}.json", "breaking operation-added POST /a/{id}.json"), // more literal text comes first
        ("/a{id}/x", "non-breaking operation-added POST /a{id}/x"),
        ("/b", "non-breaking operation-added POST /b"),
    ] {
        assert_eq!(changes(&document(&["/a/{id}"]), &document(&["/a/{id}", path])), [expected]);
    }
    let (old, new) = (contract(&document(&["/a/{id}"])), contract(&document(&["/a/{id}.json", "/a/{id}"])));
    let found = &compare(&old, &new)[0];
    let expected = "POST /a/{id}.json: the operation is new, and its requests were of POST /a/{id}";
    assert_eq!((found.impact.name(), &*found.message), ("breaking", expected));
}

#[test]
fn a_response_of_a_further_status_or_media_type_depends_on_the_client() {
    let operation = |responses: Value| with_operation(&json!({"operationId": "op", "responses": responses}));
    let text = json!({"description": "", "content": {"text/plain": {}}});
    let old = operation(json!({"200": text}));
    let any = json!({"description": "", "content": {"*/*": {}}});
    for (new, expected) in [
        (json!({"2XX": text}), "response-success-status-added op response 2XX"),
        (json!({"200": text, "201": text}), "response-success-status-added op response 201"),
        (json!({"200": text, "429": text}), "response-non-success-status-added op response 429"),
        (json!({"200": text, "default": text}), "response-default-added op response `default`"),
        (json!({"200": any}), "response-media-type-added op response 200"),
    ] {
        assert_eq!(changes(&old, &operation(new.clone())), [format!("unclear {expected}")], "{new}");
    }
    // The old contract stated nothing of such statuses.
    let silent = |responses: Value| {
        let not_shown = ["success-status", "error-status"];
        with_operation(&json!({"operationId": "op", "x-contrail-not-shown": not_shown, "responses": responses}))
    };
    assert_eq!(
        changes(&silent(json!({"200": text})), &silent(json!({"200": text, "201": text, "429": text}))),
        [
            "non-breaking response-success-status-added op response 201",
            "non-breaking response-non-success-status-added op response 429"
        ]
    );
}

#[test]
fn a_new_property_that_further_properties_were_is_unclear() {
    let object = |further: Value, properties: Value| json!({"type": "object", "additionalProperties": further, "properties": properties});
    for (further, request, response) in [
        (json!(true), "unclear", "non-breaking"),
        (json!({"type": "string"}), "unclear", "unclear"),
        (json!(false), "non-breaking", "unclear"),
    ] {
        let added = object(further.clone(), json!({"a": {"type": "integer"}}));
        let expected = [
            [format!("{request} new-optional-request-property at `/a`")],
            [format!("{response} response-property-added at `/a`")],
        ];
        assert_eq!(in_bodies(&object(further, json!({})), &added), expected);
    }
}

#[test]
fn parameters_bodies_responses_and_headers_are_compared_one_by_one() {
    let parameter = |name: &str, place: &str, required: bool| json!({"name": name, "in": place, "required": required, "schema": {"type": "string"}});
    let old = with_operation(&json!({"operationId": "op",
        "parameters": [parameter("id", "path", true), parameter("gone", "query", false), parameter("X-A", "header", false)],
        "requestBody": {"content": {"application/json": {}, "text/plain": {}}},
        "responses": {
            "200": {"description": "", "headers": {"A": {"required": true}, "B": {"schema": {"type": "string"}}},
                "content": {"application/json": {"schema": {"type": "string"}}}},
            "204": {"description": ""}, "404": {"description": ""}, "default": {"description": ""}}}));
    let new = with_operation(&json!({"operationId": "op",
        "parameters": [parameter("id", "path", true), parameter("x-a", "header", true), parameter("new", "query", true),
            {"name": "also", "in": "cookie", "style": "form", "explode": false}],
        "requestBody": {"required": true, "content": {"application/json": {}, "text/csv": {}}},
        "responses": {
            "2XX": {"description": "", "headers": {"b": {"schema": {"type": "integer"}}},
                "content": {"application/*": {"schema": {"type": "string", "maxLength": 9}}}},
            "429": {"description": ""}}}));
    assert_golden(
        "diff/parameters_bodies_responses_and_headers_are_compared_one_by_one.txt",
        &(changes(&old, &new).join("\n") + "\n"),
    );
}

#[test]
fn a_new_media_type_is_compared_with_the_range_that_covered_it() {
    let operation = |content: Value| with_operation(&json!({"operationId": "op", "requestBody": {"content": content}}));
    let (text, number) = (json!({"schema": {"type": "string"}}), json!({"schema": {"type": "integer"}}));
    assert_eq!(
        changes(&operation(json!({"*/*": text})), &operation(json!({"*/*": text, "application/json": number}))),
        ["breaking request-body-type-changed op request body (application/json)"]
    );
}

#[test]
fn clients_of_the_old_operation_must_be_able_to_call_the_new_one() {
    let document = |security: Value| {
        let mut whole = with_operation(&json!({"operationId": "op", "security": security}));
        let key = json!({"type": "apiKey", "in": "header", "name": "X-Key"});
        whole["components"] = json!({"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}, "key": key}});
        whole
    };
    let (read, both) = (json!({"bearer": ["read"]}), json!({"bearer": ["read", "write"]}));
    for (old, new, expected) in [
        (json!([read]), json!([both]), "breaking security-changed op security"),
        (json!([both]), json!([read]), "non-breaking security-changed op security"),
        (json!([read]), json!([read, {"key": []}]), "non-breaking security-changed op security"),
        (json!([read, {"key": []}]), json!([read]), "breaking security-changed op security"),
        (json!([read]), json!([]), "non-breaking security-removed op security"),
        (json!([]), json!([read]), "breaking security-added op security"),
        (json!([]), json!([{}, read]), "non-breaking security-added op security"),
    ] {
        assert_eq!(changes(&document(old.clone()), &document(new.clone())), [expected], "{old} {new}");
    }
}

const OLD: &str = r##"
openapi: 3.1.0
info: {title: Shop, version: "1"}
paths:
  /orders/{id}:
    get:
      operationId: getOrder
      responses:
        "200": {description: x, content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
  /orders:
    post:
      operationId: addOrder
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
      responses: {"201": {description: x}}
components:
  schemas:
    Order: {type: object, required: [id], properties: {id: {type: string}, state: {enum: [open]}, note: {type: string, maxLength: 20}}}
"##;

/// The folder with the two contracts, and a recording of three exchanges.
fn shop() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let new = OLD
        .replace("version: \"1\"", "version: \"2\"")
        .replace("enum: [open]", "enum: [open, closed]")
        .replace("maxLength: 20", "maxLength: 5")
        .replace("required: [id]", "required: [id, note]");
    fs::write(folder.path().join("old.yaml"), OLD).unwrap();
    fs::write(folder.path().join("new.yaml"), new).unwrap();
    fs::write(folder.path().join("same.yaml"), OLD.replace("description: x", "description: y")).unwrap();
    let get = |body: &str| har::get("/orders/1", None, 200, body);
    let entries = [
        get(r#"{"id":"1","note":"short"}"#),
        get(r#"{"id":"1"}"#),
        get(r#"{"id":1,"note":"a"}"#),
        get(r#"{"id":"1","note":"a","state":"closed"}"#),
    ];
    fs::write(folder.path().join("a.har"), har::har(&entries)).unwrap();
    folder
}

fn compared(folder: &Path, new: &str, rest: &[&str]) -> Ran {
    run_in(folder, ["diff", "--contract", "old.yaml", "--contract", new].iter().chain(rest))
}

#[test]
fn changes_are_listed_by_impact_with_the_recorded_exchanges_that_would_now_fail() {
    let folder = shop();
    let of = |rest: &[&str]| compared(folder.path(), "new.yaml", rest);
    assert_output("diff/changes_of_a_contract", &of(&["a.har"]));
    for format in ["json", "markdown", "junit", "sarif", "github", "csv"] {
        assert_output(&format!("diff/changes_of_a_contract_as_{format}"), &of(&["a.har", "--report", format]));
    }
}

#[test]
fn contracts_that_differ_in_descriptions_alone_are_status_0() {
    let folder = shop();
    let ran = compared(folder.path(), "same.yaml", &["a.har"]);
    let expected =
        "no change that the check sees; the documents differ in other places; 0 of 4 exchanges would now fail\n";
    assert_eq!((ran.status, &*ran.stdout), (0, expected), "{}", ran.stderr);
    let ran = compared(folder.path(), "old.yaml", &[]);
    assert_eq!((ran.status, &*ran.stdout), (0, "the two contracts are the same\n"), "{}", ran.stderr);
}

#[test]
fn a_file_whose_producer_leaves_out_authorization_fails_no_contract_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let document = |security: &str| {
        format!(
            "openapi: 3.1.0\ninfo: {{title: x, version: '1'}}\npaths: {{/a: {{get: {{operationId: a{security}, responses: \
             {{'200': {{description: x, content: {{application/json: {{}}}}}}}}}}}}}}\ncomponents: {{securitySchemes: {{b: \
             {{type: http, scheme: bearer, bearerFormat: JWT}}}}}}\n"
        )
    };
    fs::write(folder.path().join("old.yaml"), document("")).unwrap();
    fs::write(folder.path().join("new.yaml"), document(", security: [{b: []}]")).unwrap();
    let with = |entries: &[Value]| {
        fs::write(folder.path().join("a.har"), har::har(entries)).unwrap();
        compared(folder.path(), "new.yaml", &["a.har", "--format", "json"])
    };
    let failing = |ran: &Ran| serde_json::from_str::<Value>(&ran.stdout).unwrap()["summary"]["failing"].clone();
    let without = har::get("/a", None, 200, "{}");
    assert_eq!(failing(&with(std::slice::from_ref(&without))), 0);
    assert_eq!(failing(&with(&[without, har::get("/a", Some(&har::bearer()), 200, "{}")])), 1);
}

#[test]
fn contracts_of_a_variable_judge_two_recordings_together() {
    let folder = shop();
    let mut command = contrail();
    command.current_dir(folder.path()).args(["diff", "a.har", "a.har"]);
    let ran = Ran::from(command.env("CONTRAIL_CONTRACT", "old.yaml,new.yaml").output().unwrap());
    assert_eq!((ran.status, &*ran.stdout), (0, "no differences in 4 exchanges\n"), "{}", ran.stderr);
}

#[test]
fn without_two_recordings_or_two_contracts_there_is_nothing_to_compare() {
    let folder = shop();
    for arguments in [&["diff"][..], &["diff", "a.har"], &["diff", "--contract", "old.yaml", "a.har"]] {
        let ran = run_in(folder.path(), arguments);
        let expected =
            "contrail: name two recordings to compare, A and B, or two contracts: --contract OLD --contract NEW\n";
        assert_eq!((ran.status, &*ran.stderr), (2, expected), "{arguments:?}");
    }
}

#[test]
fn the_built_in_contract_has_no_changes_against_itself() {
    let built_in = Contract::built_in();
    assert_eq!(compare(&built_in, &Arc::clone(&built_in)), []);
}
