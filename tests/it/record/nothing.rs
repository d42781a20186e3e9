//! A recording to which no answer of the tenant came never takes anything away.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use super::harness::{SECRET, TEMPLATES, Workspace, entries, get, token};
use crate::support::{
    command::Ran,
    golden::{assert_line, assert_output},
    process::Running,
    wire::{Nobody, Origin, call},
};

const GROUPS: &str = "/api/v2/connections/c/directory-provisioning/synchronized-groups";
const TEMPLATES_OPERATION: &str = "getConnectionProfileTemplates";

/// Every file in a folder and below, by its path.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for item in fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.display().to_string(), fs::read(&path).unwrap());
        }
    }
    found
}

/// A folder in which a fixture was recorded: `rec`, or `rec.har`.
fn recorded(out: &str) -> Workspace {
    let workspace = Workspace::new();
    let running = workspace.start("record", &["--out", out]);
    let token = token(running.address);
    get(running.address, TEMPLATES, &token);
    get(running.address, GROUPS, &token);
    let ran = running.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    workspace
}

fn record(workspace: &Workspace, upstream: &str, options: &[&str], command: &[&str]) -> Ran {
    let all = [&["record", "--upstream", upstream, "--ca-dir", "ca"], options, &["--"], command].concat();
    workspace.run(&all)
}

#[test]
fn a_command_that_does_not_use_the_proxy_leaves_the_fixture_as_it_was_and_the_variables_it_got_are_named() {
    for out in ["rec", "rec.har"] {
        let workspace = recorded(out);
        fs::create_dir(workspace.path().join("ca")).unwrap();
        let before = files(workspace.path());
        for options in [&["--overwrite"][..], &["--append"], &["--replace", TEMPLATES_OPERATION]] {
            let ran = record(&workspace, "sandbox", &[&["--out", out], options].concat(), &["true"]);
            assert_output(&format!("record/nothing/a_command_that_does_not_use_the_proxy-{out}"), &ran);
            let mut after = files(workspace.path());
            after.retain(|name, _| !name.contains("/ca/"));
            assert_eq!(after, before, "{options:?}");
        }
    }
}

#[test]
fn a_recording_of_nothing_leaves_neither_fixture_nor_journal_behind() {
    for out in ["rec", "rec.har"] {
        let workspace = Workspace::new();
        let ran = record(&workspace, "sandbox", &["--out", out], &["true"]);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert_line(&ran.stderr, &format!("fixture: {out} was not made"));
        assert!(!workspace.has(out) && !workspace.has(&format!("{out}.journal")));
        let ran = record(&workspace, "sandbox", &["--out", &format!("fixtures/{out}")], &["true"]);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert!(!workspace.has("fixtures"), "an empty folder is left");

        let running = workspace.start("record", &["--out", out]);
        let address = running.address;
        let ran = running.finish();
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        let said =
            format!("NOTHING RECORDED: contrail received no request at http://{address}; point the client there");
        assert_line(&ran.stderr, &said);
        assert!(!workspace.has(out) && !workspace.has(&format!("{out}.journal")));
    }
}

