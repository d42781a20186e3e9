//! `contrail audit`: who called what, with which scopes, and what proves it.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nix::pty::openpty;
use regex::Regex;
use serde_json::{Value, json};

use super::harness::{Workspace, get, token};
use crate::support::{
    command::{Ran, contrail, run, run_with_input},
    golden::{assert_line, assert_output},
    har,
    wire::call,
};

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
    assert_output("record/audit/a_scope_is_called_unneeded_only_with_the_calls_that_may_need_it_beside_it", &ran);
    let of = |format| run(["audit", "fixtures/operations", "--report", format]).stdout;
    let but =
        "12 calls went to operations whose required scope is not documented; an unneeded scope may be needed there";
    assert!(of("html").contains(&format!("<p>But {but}.</p>")));
    assert!(of("markdown").contains(&format!("|\n\nBut {but}.\n")));
    let csv = of("csv");
    let (unneeded, others): (Vec<&str>, Vec<&str>) = csv.lines().partition(|row| row.contains(but));
    let scope_of = |row: &&str| row.split(',').nth(3).unwrap().to_owned();
    assert!(unneeded.iter().map(scope_of).any(|scope| scope == "read:logs"), "{csv}");
    assert!(others.iter().map(scope_of).any(|scope| scope == "read:rate_limit_policies"), "{csv}");
}

#[test]
fn the_chain_of_a_trail_is_checked_first_and_an_altered_line_is_named() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--trail", "trail"]);
    get(running.address, TEMPLATES, &token(running.address));
    running.finish();
    let whole = workspace.run(&["audit", "trail"]);
    assert_eq!(whole.status, 0, "{}{}", whole.stdout, whole.stderr);
    assert_output("record/audit/the_chain_of_a_trail_is_checked_first_and_an_altered_line_is_named", &whole);

    let segment = fs::read_dir(workspace.path().join("trail"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|name| name == "journal"))
        .unwrap();
    let text = fs::read_to_string(&segment).unwrap();
    fs::write(&segment, text.replacen("\"status\":200", "\"status\":201", 1)).unwrap();
    let altered = workspace.run(&["audit", "trail"]);
    assert_eq!(altered.status, 1);
    assert_output("record/audit/the_chain_of_a_trail_is_checked_first_and_an_altered_line_is_named-2", &altered);
}

#[test]
fn a_hash_has_12_digits_on_a_terminal_and_all_of_them_elsewhere() {
    let workspace = trail_of(&[(POLICY, json!({"azp": "me"}))]);
    let hashes = |text: &str| -> Vec<usize> {
        let hash = Regex::new(r"(?:head |[0-9] \(|sha256 )([0-9a-f]{12,64})\b").unwrap();
        hash.captures_iter(text).map(|found| found[1].len()).collect()
    };
    for (arguments, expected) in
        [(&["audit", "trail"][..], 2), (&["verify", "trail", "--report", "text"], 1), (&["contract"], 1)]
    {
        let terminal = openpty(None, None).unwrap();
        let mut command = contrail();
        command.current_dir(workspace.path()).args(arguments).env("TERM", "xterm").stderr(Stdio::null());
        let mut child = command.stdout(terminal.slave).spawn().unwrap();
        drop(command);
        let lines: Vec<String> = BufReader::new(File::from(terminal.master)).lines().map_while(Result::ok).collect();
        child.wait().unwrap();
        assert_eq!(hashes(&lines.join("\n")), vec![12; expected], "{arguments:?}: {lines:?}");
        assert_eq!(hashes(&workspace.run(arguments).stdout), vec![64; expected], "{arguments:?}");
    }
}

