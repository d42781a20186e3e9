//! `contrail show`, by itself and as what `git diff` prints.

use std::{fs, path::Path, process::Command};

use crate::support::{
    command::{Ran, run_in},
    golden::assert_output,
    har,
};

/// A recording with a long body, a finding in it, one in a header field and one in the first line.
fn recording(ids: usize) -> String {
    let groups: Vec<String> = (0..ids).map(|id| format!(r#"{{"id":"grp_{id}"}}"#)).collect();
    let groups = format!(r#"{{"groups":[{},{{"id":7}}]}}"#, groups.join(","));
    let path = "/api/v2/connections/con_1/directory-provisioning/synchronized-groups?take=5&debug=1";
    har::har(&[
        har::conforming(),
        har::get(path, Some(&har::bearer()), 200, &groups),
        har::get("/api/v2/rate-limit-policies/rlp_1", None, 200, har::POLICY),
    ])
}

#[test]
fn show_prints_findings_at_their_lines_and_folds_long_bodies() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.har"), recording(40)).unwrap();
    let show = |arguments: &[&str]| run_in(folder.path(), ["show", "x.har"].iter().chain(arguments));
    let all = show(&[]);
    assert_eq!((all.status, &*all.stderr), (0, ""));
    assert_output("show/findings_at_their_lines", &all);
    assert!(!all.stdout.contains(har::bearer().trim_start_matches("Bearer ")), "a token is shown as its label");
    assert_eq!(show(&["0", "1", "get /api/v2/rate-limit-policies/rlp_1"]).stdout, all.stdout);
    let one = show(&["1", "--full"]).stdout;
    assert!(one.contains("grp_39") && !one.contains("--full"), "{one}");
    let raw = show(&["1", "--raw"]).stdout;
    assert!(raw.contains(r#"{"groups":[{"id":"grp_0"},{"id""#) && !raw.contains("^ "), "{raw}");
    for wrong in ["7", "GET /nothing", "nothing"] {
        let ran = show(&[wrong]);
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
    }
}

#[test]
fn show_states_why_an_exchange_is_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut left = har::conforming();
    left["response"] = serde_json::json!({"status": 0, "headers": [], "content": {}});
    left["_contrail"] = serde_json::json!({"version": 1, "clientLeft": true, "findings": [], "unchecked": []});
    let mut cut = left.clone();
    cut["response"]["status"] = 200.into();
    let text = har::har(&[left, cut]).replace("a tool", "contrail");
    fs::write(folder.path().join("x.har"), text).unwrap();
    let shown = run_in(folder.path(), ["show", "x.har", "--contract", "none"]);
    let why = "the client went away before the exchange was over";
    for line in [format!("(no response: {why})"), format!("(the exchange is not whole: {why})")] {
        assert!(shown.stdout.lines().any(|shown| shown == line), "{}{}", shown.stdout, shown.stderr);
    }
}

fn git(folder: &Path, arguments: &[&str]) -> Ran {
    let mut git = Command::new("git");
    git.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let identity = ["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"];
    let ran = Ran::from(git.args(identity).args(arguments).output().unwrap());
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    ran
}

#[test]
fn git_diff_shows_what_changed_in_an_exchange_of_a_file_and_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("x.har"), recording(3)).unwrap();
    assert_eq!(run_in(folder.path(), ["import", "x.har", "--out", "fx"]).status, 0);
    fs::write(at(".gitattributes"), "*.har diff=contrail\n").unwrap();
    git(folder.path(), &["init", "-q"]);
    let textconv = format!("{} show --names", env!("CARGO_BIN_EXE_contrail"));
    git(folder.path(), &["config", "diff.contrail.textconv", &textconv]);
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-q", "-m", "x"]);
    fs::write(at("x.har"), recording(4)).unwrap();
    let fixture = fs::read_to_string(at("fx/fx.har")).unwrap();
    fs::write(at("fx/fx.har"), fixture.replace("debug=1", "debug=2")).unwrap();
    let diff = git(folder.path(), &["diff"]).stdout;
    let changes: Vec<&str> = diff.lines().filter(|line| line.starts_with(['+', '-']) && line.len() > 4).collect();
    let changed = |line: &&&str| !line.starts_with("+++") && !line.starts_with("---");
    let changes: Vec<&&str> = changes.iter().filter(changed).collect();
    let expected = [
        "-GET /api/v2/connections/con_1/directory-provisioning/synchronized-groups?take=5&debug=1",
        "+GET /api/v2/connections/con_1/directory-provisioning/synchronized-groups?take=5&debug=2",
    ];
    assert!(expected.iter().all(|line| changes.contains(&line)), "{diff}");
    assert!(diff.contains("+      \"id\": \"grp_3\""), "{diff}");
    // Where the command that git runs fails, git shows no file at all.
    fs::write(at("fx/fx.har"), format!("<<<<<<< HEAD\n{fixture}\n=======\n{fixture}\n>>>>>>> other\n")).unwrap();
    let diff = git(folder.path(), &["diff"]);
    assert!(diff.stdout.contains("\n+<<<<<<< HEAD\n") && diff.stdout.contains("grp_3"), "{}", diff.stdout);
    assert!(diff.stderr.contains("line 1: git left a merge conflict there"), "{}", diff.stderr);
}
