//! Folders with several trails, with files that are no recording, and trails that are still written.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::Value;

use super::{
    harness::{TEMPLATES, Workspace, get, objects, token},
    trail::{change, segments, trail, verify},
};
use crate::support::{
    command::Ran,
    golden::{assert_error, assert_line, assert_output, assert_reported},
    wire::call,
};

fn record(workspace: &Workspace, folder: &str) {
    let running = workspace.start("watch", &["--trail", folder, "--trail-segment", "2000"]);
    for _ in 0..4 {
        call(running.address, "GET", TEMPLATES, &[], b"");
    }
    running.finish();
}

fn both(workspace: &Workspace, path: &str) -> [Ran; 2] {
    ["verify", "audit"].map(|command| workspace.run(&[command, path, "--allow", "auth.missing"]))
}

/// The line of a report of `verify` or `audit` that counts this many exchanges, each a violation.
fn counted(command: &str, exchanges: usize) -> String {
    let result = format!("0 conform, 0 with gaps, {exchanges} violate");
    match command {
        "audit" => format!("{exchanges} exchanges from INSTANT to INSTANT"),
        _ => format!("{exchanges} exchanges checked against Tenant Management Interface 2.0: {result}"),
    }
}

/// More may follow: a trail that begins in another hour than the other one lacks that hour.
fn assert_intact(ran: &Ran, name: &str, entries: u32) {
    let line = format!("the chain of `{name}` is intact: {entries} entries, 0 lines after its last link, head ");
    assert!(ran.stdout.lines().any(|one| one.starts_with(&line)), "no line begins with {line}: {}", ran.stdout);
}

#[test]
fn each_folder_with_segments_is_a_trail_and_is_proven_by_itself() {
    let workspace = Workspace::new();
    record(&workspace, "p/a");
    record(&workspace, "p/b");
    for ran in both(&workspace, "p") {
        assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
        assert_intact(&ran, "p/a", 4);
        assert_intact(&ran, "p/b", 4);
    }
    fs::remove_file(workspace.path().join("p/b/trail-00000002.journal")).unwrap();
    for ran in both(&workspace, "p") {
        assert_reported(&ran, 1, "the chain of `p/a` is intact: 4 entries, 0 lines after its last link, head HASH");
        assert_line(
            &ran.stdout,
            "ALTERED: the trail was altered at `p/b/trail-00000003.journal`, line 1: expected batch 3 of the \
             chain, found batch 6: lines before it were removed or moved",
        );
    }
}

#[test]
fn a_trail_in_a_folder_of_another_is_one_of_its_own() {
    let workspace = trail();
    fs::rename(workspace.path().join("trail"), workspace.path().join("old")).unwrap();
    record(&workspace, "trail");
    fs::rename(workspace.path().join("old"), workspace.path().join("trail/old")).unwrap();
    for ran in both(&workspace, "trail") {
        assert_intact(&ran, "trail", 4);
        assert_intact(&ran, "trail/old", 12);
    }
}

#[test]
fn a_trail_whose_segments_or_copies_of_them_are_in_several_places_is_refused_and_one_that_is_named_twice_is_read_once()
{
    let workspace = trail();
    let folder = workspace.path();
    let names = segments(&workspace);
    let copy = |to: &str, names: &[String]| {
        fs::create_dir_all(folder.join(to)).unwrap();
        for name in names {
            fs::copy(folder.join("trail").join(name), folder.join(to).join(name)).unwrap();
        }
    };
    copy("all/copy", &names);
    copy("older", &names[..2]);
    copy("archive/first", &names[..2]);
    copy("archive/rest", &names[2..]);
    copy("altered", &names);
    let second = format!("altered/{}", names[1]);
    fs::write(folder.join(&second), workspace.read(&second).replace("\"status\":401", "\"status\":200")).unwrap();
    let one = format!("trail/{}", names[0]);
    let other = format!("trail/{}", names[1]);
    for (named, [first, second]) in [
        (&["trail", "all"][..], ["trail", "all/copy"]),
        (&["older", "trail", "--head", "heads"], ["older", "trail"]),
        (&["archive"], ["archive/first", "archive/rest"]),
        (&["archive/rest", "archive/first"], ["archive/rest", "archive/first"]),
        (&["trail", "altered"], ["trail", "altered"]),
        (&[&one, &other], [&*one, &*other]),
        (&[&one, "trail"], [&*one, "trail"]),
    ] {
        let said = format!(
            "contrail: `{first}` and `{second}` are of one trail; keep all its segments in one folder, without copies, and \
             name that folder"
        );
        for command in ["verify", "audit"] {
            assert_error(&workspace.run(&[&[command], named].concat()), 2, &said);
        }
    }
    for command in ["coverage", "learn"] {
        assert_eq!(workspace.run(&[command, "trail", "older"]).status, 2);
    }
    for (command, again) in [("verify", "trail"), ("audit", "./trail")] {
        let ran = workspace.run(&[command, "trail", again, "--allow", "auth.missing"]);
        assert_reported(&ran, 0, &counted(command, 12));
    }
}

