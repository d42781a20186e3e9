//! `contrail diff`: what changed between two recordings.

use std::{fs, slice::from_ref};

use serde_json::{Value, json};

use super::support::{
    command::{Ran, run_in},
    har,
};
use crate::support::golden::assert_output;

const POLICY: &str = "/api/v2/rate-limit-policies/rlp_1";

fn diff(a: &[Value], b: &[Value], options: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(a)).unwrap();
    fs::write(folder.path().join("b.har"), har::har(b)).unwrap();
    run_in(folder.path(), ["diff", "a.har", "b.har"].iter().chain(options))
}

fn get(target: &str, body: &str) -> Value {
    har::get(target, None, 200, body)
}

fn post(target: &str, sent: &str, body: &str) -> Value {
    let mut entry = get(target, body);
    entry["request"]["method"] = "POST".into();
    entry["request"]["headers"] = json!([{"name": "Content-Type", "value": "application/json"}]);
    entry["request"]["postData"] = json!({"mimeType": "application/json", "text": sent});
    entry
}

#[test]
fn a_torn_last_line_of_a_journal_is_left_out_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(&[har::conforming()])).unwrap();
    fs::write(folder.path().join("b.journal"), "{\"startedDateTime\":\"20").unwrap();
    let ran = run_in(folder.path(), ["diff", "a.har", "b.journal"]);
    assert_output("diff/a_torn_last_line_of_a_journal_is_left_out_with_a_warning", &ran);
    fs::write(folder.path().join("none.har"), har::har(&[])).unwrap();
    let ran = run_in(folder.path(), ["diff", "none.har", "none.har"]);
    assert_eq!((ran.status, &*ran.stderr), (2, "contrail: neither `none.har` nor `none.har` holds an exchange\n"));
}

