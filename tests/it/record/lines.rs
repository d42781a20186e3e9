//! What is said: one line per exchange, a summary, and nothing on standard output.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    net::TcpListener,
};

use nix::{
    pty::openpty,
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use regex::Regex;

use super::harness::{SECRET, TEMPLATES, Workspace, get, objects, token};
use crate::support::{
    command::contrail,
    golden::{assert_line, assert_output},
    process::listening,
    wire::{Nobody, call},
};

#[test]
fn every_exchange_is_one_line_with_status_method_path_operation_verdict_and_time() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &[]);
    let address = running.address;
    let token = token(address);
    get(address, TEMPLATES, &token);
    get(address, "/api/v2/nothing%2Fhere?x=1", &token);
    let ran = running.finish();
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.ends_with(" ms") || line.contains(" ms (")).collect();
    let untimed: Vec<String> = lines
        .iter()
        .map(|line| {
            let (before, after) = line.split_once(" ms").unwrap();
            let (before, millis) = before.rsplit_once(' ').unwrap();
            assert!(millis.parse::<u64>().is_ok(), "{line}");
            format!("{before}{after}")
        })
        .collect();
    assert_eq!(
        untimed,
        [
            "200 POST /oauth/token/ requestToken conforms",
            "200 GET /api/v2/connection-profiles/templates getConnectionProfileTemplates conforms",
            "404 GET /api/v2/nothing%2Fhere?x=1 - gap (operation.undocumented)",
        ]
    );
    assert_eq!(ran.stdout, "");
    assert_eq!(ran.status, 0);
    assert_output("record/lines/every_exchange_is_one_line_with_status_method_path_operation_verdict_and_time", &ran);
}

#[test]
fn lines_and_summary_are_objects_for_machines() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--format", "json"]);
    let address = running.address;
    let token = token(address);
    get(address, "/api/v2/connections/con_1/directory-provisioning/synchronized-groups?take=101", &token);
    let ran = running.finish();
    let lines = objects(&ran, "ms");
    assert_eq!(lines.len(), 2);
    let line = &lines[1];
    assert_eq!(line["method"], "GET");
    assert_eq!(line["operation"], "getSynchronizedGroups");
    assert_eq!(line["verdict"], "violates");
    assert_eq!(line["findings"][0]["rule"], "query.parameter");
    assert_eq!(line["findings"][0]["at"], "take");
    assert!(line["url"].as_str().unwrap().ends_with("/synchronized-groups?take=101"), "{line}");
    assert!(line["unchecked"].is_array() && line["status"].is_u64(), "{line}");
    let summary = &objects(&ran, "summary")[0]["summary"];
    assert_eq!(summary["exchanges"], 2);
    assert_eq!(summary["violates"], 1);
    assert_eq!(summary["rules"]["query.parameter"], 1);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.stdout, "");
}

#[test]
fn the_summary_states_what_was_not_checked_the_most_frequent_first() {
    const GROUPS: &str = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups";
    for command in ["watch", "record"] {
        for format in ["text", "json"] {
            let workspace = Workspace::new();
            let options = ["--format", format, "--out", "x.har"];
            let running = workspace.start(command, if command == "watch" { &options[..2] } else { &options });
            let address = running.address;
            let token = token(address);
            get(address, GROUPS, &token);
            get(address, GROUPS, &token);
            get(address, &format!("{GROUPS}?take=101"), &token);
            let ran = running.finish();
            if format == "text" {
                let line = ran.stderr.lines().find(|line| line.starts_with("not checked: "));
                let stated = "required-scope 3, error-status 3, error-body 3, success-status 1, request-required 1";
                let whole = format!("not checked: {stated} and 1 more (--report text lists them by operation)");
                assert_eq!(line, Some(&*whole), "{}", ran.stderr);
            } else {
                let summary = &objects(&ran, "summary")[0]["summary"];
                assert_eq!(summary["unchecked"]["required-scope"], 3, "{}", ran.stderr);
                assert_eq!(summary["unchecked"]["success-status"], 1, "{}", ran.stderr);
                assert_eq!(summary["unchecked"].as_object().unwrap().len(), 6, "{}", ran.stderr);
            }
        }
    }
}

