//! A report never replaces a file that its command reads or writes.

use std::{fs, os::unix::fs::symlink, path::Path};

use crate::support::{
    command::{Ran, run_in},
    har,
};

/// A folder with a fixture in each layout and the files that an option can name.
fn place() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let recording = har::har(&[har::conforming()]);
    fs::create_dir_all(at.join("fx")).unwrap();
    fs::create_dir(at.join("trail")).unwrap();
    fs::write(at.join("fx/fx.har"), &recording).unwrap();
    fs::write(at.join("fx/getThing-01-response.json"), "{}").unwrap();
    fs::write(at.join("one.har"), &recording).unwrap();
    fs::hard_link(at.join("one.har"), at.join("link.html")).unwrap();
    symlink("one.har", at.join("soft.xml")).unwrap();
    symlink("new.har", at.join("dangling.xml")).unwrap();
    for name in ["keys.json", "seed.json", "ca.pem", "heads", "contrail.toml", "trail/kept"] {
        fs::write(at.join(name), "").unwrap();
    }
    folder
}

fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for item in fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_report_that_names_a_file_of_its_command_is_refused_and_nothing_changes() {
    let record = ["record", "--upstream", "sandbox", "--out"];
    let watch = ["watch", "--upstream", "sandbox"];
    let cases: [(&[&str], &[&str], &str); 24] = [
        (&["replay", "fx"], &["junit=fx/fx.har"], "recording"),
        (&["replay", "fx"], &["junit=fx/other.har"], "recording"),
        (&["replay", "fx"], &["json=./fx/../fx/getThing-01-response.json"], "recording"),
        (&["replay", "fx/fx.har"], &["json=fx/getThing-01-response.json"], "recording"),
        (&["replay", "one.har"], &["html=link.html"], "recording"),
        (&["replay", "."], &["html=link.html"], "recording"),
        (&["replay", "one.har"], &["html=soft.xml"], "recording"),
        (&["replay", "fx", "one.har", "--jwks", "keys.json"], &["json=keys.json"], "key set"),
        (&["verify", "one.har"], &["junit=one.har"], "recording"),
        (&["verify", "fx"], &["json=fx/fx.har"], "recording"),
        (&["verify", "one.har", "--head", "heads"], &["json=heads"], "head file"),
        (&["verify", "one.har"], &["json=contrail.toml"], "settings file"),
        (&[&record[..], &["new.har"]].concat(), &["json=new.har"], "fixture"),
        (&[&record[..], &["new.har"]].concat(), &["json=dangling.xml"], "fixture"),
        (&[&record[..], &["new.har"]].concat(), &["json=new.har.journal"], "journal"),
        (&[&record[..], &["new.har"]].concat(), &["json=new.har.before.journal"], "journal"),
        (&[&record[..], &["fx", "--overwrite"]].concat(), &["html=fx/x.har"], "fixture"),
        (&[&record[..], &["fx", "--append"]].concat(), &["html=fx.journal"], "journal"),
        (&[&record[..], &["new.har", "--seed", "seed.json"]].concat(), &["json=seed.json"], "seed"),
        (&[&watch[..], &["--trail", "trail"]].concat(), &["json=trail/kept"], "trail"),
        (&[&watch[..], &["--trail", "trail"]].concat(), &["json=trail/new.json"], "trail"),
        (&[&watch[..], &["--trail", "trail", "--head-to", "heads"]].concat(), &["json=heads"], "head file"),
        (&[&watch[..], &["--upstream-ca", "ca.pem"]].concat(), &["json=ca.pem"], "certificate"),
        (&watch, &["junit=x", "json=./x"], "two reports"),
    ];
    for (command, reports, named) in cases {
        let folder = place();
        let before = contents(folder.path());
        let mut arguments = command.to_vec();
        for report in reports {
            arguments.extend(["--report", report]);
        }
        if command[0] != "verify" {
            arguments.extend(["--", "true"]);
        }
        let Ran { status, stderr, .. } = run_in(folder.path(), &arguments);
        let said = stderr.lines().find(|line| line.contains("contrail: --report: ")).unwrap_or_default();
        assert!(status == 2 && said.contains(named), "{arguments:?}: {status} {stderr}");
        assert_eq!(contents(folder.path()), before, "{arguments:?}");
    }
}

#[test]
fn a_report_beside_what_is_read_is_written() {
    let folder = place();
    for (command, report) in
        [("verify", "fx/report.json"), ("verify", "out.xml"), ("replay", "fx/report.html"), ("replay", "/dev/null")]
    {
        let report = format!("json={report}");
        let mut arguments = vec![command, "fx/fx.har", "one.har", "--report", &report, "--report", "html=/dev/null"];
        if command == "replay" {
            arguments.extend(["--", "true"]);
        }
        let ran = run_in(folder.path(), &arguments);
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    }
    for written in ["fx/report.json", "out.xml", "fx/report.html"] {
        assert!(fs::read_to_string(folder.path().join(written)).unwrap().starts_with('{'), "{written}");
    }
}
