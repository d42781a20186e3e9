//! `contrail verify`: recordings of every producer against the contract.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::support::{
    command::{Ran, contrail, run, run_in, run_with_input},
    golden::assert_golden,
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
fn the_json_report_has_the_documented_keys_in_their_order() {
    let entries = [conforming(), get("/api/v2/rate-limit-policies/rlp_1?debug=1", Some(&bearer()), 200, POLICY)];
    let ran = run_with_input(["verify", "--format", "json", "-"], har::har(&entries).as_bytes());
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let keys = |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(keys(&report), ["contract", "summary", "exchanges", "exit"]);
    assert_eq!(keys(&report["contract"]), ["title", "version"]);
    assert_eq!(report["contract"]["version"], "2.0");
    assert_eq!(
        report["summary"],
        serde_json::json!({"exchanges": 2, "conforms": 1, "gap": 1, "violates": 0, "skipped": 0})
    );
    assert_eq!(
        keys(&report["exchanges"][0]),
        ["source", "entry", "operation", "method", "url", "status", "verdict", "blame", "findings", "unchecked"]
    );
    assert_eq!(
        report["exchanges"][0],
        serde_json::json!({
            "source": "-", "entry": 0, "operation": "getRateLimitPolicy", "method": "GET",
            "url": "https://tenant.example/api/v2/rate-limit-policies/rlp_1", "status": 200, "verdict": "conforms",
            "blame": "agreed", "findings": [], "unchecked": [],
        })
    );
    assert_eq!(keys(&report["exchanges"][1]["findings"][0]), ["rule", "kind", "at", "message"]);
    assert_eq!(report["exchanges"][1]["findings"][0]["rule"], "query.undocumented");
    assert_eq!(report["exchanges"][1]["findings"][0]["kind"], "gap");
    assert_eq!(report["exchanges"][1]["findings"][0]["at"], "debug");
}

#[test]
fn what_is_not_har_is_status_2_and_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
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
        assert_eq!(ran.stderr.lines().count(), 1, "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(name), "{}", ran.stderr);
    }
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
fn an_unproven_fixture_is_said_on_standard_error() {
    let mut file: Value = serde_json::from_str(&har::har(&[conforming()])).unwrap();
    file["log"]["creator"]["name"] = "contrail".into();
    file["log"]["_contrail"] = serde_json::json!({"version": 1, "recorded": "2026-01-15", "unproven": true});
    let ran = run_with_input(["verify", "-"], file.to_string().as_bytes());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("unproven"), "{}", ran.stderr);
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
fn gaps_fail_under_deny_gaps_and_a_violation_passes_under_allow() {
    let gap = [get("/api/v2/rate-limit-policies/rlp_1?debug=1", Some(&bearer()), 200, POLICY)];
    assert_eq!(verify_text(&gap, &[]).status, 0);
    assert_eq!(verify_text(&gap, &["--deny", "gaps"]).status, 1);
    assert_eq!(verify_text(&gap, &["--deny", "query.undocumented"]).status, 1);
    assert_eq!(verify_text(&gap, &["--deny", "operation.undocumented"]).status, 0);
    assert_eq!(verify_text(&gap, &["--deny", "gaps", "--allow", "query.undocumented"]).status, 0);
    let violation = [get("/api/v2/rate-limit-policies/rlp_1", Some(&bearer()), 200, "{}")];
    assert_eq!(verify_text(&violation, &[]).status, 1);
    let allowed = verify_text(&violation, &["--allow", "response.body", "--allow", "exchange.identity"]);
    assert_eq!(allowed.status, 0, "{}", allowed.stdout);
    assert!(allowed.stdout.contains("response.body (allowed)"), "{}", allowed.stdout);
}

#[test]
fn the_same_finding_a_thousand_times_is_one_line_with_a_count() {
    let bad = POLICY.replace("\"allow\"", "\"block\",\"limit\":20000");
    let entries: Vec<Value> =
        (0..1000).map(|_| get("/api/v2/rate-limit-policies/rlp_1", Some(&bearer()), 200, &bad)).collect();
    let ran = verify_text(&entries, &[]);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.stdout.matches("response.body").count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("1000 times"), "{}", ran.stdout);
}

