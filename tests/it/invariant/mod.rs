//! The invariant: live findings equal those of `verify` on the journal, on the folder and on the single file.
//!
//! Every exchange goes through the real proxy to an origin that plays its response: all of `fixtures/cases`, and odd ones
//! beside them: secrets in constrained fields, cut, malformed, compressed and oversized bodies.

mod odd;

use std::{fmt::Write as _, io::Write as _, path::Path};

use serde_json::{Value, json};

use crate::support::{
    cases::{self, Case},
    command::run_in,
    har::token,
    process::Running,
    wire::{Origin, request, send},
};

/// A secret that is recognised by value wherever it comes: it is the client secret of the token request.
const SECRET: &str = "Zq8-planted-client-secret-4711";

/// One exchange to send and to play.
struct Play {
    name: String,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    answer: Vec<u8>,
}

fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut raw = format!("HTTP/1.1 {status} Played\r\nConnection: close\r\n");
    for (name, value) in headers {
        write!(raw, "{name}: {value}\r\n").unwrap();
    }
    if status != 204 && !headers.iter().any(|(name, _)| *name == "Content-Length" || *name == "Transfer-Encoding") {
        write!(raw, "Content-Length: {}\r\n", body.len()).unwrap();
    }
    raw.push_str("\r\n");
    let mut raw = raw.into_bytes();
    raw.extend_from_slice(body);
    raw
}

