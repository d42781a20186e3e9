//! Two exchanges and two recordings beside each other, as `contrail diff` compares them.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{TOKEN, ask, bearer, read_whole};
use crate::support::{command::run_in, har, process::Running, wire::call};

/// What differs, as `contrail diff` lists it, of what the page has at each place.
fn changes(compared: &Value) -> Vec<Value> {
    let rows = |part: &Value| -> Vec<Value> {
        let rows = part["rows"].as_array().unwrap().iter().filter(|row| row["same"] == false);
        rows.map(|row| json!({"part": part["part"], "at": row["at"], "a": row["left"], "b": row["right"]})).collect()
    };
    compared["parts"].as_array().unwrap().iter().flat_map(rows).collect()
}

fn sorted(values: &[Value]) -> Vec<String> {
    let mut texts: Vec<String> = values.iter().map(Value::to_string).collect();
    texts.sort();
    texts
}

/// Two recordings: the same request, one that changed, one that is gone and one that is new, each with a secret.
fn two_recordings(folder: &Path) {
    let get = |target: &str, status: u16, body: &str| {
        let secret = format!("Bearer Zx9-kQ27_planted.Secret~{status}");
        har::get(target, Some(&secret), status, body)
    };
    let policy = "/api/v2/rate-limit-policies/rlp_";
    let old = [
        get("/api/v2/same?a=1&b=2", 200, r#"{"n":1.0}"#),
        get(&format!("{policy}1?take=10"), 200, r#"{"id":822106502566256641,"client_secret":"hunter-one-0815"}"#),
        get("/api/v2/gone", 200, "1"),
        get("/api/v2/same/2", 200, "{}"),
    ];
    let new = [
        get("/api/v2/new", 404, "1"),
        get(
            &format!("{policy}1?take=20"),
            200,
            r#"{"id":822106502566256642,"client_secret":"hunter-two-0815","x":[]}"#,
        ),
        get("/api/v2/same?b=2&a=1", 200, r#"{"n":1}"#),
        get("/api/v2/same/2", 201, "{}"),
    ];
    fs::write(folder.join("old.har"), har::har(&old)).unwrap();
    fs::write(folder.join("new.har"), har::har(&new)).unwrap();
}

fn diff(folder: &Path) -> Value {
    serde_json::from_str(&run_in(folder, ["diff", "old.har", "new.har", "--format", "json"]).stdout).unwrap()
}

#[test]
fn what_differs_side_by_side_is_what_diff_reports_without_its_secrets() {
    let folder = tempfile::tempdir().unwrap();
    two_recordings(folder.path());
    let arguments = ["inspect", "old.har", "new.har", "--listen", "127.0.0.1:0"];
    let running = read_whole(Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]));
    let mut seen = 0;
    for operation in diff(folder.path())["operations"].as_array().unwrap() {
        for changed in operation["changed"].as_array().unwrap() {
            let (a, b) = (changed["a"]["entry"].as_u64().unwrap(), changed["b"]["entry"].as_u64().unwrap());
            let compared = ask(running.address, &format!("/api/compare?a={}&b={a}", b + 4));
            let differences = changed["differences"].as_array().unwrap();
            assert_eq!(sorted(&changes(&compared)), sorted(differences), "{compared}");
            seen += 1;
        }
    }
    assert_eq!(seen, 2);
    let mut all = String::new();
    for n in 0..8 {
        all += &ask(running.address, &format!("/api/compare?a={n}")).to_string();
        all += &ask(running.address, &format!("/api/compare?a={n}&b={}", 7 - n)).to_string();
    }
    assert!(!all.contains("planted") && !all.contains("hunter-"), "{all}");
    assert!(all.contains("822106502566256641") && all.contains("!token-1!"), "{all}");
    let missing = call(running.address, "GET", "/api/compare?a=0&b=8", &[("authorization", &bearer())], b"");
    assert_eq!(missing.status(), 404);
    running.finish();
}

#[test]
fn states_beside_a_base_are_those_of_diff_and_counts_are_those_of_the_new_recording() {
    let folder = tempfile::tempdir().unwrap();
    two_recordings(folder.path());
    let arguments = ["inspect", "new.har", "--base", "old.har", "--listen", "127.0.0.1:0"];
    let running = read_whole(Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]));
    let rows = |query: &str| ask(running.address, &format!("/api/exchanges?count=100&q={query}"))["rows"].clone();
    let all = rows("");
    let row = |source: &str, entry: &Value| {
        let is_it = |row: &&Value| row["source"] == source && row["entry"] == *entry;
        all.as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("{source} {entry}: {all}"))
    };
    let found = diff(folder.path());
    for operation in found["operations"].as_array().unwrap() {
        for added in operation["only_in_b"].as_array().unwrap() {
            assert_eq!(row("new.har", &added["entry"])["state"], "added");
        }
        for removed in operation["only_in_a"].as_array().unwrap() {
            assert_eq!(row("old.har", &removed["entry"])["state"], "removed");
        }
        for changed in operation["changed"].as_array().unwrap() {
            let row = row("new.har", &changed["b"]["entry"]);
            assert_eq!(row["state"], "changed");
            let compared = ask(running.address, &format!("/api/compare?a={}", row["n"]));
            let left = json!([compared["left"]["source"], compared["left"]["entry"]]);
            assert_eq!(left, json!(["old.har", changed["a"]["entry"]]));
            let differences = changed["differences"].as_array().unwrap();
            assert_eq!(sorted(&changes(&compared)), sorted(differences), "{compared}");
        }
    }
    let summary = &found["summary"];
    for (word, count) in [("added", "only_in_b"), ("removed", "only_in_a"), ("changed", "changed"), ("same", "same")] {
        assert_eq!(rows(&format!("is:{word}")).as_array().unwrap().len(), summary[count], "{word}");
    }
    assert_eq!(all.as_array().unwrap().len(), 5);
    let run = ask(running.address, "/api/run");
    let verified: Value =
        serde_json::from_str(&run_in(folder.path(), ["verify", "new.har", "--format", "json"]).stdout).unwrap();
    for verdict in ["conforms", "gap", "violates"] {
        assert_eq!(run["counts"][verdict], verified["summary"][verdict], "{verdict}");
    }
    assert_eq!(json!([run["base"], run["n"]]), json!(["old.har", 5]));
    assert!(!all.to_string().contains("planted"), "{all}");
    running.finish();
}