#[test]
fn no_secret_of_the_traffic_is_printed() {
    for format in ["text", "json"] {
        let workspace = Workspace::new();
        let running = workspace.start("watch", &["--format", format]);
        let address = running.address;
        let token = token(address);
        get(address, &format!("{TEMPLATES}?client_secret={SECRET}&access_token={token}"), &token);
        get(address, &format!("/api/v2/{token}/{SECRET}"), "not.a.jwt-but-secret");
        let ran = running.finish();
        let said = ran.stderr;
        for secret in [SECRET, &token, "not.a.jwt-but-secret"] {
            assert!(!said.contains(secret), "{secret} in {said}");
        }
    }
}

#[test]
fn gaps_fail_under_deny_and_violations_do_not_under_allow() {
    for (target, options, status) in [
        ("/api/v2/nothing", vec![], 0),
        ("/api/v2/nothing", vec!["--deny", "gaps"], 1),
        ("/api/v2/connections/c/directory-provisioning/synchronized-groups?take=0", vec![], 1),
        (
            "/api/v2/connections/c/directory-provisioning/synchronized-groups?take=0",
            vec!["--allow", "query.parameter"],
            0,
        ),
    ] {
        let workspace = Workspace::new();
        let running = workspace.start("watch", &options);
        get(running.address, target, &token(running.address));
        assert_eq!(running.finish().status, status, "{target} {options:?}");
    }
}

#[test]
fn what_only_and_exclude_leave_out_passes_and_is_counted() {
    for options in [["--only", "requestToken"], ["--exclude", "/api/v2/*"]] {
        let workspace = Workspace::new();
        let running = workspace.start("watch", &[&options[..], &["--format", "json"]].concat());
        let address = running.address;
        let token = token(address);
        assert_eq!(get(address, TEMPLATES, &token).status(), 200);
        let ran = running.finish();
        let summary = &objects(&ran, "summary")[0]["summary"];
        assert_eq!((&summary["exchanges"], &summary["left_out"]), (&1.into(), &1.into()), "{options:?}");
        assert_eq!(objects(&ran, "ms").len(), 1);
    }
}

#[test]
fn a_violating_request_is_answered_by_contrail_under_enforce() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--enforce", "requests", "--format", "json"]);
    let address = running.address;
    let token = token(address);
    let target = "/api/v2/connections/c/directory-provisioning/synchronized-groups?take=101";
    let answer = get(address, target, &token);
    assert_eq!(answer.status(), 400);
    assert_eq!(answer.header("contrail-answer"), Some("enforce"));
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    let problem = answer.json();
    assert_eq!(problem["findings"][0]["rule"], "query.parameter");
    assert_line(
        problem["detail"].as_str().unwrap(),
        "the request violates the contract: query.parameter at take: expected at most 100, saw `101`",
    );
    assert_eq!(get(address, TEMPLATES, &token).status(), 200);
    let ran = running.finish();
    let line = &objects(&ran, "ms")[1];
    assert_eq!((&line["status"], &line["answered_by_contrail"]), (&400.into(), &"enforce".into()));
}

#[test]
fn a_refusal_under_enforce_repeats_no_secret() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--enforce", "all"]);
    let address = running.address;
    let token = token(address);
    let body = format!("{{\"dialect\":\"{SECRET}\"}}");
    let headers = [("Authorization", &*format!("Bearer {token}")), ("Content-Type", "application/json")];
    let target = "/api/v2/verifiable-credentials/verification/templates/vct_1";
    let answer = call(address, "PATCH", target, &headers, body.as_bytes());
    assert_eq!(answer.status(), 400);
    assert!(!String::from_utf8_lossy(&answer.body).contains(SECRET), "{:?}", answer.json());
    running.finish();
}

