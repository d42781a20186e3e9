//! `contrail audit`: who called what, with which scopes, and what proves it.

use std::fs;

use super::bench::{Place, get, token};
use crate::support::command::{run, run_with_input};

const TEMPLATES: &str = "/api/v2/connection-profiles/templates";

#[test]
fn an_audit_names_each_caller_with_what_it_called_held_needed_and_lacked() {
    let ran = run(["audit", "fixtures/errors", "--format", "json"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let narrow = report["callers"].as_array().unwrap().iter().find(|one| one["caller"] == "sandbox-narrow").unwrap();
    assert_eq!(narrow["needed"], serde_json::json!(["read:rate_limit_policies"]));
    assert_eq!(narrow["lacks"], narrow["needed"]);
    assert_eq!(narrow["calls"][0]["operation"], "getRateLimitPolicy");
    assert_eq!(narrow["calls"][0]["refused"], 1);
    assert_eq!(report["unproven"], serde_json::json!(["fixtures/errors"]));
}

#[test]
fn a_scope_is_called_unneeded_only_with_the_calls_that_may_need_it_beside_it() {
    let ran = run(["audit", "fixtures/operations"]);
    assert!(ran.stdout.contains("unneeded    create:actions"), "{}", ran.stdout);
    assert!(ran.stdout.contains("where the documentation does not show the required scope"), "{}", ran.stdout);
}

#[test]
fn the_chain_of_a_trail_is_checked_first_and_an_altered_line_is_named() {
    let place = Place::new();
    let running = place.start("watch", &["--trail", "trail"]);
    get(running.address, TEMPLATES, &token(running.address));
    running.finish();
    let whole = place.run(&["audit", "trail"]);
    assert_eq!(whole.status, 0, "{}{}", whole.stdout, whole.stderr);
    assert!(whole.stdout.contains("the chain of `trail` is whole: 2 entries"), "{}", whole.stdout);

    let segment = fs::read_dir(place.path().join("trail"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|name| name == "journal"))
        .unwrap();
    let text = fs::read_to_string(&segment).unwrap();
    fs::write(&segment, text.replacen("\"status\":200", "\"status\":201", 1)).unwrap();
    let altered = place.run(&["audit", "trail"]);
    assert_eq!(altered.status, 1);
    assert!(
        altered.stdout.contains("ALTERED: ") && altered.stdout.contains("line 2: this line was altered"),
        "{}",
        altered.stdout
    );
}

#[test]
fn a_browsers_export_without_authorization_leaves_the_caller_unknown() {
    let ran = run(["audit", "tests/data/har/chrome.har"]);
    assert!(ran.stdout.contains("unknown (the file does not say)"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("auth.missing") && !ran.stdout.contains("lacks"), "{}", ran.stdout);
}

#[test]
fn standard_input_is_audited_and_verified_as_the_file_by_name_is() {
    for file in ["tests/data/har/chrome.har", "tests/data/har/firefox.har", "fixtures/gaps.har"] {
        for command in ["audit", "verify"] {
            for format in ["text", "json"] {
                let named = run([command, file, "--format", format]);
                let piped = run_with_input([command, "-", "--format", format], &fs::read(file).unwrap());
                let named_out = named.stdout.replace(&format!("`{file}`"), "`-`").replace(file, "-");
                assert_eq!((piped.status, piped.stdout), (named.status, named_out), "{command} {file}");
            }
        }
    }
}

#[test]
fn a_recording_that_comes_through_a_pipe_is_read_once() {
    let recording = fs::read("fixtures/gaps.har").unwrap();
    let ran = run_with_input(["audit", "/dev/stdin"], &recording);
    assert!(ran.stdout.starts_with("8 exchanges"), "{}{}", ran.stdout, ran.stderr);
}
