//! Coverage, by example.

use std::sync::Arc;

use contrail_contract::Contract;
use contrail_exchange::{Body, Exchange, Headers, Request, Response, Target, Timings, Transport, finding::Verdict};
use contrail_redact::{JudgedExchange, Plan, Redactor};
use http::{HeaderName, HeaderValue, Method};
use serde_json::json;

use super::*;

fn contract() -> Arc<Contract> {
    let pet = json!({
        "type": "object", "properties": {
            "id": {"type": "integer"},
            "kind": {"enum": ["cat", "dog", 3.0]},
            "owner": {"$ref": "#/components/schemas/Owner"},
            "selector": {"type": "string", "x-contrail-known-values": ["any", "client:{id}"]},
            "client_secret": {"enum": ["a", "zq81mxo2-77aa-kk"]},
        }
    });
    let owner = json!({"oneOf": [
        {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        {"type": "object", "required": ["company"], "properties": {"company": {"type": "string"}}},
    ]});
    let media = |schema: &str| json!({"application/json": {"schema": {"$ref": schema}}, "text/*": {}});
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "T", "version": "1"},
        "components": {"schemas": {"Pet": pet, "Owner": owner}},
        "paths": {
            "/pets/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
                "get": {
                    "operationId": "getPet",
                    "parameters": [
                        {"name": "view", "in": "query", "schema": {"type": "string", "enum": ["full", "short"]}},
                        {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
                    ],
                    "responses": {
                        "200": {"description": "x", "content": media("#/components/schemas/Pet")},
                        "4XX": {"description": "x"},
                    },
                },
            },
            "/other": {"get": {"operationId": "other", "responses": {"200": {"description": "x"}}}},
        },
    });
    Arc::new(Contract::from_document(document).unwrap())
}

fn touched(exchanges: &[(&str, u16, &str)]) -> Vec<String> {
    touched_of(&contract(), exchanges)
}

fn touched_of(contract: &Arc<Contract>, exchanges: &[(&str, u16, &str)]) -> Vec<String> {
    let parts = ContractParts::of(contract);
    let mut coverage = Coverage::new(Arc::clone(&parts));
    let redactor = Redactor::new(Plan::default());
    for (target, status, body) in exchanges {
        let exchange = answered(request(target), *status, body);
        let before = parts.touched_by(&exchange);
        let redacted = redactor.redact(JudgedExchange::new(exchange, Verdict::default()));
        coverage.take(&parts.touched_by_redacted(before, &redacted));
    }
    let lines = |part: Part| {
        let touched = coverage.each(part).filter(|item| item.times > 0);
        touched.map(|item| format!("{} {} {}", part.name(), item.name, item.times)).collect::<Vec<_>>()
    };
    Part::ALL.into_iter().flat_map(lines).collect()
}

fn of_type(media_type: &'static str) -> Headers {
    let mut headers = Headers::default();
    headers.append(HeaderName::from_static("content-type"), HeaderValue::from_static(media_type));
    headers
}

fn answered(request: Request, status: u16, body: &str) -> Exchange {
    let (headers, body) = (of_type("application/json"), Body::whole(body.to_owned()));
    Exchange {
        request,
        response: Some(Response { status, version: http::Version::HTTP_11, headers, body }),
        started: None,
        timings: Timings::default(),
        transport: Transport::default(),
    }
}

fn request(target: &str) -> Request {
    Request {
        method: Method::GET,
        target: Target::new("https", "a.example", target),
        version: http::Version::HTTP_11,
        headers: Headers::default(),
        body: Body::default(),
        credential: contrail_exchange::Credential::Missing,
    }
}

#[test]
fn an_exchange_touches_what_occurs_in_it_and_nothing_else() {
    let body = r#"{"id": 1, "kind": 3, "owner": {"company": "c"}, "selector": "client:7", "further": true}"#;
    let expected = [
        "operations getPet 2",
        "statuses getPet: 200 1",
        "statuses getPet: 4XX 1",
        "parameters getPet: path id 2",
        "parameters getPet: query view 1",
        "media-types getPet: 200 application/json 1",
        "fields Owner.company 1",
        "fields Pet.id 1",
        "fields Pet.kind 1",
        "fields Pet.owner 1",
        "fields Pet.selector 1",
        "enum-values Pet.kind = 3.0 1",
        "enum-values Pet.selector = \"client:{id}\" 1",
        "enum-values view = \"full\" 1",
        "variants Owner: oneOf 1 1",
    ];
    let mut found = touched(&[("/pets/1?view=full", 200, body), ("/pets/2", 404, "{}"), ("/nowhere", 200, "{}")]);
    found.sort_by_key(|line| Part::ALL.iter().position(|part| line.starts_with(part.name())));
    let mut expected: Vec<String> = expected.map(str::to_owned).into();
    for lines in [&mut found, &mut expected] {
        lines.sort();
    }
    assert_eq!(found, expected);
}

