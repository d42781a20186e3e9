//! Methods that clients make up: a secret in one is redacted as in any other text.

use std::fs;

use super::harness::{SECRET, TEMPLATES, Workspace, entries};
use crate::support::{process::Running, wire::call};

const TOKEN: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlLW9mLWEtdG9rZW4";

/// Every file below a folder.
fn texts(folder: &std::path::Path) -> String {
    let items = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    items.map(|path| if path.is_dir() { texts(&path) } else { fs::read_to_string(path).unwrap() }).collect()
}

#[test]
fn a_method_that_is_or_holds_a_secret_is_redacted_and_its_fixture_replays() {
    let workspace = Workspace::new();
    let methods = [TOKEN.to_owned(), SECRET.to_owned(), format!("BREW-{SECRET}-x"), "BREW".to_owned()];
    let options = ["--out", "rec", "--trail", "trail", "--verbose", "--report", "html=report.html"];
    let running = workspace.start("record", &options);
    let ask = |running: &Running, method: &str| call(running.address, method, TEMPLATES, &[], b"").status();
    let keys = [("X-Api-Key", SECRET), ("Authorization", "Bearer another-token-0123456789")];
    call(running.address, "GET", TEMPLATES, &keys, b"");
    let live: Vec<u16> = methods.iter().map(|method| ask(&running, method)).collect();
    let ran = running.finish();
    fs::remove_file(workspace.path().join("seed.json")).unwrap();
    let written = texts(workspace.path());
    for (place, shown) in [("file", &written), ("console", &(ran.stdout + &ran.stderr))] {
        for secret in [TOKEN, SECRET] {
            assert!(!shown.contains(secret), "{secret} is in a {place}: {shown}");
        }
        assert!(shown.contains("!token-") && shown.contains("BREW-!api-key-"), "{place}: {shown}");
    }
    let recorded: Vec<String> = entries(&workspace.read("rec/rec.har"))
        .iter()
        .map(|entry| entry["request"]["method"].as_str().unwrap().to_owned())
        .collect();
    assert!(recorded.contains(&"BREW".to_owned()) && recorded.len() == 5, "{recorded:?}");
    let replay = Running::start(workspace.path(), ["replay", "rec", "--listen", "127.0.0.1:0"]);
    assert_eq!(ask(&replay, TOKEN), live[0]);
    assert_eq!(ask(&replay, "BREW"), live[3]);
    assert_eq!(ask(&replay, "OTHER"), 421);
    replay.finish();
    let verified = workspace.run(&["verify", "rec", "trail"]);
    assert!(verified.status < 2 && !verified.stdout.contains(SECRET), "{}{}", verified.stdout, verified.stderr);
}