#[test]
fn every_report_of_verify_states_the_chain_of_a_trail_as_an_audit_does() {
    let workspace = trail_of(&[(POLICY, json!({"azp": "me"}))]);
    let of = |command: &str, named: &str| {
        let ran = workspace.run(&[command, named, "--format", "json"]);
        serde_json::from_str::<Value>(&ran.stdout).unwrap()["integrity"].take()
    };
    let report = |kind: &str| workspace.run(&["verify", "trail", "--report", kind]).stdout;
    let whole = of("verify", "trail");
    assert_eq!(whole[0]["entries"], 1);
    assert_eq!((&whole, &whole[0]["broken"]), (&of("audit", "trail"), &Value::Null));
    assert_line(&report("text"), "the chain of `trail` is intact: 1 entry, 0 lines after its last link, head HASH");
    assert_line(
        &report("html"),
        "<p class=good>the chain of <code>trail</code> is intact: 1 entry, 0 lines after its last link, head HASH</p>",
    );
    let case = "<testcase classname=\"contrail.integrity\" name=\"the chain of trail is whole\" time=\"0.000\"";
    assert_line(&report("junit"), &format!("    {case}/>"));

    let segment = workspace.path().join("trail/trail-00000001.journal");
    let text = fs::read_to_string(&segment).unwrap();
    fs::write(&segment, text.replacen("rlp_1", "rlp_2", 1)).unwrap();
    let altered = of("verify", "trail");
    let broken = "the trail was altered at `trail/trail-00000001.journal`, line 2: this line was altered";
    assert_eq!((&altered, &altered[0]["broken"]), (&of("audit", "trail"), &json!(broken)));
    assert_line(&report("text"), &format!("ALTERED: {broken}"));
    let marked = broken.replacen('`', "<code>", 1).replacen('`', "</code>", 1);
    assert_line(&report("html"), &format!("<p class=bad>ALTERED: {marked}</p>"));
    let junit = report("junit");
    let failure = format!("{case}>\n      <failure type=\"integrity\" message=\"{broken}\"></failure>");
    assert!(junit.contains(&failure) && junit.contains("failures=\"1\""), "{junit}");

    // Without a chain there is nothing to state.
    fs::write(workspace.path().join("a.har"), har::har(&[har::conforming()])).unwrap();
    assert_eq!(of("verify", "a.har"), Value::Null);
}

#[test]
fn a_browsers_export_without_authorization_leaves_the_caller_unknown() {
    let ran = run(["audit", "tests/data/har/chrome.har"]);
    assert_output("record/audit/a_browsers_export_without_authorization_leaves_the_caller_unknown", &ran);
}

#[test]
fn standard_input_is_audited_and_verified_as_the_file_by_name_is() {
    for file in ["tests/data/har/chrome.har", "tests/data/har/firefox.har", "fixtures/gaps.har"] {
        for command in ["audit", "verify"] {
            for format in ["text", "json"] {
                let named = run([command, file, "--format", format]);
                let piped = run_with_input([command, "-", "--format", format], &fs::read(file).unwrap());
                let named_out = named.stdout.replace(&format!("`{file}`"), "`-`").replace(file, "-");
                let named_out = named_out.replace("unchecked in -:", "unchecked in standard input:");
                assert_eq!((piped.status, piped.stdout), (named.status, named_out), "{command} {file}");
            }
        }
    }
}

#[test]
fn a_recording_that_comes_through_a_pipe_is_read_once() {
    let recording = fs::read("fixtures/gaps.har").unwrap();
    let ran = run_with_input(["audit", "/dev/stdin"], &recording);
    assert_output("record/audit/a_recording_that_comes_through_a_pipe_is_read_once", &ran);
}

/// A token that claims this, without a signature.
fn claiming(claims: &Value) -> String {
    let encoded = |text: String| URL_SAFE_NO_PAD.encode(text);
    let header = json!({"alg": "RS256", "typ": "JWT"});
    format!("{}.{}.c2lnbmF0dXJl", encoded(header.to_string()), encoded(claims.to_string()))
}

/// A trail of these calls: a target, and what its token claims.
fn trail_of(calls: &[(&str, Value)]) -> Workspace {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--trail", "trail"]);
    for (target, claims) in calls {
        get(running.address, target, &claiming(claims));
    }
    running.finish();
    workspace
}

fn callers(workspace: &Workspace) -> Value {
    let ran = workspace.run(&["audit", "trail", "--format", "json"]);
    serde_json::from_str::<Value>(&ran.stdout).unwrap()["callers"].take()
}

const POLICY: &str = "/api/v2/rate-limit-policies/rlp_1";

