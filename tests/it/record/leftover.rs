//! Journals that killed recordings left over: what takes them up, and what leaves them alone.

use std::{fs, io::Write as _};

use nix::{
    sys::{
        signal::{Signal, kill},
        stat::Mode,
    },
    unistd::{Pid, mkfifo},
};

use super::{
    files::{GROUPS, operations, record},
    harness::{TEMPLATES, Workspace, entries, get, objects, token},
};
use crate::support::{
    command::{Ran, limited},
    golden::{assert_line, assert_output},
    wire::{Nobody, call},
};

const GROUPS_ID: &str = "getSynchronizedGroups";

/// A recording with an exchange in it, ended in the middle of it all: its journal is left over.
fn killed(workspace: &Workspace) {
    let running = workspace.start("record", &["--out", "rec.har"]);
    token(running.address);
    kill(Pid::from_raw(running.id().cast_signed()), Signal::SIGKILL).unwrap();
    drop(running);
}

#[test]
fn what_a_client_has_whole_survives_a_kill_and_is_folded_at_the_next_start() {
    let workspace = Workspace::new();
    let running = workspace.start("record", &["--out", "rec.har"]);
    let token = token(running.address);
    for _ in 0..20 {
        assert_eq!(get(running.address, TEMPLATES, &token).status(), 200);
    }
    kill(Pid::from_raw(running.id().cast_signed()), Signal::SIGKILL).unwrap();
    drop(running);
    assert_eq!(workspace.read("rec.har.journal").lines().count(), 21);
    // A line that the kill tore.
    let mut journal = fs::OpenOptions::new().append(true).open(workspace.path().join("rec.har.journal")).unwrap();
    journal.write_all(b"{\"startedDateTime\":\"20").unwrap();
    drop(journal);

    let running = workspace.start("record", &["--out", "rec.har", "--format", "json"]);
    assert_eq!(entries(&workspace.read("rec.har")).len(), 21);
    assert_line(&workspace.read("rec.har"), "      \"unproven\": true,");
    get(running.address, GROUPS, &token);
    let ran = running.finish();
    assert_eq!(objects(&ran, "recovered")[0]["recovered"], 21);
    let torn = &objects(&ran, "torn")[0];
    assert_eq!(
        (torn["torn"].as_u64(), torn["message"].as_str()),
        (
            Some(22),
            Some(
                "dropped a torn last line from rec.har.journal (22 bytes): contrail was killed while it wrote the exchange"
            )
        )
    );
    assert_eq!(entries(&workspace.read("rec.har")).len(), 22);
}

#[test]
fn a_killed_recording_that_kept_a_trail_is_folded_at_the_next_start_with_or_without_one_and_can_be_packed() {
    for (options, packed) in
        [(&["--trail", "trail"][..], false), (&[], false), (&["--trail", "other"], false), (&[], true)]
    {
        let workspace = Workspace::new();
        let running = workspace.start("record", &["--out", "rec.har", "--trail", "trail", "--trail-segment", "2000"]);
        let token = token(running.address);
        for _ in 0..5 {
            assert_eq!(get(running.address, TEMPLATES, &token).status(), 200);
        }
        kill(Pid::from_raw(running.id().cast_signed()), Signal::SIGKILL).unwrap();
        drop(running);
        // Another run's exchanges in the same trail are not this recording's.
        let running = workspace.start("watch", &["--trail", "trail"]);
        get(running.address, GROUPS, &token);
        running.finish();
        if packed {
            let ran = workspace.run(&["pack", "rec.har", "--out", "packed.har"]);
            assert_eq!((ran.status, entries(&workspace.read("packed.har")).len()), (0, 6), "{}", ran.stderr);
            fs::remove_dir_all(workspace.path().join("trail")).unwrap();
            let start = |options: &[&str]| {
                let record = ["record", "--upstream", "sandbox", "--ca-dir", "ca", "--out", "rec.har"];
                let ran = workspace.run(&[&record, options, &["--", "true"]].concat());
                assert_eq!(ran.status, 2, "{}", ran.stderr);
                ran.stderr
            };
            for options in [&[][..], &["--trail", "other"], &["--trail", "trail"]] {
                let said = start(options);
                let missing = "contrail: cannot find what a killed recording wrote, the trail's segment `";
                assert!(said.starts_with(missing), "{options:?}: {said}");
            }
            // Its removal discards those exchanges.
            fs::remove_file(workspace.path().join("rec.har.journal")).unwrap();
            assert_line(&start(&[]), "exit status 2: NOTHING RECORDED");
            continue;
        }
        let running = workspace.start("record", &[&["--out", "rec.har", "--format", "json"], options].concat());
        assert_eq!(entries(&workspace.read("rec.har")).len(), 6);
        get(running.address, GROUPS, &token);
        let ran = running.finish();
        assert_eq!(objects(&ran, "recovered")[0]["recovered"], 6);
        assert_eq!(entries(&workspace.read("rec.har")).len(), 7);
        assert!(!workspace.has("rec.har.journal") && workspace.has("trail/trail-00000001.journal"));
        assert_eq!(workspace.run(&["verify", "trail"]).status, 0);
    }
}

