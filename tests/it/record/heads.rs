//! `--head-to` and `--head`: heads of a trail's chain that are kept elsewhere, and what can happen to their file.

use std::{fmt::Write as _, fs};

use super::{
    harness::{TEMPLATES, Workspace, objects},
    trail::{SMALL, segments, trail, verify},
};
use crate::support::{
    command::Ran,
    golden::{assert_error, assert_golden, assert_line, assert_output, transcript},
    wire::call,
};

/// What the exchanges of these tests break.
const ALLOWED: [&str; 4] = ["--allow", "auth.missing", "--allow", "query.undocumented"];

/// Runs `watch` over six exchanges; `meanwhile` happens after three of them.
fn watch(workspace: &Workspace, options: &[&str], meanwhile: impl FnOnce()) -> Ran {
    let options = [&ALLOWED[..], options].concat();
    let running = workspace.start("watch", &options);
    for number in 0..3 {
        call(running.address, "GET", &format!("{TEMPLATES}?n={number}"), &[], b"");
    }
    meanwhile();
    for number in 3..6 {
        call(running.address, "GET", &format!("{TEMPLATES}?n={number}"), &[], b"");
    }
    running.finish()
}

/// Starts `watch` with a command that ends at once.
fn start(workspace: &Workspace, options: &[&str]) -> Ran {
    workspace.run(&[&["watch", "--upstream", "sandbox"], options, &["--allow", "unused", "--", "true"]].concat())
}

fn cut(workspace: &Workspace, name: &str, bytes: usize) {
    let text = fs::read(workspace.path().join(name)).unwrap();
    fs::write(workspace.path().join(name), &text[..text.len() - bytes]).unwrap();
}

#[test]
fn a_torn_head_is_ended_by_the_next_start_and_skipped_with_a_warning_by_readers() {
    let workspace = trail();
    let lines = workspace.read("heads").lines().count();
    cut(&workspace, "heads", 30);
    assert_eq!(start(&workspace, &SMALL).status, 0);
    let heads = workspace.read("heads");
    assert_eq!(heads.lines().count(), lines + 2, "{heads}");
    for command in ["verify", "audit"] {
        let ran = workspace.run(&[command, "trail", "--head", "heads", "--allow", "auth.missing"]);
        assert_eq!(ran.status, 0, "{command}: {}", ran.stderr);
        assert_line(
            &ran.stderr,
            "contrail: skipped 1 torn line of the kept heads `heads`: the write was cut short (a full disk, a power cut)",
        );
        assert_line(
            &ran.stdout,
            "the chain of `trail` is intact: 12 entries, 0 lines after its last link, head HASH, through 8 kept heads",
        );
    }
    assert_eq!(start(&workspace, &SMALL).status, 0);
}

#[test]
fn a_file_that_holds_anything_but_heads_is_not_added_to() {
    let workspace = Workspace::new();
    for rubbish in ["my notes\n", "{\"seq\":1}\n", "\u{0}\u{1}", "{\"log\":{\"entries\":[]}}"] {
        fs::write(workspace.path().join("notes"), rubbish).unwrap();
        let ran = start(&workspace, &["--trail", "trail", "--head-to", "notes"]);
        assert_error(
            &ran,
            2,
            "contrail: `notes`: it is not a file of heads (line 1 is not a head); name another file for `--head-to`",
        );
        assert_eq!(workspace.read("notes"), rubbish);
    }
    assert!(segments(&workspace).is_empty());
    let folder = start(&workspace, &["--trail", "trail", "--head-to", "."]);
    assert_output("record/heads/a_file_that_holds_anything_but_heads_is_not_added_to", &folder);
}

#[test]
fn the_file_of_heads_that_was_removed_during_a_run_is_made_anew_with_all_of_them() {
    let workspace = Workspace::new();
    let before = || workspace.read("heads").lines().count();
    let ran = watch(&workspace, &["--trail", "trail", "--head-to", "heads"], || {
        assert_eq!(before(), 1);
        fs::remove_file(workspace.path().join("heads")).unwrap();
    });
    assert_output("record/heads/the_file_of_heads_that_was_removed_during_a_run_is_made_anew_with_all_of_them", &ran);
    assert_eq!(workspace.read("heads").lines().count(), 2);
    assert_eq!(verify(&workspace, &["--head", "heads"]).status, 0);
}

