//! Trails in a store, here `file://`: closed segments are there, once and whole, and no longer here.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::harness::{TEMPLATES, Workspace, entries};
use crate::support::{process::Running, wire::call};

/// Starts `watch` or `record` with a trail of small segments in `store`.
fn start(workspace: &Workspace, command: &str, options: &[&str]) -> Running {
    let url = url(workspace);
    let trail = ["--trail", &url, "--trail-buffer", "buffer", "--trail-segment", "2000"];
    workspace.start(command, &[&trail, options].concat())
}

fn url(workspace: &Workspace) -> String {
    format!("file://{}/store", workspace.path().display())
}

fn ask(running: &Running, numbers: impl Iterator<Item = usize>) {
    for number in numbers {
        call(running.address, "GET", &format!("{TEMPLATES}?n={number}"), &[], b"");
    }
}

/// The segments in a folder.
fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> =
        fs::read_dir(folder).map(|items| items.map(|item| item.unwrap().path()).collect()).unwrap_or_default();
    names.retain(|name| name.extension().is_some_and(|extension| extension == "journal"));
    names.sort();
    names
}

/// The only trail in the store.
fn stored(workspace: &Workspace) -> PathBuf {
    let trails: Vec<_> = fs::read_dir(workspace.path().join("store")).unwrap().collect();
    let [trail] = &trails[..] else { panic!("{trails:?}") };
    trail.as_ref().unwrap().path()
}

/// How often each request is in the segments of these folders.
fn requests(folders: &[PathBuf]) -> BTreeMap<usize, usize> {
    let mut found = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for segment in folders.iter().flat_map(|folder| segments(folder)) {
        // The last one is in both places.
        if !seen.insert(segment.file_name().unwrap().to_owned()) {
            continue;
        }
        for line in fs::read_to_string(segment).unwrap().lines() {
            let entry: Value = serde_json::from_str(line).unwrap_or_default();
            let Some((_, number)) = entry["request"]["url"].as_str().and_then(|url| url.split_once("?n=")) else {
                continue;
            };
            *found.entry(number.parse().unwrap()).or_default() += 1;
        }
    }
    found
}

/// How many exchanges the store's trail has, whose chain is whole.
fn verified(workspace: &Workspace) -> u64 {
    let ran = workspace.run(&["verify", &url(workspace), "--format", "json"]);
    assert!(ran.status < 2 && !ran.stdout.contains("ALTERED"), "{}{}", ran.stderr, ran.stdout);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["integrity"].as_array().map_or(1, Vec::len), 1, "{}", report["integrity"]);
    report["summary"]["exchanges"].as_u64().unwrap()
}

#[test]
fn closed_segments_are_in_the_store_and_the_last_one_stays_to_continue_the_chain() {
    let workspace = Workspace::new();
    for run in 0..3 {
        let running = start(&workspace, "watch", &["--allow", "auth.missing"]);
        ask(&running, run * 6..run * 6 + 6);
        let ran = running.finish();
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(!ran.stderr.contains("not uploaded"), "{}", ran.stderr);
        assert_eq!(segments(&workspace.path().join("buffer")).len(), 1);
    }
    let trail = stored(&workspace);
    let stored = segments(&trail);
    assert!(stored.len() > 3, "{stored:?}");
    assert_eq!(requests(std::slice::from_ref(&trail)), (0..18).map(|number| (number, 1)).collect());
    assert_eq!(verified(&workspace), 18);
    let head = fs::read_to_string(trail.join("heads/trail-00000001.json")).unwrap();
    let head: Value = serde_json::from_str(&head).unwrap();
    assert_eq!(head["size"].as_u64(), Some(fs::metadata(&stored[0]).unwrap().len()));
    assert_eq!(head["trail"].as_str(), trail.file_name().unwrap().to_str());
    let verified = workspace.run(&["verify", &url(&workspace), "--allow", "auth.missing"]);
    assert!(verified.stdout.contains("chain"), "{}", verified.stdout);
}

#[test]
fn a_segment_that_the_store_has_already_is_not_uploaded_again_and_goes_here() {
    let workspace = Workspace::new();
    let running = start(&workspace, "watch", &[]);
    ask(&running, 0..6);
    running.finish();
    let trail = stored(&workspace);
    let before: Vec<_> =
        segments(&trail).iter().map(|segment| fs::metadata(segment).unwrap().modified().unwrap()).collect();
    // As after a kill between the upload and the removal.
    for segment in segments(&trail) {
        fs::copy(&segment, workspace.path().join("buffer").join(segment.file_name().unwrap())).unwrap();
    }
    let ran = start(&workspace, "watch", &[]).finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(segments(&workspace.path().join("buffer")).len(), 1);
    let after = segments(&trail);
    let after = after[..before.len()].iter().map(|segment| fs::metadata(segment).unwrap().modified().unwrap());
    assert_eq!(before, after.collect::<Vec<_>>());
    assert_eq!(verified(&workspace), 6);
}