#[test]
fn what_was_folded_after_a_crash_stays_unproven_until_it_is_recorded_anew() {
    let workspace = Workspace::new();
    killed(&workspace);
    let unproven = || workspace.read("rec.har").contains("\"unproven\": true");
    record(&workspace, &[], &[TEMPLATES]);
    assert!(unproven(), "its secrets died with the process that saw them, so nobody can scan for them");
    let note = || {
        let report: serde_json::Value = serde_json::from_str(&workspace.read("r.json")).unwrap();
        assert_eq!(report["proof"]["good"], true);
        report["proof"]["note"].as_str().unwrap_or_default().to_owned()
    };
    record(&workspace, &["--append", "--report", "json=r.json"], &[GROUPS]);
    assert!(unproven() && note().starts_with("still marked unproven: "), "{}", note());
    record(&workspace, &["--overwrite", "--report", "json=r.json"], &[GROUPS]);
    assert!(!unproven() && note().is_empty(), "{}", note());
}

#[test]
fn overwrite_discards_a_left_over_journal_once_a_recording_replaces_it() {
    let workspace = Workspace::new();
    killed(&workspace);
    let running = workspace.start("record", &["--out", "rec.har", "--overwrite"]);
    let address = running.address;
    let token = token(address);
    get(address, TEMPLATES, &token);
    let ran = running.finish();
    assert_output("record/leftover/overwrite_discards_a_left_over_journal_once_a_recording_replaces_it", &ran);
    assert_eq!(entries(&workspace.read("rec.har")).len(), 2);
    assert!(!workspace.has("rec.har.journal") && !workspace.has("rec.har.before.journal"));
}

#[test]
fn overwrite_that_records_nothing_leaves_the_journal_of_a_killed_run() {
    let workspace = Workspace::new();
    killed(&workspace);
    let journal = workspace.read("rec.har.journal");
    let left = |ran: &Ran| {
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert_eq!(workspace.read("rec.har.journal"), journal, "{}", ran.stderr);
        assert!(!workspace.has("rec.har") && !workspace.has("rec.har.before.journal"));
    };
    for command in ["/does/not/exist", "true"] {
        left(&workspace.run(&["record", "--upstream", "sandbox", "--out", "rec.har", "--overwrite", "--", command]));
    }
    let down = Nobody::new();
    let running = workspace.start_at(down.address, "record", &["--out", "rec.har", "--overwrite"]);
    assert_eq!(call(running.address, "GET", TEMPLATES, &[], b"").status(), 502);
    left(&running.finish());
}

#[test]
fn a_journal_that_overwrite_put_aside_is_found_after_another_kill() {
    let workspace = Workspace::new();
    killed(&workspace);
    let journal = workspace.read("rec.har.journal");
    let running = workspace.start("record", &["--out", "rec.har", "--overwrite"]);
    kill(Pid::from_raw(running.id().cast_signed()), Signal::SIGKILL).unwrap();
    drop(running);
    assert_eq!(workspace.read("rec.har.before.journal"), journal);
    let ran = workspace.run(&["record", "--upstream", "sandbox", "--out", "rec.har", "--", "true"]);
    assert_output("record/leftover/a_journal_that_overwrite_put_aside_is_found_after_another_kill", &ran);
    assert_eq!(entries(&workspace.read("rec.har")).len(), 1);
    assert!(!workspace.has("rec.har.journal") && !workspace.has("rec.har.before.journal"));
}

/// A recording with these options that is killed after one exchange with the groups.
fn killed_while(workspace: &Workspace, options: &[&str]) {
    let running = workspace.start("record", &[&["--out", "rec.har"], options].concat());
    let token = token(running.address);
    get(running.address, GROUPS, &token);
    kill(Pid::from_raw(running.id().cast_signed()), Signal::SIGKILL).unwrap();
    drop(running);
}