fn json_answer(status: u16, body: &[u8]) -> Vec<u8> {
    answer(status, &[("Content-Type", "application/json")], body)
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

impl Play {
    fn new(name: &str, method: &str, target: &str, answer: Vec<u8>) -> Self {
        Self {
            name: name.to_owned(),
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            answer,
        }
    }

    fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn bearer(self, scope: &str) -> Self {
        let expires = i64::try_from(now()).unwrap() + 3600;
        self.header("Authorization", &format!("Bearer {}", token(scope, expires)))
    }

    fn body(mut self, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self.header("Content-Type", media_type)
    }
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// What all three outputs have to agree on.
fn essence(exchange: &Value) -> Value {
    let url = exchange["url"].as_str().unwrap();
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    let essence = json!({
        "method": exchange["method"], "path": path, "status": exchange["status"], "operation": exchange["operation"],
        "verdict": exchange["verdict"], "findings": exchange["findings"], "unchecked": exchange["unchecked"],
    });
    serde_json::from_str(&without_label_numbers(&essence.to_string())).unwrap()
}

/// Labels are numbered anew in a fixture: `!token-7!` and `!token-2!` are the same here, `!7!` and `!2!` too.
fn without_label_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('!') {
        out.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.'));
        if let Some(end) =
            end.filter(|end| rest[*end..].starts_with('!') && rest[..*end].bytes().any(|b| b.is_ascii_digit()))
        {
            out.extend(rest[..end].chars().filter(|c| c.is_ascii_lowercase() || *c == '-'));
            out.push('!');
            rest = &rest[end + 1..];
        }
    }
    out.push_str(rest);
    out
}

fn verified(folder: &Path, recording: &str, contract: &str) -> Vec<Value> {
    let ran = run_in(folder, ["verify", "--format", "json", "--contract", contract, recording]);
    assert!(ran.status < 2, "{recording}: {}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    report["exchanges"].as_array().unwrap().iter().map(essence).collect()
}

fn sorted(mut exchanges: Vec<Value>) -> Vec<String> {
    let mut lines: Vec<String> = exchanges.drain(..).map(|exchange| exchange.to_string()).collect();
    lines.sort();
    lines
}

/// The lines of `all` that `taken` does not have, each as often as it is missing.
fn without(all: &[String], taken: &[String]) -> Vec<String> {
    let mut taken = taken.to_vec();
    all.iter()
        .filter(|line| match taken.iter().position(|other| other == *line) {
            Some(at) => {
                taken.swap_remove(at);
                false
            }
            None => true,
        })
        .cloned()
        .collect()
}

/// Sends every exchange through a recording proxy and compares the three readings with the live one.
fn holds(plays: &[Play], contract: &str) {
    let folder = tempfile::tempdir().unwrap();
    let origin = Origin::start();
    let upstream = format!("http://{}", origin.address);
    let proxy = Running::start(
        folder.path(),
        [
            "record",
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            &upstream,
            "--out",
            "rec/",
            "--format",
            "json",
            "--keep",
            "--max-capture",
            "65536",
            "--contract",
            contract,
        ],
    );
    for play in plays {
        origin.will_answer(play.answer.clone());
        let headers: Vec<(&str, &str)> =
            play.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let raw = request(proxy.address, &play.method, &play.target, &headers, &play.body);
        let _ = send(proxy.address, &play.method, &raw).unwrap_or_else(|error| panic!("{}: {error}", play.name));
    }
    let journal = verified(folder.path(), "rec.journal", contract);
    let ran = proxy.finish();
    assert!(ran.status < 2, "{}", ran.stderr);
    let live: Vec<Value> = ran
        .stderr
        .lines()
        .filter(|line| line.starts_with("{\"method\""))
        .map(|line| essence(&serde_json::from_str(line).unwrap()))
        .collect();
    assert_eq!(live.len(), plays.len(), "{}", ran.stderr);
    for ((play, live), journal) in plays.iter().zip(&live).zip(&journal) {
        assert_eq!(live, journal, "{}: live, then the journal", play.name);
    }
    assert_eq!(journal.len(), live.len());
    let packed = run_in(folder.path(), ["pack", "rec/", "--out", "one.har"]);
    assert_eq!(packed.status, 0, "{}", packed.stderr);
    let live = sorted(live);
    for recording in ["rec/", "one.har"] {
        let held = sorted(verified(folder.path(), recording, contract));
        let (lost, made_up) = (without(&live, &held), without(&held, &live));
        assert!(
            lost.is_empty() && made_up.is_empty(),
            "{recording} does not say what was said live\n--- live only\n{}\n--- {recording} only\n{}",
            lost.join("\n"),
            made_up.join("\n")
        );
    }
    for file in walk(folder.path()) {
        let content = std::fs::read(&file).unwrap();
        assert!(!contains(&content, SECRET.as_bytes()), "{SECRET} in {}", file.display());
    }
    assert!(!ran.stderr.contains(SECRET), "{}", ran.stderr);
}

fn walk(root: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for item in std::fs::read_dir(root).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}

#[test]
fn live_findings_equal_those_of_verify_for_odd_exchanges() {
    holds(&odd::all(), "built-in");
}

/// The cases of `fixtures/cases` that can be sent over a connection, as exchanges to send and to play; those of the
/// built-in contract, or those of another.
fn from_cases(contract: Option<&Path>) -> Vec<(Case, Play)> {
    let now = i64::try_from(now()).unwrap();
    let plain = cases::all().into_iter().filter(|case| case.is_plain() && case.contract().as_deref() == contract);
    plain
        .map(|case| {
            let answer_headers = case.answer_headers();
            let answer_headers: Vec<(&str, &str)> =
                answer_headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let play = Play {
                name: case.name.clone(),
                method: case.method().to_owned(),
                target: case.target().to_owned(),
                headers: case.headers(now),
                body: case.body(),
                answer: answer(case.status().unwrap(), &answer_headers, &case.answer()),
            };
            (case, play)
        })
        .collect()
}

#[test]
fn live_findings_equal_those_of_verify_for_every_case() {
    let (cases, plays): (Vec<Case>, Vec<Play>) = from_cases(None).into_iter().unzip();
    assert!(cases.len() > 100, "{} cases only", cases.len());
    holds(&plays, "built-in");
}

#[test]
fn live_findings_equal_those_of_verify_for_credentials_of_every_kind() {
    let contract = cases::folder().join("contracts/security.yaml");
    let (cases, plays): (Vec<Case>, Vec<Play>) = from_cases(Some(&contract)).into_iter().unzip();
    assert!(cases.len() > 40, "{} cases only", cases.len());
    holds(&plays, contract.to_str().unwrap());
}

#[test]
fn label_numbers_do_not_count() {
    assert_eq!(
        without_label_numbers("a !token-12! b !3! c! !x! !password-1...! !! 1!2"),
        "a !token-! b !! c! !x! !password-! !! 1!2"
    );
}