/// Keeps six requests in the store, and puts something else in place of the last segment's object; that segment in the
/// buffer, and the object.
fn with_another_object(workspace: &Workspace) -> (PathBuf, PathBuf) {
    let running = start(workspace, "watch", &[]);
    ask(&running, 0..6);
    running.finish();
    let last = segments(&workspace.path().join("buffer")).pop().unwrap();
    let taken = stored(workspace).join(last.file_name().unwrap());
    fs::write(&taken, "something else\n").unwrap();
    (last, taken)
}

#[test]
fn another_object_of_a_segments_name_is_an_alarm_and_the_segment_stays() {
    let workspace = Workspace::new();
    let (last, taken) = with_another_object(&workspace);
    let ran = start(&workspace, "watch", &[]).finish();
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("ALARM: file://"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(taken).unwrap(), "something else\n");
    assert!(last.exists());
}

#[test]
fn nothing_is_uploaded_behind_another_object_of_a_segments_name() {
    let workspace = Workspace::new();
    with_another_object(&workspace);
    let before = segments(&stored(&workspace));
    for run in 1..3 {
        let running = start(&workspace, "watch", &[]);
        ask(&running, run * 6..run * 6 + 6);
        let ran = running.finish();
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        // As it comes, and in the summary.
        assert!(ran.stderr.contains("nothing more of this trail is uploaded"), "{}", ran.stderr);
        assert!(ran.stderr.contains("not uploaded yet"), "{}", ran.stderr);
        assert_eq!(segments(&stored(&workspace)), before);
    }
    let kept = requests(&[workspace.path().join("buffer")]);
    assert!((6..18).all(|number| kept.get(&number) == Some(&1)), "{kept:?}");
}