#[test]
fn an_operation_of_any_method_has_the_parameters_of_its_path() {
    let document = json!({
        "openapi": "3.2.0", "info": {"title": "T", "version": "1"},
        "paths": {"/a": {
            "parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}}],
            "additionalOperations": {"LINK": {"operationId": "link", "responses": {"200": {"description": "x"}}}},
        }},
    });
    let coverage = Coverage::new(ContractParts::of(&Arc::new(Contract::from_document(document).unwrap())));
    assert_eq!(coverage.untouched(Part::Parameters).collect::<Vec<_>>(), ["link: query q"]);
}

#[test]
fn every_part_names_its_place_in_the_document() {
    let body = json!({"content": {"application/json": {"schema": {"type": "object", "properties": {"f": {}}}}}});
    let used = |operation: &str| {
        let parameters = json!([{"$ref": "#/components/parameters/Q"}]);
        let (body, answer) =
            (json!({"$ref": "#/components/requestBodies/B"}), json!({"$ref": "#/components/responses/R"}));
        json!({"operationId": operation, "parameters": parameters, "requestBody": body, "responses": {"200": answer}})
    };
    let path = json!([{"name": "id", "in": "path", "required": true, "schema": {"enum": ["a"]}}]);
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "T", "version": "1"},
        "components": {
            "parameters": {"Q": {"name": "q", "in": "query", "schema": {"enum": [1]}}},
            "requestBodies": {"B": body}, "responses": {"R": body},
        },
        "paths": {"/a/{id}": {"parameters": path, "put": used("put"), "post": used("post")}},
    });
    let coverage = Coverage::new(ContractParts::of(&Arc::new(Contract::from_document(document).unwrap())));
    let all: Vec<_> = Part::ALL.into_iter().flat_map(|part| coverage.each(part)).collect();
    for item in &all {
        assert!(item.document.document().pointer(item.at).is_some(), "{} at {}", item.name, item.at);
    }
    let parameters: Vec<_> = coverage.each(Part::Parameters).map(|item| (item.at, item.name)).collect();
    assert_eq!(
        parameters,
        [
            ("/components/parameters/Q", "put: query q"),
            ("/components/parameters/Q", "post: query q"),
            ("/paths/~1a~1{id}/parameters/0", "put: path id"),
            ("/paths/~1a~1{id}/parameters/0", "post: path id"),
        ]
    );
    assert_eq!(coverage.counts(Part::MediaTypes).of, 4);
}

#[test]
fn an_item_has_the_schema_of_its_position_and_a_condition_the_one_that_holds() {
    let schema = json!({"type": "object", "properties": {
        "pair": {"prefixItems": [{"properties": {"first": {}}}], "items": {"properties": {"rest": {}}}},
        "way": {"if": {"required": ["by"]}, "then": {"properties": {"by": {}}}, "else": {"properties": {"no": {}}}},
    }});
    let response = json!({"description": "x", "content": {"application/json": {"schema": schema}}});
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "T", "version": "1"},
        "paths": {"/a": {"get": {"operationId": "a", "responses": {"200": response}}}},
    });
    let contract = Arc::new(Contract::from_document(document).unwrap());
    let body = r#"{"pair": [{"first": 1, "rest": 1}, {"rest": 1}], "way": {"by": 1, "no": 1}}"#;
    let found = touched_of(&contract, &[("/a", 200, body)]);
    let fields: Vec<&str> = found.iter().filter_map(|line| line.strip_prefix("fields a: 200")).collect();
    assert_eq!(fields, [".pair 1", ".pair.rest 1", ".pair.first 1", ".way 1", ".way.by 1"]);
}

