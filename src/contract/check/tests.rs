//! The engine on a small contract that is not the tenant's. What the tenant's document says is in `fixtures/cases`.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::{
    contract::{CheckOptions, Contract},
    exchange::{Body, Exchange, Headers, Presence, Request, Response, Target, Timings, Transport, Withheld},
    finding::{Blame, Conclusion, Unchecked, Verdict},
    token::{Credential, SignatureCheck, TokenFacts, TokenTime},
};

fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Shelf", "version": "1"},
        "servers": [{"url": "https://shelf.example/v1"}],
        "x-contrail-media-types": ["application/json", "application/*+json"],
        "security": [{"bearer": []}],
        "paths": {
            "/books/{isbn}": {
                "get": {
                    "operationId": "getBook",
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
                                                                  "text/csv": {"schema": {"type": "string"}}}},
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
                "bearer": {"type": "http", "scheme": "bearer"},
                "oauth": {"type": "oauth2", "flows": {"clientCredentials": {
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
    TokenFacts { scopes: Some(scopes.iter().map(ToString::to_string).collect()), ..TokenFacts::default() }
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

    fn update(content_type: &str, body: &str) -> Self {
        Self::new("PATCH", "/v1/books/42").send(content_type, body.to_owned()).answer(200, r#"{"isbn":"42"}"#)
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
    // Outside of the contract, as in a browser's export of several sites, nobody is blamed.
    cut("/x").finds(&["operation.undocumented"]);
}

#[test]
fn path_parameters_are_judged_decoded_and_in_characters() {
    for good in ["42", "%F0%9F%98%80%C3%A4xyz", "%7C%2F%2B+x", "..."] {
        let case = Case::new("GET", &format!("/v1/books/{good}")).answer(404, "");
        case.finds(&[]).blames(Some(Blame::Agreed));
    }
    for bad in ["123456", "%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4x", "%zz", "%f", "%ff"] {
        let case = Case::new("GET", &format!("/v1/books/{bad}"));
        case.clone().answer(404, "").finds(&["path.parameter isbn"]).blames(Some(Blame::Caught));
        case.clone().answer(200, r#"{"isbn":"123456"}"#).blames(Some(Blame::Laxer));
        case.answer(500, "").blames(None);
    }
}

#[test]
fn query_parameters_are_judged_by_their_schema() {
    for good in ["", "&take=1", "&take=9", "&t%61ke=5", "&tag=a&tag=b%2B", "&&", "&take=%35"] {
        Case::list(good).finds(&[]);
    }
    for bad in ["&take=0", "&take=10", "&take=", "&take", "&take=5.0", "&take=%zz", "&take=1&take=1", "&take=+5"] {
        Case::list(bad).finds(&["query.parameter take"]);
    }
    Case::list("&tag=a&tag=abc").finds(&["query.parameter tag"]);
    Case::list("&shelf=b").finds(&["query.parameter shelf"]);
    Case::new("GET", "/v1/books").answer(200, "{}").finds(&["query.parameter shelf"]);
    Case::list("&q=1&q=2&Take=5&%zz=1&a+b=1").finds(&[
        "query.undocumented q",
        "query.undocumented Take",
        "query.undocumented %zz",
        "query.undocumented a b",
    ]);
}

#[test]
fn a_body_where_the_document_says_none_is_a_violation_and_where_it_is_silent_a_gap() {
    Case::book().send("application/json", "{}").finds(&["request.body.unexpected"]);
    Case::book().send("application/json", "").finds(&[]);
    Case::list("").send("application/json", "{}").finds(&["request.body.undocumented"]).leaves(&[
        "required-scope",
        "success-status",
        "request-body",
    ]);
    Case::list("").send("", "").finds(&[]).leaves(&["required-scope", "success-status"]);
}

#[test]
fn request_media_types_are_those_that_the_document_names() {
    for good in ["application/json", "Application/JSON; charset=utf-8", "application/json ;x"] {
        Case::update(good, r#"{"title":"a"}"#).finds(&[]);
    }
    for bad in ["", "text/plain", "application/xml", "application/merge-patch+json", "json", "/", "multipart/form-data"]
    {
        Case::update(bad, r#"{"title":"aaaaaaaaaaaa"}"#).finds(&["request.content-type Content-Type"]).leaves(&[
            "required-scope",
            "success-status",
            "request-required",
            "request-body",
            "response-required",
        ]);
    }
    Case::update("text/plain", "").finds(&[]);
}

#[test]
fn request_bodies_are_judged_by_their_schema() {
    Case::update("application/json", r#"{"title":"12345678","version":1.0,"meta":{"x":[{}]}}"#).finds(&[]);
    Case::update("application/json", r#"{"title":"123456789","version":1.5,"extra":{"a":1}}"#).finds(&[
        "request.body /title",
        "request.body /version",
        "request.body.undocumented /extra",
    ]);
    Case::update("application/json", "[]").finds(&["request.body"]);
    for bad in ["{", r#"{"title":"a","title":"b"}"#, "\u{feff}{}", r#"{"title":"\ud800"}"#, "{} x", "a=b"] {
        Case::update("application/json", bad).finds(&["request.body.malformed"]).blames(Some(Blame::Laxer));
    }
    Case::update("", "").send("application/json", &b"\"\xff\""[..]).finds(&["request.body.malformed"]);
    let deep = format!("{}{}", r#"{"meta":"#, "[".repeat(5000));
    Case::update("application/json", &deep).finds(&[]).leaves(&[
        "required-scope",
        "success-status",
        "request-required",
        "request-body",
        "response-required",
    ]);
}

#[test]
fn a_missing_body_is_a_violation_only_where_the_document_requires_one() {
    Case::update("", "").finds(&[]).leaves(&[
        "required-scope",
        "success-status",
        "request-required",
        "response-required",
    ]);
    Case::new("POST", "/v1/books").answer(202, "").finds(&["request.body"]);
}

#[test]
fn a_media_type_that_is_not_read_leaves_the_body_unchecked() {
    Case::new("POST", "/v1/books").send("text/csv", "a,b").answer(202, "").finds(&[]).leaves(&[
        "required-scope",
        "success-status",
        "request-body",
        "response-body",
    ]);
}

#[test]
fn forms_are_judged_as_the_object_that_they_stand_for() {
    let form = |body: &str| Case::update("application/x-www-form-urlencoded", body);
    form("title=a+b&version=5&meta=%7B%22x%22%3A1%7D").finds(&[]);
    form("meta[x]=1").finds(&["request.body.undocumented /meta[x]"]);
    form("version=5.0").finds(&["request.body /version"]);
    form("version=05").finds(&["request.body /version"]);
    form("meta=x").finds(&["request.body /meta"]);
    form("meta=[1]").finds(&["request.body /meta"]);
    form("title=123456789").finds(&["request.body /title"]);
    form("title=a&title=a").finds(&["request.body.malformed /title"]);
    form("title=%zz").finds(&["request.body.malformed /title"]);
    form("title=%ff").finds(&["request.body.malformed /title"]);
}

#[test]
fn statuses_count_only_where_the_document_lists_some() {
    Case::book().answer(201, r#"{"isbn":"42"}"#).finds(&["status.success"]);
    Case::book().answer(204, "").finds(&["status.success"]);
    Case::book().answer(500, "").finds(&["status.undocumented"]).leaves(&["error-body"]);
    Case::book().answer(302, "").finds(&["status.undocumented"]);
    Case::book().answer(404, "").finds(&[]).leaves(&["error-body"]);
    Case::list("").answer(206, "{}").finds(&[]).leaves(&["required-scope", "success-status"]);
    Case::list("").answer(418, "").finds(&[]).leaves(&["required-scope", "error-status", "error-body"]);
}

#[test]
fn documented_headers_have_to_be_there() {
    Case::book().answer(429, "").finds(&["response.headers X-Rate"]);
    Case::book().answer(429, "").header("x-rate").finds(&[]);
}

#[test]
fn response_bodies_are_json_under_any_status() {
    for good in ["application/json", "application/json;charset=utf-8", "application/problem+json"] {
        Case::book().answer_as(404, good, "{}").finds(&[]);
        Case::book().answer_as(200, good, r#"{"isbn":"42"}"#).finds(&[]);
    }
    for bad in ["text/html", "", "application/jsonx", "application/+json"] {
        Case::book().answer_as(404, bad, "{}").finds(&["response.content-type Content-Type"]);
        let case = Case::book().answer_as(200, bad, "{}");
        case.finds(&["response.content-type Content-Type"]).leaves(&["response-body"]);
    }
    Case::book().answer(404, "<html>").finds(&["response.body.malformed"]);
    Case::book().answer(500, r#"{"a":1,"a":2}"#).finds(&["status.undocumented", "response.body.malformed"]);
    Case::new("POST", "/v1/books")
        .send("application/json", "{}")
        .answer(202, "oops")
        .finds(&["response.body.malformed"]);
}

#[test]
fn response_bodies_are_judged_by_their_schema() {
    Case::book().answer(200, r#"{"isbn":"42","kind":"novel"}"#).finds(&[]);
    Case::book().answer(200, r#"{"pages":"7","kind":"poem","new":[{}]}"#).finds(&[
        "response.body /isbn",
        "response.body /pages",
        "response.body.undocumented /kind",
        "response.body.undocumented /new",
    ]);
    Case::book().answer(200, "").finds(&["response.body"]);
    Case::update("", "").answer(204, "").finds(&[]);
    let finding = &Case::book().answer(200, r#"{"isbn":"42","pages":"7"}"#).verdict().findings[0];
    assert_eq!(finding.message(), "expected an integer, saw 7");
}

#[test]
fn a_body_that_is_not_whole_is_unchecked() {
    let cut = Presence::Truncated { kept: 3, total: None };
    for presence in [cut, Presence::Withheld(Withheld::NotSaved), Presence::Withheld(Withheld::Undecodable)] {
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
fn the_response_is_about_what_the_path_names() {
    Case::new("GET", "/v1/books/a%7Cb").answer(200, r#"{"isbn":"a|b"}"#).finds(&[]);
    Case::book().answer(200, r#"{"isbn":"43"}"#).finds(&["exchange.identity /isbn"]);
    Case::book().answer(404, r#"{"isbn":"43"}"#).finds(&[]);
    Case::book().answer(200, "{}").finds(&["response.body /isbn"]);
    Case::book()
        .answer(200, r#"{"isbn":"43"}"#)
        .change(|exchange| exchange.response.as_mut().unwrap().body.redacted = vec!["/isbn".to_owned()])
        .finds(&[]);
}

#[test]
fn a_page_holds_no_more_than_was_asked_for_or_the_default() {
    let books = |count: usize| format!(r#"{{"books":[{}]}}"#, vec![r#"{"isbn":"1"}"#; count].join(","));
    Case::list("").answer(200, &books(2)).finds(&[]);
    Case::list("").answer(200, &books(3)).finds(&["exchange.page-size /books"]);
    Case::list("&take=5").answer(200, &books(5)).finds(&[]);
    Case::list("&take=5").answer(200, &books(6)).finds(&["exchange.page-size /books"]);
    Case::list("&take=x").answer(200, &books(6)).finds(&["query.parameter take"]);
    Case::list("&take=5").answer(400, &books(6)).finds(&[]);
}

#[test]
fn what_was_sent_comes_back_as_it_was_sent() {
    let patch = |sent: &str, came: &str| {
        Case::update("application/json", sent).answer(200, &format!(r#"{{"isbn":"42",{}"#, &came[1..]))
    };
    patch(r#"{"title":"a","meta":{"n":1.0,"l":[1,2],"o":{"x":1}}}"#, r#"{"title":"a","meta":{"n":1e0,"l":[1],"p":3}}"#)
        .finds(&[]);
    patch(r#"{"title":"a","meta":{"n":1,"l":[1,2],"o":{"x":1}}}"#, r#"{"title":"b","meta":{"n":2,"l":[1,3],"o":5}}"#)
        .finds(&["exchange.echo /title", "exchange.echo /meta/n", "exchange.echo /meta/l/1"]);
    patch(r#"{"version":1}"#, r#"{"version":2}"#).finds(&["response.body.undocumented /version"]);
    Case::update("application/x-www-form-urlencoded", "title=a&meta=%7B%22n%22%3A1%7D")
        .answer(200, r#"{"isbn":"42","title":"b","meta":{"n":2}}"#)
        .finds(&["exchange.echo /title", "exchange.echo /meta/n"]);
}

#[test]
fn a_request_without_a_bearer_token_breaks_the_contract() {
    for credential in [Credential::Missing, Credential::OtherScheme("Basic".to_owned())] {
        let case = Case::book().credential(credential);
        case.finds(&["auth.missing Authorization", "auth.unenforced Authorization"]).blames(Some(Blame::Laxer));
        case.clone().answer(404, "").finds(&["auth.missing Authorization"]).blames(Some(Blame::Caught));
        case.answer(429, "").header("x-rate").finds(&["auth.missing Authorization"]);
    }
    Case::book()
        .credential(Credential::Malformed("two parts".to_owned()))
        .finds(&["auth.malformed Authorization", "auth.unenforced Authorization"]);
}

#[test]
fn a_token_is_judged_at_the_instant_of_its_exchange() {
    let noon = 1_800_000_000;
    let at = |seconds: u64, facts: TokenFacts| {
        Case::book().token(facts).change(|exchange| {
            exchange.started = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        })
    };
    let expires = TokenFacts { expires_at: Some(noon), not_before: Some(noon - 10), ..token(&["read:books"]) };
    at(1_799_999_999, expires.clone()).finds(&[]);
    at(1_800_000_000, expires.clone()).finds(&["auth.expired Authorization", "auth.unenforced Authorization"]);
    at(1_799_999_989, expires.clone()).finds(&["auth.expired Authorization", "auth.unenforced Authorization"]);
    at(1_800_000_000, expires.clone()).options(|options| options.clock_skew = Duration::from_secs(1)).finds(&[]);
    at(1_800_000_000, expires).answer(403, "").finds(&["auth.expired Authorization", "status.undocumented"]);
    let noted = |time| TokenFacts { time, ..token(&["read:books"]) };
    Case::book().token(noted(TokenTime::Valid)).finds(&[]);
    for time in [TokenTime::Expired, TokenTime::NotYet] {
        Case::book().token(noted(time)).finds(&["auth.expired Authorization", "auth.unenforced Authorization"]);
    }
}

#[test]
fn a_signature_counts_only_where_it_was_checked() {
    let signed = |signature| Case::book().token(TokenFacts { signature, ..token(&["read:books"]) });
    signed(SignatureCheck::NotChecked).finds(&[]);
    signed(SignatureCheck::Good).finds(&[]);
    signed(SignatureCheck::Bad).finds(&["auth.signature Authorization", "auth.unenforced Authorization"]);
}

#[test]
fn scopes_are_judged_from_both_sides() {
    let with = |scopes: &[&str]| Case::book().token(token(scopes));
    with(&["update:books"])
        .finds(&["auth.scope Authorization", "auth.unenforced Authorization"])
        .blames(Some(Blame::Laxer));
    with(&["update:books"]).answer(404, "").finds(&["auth.scope Authorization"]);
    with(&[]).answer(401, "").finds(&["auth.scope Authorization", "status.undocumented"]).blames(Some(Blame::Caught));
    Case::book().token(TokenFacts::default()).answer(404, "").finds(&["auth.scope Authorization"]);
    with(&["read:books"]).answer(403, "").finds(&["auth.refused Authorization", "status.undocumented"]);
    with(&["read:books", "write:moon", "x"])
        .finds(&["auth.scope.undeclared Authorization", "auth.scope.undeclared Authorization"]);
    let list = Case::list("").token(token(&[]));
    list.finds(&[]).leaves(&["required-scope", "success-status"]);
    list.clone().answer(403, "").finds(&[]);
    list.credential(Credential::Missing).finds(&["auth.missing Authorization", "auth.unenforced Authorization"]);
}

#[test]
fn what_nobody_can_see_of_a_token_is_unchecked() {
    Case::book().credential(Credential::Unknown).finds(&[]).leaves(&["auth"]);
    Case::book().credential(Credential::Encrypted).finds(&[]).leaves(&["required-scope", "auth"]);
    Case::book().credential(Credential::Encrypted).answer(403, "").finds(&["status.undocumented"]);
    Case::book().credential(Credential::Missing).options(|options| options.auth = false).finds(&[]).leaves(&["auth"]);
}

#[test]
fn a_response_that_did_not_come_whole_is_said_and_its_body_not_judged() {
    let cut = Case::book().answer(200, "{").change(|exchange| exchange.transport.incomplete = Some("reset".to_owned()));
    cut.finds(&["transport.incomplete"]).leaves(&["response-body"]);
    assert_eq!(cut.verdict().findings[0].message(), "expected a whole response, saw reset");
    let long = Case::new("GET", "/v1/books/123456");
    long.clone().change(|exchange| exchange.response = None).finds(&["path.parameter isbn", "transport.incomplete"]);
    long.answer(0, "").finds(&["path.parameter isbn", "transport.incomplete"]).blames(None);
}

#[test]
fn what_contrail_answered_itself_is_not_held_against_the_tenant() {
    Case::new("GET", "/v1/books/123456")
        .answer_as(400, "text/plain", "no")
        .change(|exchange| exchange.transport.answered_by_contrail = Some("refused".to_owned()))
        .finds(&["path.parameter isbn"])
        .leaves(&["response-body"])
        .blames(None);
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
fn blame_says_whose_business_it_is() {
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
    Case::update("application/json", &format!(r#"{{"meta":{{{members}}}}}"#)).answer(200, &body).finds(&[]);
}

#[test]
fn a_deep_value_in_the_wrong_place_is_told_without_overflow() {
    let deep = format!("{}{}{}{}", r#"{"meta":"#, "[".repeat(1999), "]".repeat(1999), "}");
    Case::update("application/json", &deep).finds(&["request.body /meta"]);
    let extra = deep.replace("meta", "extra");
    Case::update("application/json", &extra).finds(&["request.body.undocumented /extra"]);
}
