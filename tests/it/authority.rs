//! `contrail ca` where something goes wrong: nothing that was there is lost, and the message says what to do.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use serde_json::Value;

use crate::support::command::{Ran, contrail, limited, run};
use crate::support::golden::{assert_line, assert_output};

const UPSTREAM: &str = "https://tenant.example";

fn ca(base: &Path, arguments: &[&str]) -> Ran {
    let base = base.to_str().unwrap();
    run([&["ca"][..], arguments, &["--upstream", UPSTREAM, "--ca-dir", base]].concat())
}

/// What `contrail ca` prints of the authority, which has to be usable.
fn printed(base: &Path) -> Value {
    let ran = ca(base, &["print", "--format", "json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn folder(base: &Path) -> PathBuf {
    Path::new(printed(base)["path"].as_str().unwrap()).parent().unwrap().to_owned()
}

fn hidden(base: &Path) -> Vec<String> {
    let names = fs::read_dir(base).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with('.')).collect()
}

fn begin(base: &Path, action: &str) -> Child {
    let mut command = contrail();
    command.args(["ca", action, "--format", "json", "--upstream", UPSTREAM, "--ca-dir"]).arg(base);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn processes_that_begin_at_once_end_up_with_one_authority() {
    let base = tempfile::tempdir().unwrap();
    let all: Vec<Child> = (0..8).map(|_| begin(base.path(), "print")).collect();
    let all: Vec<_> = all.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let expected = printed(base.path());
    for one in all {
        assert_eq!(one.status.code(), Some(0), "{}", String::from_utf8_lossy(&one.stderr));
        assert_eq!(serde_json::from_slice::<Value>(&one.stdout).unwrap(), expected);
    }
    assert_eq!(hidden(base.path()), [""; 0]);
}

#[test]
fn rotations_at_once_leave_one_authority_that_is_new_and_whole() {
    let base = tempfile::tempdir().unwrap();
    let before = printed(base.path());
    let all: Vec<Child> = (0..6).map(|_| begin(base.path(), "rotate")).collect();
    for child in all {
        let ran = child.wait_with_output().unwrap();
        assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    }
    assert_ne!(printed(base.path()), before);
    assert_eq!(hidden(base.path()), [""; 0]);
}

#[test]
fn a_rotation_that_is_killed_leaves_the_old_authority_or_the_new_one_whole() {
    let base = tempfile::tempdir().unwrap();
    printed(base.path());
    let mut in_draft = 0;
    for _ in 0..20 {
        let mut child = begin(base.path(), "rotate");
        while hidden(base.path()).is_empty() && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
        in_draft += usize::from(!hidden(base.path()).is_empty());
        let kept = printed(base.path());
        assert_eq!(kept, printed(base.path()));
        for name in hidden(base.path()) {
            fs::remove_dir_all(base.path().join(name)).unwrap();
        }
    }
    assert!(in_draft > 0, "every rotation ended before it was killed");
}

#[test]
fn a_key_without_its_certificate_in_a_draft_is_not_taken_for_an_authority() {
    let base = tempfile::tempdir().unwrap();
    let draft = base.path().join(".draft-killed");
    fs::create_dir(&draft).unwrap();
    fs::write(draft.join("ca-key.pem"), "a part of a key").unwrap();
    let first = printed(base.path());
    assert_eq!(printed(base.path()), first);
    assert_eq!(hidden(base.path()), [".draft-killed"], "a process may still write to it");
}

#[test]
fn a_draft_that_is_an_hour_old_is_removed() {
    let base = tempfile::tempdir().unwrap();
    let draft = base.path().join(".draft-killed");
    fs::create_dir(&draft).unwrap();
    fs::write(draft.join("ca-key.pem"), "a part of a key").unwrap();
    let touched = std::process::Command::new("touch").args(["-d", "2 hours ago"]).arg(&draft).status().unwrap();
    assert!(touched.success());
    printed(base.path());
    assert_eq!(hidden(base.path()), [""; 0]);
}

#[test]
fn an_authority_survives_a_rotation_that_cannot_write() {
    let base = tempfile::tempdir().unwrap();
    let before = printed(base.path());
    // No file may get a single block.
    let mut command = limited("trap '' XFSZ; ulimit -f 0");
    command.args(["ca", "rotate", "--upstream", UPSTREAM, "--ca-dir"]).arg(base.path());
    let ran = command.output().unwrap();
    let message = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{message}");
    assert_line(
        &message,
        "contrail: cannot use the certificate authority at `FOLDER/.draft-ID/ca-key.pem` (--ca-dir DIR names another place): File too large (os error 27)",
    );
    assert_eq!(printed(base.path()), before);
    assert_eq!(hidden(base.path()), [""; 0]);
}

#[test]
fn a_missing_file_is_named_with_the_command_that_mends_it_and_other_files_stay() {
    let base = tempfile::tempdir().unwrap();
    for missing in ["ca.pem", "ca-key.pem", "authority.json"] {
        let folder = folder(base.path());
        fs::write(folder.join("notes.txt"), "mine").unwrap();
        fs::remove_file(folder.join(missing)).unwrap();
        let ran = ca(base.path(), &["print"]);
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        let (file, at) = (folder.join(missing), base.path().display());
        let rotate = format!("`contrail ca rotate --ca-dir {at}` makes a new authority");
        let said = format!("contrail: `{}` is not usable: the file is missing; {rotate}", file.display());
        assert_line(&ran.stderr, &said);
        assert_eq!(ca(base.path(), &["rotate"]).status, 0);
        assert_eq!(fs::read_to_string(folder.join("notes.txt")).unwrap(), "mine");
    }
}

#[test]
fn a_folder_of_other_files_in_the_authoritys_place_is_named_and_kept() {
    let base = tempfile::tempdir().unwrap();
    let folder = folder(base.path());
    for name in ["ca.pem", "ca-key.pem", "authority.json"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    let ran = ca(base.path(), &["print"]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
    assert_output("authority/a_folder_of_other_files_in_the_authoritys_place_is_named_and_kept", &ran);
    assert_eq!(ca(base.path(), &["rotate"]).status, 0);
    assert_eq!(fs::read_to_string(folder.join("notes.txt")).unwrap(), "mine");
    printed(base.path());
}

#[test]
fn rotating_all_leaves_folders_that_contrail_did_not_make() {
    let base = tempfile::tempdir().unwrap();
    let mine = base.path().join("mine");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("ca-key.pem"), "the key of another authority").unwrap();
    fs::write(base.path().join("notes.txt"), "mine").unwrap();
    let before = printed(base.path());
    let ran = run(["ca", "rotate", "--ca-dir", base.path().to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(fs::read_to_string(mine.join("ca-key.pem")).unwrap(), "the key of another authority");
    assert_eq!(fs::read_to_string(base.path().join("notes.txt")).unwrap(), "mine");
    assert_ne!(printed(base.path()), before);
}

#[test]
fn a_file_in_the_place_of_the_folder_is_named() {
    let base = tempfile::tempdir().unwrap();
    let file = base.path().join("ca");
    fs::write(&file, "mine").unwrap();
    for action in ["print", "rotate"] {
        let ran = ca(&file, &[action]);
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        assert_line(
            &ran.stderr,
            &format!(
                "contrail: cannot use the certificate authority at `{}` (--ca-dir DIR names another place): File exists (os error 17); a file is in the \
                 way: choose another path",
                file.display()
            ),
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    }
}