#[test]
fn a_member_has_the_schemas_of_the_patterns_that_its_name_matches_and_then_no_additional_one() {
    let with = |name: &str| json!({"properties": {name: {}}});
    let schema = json!({
        "type": "object", "properties": {"x-named": with("named")},
        "patternProperties": {"^x-": with("extension"), "-id$": with("identifier"), "^y-": with("never")},
        "additionalProperties": with("further"),
    });
    let response = json!({"description": "x", "content": {"application/json": {"schema": schema}}});
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "T", "version": "1"},
        "paths": {"/a": {"get": {"operationId": "a", "responses": {"200": response}}}},
    });
    let contract = Arc::new(Contract::from_document(document).unwrap());
    let all = r#"{"named": 1, "extension": 1, "identifier": 1, "further": 1, "never": 1}"#;
    let fields = |name: &str| -> Vec<String> {
        let found = touched_of(&contract, &[("/a", 200, &format!(r#"{{"{name}": {all}}}"#))]);
        found.iter().filter_map(|line| Some(line.strip_prefix("fields a: 200.")?.to_owned())).collect()
    };
    assert_eq!(fields("x-named"), ["extension 1", "x-named 1", "x-named.named 1"]);
    assert_eq!(fields("x-id"), ["identifier 1", "extension 1"]);
    assert_eq!(fields("z"), ["further 1"]);
}

#[test]
fn a_response_touches_nothing_of_the_form_before_it() {
    let of = |media_type: &str, names: &[&str]| {
        let properties: serde_json::Map<_, _> = names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        json!({"description": "x", "content": {media_type: {"schema": {"type": "object", "properties": properties}}}})
    };
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "T", "version": "1"},
        "paths": {"/a": {"post": {
            "operationId": "a",
            "requestBody": of("application/x-www-form-urlencoded", &["sent", "both"]),
            "responses": {"200": of("application/json", &["both"])},
        }}},
    });
    let parts = ContractParts::of(&Arc::new(Contract::from_document(document).unwrap()));
    let (headers, body) = (of_type("application/x-www-form-urlencoded"), Body::whole("sent=1".to_owned()));
    let request = Request { method: Method::POST, headers, body, ..request("/a") };
    let mut coverage = Coverage::new(Arc::clone(&parts));
    coverage.take(&parts.touched_by(&answered(request, 200, r#"{"both": 1}"#)));
    assert_eq!(coverage.untouched(Part::Fields).collect::<Vec<_>>(), ["a: request.both"]);
}

#[test]
fn a_body_touches_the_media_type_that_the_check_judges_it_by() {
    let of = |field: &str| json!({"schema": {"type": "object", "properties": {field: {}}}});
    let touched = |content: serde_json::Value, more: serde_json::Value, sent: &'static str| -> Vec<String> {
        let mut document = json!({
            "openapi": "3.1.0", "info": {"title": "T", "version": "1"},
            "paths": {"/a": {"get": {"operationId": "a", "responses": {"200": {"description": "x", "content": content}}}}},
        });
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let parts = ContractParts::of(&Arc::new(Contract::from_document(document).unwrap()));
        let mut exchange = answered(request("/a"), 200, r#"{"first": 1, "second": 1}"#);
        exchange.response.as_mut().unwrap().headers = of_type(sent);
        let mut coverage = Coverage::new(Arc::clone(&parts));
        coverage.take(&parts.touched_by(&exchange));
        coverage.each(Part::Fields).filter(|item| item.times > 0).map(|item| item.name.to_owned()).collect()
    };
    let both = json!({"application/json; charset=utf-8": of("first"), "application/json": of("second")});
    assert_eq!(touched(both, json!({}), "application/json"), ["a: 200.first"]);
    let json = || json!({"application/json": of("first")});
    assert_eq!(touched(json(), json!({}), "application/vnd.a+json"), [""; 0]);
    let types = json!({"x-contrail-media-types": ["application/json"]});
    assert_eq!(touched(json(), types, "application/vnd.a+json"), ["a: 200.first"]);
}

#[test]
fn an_item_of_a_list_in_a_parameter_or_a_form_touches_the_value_that_it_is() {
    let list = json!({"type": "array", "prefixItems": [{"enum": ["0"]}], "items": {"enum": ["p", "q", 3]}});
    let parameter = |name: &str, place: &str, style: &str, explode: bool| json!({"name": name, "in": place, "style": style, "explode": explode, "schema": list});
    let parameters = json!([
        parameter("each", "query", "form", true),
        parameter("one", "query", "form", false),
        parameter("pipes", "query", "pipeDelimited", false),
        parameter("X-List", "header", "simple", false),
        {"name": "cookie", "in": "cookie", "schema": {"enum": ["p", "q"]}},
    ]);
    let form = json!({"type": "object", "properties": {"field": list}});
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "T", "version": "1"},
        "paths": {"/a": {"post": {
            "operationId": "a", "parameters": parameters, "responses": {"200": {"description": "x"}},
            "requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": form}}},
        }}},
    });
    let parts = ContractParts::of(&Arc::new(Contract::from_document(document).unwrap()));
    let mut headers = of_type("application/x-www-form-urlencoded");
    for (name, value) in [("x-list", "0, q"), ("cookie", "cookies=p; cookie=q")] {
        headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let body = Body::whole("field=0".to_owned());
    let target = "/a?each=0&each=p&each=p,q&one=0,p,3&pipes=0%7Cq";
    let request = Request { method: Method::POST, headers, body, ..request(target) };
    let mut coverage = Coverage::new(Arc::clone(&parts));
    coverage.take(&parts.touched_by(&answered(request, 200, "")));
    let mut touched: Vec<&str> =
        coverage.each(Part::EnumValues).filter(|item| item.times > 0).map(|item| item.name).collect();
    touched.sort_unstable();
    assert_eq!(
        touched,
        [
            "X-List = \"0\"",
            "X-List = \"q\"",
            "a: request.field = \"0\"",
            "cookie = \"q\"",
            "each = \"0\"",
            "each = \"p\"",
            "one = \"0\"",
            "one = \"p\"",
            "one = 3",
            "pipes = \"0\"",
            "pipes = \"q\"",
        ]
    );
}