#[test]
fn every_file_of_a_trails_folder_that_is_not_read_is_named() {
    let workspace = trail();
    let last = segments(&workspace).pop().unwrap();
    let folder = workspace.path().join("trail");
    fs::rename(folder.join(&last), folder.join(format!("{last}.gz"))).unwrap();
    for name in ["notes.txt", "trail-00000001.journal.bak"] {
        fs::write(folder.join(name), "x").unwrap();
    }
    for (command, ran) in ["verify", "audit"].into_iter().zip(both(&workspace, "trail")) {
        assert_output(&format!("record/trails/every_file_that_is_not_read_is_named-{command}"), &ran);
    }
    for command in ["verify", "audit"] {
        let ran = workspace.run(&[command, "trail", "--format", "json"]);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["integrity"][0]["unread"].as_array().unwrap().len(), 3, "{}", ran.stdout);
    }
}

#[test]
fn exchanges_that_could_not_be_recorded_are_stated_by_a_line_that_the_chain_covers() {
    for ends_at_once in [false, true] {
        let workspace = Workspace::new();
        let running = workspace.start("watch", &["--trail", "trail", "--format", "json"]);
        let segment = workspace.path().join("trail/trail-00000001.journal");
        let calls = |count| (0..count).for_each(|_| drop(call(running.address, "GET", TEMPLATES, &[], b"")));
        calls(2);
        fs::remove_file(&segment).unwrap();
        fs::write(&segment, "not ours").unwrap();
        calls(3);
        fs::remove_file(&segment).unwrap();
        if !ends_at_once {
            calls(1);
        }
        let ran = running.finish();
        assert!(ran.status == 2 && objects(&ran, "summary")[0]["summary"]["unwritten"] == 3, "{}", ran.stderr);
        let entries = if ends_at_once { 2 } else { 3 };
        let said = format!(
            "the chain of `trail` is intact: {}, 0 lines after its last link, head HASH; NOT RECORDED: 3 exchanges from \
             INSTANT to INSTANT",
            if ends_at_once { "2 entries" } else { "3 entries" }
        );
        // An audit fails on them, a check only where that is asked for.
        for (command, option, status) in [
            ("audit", [""; 0].as_slice(), 1),
            ("audit", &["--allow", "unrecorded"], 0),
            ("verify", &[], 0),
            ("verify", &["--deny", "unrecorded"], 1),
        ] {
            let allowed = [command, "trail", "--allow", "auth.missing"];
            assert_reported(&workspace.run(&[&allowed[..], option].concat()), status, &said);
        }
        let csv = workspace.run(&["audit", "trail", "--report", "csv"]);
        let row =
            csv.stdout.lines().find(|line| line.starts_with("unrecorded,")).unwrap_or_else(|| panic!("{}", csv.stdout));
        let cells: Vec<&str> = row.trim_end().split(',').collect();
        assert!(cells[5].starts_with("from ") && (cells[6], cells[16]) == ("3", "trail"), "{row}");
        for command in ["verify", "audit"] {
            let ran = workspace.run(&[command, "trail", "--format", "json"]);
            let integrity = &serde_json::from_str::<Value>(&ran.stdout).unwrap()["integrity"][0];
            assert_eq!(integrity["entries"], entries, "{integrity}");
            let lost = &integrity["unrecorded"][0];
            assert_eq!(lost["exchanges"], 3, "{integrity}");
            assert!(lost["from"].as_str().unwrap() <= lost["to"].as_str().unwrap(), "{integrity}");
        }
        // Who takes that line away alters the trail.
        change(&workspace, "trail-00000001.journal", |lines| {
            lines.retain(|line| !line.starts_with("{\"_unrecorded\""));
        });
        assert_eq!(verify(&workspace, &[]).status, 1);
        let csv = workspace.run(&["audit", "trail", "--report", "csv"]);
        let row = csv.stdout.lines().nth(1).unwrap();
        assert!(row.starts_with("altered,") && row.contains(",trail,,,,,,,,\"the trail was altered at "), "{row}");
    }
}

