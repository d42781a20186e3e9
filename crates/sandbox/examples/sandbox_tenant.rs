//! Asks the sandbox tenant without a socket, as a unit test of a client could.
//!
//! `cargo run -p contrail-sandbox --example sandbox_tenant`

#![allow(clippy::print_stdout)] // a program of its own

use std::error::Error;

use bytes::Bytes;
use contrail_sandbox::{Answers, Ask, Seed, Tenant};
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::Value;

/// Requests a token and reads the connection profile templates: the status and the body.
fn templates() -> Result<(u16, Value), Box<dyn Error>> {
    let tenant = Tenant::new(Seed::built_in()?, &[])?;
    let client = &tenant.clients()[0];
    let form = format!(
        "grant_type=client_credentials&client_id={}&client_secret={}&audience=/api/v2/",
        client.id,
        client.secret.as_deref().unwrap_or_default()
    );
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    let ask = Ask { method: &Method::POST, target: "/oauth/token/", headers: &headers, body: &form.into() };
    let token: Value = serde_json::from_slice(&tenant.answer_now(&ask).body)?;

    let bearer = format!("Bearer {}", token["access_token"].as_str().ok_or("no access token")?);
    let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::try_from(bearer)?)]);
    let target = "/api/v2/connection-profiles/templates";
    let answer = tenant.answer_now(&Ask { method: &Method::GET, target, headers: &headers, body: &Bytes::new() });
    Ok((answer.status.as_u16(), serde_json::from_slice(&answer.body)?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (status, body) = templates()?;
    println!("{status}\n{body:#}");
    Ok(())
}

#[test]
fn a_client_with_every_scope_reads_the_templates() {
    let (status, body) = templates().unwrap();
    assert_eq!(status, 200);
    assert_eq!(body["connection_profile_templates"][0]["id"], "cpt_enterprise");
}