#[test]
fn a_recording_may_be_of_nothing_where_unused_is_allowed_and_no_request_was_denied() {
    let workspace = recorded("rec");
    let before = workspace.read("rec/rec.har");
    let allowed = ["--append", "--allow", "unused", "--out"];
    for out in ["rec", "new"] {
        let ran = record(&workspace, "sandbox", &[&allowed[..], &[out]].concat(), &["true"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_line(&ran.stderr, "added: nothing");
    }
    assert!(!workspace.has("new"));
    let denied = ["curl", "-s", "http://other.example/"];
    let ran = record(&workspace, "sandbox", &[&allowed[..], &["rec"]].concat(), &denied);
    assert!(ran.status == 2 && ran.stderr.contains("NOTHING RECORDED"), "{}", ran.stderr);
    assert_eq!(workspace.read("rec/rec.har"), before);
}

#[test]
fn the_status_of_a_command_that_failed_comes_before_that_of_a_recording_of_nothing() {
    let workspace = recorded("rec.har");
    let before = workspace.read("rec.har");
    let ran = record(&workspace, "sandbox", &["--out", "rec.har", "--overwrite"], &["sh", "-c", "exit 7"]);
    assert_eq!(ran.status, 7);
    assert_output(
        "record/nothing/the_status_of_a_command_that_failed_comes_before_that_of_a_recording_of_nothing",
        &ran,
    );
    assert_eq!(workspace.read("rec.har"), before);
}

#[test]
fn hosts_that_a_command_requested_in_vain_are_named() {
    let workspace = recorded("rec.har");
    let before = workspace.read("rec.har");
    let connect = r#"at=${HTTPS_PROXY#http://}; for host in one.example one.example two.example; do
        exec 3<>"/dev/tcp/${at%:*}/${at##*:}"; printf 'CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n' $host $host >&3; read -r line <&3; exec 3>&-; done"#;
    let ran = record(&workspace, "sandbox", &["--out", "rec.har", "--overwrite"], &["bash", "-c", connect]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert_output("record/nothing/hosts_that_a_command_requested_in_vain_are_named", &ran);
    assert_eq!(workspace.read("rec.har"), before);
}

#[test]
fn a_tenant_that_cannot_be_reached_leaves_the_fixture_as_it_was_and_the_cause_is_named() {
    for options in
        [&["--overwrite"][..], &["--append"], &["--replace", TEMPLATES_OPERATION], &["--overwrite", "--trail", "trail"]]
    {
        let workspace = recorded("rec");
        let before = files(&workspace.path().join("rec"));
        let nobody = Nobody::new();
        let upstream = format!("http://{}", nobody.address);
        let running = workspace.start_at(nobody.address, "record", &[&["--out", "rec"], options].concat());
        for _ in 0..2 {
            assert_eq!(get(running.address, TEMPLATES, "x").status(), 502);
        }
        let ran = running.finish();
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        let said = format!(
            "NOTHING RECORDED: contrail answered 2 requests in the tenant's place: cannot reach {upstream}: \
             Connection refused (os error 111) × 2"
        );
        assert_line(&ran.stderr, &said);
        assert_eq!(files(&workspace.path().join("rec")), before);
        assert!(!workspace.has("rec.journal"));
    }
}

#[test]
fn an_operation_that_was_to_be_recorded_anew_and_did_not_come_keeps_its_entries() {
    let workspace = recorded("rec.har");
    let before = workspace.read("rec.har");
    let replace = ["--out", "rec.har", "--replace", TEMPLATES_OPERATION, "--replace", "getSynchronizedGroups"];
    let other = workspace.start("record", &replace);
    token(other.address);
    let ran = other.finish();
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert_output("record/nothing/an_operation_that_was_to_be_recorded_anew_and_did_not_come_keeps_its_entries", &ran);
    assert_eq!(workspace.read("rec.har"), before);

    let one = workspace.start("record", &replace);
    let token = token(one.address);
    get(one.address, GROUPS, &token);
    let ran = one.finish();
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert_output(
        "record/nothing/an_operation_that_was_to_be_recorded_anew_and_did_not_come_keeps_its_entries-2",
        &ran,
    );
    assert_eq!(workspace.read("rec.har"), before);
}

#[test]
fn what_the_tenant_did_not_answer_stays_when_it_goes_away_in_the_middle_of_a_recording() {
    let workspace = recorded("rec.har");
    let before = workspace.read("rec.har");
    let sandbox = Running::start(workspace.path(), ["sandbox", "--listen", "127.0.0.1:0", "--seed", "seed.json"]);
    let running = workspace.start_at(sandbox.address, "record", &["--out", "rec.har", "--overwrite"]);
    let token = token(running.address);
    assert_eq!(get(running.address, TEMPLATES, &token).status(), 200);
    sandbox.finish();
    assert_eq!(get(running.address, TEMPLATES, &token).status(), 502);
    let ran = running.finish();
    assert_output(
        "record/nothing/what_the_tenant_did_not_answer_stays_when_it_goes_away_in_the_middle_of_a_recording",
        &ran,
    );
    assert_eq!(workspace.read("rec.har"), before);
    assert!(!before.contains(SECRET));
}

#[test]
fn a_fixture_stays_where_the_tenant_gave_only_transient_answers() {
    let workspace = recorded("rec.har");
    let before = workspace.read("rec.har");
    let busy = Origin::start();
    busy.will_answer("HTTP/1.1 429 Busy\r\nContent-Length: 0\r\n\r\n");
    let running = workspace.start_at(busy.address, "record", &["--out", "rec.har", "--overwrite"]);
    assert_eq!(get(running.address, TEMPLATES, "x").status(), 429);
    let ran = running.finish();
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert_output("record/nothing/a_fixture_stays_where_the_tenant_gave_only_transient_answers", &ran);
    assert_eq!(workspace.read("rec.har"), before);
}

/// The answer to each request, as the fixture holds them: `3: 200`, by the target's last character.
fn answers(har: &str) -> Vec<String> {
    let one = |entry: &Value| {
        let url = entry["request"]["url"].as_str().unwrap();
        format!("{}: {}", &url[url.len() - 1..], entry["response"]["status"])
    };
    let mut answers: Vec<String> = entries(har).iter().map(one).collect();
    answers.sort();
    answers
}

#[test]
fn what_the_tenant_answered_only_with_429_keeps_its_old_entries() {
    for options in [&["--overwrite"][..], &["--replace", TEMPLATES_OPERATION]] {
        let workspace = Workspace::new();
        let target = |number: u32| format!("{TEMPLATES}?n={number}");
        // Answers of the tenant to requests by number: at first, and again.
        let run = |options: &[&str], scripted: &[(u32, u16)]| {
            let tenant = Origin::start();
            let running = workspace.start_at(tenant.address, "record", &[&["--out", "rec.har"], options].concat());
            for (number, status) in scripted {
                tenant.will_answer(format!(
                    "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
                ));
                assert_eq!(get(running.address, &target(*number), "x").status(), *status);
            }
            running.finish()
        };
        run(&[], &[(1, 200), (2, 200), (3, 200), (3, 404), (4, 200)]);
        let ran = run(options, &[(1, 404), (2, 429), (3, 200), (3, 429), (4, 429), (4, 404)]);
        assert_eq!(answers(&workspace.read("rec.har")), ["1: 404", "2: 200", "3: 200", "3: 404", "4: 404"]);
        let said = "old entries that stay, because the tenant did not answer: 2";
        assert_line(&ran.stderr, said);
        let kept = workspace.read("rec.har");
        run(options, &[(1, 404), (2, 429), (3, 200), (3, 429), (4, 404)]);
        assert_eq!(workspace.read("rec.har"), kept, "the same answers again change no byte");
        run(options, &[(1, 200)]);
        assert_eq!(answers(&workspace.read("rec.har")), ["1: 200"], "what is not requested again goes");
    }
}

#[test]
fn what_was_missing_and_could_not_be_recorded_makes_no_fixture_and_changes_none() {
    let nobody = Nobody::new();
    let upstream = format!("http://{}", nobody.address);
    let missing = ["--record-missing", "--force", "--upstream", &upstream];
    let ask = |workspace: &Workspace| {
        let all = [&["replay", "rec.har", "--listen", "127.0.0.1:0"], &missing[..]].concat();
        let running = Running::start(workspace.path(), all);
        assert_eq!(call(running.address, "GET", "/api/v2/else", &[], b"").status(), 502);
        running.finish()
    };
    let workspace = recorded("rec.har");
    let before = workspace.read("rec.har");
    let ran = ask(&workspace);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert_output("record/nothing/what_was_missing_and_could_not_be_recorded_makes_no_fixture_and_changes_none", &ran);
    assert_eq!(workspace.read("rec.har"), before);

    let workspace = Workspace::new();
    let ran = ask(&workspace);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(!workspace.has("rec.har") && !workspace.has("rec.har.journal"));
}

#[test]
fn a_recording_of_nothing_folds_nothing_whatever_the_fixture_holds() {
    let workspace = Workspace::new();
    // A fold would fail on it.
    fs::write(workspace.path().join("fx.har"), "{\"log\":garbage").unwrap();
    let ran = record(&workspace, "sandbox", &["--out", "fx.har", "--append"], &["true"]);
    assert_output("record/nothing/a_recording_of_nothing_folds_nothing", &ran);
    assert_eq!(workspace.read("fx.har"), "{\"log\":garbage");
}