#[test]
fn a_head_that_cannot_be_kept_is_named_as_that_and_not_as_the_journal() {
    let workspace = Workspace::new();
    let instead = || {
        fs::rename(workspace.path().join("heads"), workspace.path().join("aside")).unwrap();
        fs::write(workspace.path().join("heads"), "mine").unwrap();
    };
    let ran = watch(&workspace, &["--trail", "trail", "--head-to", "heads"], instead);
    assert_output("record/heads/a_head_that_cannot_be_kept_is_named_as_that_and_not_as_the_journal", &ran);
    assert_eq!(workspace.read("heads"), "mine");
    fs::remove_file(workspace.path().join("heads")).unwrap();
    let ran = watch(&workspace, &["--trail", "trail", "--head-to", "heads", "--format", "json"], instead);
    let summary = &objects(&ran, "summary")[0]["summary"];
    assert_line(summary["head_error"].as_str().unwrap(), "`heads`: another file has taken its place; move it away");
    assert!(summary["journal_error"].is_null(), "{}", ran.stderr);
}

#[test]
fn a_full_disk_is_named_where_the_first_head_cannot_be_kept() {
    let workspace = Workspace::new();
    let ran = start(&workspace, &["--trail", "trail", "--head-to", "/dev/full"]);
    assert_output("record/heads/a_full_disk_is_named_where_the_first_head_cannot_be_kept", &ran);
}

#[test]
fn a_segment_that_was_removed_during_a_run_is_named_as_that() {
    let workspace = Workspace::new();
    let ran = watch(&workspace, &["--trail", "trail", "--trail-segment", "2000"], || {
        fs::remove_file(workspace.path().join("trail").join(&segments(&workspace)[0])).unwrap();
    });
    assert_output("record/heads/a_segment_that_was_removed_during_a_run_is_named_as_that", &ran);
    let workspace = Workspace::new();
    let ran = watch(&workspace, &["--trail", "trail", "--trail-segment", "2000", "--format", "json"], || {
        fs::rename(workspace.path().join("trail"), workspace.path().join("moved")).unwrap();
    });
    let summary = &objects(&ran, "summary")[0]["summary"];
    assert_line(
        summary["reread_error"].as_str().unwrap(),
        "`trail/trail-00000001.journal`: No such file or directory (os error 2)",
    );
    assert!(ran.status == 2 && summary["journal_error"].is_null(), "{}", ran.stderr);
}

#[test]
fn two_trails_do_not_keep_their_heads_in_one_file_at_once() {
    let workspace = Workspace::new();
    let running = workspace.start("watch", &["--trail", "one", "--head-to", "heads"]);
    let second = start(&workspace, &["--trail", "two", "--head-to", "heads"]);
    assert_output("record/heads/two_trails_do_not_keep_their_heads_in_one_file_at_once", &second);
    assert_eq!(running.finish().status, 0);
    assert_eq!(workspace.read("heads").lines().count(), 2);
}

/// A trail in a folder of this name, its heads in `NAME.heads`.
fn named(workspace: &Workspace, name: &str) {
    let heads = format!("{name}.heads");
    watch(workspace, &["--trail", name, "--head-to", &heads], || {});
}

fn check(workspace: &Workspace, arguments: &[&str]) -> (i32, String) {
    let ran = workspace.run(&[&["audit"], arguments, &["--allow", "auth.missing"]].concat());
    (ran.status, ran.stdout + &ran.stderr)
}

#[test]
fn each_trail_is_held_to_the_heads_that_carry_its_id() {
    let workspace = Workspace::new();
    named(&workspace, "one");
    named(&workspace, "two");
    let (status, said) = check(&workspace, &["one", "two", "--head", "one.heads"]);
    assert_line(
        &said,
        "the chain of `one` is intact: 6 entries, 0 lines after its last link, head HASH, through 1 kept head",
    );
    assert_line(
        &said,
        "the chain of `two` is intact: 6 entries, 0 lines after its last link, head HASH, through 0 kept heads",
    );
    assert!(status == 0, "{said}");
    let (status, said) = check(&workspace, &["one", "two", "--head", "one.heads", "--head", "two.heads"]);
    assert!(status == 0 && said.matches("through 1 kept head\n").count() == 2, "{said}");
    let (status, said) = check(&workspace, &["one", "--head", "two.heads"]);
    assert_line(
        &said,
        "ALTERED: the trail was altered at `one/trail-00000001.journal`, line 1: no kept head belongs to this \
         trail; `two.heads` keeps heads of the trail ID: this trail was rewritten, or replaced it",
    );
    assert!(status == 1, "{said}");
    // One that was put in the place of another is found out, whatever stands beside it.
    fs::remove_dir_all(workspace.path().join("one")).unwrap();
    watch(&workspace, &["--trail", "one"], || {});
    let (status, said) = check(&workspace, &["one", "two", "--head", "one.heads", "--head", "two.heads"]);
    assert_line(
        &said,
        "ALTERED: the trail was altered at `one/trail-00000001.journal`, line 1: no kept head belongs to this \
         trail; `one.heads` keeps heads of the trail ID: this trail was rewritten, or replaced it",
    );
    assert!(status == 1, "{said}");
    assert_line(
        &said,
        "the chain of `two` is intact: 6 entries, 0 lines after its last link, head HASH, through 1 kept head",
    );
    let (status, said) = check(&workspace, &["two", "--head", "one.heads", "--head", "two.heads"]);
    assert_line(&said, "contrail: `one.heads` keeps heads of the trail ID, which was not named; name that trail too");
    assert!(status == 2, "{said}");
}

