//! Trails: segments, the chain across them, its head kept elsewhere, and what is seen of tampering.

use std::fs;

use super::harness::{SECRET, TEMPLATES, Workspace, get, objects, token};
use crate::support::{
    command::Ran,
    golden::{assert_error, assert_line, assert_output, assert_reported},
    wire::call,
};

pub const SMALL: [&str; 6] = ["--trail", "trail", "--trail-segment", "2000", "--head-to", "heads"];

/// A trail of some segments, its heads kept in `heads`.
pub fn trail() -> Workspace {
    let workspace = Workspace::new();
    for _ in 0..2 {
        let running = workspace.start("watch", &SMALL);
        for number in 0..6 {
            call(running.address, "GET", &format!("{TEMPLATES}?n={number}"), &[], b"");
        }
        running.finish();
    }
    workspace
}

pub fn segments(workspace: &Workspace) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(workspace.path().join("trail"))
        .unwrap()
        .map(|item| item.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".journal"))
        .collect();
    names.sort();
    names
}

pub fn verify(workspace: &Workspace, options: &[&str]) -> Ran {
    workspace.run(&[&["verify", "trail", "--allow", "auth.missing", "--allow", "query.undocumented"], options].concat())
}

/// Changes the lines of a segment.
pub fn change(workspace: &Workspace, segment: &str, change: impl FnOnce(&mut Vec<String>)) {
    let path = workspace.path().join("trail").join(segment);
    let mut lines: Vec<String> = fs::read_to_string(&path).unwrap().split_inclusive('\n').map(str::to_owned).collect();
    change(&mut lines);
    fs::write(path, lines.concat()).unwrap();
}

#[test]
fn a_torn_last_line_of_a_trail_is_reported_by_its_next_start() {
    let workspace = trail();
    let last = segments(&workspace).pop().unwrap();
    change(&workspace, &last, |lines| lines.push("{\"startedDateTime\":\"20".to_owned()));
    let verified = verify(&workspace, &[]);
    let said = format!(
        "contrail: left out a torn last line of `trail/{last}` (22 bytes): contrail was killed while it wrote the \
         exchange, or is still writing it"
    );
    assert_error(&verified, 0, &said);
    let ran = workspace.start("watch", &SMALL).finish();
    let said = "dropped a torn last line from the last segment of `trail` (22 bytes): contrail was killed while it \
                wrote the exchange";
    assert_error(&ran, 0, said);
    assert_output("record/trail/a_trail_whose_torn_line_was_dropped", &verify(&workspace, &[]));
}

#[test]
pub fn segments_rotate_at_the_configured_size_and_are_one_chain_with_the_heads_that_were_kept() {
    let workspace = trail();
    assert!(segments(&workspace).len() > 4, "{:?}", segments(&workspace));
    let verified = verify(&workspace, &["--head", "heads"]);
    assert_eq!(verified.status, 0, "{}", verified.stderr);
    let last = workspace.read("heads").lines().last().unwrap().to_owned();
    let head: serde_json::Value = serde_json::from_str(&last).unwrap();
    let whole = format!("is intact: 12 entries, 0 lines after its last link, head {}", head["hash"].as_str().unwrap());
    assert_line(&verified.stderr, &format!("contrail: the chain of `trail` {whole}, through 7 kept heads"));
    // One segment by itself is a part of the chain.
    let one = workspace.run(&["verify", &format!("trail/{}", segments(&workspace)[2])]);
    assert_line(
        &one.stderr,
        "contrail: the chain of `trail/trail-00000003.journal` is intact: 2 entries, 0 lines after its last link, head HASH; \
         the segments before and after those that were named are unchecked",
    );
}

#[test]
fn what_was_altered_removed_or_reordered_is_named_with_exit_status_1() {
    let altered = "this line was altered";
    for (what, line, said, alter) in [
        (
            "altered",
            2,
            altered,
            (|lines| lines[1] = lines[1].replace("\"status\":401", "\"status\":200")) as fn(&mut Vec<String>),
        ),
        ("altered to no JSON", 2, altered, |lines| lines[1] = lines[1].replacen('{', "[", 1)),
        ("removed", 2, "1 of the lines before this one was removed", |lines| drop(lines.remove(1))),
        ("reordered", 2, altered, |lines| lines.swap(1, 3)),
        ("its chain removed", 1, "a segment begins with a line of the chain, and this line is another", |lines| {
            lines.retain(|line| !line.starts_with("{\"_chain\""));
        }),
    ] {
        let workspace = trail();
        let second = &segments(&workspace)[1];
        change(&workspace, second, alter);
        let verified = verify(&workspace, &[]);
        let named = format!("contrail: the trail was altered at `trail/{second}`, line {line}: {said}");
        assert_line(&verified.stderr, &named);
        assert_eq!(verified.status, 1, "{what}: {}", verified.stderr);
    }
}

