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
