//! Reports of a replay: misses, denied hosts and unused recordings stand in each of them.

use std::net::SocketAddr;

use super::*;
use crate::support::{
    golden::{assert_golden, assert_line, masked_junit},
    reports::{FORMATS, unescaped},
    wire::send,
};

const HELD: &str = "/api/v2/rate-limit-policies/rlp_1";
const UNUSED: &str = "/api/v2/rate-limit-policies/rlp_2";
const MISSED: &str = "/api/v2/rate-limit-policies/rlp_3";
const WRONG: &str = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups?take=500";

/// Asks to be let through to a host; the status.
fn connect(to: SocketAddr, host: &str) -> u16 {
    send(to, "CONNECT", format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap().status()
}

/// A replay of two exchanges: one is asked for, two requests miss (one of them twice), and a host is denied twice.
fn missing(workspace: &Workspace, format: &str) -> Ran {
    workspace.write("a.har", &[get(HELD, har::POLICY), get(UNUSED, &har::POLICY.replace("rlp_1", "rlp_2"))]);
    let reports = FORMATS.map(|kind| format!("--report={kind}=report.{kind}"));
    let listeners = ["--forward-listen", "127.0.0.1:0", "--ca-dir", "ca", "--format", format];
    let options: Vec<&str> = listeners.into_iter().chain(reports.iter().map(String::as_str)).collect();
    let replay = workspace.replay(&[&["a.har"], options.as_slice()].concat());
    assert_eq!(ask(replay.address, HELD).status(), 200);
    for missed in [MISSED, MISSED, WRONG] {
        assert_eq!(ask(replay.address, missed).status(), 421);
    }
    for _ in 0..2 {
        assert_eq!(connect(replay.addresses[1], "elsewhere.invalid:443"), 403);
    }
    replay.finish()
}

fn report(workspace: &Workspace, kind: &str) -> String {
    fs::read_to_string(workspace.path().join(format!("report.{kind}"))).unwrap()
}

#[test]
fn every_report_of_a_replay_names_misses_denied_hosts_and_unused_recordings() {
    let workspace = Workspace::new();
    let ran = missing(&workspace, "text");
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    for kind in FORMATS {
        let shown = unescaped(kind, &report(&workspace, kind));
        let unused = format!("GET {UNUSED}");
        for named in
            [&*format!("GET {MISSED}"), &format!("GET {WRONG}"), "elsewhere.invalid:443", &unused, "a.har entry 0"]
        {
            assert!(shown.contains(named), "{}", shown);
        }
    }
}

#[test]
fn the_json_report_calls_no_miss_conforming_and_counts_misses_apart() {
    let workspace = Workspace::new();
    missing(&workspace, "text");
    let report: Value = serde_json::from_str(&report(&workspace, "json")).unwrap();
    let summary = json!({
        "exchanges": 4, "conforms": 1, "gap": 0, "violates": 0, "misses": 3, "skipped": 0,
        "recorded": {"exchanges": 2, "conforms": 2, "gap": 0, "violates": 0},
    });
    assert_eq!(report["summary"], summary);
    let live = report["exchanges"].as_array().unwrap().iter().filter(|exchange| exchange["source"] == "live");
    let said: Vec<_> = live.map(|exchange| (exchange["verdict"].clone(), exchange["miss"].clone())).collect();
    let expected = [("conforms", Value::Null), ("miss", true.into()), ("miss", true.into()), ("violates", true.into())];
    assert_eq!(said, expected.map(|(verdict, miss)| (Value::from(verdict), miss)));
    let misses = report["misses"].as_array().unwrap();
    assert_eq!(misses.len(), 2, "{misses:?}");
    assert_eq!((&misses[1]["count"], &misses[1]["reason"]), (&2.into(), &"unknown".into()));
    assert_eq!(misses[1]["operation"], "getRateLimitPolicy");
    assert_eq!(misses[1]["nearest"][0]["differences"][0]["yourRequest"], MISSED);
    assert_eq!(report["denied"], json!([{"host": "elsewhere.invalid:443", "reason": "tunnel-denied", "count": 2}]));
    assert_eq!(report["unused"], json!([{"entry": "a.har entry 1", "request": format!("GET {UNUSED}")}]));
}

#[test]
fn misses_and_denied_hosts_are_failures_in_junit_and_unused_recordings_are_not() {
    let workspace = Workspace::new();
    missing(&workspace, "text");
    let report = report(&workspace, "junit");
    // Two misses, the violation of one of them, and a host.
    assert_golden("replay/reports/misses_and_denied_hosts.junit", &masked_junit(&report));
}

#[test]
fn names_in_junit_hold_no_counts_so_that_a_history_knows_them_again() {
    let names = |requests: usize| {
        let workspace = Workspace::new();
        workspace.write("a.har", &[get(HELD, har::POLICY)]);
        let replay = workspace.replay(&["a.har", "--report", "junit=report.junit"]);
        for _ in 0..requests {
            ask(replay.address, HELD);
            ask(replay.address, MISSED);
        }
        replay.finish();
        let report = report(&workspace, "junit");
        let cases = report.lines().filter(|line| line.contains("<testcase "));
        cases.map(|line| line.split(" time=").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let once = names(1);
    assert_eq!(once.len(), 2, "{once:?}");
    assert_eq!(once, names(3));
}

#[test]
fn lines_and_summary_call_no_miss_conforming_and_name_what_sets_the_exit_status() {
    let workspace = Workspace::new();
    let ran = missing(&workspace, "json");
    let verdicts: Vec<_> = lines(&ran).iter().map(|line| (line["verdict"].clone(), line["miss"].clone())).collect();
    assert_eq!(verdicts[1], ("miss".into(), true.into()), "{}", ran.stderr);
    assert_eq!(verdicts[3], ("violates".into(), true.into()), "{}", ran.stderr);
    let summary = summary(&ran);
    for (name, expected) in [("exchanges", 4), ("conforms", 1), ("gap", 0), ("violates", 0), ("misses", 3)] {
        assert_eq!(summary[name], expected, "{name}: {summary}");
    }
    assert_eq!(summary["recorded"]["exchanges"], 2);
    assert_eq!(summary["operations"], json!({"getRateLimitPolicy": 3, "getSynchronizedGroups": 1}));
    assert_eq!(summary["denied"][0]["host"], "elsewhere.invalid:443");
    assert_eq!(
        summary["exit"],
        json!({"status": 3, "because": ["3 replay misses", "2 denied requests", "query.parameter 1 (violation)"]})
    );

    let said = missing(&workspace, "text").stderr;
    for expected in [
        "4 live requests: 1 conform, 0 with gaps, 0 violate, 3 missed",
        "operations requested: getRateLimitPolicy 3, getSynchronizedGroups 1",
        "2 recorded exchanges: 2 conform, 0 with gaps, 0 violate",
        &format!("3 replay misses\n  GET {WRONG} (unknown, 1 in all)\n  GET {MISSED} (unknown, 2 in all)"),
        "2 turned away: tunnel-denied\n  elsewhere.invalid:443 (2 in all)",
        "403 denied elsewhere.invalid:443: --intercept elsewhere.invalid:443 opens it; --allow denied lets the run \
         pass",
        "exit status 3: 3 replay misses; 2 denied requests; query.parameter 1 (violation)",
    ] {
        assert_line(&said, expected);
    }
}

#[test]
fn under_format_json_every_line_is_an_object_and_those_of_the_start_have_the_text_of_the_plain_lines() {
    let workspace = Workspace::new();
    workspace.write("a.har", &[get(HELD, har::POLICY)]);
    let ports = ["--listen", "127.0.0.1:0", "--forward-listen", "127.0.0.1:0", "--ca-dir", "ca", "--format", "json"];
    let commands: [&[&str]; 3] = [
        &["replay", "a.har"],
        &["watch", "--upstream", "sandbox"],
        &["record", "--upstream", "sandbox", "--out", "fixture"],
    ];
    for command in commands {
        let running = Running::start(workspace.path(), [command, &ports].concat());
        ask(running.address, HELD);
        connect(running.addresses[1], "elsewhere.invalid:443");
        let (plain, forward) = (running.addresses[0], running.addresses[1]);
        let ran = running.finish();
        let said: Vec<Value> = ran
            .stderr
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{command:?}: {line} is no JSON")))
            .collect();
        assert_eq!(said[0]["listening"], format!("http://{plain}"), "{}", ran.stderr);
        assert_eq!(said[0]["message"], format!("listening on http://{plain}"));
        assert_eq!(said[1]["message"], format!("listening on http://{forward} (forward proxy)"));
        let third = if command[0] == "replay" { "serving 1 recorded exchange" } else { "sandbox client sandbox-full" };
        assert!(said[2]["message"].as_str().unwrap().starts_with(third), "{}", ran.stderr);
    }
}

#[test]
fn deny_unused_fails_a_replay_with_a_recorded_exchange_that_no_request_used() {
    let workspace = Workspace::new();
    workspace.write("a.har", &[get(HELD, har::POLICY), get(UNUSED, &har::POLICY.replace("rlp_1", "rlp_2"))]);
    let options = ["a.har", "--deny", "unused", "--report", "junit=report.junit", "--report", "json=report.json"];
    let replay = workspace.replay(&options);
    ask(replay.address, HELD);
    let ran = replay.finish();
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert_line(&ran.stderr, "exit status 1: 1 unused recorded exchange");
    assert_line(
        &report(&workspace, "junit"),
        "      <failure type=\"unused\" message=\"a.har entry 1 was never requested\"></failure>",
    );
    let json: Value = serde_json::from_str(&report(&workspace, "json")).unwrap();
    assert_eq!(json["exit"], json!({"status": 1, "because": ["1 unused recorded exchange"]}));
    let replay = workspace.replay(&options);
    for target in [HELD, UNUSED] {
        ask(replay.address, target);
    }
    assert_eq!(replay.finish().status, 0);
}

#[test]
fn deny_stale_fails_a_replay_with_a_recorded_exchange_that_does_not_fit_the_contract_any_more() {
    const GONE: &str = "/api/v2/gone";
    const WHY: &str = "the contract has no operation `getGone` for it any more";
    let workspace = Workspace::new();
    let recorded_as = |entry, operation| own(entry, json!({"operation": operation}));
    let entries = [
        recorded_as(get(HELD, har::POLICY), Some("getRateLimitPolicy")),
        recorded_as(get(GONE, "{}"), Some("getGone")),
        recorded_as(get("/api/v2/never-documented", "{}"), None),
    ];
    workspace.write_own("a.har", &entries);
    let run = |options: &[&str]| {
        let replay = workspace.replay(&[&["a.har"], options].concat());
        for target in [HELD, GONE, "/api/v2/never-documented"] {
            ask(replay.address, target);
        }
        replay.finish()
    };
    let reports = FORMATS.map(|kind| format!("--report={kind}=report.{kind}"));
    let reports: Vec<&str> = reports.iter().map(String::as_str).collect();
    let ran = run(&reports);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let case = |kind: &str| {
        format!("      <{kind} type=\"stale\" message=\"a.har entry 1: {WHY}\"></{kind}>\n    </testcase>")
    };
    assert_line(&report(&workspace, "junit"), &case("skipped"));
    let ran = run(&[&["--deny", "stale"], &reports[..]].concat());
    assert_output("replay/reports/deny_stale", &ran);
    for kind in FORMATS {
        let shown = unescaped(kind, &report(&workspace, kind));
        assert!(shown.contains(WHY) && shown.contains("a.har entry 1"), "{kind}:\n{shown}");
    }
    assert_line(&report(&workspace, "junit"), &case("failure"));
    let json: Value = serde_json::from_str(&report(&workspace, "json")).unwrap();
    assert_eq!(json["stale"], json!([{"entry": "a.har entry 1", "request": format!("GET {GONE}"), "why": WHY}]));
    assert_eq!(json["exit"], json!({"status": 1, "because": ["1 stale recorded exchange"]}));
}

#[test]
fn a_recorded_exchange_that_violates_the_contract_is_stale_unless_its_rule_is_allowed() {
    let workspace = Workspace::new();
    workspace.write("a.har", &[get(HELD, &har::POLICY.replace("\"allow\"", "\"shrug\""))]);
    let run = |options: &[&str]| {
        let replay = workspace.replay(&[&["a.har", "--deny", "stale", "--format", "json"], options].concat());
        ask(replay.address, HELD);
        let ran = replay.finish();
        (ran.status, summary(&ran)["stale"].as_array().unwrap().len())
    };
    assert_eq!(run(&[]), (1, 1));
    assert_eq!(run(&["--allow", "response.body"]), (0, 0));
}