#[test]
fn a_token_cannot_write_lines_of_its_own_into_an_audit() {
    let claims = json!({"azp": "me\u{1b}[2J\nadmin\n  holds everything", "scope": "read:clients a\u{1b}[8m"});
    let text = trail_of(&[(POLICY, claims)]).run(&["audit", "trail"]).stdout;
    assert!(!text.contains('\u{1b}') && !text.lines().any(|line| line == "admin"), "{text}");
    assert_line(&text, "me\\u{1b}[2J\\nadmin\\n  holds everything");
    let refused = "(1 call whose answer does not show that the token is genuine, or whose signature fails; the name is a \
                   claim, too)";
    let first = "first trail/trail-00000001.journal entry 0 (line 2, INSTANT)";
    assert_line(&text, &format!("  claimed     a\\u{{1b}}[8m read:clients {refused}; {first}"));
}

#[test]
fn a_call_that_no_document_describes_may_need_any_scope_that_its_caller_holds() {
    let workspace = trail_of(&[("/api/v2/users/1", json!({"azp": "me", "scope": "read:users"}))]);
    // A path that is not there shows nothing of the token.
    assert_eq!(callers(&workspace)[0]["claims"]["scopes"], json!(["read:users"]));
    assert_eq!(callers(&workspace)[0]["callsWithoutDocumentedScope"], 1);
}

#[test]
fn what_one_token_of_a_caller_lacked_no_other_token_of_it_hides() {
    let scopes = ["read:rate_limit_policies", "read:clients"];
    for order in [[0, 1], [1, 0]] {
        let workspace = Workspace::new();
        let call = |at: usize| {
            let token = claiming(&json!({"azp": "me", "scope": scopes[at], "exp": 4_102_444_800_u32}));
            har::get(POLICY, Some(&format!("Bearer {token}")), [200, 403][at], har::POLICY)
        };
        fs::write(workspace.path().join("a.har"), har::har(&order.map(call))).unwrap();
        let report = workspace.run(&["audit", "a.har", "--format", "json"]).stdout;
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["callers"][0]["lacks"], json!(["read:rate_limit_policies"]), "{order:?}");
        let text = workspace.run(&["audit", "a.har"]).stdout;
        let first = format!("first a.har entry {} (INSTANT)", 1 - order[0]);
        assert_line(&text, &format!("  lacks       read:rate_limit_policies (in some of its tokens); {first}"));
    }
}

