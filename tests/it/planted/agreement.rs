//! `scan` finds what `redact` takes out, on the same files.

use std::{collections::BTreeMap, fs};

use super::{ambiguous, making::Dice};
use crate::support::{command::run_in, golden::assert_line};

/// Places by kind, as `redact --check` counts them: `3 secrets to remove from 1 file: token 2, password 1`.
fn counted(said: &str) -> BTreeMap<String, usize> {
    let Some((_, kinds)) = said.lines().find_map(|line| line.split_once(": ")) else { return BTreeMap::new() };
    let pairs = kinds.split(", ").map(|pair| pair.rsplit_once(' ').unwrap());
    pairs.map(|(kind, count)| (kind.to_owned(), count.parse().unwrap())).collect()
}

#[test]
fn what_redact_would_take_out_of_a_recording_is_what_scan_finds_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for seed in 0..6_u64 {
        let mut dice = Dice(0x00A6_4EE0 + seed);
        let all = ambiguous::bodies(|| dice.secret());
        let some: Vec<_> = all.into_iter().filter(|_| dice.roll(3) == 0).collect();
        fs::write(folder.join("export.har"), ambiguous::export(&some)).unwrap();
        let scanned = run_in(folder, ["scan", "export.har", "--format", "json"]);
        let hits: serde_json::Value = serde_json::from_str(&scanned.stdout).unwrap();
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for hit in hits["hits"].as_array().unwrap() {
            *found.entry(hit["kind"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        let checked = run_in(folder, ["redact", "export.har", "--check"]);
        assert_eq!(found, counted(&checked.stderr), "{}", checked.stderr);
        let emptied = checked.stderr.lines().any(|line| line.starts_with("would empty "));
        assert_eq!(scanned.stderr.contains(" not searched: "), emptied, "{}\n{}", scanned.stderr, checked.stderr);
        assert_eq!(scanned.status, checked.status, "{}\n{}", scanned.stderr, checked.stderr);
        assert_eq!(scanned.status, i32::from(!found.is_empty() || emptied));
        run_in(folder, ["redact", "export.har", "--out", "clean.har"]);
        let again = run_in(folder, ["scan", "clean.har"]);
        assert_eq!((again.status, &*again.stdout), (0, ""), "{}", again.stderr);
        let rechecked = run_in(folder, ["redact", "clean.har", "--check"]);
        assert_eq!(rechecked.status, 0, "{}", rechecked.stderr);
    }
}

#[test]
fn a_body_that_redact_empties_is_named_by_scan() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let broken = ("application/json", "{\"a\":\u{0}1".to_owned());
    fs::write(folder.join("export.har"), ambiguous::export(&[broken])).unwrap();
    let scanned = run_in(folder, ["scan", "export.har"]);
    assert_eq!(scanned.status, 1, "{}", scanned.stderr);
    assert_line(
        &scanned.stderr,
        "2 bodies not searched: the content does not match the media type; `contrail redact` empties such a body",
    );
    assert_eq!(run_in(folder, ["redact", "export.har", "--check"]).status, 1);
    run_in(folder, ["redact", "export.har", "--out", "clean.har"]);
    assert_eq!(run_in(folder, ["scan", "clean.har"]).status, 0);
}
