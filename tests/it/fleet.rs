//! The trails of a fleet in one audit: each chain is proven by itself, and hours that one of them lacks are named.

use std::{fmt::Write as _, fs, path::Path};

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::support::{
    command::{Ran, run_in},
    har,
};

fn hash(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

/// A link of the chain, and its hash.
fn link(seq: u64, prev: &str, trail: Option<&str>, lines: &[String]) -> (String, String) {
    let named = trail.map(|trail| format!("trail {trail}\n")).unwrap_or_default();
    let digests: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
    let hash = hash(&format!("contrail chain 1\n{seq}\n{prev}\n{named}{digests}"));
    let lines = serde_json::to_string(lines).unwrap();
    let trail = trail.map(|trail| format!(",\"trail\":\"{trail}\"")).unwrap_or_default();
    let line =
        format!("{{\"_chain\":{{\"seq\":{seq},\"prev\":\"{prev}\",\"lines\":{lines}{trail},\"hash\":\"{hash}\"}}}}\n");
    (line, hash)
}

/// A trail with an exchange at each of these instants.
fn trail(folder: &Path, name: &str, instants: &[&str]) {
    let (mut text, prev) = link(0, &"0".repeat(64), Some(&hash(name)[..32]), &[]);
    let entries = instants.iter().map(|instant| {
        let mut entry = har::get("/api/v2/users", None, 404, "{}");
        entry["startedDateTime"] = (*instant).into();
        entry["_contrail"] = json!({"version": 1});
        entry.to_string()
    });
    let entries: Vec<String> = entries.collect();
    let digests: Vec<String> = entries.iter().map(|entry| hash(entry)).collect();
    text.extend(entries.iter().flat_map(|entry| [entry, "\n"]));
    text += &link(1, &prev, None, &digests).0;
    fs::create_dir_all(folder.join(name)).unwrap();
    fs::write(folder.join(name).join("trail-00000001.journal"), text).unwrap();
}

fn audit(folder: &Path, arguments: &[&str]) -> Ran {
    let ran = run_in(folder, ["audit"].iter().chain(arguments));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    ran
}

fn integrity(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let ran = audit(folder, &[arguments, &["--format", "json"]].concat());
    serde_json::from_str::<Value>(&ran.stdout).unwrap()["integrity"].as_array().unwrap().clone()
}

fn fleet() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    trail(folder.path(), "fleet/a", &["2026-01-31T08:10:00Z", "2026-01-31T09:59:59Z", "2026-01-31T13:00:00Z"]);
    trail(folder.path(), "fleet/b", &["2026-01-31T09:00:00Z", "2026-01-31T10:30:00Z", "2026-01-31T11:30:00Z"]);
    trail(folder.path(), "fleet/c", &["2026-01-31T09:20:00Z", "2026-01-31T10:40:00Z", "2026-01-31T13:59:00Z"]);
    folder
}

#[test]
fn each_chain_is_proven_and_the_hours_that_only_others_have_are_named_not_recorded() {
    let folder = fleet();
    let ran = audit(folder.path(), &["fleet", "--report", "junit=report.xml", "--report", "markdown=report.md"]);
    let lines: Vec<&str> = ran.stdout.lines().filter(|line| line.contains("the chain of")).collect();
    let rest = |at: usize| lines[at].split_once("hash").map_or(lines[at], |(_, rest)| rest).split_once("; ");
    let span = |from: u32, to: u32, trails: &str| {
        format!(
            "not recorded: no exchange from 2026-01-31T{from:02}:00:00Z to 2026-01-31T{to:02}:00:00Z, where {trails} some"
        )
    };
    assert!(lines.iter().all(|line| line.contains("is intact: 3 entries")), "{lines:?}");
    assert_eq!(rest(0).unwrap().1, span(10, 12, "2 other trails have"));
    let (one, ten) = ("1 other trail has", "2 other trails have");
    assert_eq!(rest(1).unwrap().1, [span(8, 9, one), span(13, 14, ten)].join("; "));
    assert_eq!(rest(2).unwrap().1, [span(8, 9, one), span(11, 12, one)].join("; "));
    let junit = fs::read_to_string(folder.path().join("report.xml")).unwrap();
    assert!(junit.contains("fleet/b has exchanges where others have"), "{junit}");
    assert!(fs::read_to_string(folder.path().join("report.md")).unwrap().contains("not recorded: no exchange from"));
}

#[test]
fn what_a_trail_lacks_is_a_list_in_json_and_is_compared_within_the_period_of_the_audit() {
    let folder = fleet();
    let spans = |trails: &[Value]| trails.iter().map(|trail| trail["notRecorded"].clone()).collect::<Vec<_>>();
    let span = |from: &str, to: &str, trails: u32| json!({"from": format!("2026-01-31T{from}:00:00Z"), "to": format!("2026-01-31T{to}:00:00Z"), "trails": trails});
    let period = ["--since", "2026-01-31T10:00:00Z", "--until", "2026-01-31T13:00:00Z", "--client", "nobody"];
    let ran = run_in(folder.path(), [&["audit", "fleet", "--format", "json"], &period[..]].concat());
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let found = spans(report["integrity"].as_array().unwrap());
    assert_eq!(found, [json!([span("10", "12", 2)]), Value::Null, json!([span("11", "12", 1)])]);
    // One trail by itself lacks nothing.
    assert_eq!(spans(&integrity(folder.path(), &["fleet/a"])), [Value::Null]);
}

#[test]
fn a_trail_without_an_exchange_lacks_every_hour_and_a_file_without_a_chain_is_not_compared() {
    let folder = fleet();
    trail(folder.path(), "empty", &[]);
    fs::write(folder.path().join("x.journal"), format!("{}\n", har::conforming())).unwrap();
    let trails = integrity(folder.path(), &["fleet/b", "empty", "x.journal"]);
    let spans = json!([{"from": "2026-01-31T09:00:00Z", "to": "2026-01-31T12:00:00Z", "trails": 1}]);
    assert_eq!((&trails[0]["notRecorded"], &trails[1]["notRecorded"]), (&Value::Null, &spans));
}
