//! Body files: the names that they keep, and the digests that hold them to their entries.

use super::*;
use crate::support::golden::assert_line;

fn answer(path: &str, at: u64) -> Exchange {
    get(path, 200, &format!(r#"{{"is":"{path}"}}"#), at)
}

/// Names of files that are in only one of the two, or differ.
fn changed(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let names = before.keys().chain(after.keys());
    let mut changed: Vec<_> = names.filter(|name| before.get(*name) != after.get(*name)).cloned().collect();
    changed.sort();
    changed.dedup();
    changed
}

#[test]
fn an_exchange_that_is_added_changes_the_har_and_adds_its_own_files_only() {
    let workspace = Workspace::new();
    let first = workspace.journal("1.journal", &[answer("/a", 1), answer("/c", 2), answer("/d", 3)]);
    workspace.fold(&[&first], "fx");
    let before = files(&workspace.path("fx"));
    let again = workspace.journal("2.journal", &["/a", "/b", "/c", "/d"].map(|path| answer(path, 5)));
    workspace.fold(&[&again], "fx");
    let after = files(&workspace.path("fx"));
    assert_eq!(changed(&before, &after), ["fx.har", "getThing-04-response.json"]);
    // The same once more is the same.
    workspace.fold(&[&again], "fx");
    assert_eq!(files(&workspace.path("fx")), after);
}

#[test]
fn a_body_that_changes_changes_its_file_and_one_that_goes_takes_its_file_along() {
    let workspace = Workspace::new();
    let first = workspace.journal("1.journal", &["/a", "/b", "/c"].map(|path| answer(path, 1)));
    workspace.fold(&[&first], "fx");
    let before = files(&workspace.path("fx"));
    let again = workspace.journal("2.journal", &[answer("/a", 1), get("/c", 200, r#"{"is":"other"}"#, 2)]);
    workspace.fold(&[&again], "fx");
    let after = files(&workspace.path("fx"));
    assert_eq!(changed(&before, &after), ["fx.har", "getThing-02-response.json", "getThing-03-response.json"]);
    assert_eq!(after.keys().collect::<Vec<_>>(), ["fx.har", "getThing-01-response.json", "getThing-03-response.json"]);
}

#[test]
fn appending_keeps_every_name_that_is_there_and_takes_no_file_of_the_users_own() {
    let workspace = Workspace::new();
    let first = workspace.journal("1.journal", &[answer("/b", 1)]);
    workspace.fold(&[&first], "fx");
    fs::write(workspace.path("fx/getThing-02-response.json"), "mine").unwrap();
    let more = workspace.journal("2.journal", &[answer("/a", 2), answer("/c", 3)]);
    workspace.fold(&[&workspace.path("fx/fx.har"), &more], "fx");
    let names: Vec<_> = files(&workspace.path("fx")).into_keys().collect();
    let expected = ["01", "02", "03", "04"].map(|number| format!("getThing-{number}-response.json"));
    assert_eq!(names[1..], expected);
    assert_eq!(fs::read_to_string(workspace.path("fx/getThing-02-response.json")).unwrap(), "mine");
    assert!(fs::read_to_string(workspace.path("fx/getThing-01-response.json")).unwrap().contains("/b"));
}

fn folded(workspace: &Workspace) -> (String, PathBuf) {
    let journal = workspace.journal("x.journal", &[answer("/a", 1), answer("/b", 2)]);
    workspace.fold(&[&journal], "fx");
    (workspace.path("fx").to_str().unwrap().to_owned(), workspace.path("fx/getThing-01-response.json"))
}

#[test]
fn a_body_file_that_belongs_to_another_recording_is_refused_by_every_reader_with_status_2() {
    let workspace = Workspace::new();
    let (fx, body) = folded(&workspace);
    fs::copy(workspace.path("fx/getThing-02-response.json"), &body).unwrap();
    let [packed, journal] = ["packed.har", "x.journal"].map(|name| workspace.path(name).to_str().unwrap().to_owned());
    for arguments in [
        &["verify", &fx][..],
        &["audit", &fx],
        &["diff", &fx, &fx],
        &["replay", &fx, "--", "true"],
        &["pack", &fx, "--out", &packed],
        &["import", &journal, "--out", &fx, "--append", "--upstream", UPSTREAM],
    ] {
        let ran = run(arguments.iter().copied());
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        let said = "contrail: `FOLDER/fx/fx.har`, entry 0: the body file `getThing-01-response.json` was changed, or \
                    belongs to another recording; take the folder from where it was kept, or, if you edited the file \
                    on purpose, accept it with `contrail redact --in-place FOLDER`";
        assert_line(&ran.stderr, said);
    }
}

#[test]
fn a_body_file_that_was_edited_on_purpose_is_accepted_by_redact_in_place() {
    let workspace = Workspace::new();
    let (fx, body) = folded(&workspace);
    let edited = "{\n  \"is\": \"edited\",\n  \"password\": \"S3cret-of-the-edit\"\n}\n";
    fs::write(&body, edited).unwrap();
    let before = fs::read_to_string(workspace.path("fx/fx.har")).unwrap();
    assert_eq!(run(["verify", &fx]).status, 2);
    let ran = run(["redact", "--in-place", &fx]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let ran = run(["verify", &fx]);
    assert!(ran.status < 2, "{}", ran.stderr);
    let now = fs::read_to_string(&body).unwrap();
    assert!(now.contains("edited") && !now.contains("S3cret"), "{now}");
    let after = fs::read_to_string(workspace.path("fx/fx.har")).unwrap();
    let differ = before.lines().zip(after.lines()).filter(|(before, after)| before != after).count();
    assert_eq!((differ, before.len()), (1, after.len()), "{after}");
}

#[test]
fn line_endings_that_git_changed_are_named_as_such() {
    let workspace = Workspace::new();
    let (fx, body) = folded(&workspace);
    fs::write(&body, fs::read_to_string(&body).unwrap().replace('\n', "\r\n")).unwrap();
    let ran = run(["verify", &fx]);
    assert_eq!(ran.status, 2);
    assert_line(
        &ran.stderr,
        "contrail: `FOLDER/fx/fx.har`, entry 0: the body file `getThing-01-response.json` has other line endings than \
         were recorded; in git, `* -text` in the folder's .gitattributes keeps them, and a new checkout brings them back",
    );
}

#[test]
fn a_fixture_without_digests_is_read_as_before() {
    let workspace = Workspace::new();
    let (fx, body) = folded(&workspace);
    let har = fs::read_to_string(workspace.path("fx/fx.har")).unwrap();
    let mut value: Value = serde_json::from_str(&har).unwrap();
    for entry in value["log"]["entries"].as_array_mut().unwrap() {
        assert!(entry["_contrail"].as_object_mut().unwrap().remove("sha256").is_some());
    }
    fs::write(workspace.path("fx/fx.har"), value.to_string()).unwrap();
    fs::write(&body, "{\"is\":1}").unwrap();
    let ran = run(["verify", &fx]);
    assert!(ran.status < 2, "{}", ran.stderr);
}
