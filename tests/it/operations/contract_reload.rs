//! SIGHUP: the contract is read again, no connection is dropped, and each entry names the contract that judged it.

use std::{
    fmt::Write as _,
    fs,
    io::{BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

use nix::{
    sys::{signal::Signal, stat::Mode},
    unistd::mkfifo,
};
use serde_json::Value;

use super::{ask, metered, reload::reload, signal, sum, text, until_ready};
use crate::{
    record::harness::{Workspace, objects},
    support::{
        golden::assert_line,
        process::Running,
        wire::{Message, call, read},
    },
};

/// A contract of one operation whose responses have a `count` of this type.
fn contract(count: &str) -> String {
    format!(
        "openapi: 3.1.0\ninfo: {{title: Shop, version: '1'}}\npaths:\n  /items:\n    get:\n      operationId: listItems\n      \
         responses:\n        '200':\n          description: all\n          content:\n            application/json:\n              \
         schema: {{type: object, properties: {{count: {{type: {count}}}}}}}\n              example: {{count: 1}}\n"
    )
}

/// A folder with the contract by which the sandbox's answer conforms.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    put(&workspace, &contract("integer"));
    workspace
}

fn put(workspace: &Workspace, contract: &str) {
    fs::write(workspace.path().join("shop.yaml"), contract).unwrap();
}

/// `watch` under the contract in the folder, in front of a sandbox that answers by it; and the address of its metrics.
fn watch(workspace: &Workspace, options: &[&str]) -> (Running, SocketAddr) {
    let all = ["watch", "--upstream", "sandbox", "--contract", "shop.yaml", "--listen", "127.0.0.1:0"];
    let all = all.iter().chain(&["--metrics", "127.0.0.1:0"]).chain(options);
    let (running, metrics) = metered(Running::start(workspace.path(), all));
    until_ready(metrics);
    (running, metrics)
}

fn get(proxy: SocketAddr) -> Message {
    call(proxy, "GET", "/items", &[], b"")
}

/// The hash of the contract in the folder.
fn hash(workspace: &Workspace) -> String {
    let shown: Value =
        serde_json::from_str(&workspace.run(&["contract", "--contract", "shop.yaml", "--format", "json"]).stdout)
            .unwrap();
    shown["sha256"].as_str().unwrap().to_owned()
}

/// Verdict and contract of each entry of the trail.
fn entries(workspace: &Workspace) -> Vec<(String, String)> {
    let lines = workspace.read("trail/trail-00000001.journal");
    let entries = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let member = |entry: &Value, name: &str| entry["_contrail"][name].as_str().unwrap().to_owned();
    entries
        .filter(|entry| entry.get("_contrail").is_some())
        .map(|entry| (member(&entry, "verdict"), member(&entry, "contract")))
        .collect()
}

#[test]
fn an_exchange_that_ends_after_the_reload_is_judged_by_the_new_contract_and_its_connection_stays() {
    for workers in ["1", "3"] {
        let workspace = workspace();
        let old = hash(&workspace);
        let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
        let options = ["--contract", "shop.yaml", "--trail", "trail", "--workers", workers, "--metrics", "127.0.0.1:0"];
        let (running, metrics) = metered(workspace.start_at(tenant.local_addr().unwrap(), "watch", &options));
        let mut client = TcpStream::connect(running.address).unwrap();
        let ask = |client: &mut TcpStream| write!(client, "GET /items HTTP/1.1\r\nHost: p\r\n\r\n").unwrap();
        let answer = |mut upstream: &TcpStream| {
            upstream
                .write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"count\":1}",
                )
                .unwrap();
        };
        ask(&mut client);
        let (upstream, _) = tenant.accept().unwrap();
        read(&mut BufReader::new(&upstream), false, false).unwrap();
        answer(&upstream);
        assert_eq!(read(&mut BufReader::new(&client), false, true).unwrap().status(), 200);
        // In progress during the reload.
        ask(&mut client);
        read(&mut BufReader::new(&upstream), false, false).unwrap();
        put(&workspace, &contract("string"));
        let new = hash(&workspace);
        reload(&running, metrics);
        answer(&upstream);
        assert_eq!(read(&mut BufReader::new(&client), false, true).unwrap().body, b"{\"count\":1}");
        assert_eq!(sum(metrics, &format!("contrail_contract_info{{sha256=\"{new}\"}}")), 1);
        drop(client);
        let ran = running.finish();
        let found = entries(&workspace);
        assert_eq!(found, [("conforms".to_owned(), old.clone()), ("violates".to_owned(), new.clone())]);
        assert_line(
            &ran.stderr,
            &format!(
                "reloaded --contract shop.yaml: 1 operation (1 before), 0 unusable places; exchanges that end from now on are \
                 judged by it (sha256 {new})"
            ),
        );
        assert!(
            ran.stderr.contains(&format!("2 contracts judged, by sha256:\n  {old} 1 exchange\n  {new} 1 exchange\n")),
            "{}",
            ran.stderr
        );
        let audit = workspace.run(&["audit", "--contract", "shop.yaml", "trail"]);
        assert!(audit.stdout.contains(&format!("Shop 1 ({new})")), "{}", audit.stdout);
        assert!(audit.stdout.contains("is intact: 2 entries"), "{}", audit.stdout);
    }
}

