//! What the page shows of recordings, and that its numbers are those of the reports.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

use super::{FIXTURES, TOKEN, ask, inspect, read_whole};
use crate::support::{command::run_in, har, process::Running};

#[test]
fn the_numbers_of_the_page_are_those_of_verify() {
    let running = inspect(&[]);
    let report: Value =
        serde_json::from_str(&run_in(Path::new("."), ["verify", FIXTURES, "--format", "json"]).stdout).unwrap();
    let run = ask(running.address, "/api/run");
    for verdict in ["conforms", "gap", "violates"] {
        assert_eq!(run["counts"][verdict], report["summary"][verdict], "{verdict}");
    }
    let exchanges = report["exchanges"].as_array().unwrap();
    assert_eq!(run["n"], exchanges.len());
    for (n, exchange) in exchanges.iter().enumerate() {
        let shown = ask(running.address, &format!("/api/exchanges/{n}"));
        for (name, member) in
            [("verdict", "verdict"), ("operation", "operation"), ("method", "method"), ("entry", "entry")]
        {
            assert_eq!(shown["row"][name], exchange[member], "{n}: {name}");
        }
        let findings = |all: &Value| -> Vec<Value> {
            let one = |finding: &Value| {
                let members = ["rule", "kind", "at", "message"].map(|name| finding[name].clone());
                Value::from(members.to_vec())
            };
            all["findings"].as_array().unwrap().iter().map(one).collect()
        };
        assert_eq!(findings(&shown), findings(exchange), "{n}");
        let unchecked: Vec<&str> =
            shown["unchecked"].as_array().unwrap().iter().map(|one| one["aspect"].as_str().unwrap()).collect();
        for aspect in exchange["unchecked"].as_array().unwrap() {
            assert!(unchecked.contains(&aspect.as_str().unwrap()), "{n}: {aspect}");
        }
    }
    let values = ask(running.address, "/api/values?key=verdict");
    for value in values["options"].as_array().unwrap() {
        assert_eq!(value["count"], run["counts"][value["text"].as_str().unwrap()], "{values}");
    }
    assert_eq!(ask(running.address, "/api/values?key=op&begins=RateLimit")["options"][0]["text"], "getRateLimitPolicy");
    let groups = ask(running.address, "/api/findings");
    for group in groups["rows"].as_array().unwrap() {
        let selected: String = form_urlencoded::byte_serialize(group["query"].as_str().unwrap().as_bytes()).collect();
        let list = ask(running.address, &format!("/api/exchanges?q={selected}"));
        assert!(list["size"].as_u64().unwrap() >= 1, "{group}");
        assert!(list["rows"].as_array().unwrap().iter().any(|row| row["n"] == group["first"]), "{group}");
    }
    running.finish();
}

#[test]
fn groups_hold_every_exchange_once_and_each_has_the_term_that_selects_it() {
    let running = read_whole(inspect(&["fixtures/operations", "fixtures/errors"]));
    let whole = ask(running.address, "/api/exchanges")["size"].as_u64().unwrap();
    for by in ["operation", "client", "path"] {
        let groups = ask(running.address, &format!("/api/groups?by={by}"));
        let rows = groups["rows"].as_array().unwrap();
        assert_eq!(rows.iter().map(|row| row["count"].as_u64().unwrap()).sum::<u64>(), whole, "{groups}");
        for row in rows {
            let term = row["term"].as_str().unwrap();
            let term = percent_encoding::utf8_percent_encode(term, percent_encoding::NON_ALPHANUMERIC);
            let list = ask(running.address, &format!("/api/exchanges?q={term}"));
            assert_eq!(list["size"], row["count"], "{row}");
        }
    }
}

