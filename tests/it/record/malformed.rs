//! Bodies that are not what their type says: recorded without their secrets, replayed byte for byte.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::harness::{TEMPLATES, Workspace, objects};
use crate::support::{
    golden::assert_line,
    process::Running,
    wire::{Message, Origin, call},
};

const SECRET: &str = "s3cr3t-Value-0123456789";

/// Answers under a JSON type that are not JSON, by the path that they are asked at; `@` stands for a secret.
const ANSWERS: &[(&str, &[u8])] = &[
    ("duplicate", b"{\"a\":1,\"a\":2,\"client_secret\":\"@\",\"client_secret\":\"@\"}"),
    ("surrogate", b"{\"a\":\"\\ud800\"}"),
    ("mark", b"\xef\xbb\xbf{\"a\":1}"),
    ("latin", b"{\"name\":\"caf\xe9\",\"password\":\"@\"}"),
    ("page", b"<!DOCTYPE html>\n<html><body>Bad \"Gateway\": it's down</body></html>\n"),
    ("word", b"ok"),
    ("cut", b"{\"items\":[{\"a\":\"b\",\"n\":1},{\"n\":"),
    ("comma", b"{\"a\":[1,2,],}"),
    ("quotes", b"{'a': 'b', c: 'd'}"),
    ("text", b"no access: client_secret=@ is wrong"),
    ("lines", b"{\"a\":1}\n{\"a\":2}\n"),
];

fn with_secret(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in text {
        if *byte == b'@' { out.extend_from_slice(SECRET.as_bytes()) } else { out.push(*byte) }
    }
    out
}

fn body(message: &Message) -> &[u8] {
    &message.body
}

/// Asks for each of them, a documented path first.
fn ask(address: SocketAddr) -> Vec<Message> {
    let asked = |name: &str| call(address, "GET", &format!("{TEMPLATES}?q={name}"), &[], b"");
    ANSWERS.iter().map(|(name, _)| asked(name)).collect()
}