#[test]
fn a_contract_that_cannot_be_used_is_an_alarm_and_the_one_in_force_goes_on_judging() {
    let workspace = workspace();
    let old = hash(&workspace);
    let (running, metrics) = watch(&workspace, &["--only", "listItems"]);
    put(&workspace, "openapi: 1.0.0");
    reload(&running, metrics);
    fs::remove_file(workspace.path().join("shop.yaml")).unwrap();
    reload(&running, metrics);
    put(&workspace, &contract("string").replace("listItems", "other"));
    reload(&running, metrics);
    put(&workspace, &format!("{}components: {{securitySchemes: {KEY}}}\n", contract("string")));
    reload(&running, metrics);
    assert_eq!(sum(metrics, "contrail_reloads_total{outcome=\"failed\"}"), 4);
    assert_eq!(sum(metrics, &format!("contrail_contract_info{{sha256=\"{old}\"}}")), 1);
    assert_eq!(ask(metrics, "/readyz").status(), 200);
    assert_eq!(get(running.address).status(), 200);
    let ran = running.finish();
    assert_line(&ran.stderr, "1 exchange: 1 conform, 0 with gaps, 0 violate");
    assert!(!ran.stderr.contains("contracts judged"), "{}", ran.stderr);
    let alarms: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("ALARM: ")).collect();
    let whys = [
        "`shop.yaml`: not an OpenAPI document that contrail can use: it is `openapi: 1.0.0`",
        "cannot read `shop.yaml`: No such file",
        "--only listItems: the contract has no such operation",
        "the new contract declares the API key `X-Shop`, and redaction knows only those of the start; restart contrail",
    ];
    assert_eq!(alarms.len(), whys.len(), "{alarms:?}");
    for (alarm, why) in alarms.iter().zip(whys) {
        assert!(alarm.contains(why) && alarm.ends_with("; what was read before stays in force"), "{alarm}");
    }
}

#[test]
fn a_pipe_in_place_of_a_contract_is_an_alarm_and_holds_up_no_later_reload() {
    let workspace = workspace();
    let (running, metrics) = watch(&workspace, &[]);
    fs::remove_file(workspace.path().join("shop.yaml")).unwrap();
    mkfifo(&workspace.path().join("shop.yaml"), Mode::S_IRWXU).unwrap();
    reload(&running, metrics);
    fs::remove_file(workspace.path().join("shop.yaml")).unwrap();
    put(&workspace, &contract("string"));
    let new = hash(&workspace);
    reload(&running, metrics);
    assert_eq!(sum(metrics, &format!("contrail_contract_info{{sha256=\"{new}\"}}")), 1);
    let ran = running.finish();
    let why = "cannot read `shop.yaml` again: it is no regular file; put one in its place";
    assert_line(&ran.stderr, &format!("ALARM: {why}; what was read before stays in force"));
}

const KEY: &str = "{key: {type: apiKey, in: header, name: X-Shop}}";