#[test]
fn operations_and_callers_are_those_of_coverage_and_audit() {
    let running = inspect(&[]);
    let report = |command: &str| -> Value {
        let ran = run_in(Path::new("."), [command, FIXTURES, "--format", "json"]);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr))
    };
    let operations = ask(running.address, "/api/operations");
    let mut shown = BTreeMap::new();
    for operation in operations["operations"].as_array().unwrap() {
        let name: String = form_urlencoded::byte_serialize(operation["name"].as_str().unwrap().as_bytes()).collect();
        let parts = ask(running.address, &format!("/api/operations/parts?name={name}"));
        let parts = parts["rows"].as_array().unwrap();
        assert_eq!(operation["of"], parts.iter().filter(|part| part["kind"] != "gap").count(), "{name}");
        for part in parts.iter().filter(|part| part["kind"] != "gap") {
            let key = (part["kind"].to_string(), part["document"].to_string(), part["at"].to_string());
            shown.entry(key).or_insert_with(Vec::new).push(part["times"].as_u64().unwrap());
        }
    }
    for (kind, part) in report("coverage")["parts"].as_object().unwrap() {
        for name in ["touched", "of"] {
            assert_eq!(operations["parts"][kind][name], part[name], "{kind} {name}");
        }
        for one in part["each"].as_array().unwrap().iter().filter(|_| kind != "operations") {
            let key = (format!("\"{kind}\""), one["document"].to_string(), one["at"].to_string());
            let times = shown.get(&key).unwrap_or_else(|| panic!("{key:?} is below no operation"));
            assert!(times.contains(&one["times"].as_u64().unwrap()), "{key:?}");
        }
    }
    let mut callers = ask(running.address, "/api/callers")["callers"].clone();
    for caller in callers.as_array_mut().unwrap() {
        caller.as_object_mut().unwrap().remove("query");
        for call in caller["calls"].as_array_mut().unwrap() {
            assert!(call["firstNumber"].is_u64(), "{call}");
            call.as_object_mut().unwrap().remove("firstNumber");
        }
    }
    assert_eq!(callers, report("audit")["callers"]);
    running.finish();
}

#[test]
fn a_finding_is_where_its_bytes_are() {
    let running = inspect(&[]);
    let mut seen = 0;
    for n in 0..ask(running.address, "/api/run")["n"].as_u64().unwrap() {
        let shown = ask(running.address, &format!("/api/exchanges/{n}"));
        for (index, finding) in shown["findings"].as_array().unwrap().iter().enumerate() {
            let Some(line) = finding["line"].as_u64() else { continue };
            let side = finding["side"].as_str().unwrap();
            let path = format!("/api/exchanges/{n}/{side}/lines?from={line}&count=1&finding={index}");
            let lines = ask(running.address, &path);
            let tokens = lines["lines"][0]["tokens"].as_array().unwrap();
            assert!(tokens.iter().any(|token| token[0] == "mark"), "{n}: {finding} {lines}");
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen}");
    running.finish();
}

#[test]
fn a_token_that_has_one_of_the_alternative_scopes_lacks_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let document = r#"{"openapi":"3.1.0","info":{"title":"t","version":"1"},
        "paths":{"/things":{"get":{"operationId":"listThings","responses":{"200":{"description":"d"}},
            "security":[{"oauth":["write:things"]},{"oauth":["read:things"]}]}}},
        "components":{"securitySchemes":{"oauth":{"type":"oauth2","flows":{"clientCredentials":
            {"tokenUrl":"https://tenant.example/token","scopes":{"read:things":"","write:things":""}}}}}}}"#;
    fs::write(folder.path().join("openapi.json"), document).unwrap();
    let authorization = format!("Bearer {}", har::token("read:things", 4_102_444_800));
    let entry = har::get("/things", Some(&authorization), 200, "{}");
    fs::write(folder.path().join("a.har"), har::har(&[entry])).unwrap();
    let arguments = ["inspect", "a.har", "--contract", "openapi.json", "--listen", "127.0.0.1:0"];
    let running = read_whole(Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]));
    let shown = ask(running.address, "/api/exchanges/0");
    assert_eq!(shown["caller"]["scopes"], json!([{"name": "read:things", "state": "needed"}]), "{shown}");
    running.finish();
}

#[test]
fn a_file_that_cannot_be_read_is_noted_and_sets_the_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), "{\"log\":{\"version\":\"1.2\",\"entries\":[]}").unwrap();
    let arguments = ["inspect", "a.har", "--listen", "127.0.0.1:0"];
    let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
    let notes = loop {
        let run = ask(running.address, "/api/run");
        if run["reading"] == Value::Null && run["notes"] != Value::Array(Vec::new()) {
            break run["notes"].clone();
        }
        std::thread::yield_now();
    };
    assert!(notes[0].as_str().unwrap().contains("a.har"), "{notes}");
    assert_eq!(running.finish().status, 2);
}

#[test]
fn an_entry_is_found_by_its_number_in_its_file() {
    let running = inspect(&["--at", "3"]);
    let rows = ask(running.address, "/api/exchanges?count=500");
    for row in rows["rows"].as_array().unwrap() {
        let source: String = form_urlencoded::byte_serialize(row["source"].as_str().unwrap().as_bytes()).collect();
        let found = ask(running.address, &format!("/api/exchanges/entry?source={source}&entry={}", row["entry"]));
        assert_eq!(found["n"], row["n"], "{row}");
    }
    let ran = running.finish();
    assert!(ran.stderr.contains("/#/exchanges?entry=3\n"), "{}", ran.stderr);
}