#[test]
fn a_second_proxy_with_the_same_buffer_is_told_to_name_another() {
    let workspace = Workspace::new();
    let running = start(&workspace, "watch", &[]);
    let url = url(&workspace);
    let second = ["watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--trail", &url];
    let ran = workspace.run(&[&second[..], &["--trail-buffer", "buffer", "--", "true"]].concat());
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("name another folder with --trail-buffer DIR"), "{}", ran.stderr);
    let ran = workspace.run(&[&second[..], &["--trail-buffer", "other", "--allow", "unused", "--", "true"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    running.finish();
    assert_eq!(fs::read_dir(workspace.path().join("store")).unwrap().count(), 2);
}

/// Everything in a folder, by name.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let names = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    names.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn a_buffer_keeps_its_first_destination_and_refuses_another() {
    let workspace = Workspace::new();
    let watch = |trail: &[&str]| {
        let command = ["watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--allow", "unused"];
        workspace.run(&[&command[..], trail, &["--", "true"]].concat())
    };
    // What was never reached is no destination.
    let ran = watch(&["--trail", "nats://user:hunter2@127.0.0.1:1/T", "--trail-buffer", "buffer"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    let running = start(&workspace, "watch", &["--allow", "auth.missing"]);
    ask(&running, 0..6);
    let ran = running.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let (buffer, url) = (workspace.path().join("buffer"), url(&workspace));
    let before = content(&buffer);
    let other = format!("{url}-2");
    for (place, now) in [
        (&*other, "name another folder with --trail-buffer DIR, or the same URL"),
        ("s3://b/p", "not to s3://b/p; name another folder"),
        ("nats://user:hunter2@127.0.0.1:1/T", "not to nats://127.0.0.1:1/T; name another folder"),
    ] {
        let ran = watch(&["--trail", place, "--trail-buffer", "buffer"]);
        let said = format!("contrail: `buffer`: its trail goes to {url}, not to ");
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        assert!(ran.stderr.starts_with(&said) && ran.stderr.contains(now), "{}", ran.stderr);
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
    let ran = watch(&["--trail", "buffer"]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("`buffer`: its trail goes to {url}; name another folder")), "{}", ran.stderr);
    assert!(content(&buffer) == before && !workspace.has("store-2"));
    let ran = workspace.run(&["audit", "buffer"]);
    assert!(!ran.stdout.contains("is not read"), "{}", ran.stdout);
    // One that was made before remembers none.
    fs::remove_file(buffer.join("destination")).unwrap();
    assert_eq!(watch(&["--trail", &url, "--trail-buffer", "buffer"]).status, 0);
    assert_eq!(fs::read_to_string(buffer.join("destination")).unwrap(), format!("{url}\n"));
    assert_eq!(verified(&workspace), 6);
}

#[test]
fn a_place_that_never_took_anything_is_needed_at_every_start_and_not_remembered() {
    let workspace = Workspace::new();
    let watch = |trail: &[&str]| {
        let command = "watch --upstream sandbox --listen 127.0.0.1:0 --drain 0.1 --allow unused".split(' ');
        let command: Vec<&str> = command.collect();
        let ran = workspace.run(&[&command[..], trail, &["--", "touch", "started"]].concat());
        let has_started = workspace.has("started");
        let _ = fs::remove_file(workspace.path().join("started"));
        (ran.status, has_started, ran.stderr)
    };
    let gone = ["--trail", "nats://127.0.0.1:1/T", "--trail-buffer", "buffer"];
    // A folder of before that remembers none, and starts that fail.
    assert_eq!(watch(&["--trail", "buffer"]).0, 0);
    for _ in 0..2 {
        let (status, has_started, stderr) = watch(&gone);
        assert_eq!((status, has_started), (2, false), "{stderr}");
        assert!(stderr.contains("a start needs the stream until a buffer has reached it once"), "{stderr}");
        assert!(!workspace.has("buffer/destination"), "{stderr}");
    }
    // A store whose name is taken by a file.
    fs::write(workspace.path().join("store"), "").unwrap();
    for _ in 0..2 {
        let (status, has_started, stderr) = watch(&["--trail", &url(&workspace), "--trail-buffer", "buffer"]);
        assert_eq!((status, has_started, workspace.has("buffer/destination")), (2, false, false), "{stderr}");
    }
    // What took something before is waited for.
    fs::write(workspace.path().join("buffer/destination"), "nats://127.0.0.1:1/T\n").unwrap();
    let (status, has_started, stderr) = watch(&gone);
    assert_eq!((status, has_started), (2, true), "{stderr}");
    assert!(stderr.contains("not uploaded yet"), "{stderr}");
}

#[test]
fn a_fixture_is_folded_before_the_segments_go() {
    let workspace = Workspace::new();
    let running = start(&workspace, "record", &["--out", "rec.har"]);
    ask(&running, 0..8);
    let ran = running.finish();
    assert!(ran.status < 2, "{}", ran.stderr);
    assert_eq!(entries(&workspace.read("rec.har")).len(), 8);
    assert_eq!(segments(&workspace.path().join("buffer")).len(), 1);
    assert_eq!(verified(&workspace), 8);
}

#[test]
fn segments_of_a_killed_recording_stay_until_they_are_folded() {
    let workspace = Workspace::new();
    let running = start(&workspace, "record", &["--out", "rec.har"]);
    ask(&running, 0..8);
    drop(running); // which kills it
    let left = segments(&workspace.path().join("buffer")).len();
    assert!(left > 2);
    start(&workspace, "watch", &[]).finish();
    assert_eq!(segments(&workspace.path().join("buffer")).len(), left + 1);
    let ran = start(&workspace, "record", &["--out", "rec.har", "--append"]).finish();
    assert!(ran.stderr.contains("8 exchanges"), "{}", ran.stderr);
    assert_eq!(entries(&workspace.read("rec.har")).len(), 8);
    assert_eq!(segments(&workspace.path().join("buffer")).len(), 1);
    assert_eq!(verified(&workspace), 8);
}

#[test]
fn a_full_buffer_leaves_exchanges_unrecorded_and_says_so() {
    let workspace = Workspace::new();
    let running = start(&workspace, "watch", &["--trail-buffer-size", "1"]);
    ask(&running, 0..3);
    let ran = running.finish();
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("--trail-buffer-size"), "{}", ran.stderr);
}

#[test]
fn after_kills_at_any_moment_the_store_has_each_exchange_once() {
    let workspace = Workspace::new();
    let mut asked = 0;
    for run in 0..12 {
        let running = start(&workspace, "watch", &[]);
        ask(&running, asked..asked + 5 + run);
        asked += 5 + run;
        drop(running); // which kills it
    }
    let ran = start(&workspace, "watch", &[]).finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(requests(&[stored(&workspace)]), (0..asked).map(|number| (number, 1)).collect());
    assert_eq!(verified(&workspace), asked as u64);
}