#[test]
fn a_segment_that_is_gone_is_missed() {
    let workspace = trail();
    for (gone, at, batches) in [(0, 1, [0, 3]), (2, 3, [6, 9])] {
        let segment = workspace.path().join("trail").join(&segments(&workspace)[gone]);
        let text = fs::read(&segment).unwrap();
        fs::remove_file(&segment).unwrap();
        let verified = verify(&workspace, &[]);
        assert_eq!(verified.status, 1, "{}", verified.stderr);
        let name = format!("trail/{}", segments(&workspace)[at - 1]);
        let [expected, got] = batches;
        let said = format!("expected batch {expected} of the chain, found batch {got}");
        let rest = "lines before it were removed or moved";
        assert_line(&verified.stderr, &format!("contrail: the trail was altered at `{name}`, line 1: {said}: {rest}"));
        fs::write(segment, text).unwrap();
    }
}

#[test]
fn a_chain_alone_does_not_show_that_its_end_was_cut_off_and_a_kept_head_does() {
    let workspace = trail();
    let last = segments(&workspace).pop().unwrap();
    change(&workspace, &last, |lines| lines.truncate(1));
    fs::remove_file(workspace.path().join("trail").join(&last)).unwrap();
    let last = segments(&workspace).pop().unwrap();
    change(&workspace, &last, |lines| lines.truncate(1));
    assert_eq!(verify(&workspace, &[]).status, 0);
    let verified = verify(&workspace, &["--head", "heads"]);
    assert_eq!(verified.status, 1, "{}", verified.stderr);
    assert_line(
        &verified.stderr,
        "contrail: the trail was altered at `trail/trail-00000007.journal`, line 1: the chain ends after 17 links, \
         but the kept head has 20: the end was cut off",
    );
}

#[test]
pub fn segments_that_changed_places_are_altered_and_a_torn_end_is_not() {
    let workspace = trail();
    let names = segments(&workspace);
    let path = |name: &str| workspace.path().join("trail").join(name);
    fs::rename(path(&names[1]), path("aside")).unwrap();
    fs::rename(path(&names[2]), path(&names[1])).unwrap();
    fs::rename(path("aside"), path(&names[2])).unwrap();
    let verified = verify(&workspace, &[]);
    assert_eq!(verified.status, 1, "{}", verified.stderr);
    let named = format!(
        "contrail: the trail was altered at `trail/{}`, line 1: expected batch 3 of the chain, found batch 6: \
         lines before it were removed or moved",
        names[1]
    );
    assert_line(&verified.stderr, &named);

    // What a killed process leaves is no alteration, and the next run goes on behind it.
    let workspace = trail();
    let last = segments(&workspace).pop().unwrap();
    change(&workspace, &last, |lines| lines.push("{\"startedDateTime\":\"20".to_owned()));
    assert_eq!(verify(&workspace, &["--head", "heads"]).status, 0);
    workspace.start("watch", &SMALL).finish();
    let verified = verify(&workspace, &["--head", "heads"]);
    assert_eq!(verified.status, 0, "{}", verified.stderr);
}