#[test]
fn a_line_of_the_chain_that_was_altered_is_named_by_its_own_number() {
    let (link, line) = ("this line of the chain was altered", "this line was altered");
    for (said, alter) in [
        (link, (|line: &str| line.replacen('{', "{\"note\":\"x\",", 1)) as fn(&str) -> String),
        (link, |line| line.replacen('{', "{ ", 1)),
        (line, |line| line.replacen("_chain", "_chaim", 1)),
        (line, |line| line.replacen('{', "[", 1)),
    ] {
        let workspace = trail();
        let second = &segments(&workspace)[1];
        change(&workspace, second, |lines| {
            assert!(lines[2].starts_with("{\"_chain\""));
            lines[2] = alter(&lines[2]);
        });
        let ran = verify(&workspace, &[]);
        let named = format!("contrail: the trail was altered at `trail/{second}`, line 3: {said}");
        assert_error(&ran, 1, &named);
    }
}

#[test]
fn an_end_that_was_cut_off_is_named_by_the_last_line_that_is_there() {
    let workspace = trail();
    let last = segments(&workspace).pop().unwrap();
    change(&workspace, &last, Vec::clear);
    let ran = verify(&workspace, &["--head", "heads"]);
    assert_output("record/trails/an_end_that_was_cut_off", &ran);
}

#[test]
fn a_trail_that_is_still_written_is_read_as_far_as_its_chain_was_checked() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--trail", "trail"]);
    let (address, done) = (running.address, AtomicBool::new(false));
    let reports = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                call(address, "GET", TEMPLATES, &[], b"");
            }
        });
        let reports: Vec<Ran> = (0..4).map(|_| workspace.run(&["verify", "trail", "--format", "json"])).collect();
        done.store(true, Ordering::Relaxed);
        reports
    });
    for ran in reports {
        let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
        let integrity = &report["integrity"][0];
        let covered = integrity["entries"].as_u64().unwrap() + integrity["unsealed"].as_u64().unwrap();
        assert_eq!(report["summary"]["exchanges"], covered, "{integrity}");
        assert!(integrity["broken"].is_null(), "{integrity}");
    }
    running.finish();
}