#[test]
fn heads_of_two_trails_do_not_go_to_one_file() {
    let workspace = Workspace::new();
    named(&workspace, "one");
    let heads = workspace.read("one.heads");
    let ran = start(&workspace, &["--trail", "two", "--head-to", "one.heads"]);
    assert_output("record/heads/heads_of_two_trails_do_not_go_to_one_file", &ran);
    assert_eq!(workspace.read("one.heads"), heads);
    // The same where the trail's folder was emptied.
    fs::remove_dir_all(workspace.path().join("one")).unwrap();
    let ran = start(&workspace, &["--trail", "one", "--head-to", "one.heads"]);
    assert_output("record/heads/heads_of_two_trails_do_not_go_to_one_file-2", &ran);
}

#[test]
fn a_start_on_a_trail_that_was_cut_or_written_anew_is_an_alarm_with_exit_status_2_in_every_report() {
    let cut = |workspace: &Workspace| {
        for name in segments(workspace).into_iter().skip(2) {
            fs::remove_file(workspace.path().join("trail").join(name)).unwrap();
        }
        "the trail was cut off: it ends after LINKS links, and `heads` keeps a head with 20"
    };
    // As many links as before, with other content; then the same with more of them.
    let anew = |workspace: &Workspace| {
        rewrite(workspace, 0);
        "the trail was rewritten: `trail/trail-00000001.journal` does not go through the head with 4 links that \
         `heads` keeps"
    };
    let longer = |workspace: &Workspace| {
        rewrite(workspace, 1);
        "the trail was rewritten: `trail/trail-00000001.journal` does not go through the head with 4 links that \
         `heads` keeps"
    };
    let beheaded = |workspace: &Workspace| {
        let heads = workspace.read("heads");
        fs::write(workspace.path().join("heads"), heads.lines().next().unwrap().to_owned() + "\n").unwrap();
        fs::remove_file(workspace.path().join("trail").join(&segments(workspace)[0])).unwrap();
        "the beginning of the trail is missing: `trail/trail-00000002.journal` begins after link 3, but the last head \
         in `heads` has 1"
    };
    // What was kept before the first segment is compared with nothing, once later heads are kept.
    let mut verified = String::new();
    for (spoil, runs) in [(cut as fn(&Workspace) -> &'static str, 2), (anew, 2), (longer, 2), (beheaded, 1)] {
        let workspace = trail();
        let said = spoil(&workspace);
        for run in 0..runs {
            let said = said.replace("LINKS", ["6", "16"][run]);
            let ran = watch(
                &workspace,
                &[&SMALL[..], &["--report", "junit=j.xml", "--report", "json=r.json"]].concat(),
                || {},
            );
            assert!(ran.stderr.starts_with(&format!("ALARM: {said}")), "{run}: {}", ran.stderr);
            let alarm = "ALARM: the trail does not go through its kept heads";
            assert_error(&ran, 2, &format!("exit status 2: {alarm}"));
            assert_line(&ran.stderr, "6 exchanges: 0 conform, 0 with gaps, 6 violate");
            let exit = &serde_json::from_str::<serde_json::Value>(&workspace.read("r.json")).unwrap()["exit"];
            assert_eq!(exit["because"][0], format!("{alarm}: {said}"));
            let error = format!("      <error type=\"trail\" message=\"{alarm}\">{said}</error>");
            assert_line(&workspace.read("j.xml"), &error);
        }
        verified += &transcript("contrail verify trail --head heads", &verify(&workspace, &["--head", "heads"]));
    }
    assert_golden("record/heads/a_trail_that_was_cut_or_written_anew.txt", &verified);
}

/// Writes the trail anew with the same id, in one segment whose chain is valid: as many links as it had, and `more`.
pub(super) fn rewrite(workspace: &Workspace, more: usize) {
    let names = segments(workspace);
    let id = workspace.read("heads").split("\"trail\":\"").nth(1).unwrap()[..32].to_owned();
    let links: usize = names
        .iter()
        .map(|name| {
            workspace.read(&format!("trail/{name}")).lines().filter(|line| line.starts_with("{\"_chain")).count()
        })
        .sum();
    let mut text = String::new();
    let mut prev = "0".repeat(64);
    for seq in 0..links + more {
        let (of, member) =
            if seq == 0 { (format!("trail {id}\n"), format!(",\"trail\":\"{id}\"")) } else { Default::default() };
        let hash = sha256(&format!("contrail chain 1\n{seq}\n{prev}\n{of}"));
        writeln!(text, "{{\"_chain\":{{\"seq\":{seq},\"prev\":\"{prev}\",\"lines\":[]{member},\"hash\":\"{hash}\"}}}}")
            .unwrap();
        prev = hash;
    }
    for name in names {
        fs::remove_file(workspace.path().join("trail").join(name)).unwrap();
    }
    fs::write(workspace.path().join("trail/trail-00000001.journal"), text).unwrap();
    assert!(!verify(workspace, &[]).stderr.contains("ALTERED"));
}

fn sha256(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let digits = digest.as_ref().iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from_digit(digit.into(), 16).unwrap()).collect()
}