#[test]
fn a_file_beside_a_trail_is_not_proven_by_its_chain() {
    let workspace = trail_of(&[(POLICY, json!({"azp": "me"}))]);
    fs::copy("fixtures/gaps.har", workspace.path().join("trail/gaps.har")).unwrap();
    let ran = workspace.run(&["audit", "trail"]);
    assert_output("record/audit/a_file_beside_a_trail_is_not_proven_by_its_chain", &ran);
    let ran = workspace.run(&["audit", "trail", "--format", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["unproven"], json!(["trail/gaps.har"]));
    let ran = workspace.run(&["verify", "trail"]);
    assert_output("record/audit/a_file_beside_a_trail_is_not_proven_by_its_chain-2", &ran);
}

#[test]
fn an_audit_reports_that_a_trail_was_altered_when_a_line_of_it_is_no_entry_any_more() {
    let workspace = trail_of(&[(POLICY, json!({"azp": "me"})), (POLICY, json!({"azp": "you"}))]);
    let segment = workspace.path().join("trail/trail-00000001.journal");
    let text = fs::read_to_string(&segment).unwrap();
    fs::write(&segment, text.replacen("\"startedDateTime\"", "\"started", 1)).unwrap();
    let ran = workspace.run(&["audit", "trail"]);
    assert_eq!(ran.status, 1, "{}{}", ran.stdout, ran.stderr);
    assert_output(
        "record/audit/an_audit_reports_that_a_trail_was_altered_when_a_line_of_it_is_no_entry_any_more",
        &ran,
    );
}

#[test]
fn every_command_leaves_out_an_unreadable_line_of_a_trail_and_reads_the_others() {
    let workspace = trail_of(&[(POLICY, json!({"azp": "me"})), (POLICY, json!({"azp": "you"}))]);
    let mut segment =
        fs::OpenOptions::new().append(true).open(workspace.path().join("trail/trail-00000001.journal")).unwrap();
    writeln!(segment, r#"{{"request":{{"method":"GET","url":"nowhere"}}}}"#).unwrap();
    fs::write(workspace.path().join("a.json"), r#"{"openapi":"3.1.0","info":{"title":"a","version":"1"}}"#).unwrap();
    let said = "contrail: left out `trail/trail-00000001.journal`, line 6: its URL names no host";
    let read = |arguments: &[&str]| {
        let ran = workspace.run(&[arguments, &["trail"]].concat());
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.status, 2, "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    };
    let why = json!("1 entry could not be read");
    let contracts = ["diff", "--contract", "a.json", "--contract", "a.json", "--format", "json"];
    for arguments in [&["audit", "--format", "json"][..], &["coverage", "--format", "json"], &contracts] {
        let report: Value = serde_json::from_str(&read(arguments)).unwrap();
        assert_eq!(report["summary"]["exchanges"], 2, "{arguments:?}");
        assert_eq!(report["exit"]["because"][0], why, "{arguments:?}");
    }
    assert!(read(&["verify"]).contains("1 entry could not be read"));
    read(&["learn"]);
    if cfg!(feature = "fleet") {
        assert!(read(&["export", "--parquet", "out", "--format", "json"]).contains("\"unreadable\": 1"));
    }
}

#[test]
fn what_a_token_claims_has_no_secret_in_a_trail() {
    let secret = format!("ghp_{}", "aB3dE6gH9".repeat(4));
    let claims = json!({"azp": secret, "iss": format!("https://x.example/{secret}"), "aud": secret, "scope": secret});
    let workspace = trail_of(&[(POLICY, claims)]);
    let trail = workspace.read("trail/trail-00000001.journal");
    assert!(!trail.contains(&secret) && trail.contains("!api-key-"), "{trail}");
    let ran = workspace.run(&["scan", "trail"]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
}

#[test]
fn signatures_of_tokens_that_labels_replace_are_unchecked_with_one_message() {
    let workspace = Workspace::new();
    let watching = workspace.start("record", &["--trail", "trail", "--out", "fx.har"]);
    let token = token(watching.address);
    get(watching.address, TEMPLATES, &token);
    get(watching.address, TEMPLATES, &token);
    let keys = call(watching.address, "GET", "/.well-known/jwks.json", &[], b"").body;
    std::fs::write(workspace.path().join("keys.json"), keys).unwrap();
    watching.finish();
    let said = |ran: &Ran| ran.stderr.lines().filter(|line| line.contains("signatures")).count();
    for recording in ["trail", "fx.har"] {
        for command in ["verify", "audit"] {
            let ran = workspace.run(&[command, recording, "--jwks", "keys.json"]);
            assert_line(
                &ran.stderr,
                "contrail: signatures: not checked in 2 exchanges, where labels replace the tokens; record with \
                 --jwks to check them, and verify without it",
            );
            assert_eq!((ran.status, said(&ran)), (0, 1), "{command} {recording}: {}", ran.stderr);
            let ran = workspace.run(&[command, recording]);
            assert_eq!((ran.status, said(&ran)), (0, 0), "{command} {recording}: {}", ran.stderr);
        }
        let unchecked = |options: &[&str]| {
            let ran = workspace.run(&[&["verify", recording, "--format", "json"], options].concat());
            let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
            let exchanges = report["exchanges"].as_array().unwrap().clone();
            let is_unchecked =
                |exchange: &&serde_json::Value| exchange["unchecked"].as_array().unwrap().contains(&"signature".into());
            exchanges.iter().filter(is_unchecked).count()
        };
        assert_eq!((unchecked(&["--jwks", "keys.json"]), unchecked(&[])), (2, 2), "{recording}");
    }
    // A result in the file is of the keys that the recording was given: other keys may tell otherwise of a good one.
    for result in ["good", "bad"] {
        let text = workspace.read("fx.har");
        let with =
            text.replace("\"outcome\": \"valid\"", &format!("\"outcome\": \"valid\", \"signature\": \"{result}\""));
        assert_ne!(text, with);
        std::fs::write(workspace.path().join("with.har"), with).unwrap();
        let ran = workspace.run(&["verify", "with.har"]);
        assert_eq!(ran.status, i32::from(result == "bad"), "{}", ran.stdout);
        let ran = workspace.run(&["verify", "with.har", "--jwks", "keys.json"]);
        if result == "bad" {
            assert_eq!((ran.status, said(&ran)), (1, 0), "{}", ran.stderr);
            continue;
        }
        assert_eq!((ran.status, said(&ran)), (0, 1), "{}", ran.stderr);
        assert_line(&ran.stdout, "  signature: 2 exchanges (getConnectionProfileTemplates 2)");
    }
}