#[test]
fn a_segment_that_is_rubbish_at_the_start_is_left_as_it_is_and_the_trail_goes_on_behind_it() {
    for rubbish in ["", "\n", "x", "x\ny\n", "{\"_chain\":", "{\"_chain\":{}}\n"] {
        let workspace = Workspace::new();
        fs::create_dir(workspace.path().join("trail")).unwrap();
        fs::write(workspace.path().join("trail/trail-00000007.journal"), rubbish).unwrap();
        let ran =
            workspace.run(&["watch", "--upstream", "sandbox", "--trail", "trail", "--allow", "unused", "--", "true"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_eq!(segments(&workspace).last().unwrap(), "trail-00000008.journal");
        // What a process that was killed at its start leaves is no alteration; whole lines of something else are.
        let whole = !rubbish.ends_with('\n');
        let ran = verify(&workspace, &[]);
        assert_eq!(ran.status, if whole { 2 } else { 1 }, "{rubbish:?}: {}", ran.stderr);
    }
}

#[test]
fn a_trail_is_packed_as_a_whole_unless_it_was_altered() {
    let workspace = trail();
    let exchanges = |ran: &Ran| ran.stderr.split(' ').next().unwrap().to_owned();
    for (command, out) in [("pack", "out.har"), ("unpack", "out")] {
        let ran = workspace.run(&[command, "trail", "--out", out]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let lines: usize =
            segments(&workspace).iter().map(|name| entries_in(&workspace.read(&format!("trail/{name}")))).sum();
        assert_eq!(exchanges(&ran), lines.to_string(), "{}", ran.stderr);
    }
    let segment = segments(&workspace).remove(1);
    change(&workspace, &segment, |lines| {
        lines.remove(1);
    });
    let ran = workspace.run(&["pack", "trail", "--out", "altered.har"]);
    assert_eq!(ran.status, 2);
    assert_line(
        &ran.stderr,
        "contrail: the trail was altered at `trail/trail-00000002.journal`, line 2: 1 of the lines before this one \
         was removed; nothing was packed",
    );
    assert!(!workspace.has("altered.har"));
}

fn entries_in(segment: &str) -> usize {
    segment.lines().filter(|line| line.starts_with("{\"startedDateTime\"")).count()
}

#[test]
fn exchanges_that_a_journal_states_as_not_recorded_are_counted_by_whatever_folds_it() {
    let workspace = Workspace::new();
    let running = workspace.start("record", &["--out", "fx"]);
    let token = token(running.address);
    get(running.address, TEMPLATES, &token);
    drop(running); // which kills it
    let stated = "{\"_unrecorded\":{\"exchanges\":3,\"from\":\"2026-11-22T10:00:00.000Z\",\"to\":\"2026-11-22T10:00:09.000Z\"}}\n";
    std::fs::write(workspace.path().join("fx.journal"), format!("{stated}{}", workspace.read("fx.journal"))).unwrap();
    let said = "3 exchanges could not be recorded (2026-11-22T10:00:00.000Z to 2026-11-22T10:00:09.000Z), so the fixture \
                lacks them";
    let ran = workspace.run(&["pack", "fx.journal", "--out", "packed.har"]);
    assert_error(&ran, 0, &format!("contrail: {said}"));
    let lost = "NOT RECORDED: 3 exchanges from 2026-11-22T10:00:00.000Z to 2026-11-22T10:00:09.000Z";
    for (command, status) in [("audit", 1), ("verify", 0)] {
        let ran = workspace.run(&[command, "fx.journal"]);
        assert!(ran.status == status && ran.stdout.contains(lost), "{}{}", ran.stdout, ran.stderr);
    }
    let running = workspace.start("record", &["--out", "fx"]);
    get(running.address, TEMPLATES, &token);
    let ran = running.finish();
    assert_line(&ran.stderr, said);
}

#[test]
fn a_segment_with_the_highest_number_is_refused_at_the_start_by_its_name() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path().join("trail")).unwrap();
    fs::write(workspace.path().join("trail/trail-18446744073709551615.journal"), "").unwrap();
    let ran = workspace.run(&["watch", "--upstream", "sandbox", "--trail", "trail", "--allow", "unused", "--", "true"]);
    let said = "contrail: `trail/trail-18446744073709551615.journal`: it has the highest number that a segment can \
                have; move it away";
    assert_error(&ran, 2, said);
}

#[test]
fn a_segment_that_cannot_be_read_is_named() {
    let workspace = trail();
    let second = segments(&workspace).remove(1);
    let path = workspace.path().join("trail").join(&second);
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("nowhere", &path).unwrap();
    for ran in both(&workspace, "trail") {
        let said = format!(
            "contrail: cannot read the trail `trail`: `trail/{second}`: No such file or directory (os error 2)"
        );
        assert_error(&ran, 2, &said);
    }
}

#[test]
fn blank_lines_behind_the_last_link_are_no_entries() {
    let workspace = trail();
    let last = segments(&workspace).pop().unwrap();
    change(&workspace, &last, |lines| lines.extend(["\n".to_owned(), "  \n".to_owned()]));
    let ran = verify(&workspace, &[]);
    assert_reported(&ran, 0, "the chain of `trail` is intact: 12 entries, 0 lines after its last link, head HASH");
    // The next start seals them, and they are no entries of the chain either.
    workspace.start("watch", &["--trail", "trail"]).finish();
    let ran = verify(&workspace, &[]);
    assert_reported(&ran, 0, "the chain of `trail` is intact: 12 entries, 0 lines after its last link, head HASH");
}

#[test]
fn a_trail_in_the_folder_of_the_fixture_is_refused_before_anything_is_recorded() {
    let workspace = Workspace::new();
    let ran = workspace.run(&["record", "--upstream", "sandbox", "--out", "fx", "--trail", "fx/tr", "--", "true"]);
    let said = "contrail: --trail: `fx/tr` is in the folder of the fixture `fx`; name a folder elsewhere";
    assert_error(&ran, 2, said);
    assert!(!workspace.has("fx"));
}

#[test]
fn a_linked_folder_of_segments_is_read_once_under_its_own_name_if_it_has_one() {
    let workspace = Workspace::new();
    record(&workspace, "days/d1");
    record(&workspace, "elsewhere");
    let days = workspace.path().join("days");
    std::os::unix::fs::symlink("../elsewhere", days.join("d2")).unwrap();
    std::os::unix::fs::symlink("d1", days.join("again")).unwrap();
    std::os::unix::fs::symlink("../..", days.join("d1/back")).unwrap();
    for (command, ran) in ["verify", "audit"].into_iter().zip(both(&workspace, "days")) {
        assert_output(&format!("record/trails/a_linked_folder_of_segments-{command}"), &ran);
    }
}

#[test]
fn a_folder_that_holds_compressed_segments_only_is_named_as_not_read() {
    for (name, tool) in [("trail-00000001.journal.gz", " (gunzip it first)"), ("trail-00000001.JOURNAL", "")] {
        let workspace = Workspace::new();
        record(&workspace, "days/d1");
        fs::create_dir(workspace.path().join("days/d2")).unwrap();
        fs::write(workspace.path().join("days/d2").join(name), "x").unwrap();
        for ran in both(&workspace, "days") {
            let said = format!(
                "`days/d2` holds no readable segment, so contrail checked nothing of it; `days/d2/{name}` is not \
                 read{tool}"
            );
            assert_reported(&ran, 0, &said);
        }
        for command in ["verify", "audit"] {
            let ran = workspace.run(&[command, "days", "--format", "json"]);
            let integrity = serde_json::from_str::<Value>(&ran.stdout).unwrap()["integrity"].clone();
            let unread = integrity.as_array().unwrap().iter().filter(|one| one["trail"] == "days/d2");
            assert_eq!(unread.map(|one| one["unread"].as_array().unwrap().len()).collect::<Vec<_>>(), [1]);
        }
    }
}

#[test]
fn a_trail_without_an_exchange_is_status_2() {
    let workspace = Workspace::new();
    let ran = workspace.run(&["watch", "--upstream", "sandbox", "--trail", "trail", "--allow", "unused", "--", "true"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for ran in both(&workspace, "trail") {
        assert_reported(&ran, 2, "the chain of `trail` is intact: 0 entries, 0 lines after its last link, head HASH");
    }
}

#[test]
fn what_follows_an_altered_line_is_reported_too() {
    let workspace = trail();
    let first = format!("trail/{}", segments(&workspace)[0]);
    let text = workspace.read(&first);
    fs::write(workspace.path().join(&first), text.replacen("\"seq\":0", "\"seq\":7", 1)).unwrap();
    for command in ["verify", "audit"] {
        let ran = workspace.run(&[command, "trail"]);
        assert_line(
            &ran.stdout,
            &format!("ALTERED: the trail was altered at `{first}`, line 1: this line of the chain was altered"),
        );
        assert_reported(&ran, 1, &counted(command, 12));
    }
}