#[test]
fn items_of_one_array_group_with_each_other() {
    let groups: Vec<String> = (0..50).map(|_| r#"{"id":7}"#.to_owned()).collect();
    let body = format!(r#"{{"groups":[{}]}}"#, groups.join(","));
    let path = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups";
    let ran = verify_text(&[get(path, Some(&bearer()), 200, &body)], &[]);
    assert_eq!(ran.stdout.matches("response.body ").count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("/groups/*/id"), "{}", ran.stdout);
    assert!(ran.stdout.contains("50 times"), "{}", ran.stdout);
}

#[test]
fn undocumented_operations_are_one_line_per_method_and_path_shape() {
    let entries: Vec<Value> =
        (0..20).map(|n| get(&format!("/api/v2/users/auth0%7C{n}"), Some(&bearer()), 200, "{}")).collect();
    let ran = verify_text(&entries, &[]);
    assert_eq!(ran.status, 0);
    assert_eq!(ran.stdout.matches("/api/v2/users/").count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("GET /api/v2/users/{…}  20 times"), "{}", ran.stdout);
}

#[test]
fn other_sites_are_counted_in_one_line_and_not_listed() {
    let mut other = conforming();
    other["request"]["url"] = "https://cdn.example/app.js".into();
    let entries = [conforming(), other.clone(), other];
    let ran = verify_text(&entries, &[]);
    assert_eq!(ran.status, 0);
    assert!(!ran.stdout.contains("cdn.example"), "{}", ran.stdout);
    assert_eq!(ran.stdout.lines().filter(|line| line.contains("outside the contract")).count(), 1, "{}", ran.stdout);
    let (_, report) = verify_json(&entries, &[]);
    assert_eq!(report["exchanges"].as_array().unwrap().len(), 3);
    assert_eq!(rules(&report, 1), ["operation.undocumented"]);
    assert_eq!(report["exchanges"][1]["operation"], Value::Null);
}

#[test]
fn every_report_says_that_other_sites_fail_deny_gaps_and_the_option_that_it_names_lets_them_pass() {
    let mut elsewhere = conforming();
    elsewhere["request"]["url"] = "https://cdn.example/logo.svg".into();
    let entries = [conforming(), elsewhere];
    let ran = verify_text(&entries, &["--deny", "gaps"]);
    assert_eq!(ran.status, 1);
    for text in [
        "  operation.undocumented (denied)\n    outside the contract (another site or base path)  once\n",
        "1 exchange of other sites or base paths: a gap each, which `--deny` makes fail; `--allow operation.undocumented` lets",
        "2 exchanges checked against Tenant Management Interface 2.0: 1 conform, 1 with gaps, 0 in violation\n",
    ] {
        assert!(ran.stdout.contains(text), "{text}\nnot in\n{}", ran.stdout);
    }
    let (status, report) = verify_json(&entries, &["--deny", "gaps"]);
    assert_eq!((status, &report["summary"]["gap"], &report["summary"]["exchanges"]), (1, &1.into(), &2.into()));
    let junit = verify_text(&entries, &["--deny", "gaps", "--report", "junit"]);
    assert!(junit.stdout.contains("failures=\"1\""), "{}", junit.stdout);
    let html = verify_text(&entries, &["--deny", "gaps", "--report", "html"]);
    assert!(
        html.stdout.contains("<span class=gap>1 with gaps</span>") && html.stdout.contains("outside the contract"),
        "{}",
        html.stdout
    );
    let allowed = verify_text(&entries, &["--deny", "gaps", "--allow", "operation.undocumented"]);
    assert!(allowed.status == 0 && !allowed.stdout.contains("--allow"), "{}", allowed.stdout);
    let plain = verify_text(&entries, &[]);
    assert!(plain.status == 0 && !plain.stdout.contains("--allow"), "{}", plain.stdout);
}

#[test]
fn a_stripped_header_is_said_only_where_the_contract_asks_for_a_token() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("open.yaml"),
        "openapi: 3.1.0\ninfo: {title: Open, version: '1'}\npaths:\n  /open: {get: {responses: {'200': {description: x}}}}\n  \
         /keyed: {get: {security: [{key: []}], responses: {'200': {description: x}}}}\ncomponents: {securitySchemes: {key: \
         {type: apiKey, in: header, name: X-Key}}}\n",
    )
    .unwrap();
    let entries = [get("/open", None, 200, ""), get("/keyed", None, 200, "")];
    let open = verify_text(&entries, &["--contract", folder.path().join("open.yaml").to_str().unwrap()]);
    assert!(
        !open.stdout.contains("no request in it carries Authorization") && open.stdout.contains("  auth: 1 exchange"),
        "{}",
        open.stdout
    );
    let tenant = verify_text(&[get("/api/v2/rate-limit-policies/rlp_1", None, 200, POLICY)], &[]);
    assert!(tenant.stdout.contains("no request in it carries Authorization"), "{}", tenant.stdout);
}

