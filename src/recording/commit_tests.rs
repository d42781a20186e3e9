//! Folds that are killed at every step that reaches the disk.

use std::{collections::BTreeMap, time::SystemTime};

use super::*;
use crate::{
    exchange::{Body, Exchange, Headers, Request, Response, Target, Timings, Transport},
    finding::Verdict,
    recording::{self, FoldOptions, FoldSource, Journal, JournalContext, Take},
    redact::{Judged, Plan, Redactor},
    token::Credential,
};

fn exchange(path: &str, body: &str) -> Exchange {
    let json = [(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"))];
    Exchange {
        request: Request {
            method: http::Method::POST,
            target: Target::new("https", "up.example", path),
            version: http::Version::HTTP_11,
            headers: json.clone().into_iter().collect(),
            body: Body::whole(format!("{{\"asks\":\"{path}\"}}")),
            credential: Credential::Missing,
        },
        response: Some(Response {
            status: 200,
            version: http::Version::HTTP_11,
            headers: json.into_iter().collect::<Headers>(),
            body: Body::whole(format!("{{\"says\":\"{body}\"}}")),
        }),
        started: Some(SystemTime::UNIX_EPOCH),
        timings: Timings::default(),
        transport: Transport::default(),
    }
}

/// A journal of these exchanges, open.
fn journal(fixture: &Path, redactor: &Redactor, exchanges: &[(&str, &str)]) -> Journal {
    let context = JournalContext { upstream: "https://up.example".into(), contract: "c".into() };
    let (mut journal, _) = Journal::open(&Journal::path_for(fixture), context).unwrap();
    for (path, body) in exchanges {
        let operation = Some("postThing".into());
        let verdict = Verdict { operation, ..Verdict::default() };
        journal.add(&redactor.redact(Judged::new(exchange(path, body), verdict)), None);
    }
    journal.write().unwrap();
    journal
}

/// Folds a journal into the fixture, after what is there if `earlier`.
fn fold(fixture: &Path, redactor: &Redactor, journal: &Journal, earlier: bool) -> Result<bool, WriteError> {
    let mut from = Vec::new();
    if earlier {
        from.push(FoldSource { paths: vec![Place::find(fixture)?.har().to_path_buf()], take: Take::All });
    }
    from.push(FoldSource { paths: journal.segments(), take: Take::All });
    let options = FoldOptions { journal: Some(journal), ..FoldOptions::new(redactor, "2026-11-21") };
    recording::fold(&from, fixture, &options).map(|folded| folded.changed)
}

/// What a reader finds: each request with what was answered; otherwise why not.
fn read(fixture: &Path) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    for entry in recording::open(fixture).map_err(|error| error.to_string())? {
        let exchange = entry.map_err(|error| error.to_string())?.exchange;
        let asked = exchange.request.body.content;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        found.push((text(&asked), text(&exchange.response.unwrap().body.content)));
    }
    Ok(found)
}

/// Every file and folder below, with its content.
fn tree(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for item in fs::read_dir(&at).unwrap() {
            let path = item.unwrap().path();
            let content = if path.is_dir() {
                folders.push(path.clone());
                String::new()
            } else {
                fs::read_to_string(&path).unwrap()
            };
            found.insert(path.strip_prefix(folder).unwrap().to_path_buf(), content);
        }
    }
    found
}

const OLD: [(&str, &str); 4] = [("/a", "a"), ("/b", "b"), ("/c", "c"), ("/d", "d")];
/// `/0` comes first, `/b` is gone, `/c` changed.
const NEW_ONES: [(&str, &str); 4] = [("/0", "zero"), ("/a", "a"), ("/c", "other"), ("/d", "d")];

/// Kills a fold after each number of steps; `name` is the fixture's, `earlier` whether it is an append.
fn kill_everywhere(name: &str, there: bool, earlier: bool) {
    let redactor = Redactor::new(Plan::default());
    for steps in 0.. {
        let place = tempfile::tempdir().unwrap();
        let fixture = place.path().join(name);
        let whole = place.path().join("whole").join(name);
        for fixture in [&fixture, &whole] {
            if there {
                let journal = journal(fixture, &redactor, &OLD);
                fold(fixture, &redactor, &journal, false).unwrap();
                journal.remove().unwrap();
            }
        }
        let old = there.then(|| read(&fixture).unwrap());
        // How it ends when nobody kills it.
        let journal = journal(&whole, &redactor, &NEW_ONES);
        assert!(fold(&whole, &redactor, &journal, earlier).unwrap());
        journal.remove().unwrap();
        let (new, new_tree) = (read(&whole).unwrap(), tree(whole.parent().unwrap()));
        fs::remove_dir_all(whole.parent().unwrap()).unwrap();

        let journal = self::journal(&fixture, &redactor, &NEW_ONES);
        killed::after(steps);
        let folded = fold(&fixture, &redactor, &journal, earlier);
        drop(journal);
        if !killed::revive() {
            folded.unwrap();
            assert!(steps >= 8, "only {steps} steps");
            return;
        }
        let before = tree(place.path());
        let found = read(&fixture);
        assert_eq!(tree(place.path()), before, "a reader wrote something, after {steps} steps");
        let is_new = found.as_ref() == Ok(&new);
        assert!(is_new || found.as_ref().ok() == old.as_ref(), "after {steps} steps: {found:?}");

        // The next start.
        let place_of = Place::prepare(&fixture).unwrap();
        assert_eq!(place_of.is_taken(), is_new || there);
        assert_eq!(read(&fixture), found.clone(), "after {steps} steps");
        let context = JournalContext { upstream: "https://up.example".into(), contract: "c".into() };
        let (journal, left) = Journal::open(&Journal::path_for(&fixture), context).unwrap();
        assert_eq!(left.entries, if is_new { 0 } else { 4 }, "after {steps} steps");
        if left.entries > 0 {
            fold(&fixture, &redactor, &journal, earlier).unwrap();
        }
        journal.remove().unwrap();
        assert_eq!(tree(place.path()), new_tree, "after {steps} steps");
    }
}