#[test]
fn an_unchanged_contract_is_not_exchanged() {
    let workspace = workspace();
    put(&workspace, &format!("{}components: {{securitySchemes: {KEY}}}\n", contract("integer")));
    let (running, metrics) = watch(&workspace, &["--format", "json"]);
    put(&workspace, &format!("# a comment\n{}", workspace.read("shop.yaml")));
    reload(&running, metrics);
    let ran = running.finish();
    let said = &objects(&ran, "contract")[0];
    let message = "read --contract shop.yaml again: the contract is unchanged";
    assert_eq!(*said, serde_json::json!({"contract": hash(&workspace), "message": message}));
    assert_eq!(objects(&ran, "summary")[0]["summary"].get("contracts"), None);
}

#[test]
fn an_overlay_that_changed_is_applied() {
    let workspace = workspace();
    let overlay = |kind: &str| {
        let at = "$.paths['/items'].get.responses['200'].content['application/json'].schema.properties.count";
        let text = format!(
            "overlay: 1.0.0\ninfo: {{title: o, version: '1'}}\nactions: [{{target: \"{at}\", update: {{type: {kind}}}}}]\n"
        );
        fs::write(workspace.path().join("overlay.yaml"), text).unwrap();
    };
    overlay("integer");
    let (running, metrics) = watch(&workspace, &["--overlay", "overlay.yaml", "--format", "json"]);
    assert_eq!(get(running.address).status(), 200);
    overlay("string");
    reload(&running, metrics);
    assert_eq!(get(running.address).status(), 200);
    let ran = running.finish();
    let summary = &objects(&ran, "summary")[0]["summary"];
    assert_eq!((&summary["conforms"], &summary["violates"]), (&1.into(), &1.into()));
    let exchanges: Vec<&Value> =
        summary["contracts"].as_array().unwrap().iter().map(|used| &used["exchanges"]).collect();
    assert_eq!(exchanges, [1, 1]);
    let message = objects(&ran, "contract")[0]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("reloaded --contract shop.yaml --overlay overlay.yaml: 1 operation"), "{message}");
}

#[test]
fn what_is_enforced_is_the_new_contract() {
    let workspace = workspace();
    let (running, metrics) = watch(&workspace, &["--enforce", "all"]);
    assert_eq!(get(running.address).status(), 200);
    put(&workspace, &contract("string"));
    reload(&running, metrics);
    assert_eq!(get(running.address).status(), 502);
    let header =
        "      parameters: [{name: X-Shop, in: header, required: true, schema: {type: string}}]\n      responses";
    put(&workspace, &contract("integer").replace("      responses", header));
    reload(&running, metrics);
    assert_eq!(get(running.address).status(), 400);
    put(&workspace, &contract("integer"));
    reload(&running, metrics);
    assert_eq!(get(running.address).status(), 200);
    let ran = running.finish();
    // The first contract came back.
    assert_line(&ran.stderr, "3 contracts judged, by sha256:");
    assert!(ran.stderr.contains(&format!("  {} 2 exchanges\n", hash(&workspace))), "{}", ran.stderr);
}

#[test]
fn clients_that_send_all_the_time_notice_nothing_and_each_entry_names_the_contract_that_judged_it() {
    let workspace = workspace();
    let (running, metrics) = watch(&workspace, &["--trail", "trail", "--workers", "2"]);
    let address = running.address;
    let conforming = hash(&workspace);
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let mut client = TcpStream::connect(address).unwrap();
            thread::spawn(move || {
                let mut get = || {
                    write!(client, "GET /items HTTP/1.1\r\nHost: p\r\n\r\n").unwrap();
                    read(&mut BufReader::new(&client), false, true).unwrap().status()
                };
                (0..100).filter(|_| get() == 200).count()
            })
        })
        .collect();
    for turn in 0..10 {
        put(&workspace, &contract(if turn % 2 == 0 { "string" } else { "integer" }));
        reload(&running, metrics);
    }
    for client in clients {
        assert_eq!(client.join().unwrap(), 100);
    }
    running.finish();
    let entries = entries(&workspace);
    assert_eq!(entries.len(), 400);
    for (verdict, contract) in entries {
        assert_eq!(verdict == "conforms", contract == conforming);
    }
}