#[test]
fn a_request_to_another_site_that_failed_is_not_blamed() {
    let mut blocked = conforming();
    blocked["request"]["url"] = "https://ads.example/pixel".into();
    blocked["response"]["status"] = 0.into();
    let (status, report) = verify_json(&[blocked], &[]);
    assert_eq!((status, rules(&report, 0)), (0, vec!["operation.undocumented"]));
    let mut failed = conforming();
    failed["request"]["url"] = "https://tenant.example/api/v2/users".into();
    failed["response"]["status"] = 0.into();
    let (status, report) = verify_json(&[failed], &[]);
    assert_eq!((status, rules(&report, 0)), (1, vec!["operation.undocumented", "transport.incomplete"]));
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
    let text = verify_text(&entries, &[]).stdout;
    assert!(text.contains("2 entries left out: CONNECT, or not HTTP\n"), "{text}");
}

#[test]
fn a_recording_without_an_exchange_is_status_2_and_says_that_nothing_was_checked() {
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
        (&["f", "f"][..], "`f` is also in `f`; it is read once"),
        (&["f", "./f/../f"], "`./f/../f` is also in `f`; it is read once"),
        (&["f", "link"], "`link` is also in `f`; it is read once"),
        (&["f", "link/a.har"], "`link/a.har` is also in `f`; it is read once"),
        (&["f/a.har", "f"], "`f/a.har` is also in `f/a.har`; it is read once"),
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
    let line = "contrail: `standard input`, entry 0: it cannot be read (duplicate member `method`)\n";
    assert_eq!((ran.status, &*ran.stderr), (2, line));
}

#[test]
fn a_response_body_that_the_file_does_not_hold_is_unchecked() {
    let with = |content: Value, length: &[&str]| {
        let mut entry = conforming();
        entry["response"]["content"] = content;
        entry["response"]["bodySize"] = json!(-1);
        for length in length {
            let field = json!({"name": "Content-Length", "value": length});
            entry["response"]["headers"].as_array_mut().unwrap().push(field);
        }
        let (_, mut report) = verify_json(&[entry], &[]);
        let found = rules(&report, 0).join(" ");
        (found, report["exchanges"][0]["unchecked"].take())
    };
    let unchecked = (String::new(), json!(["response-body"]));
    let absent = ("response.body".to_owned(), json!([]));
    assert_eq!(with(json!({}), &[]), unchecked);
    assert_eq!(with(json!({"mimeType": ""}), &[]), unchecked);
    assert_eq!(with(json!({"size": -1, "mimeType": "x-unknown"}), &[]), unchecked);
    assert_eq!(with(json!({"size": 0}), &["0", "9"]), unchecked);
    assert_eq!(with(json!({}), &["0"]), absent);
    assert_eq!(with(json!({"size": 0}), &[]), absent);
}

#[test]
fn a_file_in_which_no_entry_carries_authorization_leaves_it_unchecked_and_says_so_once() {
    let path = "/api/v2/rate-limit-policies/rlp_1";
    let stripped = [get(path, None, 200, POLICY), get(path, None, 200, POLICY)];
    let ran = verify_text(&stripped, &[]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("no request in it carries Authorization").count(), 1, "{}", ran.stdout);
    let (_, report) = verify_json(&stripped, &[]);
    for entry in 0..2 {
        assert!(rules(&report, entry).is_empty());
        assert!(report["exchanges"][entry]["unchecked"].as_array().unwrap().contains(&"auth".into()));
        assert_eq!(report["exchanges"][entry]["verdict"], "conforms");
    }
}

