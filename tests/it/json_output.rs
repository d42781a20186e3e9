//! Under `--format json`, standard output holds JSON and nothing else, whatever the command and its result.

use std::fs;

use serde_json::{Deserializer, Value};

use crate::support::{
    command::{Ran, contrail, run_in},
    har,
};

/// Command lines of a command, with different results; a command that takes `--format` and is missing here fails the test.
fn runs(command: &str) -> &'static [&'static str] {
    match command {
        "record" => &["--upstream sandbox --out fixture -- true", "--upstream sandbox"],
        "watch" => &["--upstream sandbox -- true", "--upstream sandbox --trail trail -- false", "--upstream x"],
        "replay" => &["good.har -- true", "gap.har --report text -- true", "nosuch.har"],
        "verify" => &["good.har", "gap.har --deny gaps", "good.har --report json", "nosuch.har"],
        "audit" | "coverage" | "learn" => &["good.har gap.har", "nosuch.har"],
        "export" => &["--parquet out good.har gap.har", "--parquet out nosuch.har"],
        "diff" => {
            &["good.har good.har", "good.har gap.har", "good.har nosuch.har", "--contract built-in --contract built-in"]
        }
        "contract" => &["", "--export", "--contract nosuch.yaml"],
        "explain" => &["", "auth.scope", "required-scope", "nosuch"],
        "config" => &["", "verify", "nosuch"],
        "unused" => &["good.har --used used.json", "good.har --used nosuch.json"],
        "scan" => &["good.har", "secret.har", "nosuch.har"],
        "sandbox" => &["--explain", "--print-seed", "--seed nosuch.json"],
        "ca" => &["--ca-dir ca", "--ca-dir ca rotate", "--ca-dir ca --upstream x"],
        _ => panic!("add runs of `contrail {command} --format json` to this test"),
    }
}

#[test]
fn standard_output_is_only_json_under_format_json() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let get = |target: &str, bearer: Option<&str>| har::har(&[har::get(target, bearer, 200, har::POLICY)]);
    let target = "/api/v2/rate-limit-policies/rlp_1";
    fs::write(folder.join("good.har"), har::har(&[har::conforming()])).unwrap();
    fs::write(folder.join("gap.har"), get(&format!("{target}?debug=1"), Some(&har::bearer()))).unwrap();
    fs::write(folder.join("secret.har"), get(target, Some("Bearer verysecretvalue0123456789abcdef"))).unwrap();
    let used = ["replay", "good.har", "--used", "used.json", "--allow", "unused", "--", "true"];
    let ran = run_in(folder, used);
    assert!(folder.join("used.json").exists(), "{}", ran.stderr);
    let command = contrail::cli::command();
    let formatted = |command: &&clap::Command| command.get_arguments().any(|arg| arg.get_long() == Some("format"));
    for command in command.get_subcommands().filter(formatted) {
        let name = command.get_name();
        for arguments in runs(name) {
            let (own, cmd) = arguments.split_once("-- ").unwrap_or((arguments, ""));
            let mut line = vec![name, "--format", "json"];
            line.extend(own.split_whitespace());
            if !cmd.is_empty() {
                line.extend(["--ca-dir", "ca", "--"].into_iter().chain(cmd.split(' ')));
            }
            let ran = run_in(folder, &line);
            let values: Result<Vec<Value>, _> = Deserializer::from_str(&ran.stdout).into_iter().collect();
            assert!(values.is_ok(), "{line:?}: {:?}\n{}", values.err(), ran.stdout);
            assert_eq!(ran.stdout.is_empty(), ran.status == 2 || !cmd.is_empty(), "{line:?}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_wrapped_commands_output_is_all_that_a_proxy_leaves_on_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["watch", "--upstream", "sandbox", "--format", "json", "--ca-dir", "ca", "--allow", "unused"];
    let arguments = arguments.iter().chain(&["--", "echo", "{}"]);
    let ran = Ran::from(contrail().current_dir(folder.path()).args(arguments).output().unwrap());
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "{}\n"), "{}", ran.stderr);
}
