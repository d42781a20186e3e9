//! What `docs/fixtures.md` promises of every command that takes recordings.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::*;
use crate::support::command::run_with_input;

#[test]
fn every_command_that_the_page_names_takes_a_recording_from_standard_input() {
    let words = page("fixtures.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, _) = words.split_once(" take `-` for standard input").unwrap();
    let (_, sentence) = before.rsplit_once(". ").unwrap();
    let commands: Vec<String> = ticked(sentence).collect();
    assert_eq!(commands.len(), 6, "{commands:?}");
    let other = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/gaps.har");
    let input = har::har(&[har::conforming()]);
    for command in commands {
        let ca = tempfile::tempdir().unwrap();
        let ca = ca.path().to_str().unwrap();
        let rest: &[&str] = match command.as_str() {
            "diff" => &[other.to_str().unwrap()],
            "replay" => &["--ca-dir", ca, "--allow", "unused", "--", "true"],
            _ => &[],
        };
        let ran = run_with_input([command.as_str(), "-"].iter().chain(rest), input.as_bytes());
        // Another recording differs, and the token of this one is a secret.
        let expected = i32::from(["diff", "scan"].contains(&command.as_str()));
        assert_eq!(ran.status, expected, "{command}: {}", ran.stderr);
    }
}

/// What is in a folder with its mode, whatever the umask of the process is.
fn modes(folder: &Path) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    for item in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        found.push((item.path().display().to_string(), item.metadata().unwrap().permissions().mode() & 0o777));
        if item.file_type().unwrap().is_dir() {
            found.extend(modes(&item.path()));
        }
    }
    found
}

#[test]
fn recordings_are_for_their_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made");
    fs::create_dir(&made).unwrap();
    let record = |out: &str, more: &[&str]| {
        let record = ["record", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--out", out];
        let running = Running::start(&made, record.iter().chain(more));
        call(running.address, "GET", "/api/v2/connection-profiles/templates", &[], b"");
        running.finish();
    };
    record("deep/folder", &["--trail", "trail", "--head-to", "heads"]);
    record("file.har", &[]);
    for arguments in [
        &["pack", "deep/folder", "--out", "packed.har"][..],
        &["unpack", "file.har", "--out", "unpacked"],
        &["redact", "file.har", "--out", "redacted.har"],
        &["redact", "deep/folder", "--out", "folder-copy"],
        &["coverage", "file.har", "--report", "json=new/reports/coverage.json"],
    ] {
        let ran = run_in(&made, arguments);
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    }
    let wide: Vec<_> = modes(&made).into_iter().filter(|(_, mode)| mode & 0o077 != 0).collect();
    assert_eq!(wide, []);
    assert!(modes(&made).len() > 12, "{:?}", modes(&made));
}

#[test]
fn a_fixture_holds_the_digest_of_each_body_file_as_sha256sum_prints_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/operations");
    let fixture: Value = serde_json::from_str(&fs::read_to_string(folder.join("operations.har")).unwrap()).unwrap();
    let mut seen = 0;
    for entry in fixture["log"]["entries"].as_array().unwrap() {
        for (held, file) in [("request", &entry["request"]["postData"]), ("response", &entry["response"]["content"])] {
            let Some(file) = file["_file"].as_str() else { continue };
            let digest = ring::digest::digest(&ring::digest::SHA256, &fs::read(folder.join(file)).unwrap());
            let printed = digest.as_ref().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
            assert_eq!(entry["_contrail"]["sha256"][held], printed, "{file}");
            seen += 1;
        }
    }
    assert!(seen > 6, "{seen}");
}
