//! `--baseline FILE`: findings that the JSON report of an earlier run lists do not fail again.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{
    command::{Ran, run_in},
    golden::assert_output,
    har,
};

const POLICY: &str = "/api/v2/rate-limit-policies/rlp_1";
const GROUPS: &str = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups";

fn get(target: &str, body: &str) -> Value {
    har::get(target, Some(&har::bearer()), 200, body)
}

/// An exchange whose response violates the contract at a place.
fn broken() -> Value {
    get(POLICY, &har::POLICY.replace("\"allow\"", "\"shrug\""))
}

/// A folder in which `base.json` is the report of a run over these entries.
fn after(entries: &[Value], options: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.har", entries);
    let ran = run_in(folder.path(), ["verify", "a.har", "--report", "json=base.json"].iter().chain(options));
    assert_eq!(ran.status, 1, "{}{}", ran.stdout, ran.stderr);
    folder
}

fn write(folder: &Path, name: &str, entries: &[Value]) {
    fs::write(folder.join(name), har::har(entries)).unwrap();
}

fn with_baseline(folder: &Path, arguments: &[&str]) -> Ran {
    run_in(folder, arguments.iter().chain(&["--baseline", "base.json"]))
}

#[test]
fn what_the_baseline_lists_does_not_fail_again_and_what_is_new_does() {
    let folder = after(&[broken()], &[]);
    let folder = folder.path();
    assert_eq!(with_baseline(folder, &["verify", "a.har"]).status, 0);
    write(folder, "more.har", &[broken(), broken(), get(&format!("{GROUPS}?take=500"), "[]")]);
    let ran = with_baseline(folder, &["verify", "more.har", "--report", "junit=r.xml", "--report", "json=r.json"]);
    assert_output("baseline/what_is_new_fails", &ran);
    let junit = fs::read_to_string(folder.join("r.xml")).unwrap();
    assert!(
        junit.contains("<skipped type=\"response.body\"") && junit.contains("<failure type=\"query.parameter\""),
        "{junit}"
    );
    let report: Value = serde_json::from_str(&fs::read_to_string(folder.join("r.json")).unwrap()).unwrap();
    assert_eq!(report["baseline"], json!({"file": "base.json", "known": 2, "gone": []}));
    let known: Vec<_> =
        report["findings"].as_array().unwrap().iter().map(|one| (&one["rule"], &one["known"])).collect();
    assert!(known.contains(&(&json!("response.body"), &json!(true))), "{known:?}");
    assert!(known.contains(&(&json!("query.parameter"), &json!(false))), "{known:?}");
}

#[test]
fn what_no_longer_occurs_is_named() {
    let folder = after(&[broken()], &[]);
    write(folder.path(), "good.har", &[har::conforming()]);
    assert_output("baseline/what_no_longer_occurs", &with_baseline(folder.path(), &["verify", "good.har"]));
}

#[test]
fn indices_and_ids_of_undocumented_paths_are_no_part_of_a_finding() {
    let group = |index: usize| {
        let groups: Vec<Value> = (0..3).map(|at| if at == index { json!(1) } else { json!({"id": "g"}) }).collect();
        get(GROUPS, &json!({"groups": groups}).to_string())
    };
    let folder = after(&[group(0), get("/api/v2/users/USR_1", "{}")], &["--deny", "gaps"]);
    write(folder.path(), "a.har", &[group(2), get("/api/v2/users/USR_2", "{}")]);
    let ran = with_baseline(folder.path(), &["verify", "a.har", "--deny", "gaps"]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    write(folder.path(), "a.har", &[get("/api/v2/users", "{}")]);
    assert_eq!(with_baseline(folder.path(), &["verify", "a.har", "--deny", "gaps"]).status, 1);
}

#[test]
fn the_report_of_any_command_is_a_baseline_of_any_other() {
    let folder = after(&[broken()], &[]);
    let folder = folder.path();
    let audit = with_baseline(folder, &["audit", "a.har"]);
    assert_output("baseline/an_audit", &audit);
    let proxy = ["--listen", "127.0.0.1:0", "--check-auth"];
    let replay = |rest: &[&str]| {
        run_in(folder, ["replay", "a.har", "--allow", "unused"].iter().chain(&proxy).chain(rest).chain(&["--", "true"]))
    };
    let without = replay(&["--format", "json", "--report", "json=replay.json"]);
    assert_eq!(without.status, 1, "{}", without.stderr);
    let with = replay(&["--baseline", "base.json"]);
    assert_output("baseline/a_replay", &with);
    fs::remove_file(folder.join("base.json")).unwrap();
    fs::rename(folder.join("replay.json"), folder.join("base.json")).unwrap();
    assert_eq!(with_baseline(folder, &["verify", "a.har"]).status, 0);
    let ran = run_in(folder, ["audit", "a.har", "--report", "json=audit.json"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert_eq!(run_in(folder, ["verify", "a.har", "--baseline", "audit.json"]).status, 0);
}

#[test]
fn a_baseline_that_is_none_stops_the_command_and_no_report_replaces_it() {
    let folder = after(&[broken()], &[]);
    let folder = folder.path();
    fs::write(folder.join("other.json"), "{}").unwrap();
    for (arguments, expected) in [
        (
            &["verify", "a.har", "--baseline", "nosuch.json"][..],
            "contrail: --baseline: cannot read nosuch.json: No such file or directory (os error 2)\n",
        ),
        (
            &["audit", "a.har", "--baseline", "other.json"],
            "contrail: --baseline: other.json is not a JSON report of verify, record, watch, replay or audit (missing field `findings` at line 1 column 2); \
             --report json=FILE writes one\n",
        ),
        (
            &["verify", "a.har", "--baseline", "base.json", "--report", "json=base.json"],
            "contrail: --report: base.json belongs to the baseline `base.json`, and the report would replace it; name another \
             file\n",
        ),
    ] {
        let ran = run_in(folder, arguments);
        assert_eq!((ran.status, &*ran.stderr), (2, expected), "{arguments:?}");
    }
}
