//! Checks one exchange against a contract: an answer whose `id` is a number where the document states a string, with a
//! field of which the document states nothing.
//!
//! `cargo run -p contrail-contract --example check_exchange`

#![allow(clippy::print_stdout)] // a program of its own

use contrail_contract::{CheckOptions, Contract, ContractError};
use contrail_exchange::{Body, Credential, Exchange, Headers, Request, Response, Target, Timings, Transport};
use http::{HeaderValue, Method, Version, header};
use serde_json::json;

/// A document with one operation. `Contract::load` reads files, in JSON or YAML.
fn contract() -> Result<Contract, ContractError> {
    let thing = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}});
    let answer = json!({"description": "a thing", "content": {"application/json": {"schema": thing}}});
    Contract::from_document(json!({
        "openapi": "3.1.0",
        "info": {"title": "Things", "version": "1"},
        "paths": {"/thing": {"get": {"operationId": "getThing", "responses": {"200": answer}}}},
    }))
}

/// What was seen on the wire; a proxy or a recording gives the same value.
fn exchange(answer: &str) -> Exchange {
    let mut headers = Headers::default();
    headers.append(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Exchange {
        request: Request {
            method: Method::GET,
            target: Target::new("https", "api.example", "/thing"),
            version: Version::HTTP_11,
            headers: Headers::default(),
            body: Body::default(),
            credential: Credential::Missing,
        },
        response: Some(Response {
            status: 200,
            version: Version::HTTP_11,
            headers,
            body: Body::whole(answer.to_owned().into_bytes()),
        }),
        started: None,
        timings: Timings::default(),
        transport: Transport::default(),
    }
}

/// One line for the verdict, and one per finding.
fn check(answer: &str) -> Result<Vec<String>, ContractError> {
    let verdict = contract()?.check(&exchange(answer), &CheckOptions::default());
    let findings =
        verdict.findings.iter().map(|finding| format!("{} at {}: {}", finding.rule, finding.at, finding.message()));
    Ok([verdict.conclusion().name().to_owned()].into_iter().chain(findings).collect())
}

fn main() -> Result<(), ContractError> {
    println!("{}", check(r#"{"id": 7, "colour": "red"}"#)?.join("\n"));
    Ok(())
}

#[test]
fn a_violation_and_a_gap_are_told_apart() -> Result<(), ContractError> {
    let lines = check(r#"{"id": 7, "colour": "red"}"#)?;
    assert_eq!(lines[0], "violates");
    assert!(lines.iter().any(|line| line.starts_with("response.body at /id")), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("response.body.undocumented at /colour")), "{lines:?}");
    assert_eq!(check(r#"{"id": "t_1"}"#)?, ["conforms"]);
    Ok(())
}