#[test]
fn a_start_on_a_trail_whose_earlier_segments_are_elsewhere_or_that_was_killed_is_no_alarm() {
    let workspace = trail();
    let first = &segments(&workspace)[0];
    fs::create_dir(workspace.path().join("archive")).unwrap();
    fs::rename(workspace.path().join("trail").join(first), workspace.path().join("archive").join(first)).unwrap();
    assert_output("record/heads/a_trail_whose_first_segment_is_elsewhere", &start(&workspace, &SMALL));
    // A head in the middle of a segment is found there.
    let workspace = Workspace::new();
    watch(&workspace, &["--trail", "trail"], || {});
    let text = workspace.read("trail/trail-00000001.journal");
    let link = text.lines().filter(|line| line.starts_with("{\"_chain")).nth(3).unwrap();
    let link = &serde_json::from_str::<serde_json::Value>(link).unwrap()["_chain"];
    let id = &serde_json::from_str::<serde_json::Value>(text.lines().next().unwrap()).unwrap()["_chain"]["trail"];
    let head = format!("{{\"seq\":4,\"hash\":{},\"trail\":{id}}}\n", link["hash"]);
    fs::write(workspace.path().join("heads"), head).unwrap();
    assert_output("record/heads/a_head_in_the_middle_of_a_segment", &start(&workspace, &SMALL));
}

#[test]
fn heads_that_cover_no_entry_prove_nothing_and_none_before_the_first_link_is_one() {
    let workspace = Workspace::new();
    assert_eq!(start(&workspace, &["--trail", "trail", "--head-to", "heads"]).status, 0);
    let (status, said) = check(&workspace, &["trail", "--head", "heads"]);
    assert_line(
        &said,
        "the chain of `trail` is intact: 0 entries, 0 lines after its last link, head HASH, through 0 kept heads",
    );
    assert!(status == 2, "nothing was read: {said}");
    let zero = format!("{{\"seq\":0,\"hash\":\"{}\",\"trail\":\"{}\"}}", "0".repeat(64), "0".repeat(32));
    fs::write(workspace.path().join("zero"), zero).unwrap();
    let (status, said) = check(&workspace, &["trail", "--head", "zero"]);
    assert_line(
        &said,
        "contrail: `zero` holds no head, so no trail can be compared with it; name the file of `--head-to`",
    );
    assert!(status == 2, "{said}");
}

#[test]
fn the_reports_and_the_summary_name_a_head_and_a_trail_that_failed_at_the_end_of_a_run() {
    let reports = ["--report", "junit=j.xml", "--report", "json=r.json"];
    let no_head = |workspace: &Workspace| {
        fs::remove_file(workspace.path().join("heads")).unwrap();
        fs::create_dir(workspace.path().join("heads")).unwrap();
    };
    let no_segment = |workspace: &Workspace| {
        fs::remove_file(workspace.path().join("trail").join(&segments(workspace)[0])).unwrap();
    };
    for (what, spoil) in [
        ("the head of the trail could not be kept", no_head as fn(&Workspace)),
        ("the trail could not be read again", no_segment),
    ] {
        let workspace = Workspace::new();
        let ran = watch(&workspace, &[&SMALL[..], &reports].concat(), || spoil(&workspace));
        assert_line(&ran.stderr, &format!("exit status 2: {what}"));
        let exit = &serde_json::from_str::<serde_json::Value>(&workspace.read("r.json")).unwrap()["exit"];
        assert!(exit["because"][0].as_str().unwrap().starts_with(&format!("{what}: ")), "{exit}");
        let junit = workspace.read("j.xml");
        assert!(junit.contains(&format!("message=\"{what}")), "{junit}");
    }
}
