//! The live page over files: reports of a run in CI, journals that are still written, and a selection of exchanges.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
};

use serde_json::Value;

use super::{FIXTURES, TOKEN, ask, read_whole, until};
use crate::support::{
    command::{contrail, run_in},
    har,
    process::Running,
    wire::call,
};

/// A page over these files of a folder.
fn inspect(folder: &Path, arguments: &[&str]) -> Running {
    let arguments = ["inspect", "--listen", "127.0.0.1:0"].into_iter().chain(arguments.iter().copied());
    read_whole(Running::start_with(folder, arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]))
}

/// What `contrail` writes to standard error when it refuses to start.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let mut command = contrail();
    command.current_dir(folder).env("CONTRAIL_INSPECT_TOKEN", TOKEN).arg("inspect").args(arguments);
    let ran = command.output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    String::from_utf8(ran.stderr).unwrap()
}

/// A line of a journal.
fn line(path: &str) -> String {
    let mut entry = har::get(path, None, 404, "{}");
    entry["_contrail"] = serde_json::json!({"version": 1});
    format!("{entry}\n")
}

#[test]
fn the_misses_of_a_json_report_are_those_that_the_run_showed() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = format!("{FIXTURES}/operations");
    let arguments =
        ["replay", &fixture, "--listen", "127.0.0.1:0", "--inspect", "127.0.0.1:0", "--report", "json=contrail.json"];
    let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
    let [proxy, page] = running.addresses[..] else { panic!("{:?}", running.addresses) };
    for path in ["/api/v2/rate-limit-policies/rlp_Unknown", "/api/v2/rate-limit-policies/rlp_Unknown", "/nothing"] {
        assert_eq!(call(proxy, "GET", path, &[], b"").status(), 421);
    }
    until(page, 3);
    let shown = ask(page, "/api/misses");
    assert_eq!(running.finish().status, 3);

    let running = inspect(folder.path(), &["contrail.json"]);
    let misses = ask(running.address, "/api/misses");
    assert_eq!(misses["rows"], shown["rows"]);
    assert_eq!(misses["rows"].as_array().unwrap().len(), 2);
    let record = format!("contrail replay {fixture} --record-missing --upstream URL");
    assert_eq!((&shown["record"], &misses["record"]), (&record.into(), &Value::Null));
    assert!(!misses["unused"].as_array().unwrap().is_empty(), "what no request used is known at the end of a run");
    let run = ask(running.address, "/api/run");
    let note = run["notes"][0].as_str().unwrap();
    assert!(note.starts_with("contrail.json: the run ended with exit status 3: 3 replay misses"), "{note}");
    let ran = running.finish();
    assert_eq!(ran.status, 0);
    assert!(ran.stderr.contains("/#/misses\n"), "{}", ran.stderr);
}

#[test]
fn an_exchange_of_a_fixture_that_holds_a_label_counts_as_redacted() {
    let folder = tempfile::tempdir().unwrap();
    let mut entry = har::get("/a", None, 404, "{}");
    entry["_contrail"] = serde_json::json!({"version": 1});
    entry["request"]["headers"] = serde_json::json!([{"name": "authorization", "value": "Bearer !token-1!"}]);
    fs::write(folder.path().join("a.journal"), format!("{entry}\n{}", line("/b"))).unwrap();
    let running = inspect(folder.path(), &["a.journal"]);
    let redacted = ask(running.address, "/api/exchanges?count=9&q=is:redacted");
    assert_eq!((redacted["size"].as_u64(), &redacted["rows"][0]["path"]), (Some(1), &"/a".into()), "{redacted}");
    assert_eq!(running.finish().status, 0);
}

#[test]
fn a_report_that_is_not_of_a_replay_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.json"), "{\"contract\": {}, \"summary\": {}, \"exchanges\": []}").unwrap();
    let sentence = refused(folder.path(), &["a.json"]);
    assert!(sentence.contains("`a.json` is no JSON report of `contrail replay`: missing field `misses`"), "{sentence}");
}