#[test]
fn a_killed_recording_that_was_to_replace_entries_is_not_added_to_them() {
    for option in [&["--overwrite"][..], &["--replace", "getConnectionProfileTemplates"]] {
        let workspace = Workspace::new();
        record(&workspace, &[], &[TEMPLATES]);
        let fixture = workspace.read("rec.har");
        killed_while(&workspace, option);
        let journal = workspace.read("rec.har.journal");
        let (upstream, any) = (["--upstream", "sandbox"], ["--", "true"]);
        for command in [
            &["record", "--out", "rec.har", "--append"][..],
            &["record", "--out", "rec.har", "--replace", "getSynchronizedGroups"],
            &["replay", "rec.har", "--record-missing", "--force"],
        ] {
            let ran = workspace.run(&[command, &upstream, &any].concat());
            assert_eq!(ran.status, 2, "{}", ran.stderr);
            let said = format!(
                "contrail: rec.har.journal holds 2 exchanges of a killed `record {}`, an incomplete replacement for \
                 entries of rec.har; record with --overwrite to start over, or keep them with `contrail pack \
                 rec.har.journal --out ANOTHER.har` and remove the journal\n",
                option[0]
            );
            assert_eq!(ran.stderr, said);
        }
        let ran = workspace.run(&["pack", "rec.har", "--out", "packed.har"]);
        assert_eq!(ran.status, 2);
        assert_line(
            &ran.stderr,
            "contrail: `rec.har.journal` holds a killed recording that was to replace entries of `rec.har`; pack one \
             of the two: name the journal, or move it away",
        );
        assert_eq!((workspace.read("rec.har"), workspace.read("rec.har.journal")), (fixture, journal));
        let ran = workspace.run(&["pack", "rec.har.journal", "--out", "packed.har"]);
        assert_eq!((ran.status, entries(&workspace.read("packed.har")).len()), (0, 2), "{}", ran.stderr);
        record(&workspace, &["--overwrite"], &[GROUPS]);
        assert_eq!(operations(&workspace), [GROUPS]);
        assert!(!workspace.has("rec.har.journal") && !workspace.has("rec.har.before.journal"));
    }
}

#[test]
fn a_whole_recording_that_was_killed_while_it_was_folded_replaces_what_it_was_to_replace() {
    for (option, expected) in [(&["--overwrite"][..], &[GROUPS][..]), (&["--replace", GROUPS_ID], &[TEMPLATES, GROUPS])]
    {
        let workspace = Workspace::new();
        record(&workspace, &[], &[TEMPLATES, GROUPS]);
        killed_while(&workspace, option);
        let mut journal = fs::OpenOptions::new().append(true).open(workspace.path().join("rec.har.journal")).unwrap();
        journal.write_all(b"{\"_fold\":{\"ended\":true}}\n").unwrap();
        drop(journal);
        let ran = workspace.run(&["record", "--upstream", "sandbox", "--out", "rec.har", "--append", "--", "true"]);
        assert_line(&ran.stderr, "folded 2 exchanges of a left-over journal into rec.har; it is marked unproven");
        assert_eq!(operations(&workspace), expected);
        assert_line(&workspace.read("rec.har"), "      \"unproven\": true,");
        assert!(!workspace.has("rec.har.journal"));
    }
}

#[test]
fn each_killed_overwrite_keeps_the_journals_of_those_before_it() {
    let workspace = Workspace::new();
    killed(&workspace);
    let first = workspace.read("rec.har.journal");
    killed_while(&workspace, &["--overwrite"]);
    let second = workspace.read("rec.har.journal");
    assert_eq!(workspace.read("rec.har.before.journal"), first);
    // There is no fixture, but two recordings are not mixed into one either.
    let ran = workspace.run(&["record", "--upstream", "sandbox", "--out", "rec.har", "--", "true"]);
    assert_output("record/leftover/each_killed_overwrite_keeps_the_journals_of_those_before_it", &ran);
    let ran = workspace.run(&["record", "--upstream", "sandbox", "--out", "rec.har", "--overwrite", "--", "true"]);
    assert_eq!(ran.status, 2);
    assert_eq!((workspace.read("rec.har.before.journal"), workspace.read("rec.har.journal")), (first, second));
    record(&workspace, &["--overwrite"], &[TEMPLATES]);
    assert_eq!(operations(&workspace), [TEMPLATES]);
    let left: Vec<_> = fs::read_dir(workspace.path()).unwrap().map(|item| item.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".journal")), "{left:?}");
}

#[test]
fn recording_what_is_missing_takes_up_what_an_overwrite_put_aside() {
    let workspace = Workspace::new();
    killed(&workspace);
    let running = workspace.start("record", &["--out", "rec.har", "--overwrite"]);
    kill(Pid::from_raw(running.id().cast_signed()), Signal::SIGKILL).unwrap();
    drop(running);
    assert!(workspace.has("rec.har.before.journal"));
    let missing = ["replay", "rec.har", "--record-missing", "--force", "--upstream", "sandbox", "--", "true"];
    let ran = workspace.run(&missing);
    assert_output("record/leftover/recording_what_is_missing_takes_up_what_an_overwrite_put_aside", &ran);
    assert_eq!(entries(&workspace.read("rec.har")).len(), 1);
    assert!(!workspace.has("rec.har.before.journal"));
}

