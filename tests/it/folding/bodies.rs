//! Body files: the names that they keep, and the digests that hold them to their entries.

use super::*;
use crate::support::{golden::assert_line, har::unhashed};

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
    let [har, added] = &changed(&before, &after)[..] else { panic!("{after:?}") };
    assert_eq!((&**har, &*unhashed(added)), ("fx.har", "getThing-#-response.json"));
    assert!(after[added].contains("/b"));
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
    let of = |path: &str| before.iter().find(|(_, body)| body.contains(&format!("\"{path}\""))).unwrap().0.clone();
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(changed(&before, &after), sorted(vec!["fx.har".to_owned(), of("/b"), of("/c")]));
    assert_eq!(after.keys().cloned().collect::<Vec<_>>(), sorted(vec!["fx.har".to_owned(), of("/a"), of("/c")]));
}

#[test]
fn appending_keeps_every_name_that_is_there_and_takes_no_file_of_the_users_own() {
    let workspace = Workspace::new();
    let first = workspace.journal("1.journal", &[answer("/b", 1)]);
    workspace.fold(&[&first], "fx");
    let more = workspace.journal("2.journal", &[answer("/a", 2), answer("/c", 3)]);
    workspace.fold(&[&workspace.path("fx/fx.har"), &more], "elsewhere");
    let before = files(&workspace.path("fx"));
    let elsewhere = files(&workspace.path("elsewhere"));
    let (of_a, _) = elsewhere.iter().find(|(_, body)| body.contains("\"/a\"")).unwrap();
    fs::write(workspace.path("fx").join(of_a), "mine").unwrap();
    workspace.fold(&[&workspace.path("fx/fx.har"), &more], "fx");
    let after = files(&workspace.path("fx"));
    assert_eq!(after[of_a], "mine");
    assert!(after[&of_a.replace("-response", "-2-response")].contains("/a"));
    assert!(before.iter().all(|(name, body)| name == "fx.har" || after[name] == *body));
}

fn folded(workspace: &Workspace) -> (String, PathBuf) {
    let journal = workspace.journal("x.journal", &[answer("/a", 1), answer("/b", 2)]);
    workspace.fold(&[&journal], "fx");
    let har = &entries(&workspace.path("fx"))[0];
    let body = workspace.path("fx").join(har["response"]["content"]["_file"].as_str().unwrap());
    (workspace.path("fx").to_str().unwrap().to_owned(), body)
}

#[test]
fn a_body_file_that_belongs_to_another_recording_is_refused_by_every_reader_with_status_2() {
    let workspace = Workspace::new();
    let (fx, body) = folded(&workspace);
    let other = entries(&workspace.path("fx"))[1]["response"]["content"]["_file"].as_str().unwrap().to_owned();
    fs::copy(workspace.path("fx").join(other), &body).unwrap();
    let name = body.file_name().unwrap().to_str().unwrap();
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
        let said = format!(
            "contrail: `FOLDER/fx/fx.har`, entry 0: the body file `{name}` was changed, or belongs to another recording; \
             take the folder from where it was kept, or, if you edited the file on purpose, accept it with `contrail \
             redact --in-place FOLDER`"
        );
        assert_line(&ran.stderr, &said);
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
    let name = body.file_name().unwrap().to_str().unwrap();
    let said = format!(
        "contrail: `FOLDER/fx/fx.har`, entry 0: the body file `{name}` has other line endings than were recorded; in git, \
         `* -text` in the folder's .gitattributes keeps them, and a new checkout brings them back"
    );
    assert_line(&ran.stderr, &said);
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
