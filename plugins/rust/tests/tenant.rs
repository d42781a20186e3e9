//! An example: each test has a fixture of its own, `tests/contrail/NAME`. Any HTTP client will do.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use contrail::{Replay, Running};

fn start(name: &str) -> Running {
    Replay::open(format!("tests/contrail/{name}")).upstream("sandbox").start().unwrap()
}

/// The answer to a request, its head and its body.
fn call(api: &Running, request: &str, more: &str, body: &str) -> String {
    let host = api.url().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let length = body.len();
    write!(
        stream,
        "{request} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}Content-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A header with an access token of the tenant. The sandbox says who its client is; a replay knows the recorded one.
fn authorization(api: &Running) -> String {
    let of = |name| api.variable(name).unwrap_or("sandbox-full");
    let body = format!(
        "grant_type=client_credentials&audience=/api/v2/&client_id={}&client_secret={}",
        of("CONTRAIL_SANDBOX_CLIENT_ID"),
        of("CONTRAIL_SANDBOX_CLIENT_SECRET"),
    );
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let answer = call(api, "POST /oauth/token/", form, &body);
    let token = answer.split("\"access_token\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    format!("Authorization: Bearer {token}\r\n")
}

fn status(api: &Running, path: &str, authorization: &str) -> u16 {
    let answer = call(api, &format!("GET {path}"), authorization, "");
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn templates_are_listed() {
    let api = start("templates");
    assert_eq!(status(&api, "/api/v2/connection-profiles/templates", &authorization(&api)), 200);
}

#[test]
fn a_policy_that_is_not_there_is_not_found() {
    let api = start("policy");
    let token = authorization(&api);
    assert_eq!(status(&api, "/api/v2/rate-limit-policies/rlp_001", &token), 404);
    assert_eq!(status(&api, "/api/v2/connection-profiles/templates", &token), 200);
}
