//! `--fault`: what a client has to bear, on purpose.

use std::io::{Read as _, Write as _};

use serde_json::json;

use super::{TcpStream, Workspace, ask, get, lines, own, send, summary, text};

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let pay = |body| super::post("/pay", "{}", body);
    workspace.write_own("own.har", &[own(get("/count", "0123456789"), json!({})), own(pay("1"), json!({}))]);
    workspace
}

#[test]
fn a_fault_hits_its_scope_at_its_turn_is_marked_and_consumes_no_recording() {
    let workspace = workspace();
    let faults = ["--fault", "POST /pay=503:nth=1", "--fault", "GET /*=429:every=2"];
    let running = workspace.replay(&[&["own.har", "--format", "json"], &faults[..]].concat());
    let to = running.address;
    let refused = send(to, "/pay", "{}");
    assert_eq!((refused.status(), refused.header("contrail-answer")), (503, Some("fault")));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(text(&send(to, "/pay", "{}")), "1", "the recorded answer is still there");
    assert_eq!(ask(to, "/count").status(), 200);
    let limited = ask(to, "/count");
    assert_eq!((limited.status(), limited.header("x-ratelimit-remaining")), (429, Some("0")));
    assert_eq!(ask(to, "/count").status(), 200);
    let ran = running.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let summary = summary(&ran);
    assert_eq!((&summary["answered_by_contrail"], &summary["misses"]), (&json!({"fault": 2}), &json!(0)));
    assert_eq!(lines(&ran).iter().filter(|line| line["answered_by_contrail"] == "fault").count(), 2);
}

#[test]
fn a_reset_sends_no_byte_a_timeout_stays_silent_and_a_slow_body_comes_in_pieces() {
    let workspace = workspace();
    let faults = ["--fault", "GET /count=reset:nth=1", "--fault", "timeout:nth=2", "--fault", "slow-body:nth=3"];
    let running = workspace.replay(&[&["own.har", "--format", "json"], &faults[..]].concat());
    let begin = || {
        let mut stream = TcpStream::connect(running.address).unwrap();
        stream.write_all(b"GET /count HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        stream
    };
    let mut got = Vec::new();
    // A reset that the system reports is as good as an end.
    let _ = begin().read_to_end(&mut got);
    assert_eq!(got, b"");
    let silent = begin();
    silent.set_read_timeout(Some(std::time::Duration::from_millis(200))).unwrap();
    (&silent).read_exact(&mut [0]).unwrap_err();
    drop(silent);
    let mut slow = String::new();
    begin().read_to_string(&mut slow).unwrap();
    assert!(slow.contains("contrail-answer: fault") && slow.ends_with("0123456789"), "{slow}");
    let ran = running.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(summary(&ran)["answered_by_contrail"], json!({"fault": 2}), "{}", ran.stderr);
}

#[test]
fn a_fault_of_a_scope_that_nothing_has_is_refused() {
    let workspace = workspace();
    for (fault, wrong) in [
        ("POST /pya=503", "--fault POST /pya: no recorded request has this method and path"),
        ("nosuch=503", "--fault nosuch: the contract has no such operation"),
        ("503:often", "`503:often` is not a fault; it is a status from 400 to 599, `reset`"),
    ] {
        let ran =
            crate::support::command::run_in(workspace.path(), ["replay", "own.har", "--fault", fault, "--", "true"]);
        assert!(ran.status == 2 && ran.stderr.contains(wrong), "{}", ran.stderr);
    }
}
