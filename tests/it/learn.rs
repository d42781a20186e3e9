//! `contrail learn`: what recordings show of what the contract does not.

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use crate::support::{
    command::{Ran, run_in},
    golden::assert_output,
    har,
};

const TEMPLATES: &str = "/api/v2/connection-profiles/templates";
const MISSING: &str = r#"{"statusCode":403,"error":"Forbidden","message":"Insufficient scope"}"#;

fn call(scopes: &str, status: u16, body: &str) -> Value {
    let bearer = format!("Bearer {}", har::token(scopes, har::NOON + 3600));
    har::get(TEMPLATES, Some(&bearer), status, body)
}

fn list(strategy: &str) -> String {
    json!({"connection_profile_templates": [{"name": "one", "display_name": strategy}]}).to_string()
}

/// A tenant that requires `read:connection_profiles` and answers 200 and 403.
fn deciding() -> Vec<Value> {
    let mut calls: Vec<Value> = (0..20).map(|_| call("read:connection_profiles read:logs", 200, &list("x"))).collect();
    calls.push(call("read:connection_profiles read:users", 200, &list("y")));
    calls.push(call("read:logs read:users", 403, MISSING));
    calls
}

/// What a report lists as unchecked, and the rules of its findings.
fn unchecked_and_rules(ran: &Ran) -> (BTreeSet<String>, BTreeSet<String>) {
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let (mut unchecked, mut rules) = (BTreeSet::new(), BTreeSet::new());
    for exchange in report["exchanges"].as_array().unwrap() {
        unchecked
            .extend(exchange["unchecked"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()));
        let findings = exchange["findings"].as_array().unwrap();
        rules.extend(findings.iter().map(|finding| finding["rule"].as_str().unwrap().to_owned()));
    }
    (unchecked, rules)
}

fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

#[test]
fn what_the_calls_decide_is_an_overlay_and_the_rest_is_listed_with_the_call_that_would_decide() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("traffic.har"), har::har(&deciding())).unwrap();
    let ran = run_in(folder.path(), ["learn", "traffic.har"]);
    assert_output("learn/what_the_calls_decide_is_an_overlay", &ran);
    let named = run_in(folder.path(), ["learn", "traffic.har", "--out", "-"]);
    assert!(named.stdout == ran.stdout && !folder.path().join("-").exists());
}

#[test]
fn the_overlay_makes_what_it_states_checked_and_learning_again_adds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("traffic.har"), har::har(&deciding())).unwrap();
    let before = run_in(folder.path(), ["verify", "--format", "json", "traffic.har"]);
    let silent = set(["required-scope", "success-status", "error-status", "error-body", "response-required"]);
    assert_eq!(unchecked_and_rules(&before), (silent, set(["response.body.undocumented"])));
    let learned = run_in(folder.path(), ["learn", "traffic.har", "--out", "learned.yaml"]);
    assert_eq!(learned.status, 0, "{}", learned.stderr);
    let with = ["--overlay", "learned.yaml", "traffic.har"];
    let after = run_in(folder.path(), ["verify", "--format", "json"].iter().chain(&with));
    // The refused call is one without the scope, and now that is known.
    assert_eq!((after.status, &*after.stderr), (1, ""));
    assert_eq!(unchecked_and_rules(&after), (set([]), set(["auth.scope"])));
    let again = run_in(folder.path(), ["learn", "--format", "json"].iter().chain(&with));
    let overlay: Value = serde_json::from_str(&again.stdout).unwrap();
    let changes = overlay["actions"].as_array().unwrap().iter().filter(|action| action["update"] != json!({}));
    assert_eq!(changes.count(), 0, "{}", again.stdout);
    // What contradicts it is found.
    let other = [call("read:logs", 200, &list("x")), call("read:connection_profiles", 200, "{}")];
    fs::write(folder.path().join("other.har"), har::har(&other)).unwrap();
    let ran = run_in(folder.path(), ["verify", "--format", "json", "--overlay", "learned.yaml", "other.har"]);
    assert_eq!(unchecked_and_rules(&ran), (set([]), set(["auth.scope", "auth.unenforced", "response.body"])));
    // Another status stays what it was: not shown.
    fs::write(folder.path().join("third.har"), har::har(&[call("read:connection_profiles", 206, &list("x"))])).unwrap();
    let ran = run_in(folder.path(), ["verify", "--format", "json", "--overlay", "learned.yaml", "third.har"]);
    assert!(unchecked_and_rules(&ran).0.contains("success-status"), "{}", ran.stdout);
}