fn verdicts(workspace: &Workspace, file: &str) -> Vec<Vec<String>> {
    let ran = workspace.run(&["verify", file, "--format", "json"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    let mut all: Vec<Vec<String>> = told["exchanges"].as_array().unwrap().iter().map(findings).collect();
    all.sort();
    all
}

fn findings(exchange: &Value) -> Vec<String> {
    let finding = |finding: &Value| format!("{} {} {}", finding["rule"], finding["at"], finding["message"]);
    exchange["findings"].as_array().unwrap().iter().map(finding).collect()
}

#[test]
fn an_answer_that_is_no_json_is_recorded_without_its_secrets_and_replayed_byte_for_byte() {
    for fixture in ["rec.har", "rec"] {
        let workspace = Workspace::new();
        let origin = Origin::start();
        for (_, text) in ANSWERS {
            let content = with_secret(text);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                content.len()
            );
            origin.will_answer([head.into_bytes(), content].concat());
        }
        let record = workspace.start_at(origin.address, "record", &["--out", fixture, "--format", "json"]);
        let live = ask(record.address);
        for ((_, text), message) in ANSWERS.iter().zip(&live) {
            assert_eq!(body(message), with_secret(text));
        }
        let ran = record.finish();
        assert_eq!(objects(&ran, "summary")[0]["summary"]["proof"]["good"], true, "{}", ran.stderr);
        // What is said live and by `verify` is the same.
        let mut lines: Vec<Vec<String>> = objects(&ran, "findings").iter().map(findings).collect();
        lines.sort();
        assert_eq!(lines.len(), ANSWERS.len());
        assert!(
            lines.iter().flatten().filter(|text| text.contains("response.body.malformed")).count() == ANSWERS.len()
        );
        assert_eq!(verdicts(&workspace, fixture), lines);
        let replay = Running::start(workspace.path(), ["replay", fixture, "--listen", "127.0.0.1:0"]);
        for ((name, text), message) in ANSWERS.iter().zip(ask(replay.address)) {
            assert_eq!(message.status(), 200, "{name}: {}", String::from_utf8_lossy(body(&message)));
            let now = body(&message);
            if text.contains(&b'@') {
                let now = String::from_utf8_lossy(now);
                assert!(now.contains("-1!") && !now.contains(SECRET), "{name}: {now}");
            } else {
                assert_eq!(now, *text, "{name}");
            }
        }
        replay.finish();
        assert_eq!(workspace.run(&["scan", fixture]).status, 0);
    }
}

#[test]
fn a_request_that_contradicts_its_media_type_matches_byte_for_byte_but_for_its_secrets() {
    let workspace = Workspace::new();
    let cases: &[(&str, &[u8], &[u8])] = &[
        (
            "application/json",
            b"{\"a\":1,\"a\":2,\"password\":\"@\",\"pin\":123456}",
            b"{\"a\":1,\"a\":3,\"password\":\"@\",\"pin\":123456}",
        ),
        ("application/json", b"{\"a\":caf\xe9}", b"{\"b\":caf\xe9}"),
        ("application/json", b"{'a': [1,],}", b"{'a': [2,],}"),
        ("application/x-www-form-urlencoded", b"a=%zz&password=@", b"a=%zy&password=@"),
        (
            "multipart/form-data",
            b"--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n@\r\n--b--\r\n",
            b"--b\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\n@\r\n--b--\r\n",
        ),
    ];
    let send = |address: SocketAddr, index: usize, text: &[u8]| {
        let media = [("Content-Type", cases[index].0)];
        call(address, "POST", &format!("/x/{index}"), &media, &with_secret(text)).status()
    };
    let origin = Origin::start();
    let record = workspace.start_at(origin.address, "record", &["--out", "rec.har"]);
    for (index, (_, text, _)) in cases.iter().enumerate() {
        origin.will_answer("HTTP/1.1 204 Done\r\nConnection: close\r\n\r\n");
        assert_eq!(send(record.address, index, text), 204);
    }
    let ran = record.finish();
    assert_line(&ran.stderr, "proof: replayed against itself, verified, scanned for secrets: good");
    assert!(!workspace.read("rec.har").contains(SECRET) && !workspace.read("rec.har").contains("123456"));
    let replay =
        Running::start(workspace.path(), ["replay", "rec.har", "--listen", "127.0.0.1:0", "--exhausted", "repeat"]);
    for (index, (_, text, other)) in cases.iter().enumerate() {
        assert_eq!(send(replay.address, index, other), 421, "{index}");
        assert_eq!(send(replay.address, index, text), 204, "{index}");
    }
    replay.finish();
    let marks: Vec<Value> = super::harness::entries(&workspace.read("rec.har"))
        .iter()
        .map(|entry| entry["_contrail"]["request"]["malformed"].clone())
        .collect();
    assert_eq!(marks, vec![json!(true); cases.len()]);
}

/// How many bodies of the trail are withheld.
fn withheld_in(workspace: &Workspace, trail: &str) -> usize {
    let segments = std::fs::read_dir(workspace.path().join(trail)).unwrap();
    let texts = segments.map(|segment| std::fs::read_to_string(segment.unwrap().path()).unwrap_or_default());
    texts.map(|text| text.matches("\"withheld\":").count()).sum()
}

#[test]
fn the_summary_counts_each_withheld_body_of_the_journal_once_whatever_is_enforced() {
    const UNREADABLE: &[u8] = b"{\0\"broken";
    let template = "/api/v2/verifiable-credentials/verification/templates/vct_1";
    let json = ("Content-Type", "application/json");
    let requests = [
        ("PATCH", template, vec![json], UNREADABLE),
        ("PATCH", template, vec![json, ("Content-Encoding", "unknown")], b"\xff\xfe"),
        ("PATCH", template, vec![json], b"{}"),
        ("GET", TEMPLATES, Vec::new(), b""),
    ];
    for enforce in [&[][..], &["--enforce", "requests"], &["--enforce", "responses"], &["--enforce", "all"]] {
        let workspace = Workspace::new();
        let origin = Origin::start();
        for _ in &requests {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
            let head = format!("{head}Content-Length: {}\r\n\r\n", UNREADABLE.len());
            origin.will_answer([head.as_bytes(), UNREADABLE].concat());
        }
        let options = [&["--trail", "trail", "--format", "json"], enforce].concat();
        let watching = workspace.start_at(origin.address, "watch", &options);
        for (method, target, headers, content) in &requests {
            call(watching.address, method, target, headers, content);
        }
        let ran = watching.finish();
        let summary = &objects(&ran, "summary")[0]["summary"];
        let withheld = withheld_in(&workspace, "trail");
        assert_eq!((&summary["exchanges"], &summary["withheld"]), (&4.into(), &withheld.into()), "{enforce:?}");
        assert!(withheld >= 2, "{enforce:?}: {withheld}");
    }
}
