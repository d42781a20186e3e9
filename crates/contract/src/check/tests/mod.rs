//! The engine on a small contract that is not the tenant's. What the tenant's document says is in `fixtures/cases`.

mod requests;
mod responses;
mod security;
mod tenant;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use contrail_exchange::{
    Body, Credential, Exchange, Headers, Presence, Request, Response, SignatureCheck, Target, Timings, TokenFacts,
    TokenTime, Transport, Withheld,
    finding::{Blame, Conclusion, Unchecked, Verdict},
};
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::{CheckOptions, Contract};

fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Shelf", "version": "1"},
        "servers": [{"url": "https://shelf.example/v1"}],
        "x-contrail-media-types": ["application/json", "application/*+json"],
        "x-contrail-repeated-fields": "none",
        "security": [{"bearer": []}],
        "paths": {
            "/books/{isbn}": {
                "get": {
                    "operationId": "getBook",
                    "x-contrail-request-body": "none",
                    "security": [{"bearer": ["read:books"]}, {"oauth": ["read:books"]}],
                    "x-contrail-not-shown": ["error-body"],
                    "parameters": [{"name": "isbn", "in": "path", "required": true,
                                    "schema": {"type": "string", "maxLength": 5}}],
                    "responses": {
                        "200": {"description": "", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Book"}}}},
                        "404": {"description": ""},
                        "429": {"description": "", "headers": {
                            "X-Rate": {"required": true, "schema": {}}, "X-Hint": {"schema": {}}}}
                    },
                    "x-contrail-relations": [{"kind": "identity", "parameter": "isbn", "response": "/isbn"}]
                },
                "patch": {
                    "operationId": "updateBook",
                    "x-contrail-not-shown": ["required-scope", "success-status", "error-status", "error-body",
                                             "request-required", "response-required"],
                    "parameters": [{"name": "isbn", "in": "path", "required": true, "schema": {"type": "string"}}],
                    "requestBody": {"content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Update"}},
                        "application/x-www-form-urlencoded": {"schema": {"$ref": "#/components/schemas/Update"}}}},
                    "responses": {"2XX": {"description": "", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Book"}}}}},
                    "x-contrail-relations": [{"kind": "echo", "fields": ["/title", "/meta"]}]
                }
            },
            "/books": {
                "get": {
                    "operationId": "listBooks",
                    "x-contrail-not-shown": ["required-scope", "success-status", "error-status", "error-body", "request-body"],
                    "parameters": [
                        {"name": "take", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2}},
                        {"name": "tag", "in": "query", "schema": {"type": "array", "items": {"type": "string", "maxLength": 2}}},
                        {"name": "shelf", "in": "query", "required": true, "schema": {"type": "string"}}],
                    "responses": {"2XX": {"description": "", "content": {"application/json": {"schema":
                        {"type": "object", "properties": {"books": {"type": "array", "items": {"$ref": "#/components/schemas/Book"}}}}}}}},
                    "x-contrail-relations": [{"kind": "page-size", "parameter": "take", "response": "/books"}]
                },
                "post": {
                    "operationId": "importBooks",
                    "x-contrail-not-shown": ["required-scope", "success-status", "error-status", "response-body"],
                    "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object", "additionalProperties": true}},
                                                                  "application/xml": {"schema": {"type": "string"}}}},
                    "responses": {"202": {"description": ""}}
                }
            },
            "/token/": {
                "servers": [{"url": "https://shelf.example"}],
                "post": {
                    "operationId": "token",
                    "security": [],
                    "x-contrail-not-shown": ["success-status", "error-status", "response-body"],
                    "requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object",
                        "properties": {"audience": {"type": "string", "x-contrail-known-values": ["/v1/", "{origin}/v1/"]}},
                        "additionalProperties": true}}}},
                    "responses": {"2XX": {"description": ""}}
                }
            }
        },
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
                "oauth": {"type": "oauth2", "x-contrail-token": "jwt", "flows": {"clientCredentials": {
                    "tokenUrl": "/token/", "scopes": {"read:books": "", "update:books": ""}}}}
            },
            "schemas": {
                "Book": {"type": "object", "required": ["isbn"], "properties": {
                    "isbn": {"type": "string"}, "title": {"type": "string", "maxLength": 8}, "pages": {"type": "integer"},
                    "kind": {"type": "string", "x-contrail-known-values": ["novel"]},
                    "meta": {"type": "object", "additionalProperties": true}}},
                "Update": {"type": "object", "properties": {
                    "title": {"type": "string", "maxLength": 8}, "version": {"type": "integer"},
                    "meta": {"type": "object", "additionalProperties": true}}}
            }
        }
    })
}

