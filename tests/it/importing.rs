//! `contrail import`: other tools' recordings become fixtures that verify as before, without their secrets.

use std::{fs, path::Path};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::run;

fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/har").join(name).to_str().unwrap().to_owned()
}

/// Operation, status, findings and what was unchecked, of each exchange under the contract; in no order.
fn verdicts(file: &str) -> Vec<String> {
    let ran = run(["verify", file, "--format", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let mut verdicts: Vec<String> = report["exchanges"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|exchange| exchange["url"].as_str().unwrap().starts_with("https://tenant.example/"))
        .map(|exchange| {
            let found: Vec<String> = exchange["findings"]
                .as_array()
                .unwrap()
                .iter()
                .map(|finding| format!("{} {}", finding["rule"], finding["at"]))
                .collect();
            let unchecked = &exchange["unchecked"];
            format!("{} {} {} {unchecked}", exchange["operation"], exchange["status"], found.join(", "))
        })
        .collect();
    verdicts.sort();
    verdicts
}

#[test]
fn what_every_producer_recorded_verifies_in_the_fixture_as_it_did_in_the_file() {
    let folder = TempDir::new().unwrap();
    let names = ["chrome", "firefox", "safari", "charles", "fiddler", "mitmproxy", "playwright-embedded", "secrets"];
    for name in names {
        let file = data(&format!("{name}.har"));
        for to in [folder.path().join(name), folder.path().join(format!("{name}.har"))] {
            let out = to.to_str().unwrap();
            let ran = run(["import", &file, "--out", out, "--keep"]);
            assert_eq!((ran.status, &*ran.stdout), (0, ""), "{name}: {}", ran.stderr);
            assert_eq!(verdicts(out), verdicts(&file), "{name}");
        }
    }
}

#[test]
fn a_browsers_export_loses_other_sites_and_keeps_saying_that_nobody_can_judge_authentication() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("x.har");
    let ran = run(["import", &data("chrome.har"), "--out", out.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("2 with other sites left out"), "{}", ran.stderr);
    assert!(ran.stderr.contains("4 entries left out: CONNECT, or not HTTP"), "{}", ran.stderr);
    let text = fs::read_to_string(&out).unwrap();
    assert!(!text.contains("cdn.example") && !text.contains("shop.example"));
    let ran = run(["verify", out.to_str().unwrap(), "--format", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    for exchange in report["exchanges"].as_array().unwrap() {
        let unchecked = exchange["unchecked"].as_array().unwrap();
        assert!(exchange["operation"].is_null() || unchecked.contains(&"auth".into()), "{exchange}");
    }
}

#[test]
fn no_secret_of_the_file_is_in_the_fixture() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("x.har");
    let ran = run(["import", &data("secrets.har"), "--out", out.to_str().unwrap()]);
    assert!(ran.stderr.contains("secrets replaced: "), "{}", ran.stderr);
    let text = fs::read_to_string(&out).unwrap();
    assert!(fs::read_to_string(data("secrets.har")).unwrap().contains("s3cr3t"));
    assert!(!text.contains("s3cr3t"), "{text}");
    assert_eq!(run(["scan", out.to_str().unwrap()]).status, 0);
}

#[test]
fn what_cannot_be_imported_is_said_in_one_line_with_status_2() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("none.har"), r#"{"log":{"entries":[]}}"#).unwrap();
    fs::write(path("there.har"), "x").unwrap();
    for (arguments, expected) in [
        (vec![path("none.har"), "--out".into(), path("new.har")], "name the tenant's origin with --upstream"),
        (vec![data("chrome.har"), "--out".into(), path("there.har")], "--append adds to it, --overwrite replaces it"),
        (vec!["-".into(), "--out".into(), path("new.har")], "name a file"),
        (
            vec![data("chrome.har"), "--out".into(), path("new.har"), "--upstream".into(), "https://a/b".into()],
            "write the tenant's origin, https://host, without a path",
        ),
    ] {
        let ran = run([vec!["import".to_owned()], arguments].concat());
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    assert!(!folder.path().join("new.har").exists());
}