#[test]
fn equal_recordings_have_no_differences_whatever_their_run_order_and_spelling() {
    let mut dated = get("/api/v2/x?a=1&b=2", r#"{"n":1.0}"#);
    dated["response"]["headers"].as_array_mut().unwrap().push(json!({"name": "Date", "value": "now"}));
    dated["startedDateTime"] = "2026-01-01T00:00:00.000Z".into();
    let b = [post("/api/v2/y", r#"{ "k" : 1 }"#, "{}"), dated];
    let a = [get("/api/v2/x?b=2&a=1", r#"{ "n": 1 }"#), post("/api/v2/y", r#"{"k":1.0}"#, "{}")];
    let ran = diff(&a, &b, &[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "no differences in 2 exchanges\n"), "{}", ran.stderr);
}

#[test]
fn differences_are_listed_field_by_field_with_a_count_and_a_sample() {
    let changed = har::POLICY.replace("\"default\"", "\"cimd_clients\"").replace("\"allow\"", "\"log\",\"limit\":10");
    let a = [har::conforming(), har::conforming(), get("/api/v2/gone", "1")];
    let b = [get(POLICY, &changed), get(POLICY, &changed), get("/api/v2/new", "1")];
    let ran = diff(&a, &b, &[]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let expected = "\
GET /api/v2/gone:
  only in a.har: entry 2: GET /api/v2/gone (200)

GET /api/v2/new:
  only in b.har: entry 2: GET /api/v2/new (200)

getRateLimitPolicy: 2 of 2 exchanges differ
  request header `authorization`: Bearer !token-1! → nothing
    2 exchanges, the first: GET /api/v2/rate-limit-policies/rlp_1 (entries 0 and 0)
  response body at `/configuration/action`: \"allow\" → \"log\"
    2 exchanges, the first: GET /api/v2/rate-limit-policies/rlp_1 (entries 0 and 0)
  response body at `/configuration/limit`: nothing → 10
    2 exchanges, the first: GET /api/v2/rate-limit-policies/rlp_1 (entries 0 and 0)
  response body at `/consumer_selector`: \"default\" → \"cimd_clients\"
    2 exchanges, the first: GET /api/v2/rate-limit-policies/rlp_1 (entries 0 and 0)

2 exchanges differ, 0 the same, 1 only in a.har, 1 only in b.har
";
    assert_eq!(ran.stdout, expected);
}

#[test]
fn a_request_whose_id_changed_is_one_difference_and_json_names_every_pair() {
    let a = [har::get(POLICY, None, 404, r#"{"message":"no"}"#), har::conforming()];
    let other = "/api/v2/rate-limit-policies/rlp_2";
    let b = [get(other, &har::POLICY.replace("rlp_1", "rlp_2")), har::get(POLICY, None, 404, r#"{"message":"none"}"#)];
    let ran = diff(&a, &b, &["--format", "json"]);
    assert_eq!(ran.status, 1);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(found["summary"], json!({"same": 0, "changed": 2, "only_in_a": 0, "only_in_b": 0}));
    let changed = &found["operations"][0]["changed"];
    assert_eq!(
        changed[0]["differences"],
        json!([{"part": "response body", "at": "/message", "a": "\"no\"", "b": "\"none\""}])
    );
    assert_eq!(changed[1]["b"], json!({"entry": 0, "request": format!("GET {other}"), "status": 200}));
    let places: Vec<_> = changed[1]["differences"].as_array().unwrap().iter().map(|one| &one["at"]).collect();
    assert_eq!(places, ["authorization", "", "/id"]);
}

#[test]
fn request_headers_are_shown_for_a_pair_that_differs_and_make_no_difference_by_themselves() {
    let sent = |accept: &str, status| {
        let mut entry = har::get(POLICY, None, status, "{}");
        entry["request"]["headers"] = json!([{"name": "Accept", "value": accept}, {"name": "X-Same", "value": "1"}]);
        entry
    };
    let (curl, client) = (sent("*/*", 200), sent("text/csv", 406));
    let ran = diff(from_ref(&curl), &[client], &[]);
    let expected = "\
getRateLimitPolicy: 1 of 1 exchange differs
  request header `accept`: */* → text/csv
    1 exchange, the first: GET /api/v2/rate-limit-policies/rlp_1 (entries 0 and 0)
  status: 200 → 406
    1 exchange, the first: GET /api/v2/rate-limit-policies/rlp_1 (entries 0 and 0)
";
    assert!(ran.stdout.starts_with(expected), "{}", ran.stdout);
    assert_eq!(diff(&[curl], &[sent("text/csv", 200)], &[]).status, 0);
}

#[test]
fn an_operation_of_ignore_that_neither_the_contract_nor_a_recording_has_is_refused() {
    let (a, b) = (get("/things/1", r#"{"n":1}"#), get("/things/1", r#"{"n":2}"#));
    let ignoring = |scope: &str| diff(from_ref(&a), from_ref(&b), &["--ignore", &format!("{scope}=pointer:/n")]);
    assert_eq!(ignoring("GET /things/1").status, 0);
    assert_eq!(ignoring("getRateLimitPolicy").status, 1);
    let ran = ignoring("GET /thing/1");
    assert_eq!(ran.status, 2, "{}", ran.stdout);
    assert!(ran.stderr.starts_with("contrail: --ignore GET /thing/1: neither the contract nor"), "{}", ran.stderr);
}

#[test]
fn ignored_places_do_not_count_and_secrets_are_not_shown() {
    let a = [get("/api/v2/x", r#"{"client_secret":"hunter-one-0815","at":1,"deep":[{"id":1,"n":1}]}"#)];
    let b = [get("/api/v2/x", r#"{"client_secret":"hunter-two-0815","at":2,"deep":[{"id":2,"n":2}]}"#)];
    let ran = diff(&a, &b, &["--ignore", "pointer:/at", "--ignore", "pointer:/deep/*/id"]);
    assert_output("diff/ignored_places_do_not_count_and_secrets_are_not_shown", &ran);
    let ran = diff(&a, &b, &["--ignore", "body"]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
}

#[test]
fn a_recording_that_cannot_be_read_is_exit_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run_in(folder.path(), ["diff", "a.har", "b.har"]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
}