#[test]
fn a_comparison_a_replay_and_a_search_of_an_altered_trail_name_the_line_and_do_not_succeed() {
    let workspace = trail();
    let second = segments(&workspace).swap_remove(1);
    change(&workspace, &second, |lines| lines[1] = lines[1].replacen("n=", "m=", 1));
    let named = format!("contrail: the trail was altered at `trail/{second}`, line 2: this line was altered");
    for arguments in [
        &["diff", "trail", "trail"][..],
        &["scan", "trail"],
        &["replay", "trail", "--listen", "127.0.0.1:0", "--allow", "auth.missing", "--", "true"],
    ] {
        let ran = workspace.run(arguments);
        assert_line(&ran.stderr, &named);
        assert_ne!(ran.status, 0, "{arguments:?}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn a_line_that_no_link_covers_stays_known_as_one_that_a_later_start_adopted() {
    let workspace = trail();
    let names = segments(&workspace);
    let first = workspace.read(&format!("trail/{}", names[0]));
    let forged = first.lines().find(|line| line.starts_with("{\"startedDateTime")).unwrap();
    let last = format!("trail/{}", names.last().unwrap());
    fs::write(workspace.path().join(&last), format!("{}{forged}\n", workspace.read(&last))).unwrap();
    let ran = workspace.start("watch", &SMALL).finish();
    let said = "adopted 1 line at the end of `trail` that no link of its chain covers: contrail was killed before it \
                wrote the link, or somebody added them";
    assert_line(&ran.stderr, said);
    let verified = verify(&workspace, &["--head", "heads"]);
    let adopted = "1 line ADOPTED by a later start, so that nothing shows who wrote them";
    assert!(verified.status == 0 && verified.stderr.contains(adopted), "{}", verified.stderr);
    // The mark is part of the chain.
    let text = workspace.read(&last);
    fs::write(workspace.path().join(&last), text.replace(",\"adopted\":true", "")).unwrap();
    let verified = verify(&workspace, &[]);
    assert!(
        verified.status == 1 && verified.stderr.contains("this line of the chain was altered"),
        "{}",
        verified.stderr
    );
}

#[test]
fn an_audit_holds_a_trail_to_the_heads_that_were_kept_as_verify_does() {
    let workspace = trail();
    let audit = |options: &[&str]| workspace.run(&[&["audit", "trail", "--allow", "auth.missing"], options].concat());
    assert_eq!(audit(&["--head", "heads"]).status, 0);
    for name in segments(&workspace).into_iter().skip(2) {
        fs::remove_file(workspace.path().join("trail").join(name)).unwrap();
    }
    assert_eq!(audit(&[]).status, 0);
    let cut = audit(&["--head", "heads"]);
    assert_reported(
        &cut,
        1,
        "ALTERED: the trail was altered at `trail/trail-00000002.journal`, line 5: the chain ends after 6 links, but \
         the kept head has 20: the end was cut off",
    );
    assert_eq!(audit(&["--head", "nowhere"]).status, 2);
}

#[test]
fn two_processes_do_not_write_to_one_trail_nor_to_one_fixture_from_two_trails() {
    let workspace = Workspace::new();
    let running = workspace.start("record", &["--out", "rec.har", "--trail", "trail"]);
    for (second, at) in [
        (&["watch", "--trail", "trail"][..], "trail"),
        (&["record", "--out", "rec.har", "--trail", "other"], "rec.har.journal"),
    ] {
        let ran = workspace.run(&[second, &["--upstream", "sandbox", "--listen", "127.0.0.1:0"]].concat());
        let said = format!("another process is writing to the journal `{at}`; stop it, or record to another place");
        assert_error(&ran, 2, &format!("contrail: {said}"));
    }
    call(running.address, "GET", TEMPLATES, &[], b"");
    running.finish();
    assert_eq!(verify(&workspace, &[]).status, 0);
}

#[test]
fn a_trail_that_was_written_anew_is_not_the_one_whose_head_was_kept() {
    let workspace = trail();
    fs::remove_dir_all(workspace.path().join("trail")).unwrap();
    let heads = workspace.read("heads");
    let running = workspace.start("watch", &["--trail", "trail"]);
    for _ in 0..30 {
        call(running.address, "GET", TEMPLATES, &[], b"");
    }
    running.finish();
    fs::write(workspace.path().join("heads"), heads.lines().next().unwrap()).unwrap();
    // Even the first link, which covers nothing yet, has another hash.
    for head in heads.lines().take(2) {
        fs::write(workspace.path().join("heads"), head).unwrap();
        let verified = verify(&workspace, &["--head", "heads"]);
        assert_error(
            &verified,
            1,
            "contrail: the trail was altered at `trail/trail-00000001.journal`, line 1: no kept head belongs to \
             this trail; `heads` keeps heads of the trail ID: this trail was rewritten, or replaced it",
        );
    }
}

#[test]
fn a_secret_that_is_recognised_after_an_entry_holds_it_is_counted_since_a_trail_keeps_it() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--trail", "trail", "--format", "json"]);
    call(running.address, "GET", &format!("/api/v2/{SECRET}"), &[], b"");
    get(running.address, TEMPLATES, &token(running.address));
    let ran = running.finish();
    assert_eq!(objects(&ran, "summary")[0]["summary"]["late"], 1, "{}", ran.stderr);
}

#[test]
fn a_segment_by_itself_is_a_part_of_a_chain_and_nothing_else_is_claimed_of_it() {
    let workspace = trail();
    let segment = format!("trail/{}", segments(&workspace)[2]);
    for command in ["verify", "audit"] {
        let ran = workspace.run(&[command, &segment, "--allow", "auth.missing"]);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_line(
            &said,
            "the chain of `trail/trail-00000003.journal` is intact: 2 entries, 0 lines after its last link, head HASH; the \
             segments before and after those that were named are unchecked",
        );
        assert!(ran.status == 0, "{said}");
        // A head that was kept of what comes later proves nothing of it, and is no alarm.
        let ran = workspace.run(&[command, &segment, "--allow", "auth.missing", "--head", "heads"]);
        assert_output(&format!("record/trail/a_segment_by_itself_and_a_later_head-{command}"), &ran);
    }
    let ran = workspace.run(&["audit", &segment, "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["integrity"][0]["part"], true);
    let ran = workspace.run(&["audit", "trail", "--format", "json", "--head", "heads"]);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["integrity"][0]["part"], false);
    let heads = workspace.read("heads");
    // The first one covers no entry.
    let distinct: std::collections::BTreeSet<&str> = heads.lines().skip(1).collect();
    assert_eq!(report["integrity"][0]["keptHeads"], distinct.len());
}

#[test]
fn heads_that_hold_nothing_to_anything_are_refused() {
    let workspace = trail();
    fs::write(workspace.path().join("none"), "\n").unwrap();
    fs::copy("fixtures/gaps.har", workspace.path().join("gaps.har")).unwrap();
    for command in ["verify", "audit"] {
        let ran = workspace.run(&[command, "trail", "--head", "none"]);
        assert_error(
            &ran,
            2,
            "contrail: `none` holds no head, so no trail can be compared with it; name the file of `--head-to`",
        );
        let ran = workspace.run(&[command, "gaps.har", "--head", "heads"]);
        assert_error(
            &ran,
            2,
            "contrail: `gaps.har` is not a trail, so `--head` has no effect on it; check it without `--head`",
        );
    }
}

#[test]
fn what_was_added_to_a_link_or_to_the_end_of_an_earlier_segment_is_seen() {
    let link = "3: this line of the chain was altered";
    let torn = "6: this line was added: contrail ends a segment with a whole line";
    for (said, alter) in [
        (link, (|lines| lines[2] = lines[2].replace("}}\n", "}} \n")) as fn(&mut Vec<String>)),
        (link, |lines| lines[2] = lines[2].replace("}}\n", ",\"x\":1}}\n")),
        (torn, |lines| lines.push("{\"startedDateTime\":\"20".to_owned())),
    ] {
        let workspace = trail();
        let second = &segments(&workspace)[1];
        change(&workspace, second, alter);
        let verified = verify(&workspace, &[]);
        let named = format!("contrail: the trail was altered at `trail/{second}`, line {said}");
        assert_error(&verified, 1, &named);
    }
}

#[test]
fn a_head_is_not_kept_in_the_folder_of_its_own_trail() {
    for file in ["trail/heads", "trail/trail-00000001.journal", "trail/../trail/lock"] {
        let workspace = Workspace::new();
        let ran = workspace.run(&[
            "watch",
            "--upstream",
            "sandbox",
            "--listen",
            "127.0.0.1:0",
            "--trail",
            "trail",
            "--head-to",
            file,
            "--",
            "true",
        ]);
        let why = "where it proves nothing; name a file elsewhere for `--head-to`";
        assert_error(&ran, 2, &format!("contrail: `{file}`: it is in the trail's folder, {why}"));
        assert!(segments(&workspace).is_empty(), "{file}");
    }
}

#[test]
fn a_second_process_cannot_write_to_a_trail_whose_lock_file_was_removed() {
    for calls in [1, 9] {
        let workspace = Workspace::new();
        let running = workspace.start("watch", &SMALL);
        for number in 0..calls {
            call(running.address, "GET", &format!("{TEMPLATES}?n={number}"), &[], b"");
        }
        fs::remove_file(workspace.path().join("trail/lock")).unwrap();
        let before = segments(&workspace);
        let second = workspace.run(&["watch", "--upstream", "sandbox", "--trail", "trail", "--", "true"]);
        assert_error(
            &second,
            2,
            "contrail: another process is writing to the journal `trail`; stop it, or record to another place",
        );
        assert_eq!(segments(&workspace), before);
        call(running.address, "GET", TEMPLATES, &[], b"");
        running.finish();
        assert_eq!(verify(&workspace, &["--head", "heads"]).status, 0);
        assert_eq!(workspace.start("watch", &SMALL).finish().status, 0);
    }
}