#[test]
fn what_is_appended_to_a_trail_appears_once_and_by_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("trail.journal");
    // The writer is in the middle of a line.
    let (begin, rest) = (line("/b").split_at(9).0.to_owned(), line("/b").split_at(9).1.to_owned());
    fs::write(&journal, line("/a") + &begin).unwrap();
    let running = inspect(folder.path(), &["trail.journal", ".", "--follow"]);
    assert_eq!(ask(running.address, "/api/run")["n"], 1);
    let append =
        |text: &str| OpenOptions::new().append(true).open(&journal).unwrap().write_all(text.as_bytes()).unwrap();
    append(&(rest + &line("/c")));
    until(running.address, 3);
    fs::write(folder.path().join("later.journal"), line("/d")).unwrap();
    until(running.address, 4);
    append(&line("/e"));
    until(running.address, 5);
    let rows = ask(running.address, "/api/exchanges");
    let rows: Vec<String> =
        rows["rows"].as_array().unwrap().iter().map(|row| format!("{} {}", row["entry"], row["path"])).collect();
    assert_eq!(rows, [r#"0 "/a""#, r#"1 "/b""#, r#"2 "/c""#, r#"0 "/d""#, r#"3 "/e""#]);
    assert_eq!(running.finish().status, 0);
}

#[test]
fn what_is_never_appended_to_cannot_be_followed() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(&[har::conforming()])).unwrap();
    let sentence = refused(folder.path(), &["a.har", "--follow"]);
    assert!(sentence.contains("--follow: none of these is a journal or a trail"), "{sentence}");
}

#[test]
fn the_options_that_select_exchanges_for_an_audit_select_them_for_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let mut late = har::conforming();
    late["startedDateTime"] = "2026-01-01T00:00:00Z".into();
    let entries = [har::conforming(), har::get("/nowhere", None, 404, "{}"), late];
    fs::write(folder.path().join("a.har"), har::har(&entries)).unwrap();
    let shown = |arguments: &[&str]| {
        let running = inspect(folder.path(), &[&["a.har"], arguments].concat());
        let rows = ask(running.address, "/api/exchanges");
        let title = ask(running.address, "/api/run")["title"].clone();
        running.finish();
        (rows["rows"].as_array().unwrap().iter().map(|row| row["entry"].clone()).collect::<Vec<Value>>(), title)
    };
    assert_eq!(shown(&["--operation", "undocumented"]), (vec![1.into()], "a.har --operation undocumented".into()));
    assert_eq!(shown(&["--client", "svc-1"]).0, [Value::from(0), 2.into()]);
    assert_eq!(shown(&["--client", "svc-1", "--until", "2026-01-01"]).0, [Value::from(0)]);
    assert_eq!(shown(&["--since", "2026-01-01"]).0, [Value::from(2)]);
    let sentence = refused(folder.path(), &["a.har", "--operation", "nothing"]);
    assert!(sentence.contains("the contract has no such operation"), "{sentence}");
}

#[test]
fn a_group_of_findings_has_its_times_its_examples_and_a_suppression_that_contrail_reads() {
    let folder = tempfile::tempdir().unwrap();
    let answer = |limit: &str, second: &str| {
        let body = har::POLICY.replace("\"allow\"", &format!("\"block\",\"limit\":{limit}"));
        let mut entry = har::get("/api/v2/rate-limit-policies/rlp_1", Some(&har::bearer()), 200, &body);
        entry["startedDateTime"] = format!("2025-11-21T12:00:{second}Z").into();
        entry
    };
    let lacking = |mut entry: Value| {
        let text = entry["response"]["content"]["text"].as_str().unwrap().replace("\"consumer\":\"client\",", "");
        entry["response"]["content"]["text"] = text.into();
        entry
    };
    let entries = [lacking(answer("10001", "00")), answer("10001", "10"), answer("10002", "20"), answer("5", "48")];
    fs::write(folder.path().join("a.har"), har::har(&entries)).unwrap();
    let running = inspect(folder.path(), &["a.har"]);
    let findings = ask(running.address, "/api/findings");
    let row = &findings["rows"][0];
    assert_eq!((&row["rule"], &row["count"]), (&"response.body".into(), &3.into()), "{findings}");
    assert_eq!([&row["first"], &row["last"]], [0, 2]);
    assert_eq!(row["lastAt"], "2025-11-21T12:00:20Z");
    let times: Vec<u64> = row["times"].as_array().unwrap().iter().map(|times| times.as_u64().unwrap()).collect();
    let expected: Vec<u64> = (0..24).map(|part| u64::from([0, 5, 10].contains(&part))).collect();
    assert_eq!(times, expected, "from the first exchange to the last");
    let query: String = form_urlencoded::byte_serialize(row["query"].as_str().unwrap().as_bytes()).collect();
    let examples =
        ask(running.address, &format!("/api/findings/examples?q={query}&rule=response.body&at=/configuration/limit"));
    assert!(
        examples["examples"].as_array().unwrap().iter().all(|one| one["at"] == "/configuration/limit"),
        "{examples}"
    );
    let examples: Vec<_> = examples["examples"].as_array().unwrap().iter().map(|one| one["n"].clone()).collect();
    assert_eq!(examples, [0, 2], "the second exchange is like the first");
    let suppress = row["suppress"].as_str().unwrap().to_owned();
    running.finish();

    let verify = |toml: &str| {
        fs::write(folder.path().join("contrail.toml"), toml).unwrap();
        run_in(folder.path(), ["verify", "a.har"])
    };
    let blank = verify(&suppress);
    assert_eq!(blank.status, 2);
    assert!(blank.stderr.contains("`reason` must be a text"), "{}", blank.stderr);
    assert_eq!(verify("").status, 1);
    let filled = suppress.replace("reason = \"\"", "reason = \"why\"").replace("until = \"\"", "until = 9999-12-31");
    let accepted = verify(&format!(
        "{filled}\n[[suppress]]\nrule = \"response.body\"\nat = \"/consumer\"\nreason = \"why\"\nuntil = 9999-12-31\n"
    ));
    assert_eq!(accepted.status, 0, "{filled}: {}", accepted.stderr);
}