#[test]
fn a_value_that_was_redacted_touches_its_field_and_no_value_or_variant() {
    let body = r#"{"client_secret": "zq81mxo2-77aa-kk", "owner": {"name": "n"}}"#;
    let found = touched(&[("/pets/1", 200, body)]);
    assert!(found.contains(&"fields Pet.client_secret 1".to_owned()), "{found:?}");
    assert!(found.contains(&"fields Owner.name 1".to_owned()), "{found:?}");
    assert!(!found.iter().any(|line| line.starts_with("enum-values")), "{found:?}");
}

#[test]
fn a_minimum_is_a_share_of_the_parts_of_one_kind() {
    let half: Minimum = "media-types=0.5".parse().unwrap();
    assert_eq!(half, Minimum { part: Part::MediaTypes, share: 0.5 });
    assert!(half.is_met(Counts { touched: 1, of: 2 }) && half.is_met(Counts::default()));
    assert!(!half.is_met(Counts { touched: 1, of: 3 }));
    let wrong = |word: &str| word.parse::<Minimum>().unwrap_err();
    assert_eq!(wrong("operation=1"), "`operation` is not a part of a contract; did you mean `operations`?");
    assert_eq!(wrong("fields=80"), "expected a share from 0 to 1, not `80`");
    assert_eq!(wrong("fields"), "expected PART=SHARE, such as operations=0.8");
}

#[test]
fn media_types_that_many_operations_refer_to_are_counted_together_beyond_a_bound() {
    let content: serde_json::Map<String, serde_json::Value> =
        (0..1000).map(|number| (format!("application/x{number}+json"), json!({}))).collect();
    let operation = json!({"responses": {"200": {"$ref": "#/components/responses/R"}}});
    let paths: serde_json::Map<String, serde_json::Value> =
        (0..300).map(|path| (format!("/p{path}"), json!({"get": operation}))).collect();
    let document = json!({"openapi": "3.1.0", "info": {}, "paths": paths,
        "components": {"responses": {"R": {"description": "x", "content": content}}}});
    let coverage = Coverage::new(ContractParts::of(&Arc::new(Contract::from_document(document).unwrap())));
    // 199 operations have 1,002 parts each, the 200th passes the bound, and the other 100 share 1,000 parts.
    assert_eq!(coverage.counts(Part::MediaTypes).of, 201_000);
    assert_eq!((coverage.counts(Part::Operations).of, coverage.counts(Part::Statuses).of), (300, 300));
}
