//! `contrail sandbox --contract` and `contrail demo --contract`: a mock of any document.

use serde_json::Value;

use super::command::Running;
use crate::support::{
    command::run_in,
    golden::assert_line,
    process,
    wire::{self, Message},
};

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/contracts/shop.yaml");

/// The status and body of a request to the address of `line`.
fn ask(line: &Value, request: &str) -> (u16, String) {
    let address = line["url"].as_str().unwrap().strip_prefix("http://").unwrap();
    let answer = super::command::ask(address, request);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

#[test]
fn the_mock_answers_what_a_document_allows_and_refuses_what_it_refuses() {
    let mut sandbox = Running::start(&["--contract", SHOP, "--format", "json"]);
    let line: Value = serde_json::from_str(&sandbox.stdout_line()).unwrap();
    assert_eq!((&line["contract"]["title"], &line["operations"]), (&"Shop".into(), &6.into()));
    let (status, body) = ask(&line, "GET /v1/status HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert_eq!((status, &*body), (200, "text"));
    let token = "POST /connect/token HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 29\r\n\r\n\
                 grant_type=client_credentials";
    let (status, body) = ask(&line, token);
    let token: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &token["scope"]), (200, &"orders:read orders:write".into()));
    let get = |target: &str, token: &str| {
        format!("GET {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n")
    };
    let bearer = token["access_token"].as_str().unwrap();
    let (status, body) = ask(&line, &get("/v1/orders?take=2", bearer));
    assert_eq!(status, 200);
    assert!(serde_json::from_str::<Value>(&body).unwrap()["items"].is_array(), "{body}");
    let (status, body) = ask(&line, &get("/v1/orders?take=51", bearer));
    assert_eq!((status, &*body), (400, r#"{"error":"invalid"}"#));
    assert_eq!(ask(&line, "GET /v1/orders HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").0, 401);
    assert_eq!(ask(&line, &get("/v2/orders", bearer)).0, 404);
}

#[test]
fn the_mocks_own_answers_conform_to_each_document() {
    let folder = tempfile::tempdir().unwrap();
    let documents = [SHOP, concat!(env!("CARGO_MANIFEST_DIR"), "/contracts/tenant-management.yaml")];
    for (index, document) in documents.iter().enumerate() {
        let out = index.to_string();
        let ran = run_in(folder.path(), ["demo", "--contract", document, "--out", &out]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        assert_line(&ran.stdout, "All steps gave the expected result, in TIME s.");
        let fixture = folder.path().join(&out).join("tenant");
        assert_line(&ran.stdout, &format!("  contrail replay {} --contract {document}", fixture.display()));
        let verified =
            run_in(&folder.path().join(&out), ["verify", "--contract", document, "--format", "json", "tenant"]);
        let report: Value = serde_json::from_str(&verified.stdout).unwrap();
        let (violates, gap) = (&report["summary"]["violates"], &report["summary"]["gap"]);
        assert_eq!((violates, gap), (&0.into(), &0.into()), "{document}");
        assert!(report["summary"]["exchanges"].as_u64().unwrap() >= 6, "{report}");
    }
}

#[test]
fn a_recording_of_another_tenant_is_redacted_and_verified_by_that_tenants_facts() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run_in(folder.path(), ["demo", "--contract", SHOP, "--out", "demo"]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    let folder = folder.path().join("demo");
    let run = |arguments: &[&str]| run_in(&folder, arguments);
    let redacted = run(&["redact", "tenant", "--out", "redacted", "--contract", SHOP]);
    assert_eq!(redacted.status, 0, "{}{}", redacted.stdout, redacted.stderr);
    let scanned = run(&["scan", "tenant", "redacted"]);
    assert_eq!(scanned.status, 0, "{}{}", scanned.stdout, scanned.stderr);
    let compared = run(&["diff", "tenant", "redacted", "--contract", SHOP]);
    assert_eq!(compared.status, 0, "{}", compared.stdout);
    let verdicts = |recording: &str| -> Vec<(Value, Value, Value)> {
        let ran = run(&["verify", "--contract", SHOP, "--format", "json", recording]);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let of = |one: &Value| (one["operation"].clone(), one["findings"].clone(), one["unchecked"].clone());
        report["exchanges"].as_array().unwrap().iter().map(of).collect()
    };
    assert!(verdicts("tenant").len() >= 6);
    assert_eq!(verdicts("redacted"), verdicts("tenant"));
    // The built-in contract has none of these operations.
    let foreign = run(&["verify", "--format", "json", "redacted"]);
    let foreign: Value = serde_json::from_str(&foreign.stdout).unwrap();
    assert!(foreign["exchanges"].as_array().unwrap().iter().all(|one| one["operation"].is_null()));
}

#[test]
fn a_recording_of_another_tenant_is_replayed_with_new_tokens_of_that_tenants_endpoint() {
    const TOKEN: &str = "/connect/token";
    const ORDERS: &str = "/v1/orders?take=2";
    let folder = tempfile::tempdir().unwrap();
    let mut sandbox = Running::start(&["--contract", SHOP, "--format", "json"]);
    let line: Value = serde_json::from_str(&sandbox.stdout_line()).unwrap();
    let upstream = line["url"].as_str().unwrap();
    let exchange = |proxy: &process::Running| -> (String, Message) {
        let form = b"grant_type=client_credentials&client_id=till&client_secret=till-secret-4711";
        let headers = [("Content-Type", "application/x-www-form-urlencoded")];
        let granted = wire::call(proxy.address, "POST", TOKEN, &headers, form);
        assert_eq!(granted.status(), 200, "{granted:?}");
        let granted: Value = serde_json::from_slice(&granted.body).unwrap();
        let token = granted["access_token"].as_str().unwrap().to_owned();
        let bearer = format!("Bearer {token}");
        (token, wire::call(proxy.address, "GET", ORDERS, &[("Authorization", bearer.as_str())], b""))
    };
    let listen = ["--contract", SHOP, "--listen", "127.0.0.1:0"];
    let record = ["record", "--upstream", upstream, "--out", "shop.har"];
    let proxy = process::Running::start(folder.path(), record.iter().chain(&listen));
    let (live_token, live) = exchange(&proxy);
    assert_eq!((live.status(), proxy.finish().status), (200, 0));
    let proxy = process::Running::start(folder.path(), ["replay", "shop.har"].iter().chain(&listen));
    let (token, answer) = exchange(&proxy);
    assert_eq!((answer.status(), answer.body), (200, live.body));
    assert_ne!(token, live_token);
    let ended = proxy.finish();
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let verified = run_in(folder.path(), ["verify", "shop.har", "--contract", SHOP, "--format", "json"]);
    let report: Value = serde_json::from_str(&verified.stdout).unwrap();
    let operations: Vec<&Value> = report["exchanges"].as_array().unwrap().iter().map(|one| &one["operation"]).collect();
    assert_eq!(operations, [&Value::Null, &"listOrders".into()], "the token endpoint is outside of the operations");
    assert_eq!(report["summary"]["violates"], 0, "{report}");
}

#[test]
fn what_only_a_mock_has_is_refused_where_the_embedded_tenant_answers_alone() {
    let folder = tempfile::tempdir().unwrap();
    let built_in = ["--contract", "built-in"];
    for (contract, option, value) in
        [(&built_in[..0], "--seed-number", "5"), (&built_in, "--seed-number", "5"), (&built_in, "--overlay", "absent")]
    {
        let sandbox = ["sandbox", "--listen", "127.0.0.1:0", option, value];
        let ran = run_in(folder.path(), sandbox.iter().chain(contract));
        let expected = format!(
            "contrail: {option} has no effect without a document in --contract; add it, or leave {option} out\n"
        );
        assert_eq!((ran.status, ran.stderr), (2, expected));
    }
    // A folder's settings are those of all commands.
    std::fs::write(folder.path().join("contrail.toml"), "overlay = ['absent']\n").unwrap();
    let ran = run_in(folder.path(), ["sandbox", "--explain"]);
    assert_eq!((ran.status, ran.stderr), (0, String::new()));
}

#[test]
fn what_only_the_embedded_tenant_has_is_refused_for_a_mock_of_other_documents() {
    let folder = tempfile::tempdir().unwrap();
    for (option, value) in [("--seed", "absent.json"), ("--misbehave", "response.body")] {
        let ran = run_in(folder.path(), ["sandbox", "--listen", "127.0.0.1:0", "--contract", SHOP, option, value]);
        let expected = format!(
            "contrail: {option} goes with the built-in contract only; add --contract built-in, or remove {option}\n"
        );
        assert_eq!((ran.status, ran.stderr), (2, expected));
    }
    // With the tenant beside it, the option applies.
    let both = ["sandbox", "--contract", SHOP, "--contract", "built-in", "--seed", "absent.json"];
    assert_line(
        &run_in(folder.path(), both).stderr,
        "contrail: cannot read the seed `absent.json`: No such file or directory (os error 2)",
    );
}