#[test]
fn an_upstream_that_is_not_there_is_a_502_and_its_line_gives_the_reason() {
    let workspace = Workspace::new();
    let nobody = Nobody::new();
    let running = workspace.start_at(nobody.address, "watch", &["--format", "json"]);
    let answer = call(running.address, "GET", TEMPLATES, &[], b"");
    assert_eq!((answer.status(), answer.header("contrail-answer")), (502, Some("upstream")));
    let ran = running.finish();
    let line = &objects(&ran, "ms")[0];
    assert_eq!((&line["status"], &line["answered_by_contrail"]), (&0.into(), &"upstream".into()));
    assert_line(
        line["incomplete"].as_str().unwrap(),
        "cannot reach http://127.0.0.1:PORT: Connection refused (os error 111)",
    );
}

#[test]
fn reports_are_written_at_the_end() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--report", "json=report.json", "--report", "html=report.html"]);
    get(running.address, TEMPLATES, &token(running.address));
    running.finish();
    let report: serde_json::Value = serde_json::from_str(&workspace.read("report.json")).unwrap();
    assert_eq!(report["summary"]["exchanges"], 2);
    assert_eq!(report["exchanges"][1]["operation"], "getConnectionProfileTemplates");
    assert!(workspace.read("report.html").contains("getConnectionProfileTemplates"));
}

const TWO_WRONG: &str = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups?take=101&debug=1";

#[test]
fn verbose_writes_each_findings_message_and_the_tenants_error_under_the_line_of_the_exchange() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--verbose"]);
    get(running.address, TWO_WRONG, &token(running.address));
    let ran = running.finish();
    let mut lines = ran.stderr.lines().skip_while(|line| !line.contains("synchronized-groups"));
    assert!(lines.next().unwrap().ends_with(" ms (query.parameter at take, query.undocumented at debug)"));
    assert_eq!(lines.next(), Some("    query.parameter at take: expected at most 100, saw `101`"));
    assert_eq!(lines.next(), Some("    query.undocumented at debug: expected a documented query parameter"));
    let error = lines.next().unwrap();
    assert!(error.starts_with("    the tenant's error: "), "{error}");
    assert_eq!(lines.next(), Some(""), "the summary follows: {}", ran.stderr);

    // By variable, as every option; lines for machines have the messages anyway.
    let workspace = Workspace::new();
    std::fs::write(workspace.path().join("contrail.toml"), "verbose = true\n").unwrap();
    let running = workspace.start("watch", &["--format", "json"]);
    get(running.address, TWO_WRONG, &token(running.address));
    let line = &objects(&running.finish(), "ms")[1];
    assert_eq!(line["findings"][0]["message"], "expected at most 100, saw `101`");
}

#[test]
fn quiet_writes_lines_only_of_exchanges_that_somebody_has_to_look_at() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--quiet"]);
    let token = token(running.address);
    get(running.address, TEMPLATES, &token);
    get(running.address, TWO_WRONG, &token);
    let ran = running.finish();
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains(" ms")).collect();
    assert_eq!(lines.len(), 1, "{}", ran.stderr);
    assert!(lines[0].contains("take=101"), "{}", ran.stderr);
    assert!(ran.stderr.contains("3 exchanges: "), "all count: {}", ran.stderr);
}

/// What `watch --verbose` writes to a terminal.
fn on_a_terminal(no_colour: Option<&str>) -> String {
    let workspace = Workspace::new();
    let terminal = openpty(None, None).unwrap();
    let options = ["watch", "--listen", "127.0.0.1:0", "--upstream", "sandbox", "--seed", "seed.json", "--verbose"];
    let mut command = contrail();
    command.current_dir(workspace.path()).args(options).env("TERM", "xterm");
    command.envs(no_colour.map(|value| ("NO_COLOR", value)));
    let mut child = command.stderr(terminal.slave).spawn().unwrap();
    drop(command);
    let mut lines = BufReader::new(File::from(terminal.master)).lines().map_while(Result::ok);
    let address = lines.by_ref().find_map(|line| listening(&line)).unwrap();
    let token = token(address);
    get(address, TWO_WRONG, &token);
    get(address, "/api/v2/nothing", &token);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let text: Vec<String> = lines.collect();
    child.wait().unwrap();
    let text = text.join("\n");
    let prefix = Regex::new(r"(?m)^(\d+) \d\d:\d\d:\d\dZ ").unwrap();
    let numbers: Vec<&str> = prefix.captures_iter(&text).map(|found| found.get(1).unwrap().as_str()).collect();
    assert_eq!(numbers, ["0", "1", "2"], "{text}");
    prefix.replace_all(&text, "").into_owned()
}