#[test]
fn a_left_over_journal_is_named_by_what_reads_its_fixture_and_mixed_into_nothing_that_replaces_it() {
    let workspace = Workspace::new();
    record(&workspace, &[], &[TEMPLATES]);
    killed_while(&workspace, &["--append"]);
    let both = || (workspace.read("rec.har"), workspace.read("rec.har.journal"));
    let before = both();
    fs::write(workspace.path().join("other.har"), &before.0).unwrap();
    let said = "`rec.har.journal` holds exchanges that are not in `rec.har`: their recording did not end; ";
    for command in [
        &["verify", "rec.har"][..],
        &["audit", "rec.har"],
        &["diff", "rec.har", "other.har"],
        &["redact", "rec.har"],
        &["redact", "rec.har", "--check"],
        &["replay", "rec.har", "--", "true"],
    ] {
        let ran = workspace.run(command);
        assert_eq!(ran.stderr.matches(said).count(), 1, "{command:?}: {}", ran.stderr);
    }
    let ran = workspace.run(&["verify", "rec.har", "rec.har.journal"]);
    assert!(!ran.stderr.contains(said), "{}", ran.stderr);
    for command in [
        &["import", "other.har", "--out", "rec.har", "--overwrite"][..],
        &["import", "other.har", "--out", "rec.har", "--append"],
        &["pack", "other.har", "--out", "rec.har", "--overwrite"],
        &["redact", "rec.har", "--in-place"],
    ] {
        let ran = workspace.run(command);
        assert_eq!(ran.status, 2, "{command:?}: {}", ran.stderr);
        let said = "contrail: `rec.har.journal` holds exchanges of a recording that did not end, and the next \
                    recording would add them to `rec.har`; keep them with `contrail pack rec.har.journal --out \
                    ANOTHER.har`, then remove the journal";
        assert_line(&ran.stderr, said);
        assert_eq!(both(), before, "{command:?}");
    }
    let ran = workspace.run(&["pack", "rec.har.journal", "--out", "kept.har"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    fs::remove_file(workspace.path().join("rec.har.journal")).unwrap();
    let ran = workspace.run(&["pack", "kept.har", "--out", "rec.har", "--overwrite"]);
    assert_eq!((ran.status, operations(&workspace)), (0, vec![GROUPS.to_owned()]), "{}", ran.stderr);
}

#[test]
fn a_left_over_journal_that_cannot_be_folded_stays_and_no_half_fixture_is_made() {
    let workspace = Workspace::new();
    killed(&workspace);
    let journal = workspace.read("rec.har.journal");
    let arguments = "record --upstream sandbox --seed seed.json --out rec.har -- true".split(' ');
    let ran = limited("ulimit -f 1").current_dir(workspace.path()).args(arguments).output().unwrap();
    let Ran { status, stderr, .. } = ran.into();
    assert_line(&stderr, "contrail: cannot write a temporary file for `rec.har`: File too large (os error 27)");
    assert!(status == 2, "{stderr}");
    assert!(!workspace.has("rec.har"));
    assert_eq!(workspace.read("rec.har.journal"), journal);
}

#[test]
fn a_signal_ends_a_fold_at_once_and_the_next_start_takes_the_journal_up() {
    let workspace = Workspace::new();
    record(&workspace, &[], &[TEMPLATES]);
    let fixture = workspace.path().join("rec.har");
    let running = workspace.start("record", &["--out", "rec.har", "--append"]);
    let token = token(running.address);
    get(running.address, GROUPS, &token);
    // The fold reads the old fixture first, and does not get to its end.
    fs::rename(&fixture, workspace.path().join("old.har")).unwrap();
    mkfifo(&fixture, Mode::S_IRWXU).unwrap();
    let process = Pid::from_raw(running.id().cast_signed());
    kill(process, Signal::SIGTERM).unwrap();
    let _folds = fs::OpenOptions::new().write(true).open(&fixture).unwrap();
    kill(process, Signal::SIGTERM).unwrap();
    let ran = running.wait();
    assert_eq!(ran.status, 130, "{}", ran.stderr);
    let said = "contrail: stopped before the exchanges were in the fixture; they are in rec.har.journal, and the next \
                `contrail record` adds them";
    assert_line(&ran.stderr, said);
    fs::rename(workspace.path().join("old.har"), &fixture).unwrap();
    record(&workspace, &["--append"], &[]);
    assert_eq!(operations(&workspace), [TEMPLATES, GROUPS]);
}
