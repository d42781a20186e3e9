//! `audit` of clients that the tenant slows down.

use std::fs;

use serde_json::{Value, json};

use crate::support::{command::run_in, har};

/// A call that began so many seconds after noon, answered with this status and `Retry-After: 30` if it is 429.
fn call(second: u32, status: u16) -> Value {
    let body = if status == 200 { har::POLICY } else { r#"{"statusCode":429,"error":"e","message":"m"}"# };
    let mut entry = har::get("/api/v2/rate-limit-policies/rlp_1", Some(&har::bearer()), status, body);
    entry["startedDateTime"] = format!("2025-11-21T12:{:02}:{:02}.000Z", second / 60, second % 60).into();
    if status == 429 {
        entry["response"]["headers"].as_array_mut().unwrap().push(json!({"name": "Retry-After", "value": "30"}));
    }
    entry
}

/// The early calls of an audit, and the entry of the first.
fn early(entries: &[Value]) -> (Value, Value) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(entries)).unwrap();
    let ran = run_in(folder.path(), ["audit", "a.har", "--format", "json"]);
    let audit: Value = serde_json::from_str(&ran.stdout).unwrap();
    let calls = &audit["callers"][0]["calls"][0];
    (calls["early"].clone(), calls["firstEarly"]["entry"].clone())
}

#[test]
fn a_call_before_the_wait_of_a_429_is_over_is_early_and_one_after_it_is_not() {
    assert_eq!(early(&[call(0, 200), call(1, 429), call(3, 429), call(32, 200), call(70, 200)]), (json!(2), json!(2)));
    assert_eq!(early(&[call(1, 429), call(31, 200)]), (json!(0), Value::Null));
}

#[test]
fn a_call_that_was_on_its_way_when_the_429_arrived_is_not_early() {
    let mut slow = call(1, 429);
    slow["time"] = 5000.into();
    slow["timings"]["wait"] = 5000.into();
    assert_eq!(early(&[slow, call(3, 200), call(7, 200)]), (json!(1), json!(2)));
}
