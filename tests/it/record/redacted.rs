//! `contrail redact` on a fixture of contrail's own: its client still replays.

use serde_json::Value;

use super::harness::{TEMPLATES, Workspace};
use crate::support::{process::Running, wire::call};

const BODY: &[u8] = br#"{"payload":{"email":"ann@example.org","note":"order 4711-XY"}}"#;
const ACTION: &str = "/api/v2/actions/actions/act_Enrich/test?order=4711-XY";

fn ask(address: std::net::SocketAddr) -> Vec<u16> {
    let headers = [("Content-Type", "application/json"), ("X-Note", "4711-XY")];
    let action = call(address, "POST", ACTION, &headers, BODY).status();
    vec![action, call(address, "GET", TEMPLATES, &headers, b"").status()]
}

fn verdicts(workspace: &Workspace, file: &str) -> Vec<String> {
    let ran = workspace.run(&["verify", file, "--format", "json"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    let rules = |exchange: &Value| {
        let findings = exchange["findings"].as_array().unwrap().iter();
        let findings: Vec<String> = findings.map(|finding| format!("{} {}", finding["rule"], finding["at"])).collect();
        format!("{} {findings:?} {}", exchange["operation"], exchange["unchecked"])
    };
    told["exchanges"].as_array().unwrap().iter().map(rules).collect()
}

#[test]
fn a_fixture_that_is_redacted_afterwards_replays_for_its_client_and_verifies_as_before() {
    for (fixture, out) in [("rec.har", "out.har"), ("rec", "out")] {
        let workspace = Workspace::new();
        let record = workspace.start("record", &["--out", fixture]);
        let live = ask(record.address);
        record.finish();
        let before = verdicts(&workspace, fixture);
        for rule in ["personal", "pointer:/payload/note", "regex:4711-[A-Z]+", "header:X-Note"] {
            let secret = if rule == "personal" { "ann@example.org" } else { "4711-XY" };
            let ran = workspace.run(&["redact", fixture, "--redact", rule, "--out", out]);
            assert_eq!(ran.status, 0, "{rule}: {}", ran.stderr);
            let scan = workspace.run(&["redact", out, "--redact", rule, "--check"]);
            assert_eq!(scan.status, 0, "{rule} leaves {secret}: {}", scan.stderr);
            let replay = Running::start(workspace.path(), ["replay", out, "--listen", "127.0.0.1:0"]);
            assert_eq!(ask(replay.address), live, "{rule} in {fixture}");
            let ran = replay.finish();
            assert_ne!(ran.status, 3, "{rule} in {fixture}: {}", ran.stderr);
            assert_eq!(verdicts(&workspace, out), before, "{rule} in {fixture}");
        }
        // Twice in place changes nothing the second time.
        assert_eq!(workspace.run(&["redact", fixture, "--redact", "personal", "--in-place"]).status, 0);
        let har = |name: &str| if name == "rec" { workspace.read("rec/rec.har") } else { workspace.read(name) };
        let once = har(fixture);
        assert!(once.contains("/payload/email"), "{once}");
        assert_eq!(workspace.run(&["redact", fixture, "--redact", "personal", "--in-place"]).status, 0);
        assert_eq!(har(fixture), once);
        let replay = Running::start(workspace.path(), ["replay", fixture, "--listen", "127.0.0.1:0"]);
        assert_eq!(ask(replay.address), live, "in place: {fixture}");
        replay.finish();
    }
}
