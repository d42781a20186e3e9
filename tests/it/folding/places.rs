//! Where fixtures are: folders that were renamed, that hold other things, or that are read-only.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::support::{
    command::{Ran, limited, run_in},
    golden::{assert_error, assert_golden, assert_line, transcript},
    har::unhashed,
};

fn path(workspace: &Workspace, name: &str) -> String {
    workspace.path(name).to_str().unwrap().to_owned()
}

fn folder_files(path: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(path).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A folder that was recorded as `one` and is called `two` now.
fn renamed(workspace: &Workspace) {
    let journal =
        workspace.journal("x.journal", &[get("/a", 200, r#"{"is":"a"}"#, 1), get("/b", 200, r#"{"is":"b"}"#, 2)]);
    workspace.fold(&[&journal], "one");
    fs::rename(workspace.path("one"), workspace.path("two")).unwrap();
}

#[test]
fn a_renamed_folder_is_written_by_every_command_under_the_name_that_its_har_has() {
    let workspace = Workspace::new();
    renamed(&workspace);
    let more = workspace.journal("more.journal", &[get("/b", 404, r#"{"is":"gone"}"#, 3)]);
    let appended = workspace.fold(&[&workspace.path("two"), &more], "two");
    assert_eq!((appended.har, appended.entries), (workspace.path("two/one.har"), 3));
    assert_eq!(
        folder_files(&workspace.path("two")).iter().filter(|name| recording::is_single_file(Path::new(name))).count(),
        1
    );
    assert_eq!(run(["verify", &path(&workspace, "two")]).stderr, "");

    let har = path(&workspace, "two/one.har");
    let ran =
        run(["import", &har, "--out", &path(&workspace, "two"), "--append", "--upstream", "https://tenant.example"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    workspace.fold(&[&more], "other.har");
    let ran = run(["unpack", &path(&workspace, "other.har"), "--out", &path(&workspace, "two"), "--overwrite"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let names: Vec<_> = folder_files(&workspace.path("two")).iter().map(|name| unhashed(name)).collect();
    assert_eq!(names, ["getThing-#-2-response.json", "one.har"]);
    let ran = run(["redact", "--in-place", &path(&workspace, "two")]);
    assert_eq!((ran.status, folder_files(&workspace.path("two")).len()), (0, 2), "{}", ran.stderr);
}

#[test]
fn a_folder_with_several_recordings_is_refused_by_writers_at_the_start() {
    let workspace = Workspace::new();
    renamed(&workspace);
    fs::copy(workspace.path("two/one.har"), workspace.path("two/copy.har")).unwrap();
    let before = files(&workspace.path("two"));
    let two = path(&workspace, "two");
    let har = path(&workspace, "two/one.har");
    for arguments in [
        &["record", "--upstream", "sandbox", "--out", &two, "--append", "--", "true"][..],
        &["record", "--upstream", "sandbox", "--out", &two, "--overwrite", "--", "true"],
        &["record", "--upstream", "sandbox", "--out", &two, "--replace", "getRateLimitPolicy", "--", "true"],
        &["replay", &two, "--record-missing", "--force", "--upstream", "sandbox", "--", "true"],
        &["import", &har, "--out", &two, "--append"],
        &["unpack", &har, "--out", &two, "--overwrite"],
    ] {
        let ran = run(arguments.iter().copied());
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        let said = "contrail: `FOLDER/two`: the folder holds several recordings (`copy.har`, `one.har`); move all but \
                    one away";
        assert_line(&ran.stderr, said);
        assert!(!workspace.path("two.journal").exists(), "{arguments:?}");
    }
    assert_eq!(files(&workspace.path("two")), before);
}

#[test]
fn a_name_that_fits_no_fixture_is_refused_before_anything_is_recorded() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("mine")).unwrap();
    fs::write(workspace.path("mine/notes.md"), "mine").unwrap();
    for (out, said) in [
        ("x.har/", "it ends in .har like a file and in `/` like a folder; leave one of them out"),
        ("x.json", "a fixture is a folder, or one file whose name ends in .har"),
        ("x.JSON/", "a fixture is a folder, or one file whose name ends in .har"),
        ("mine", "the folder holds other files and no recording; name a new or an empty folder"),
    ] {
        for how in [None, Some("--append"), Some("--overwrite")] {
            let out = path(&workspace, out);
            let arguments = ["record", "--upstream", "sandbox", "--out", &out];
            let ran = run(arguments.into_iter().chain(how).chain(["--", "true"]));
            assert_error(&ran, 2, &format!("contrail: `{out}`: {said}"));
        }
    }
    // Elsewhere that is standard input or output.
    for arguments in [&["record", "--upstream", "sandbox"][..], &["import", "mine"]] {
        let ran = run_in(workspace.folder.path(), [arguments, &["--out", "-"]].concat());
        let said =
            "contrail: `-`: a fixture does not go to standard output; name a folder, or a file that ends in .har";
        assert_error(&ran, 2, said);
    }
    assert_eq!(files_below(workspace.folder.path()), ["mine/notes.md"]);
}

#[test]
fn of_many_recordings_in_a_folder_a_refusal_names_the_first() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("many")).unwrap();
    for number in 1..=7 {
        fs::write(workspace.path("many").join(format!("{number}.har")), "{}").unwrap();
    }
    let ran = run_in(workspace.folder.path(), ["record", "--upstream", "sandbox", "--out", "many", "--", "true"]);
    let said = "(`1.har`, `2.har`, `3.har`, `4.har`, `5.har`, 2 more); move all but one away\n";
    assert!(ran.status == 2 && ran.stderr.ends_with(said), "{}", ran.stderr);
}

fn files_below(path: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for item in fs::read_dir(path).unwrap().map(Result::unwrap) {
        let name = item.file_name().into_string().unwrap();
        if item.path().is_dir() {
            found.extend(files_below(&item.path()).into_iter().map(|below| format!("{name}/{below}")));
        } else {
            found.push(name);
        }
    }
    found.sort();
    found
}

#[test]
fn an_empty_folder_is_a_place_for_a_new_fixture_also_with_what_systems_put_there() {
    let workspace = Workspace::new();
    for (name, inside) in [("empty", None), ("git", Some(".gitkeep")), ("volume", Some("lost+found"))] {
        fs::create_dir(workspace.path(name)).unwrap();
        if let Some(inside) = inside {
            fs::create_dir(workspace.path(name).join(inside)).unwrap();
        }
        let journal = workspace.journal(&format!("{name}.x.journal"), &[get("/a", 200, "{}", 1)]);
        let ran = run(["unpack", journal.to_str().unwrap(), "--out", &path(&workspace, name)]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(workspace.path(name).join(format!("{name}.har")).exists());
    }
}

#[test]
fn a_place_that_cannot_be_written_is_refused_at_the_start() {
    let workspace = Workspace::new();
    renamed(&workspace);
    fs::set_permissions(workspace.path("two"), fs::Permissions::from_mode(0o500)).unwrap();
    // Root may write everywhere.
    if fs::write(workspace.path("two/probe"), "").is_err() {
        let ran = run(["record", "--upstream", "sandbox", "--out", &path(&workspace, "two"), "--append", "--", "true"]);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert_line(&ran.stderr, "nothing can be written there (Permission denied");
    }
    fs::set_permissions(workspace.path("two"), fs::Permissions::from_mode(0o700)).unwrap();
    // A file where a folder would have to be stops anyone.
    fs::write(workspace.path("file"), "").unwrap();
    let ran = run(["record", "--upstream", "sandbox", "--out", &path(&workspace, "file/fx"), "--", "true"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
}

/// Runs a command that may write files of a few kilobytes at most, as if the disk were full behind that.
fn cramped(workspace: &Workspace, arguments: &[&str]) -> Ran {
    limited("ulimit -f 1").current_dir(workspace.folder.path()).args(arguments).output().unwrap().into()
}

#[test]
fn a_file_that_cannot_be_written_whole_stays_as_it_was_under_every_command_that_writes() {
    let workspace = Workspace::new();
    let secret = r#"{"client_secret":"S3cret-0123456789abcdef"}"#;
    let many: Vec<_> = (0..40).map(|nth| post(&format!("/{nth}"), secret, 200, r#"{"is":"there"}"#, nth)).collect();
    let journal = workspace.journal("x.journal", &many);
    workspace.fold(&[&journal], "fx.har");
    fs::write(workspace.path("secret.json"), format!("[{}{secret}]", format!("{secret},").repeat(100))).unwrap();
    let origin = "https://tenant.example";
    let mut all = String::new();
    for (arguments, out) in [
        (&["pack", "fx.har", "--out", "out.har", "--overwrite"][..], "out.har"),
        (&["import", "fx.har", "--out", "out.har", "--overwrite", "--upstream", origin], "out.har"),
        (&["redact", "secret.json", "--out", "out.json", "--overwrite"], "out.json"),
        (&["redact", "--in-place", "secret.json"], "secret.json"),
        (&["contract", "--export", "out.yaml"], "out.yaml"),
        (&["verify", "fx.har", "--report", "html=out.html"], "out.html"),
        (&["replay", "fx.har", "--report", "html=out.html", "--listen", "127.0.0.1:0", "--", "true"], "out.html"),
    ] {
        if out != "secret.json" {
            fs::write(workspace.path(out), "what was there").unwrap();
        }
        let before = fs::read_to_string(workspace.path(out)).unwrap();
        let ran = cramped(&workspace, arguments);
        all += &transcript(&format!("contrail {}", arguments.join(" ")), &ran);
        assert_eq!(fs::read_to_string(workspace.path(out)).unwrap(), before, "{arguments:?}");
        let left: Vec<_> =
            folder_files(workspace.folder.path()).into_iter().filter(|name| name.starts_with('.')).collect();
        assert_eq!(left, [""; 0], "{arguments:?}");
    }
    assert_golden("cli/a_full_disk.txt", &all);
}

#[test]
fn a_link_that_is_written_to_stays_a_link_and_what_it_leads_to_is_replaced() {
    let workspace = Workspace::new();
    let journal = workspace.journal("x.journal", &[get("/api/v2/connection-profiles/templates", 200, "{}", 1)]);
    workspace.fold(&[&journal], "fx.har");
    fs::create_dir(workspace.path("store")).unwrap();
    fs::write(workspace.path("secret.json"), r#"{"client_secret":"S3cret-0123456789abcdef"}"#).unwrap();
    let origin = "https://tenant.example";
    for (arguments, out) in [
        (&["pack", "fx.har", "--out", "out.har", "--overwrite"][..], "out.har"),
        (&["import", "fx.har", "--out", "out.har", "--overwrite", "--upstream", origin], "out.har"),
        (&["redact", "secret.json", "--out", "out.json", "--overwrite"], "out.json"),
        (&["redact", "--in-place", "out.json"], "out.json"),
        (&["contract", "--export", "out.yaml"], "out.yaml"),
        (&["verify", "fx.har", "--report", "html=out.html"], "out.html"),
        (
            &[
                "watch",
                "--upstream",
                "sandbox",
                "--trail",
                "trail",
                "--head-to",
                "heads",
                "--allow",
                "unused",
                "--",
                "true",
            ],
            "heads",
        ),
    ] {
        // To a file, to one of another name, and to none yet.
        for (target, text) in [(out, Some("")), ("target", Some("")), ("new", None)] {
            let (link, target) = (workspace.path(out), workspace.path("store").join(target));
            let _ = fs::remove_dir_all(workspace.path("trail"));
            match text {
                Some(_) if arguments.contains(&"--in-place") => {
                    fs::copy(workspace.path("secret.json"), &target).unwrap();
                }
                Some(text) => fs::write(&target, text).unwrap(),
                None if arguments.contains(&"--in-place") => continue,
                None => {}
            }
            std::os::unix::fs::symlink(&target, &link).unwrap();
            let ran: Ran = crate::support::command::contrail()
                .current_dir(workspace.folder.path())
                .args(arguments)
                .output()
                .unwrap()
                .into();
            assert_ne!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
            assert_eq!(fs::read_link(&link).unwrap(), target, "{arguments:?}");
            let text = fs::read_to_string(&target).unwrap();
            assert!(text.len() > 20 && !text.contains("S3cret"), "{arguments:?}: {text}");
            assert_eq!(folder_files(&workspace.path("store")).len(), 1, "{arguments:?}");
            fs::remove_file(&link).unwrap();
            fs::remove_file(&target).unwrap();
        }
    }
}
