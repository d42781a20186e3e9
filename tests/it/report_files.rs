//! A report never replaces a file that its command reads or writes.

use std::{fs, os::unix::fs::symlink, path::Path};

use crate::support::{
    command::{Ran, contrail, run_in},
    golden::assert_golden,
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
    let cases: [(&[&str], &[&str]); 23] = [
        (&["replay", "fx"], &["junit=fx/fx.har"]),
        (&["replay", "fx"], &["junit=fx/other.har"]),
        (&["replay", "fx"], &["json=./fx/../fx/getThing-01-response.json"]),
        (&["replay", "fx/fx.har"], &["json=fx/getThing-01-response.json"]),
        (&["replay", "one.har"], &["html=link.html"]),
        (&["replay", "one.har"], &["html=soft.xml"]),
        (&["replay", "fx", "one.har", "--jwks", "keys.json"], &["json=keys.json"]),
        (&["verify", "one.har"], &["junit=one.har"]),
        (&["verify", "fx"], &["json=fx/fx.har"]),
        (&["verify", "one.har", "--head", "heads"], &["json=heads"]),
        (&["verify", "one.har"], &["json=contrail.toml"]),
        (&[&record[..], &["new.har"]].concat(), &["json=new.har"]),
        (&[&record[..], &["new.har"]].concat(), &["json=dangling.xml"]),
        (&[&record[..], &["new.har"]].concat(), &["json=new.har.journal"]),
        (&[&record[..], &["new.har"]].concat(), &["json=new.har.before.journal"]),
        (&[&record[..], &["fx", "--overwrite"]].concat(), &["html=fx/x.har"]),
        (&[&record[..], &["fx", "--append"]].concat(), &["html=fx.journal"]),
        (&[&record[..], &["new.har", "--seed", "seed.json"]].concat(), &["json=seed.json"]),
        (&[&watch[..], &["--trail", "trail"]].concat(), &["json=trail/kept"]),
        (&[&watch[..], &["--trail", "trail"]].concat(), &["json=trail/new.json"]),
        (&[&watch[..], &["--trail", "trail", "--head-to", "heads"]].concat(), &["json=heads"]),
        (&[&watch[..], &["--upstream-ca", "ca.pem"]].concat(), &["json=ca.pem"]),
        (&watch, &["junit=x", "json=./x"]),
    ];
    let mut all = String::new();
    for (command, reports) in cases {
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
        assert_eq!(status, 2, "{arguments:?}: {stderr}");
        all += &["$ contrail ", &arguments.join(" "), "\n", said, "\n"].concat();
        assert_eq!(contents(folder.path()), before, "{arguments:?}");
    }
    assert_golden("replay/a_report_that_would_replace_what_a_command_reads_or_writes.txt", &all);
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
            arguments.extend(["--allow", "unused", "--", "true"]);
        }
        let ran = run_in(folder.path(), &arguments);
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    }
    for written in ["fx/report.json", "out.xml", "fx/report.html"] {
        assert!(fs::read_to_string(folder.path().join(written)).unwrap().starts_with('{'), "{written}");
    }
}

#[test]
fn a_report_states_that_the_command_was_stopped_until_its_end_replaces_that() {
    let folder = place();
    let reports = ["junit=j.xml", "json=j.json", "text=j.txt", "html=j.html"];
    let files =
        || ["j.xml", "j.json", "j.txt", "j.html"].map(|name| fs::read_to_string(folder.path().join(name)).unwrap());
    for name in ["j.xml", "j.json"] {
        fs::write(folder.path().join(name), "an earlier run's").unwrap();
    }
    let arguments = |command: &'static str| {
        let named = reports.iter().flat_map(|report| ["--report", report]);
        ["replay", "one.har"].into_iter().chain(named).chain(["--allow", "unused", "--", "sh", "-c", command])
    };
    let killed = contrail().current_dir(folder.path()).args(arguments("kill -9 $PPID")).output().unwrap();
    assert_eq!(killed.status.code(), None, "{killed:?}");
    for report in files() {
        assert!(report.contains("contrail was stopped before the end of its work"), "{}", report);
    }
    assert!(files()[0].contains("<error") && files()[1].contains("\"status\":2"), "{:?}", files());
    let ran = run_in(folder.path(), arguments("true"));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(files().iter().all(|report| !report.contains("was stopped")), "{:?}", files());
}

#[test]
fn the_folder_of_a_report_is_made() {
    let folder = place();
    let ran = run_in(folder.path(), ["verify", "one.har", "--report", "junit=new/deep/j.xml"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(folder.path().join("new/deep/j.xml").is_file());
    let ran = run_in(folder.path(), ["verify", "one.har", "--report", "json=x/j.json", "--report", "html=one.har"]);
    assert_eq!((ran.status, folder.path().join("x").exists()), (2, false), "{}", ran.stderr);
}
