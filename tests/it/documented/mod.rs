//! Tables and promises of the README and the pages under `docs/` that no other test holds.

mod clients;
mod learning;
mod names;
mod outputs;
mod recordings;
mod reports;
mod sandbox;
mod settings;
mod symptoms;

use std::{collections::BTreeSet, fs, path::Path};

use contrail_exchange::label;
use serde_json::Value;

use crate::support::{
    command::{Ran, contrail, run_in},
    har,
    process::Running,
    wire::call,
};

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).unwrap()
}

/// What a text has in backticks.
fn ticked(text: &str) -> impl Iterator<Item = String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// What the first column has in backticks, of each table whose head begins so.
fn first_column(page: &str, head: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut inside = false;
    for line in page.lines() {
        inside = line.starts_with(head) || (inside && line.starts_with('|'));
        if inside {
            found.extend(ticked(line.split('|').nth(1).unwrap_or_default()));
        }
    }
    assert!(!found.is_empty(), "no table begins with {head}");
    found
}

#[test]
fn the_variables_of_a_wrapped_command_are_those_of_the_clients_page() {
    let page = page("clients.md");
    let mut documented = first_column(&page, "| variable | value |");
    documented.extend(["http_proxy", "https_proxy"].map(str::to_owned));
    // Only for upstreams with a name, with --control, and for programs of Node.
    documented.retain(|name| !matches!(name.as_str(), "CONTRAIL_URL_NAME" | "CONTRAIL_CONTROL" | "NODE_OPTIONS"));
    documented.extend(ticked(&page).filter(|name| name.starts_with("CONTRAIL_SANDBOX_")));
    let folder = tempfile::tempdir().unwrap();
    let mut command = contrail();
    command.current_dir(folder.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.args(["watch", "--upstream", "sandbox", "--ca-dir", "ca", "--allow", "unused", "--", "env"]);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let given = ran.stdout.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name.to_owned());
    assert_eq!(given.filter(|name| name != "PATH").collect::<BTreeSet<_>>(), documented);
    let value = |name: &str| {
        let mut pairs = ran.stdout.lines().filter_map(|line| line.split_once('='));
        pairs.find_map(|(of, value)| (of == name).then(|| value.to_owned())).unwrap_or_default()
    };
    assert_eq!(value("NODE_USE_ENV_PROXY"), "1");
    assert!(value("CONTRAIL_URL").starts_with("http://"));
    let forward = value("HTTP_PROXY");
    assert_ne!(forward, value("CONTRAIL_URL"));
    for name in ["HTTPS_PROXY", "http_proxy", "https_proxy"] {
        assert_eq!(value(name), forward, "{name}");
    }
    assert_eq!(value("NO_PROXY"), value("no_proxy"));
}

#[test]
fn every_kind_of_label_in_the_redaction_page_is_one() {
    let page = page("redaction.md");
    let kinds = page.split("- The kinds are ").nth(1).unwrap().split("\n\n").next().unwrap();
    let kinds: Vec<String> = ticked(kinds).collect();
    assert!(kinds.len() > 10, "{kinds:?}");
    for kind in kinds {
        assert!(label::is_label(&format!("!{kind}-1!")), "{kind}");
    }
    assert!(!label::is_label("!nothing-1!"));
}

/// The members of each `_contrail` in a recording: of its log, and of its entries.
fn members(file: &Value) -> impl Iterator<Item = String> {
    let log = std::iter::once(&file["log"]).chain(file["log"]["entries"].as_array().into_iter().flatten());
    let held: Vec<String> =
        log.filter_map(|value| value["_contrail"].as_object()).flat_map(|held| held.keys().cloned()).collect();
    held.into_iter()
}

#[test]
fn every_member_that_contrail_adds_to_a_recording_is_in_the_page_of_fixtures() {
    let page = page("fixtures.md");
    let mut documented = first_column(&page, "| member | meaning |");
    documented.extend(first_column(&page, "| member | in |"));
    let mut held = BTreeSet::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for name in ["errors", "gaps.har", "operations"] {
        let path = root.join(name);
        let path = if path.is_dir() { path.join(format!("{name}.har")) } else { path };
        held.extend(members(&serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()));
    }
    let folder = tempfile::tempdir().unwrap();
    let watch = ["watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--trail", "trail"];
    let running = Running::start(folder.path(), watch);
    call(running.address, "GET", "/api/v2/rate-limit-policies/rlp_Default000000000000000", &[], b"");
    running.finish();
    let journal = fs::read_to_string(folder.path().join("trail/trail-00000001.journal")).unwrap();
    for line in journal.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        held.extend(line["_contrail"].as_object().into_iter().flat_map(|held| held.keys().cloned()));
    }
    assert!(held.len() > 10, "{held:?}");
    assert_eq!(held.difference(&documented).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_client_that_was_refused_a_token_in_every_recording_is_refused_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut refused = har::get("/oauth/token", None, 401, r#"{"error":"access_denied"}"#);
    refused["request"]["method"] = "POST".into();
    refused["request"]["postData"] = serde_json::json!({
        "mimeType": "application/x-www-form-urlencoded", "text": "grant_type=client_credentials&client_id=x&client_secret=a-secret-of-a-client",
    });
    fs::write(folder.path().join("x.har"), har::har(&[refused])).unwrap();
    let replay = Running::start(folder.path(), ["replay", "x.har", "--listen", "127.0.0.1:0"]);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let body = b"grant_type=client_credentials&client_id=x&client_secret=other";
    let answer = call(replay.address, "POST", "/oauth/token", &form, body);
    assert_eq!((answer.status(), answer.json()), (401, serde_json::json!({"error": "access_denied"})));
    assert_eq!(replay.finish().status, 0);
}