#[test]
fn an_existing_file_is_kept_and_recordings_without_an_exchange_are_status_2() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("traffic.har"), har::har(&deciding())).unwrap();
    fs::write(folder.path().join("learned.yaml"), "reviewed").unwrap();
    let ran = run_in(folder.path(), ["learn", "traffic.har", "--out", "learned.yaml"]);
    let expected = "contrail: `learned.yaml` exists already; add --overwrite to replace it\n";
    assert_eq!((ran.status, &*ran.stderr), (2, expected));
    assert_eq!(fs::read_to_string(folder.path().join("learned.yaml")).unwrap(), "reviewed");
    fs::write(folder.path().join("none.har"), har::har(&[])).unwrap();
    let ran = run_in(folder.path(), ["learn", "none.har", "--out", "learned.yaml", "--overwrite"]);
    let said = "contrail: nothing is learned from recordings without an exchange, so no overlay is written\n";
    assert!(ran.status == 2 && ran.stdout.is_empty() && ran.stderr.ends_with(said), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(fs::read_to_string(folder.path().join("learned.yaml")).unwrap(), "reviewed");
}

#[test]
fn an_overlay_replaces_no_file_that_it_was_learned_from() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = har::har(&deciding());
    fs::write(folder.join("traffic.har"), &text).unwrap();
    let empty = "overlay: 1.0.0\ninfo: {title: x, version: '1'}\nactions: []\n";
    fs::write(folder.join("ours.yaml"), empty).unwrap();
    for (out, what) in [("traffic.har", "recording"), ("./ours.yaml", "contract")] {
        let ran = run_in(folder, ["learn", "traffic.har", "--overlay", "ours.yaml", "--out", out, "--overwrite"]);
        let name = out.trim_start_matches("./");
        let said = format!("--out: {out} belongs to the {what} `{name}`, and would be replaced; name another file");
        assert_eq!((ran.status, ran.stderr), (2, format!("contrail: {said}\n")));
    }
    let ran = run_in(folder, ["contract", "--overlay", "ours.yaml", "--export", "ours.yaml"]);
    let said = "--export: ours.yaml belongs to the contract `ours.yaml`, and would be replaced; name another file";
    assert_eq!((ran.status, ran.stderr), (2, format!("contrail: {said}\n")));
    assert_eq!(fs::read_to_string(folder.join("traffic.har")).unwrap(), text);
    assert_eq!(fs::read_to_string(folder.join("ours.yaml")).unwrap(), empty);
}

#[test]
fn a_further_field_is_described_by_all_of_its_values_and_by_no_label() {
    let template = |further: Value| {
        let mut template = json!({"name": "one", "display_name": "x"});
        template.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        call("read:connection_profiles", 200, &json!({"connection_profile_templates": [template]}).to_string())
    };
    let calls = [
        template(json!({"owner": {"id": 1}})),
        template(json!({"owner": {"id": 2, "client_secret": "zq81mxo2-77aa-kk"}, "client_secret": "zq81mxo2-88bb-kk"})),
        template(json!({"client_secret": "zq81mxo2-99cc-kk", "client_secretary": "Ann"})),
    ];
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("traffic.har"), har::har(&calls)).unwrap();
    let ran = run_in(folder.path(), ["learn", "traffic.har", "--format", "json"]);
    let overlay: Value = serde_json::from_str(&ran.stdout).unwrap();
    let updates = overlay["actions"].as_array().unwrap().iter().map(|action| &action["update"]["properties"]);
    let fields: Vec<&Value> = updates.filter(|properties| properties.is_object()).collect();
    let owner = json!({"type": "object", "properties": {"id": {"type": "integer"}, "client_secret": {}}});
    let string = json!({"type": "string"});
    assert_eq!(fields, [&json!({"client_secretary": string}), &json!({"name": string}), &json!({"owner": owner})]);
}