#[test]
fn a_credential_that_a_tool_masked_is_unchecked_and_nobodys_fault() {
    let path = "/api/v2/rate-limit-policies/rlp_1";
    for value in
        ["Bearer !token-1!", "!token-1!", "Bearer [REDACTED]", "[authorization redacted]", "***", "bearer  ****"]
    {
        let (status, report) = verify_json(&[get(path, Some(value), 200, POLICY)], &[]);
        assert_eq!((status, rules(&report, 0)), (0, vec![]), "{value}");
        assert!(report["exchanges"][0]["unchecked"].as_array().unwrap().contains(&"auth".into()), "{value}");
    }
    for value in ["Bearer undefined", "Bearer", "", "Bearer not!token-1!quite", "Basic dXNlcjpwYXNz"] {
        let (status, report) = verify_json(&[get(path, Some(value), 401, "{}")], &[]);
        assert_eq!((status, rules(&report, 0).len()), (1, 1), "{value}");
    }
}

#[test]
fn what_redact_made_of_an_export_verifies_without_blame() {
    let folder = tempfile::tempdir().unwrap();
    let export = folder.path().join("export.har");
    std::fs::write(&export, har::har(&[conforming()])).unwrap();
    let clean = folder.path().join("clean.har");
    let ran = run(["redact", export.to_str().unwrap(), "--out", clean.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(std::fs::read_to_string(&clean).unwrap().contains("Bearer !token-1!"));
    let ran = run(["verify", clean.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    assert!(ran.stdout.contains("  auth: 1 exchange"), "{}", ran.stdout);
}

#[test]
fn a_token_of_an_entry_without_an_instant_is_unchecked() {
    let mut timeless = conforming();
    timeless["startedDateTime"] = "yesterday".into();
    let (status, report) = verify_json(&[timeless], &[]);
    assert_eq!((status, rules(&report, 0)), (0, vec![]));
    assert!(report["exchanges"][0]["unchecked"].as_array().unwrap().contains(&"auth".into()));
}

#[test]
fn one_authorization_at_the_end_of_the_file_makes_its_lack_a_violation_from_the_first_entry() {
    let path = "/api/v2/rate-limit-policies/rlp_1";
    let (status, report) = verify_json(&[get(path, None, 200, POLICY), get(path, None, 401, "{}"), conforming()], &[]);
    assert_eq!(status, 1);
    assert_eq!(rules(&report, 0), ["auth.missing", "auth.unenforced"]);
    assert_eq!(rules(&report, 1), ["auth.missing"]);
    assert_eq!(rules(&report, 2), Vec::<&str>::new());
    assert_eq!(report["summary"]["violates"], 2);
    let indices: Vec<&Value> = report["exchanges"].as_array().unwrap().iter().map(|e| &e["entry"]).collect();
    assert_eq!(indices, [0, 1, 2]);
    assert!(!verify_text(&[get(path, None, 200, POLICY), conforming()], &[]).stdout.contains("strips"));
}

#[test]
fn each_file_is_settled_on_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let stripped = har::har(&[get("/api/v2/rate-limit-policies/rlp_1", None, 200, POLICY)]);
    fs::write(folder.path().join("a.har"), &stripped).unwrap();
    fs::write(folder.path().join("b.har"), har::har(&[conforming()])).unwrap();
    let ran = run_in(folder.path(), ["verify", "b.har", "a.har", "b.har"]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("unchecked in a.har").count(), 1, "{}", ran.stdout);
}

#[test]
fn a_token_is_judged_at_the_instant_of_its_exchange_with_the_tolerance_given() {
    let expired = format!("Bearer {}", token("read:rate_limit_policies", NOON - 30));
    let entries = [get("/api/v2/rate-limit-policies/rlp_1", Some(&expired), 401, "{}")];
    let (status, report) = verify_json(&entries, &[]);
    assert_eq!(status, 1);
    assert_eq!(rules(&report, 0), ["auth.expired"]);
    assert_eq!(verify_json(&entries, &["--clock-skew", "31"]).0, 0);
}

#[test]
fn no_secret_of_the_input_is_in_any_output() {
    let folder = tempfile::tempdir().unwrap();
    let input = fs::read_to_string(data().join("secrets.har")).unwrap();
    assert!(input.contains("s3cr3t-in-a-body"), "the secrets are planted");
    let mut outputs = Vec::new();
    for format in ["text", "json", "junit", "html"] {
        let file = folder.path().join(format);
        let report = format!("{format}={}", file.display());
        let ran = run_in(&data(), ["verify", "secrets.har", "--report", &report]);
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        outputs.push((format, fs::read_to_string(&file).unwrap()));
        outputs.push((format, ran.stdout));
        outputs.push((format, ran.stderr));
    }
    for (format, output) in outputs {
        for secret in ["s3cr3t", "c3ZjLWNoZWNrb3V0", "eyJhbGciOiJSUzI1NiIs"] {
            assert!(!output.contains(secret), "{secret} in {format}:\n{output}");
        }
    }
}

#[test]
fn a_secret_of_an_exchange_that_conforms_is_gone_from_one_that_does_not() {
    let secret = "zq81mxo2-elsewhere-77";
    let mut first = conforming();
    let headers = first["request"]["headers"].as_array_mut().unwrap();
    headers.push(serde_json::json!({"name": "Cookie", "value": format!("session={secret}")}));
    let second = get(&format!("/api/v2/rate-limit-policies/rlp_1?note={secret}"), Some(&bearer()), 200, POLICY);
    let ran = verify_text(&[first, second], &[]);
    assert!(ran.stdout.contains("query.undocumented"), "{}", ran.stdout);
    assert!(!ran.stdout.contains(secret), "{}", ran.stdout);
}

#[test]
fn a_long_recording_is_told_as_a_short_one_is() {
    // Long enough for several threads: the counts are the sum, and the samples are still the first ones.
    let odd = get("/api/v2/rate-limit-policies/rlp_1?odd=1", Some(&bearer()), 200, POLICY);
    let entries: Vec<Value> = (0..2000).map(|n| if n % 100 == 42 { odd.clone() } else { conforming() }).collect();
    let ran = verify_text(&entries, &[]);
    let (status, report) = verify_json(&entries, &[]);
    assert_eq!((ran.status, status), (0, 0), "{}", ran.stderr);
    assert!(ran.stdout.contains("2000 exchanges"), "{}", ran.stdout);
    let summary = serde_json::json!({"exchanges": 2000, "conforms": 1980, "gap": 20, "violates": 0, "skipped": 0});
    assert_eq!(report["summary"], summary);
    for (index, exchange) in report["exchanges"].as_array().unwrap().iter().enumerate() {
        assert_eq!(exchange["entry"], index);
        assert_eq!(exchange["verdict"], if index % 100 == 42 { "gap" } else { "conforms" });
    }
}

#[test]
fn authorization_in_the_last_of_many_entries_settles_those_before_it() {
    let without = get("/api/v2/rate-limit-policies/rlp_1", None, 200, POLICY);
    let mut entries = vec![without; 1500];
    let (status, stripped) = verify_json(&entries, &[]);
    assert_eq!((status, &stripped["summary"]["conforms"]), (0, &1500.into()));
    assert_eq!(verify_text(&entries, &[]).status, 0);
    entries.push(conforming());
    let (status, report) = verify_json(&entries, &[]);
    assert_eq!((status, &report["summary"]["violates"]), (1, &1500.into()));
    assert!(verify_text(&entries, &[]).stdout.contains("auth.missing"));
}

#[test]
fn a_secret_is_gone_from_samples_that_came_before_it_was_recognised() {
    let late = "zq81mxo2-late-secret-77";
    let path = format!("/api/v2/rate-limit-policies/rlp_1?debug={late}");
    let early = get(&path, Some(&bearer()), 200, &POLICY.replace("\"default\"", &format!("\"{late}\"")));
    let mut login = get("/oauth/token", None, 200, r#"{"access_token":"a.b.c","token_type":"Bearer","expires_in":60}"#);
    login["request"]["method"] = "POST".into();
    login["request"]["postData"] = serde_json::json!({"mimeType": "application/x-www-form-urlencoded",
        "text": format!("grant_type=client_credentials&client_id=x&client_secret={late}&audience=%2Fapi%2Fv2%2F")});
    for options in [&["--format", "text"][..], &["--format", "json"]] {
        let ran = verify_text(&[early.clone(), login.clone()], options);
        assert!(ran.stdout.contains("query.undocumented"), "{}", ran.stdout);
        assert!(!ran.stdout.contains(late), "{}", ran.stdout);
    }
}

#[test]
fn markup_of_the_input_is_text_in_the_html_and_junit_reports() {
    let entries =
        [get("/api/v2/rate-limit-policies/rlp_1?%3Cscript%3Ealert(1)%3C%2Fscript%3E=1", Some(&bearer()), 200, POLICY)];
    for kind in ["html", "junit"] {
        let ran = verify_text(&entries, &["--report", kind]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains("&lt;script&gt;"), "{}", ran.stdout);
        assert!(!ran.stdout.contains("<script"), "{}", ran.stdout);
    }
}

#[test]
fn the_junit_report_fails_what_fails_the_command_and_skips_the_rest() {
    let bad = POLICY.replace("\"default\"", "7");
    let entries = [get("/api/v2/rate-limit-policies/rlp_1?debug=1", Some(&bearer()), 200, &bad)];
    let ran = verify_text(&entries, &["--report", "junit"]);
    assert!(ran.stdout.starts_with("<?xml"), "{}", ran.stdout);
    assert!(ran.stdout.contains(r#"tests="3" failures="1" skipped="1" errors="0""#), "{}", ran.stdout);
    let denied = verify_text(&entries, &["--report", "junit", "--deny", "gaps"]);
    assert!(denied.stdout.contains(r#"tests="3" failures="2" skipped="0" errors="0""#), "{}", denied.stdout);
}

#[cfg(unix)]
#[test]
fn a_report_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let report = format!("json={}", file.display());
    let ran = verify_text(&[conforming()], &["--report", &report]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(ran.stdout.contains("1 exchange checked"), "the text report is printed too: {}", ran.stdout);
}

#[test]
fn a_report_that_cannot_be_written_is_status_2_and_names_the_file() {
    let ran = verify_text(&[conforming()], &["--report", "json=/no/such/folder/r.json"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("/no/such/folder/r.json"), "{}", ran.stderr);
}

#[test]
fn output_that_is_no_terminal_has_no_colour() {
    let ran = run_in(&data(), ["verify", "mitmproxy.har"]);
    assert!(!ran.stdout.contains('\u{1b}'));
}

#[test]
fn a_reader_that_goes_away_changes_no_exit_status() {
    let entries: Vec<Value> = (0..3000)
        .map(|n| get(&format!("/api/v2/rate-limit-policies/rlp_1?p{n}=1"), Some(&bearer()), 200, POLICY))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.har");
    fs::write(&file, har::har(&entries)).unwrap();
    let mut child = contrail()
        .args(["verify", "--format", "json"])
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn an_overlay_adds_what_the_document_does_not_show() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.yaml"), "overlay: 1.0.0\n").unwrap();
    fs::write(folder.path().join("x.har"), har::har(&[conforming()])).unwrap();
    let ran = run_in(folder.path(), ["verify", "--overlay", "bad.yaml", "x.har"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "an overlay that is none is refused");
    assert!(ran.stderr.contains("bad.yaml"), "{}", ran.stderr);
    let ran = run(["verify", "--contract", "no-such.yaml", "-"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("no-such.yaml"), "{}", ran.stderr);
}

#[test]
fn signatures_are_checked_where_keys_are_given() {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
    let random = ring::rand::SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    let keys = serde_json::json!({"keys": [{"kty": "EC", "crv": "P-256", "kid": "k1", "use": "sig", "alg": "ES256",
        "x": BASE64.encode(x), "y": BASE64.encode(y)}]});
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("keys.json"), keys.to_string()).unwrap();

    let claims = serde_json::json!({"azp": "svc-1", "exp": NOON + 60, "scope": "read:rate_limit_policies"});
    let head = serde_json::json!({"alg": "ES256", "kid": "k1"});
    let signed = format!("{}.{}", BASE64.encode(head.to_string()), BASE64.encode(claims.to_string()));
    let signature = BASE64.encode(pair.sign(&random, signed.as_bytes()).unwrap());
    let other = BASE64.encode([7; 64]);
    let entries: Vec<Value> = [signature, other]
        .iter()
        .map(|signature| {
            get("/api/v2/rate-limit-policies/rlp_1", Some(&format!("Bearer {signed}.{signature}")), 401, "{}")
        })
        .collect();
    fs::write(folder.path().join("x.har"), har::har(&entries)).unwrap();

    let ran = run_in(folder.path(), ["verify", "--format", "json", "--jwks", "keys.json", "x.har"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(rules(&report, 0), Vec::<&str>::new());
    assert_eq!(rules(&report, 1), ["auth.signature"]);
    let ran = run_in(folder.path(), ["verify", "x.har"]);
    assert_eq!(ran.status, 0, "without keys nobody can say: {}", ran.stdout);
    let audited = |keys: &[&str]| {
        let ran = run_in(folder.path(), [&["audit", "--format", "json", "x.har"], keys].concat());
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        (ran.status, report["rules"]["auth.signature"].as_u64())
    };
    assert_eq!(audited(&["--jwks", "keys.json"]), (1, Some(1)));
    assert_eq!(audited(&[]), (0, None));
    let ran = run_in(folder.path(), ["verify", "--jwks", "x.har", "x.har"]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
}

#[test]
fn an_overlay_that_adds_a_required_scope_is_checked_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let overlay = "overlay: 1.0.0
info: {title: ours, version: '1'}
actions:
  - target: $.paths['/connection-profiles/templates'].get
    update:
      security: [{bearerAuth: ['read:connection_profiles']}]
";
    fs::write(folder.path().join("ours.yaml"), overlay).unwrap();
    let body = r#"{"connection_profile_templates":[]}"#;
    let entries = [get("/api/v2/connection-profiles/templates", Some(&bearer()), 200, body)];
    fs::write(folder.path().join("x.har"), har::har(&entries)).unwrap();
    assert_eq!(run_in(folder.path(), ["verify", "x.har"]).status, 0);
    let ran = run_in(folder.path(), ["verify", "--overlay", "ours.yaml", "--format", "json", "x.har"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.status, rules(&report, 0)), (1, vec!["auth.scope", "auth.unenforced"]));
}

#[test]
fn parameters_in_styles_that_are_not_implemented_are_never_blamed() {
    let folder = tempfile::tempdir().unwrap();
    let document = r"
openapi: 3.0.3
info: {title: Shelves, version: '1'}
paths:
  /shelves/{at}:
    get:
      operationId: getShelf
      parameters:
        - {name: at, in: path, required: true, schema: {type: object, properties: {row: {type: integer}}}}
        - {name: deep, in: query, required: true, style: deepObject, schema: {type: object}}
        - {name: flat, in: query, required: true, schema: {$ref: '#/components/schemas/Flat'}}
        - {name: packed, in: query, explode: false, schema: {type: object}}
        - {name: piped, in: query, style: pipeDelimited, schema: {type: array, items: {type: integer}}}
      responses: {'200': {description: A shelf}}
components:
  schemas:
    Flat: {type: object, properties: {size: {type: integer}, tone: {type: string}}}
";
    fs::write(folder.path().join("shelves.yaml"), document).unwrap();
    let query = "deep[a]=1&deep[b][c]=2&size=1&tone=x&packed=k,1&piped=1|2&piped=3";
    let entries = [
        get(&format!("/shelves/row,1?{query}"), None, 200, "{}"),
        get(&format!("/shelves/row,1?{query}&deeper[a]=1"), None, 200, "{}"),
    ];
    fs::write(folder.path().join("a.har"), har::har(&entries)).unwrap();
    let ran = run_in(folder.path(), ["verify", "a.har", "--contract", "shelves.yaml", "--format", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(rules(&report, 0), [""; 0]);
    assert_eq!(rules(&report, 1), ["query.undocumented"]);
    let shown = run_in(folder.path(), ["contract", "--contract", "shelves.yaml"]).stdout;
    for name in ["at", "deep", "flat", "packed", "piped"] {
        assert!(shown.contains(&format!("`{name}` is not checked")), "{name} in {shown}");
    }
}

#[test]
fn json_that_nests_deeper_than_max_depth_is_unchecked_and_neither_conforms_nor_violates() {
    let deep = format!("{{\"id\":{}1{}}}", "[".repeat(20), "]".repeat(20));
    let entry = get("/api/v2/rate-limit-policies/rlp_1", Some(&bearer()), 200, &deep);
    let (status, report) = verify_json(std::slice::from_ref(&entry), &[]);
    assert_eq!((status, rules(&report, 0).contains(&"response.body")), (1, true), "{report}");
    let (status, report) = verify_json(&[entry], &["--max-depth", "10"]);
    assert_eq!((status, rules(&report, 0).len()), (0, 0), "{report}");
    assert!(report["exchanges"][0]["unchecked"].as_array().unwrap().contains(&"response-body".into()), "{report}");
}
