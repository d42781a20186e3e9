//! What `docs/configuration.md` and `docs/clients.md` promise of settings and of the authority.

use std::fs;

use super::*;

#[test]
fn a_variable_takes_each_word_of_the_page_for_an_option_without_a_value() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(&[har::conforming()])).unwrap();
    let page = page("configuration.md");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, words) = words.split_once("A variable for an option without a value takes ").unwrap();
    let on: Vec<String> = ticked(words.split_once(" or their opposites").unwrap().0).collect();
    assert_eq!(on, ["true", "yes", "on", "1"]);
    let off = ["false", "no", "off", "0"].map(str::to_owned);
    for (words, status) in [(&on[..], 1), (&off, 0)] {
        for word in words {
            let mut command = contrail();
            command.current_dir(folder.path()).args(["redact", "a.har"]).env("CONTRAIL_REDACT_CHECK", word);
            // The token needs redaction: exit status 1 under `--check` only.
            let ran = Ran::from(command.output().unwrap());
            assert_eq!((ran.status, ran.stdout.is_empty()), (status, status == 1), "{word}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_value_with_a_comma_is_whole_in_a_flag_and_in_a_list_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "an order, aaa").unwrap();
    let scan = ["scan", "a.txt"];
    let rule = "regex:r, a{2,3}";
    assert_eq!(run_in(folder.path(), scan).status, 0);
    assert_eq!(run_in(folder.path(), scan.iter().chain(&["--redact", rule])).status, 1);
    fs::write(folder.path().join("contrail.toml"), format!("redact = [\"{rule}\"]\n")).unwrap();
    assert_eq!(run_in(folder.path(), scan).status, 1);
}

#[test]
fn a_command_line_that_is_wrong_writes_no_report() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(&[har::conforming()])).unwrap();
    for wrong in ["--nonsense", "--max-depth=0"] {
        let ran = run_in(folder.path(), ["verify", "a.har", "--report", "json=r.json", wrong]);
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{wrong}: {}", ran.stderr);
        assert!(!folder.path().join("r.json").exists(), "{wrong}");
    }
}

#[test]
fn the_authority_is_printed_with_a_line_for_each_runtime_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run_in(folder.path(), ["ca", "--upstream", "https://tenant.example", "--ca-dir", "ca"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let path = ran.stdout.lines().find_map(|line| line.strip_prefix("certificate  ")).unwrap();
    assert!(folder.path().join(path).is_file(), "{path}");
    let lines: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("  ")).collect();
    assert!(lines.iter().all(|line| line.contains(path)), "{}", ran.stdout);
    for runtime in ["curl", "Node", "Python requests", "Python httpx", "Go", "Java", "git", "Chromium"] {
        let named = lines.iter().filter(|line| line.trim_start().starts_with(&format!("{runtime} "))).count();
        assert_eq!(named, 1, "{runtime}: {}", ran.stdout);
    }
}