#[test]
fn a_finding_that_a_suppression_covers_is_shown_as_such() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(&[har::conforming()])).unwrap();
    let suppress = "[[suppress]]\nrule = \"query.parameter\"\nreason = \"pages by 500\"\nuntil = 9999-12-31\n";
    fs::write(folder.path().join("contrail.toml"), suppress).unwrap();
    let listen = ["--listen", "127.0.0.1:0", "--inspect", "127.0.0.1:0"];
    let arguments = ["replay", "a.har"].into_iter().chain(listen);
    let running = Running::start_with(folder.path(), arguments, &[("CONTRAIL_INSPECT_TOKEN", TOKEN)]);
    let [proxy, page] = running.addresses[..] else { panic!("{:?}", running.addresses) };
    let path = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups?take=500";
    call(proxy, "GET", path, &[], b"");
    until(page, 1);
    let findings = ask(page, "/api/findings");
    let reason = "suppressed until 9999-12-31: pages by 500";
    assert_eq!(findings["rows"][0]["state"], reason, "{findings}");
    assert_eq!(ask(page, "/api/exchanges/0")["findings"][0]["known"], reason);
    running.finish();
}

#[test]
fn a_document_of_the_contract_is_read_at_a_place_and_by_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(&[har::conforming()])).unwrap();
    fs::write(folder.path().join("contrail.toml"), "max-secrets = 9000\n").unwrap();
    let arguments = ["inspect", "a.har", "--listen", "127.0.0.1:0", "--where", "verdict:gap"];
    let variables = [("CONTRAIL_INSPECT_TOKEN", TOKEN), ("CONTRAIL_INSPECT_BUFFER", "1MiB")];
    let running = read_whole(Running::start_with(folder.path(), arguments, &variables));
    let whole = ask(running.address, "/api/documents/0?count=3");
    assert_eq!(
        (&whole["lines"][0]["text"], whole["lines"].as_array().unwrap().len()),
        (&"openapi: \"3.1.0\"".into(), 3)
    );
    let at = "/paths/~1rate-limit-policies~1{id}/get";
    let encoded: String = form_urlencoded::byte_serialize(at.as_bytes()).collect();
    let part = ask(running.address, &format!("/api/documents/0?at={encoded}"));
    assert_eq!(part["above"], serde_json::json!(["", "/paths", "/paths/~1rate-limit-policies~1{id}"]));
    let lines = part["lines"].as_array().unwrap();
    let text = |line: &Value| line["text"].as_str().unwrap().to_owned();
    assert!(lines.iter().any(|line| text(line) == "operationId: getRateLimitPolicy"), "{part}");
    let refers = lines.iter().find(|line| line["to"] != Value::Null).unwrap_or_else(|| panic!("{part}"));
    let target: String = form_urlencoded::byte_serialize(refers["to"].as_str().unwrap().as_bytes()).collect();
    assert!(ask(running.address, &format!("/api/documents/0?at={target}"))["size"].as_u64() > Some(0));
    let authorization = format!("Bearer {TOKEN}");
    for nothing in ["/api/documents/9", "/api/documents/0?at=/nothing", "/api/documents/x"] {
        assert_eq!(call(running.address, "GET", nothing, &[("authorization", &authorization)], b"").status(), 404);
    }
    let options = ask(running.address, "/api/run")["options"].clone();
    let source = |name: &str| {
        let found = options.as_array().unwrap().iter().find(|option| option["name"] == name);
        found.unwrap_or_else(|| panic!("{name}: {options}"))["source"].clone()
    };
    assert_eq!(source("where"), "the command line");
    assert_eq!(source("inspect-buffer"), "CONTRAIL_INSPECT_BUFFER");
    assert_eq!(source("max-secrets"), "contrail.toml, line 1");
    running.finish();
}
