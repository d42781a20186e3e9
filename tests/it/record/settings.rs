//! Flags, variables and `contrail.toml`; what is wrong with them is said before a port is bound.

use std::fs;

use super::harness::Workspace;
use crate::support::{
    command::{Ran, contrail},
    golden::{assert_output, assert_transcripts},
    wire::{Origin, call},
};

fn refused(workspace: &Workspace, arguments: &[&str]) -> String {
    let ran = workspace.run(arguments);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    ran.stderr
}

#[test]
fn an_option_that_cannot_be_used_is_refused_with_what_to_write() {
    let workspace = Workspace::new();
    fs::write(workspace.path().join("empty.pem"), "").unwrap();
    assert_transcripts(
        "record/an_option_that_cannot_be_used_is_refused_with_what_to_write",
        workspace.path(),
        &[
            "watch --upstream https://tenant.example/api/v2",
            "watch --upstream sandbox --only getPolicy",
            "record --out x --upstream sandbox --replace getPolicy",
            "watch --upstream sandbox --exclude health",
            "watch --upstream https://127.0.0.1:1 --upstream-ca empty.pem",
            "watch --upstream https://127.0.0.1:1 --upstream-ca none.pem",
            "watch --upstream https://127.0.0.1:1 --jwks none.json",
            "watch --upstream https://127.0.0.1:1 --contract none.yaml",
        ],
    );
}

#[test]
fn a_place_that_holds_something_else_than_the_fixture_meant_is_refused() {
    let workspace = Workspace::new();
    fs::write(workspace.path().join("notes"), "mine").unwrap();
    fs::create_dir(workspace.path().join("folder.har")).unwrap();
    for (out, there) in [("notes", "a file is there"), ("folder.har", "a folder is there")] {
        for how in ["--append", "--overwrite"] {
            let said = refused(&workspace, &["record", "--upstream", "sandbox", "--out", out, how]);
            assert!(said.starts_with(&format!("contrail: `{out}`: {there}")), "{said}");
            assert!(!workspace.has(&format!("{out}.journal")));
        }
    }
}

#[test]
fn a_report_that_could_not_be_written_is_refused_before_anything_is_recorded() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path().join("folder")).unwrap();
    fs::write(workspace.path().join("file"), "").unwrap();
    for file in ["file/report.json", "folder"] {
        let report = format!("json={file}");
        for command in [&["record", "--out", "x", "--upstream", "sandbox"][..], &["watch", "--upstream", "sandbox"]] {
            let said = refused(&workspace, &[command, &["--report", &report]].concat());
            assert!(said.starts_with(&format!("contrail: --report: cannot write to {file}: ")), "{said}");
        }
        assert!(!workspace.has("x.journal"));
    }
}

/// `watch` around a command that does nothing: whether it could begin.
fn began(workspace: &Workspace, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = contrail();
    command.current_dir(workspace.path()).arg("watch").args(arguments).envs(variables.iter().copied());
    command.args(["--allow", "unused", "--", "true"]).output().unwrap().into()
}

#[test]
fn a_flag_beats_a_variable_beats_the_file() {
    let workspace = Workspace::new();
    let bad = "https://h/path";
    fs::write(workspace.path().join("contrail.toml"), format!("upstream = \"{bad}\"\n")).unwrap();
    assert_eq!(began(&workspace, &[], &[]).status, 2);
    assert_eq!(began(&workspace, &[], &[("CONTRAIL_UPSTREAM", "sandbox")]).status, 0);
    assert_eq!(began(&workspace, &["--upstream", "sandbox"], &[("CONTRAIL_UPSTREAM", bad)]).status, 0);
    fs::write(workspace.path().join("contrail.toml"), "[watch]\nupstream = \"sandbox\"\n[record]\nout = \"x\"\n")
        .unwrap();
    assert_eq!(began(&workspace, &[], &[]).status, 0);
}

#[test]
fn an_unknown_key_in_the_file_is_an_error_with_a_hint() {
    let workspace = Workspace::new();
    fs::write(workspace.path().join("contrail.toml"), "max_body = 5\n").unwrap();
    let said = refused(&workspace, &["watch", "--upstream", "sandbox"]);
    assert_eq!(
        said,
        "contrail: contrail.toml, line 1: no command has an option `max_body`; did you mean `max-body`?\n"
    );
}

#[test]
fn a_wrong_value_in_the_file_or_a_variable_is_an_error_that_names_it() {
    let workspace = Workspace::new();
    let ran = began(&workspace, &["--upstream", "sandbox"], &[("CONTRAIL_MAX_BODY", "much")]);
    assert_output("record/settings/a_wrong_value_in_the_file_or_a_variable_is_an_error_that_names_it", &ran);
    fs::write(workspace.path().join("contrail.toml"), "max-body = \"much\"\n").unwrap();
    let ran = began(&workspace, &["--upstream", "sandbox"], &[]);
    assert_output("record/settings/a_wrong_value_in_the_file_or_a_variable_is_an_error_that_names_it-2", &ran);
}

#[test]
fn an_exchange_with_more_secrets_than_are_looked_for_leaves_none_of_its_own_in_clear() {
    let workspace = Workspace::new();
    let body = "{\"note\":\"you are presented-credential-0001\"}";
    let length = body.len();
    let origin = Origin::start();
    let running = workspace.start_at(origin.address, "record", &["--out", "x.har", "--max-secrets", "2"]);
    let cookies: Vec<String> = (0..8).map(|n| format!("a{n}=visiting-credential-{n:04}")).collect();
    let headers = [("Authorization", "Bearer presented-credential-0001"), ("Cookie", &cookies.join("; "))];
    origin.will_answer(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    ));
    assert_eq!(call(running.address, "GET", "/api/v2/x", &headers, b"").status(), 200);
    let ran = running.finish();
    let har = workspace.read("x.har");
    assert!(har.contains("you are !token-") && !har.contains("presented-credential"), "{har}");
    assert_output(
        "record/settings/an_exchange_with_more_secrets_than_are_looked_for_leaves_none_of_its_own_in_clear",
        &ran,
    );
}