#[test]
fn a_fold_killed_at_any_step_leaves_the_old_fixture_or_the_new_one_and_the_next_start_ends_it() {
    for name in ["fx", "fx.har"] {
        for (there, earlier) in [(false, false), (true, false), (true, true)] {
            kill_everywhere(name, there, earlier);
        }
    }
}

#[test]
fn a_start_that_finishes_a_fold_may_itself_be_killed_at_any_step() {
    for committed in [false, true] {
        let origin = tempfile::tempdir().unwrap();
        interrupted(origin.path(), committed);
        let found = read(&origin.path().join("fx")).unwrap();
        for steps in 0.. {
            let place = tempfile::tempdir().unwrap();
            copy(origin.path(), place.path());
            let fixture = place.path().join("fx");
            killed::after(steps);
            let _ = Place::prepare(&fixture);
            let again = killed::revive();
            assert_eq!(read(&fixture).unwrap(), found, "{steps} steps");
            if !again {
                let names: Vec<_> = tree(place.path()).into_keys().collect();
                assert!(!names.iter().any(|name| name.display().to_string().contains(".contrail")), "{names:?}");
                break;
            }
        }
    }
}

fn copy(from: &Path, to: &Path) {
    let from_path = from.to_path_buf();
    for (path, content) in tree(from) {
        if from_path.join(&path).is_dir() {
            fs::create_dir_all(to.join(path)).unwrap();
        } else {
            fs::write(to.join(path), content).unwrap();
        }
    }
}

/// A fixture whose fold was killed right after its commit, or right before.
fn interrupted(place: &Path, committed: bool) -> PathBuf {
    let redactor = Redactor::new(Plan::default());
    let fixture = place.join("fx");
    let old = journal(&fixture, &redactor, &OLD);
    fold(&fixture, &redactor, &old, false).unwrap();
    old.remove().unwrap();
    let new = journal(&fixture, &redactor, &NEW_ONES);
    for steps in 0.. {
        killed::after(steps);
        let _ = fold(&fixture, &redactor, &new, false);
        killed::revive();
        if fixture.join(if committed { COMMITTED } else { NEW }).join(if committed { "" } else { LOG }).exists() {
            break;
        }
    }
    fixture
}

#[test]
fn a_committed_fold_of_which_something_is_missing_is_refused_by_readers_and_writers() {
    for damage in [
        |fold: &Path| fs::remove_file(fold.join("fx.har")).unwrap(),
        |fold: &Path| fs::write(fold.join(LOG), "{\"version\":1,\"put\":[\"gone.har\"").unwrap(),
        |fold: &Path| fs::remove_file(fold.join("postThing-03-response.json")).unwrap(),
    ] {
        let place = tempfile::tempdir().unwrap();
        let fixture = interrupted(place.path(), true);
        // The old one's file of the same name is no substitute.
        damage(&fixture.join(COMMITTED));
        let before = tree(place.path());
        let found = read(&fixture);
        assert!(found.is_err(), "{found:?}");
        assert_eq!(tree(place.path()), before);
    }
}

#[test]
fn a_log_that_names_anything_but_a_folds_files_moves_and_removes_nothing() {
    for log in [
        r#"{"version":1,"put":["../evil.har"],"remove":[]}"#,
        r#"{"version":1,"put":["fx.har"],"remove":["notes.md"]}"#,
        r#"{"version":1,"put":["notes.md"],"remove":[]}"#,
        r#"{"version":2,"put":["fx.har"],"remove":[]}"#,
    ] {
        let place = tempfile::tempdir().unwrap();
        let fixture = interrupted(place.path(), true);
        fs::write(fixture.join("notes.md"), "mine").unwrap();
        fs::write(fixture.join(COMMITTED).join(LOG), log).unwrap();
        fs::remove_file(fixture.join(LOCK)).unwrap();
        let before = tree(&fixture);
        assert!(Place::prepare(&fixture).is_err());
        assert_eq!(tree(&fixture), before, "{log}");
    }
}