/// An exchange under construction, and the options that it is checked with.
#[derive(Clone)]
struct Case {
    exchange: Exchange,
    options: CheckOptions,
    document: Value,
}

fn token(scopes: &[&str]) -> TokenFacts {
    let scopes = Some(scopes.iter().map(ToString::to_string).collect());
    TokenFacts { scopes, signature: SignatureCheck::Good, ..TokenFacts::default() }
}

impl Case {
    fn new(method: &str, target: &str) -> Self {
        let request = Request {
            method: http::Method::from_bytes(method.as_bytes()).unwrap(),
            target: Target::new("https", "shelf.example", target),
            version: http::Version::HTTP_11,
            headers: Headers::new(),
            body: Body::default(),
            credential: Credential::Token(Arc::new(token(&["read:books"]))),
        };
        let exchange = Exchange {
            request,
            response: None,
            started: None,
            timings: Timings::default(),
            transport: Transport::default(),
        };
        Self { exchange, options: CheckOptions::default(), document: document() }.answer(200, "")
    }

    fn book() -> Self {
        Self::new("GET", "/v1/books/42").answer(200, r#"{"isbn":"42"}"#)
    }

    fn list(query: &str) -> Self {
        Self::new("GET", &format!("/v1/books?shelf=a{query}")).answer(200, r#"{"books":[]}"#)
    }

    fn update(content_type: &str, body: impl AsRef<[u8]>) -> Self {
        let body = Bytes::copy_from_slice(body.as_ref());
        Self::new("PATCH", "/v1/books/42").send(content_type, body).answer(200, r#"{"isbn":"42"}"#)
    }

    fn send(mut self, content_type: &str, body: impl Into<Bytes>) -> Self {
        if !content_type.is_empty() {
            let value = HeaderValue::from_str(content_type).unwrap();
            self.exchange.request.headers.append(http::header::CONTENT_TYPE, value);
        }
        self.exchange.request.body = Body::whole(body);
        self
    }

    fn answer(self, status: u16, body: &str) -> Self {
        self.answer_as(status, "application/json", body.to_owned())
    }

    fn answer_as(mut self, status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let body = Body::whole(body);
        let mut headers = Headers::new();
        if !content_type.is_empty() && !body.is_absent() {
            headers.append(http::header::CONTENT_TYPE, HeaderValue::from_str(content_type).unwrap());
        }
        self.exchange.response = Some(Response { status, version: http::Version::HTTP_11, headers, body });
        self
    }

    fn header(mut self, name: &'static str) -> Self {
        let headers = &mut self.exchange.response.as_mut().unwrap().headers;
        headers.append(HeaderName::from_static(name), HeaderValue::from_static("1"));
        self
    }

    fn credential(mut self, credential: Credential) -> Self {
        self.exchange.request.credential = credential;
        self
    }

    fn token(self, facts: TokenFacts) -> Self {
        self.credential(Credential::Token(Arc::new(facts)))
    }

    fn change(mut self, change: impl FnOnce(&mut Exchange)) -> Self {
        change(&mut self.exchange);
        self
    }

    fn options(mut self, change: impl FnOnce(&mut CheckOptions)) -> Self {
        change(&mut self.options);
        self
    }

    fn verdict(&self) -> Verdict {
        Contract::from_document(self.document.clone()).unwrap().check(&self.exchange, &self.options)
    }

    /// `rule at` of every finding.
    #[track_caller]
    fn finds(&self, expected: &[&str]) -> &Self {
        let findings: Vec<String> =
            self.verdict().findings.iter().map(|finding| format!("{} {}", finding.rule, finding.at)).collect();
        let trimmed: Vec<&str> = findings.iter().map(|finding| finding.trim_end()).collect();
        assert_eq!(trimmed, expected);
        self
    }

    #[track_caller]
    fn leaves(&self, expected: &[&str]) -> &Self {
        let unchecked: Vec<_> = self.verdict().unchecked.iter().map(Unchecked::name).collect();
        assert_eq!(unchecked, expected);
        self
    }

    #[track_caller]
    fn blames(&self, expected: Option<Blame>) -> &Self {
        assert_eq!(self.verdict().blame, expected);
        self
    }
}

#[test]
fn an_exchange_as_documented_conforms() {
    let case = Case::book();
    case.finds(&[]).leaves(&[]).blames(Some(Blame::Agreed));
    assert_eq!(case.verdict().operation.as_deref(), Some("getBook"));
    assert_eq!(case.verdict().conclusion(), Conclusion::Conforms);
}

#[test]
fn deleting_a_property_from_the_document_turns_its_traffic_from_conforms_to_gap() {
    let mut case = Case::book().answer(200, r#"{"isbn":"42","pages":7}"#);
    case.finds(&[]);
    case.document["components"]["schemas"]["Book"]["properties"].as_object_mut().unwrap().remove("pages");
    case.finds(&["response.body.undocumented /pages"]);
    assert_eq!(case.verdict().conclusion(), Conclusion::Gap);
}

#[test]
fn an_undocumented_operation_gets_that_one_finding() {
    for (method, target) in [
        ("DELETE", "/v1/books/42"),
        ("GET", "/v1/books/42/"),
        ("GET", "/v1//books"),
        ("GET", "/v1/Books"),
        ("GET", "/books/42"),
        ("HEAD", "/v1/books"),
        ("get", "/v1/books"),
    ] {
        let case = Case::new(method, target).credential(Credential::Missing).answer_as(599, "x/y", "z");
        case.finds(&["operation.undocumented"]).leaves(&[]).blames(None);
        assert_eq!(case.verdict().operation, None);
    }
    let cut = |target: &str| {
        Case::new("PUT", target).change(|exchange| exchange.transport.incomplete = Some("reset".to_owned()))
    };
    cut("/v1/x").finds(&["operation.undocumented", "transport.incomplete"]);
    // Outside of the contract, as in a browser's export of several sites, no one is blamed.
    cut("/x").finds(&["operation.undocumented"]);
}

#[test]
fn a_body_that_is_not_whole_is_unchecked() {
    let cut = Presence::Truncated { kept: 3, total: None };
    for presence in [cut, Presence::Withheld(Withheld::NotSaved), Presence::Withheld(Withheld::MaxRatio)] {
        let case = Case::update("application/json", "{{{").answer(200, "{{{").change(|exchange| {
            exchange.request.body.presence = presence.clone();
            exchange.response.as_mut().unwrap().body.presence = presence;
        });
        case.finds(&[]);
        for name in ["request-body", "response-body"] {
            assert!(case.verdict().unchecked.contains(Unchecked::from_name(name).unwrap()));
        }
    }
    Case::book()
        .change(|exchange| exchange.request.body = Body::withheld(Withheld::NotSaved, None))
        .finds(&[])
        .leaves(&["request-body"]);
}

#[test]
fn a_body_that_contradicts_its_content_encoding_is_malformed_and_one_of_an_unknown_coding_unchecked() {
    for (coding, coded) in [("gzip", true), ("gzip", false), ("utf-8", true), ("compress", false)] {
        let miscoded = |body: &mut Body, headers: &mut Headers| {
            headers.append(http::header::CONTENT_ENCODING, HeaderValue::from_static(coding));
            body.coded = coded;
            if !coded {
                *body = Body::withheld(Withheld::Undecodable, None);
            }
        };
        let body = r#"{"isbn":"42"}"#;
        let case = Case::update("application/json", body).answer(200, body).change(|exchange| {
            miscoded(&mut exchange.request.body, &mut exchange.request.headers);
            let response = exchange.response.as_mut().unwrap();
            miscoded(&mut response.body, &mut response.headers);
        });
        if coding == "gzip" {
            case.finds(&["request.body.malformed", "response.body.malformed"]);
        } else {
            case.finds(&[]);
            for name in ["request-body", "response-body"] {
                assert!(case.verdict().unchecked.contains(Unchecked::from_name(name).unwrap()));
            }
        }
    }
}

#[test]
fn nothing_is_found_at_or_below_a_redacted_place() {
    let case = Case::update("application/json", r#"{"title":"123456789","meta":5,"extra":1}"#)
        .answer(200, r#"{"isbn":42,"title":"x","kind":"poem","new":{"a":1}}"#);
    case.finds(&[
        "request.body /meta",
        "request.body /title",
        "request.body.undocumented /extra",
        "response.body /isbn",
        "response.body.undocumented /kind",
        "response.body.undocumented /new",
        "exchange.echo /title",
    ]);
    let places = |places: &[&str]| places.iter().map(ToString::to_string).collect();
    case.change(|exchange| {
        exchange.request.body.redacted = places(&["/title", "/meta", "/extra"]);
        exchange.response.as_mut().unwrap().body.redacted = places(&["/isbn", "/kind", "/new"]);
    })
    .finds(&[]);
    Case::update("application/json", "[5]")
        .change(|exchange| exchange.request.body.redacted = places(&[""]))
        .finds(&[])
        .leaves(&["required-scope", "success-status", "request-required", "request-body", "response-required"]);
}

#[test]
fn the_token_endpoint_never_gives_a_violation_and_shows_one_value() {
    let ask = |target: &str, body: &str| {
        let form = "application/x-www-form-urlencoded";
        Case::new("POST", target).credential(Credential::Missing).send(form, body.to_owned()).answer(401, "<html>")
    };
    let good = ask("/token/", "grant_type=client_credentials&audience=%2Fv1%2F&client_secret=x");
    good.finds(&[]).leaves(&["error-status"]).blames(None);
    ask("/token/", "audience=https%3A%2F%2FSHELF.example%3A443%2Fv1%2F").finds(&[]);
    ask("/token/", "audience=https%3A%2F%2Fother.example%2Fv1%2F").finds(&["request.body.undocumented /audience"]);
    ask("/token/", "audience=https%3A%2F%2Fother.example%2Fv1%2F")
        .options(|options| options.tenant_origins = vec!["https://other.example".to_owned()])
        .finds(&[]);
    ask("/token/", "audience=/v1").finds(&["request.body.undocumented /audience"]);
    ask("/token/", "audience=/v1/&audience=/v1/").finds(&[]);
    ask("/token/", "").finds(&[]);
    ask("/token", "audience=/v1/").finds(&["operation.undocumented"]);
    assert_eq!(ask("/token", "").verdict().operation.as_deref(), Some("token"));
    good.clone().send("application/json", r#"{"audience":"/v2/"}"#).finds(&[]);
    let json = Case::new("POST", "/token/").send("application/json", r#"{"audience":"/v2/","organization":null}"#);
    json.answer(200, "{}").finds(&["request.body.undocumented /audience"]);
}

#[test]
fn either_side_can_be_left_out() {
    let both = Case::new("GET", "/v1/books/123456").answer(200, r#"{"isbn":5}"#);
    both.finds(&["path.parameter isbn", "response.body /isbn", "exchange.identity /isbn"]);
    both.clone().options(|options| options.response = false).finds(&["path.parameter isbn"]);
    both.options(|options| options.request = false).finds(&["response.body /isbn", "exchange.identity /isbn"]);
    Case::update("application/json", r#"{"title":"a","version":"x"}"#)
        .answer(200, r#"{"isbn":"42","title":"b"}"#)
        .options(|options| options.request = false)
        .finds(&["exchange.echo /title"]);
}

#[test]
fn blame_names_whose_business_it_is() {
    Case::book().answer(400, "").blames(Some(Blame::Stricter));
    Case::list("&take=99").answer(400, "").blames(Some(Blame::Caught));
    Case::list("&take=99").blames(Some(Blame::Laxer));
    Case::list("&q=1").blames(Some(Blame::Agreed));
    Case::list("&q=1").answer(400, "").blames(None);
    Case::list("").answer(500, "").blames(Some(Blame::Agreed));
}

#[test]
fn a_hostile_number_of_names_costs_no_more_than_reading_them() {
    let many = (0..50_000).map(|n| format!("n{n}=1")).collect::<Vec<_>>().join("&");
    let form = Case::update("application/x-www-form-urlencoded", &many);
    assert_eq!(form.verdict().findings.len(), 1000);
    let members = (0..20_000).map(|n| format!("\"n{n}\":{n}")).collect::<Vec<_>>().join(",");
    let body = format!(r#"{{"isbn":"42","meta":{{{members}}}}}"#);
    Case::update("application/json", format!(r#"{{"meta":{{{members}}}}}"#)).answer(200, &body).finds(&[]);
}

#[test]
fn a_deep_value_in_the_wrong_place_is_reported_without_overflow() {
    let deep = format!("{}{}{}{}", r#"{"meta":"#, "[".repeat(1999), "]".repeat(1999), "}");
    Case::update("application/json", &deep).finds(&["request.body /meta"]);
    let extra = deep.replace("meta", "extra");
    Case::update("application/json", &extra).finds(&["request.body.undocumented /extra"]);
}