#[test]
fn violations_are_red_gaps_yellow_and_what_conforms_green_on_a_terminal() {
    let text = on_a_terminal(None);
    for expected in [
        "\u{1b}[33m400\u{1b}[0m GET /api/v2/connections/con_1/directory-provisioning/synchronized-groups?take=101&debug=1 \
         getSynchronizedGroups \u{1b}[31mviolates\u{1b}[0m TIME ms (\u{1b}[31mquery.parameter\u{1b}[0m at take, \
         \u{1b}[33mquery.undocumented\u{1b}[0m at debug)",
        "    \u{1b}[31mquery.parameter\u{1b}[0m at take: expected at most 100, saw `101`",
        "\u{1b}[33m404\u{1b}[0m GET /api/v2/nothing - \u{1b}[33mgap\u{1b}[0m TIME ms (\u{1b}[33moperation.undocumented\u{1b}[0m)",
    ] {
        assert_line(&text, expected);
    }
    let conforms = "\u{1b}[32m200\u{1b}[0m POST /oauth/token/ requestToken \u{1b}[32mconforms\u{1b}[0m TIME ms";
    assert_line(&text, conforms);
}

#[test]
fn no_color_leaves_lines_plain_on_a_terminal() {
    let text = on_a_terminal(Some("1"));
    assert_line(
        &text,
        "400 GET /api/v2/connections/con_1/directory-provisioning/synchronized-groups?take=101&debug=1 \
         getSynchronizedGroups violates TIME ms (query.parameter at take, query.undocumented at debug)",
    );
    assert!(!text.contains('\x1b'), "{text:?}");
    assert!(on_a_terminal(Some("")).contains("\x1b[31m"), "an empty NO_COLOR says nothing");
}

#[test]
fn an_upstream_proxy_that_refuses_is_named_in_the_answer_the_line_and_the_summary_without_its_password() {
    let workspace = Workspace::new();
    let reserved = Nobody::new();
    let nobody = reserved.address;
    let proxy = format!("http://me:hunter2-hunter2@{nobody}");
    let arguments =
        ["record", "--listen", "127.0.0.1:0", "--upstream", "https://tenant.example", "--upstream-proxy", &proxy];
    let arguments = arguments.iter().chain(&["--out", "fx.har"]);
    let running = crate::support::process::Running::start(workspace.path(), arguments);
    let answer = call(running.address, "GET", TEMPLATES, &[], b"");
    assert_eq!((answer.status(), answer.header("contrail-answer")), (502, Some("upstream")));
    let named = format!(
        "cannot reach the upstream proxy {nobody}: Connection refused (os error 111); --upstream-proxy names it; \
         `--upstream-proxy none` connects directly"
    );
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert_line(&detail, &named);
    let ran = running.finish();
    let lines: Vec<_> = ran.stderr.lines().filter(|line| line.contains(&named)).collect();
    assert!(lines.iter().any(|line| line.contains(TEMPLATES)), "{}", ran.stderr);
    assert!(lines.iter().any(|line| line.starts_with("NOTHING RECORDED")), "{}", ran.stderr);
    assert!(!ran.stderr.contains("hunter2") && !detail.contains("hunter2") && !detail.contains("tenant.example"));
}

#[test]
fn an_upstream_proxy_that_is_contrail_itself_is_refused_at_the_start() {
    let workspace = Workspace::new();
    // The port is free again once the listener is dropped.
    let own = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let ran =
        workspace.run(&["watch", "--listen", &own, "--upstream", "https://tenant.example", "--upstream-proxy", &own]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
    assert_line(
        &ran.stderr,
        &format!(
            "contrail: cannot reach the upstream proxy {own}: it is contrail itself; --upstream-proxy names it; \
             `--upstream-proxy none` connects directly"
        ),
    );
}
