//! kill -9 in the middle of a fold: the old fixture or the new one. `recording::commit` kills at every step, and
//! `tests/faults/run` some hundred times and on full disks; here a few processes are.

use std::{
    io::{BufReader, Write as _},
    net::{SocketAddr, TcpListener},
    path::Path,
    sync::mpsc::channel,
    thread,
    time::Duration,
};

use contrail_recording as recording;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::harness::Workspace;
use crate::support::wire::{call, read};

const OPERATION: &str = "getRateLimitPolicy";

fn policy(number: usize) -> String {
    format!("/api/v2/rate-limit-policies/rlp_{number}")
}

/// A tenant that answers each path with itself and with what it is told to say.
fn tenant(says: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut requests = BufReader::new(&stream);
                while let Ok(request) = read(&mut requests, false, false) {
                    let path = request.start.split(' ').nth(1).unwrap_or_default();
                    let body = format!(r#"{{"id":"{path}","says":"{says}"}}"#);
                    let length = body.len();
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json";
                    if write!(&stream, "{head}\r\nContent-Length: {length}\r\n\r\n{body}").is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// What a reader finds: each path, with what was said. The body of another path is none of the entry's.
fn found(fixture: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in recording::open(fixture).unwrap() {
        let exchange = entry.unwrap().exchange;
        let path = exchange.request.target.path().to_owned();
        let body: serde_json::Value = serde_json::from_slice(&exchange.response.unwrap().body.content).unwrap();
        assert_eq!(body["id"], path);
        found.push((path, body["says"].as_str().unwrap().to_owned()));
    }
    found.sort();
    found
}

/// Whether an append is refused because the killed recording was to replace entries and was not whole.
fn is_refused(workspace: &Workspace, tenant: SocketAddr) -> bool {
    let upstream = format!("http://{tenant}");
    let journal = workspace.read("fx.journal");
    if !journal.starts_with(r#"{"_fold":{"renews":"#) || journal.contains(r#"{"_fold":{"ended":true}}"#) {
        return false;
    }
    let ran = workspace.run(&["record", "--upstream", &upstream, "--out", "fx", "--append", "--", "true"]);
    let (_, said) = ran.stderr.split_once(", an ").unwrap_or_else(|| panic!("{}", ran.stderr));
    assert_eq!(
        said,
        "incomplete replacement for entries of fx; record with --overwrite to start over, or keep them with `contrail \
         pack fx.journal --out ANOTHER.har` and remove the journal\n"
    );
    ran.status == 2
}

fn kills(kind: &[&str], old: SocketAddr, new: SocketAddr) {
    let (before, after) = (0..30, 15..45);
    for round in 0..4_u64 {
        let workspace = Workspace::new();
        let running = workspace.start_at(old, "record", &["--out", "fx"]);
        for number in before.clone() {
            call(running.address, "GET", &policy(number), &[], b"");
        }
        running.finish();
        let old_state = found(&workspace.path().join("fx"));
        let running = match kind {
            ["record-missing"] => workspace.start_at(new, "replay", &["fx", "--record-missing", "--force"]),
            how => workspace.start_at(new, "record", &[&["--out", "fx"], how].concat()),
        };
        for number in after.clone() {
            assert_eq!(call(running.address, "GET", &policy(number), &[], b"").status(), 200);
        }
        let pid = Pid::from_raw(running.id().cast_signed());
        kill(pid, Signal::SIGINT).unwrap();
        let (_never, timer) = channel::<()>();
        let _ = timer.recv_timeout(Duration::from_millis(round * 40));
        drop(running); // which kills it

        let said = |numbers: std::ops::Range<usize>, says: &str| -> Vec<_> {
            numbers.map(|number| (policy(number), says.to_owned())).collect()
        };
        let mut new_state = match kind {
            ["record-missing"] => [old_state.clone(), said(30..45, "new")].concat(),
            ["--append"] => [said(0..15, "old"), said(after.clone(), "new")].concat(),
            _ => said(after.clone(), "new"),
        };
        new_state.sort();
        let fixture = workspace.path().join("fx");
        let state = found(&fixture);
        assert!(state == old_state || state == new_state, "{kind:?}, round {round}: {state:?}");
        if workspace.has("fx.journal") && is_refused(&workspace, new) {
            // Killed before the recording was whole: it replaces nothing, and nothing is lost.
            assert!(state == old_state && matches!(kind[0], "--overwrite" | "--replace"), "{kind:?}, round {round}");
            let ran = workspace.run(&["pack", "fx.journal", "--out", "kept.har"]);
            assert_eq!(ran.status, 0, "{}", ran.stderr);
            assert_eq!(found(&workspace.path().join("kept.har")).len(), after.len());
            continue;
        }
        // The next start folds what is left after it, and clears the rest away.
        let ran = workspace.start_at(new, "record", &["--out", "fx", "--append"]).finish();
        let end = found(&fixture);
        if kind[0] == "--append" {
            // Of a killed recording, only what is new is added.
            new_state = said(30..45, "new");
        }
        assert!(new_state.iter().all(|entry| end.contains(entry)), "{kind:?}, round {round}: {end:?}\n{}", ran.stderr);
        let left: Vec<_> = std::fs::read_dir(&fixture).unwrap().map(|item| item.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.as_encoded_bytes().starts_with(b".")), "{left:?}");
        assert!(!workspace.has("fx.journal"));
    }
}

#[test]
fn a_fold_of_any_kind_that_is_killed_leaves_the_old_fixture_or_the_new_one() {
    let (old, new) = (tenant("old"), tenant("new"));
    thread::scope(|scope| {
        for kind in [&["--append"][..], &["--overwrite"], &["--replace", OPERATION], &["record-missing"]] {
            scope.spawn(move || kills(kind, old, new));
        }
    });
}
