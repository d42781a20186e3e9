use std::sync::Arc;

use bytes::Bytes;
use contrail_contract::Contract;
use http::{HeaderMap, HeaderName, Method};
use serde_json::{Value, json};

use super::*;
use crate::{Answer, Answers as _, Ask};

fn mock(document: Value) -> Mock {
    Mock::new(Arc::new(Contract::from_document(document).unwrap()), None, 0).unwrap()
}

fn answer(mock: &Mock, method: &Method, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    }
    mock.answer_now(&Ask { method, target, headers: &map, body: &Bytes::from(body.to_owned()) })
}

fn shop() -> Value {
    json!({"openapi": "3.1.0", "info": {"title": "Shop", "version": "1"}, "servers": [{"url": "https://shop.example/v1"}],
        "paths": {
            "/orders": {
                "get": {"parameters": [{"name": "take", "in": "query", "schema": {"type": "integer", "maximum": 5}}],
                    "responses": {"200": {"description": "x", "content": {"application/json": {
                        "schema": {"$ref": "#/components/schemas/Orders"}}}},
                        "422": {"description": "x", "content": {"application/json": {"schema": {"type": "object",
                            "required": ["error"], "properties": {"error": {"const": "bad"}},
                            "additionalProperties": false}}}}}},
                "post": {"security": [{"oauth": ["orders:write"]}], "requestBody": {"required": true, "content":
                    {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}},
                    "responses": {"201": {"description": "x", "content": {"application/json": {
                        "example": {"id": 7}, "schema": {"$ref": "#/components/schemas/Order"}}}}}},
                "delete": {"responses": {"204": {"description": "x"}}}}},
        "components": {
            "schemas": {"Order": {"type": "object", "required": ["id"], "additionalProperties": false,
                "properties": {"id": {"type": "integer", "minimum": 5}, "secret": {"type": "string", "writeOnly": true}}},
                "Orders": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Order"}}},
            "securitySchemes": {"oauth": {"type": "oauth2", "flows": {"clientCredentials": {
                "tokenUrl": "https://shop.example/connect/token", "scopes": {"orders:write": "x"}}}}}}})
}

#[test]
fn an_answer_comes_from_the_schema_and_an_example_is_preferred() {
    let mock = mock(shop());
    let listed = answer(&mock, &Method::GET, "/v1/orders?take=3", &[], "");
    assert_eq!((listed.status.as_u16(), &*listed.body), (200, br#"[{"id":5}]"#.as_slice()));
    let token = answer(&mock, &Method::POST, "/connect/token", &[], "grant_type=client_credentials&client_id=c");
    let token: Value = serde_json::from_slice(&token.body).unwrap();
    assert_eq!(token["scope"], "orders:write");
    let bearer = format!("Bearer {}", token["access_token"].as_str().unwrap());
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let made = answer(&mock, &Method::POST, "/v1/orders", &headers, r#"{"id": 9}"#);
    assert_eq!((made.status.as_u16(), &*made.body), (201, br#"{"id":7}"#.as_slice()));
    assert_eq!(answer(&mock, &Method::DELETE, "/v1/orders", &[], "").status, 204);
    assert_eq!(answer(&mock, &Method::GET, "/v1/other", &[], "").status, 404);
}

#[test]
fn a_documented_token_endpoint_answers_as_documented_with_a_token_that_the_mock_takes() {
    let mut document = shop();
    document["paths"]["/connect/token"] = json!({"servers": [{"url": "https://shop.example"}], "post": {
        "requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object",
            "required": ["grant_type"], "properties": {"grant_type": {"type": "string"}}}}}},
        "responses": {"201": {"description": "x", "content": {"application/json": {"schema": {"type": "object",
            "required": ["access_token", "account"], "additionalProperties": false,
            "properties": {"access_token": {"type": "string"}, "account": {"type": "integer", "minimum": 5}}}}}},
            "400": {"description": "x"}}}});
    let mock = mock(document);
    let token = answer(&mock, &Method::POST, "/connect/token", &[form()], "grant_type=client_credentials");
    assert_eq!(token.status, 201);
    let token: Value = serde_json::from_slice(&token.body).unwrap();
    assert_eq!(token["account"], 5);
    let bearer = format!("Bearer {}", token["access_token"].as_str().unwrap());
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    assert_eq!(answer(&mock, &Method::POST, "/v1/orders", &headers, r#"{"id": 9}"#).status, 201);
    assert_eq!(answer(&mock, &Method::POST, "/connect/token", &[form()], "client_id=c").status, 400);
}

fn form() -> (&'static str, &'static str) {
    ("content-type", "application/x-www-form-urlencoded")
}

#[test]
fn a_request_that_the_contract_refuses_gets_the_documented_refusal_with_the_reason() {
    let mock = mock(shop());
    let refused = answer(&mock, &Method::GET, "/v1/orders?take=9", &[], "");
    assert_eq!((refused.status.as_u16(), &*refused.body), (422, br#"{"error":"bad"}"#.as_slice()));
    let reason = refused.headers.get("contrail-sandbox").unwrap().to_str().unwrap();
    assert!(reason.starts_with("query.parameter at take: "), "{reason}");
    let stranger = answer(&mock, &Method::POST, "/v1/orders", &[("content-type", "application/json")], r#"{"id": 9}"#);
    assert_eq!(stranger.status, 401);
}

#[test]
fn equal_seed_numbers_give_equal_answers_and_others_differ() {
    let of = |seed_number| {
        let contract = Arc::new(Contract::from_document(shop()).unwrap());
        answer(&Mock::new(contract, None, seed_number).unwrap(), &Method::GET, "/v1/orders", &[], "").body
    };
    assert_eq!(of(3), of(3));
    assert_ne!(of(0), of(3));
}

#[test]
fn a_request_of_a_multipart_form_breaks_no_rule() {
    let schema = json!({"type": "object", "required": ["name", "tags", "about"], "additionalProperties": false, "properties": {
        "name": {"type": "string"}, "about": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},
        "tags": {"type": "array", "minItems": 2, "items": {"type": "string"}}}});
    let mock = mock(json!({"openapi": "3.2.0", "info": {}, "paths": {"/files": {
        "parameters": [{"name": "n", "in": "query", "required": true, "schema": {"type": "integer"}}],
        "additionalOperations": {"LINK": {"operationId": "link",
            "requestBody": {"required": true, "content": {"multipart/form-data": {"schema": schema}}},
            "responses": {"204": {"description": "x"}}}}}}}));
    let samples = mock.samples();
    let sample = samples[0].1.as_ref().unwrap();
    assert_eq!((&*sample.method.to_string(), &*sample.target), ("LINK", "/files?n=1"));
    let headers: Vec<(&str, &str)> = sample.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    let body = String::from_utf8(sample.body.to_vec()).unwrap();
    assert_eq!(answer(&mock, &sample.method, &sample.target, &headers, &body).status, 204, "{body}");
}

#[test]
fn a_request_goes_to_the_servers_of_its_operation_and_not_to_those_of_another_one() {
    let get = |id: &str| json!({"operationId": id, "responses": {"204": {"description": "x"}}});
    let mock = mock(json!({"openapi": "3.1.0", "info": {}, "servers": [{"url": "/v1"}, {"url": "/v2"}], "paths": {
        "/a": {"get": get("both")},
        "/b": {"servers": [{"url": "https://files.example/up"}], "get": get("path")},
        "/v1/a": {"servers": [{"url": "/"}, {"url": "/other"}], "get": get("second")}}}));
    let samples = mock.samples();
    let targets: Vec<_> = samples.iter().map(|(id, sample)| (&**id, &*sample.as_ref().unwrap().target)).collect();
    assert_eq!(targets, [("both", "/v1/a"), ("path", "/up/b"), ("second", "/other/v1/a")]);
}

#[test]
fn no_request_is_made_for_a_path_that_none_has_nor_with_a_key_in_a_header_that_none_has() {
    let get = json!({"operationId": "get", "responses": {"204": {"description": "x"}}});
    let id = json!({"name": "id?", "in": "path", "required": true, "schema": {"const": "b"}});
    let optional = json!({"parameters": [id], "responses": {"204": {"description": "x"}}});
    let mock = mock(json!({"openapi": "3.1.0", "info": {}, "security": [{"key": []}],
        "paths": {"/a": {"get": get}, "/a?more=1": {"get": get}, "/a#more": {"get": get}, "/{id?}": {"get": optional}},
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "The API key"}}}}));
    let samples = mock.samples();
    let headers: Vec<_> = samples.iter().map(|(_, sample)| Some(&*sample.as_ref()?.headers)).collect();
    assert_eq!(headers, [Some(&[][..]), None, None, Some(&[][..])]);
}

#[test]
fn an_answer_has_no_documented_header_that_states_how_its_bytes_are_sent() {
    let header = |value: &str| json!({"schema": {"type": "string", "example": value}});
    let headers = json!({"Connection": header("close"), "Content-Encoding": header("br"), "Content-Length": header("9"),
        "Transfer-Encoding": header("chunked"), "Trailer": header("X-Sum"), "X-Sum": header("1")});
    let get = |status: &str| json!({"responses": {status: {"description": "x", "headers": headers}}});
    let mock =
        mock(json!({"openapi": "3.1.0", "info": {}, "paths": {"/a": {"get": get("200")}, "/b": {"get": get("101")}}}));
    let answered = answer(&mock, &Method::GET, "/a", &[], "");
    assert_eq!(answered.headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x-sum"]);
    assert_eq!(answer(&mock, &Method::GET, "/b", &[], "").status, 501);
}

/// An operation without parameters, with this request body.
fn posting(request_body: &Value) -> Mock {
    let operation =
        json!({"operationId": "post", "requestBody": request_body, "responses": {"204": {"description": "x"}}});
    mock(json!({"openapi": "3.1.0", "info": {}, "paths": {"/a": {"post": operation}}}))
}

/// The body of the request for its operation.
fn posted(mock: &Mock) -> Option<String> {
    let (_, sample) = mock.samples().into_iter().next().unwrap();
    sample.map(|sample| String::from_utf8(sample.body.to_vec()).unwrap())
}

#[test]
fn a_request_states_the_length_that_its_body_has() {
    let length = json!({"name": "Content-Length", "in": "header", "required": true,
        "schema": {"type": "integer", "example": 262_144}});
    let operation = json!({"parameters": [length], "requestBody": {"required": true, "content": {"text/plain": {
        "example": "twelve bytes"}}}, "responses": {"204": {"description": "x"}}});
    let mock = mock(json!({"openapi": "3.1.0", "info": {}, "paths": {"/a": {"put": operation}}}));
    let sample = mock.samples().remove(0).1.unwrap();
    assert_eq!(sample.headers[0], ("Content-Length".to_owned(), "12".to_owned()));
}

#[test]
fn a_request_of_a_form_has_the_styles_of_its_encodings() {
    let text = json!({"type": "string"});
    let object = json!({"type": "object", "additionalProperties": false, "required": ["in", "list"], "properties": {
        "in": {"type": "object", "required": ["b"], "properties": {"b": {"type": "boolean"}}},
        "list": {"type": "array", "minItems": 2, "items": text}}});
    let list = json!({"type": "array", "minItems": 2, "items": text});
    let deep_list = json!({"type": "array", "minItems": 1, "items": object["properties"]["in"]});
    let schema = json!({"type": "object", "additionalProperties": false,
        "required": ["deep", "deep_list", "json", "more", "one"],
        "properties": {"deep": object, "deep_list": deep_list, "json": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},
            "more": list, "one": list}});
    let deep = json!({"style": "deepObject", "explode": true});
    let encoding = json!({"deep": deep, "deep_list": deep, "one": {"style": "form", "explode": false}});
    let form = json!({"schema": schema, "encoding": encoding});
    let body = posted(&posting(&json!({"required": true, "content": {"application/x-www-form-urlencoded": form}})));
    assert_eq!(
        body.unwrap(),
        "deep%5Bin%5D%5Bb%5D=true&deep%5Blist%5D%5B0%5D=text&deep%5Blist%5D%5B1%5D=text1\
         &deep_list%5B0%5D%5Bb%5D=true&json=%7B%22n%22%3A1%7D&more=text&more=text1&one=text,text1"
    );
}

#[test]
fn a_request_has_the_text_of_its_path_in_percent_encoding() {
    let responses = json!({"204": {"description": "x"}});
    let id = json!({"name": "id", "in": "path", "required": true, "schema": {"const": "x y"}});
    let get = json!({"operationId": "get", "parameters": [id], "responses": responses});
    let mock = mock(json!({"openapi": "3.1.0", "info": {}, "paths": {"/a b/{id}": {"get": get}}}));
    assert_eq!(mock.samples()[0].1.as_ref().unwrap().target, "/a%20b/x%20y");
}

#[test]
fn an_object_has_as_many_members_as_its_bounds_want() {
    let members = json!({"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}});
    for (least, most, expected) in [(0, 1, r#"{"c":"text"}"#), (3, 3, r#"{"a":"text","b":"text","c":"text"}"#)] {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["c"], "properties": members,
            "minProperties": least, "maxProperties": most});
        let content = json!({"application/json": {"schema": schema}});
        assert_eq!(posted(&posting(&json!({"required": true, "content": content}))).as_deref(), Some(expected));
    }
    // The outer object has no member beyond the bound on nesting, unless it must.
    let one = json!({"type": "object", "additionalProperties": false, "minProperties": 1, "properties": members});
    let deep = (0..6).fold(one, |inner, _| json!({"type": "object", "required": ["d"], "properties": {"d": inner}}));
    let body = posted(&posting(&json!({"content": {"application/json": {"schema": deep}}}))).unwrap();
    assert!(body.contains(r#"{"d":{"a":"text"}}"#), "{body}");
}

#[test]
fn a_body_for_which_no_value_fits_is_left_out_where_it_is_not_required() {
    let content = json!({"application/json": {"schema": {"oneOf": [{"required": ["a"]}, {"required": ["a"]}]}}});
    assert_eq!(posted(&posting(&json!({"content": content}))).as_deref(), Some(""));
    assert_eq!(posted(&posting(&json!({"required": true, "content": content}))), None);
}

#[test]
fn a_token_has_the_requested_scopes_and_nothing_that_a_request_creates_is_found() {
    let mut document = shop();
    document["components"]["securitySchemes"]["oauth"]["flows"]["clientCredentials"]["scopes"] =
        json!({"orders:read": "x", "orders:write": "x"});
    let mock = mock(document);
    let token = |form: &str| -> Value {
        serde_json::from_slice(&answer(&mock, &Method::POST, "/connect/token", &[], form).body).unwrap()
    };
    assert_eq!(token("grant_type=client_credentials")["scope"], "orders:read orders:write");
    let token = token("grant_type=client_credentials&scope=orders:write");
    assert_eq!(token["scope"], "orders:write");
    let before = answer(&mock, &Method::GET, "/v1/orders", &[], "").body;
    let bearer = format!("Bearer {}", token["access_token"].as_str().unwrap());
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    assert_eq!(answer(&mock, &Method::POST, "/v1/orders", &headers, r#"{"id": 99}"#).status, 201);
    assert_eq!(answer(&mock, &Method::GET, "/v1/orders", &[], "").body, before);
}

#[test]
fn where_no_value_fits_the_schema_the_answer_is_501_with_the_reason() {
    let never = json!({"type": "object", "required": ["a"], "properties": {"a": false}});
    let of = |schema: &Value| json!({"description": "x", "content": {"application/json": {"schema": schema}}});
    let error = json!({"const": "an error"});
    for (responses, expected) in [
        (json!({"200": of(&never)}), "no value that the sandbox can make conforms"),
        (json!({"200": of(&never), "default": of(&error)}), "\"an error\""),
    ] {
        let mock = getting(&responses);
        let answered = answer(&mock, &Method::GET, "/a", &[], "");
        assert_eq!(answered.status, 501);
        assert!(answered.headers.contains_key("contrail-sandbox"));
        let body = String::from_utf8(answered.body.to_vec()).unwrap();
        assert!(body.contains(expected), "{body}");
    }
}

/// A mock of `GET /a` with these responses.
fn getting(responses: &Value) -> Mock {
    mock(json!({"openapi": "3.2.0", "info": {}, "paths": {"/a": {"get": {"responses": responses}}}}))
}

#[test]
fn the_first_example_that_conforms_is_the_answer_and_one_may_be_a_text_of_json() {
    let of = |examples: Value| {
        let content = json!({"application/json": {"schema": {"type": "integer", "minimum": 5}, "examples": examples}});
        answer(&getting(&json!({"200": {"description": "x", "content": content}})), &Method::GET, "/a", &[], "").body
    };
    assert_eq!(of(json!({"bad": {"value": "x"}, "good": {"value": 7}, "later": {"value": 8}})), "7");
    assert_eq!(of(json!({"text": {"serializedValue": "9"}})), "9");
    assert_eq!(of(json!({"bad": {"value": "x"}, "worse": {"serializedValue": "{"}})), "5");
}

#[test]
fn answers_have_known_values_and_a_status_that_the_document_has() {
    let schema = json!({"type": "string", "x-contrail-known-values": ["open", "shut"]});
    let content = json!({"application/json": {"schema": schema}});
    let open = answer(&getting(&json!({"200": {"description": "x", "content": content}})), &Method::GET, "/a", &[], "");
    assert_eq!(open.body, r#""open""#);
    let status =
        |key: &str| answer(&getting(&json!({ key: {"description": "x"} })), &Method::GET, "/a", &[], "").status;
    let statuses = ["3XX", "404", "4XX", "5xx", "default"].map(|key| status(key).as_u16());
    assert_eq!(statuses, [302, 404, 400, 500, 200]);
}

#[test]
fn a_refusal_has_its_reason_once() {
    let mock = mock(shop());
    for (method, target) in [(Method::POST, "/v1/orders"), (Method::GET, "/v1/other")] {
        let refused = answer(&mock, &method, target, &[], "");
        assert_eq!(refused.headers.get_all("contrail-sandbox").iter().count(), 1, "{method} {target}");
    }
}

#[test]
fn a_documented_parameter_that_is_an_api_key_is_sent_once() {
    for place in ["query", "header", "cookie"] {
        let parameter = json!({"name": "key", "in": place, "required": true, "schema": {"const": "mine"}});
        let get = json!({"security": [{"k": []}], "parameters": [parameter],
            "responses": {"204": {"description": "x"}}});
        let mock = mock(json!({"openapi": "3.1.0", "info": {}, "paths": {"/a": {"get": get}},
            "components": {"securitySchemes": {"k": {"type": "apiKey", "in": place, "name": "key"}}}}));
        let sample = mock.samples().remove(0).1.unwrap();
        assert_eq!(format!("{} {:?}", sample.target, sample.headers).matches("key").count(), 1, "{place}");
    }
}

#[test]
fn all_cookies_of_a_request_are_one_field() {
    let parameter = json!({"name": "lang", "in": "cookie", "required": true, "schema": {"const": "en"}});
    let get = json!({"security": [{"k": [], "l": []}], "parameters": [parameter],
        "responses": {"204": {"description": "x"}}});
    let key = |name: &str| json!({"type": "apiKey", "in": "cookie", "name": name});
    let mock = mock(json!({"openapi": "3.1.0", "info": {}, "paths": {"/a": {"get": get}},
        "components": {"securitySchemes": {"k": key("one"), "l": key("two")}}}));
    let sample = mock.samples().remove(0).1.unwrap();
    assert_eq!(sample.headers, [("cookie".to_owned(), "lang=en; one=key; two=key".to_owned())]);
}

#[test]
fn a_request_has_the_credentials_of_every_kind_of_scheme() {
    let schemes = json!({
        "basic": {"type": "http", "scheme": "basic"},
        "digest": {"type": "http", "scheme": "Digest"},
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "openid": {"type": "openIdConnect", "openIdConnectUrl": "https://id.example/.well-known/openid-configuration"},
    });
    for name in schemes.as_object().unwrap().keys() {
        let scopes = if name == "openid" { json!(["read:all"]) } else { json!([]) };
        let get = json!({"security": [{name: scopes}], "responses": {"204": {"description": "x"}}});
        let mock = mock(json!({"openapi": "3.1.0", "info": {}, "paths": {"/a": {"get": get}},
            "components": {"securitySchemes": schemes}}));
        let samples = mock.samples();
        let headers = &samples[0].1.as_ref().unwrap().headers;
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(answer(&mock, &Method::GET, "/a", &headers, "").status, 204, "{name}");
        assert_eq!(answer(&mock, &Method::GET, "/a", &[], "").status, 401, "{name}");
    }
}