/// A contract that takes a while to compile.
fn large(count: &str) -> String {
    let mut text = contract(count);
    for number in 0..300 {
        let schema = "{type: object, properties: {a: {type: string, pattern: '^[a-z]+$'}, b: {type: array, items: {type: integer}}}}";
        writeln!(
            text,
            "  /more{number}:\n    get:\n      responses:\n        '200':\n          description: all\n          content: \
             {{application/json: {{schema: {schema}}}}}"
        )
        .unwrap();
    }
    text
}

#[test]
fn a_signal_while_a_contract_is_compiled_has_the_files_read_once_more() {
    let workspace = workspace();
    let (running, metrics) = watch(&workspace, &[]);
    put(&workspace, &large("string"));
    for _ in 0..10 {
        signal(&running, Signal::SIGHUP);
    }
    let last = large("boolean");
    fs::write(workspace.path().join("next.yaml"), &last).unwrap();
    fs::rename(workspace.path().join("next.yaml"), workspace.path().join("shop.yaml")).unwrap();
    signal(&running, Signal::SIGHUP);
    let info = format!("contrail_contract_info{{sha256=\"{}\"}} 1", hash(&workspace));
    while !text(&ask(metrics, "/metrics")).contains(&info) {
        assert_eq!(get(running.address).status(), 200);
    }
    running.finish();
}

#[test]
fn a_run_that_ends_while_a_contract_is_compiled_ends_with_its_summary() {
    let workspace = workspace();
    let (running, _) = watch(&workspace, &["--format", "json"]);
    put(&workspace, &large("string"));
    signal(&running, Signal::SIGHUP);
    signal(&running, Signal::SIGTERM);
    let ran = running.wait();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.lines().last().unwrap().starts_with("{\"summary\""), "{}", ran.stderr);
}

#[test]
fn replay_judges_requests_by_the_new_contract() {
    let workspace = workspace();
    let record = ["record", "--upstream", "sandbox", "--contract", "shop.yaml", "--out", "fx"];
    let recording = Running::start(workspace.path(), record.iter().chain(&["--listen", "127.0.0.1:0"]));
    assert_eq!(get(recording.address).status(), 200);
    assert_eq!(recording.finish().status, 0);
    let replay = ["replay", "fx", "--contract", "shop.yaml", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"];
    let (running, metrics) = metered(Running::start(workspace.path(), replay));
    assert_eq!(get(running.address).status(), 200);
    let header =
        "      parameters: [{name: X-Shop, in: header, required: true, schema: {type: string}}]\n      responses";
    put(&workspace, &contract("integer").replace("      responses", header));
    reload(&running, metrics);
    assert_eq!(get(running.address).status(), 200);
    let ran = running.finish();
    assert_line(&ran.stderr, "2 live requests: 1 conform, 0 with gaps, 1 violate, 0 missed");
    assert_line(&ran.stderr, "1 recorded exchange: 1 conform, 0 with gaps, 0 violate");
    assert_line(&ran.stderr, "2 contracts judged, by sha256:");
}

#[test]
fn what_is_about_one_contract_keeps_it() {
    for (command, why) in [
        (&["record", "--out", "fx"][..], "a recording keeps its contract; SIGHUP reloads certificates only"),
        (
            &["watch", "--report", "json=report.json"],
            "a run with --report keeps its contract; SIGHUP reloads certificates only",
        ),
    ] {
        let workspace = workspace();
        let old = hash(&workspace);
        let options =
            ["--upstream", "sandbox", "--contract", "shop.yaml", "--listen", "127.0.0.1:0", "--format", "json"];
        let mut said = super::reload::Said::begin(&workspace, &[command, &options].concat());
        put(&workspace, &contract("string"));
        said.signal(Signal::SIGHUP);
        let line: Value = serde_json::from_str(&said.until("its contract")).unwrap();
        assert_eq!(line, serde_json::json!({"contract": old, "message": why}));
        said.signal(Signal::SIGTERM);
        said.until("summary");
    }
}
