//! `contrail verify`: recordings of every producer against the contract.

mod contracts;
mod credentials;
mod groups;
mod reports;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::support::{
    command::{Ran, contrail, run, run_in, run_with_input},
    golden::{assert_golden, assert_output, transcript},
    har::{self, NOON, POLICY, bearer, conforming, get, token},
};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/har")
}

fn verify_text(entries: &[Value], options: &[&str]) -> Ran {
    run_with_input(["verify", "-"].iter().chain(options), har::har(entries).as_bytes())
}

fn verify_json(entries: &[Value], options: &[&str]) -> (i32, Value) {
    let ran = run_with_input(["verify", "--format", "json", "-"].iter().chain(options), har::har(entries).as_bytes());
    assert!(ran.status < 2, "{}", ran.stderr);
    (ran.status, serde_json::from_str(&ran.stdout).unwrap())
}

fn rules(report: &Value, entry: usize) -> Vec<&str> {
    report["exchanges"][entry]["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect()
}

#[test]
fn files_of_every_producer_give_what_stands_beside_them() {
    for name in [
        "chrome.har",
        "firefox.har",
        "safari.har",
        "playwright-embedded.har",
        "playwright-attached",
        "charles.har",
        "fiddler.har",
        "mitmproxy.har",
        "secrets.har",
    ] {
        let text = run_in(&data(), ["verify", name]);
        assert_eq!((text.status, text.stderr.as_str()), (1, ""), "{name}");
        let stem = name.trim_end_matches(".har");
        assert_golden(&format!("har/expected/{stem}.txt"), &text.stdout);
        let json = run_in(&data(), ["verify", "--format", "json", name]);
        assert_eq!((json.status, json.stderr.as_str()), (1, ""), "{name}");
        assert_golden(&format!("har/expected/{stem}.json"), &json.stdout);
        serde_json::from_str::<Value>(&json.stdout).unwrap();
    }
}

#[test]
fn producers_that_keep_the_same_traffic_give_the_same_verdicts() {
    let verdicts = |name: &str| -> Vec<Value> {
        let ran = run_in(&data(), ["verify", "--format", "json", name]);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let exchanges = report["exchanges"].as_array().unwrap();
        exchanges
            .iter()
            .map(|exchange| serde_json::json!([exchange["verdict"], exchange["findings"], exchange["unchecked"]]))
            .collect()
    };
    let expected = verdicts("mitmproxy.har");
    for name in ["firefox.har", "playwright-embedded.har", "playwright-attached", "charles.har", "fiddler.har"] {
        assert_eq!(verdicts(name), expected, "{name}");
    }
}

#[test]
fn what_is_not_har_is_status_2_and_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut transcripts = String::new();
    for (name, content) in [
        ("page.html", "<!doctype html><p>hello"),
        ("empty.har", ""),
        ("other.json", r#"{"openapi":"3.1.0"}"#),
        ("array.json", "[1,2]"),
        ("cut.har", r#"{"log":{"version":"1.2","entries":[{"request":{"method":"GET""#),
        ("binary", "\u{0}\u{1}\u{2}"),
    ] {
        fs::write(folder.path().join(name), content).unwrap();
        let ran = run_in(folder.path(), ["verify", name]);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{name}: {}", ran.stderr);
        transcripts += &transcript(&format!("contrail verify {name}"), &ran);
    }
    assert_golden("verify/what_is_not_har_is_status_2_and_one_clear_line.txt", &transcripts);
}

#[test]
fn an_entry_of_another_tool_that_cannot_be_read_costs_itself_and_the_status() {
    let folder = tempfile::tempdir().unwrap();
    let file = har::har(&[conforming(), conforming()]);
    let broken = file.replacen(r#""entries":["#, r#""entries":[{"request":{"method":"GET","url":"/q"}},"#, 1);
    assert_ne!(broken, file);
    fs::write(folder.path().join("x.har"), broken).unwrap();
    let ran = run_in(folder.path(), ["verify", "--format", "json", "x.har"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("left out `x.har`, entry 0: its URL names no host"), "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["summary"]["exchanges"], 2, "the others are judged: {report:#}");
}

#[test]
fn a_recording_that_cannot_be_read_costs_itself_and_the_status_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = har::har(&[conforming(), conforming()]);
    for (name, content) in [("1.har", "[1,2]"), ("2.har", &file), ("3.har", &file[..file.len() - 4]), ("4.har", &file)]
    {
        fs::write(folder.path().join(name), content).unwrap();
    }
    fs::write(folder.path().join("a.json"), r#"{"openapi":"3.1.0","info":{"title":"a","version":"1"}}"#).unwrap();
    let contracts = ["diff", "--contract", "a.json", "--contract", "a.json", "--format", "json"];
    let commands =
        [&["verify", "--format", "json"][..], &["audit", "--format", "json"], &["coverage", "--format", "json"]];
    for arguments in [&commands[..], &[&contracts]].concat() {
        let ran = run_in(folder.path(), [arguments, &["1.har", "2.har", "3.har", "4.har"]].concat());
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        for said in ["contrail: `1.har` is neither a HAR file nor a journal", "contrail: `3.har` ends in the middle"] {
            assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
        }
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["summary"]["exchanges"], 5, "the others, and what is whole of it: {report:#}");
        assert_eq!(report["exit"]["because"][0], "2 recordings could not be read");
    }
    let ran = run_in(folder.path(), ["learn", "1.har", "2.har"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("from 2 exchanges"), "{}", ran.stderr);
}

#[test]
fn a_folder_is_every_recording_in_it_and_each_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("deep")).unwrap();
    fs::write(folder.path().join("a.har"), har::har(&[conforming()])).unwrap();
    fs::write(folder.path().join("deep/b.har"), har::har(&[conforming(), conforming()])).unwrap();
    fs::write(folder.path().join("notes.txt"), "no recording").unwrap();
    let ran = run_in(folder.path(), ["verify", "--format", "json", "."]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let named: Vec<String> = report["exchanges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|exchange| format!("{} {}", exchange["source"].as_str().unwrap(), exchange["entry"]))
        .collect();
    assert_eq!(named, ["./a.har 0", "./deep/b.har 0", "./deep/b.har 1"]);
}

#[test]
fn an_unproven_fixture_is_a_warning_on_standard_error() {
    let mut file: Value = serde_json::from_str(&har::har(&[conforming()])).unwrap();
    file["log"]["creator"]["name"] = "contrail".into();
    file["log"]["_contrail"] = serde_json::json!({"version": 1, "recorded": "2026-01-15", "unproven": true});
    let ran = run_with_input(["verify", "-"], file.to_string().as_bytes());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_output("verify/an_unproven_fixture_is_a_warning_on_standard_error", &ran);
}

#[test]
fn a_fixture_of_a_newer_version_is_status_2() {
    let mut file: Value = serde_json::from_str(&har::har(&[conforming()])).unwrap();
    file["log"]["creator"]["name"] = "contrail".into();
    for version in [serde_json::json!(2), serde_json::json!("one"), Value::Null] {
        file["log"]["_contrail"] = serde_json::json!({"version": version});
        let ran = run_with_input(["verify", "-"], file.to_string().as_bytes());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{version}");
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn a_folder_without_a_recording_is_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run_in(folder.path(), ["verify", "."]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
}

#[test]
fn entries_that_are_not_http_are_left_out_and_keep_their_index() {
    let mut data = conforming();
    data["request"]["url"] = "data:text/plain,hello".into();
    let (status, report) = verify_json(&[data, conforming()], &[]);
    assert_eq!(status, 0);
    assert_eq!(report["summary"]["skipped"], 1);
    assert_eq!(report["summary"]["exchanges"], 1);
    assert_eq!(report["exchanges"][0]["entry"], 1);
}

#[test]
fn tunnels_in_another_tools_file_are_left_out_and_counted() {
    let tunnel = |url: &str| {
        let mut tunnel = conforming();
        tunnel["request"]["method"] = "CONNECT".into();
        tunnel["request"]["url"] = url.into();
        tunnel
    };
    let entries = [tunnel("tenant.example:443"), tunnel("https://tenant.example:443"), conforming()];
    let (status, report) = verify_json(&entries, &["--deny", "gaps"]);
    assert_eq!(status, 0, "{report}");
    let counts = json!({"exchanges": 1, "conforms": 1, "gap": 0, "violates": 0, "skipped": 2});
    assert_eq!(report["summary"], counts);
    assert_eq!(report["exchanges"][0]["entry"], 2);
    let ran = verify_text(&entries, &[]);
    assert_output("verify/tunnels_in_another_tools_file_are_left_out_and_counted", &ran);
}

#[test]
fn a_recording_without_an_exchange_is_status_2_and_the_message_states_that_nothing_was_checked() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let mut tunnel = conforming();
    tunnel["request"]["method"] = "CONNECT".into();
    write("none.har", &har::har(&[]));
    write("tunnel.har", &har::har(&[tunnel]));
    write("empty.journal", "");
    write("one.har", &har::har(&[conforming()]));
    for command in ["verify", "audit"] {
        let nothing = |name: &str| format!("contrail: nothing was checked in `{name}`: it holds no exchange\n");
        for name in ["none.har", "tunnel.har", "empty.journal"] {
            let ran = run_in(folder.path(), [command, name]);
            assert_eq!((ran.status, ran.stderr), (2, nothing(name)), "{command}");
        }
        let ran = run_in(folder.path(), [command, "none.har", "one.har"]);
        assert_eq!((ran.status, ran.stderr), (0, nothing("none.har")), "{command}");
    }
}

#[test]
fn a_recording_that_is_named_twice_is_read_once_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("f")).unwrap();
    let bad = get("/api/v2/rate-limit-policies/rlp_2", Some(&bearer()), 200, POLICY);
    fs::write(at("f/a.har"), har::har(&[bad])).unwrap();
    fs::write(at("f/b.har"), har::har(&[conforming()])).unwrap();
    std::os::unix::fs::symlink("f", at("link")).unwrap();
    let json = |arguments: &[&str]| {
        let ran = run_in(folder.path(), [arguments, &["--format", "json"]].concat());
        let warnings = ran.stderr.lines().filter_map(|line| line.strip_prefix("contrail: ")).map(str::to_owned);
        (serde_json::from_str::<Value>(&ran.stdout).unwrap()["summary"].take(), warnings.collect::<Vec<_>>())
    };
    for (arguments, warning) in [
        (&["f", "f"][..], "`f` is also in `f`; contrail reads it once"),
        (&["f", "./f/../f"], "`./f/../f` is also in `f`; contrail reads it once"),
        (&["f", "link"], "`link` is also in `f`; contrail reads it once"),
        (&["f", "link/a.har"], "`link/a.har` is also in `f`; contrail reads it once"),
        (&["f/a.har", "f"], "`f/a.har` is also in `f/a.har`; contrail reads it once"),
    ] {
        for command in ["verify", "audit"] {
            let (summary, warnings) = json(&[&[command], arguments].concat());
            assert_eq!(
                (summary["exchanges"].as_u64(), &*warnings),
                (Some(2), &[warning.to_owned()][..]),
                "{arguments:?}"
            );
        }
        let (summary, warnings) = json(&[&["scan"], arguments].concat());
        assert_eq!((summary["files"].as_u64(), &*warnings), (Some(2), &[warning.to_owned()][..]), "{arguments:?}");
    }
    let (summary, warnings) = json(&["diff", "f/a.har", "link/a.har"]);
    assert_eq!((&summary["same"], &*warnings), (&json!(1), &["A and B are the same recording".to_owned()][..]));
}

#[test]
fn a_member_that_an_entry_has_twice_is_named() {
    let entry = conforming().to_string().replacen(r#""method":"GET""#, r#""method":"GET","method":"PUT""#, 1);
    let text = format!(r#"{{"log":{{"version":"1.2","entries":[{entry}]}}}}"#);
    let ran = run_with_input(["verify", "-"], text.as_bytes());
    let line = "contrail: left out `standard input`, entry 0: it cannot be read (duplicate member `method`)\n";
    assert_eq!((ran.status, &*ran.stderr), (2, line));
}

/// `testAction` with this body, whose entry lists headers and no `Content-Type`, but declares these types.
fn declaring(body: &str, request: &str, response: &str) -> Value {
    let mut entry = get("/api/v2/actions/actions/act_1/test", Some(&bearer()), 200, "{}");
    entry["request"]["method"] = json!("POST");
    entry["request"]["bodySize"] = json!(body.len());
    entry["request"]["postData"] = json!({"mimeType": request, "text": body});
    entry["response"]["headers"] = json!([{"name": "Cache-Control", "value": "no-store"}]);
    entry["response"]["content"]["mimeType"] = json!(response);
    entry
}

#[test]
fn a_type_that_a_file_declares_only_beside_the_body_is_what_the_body_is_judged_as() {
    let json = "application/json; charset=utf-8";
    let entries = [
        declaring(r#"{"payload":{}}"#, json, json),
        declaring(r#"{"payload":1}"#, json, json),
        declaring(r#"{"payload":{}}"#, "", "x-unknown"),
        // What Playwright writes where it saw no type, and what a browser guessed.
        declaring(r#"{"payload":{}}"#, "application/octet-stream", "text/plain"),
    ];
    let (_, report) = verify_json(&entries, &[]);
    let both = ["request.content-type", "response.content-type"];
    assert_eq!(rules(&report, 0), [""; 0]);
    assert_eq!(rules(&report, 1), ["request.body"]);
    assert_eq!(rules(&report, 2), both);
    assert_eq!(rules(&report, 3), both);
    assert_eq!(report["exchanges"][3]["findings"], report["exchanges"][2]["findings"]);
}

#[test]
fn a_declared_type_stays_declared_in_a_fixture_which_verifies_as_the_file_did() {
    let folder = tempfile::tempdir().unwrap();
    let json = "application/json";
    let entry = declaring(r#"{"payload":1}"#, json, json);
    fs::write(folder.path().join("a.har"), har::har(&[entry])).unwrap();
    let ran = run_in(folder.path(), ["import", "a.har", "--out", "b.har"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let made: Value = serde_json::from_slice(&fs::read(folder.path().join("b.har")).unwrap()).unwrap();
    let made = &made["log"]["entries"][0];
    let named =
        |part: &str| made[part]["headers"].as_array().unwrap().iter().any(|field| field["name"] == "content-type");
    assert_eq!((named("request"), &made["request"]["postData"]["mimeType"]), (false, &json!(json)));
    assert_eq!((named("response"), &made["response"]["content"]["mimeType"]), (false, &json!(json)));
    let findings = |file: &str| {
        let ran = run_in(folder.path(), ["verify", "--format", "json", file]);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        report["exchanges"][0]["findings"].clone()
    };
    assert_eq!(findings("b.har"), findings("a.har"));
}
