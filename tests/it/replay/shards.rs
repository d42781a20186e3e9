//! Several replays of one fixture, and recordings that grow old.

use std::fs;

use serde_json::json;

use super::{Workspace, ask, get, own};
use crate::support::{command::run_in, golden::assert_line};

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let entries = ["/a", "/b", "/c"].map(|path| own(get(path, "1"), json!({})));
    workspace.write_own("own.har", &entries);
    for (path, used) in [("/a", "a.json"), ("/b", "b.json")] {
        let running = workspace.replay(&["own.har", "--used", used]);
        ask(running.address, path);
        assert_eq!(running.finish().status, 0);
    }
    workspace
}

#[test]
fn what_no_shard_requested_is_listed_and_pruned() {
    let workspace = workspace();
    let both = ["--used", "a.json", "--used", "b.json"];
    let run = |command: &str, used: &[&str]| run_in(workspace.path(), [&[command, "own.har"], used].concat());
    let ran = run("unused", &both);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, "own.har entry 2: GET /c\n"), "{}", ran.stderr);
    assert_eq!(run("unused", &both[..2]).stdout.lines().count(), 2, "one shard alone left more");
    let ran = run("unused", &[&both[..], &["--prune"]].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, "own.har: removed 1 exchange, 2 stay\n"));
    let left = fs::read_to_string(workspace.path().join("own.har")).unwrap();
    assert!(left.contains("/a\"") && left.contains("/b\"") && !left.contains("/c\""), "{left}");
    let ran = run("unused", &both);
    assert_eq!(ran.status, 2);
    assert_line(&ran.stderr, "contrail: `own.har`: no --used file is of it as it is now; replay it again");
}

#[test]
fn a_session_that_a_shard_never_opened_is_unused_by_it() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path().join("su")).unwrap();
    for name in ["a", "b", "c"] {
        workspace.write_own(&format!("su/{name}.har"), &["/1", "/2"].map(|path| own(get(path, name), json!({}))));
    }
    for (name, used) in [("a", "a.json"), ("b", "b.json")] {
        let running = workspace.replay(&["--sessions", "su", "--used", used]);
        ask(running.address, &format!("/~{name}/1"));
        assert_eq!(running.finish().status, 0);
    }
    let ran = run_in(workspace.path(), ["unused", "su", "--used", "a.json", "--used", "b.json"]);
    let unused = ["a.har entry 1: GET /2", "b.har entry 1: GET /2", "c.har entry 0: GET /1", "c.har entry 1: GET /2"];
    let unused = unused.map(|line| format!("su/{line}"));
    assert_eq!((ran.status, ran.stdout.lines().collect::<Vec<_>>()), (1, unused.iter().map(String::as_str).collect()));
}

#[test]
fn an_old_recording_gets_a_warning_and_fails_where_its_age_is_denied() {
    let workspace = workspace();
    let replay = |more: &[&str]| {
        let all = [&["replay", "own.har", "--allow", "unused"], more, &["--", "true"]].concat();
        run_in(workspace.path(), all)
    };
    let old = replay(&["--max-age", "0d"]);
    assert_eq!(old.status, 0);
    assert!(old.stderr.contains("contrail: own.har was recorded on 2026-11-20, "), "{}", old.stderr);
    let denied = replay(&["--max-age", "0", "--deny", "age"]);
    assert_eq!(denied.status, 1, "{}", denied.stderr);
    assert!(denied.stderr.contains("exit status 1: own.har was recorded on 2026-11-20"), "{}", denied.stderr);
    assert!(!replay(&["--max-age", "100000"]).stderr.contains("was recorded on"));
    assert!(replay(&["--deny", "age"]).stderr.contains("--deny age has no effect without --max-age DAYS"));
}
