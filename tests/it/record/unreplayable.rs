//! Entries that cannot be replayed: the end of the recording names them, and the miss says what helps.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
};

use serde_json::Value;

use super::harness::{Workspace, objects};
use crate::support::{
    golden::{assert_golden, assert_line, assert_output},
    process::Running,
    wire::{Origin, call},
};

const TEXT: &[u8] = b"{\"name\":\"policy\",\"limit\":5}";

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

#[test]
fn an_answer_in_zstd_is_recorded_and_replayed_decoded() {
    let workspace = Workspace::new();
    let origin = Origin::start();
    let coded = ruzstd::encoding::compress_to_vec(TEXT, ruzstd::encoding::CompressionLevel::Fastest);
    origin.will_answer(answer("200 OK", "Content-Type: application/json\r\nContent-Encoding: zstd", &coded));
    let record = workspace.start_at(origin.address, "record", &["--out", "rec.har"]);
    assert_eq!(call(record.address, "GET", "/x", &[("Accept-Encoding", "zstd")], b"").body, coded);
    let ran = record.finish();
    assert_output("record/an_answer_in_zstd_is_recorded", &ran);
    let replay = Running::start(workspace.path(), ["replay", "rec.har", "--listen", "127.0.0.1:0"]);
    let replayed = call(replay.address, "GET", "/x", &[], b"");
    assert_eq!((replayed.status(), &replayed.body[..]), (200, TEXT));
    assert_eq!(replayed.header("content-encoding"), None);
    assert_eq!(replay.finish().status, 0);
}

#[test]
fn a_text_under_a_coding_that_it_is_not_in_is_recorded_and_replayed_as_it_came() {
    let workspace = Workspace::new();
    let origin = Origin::start();
    for coding in ["utf-8", "gzip"] {
        let head = format!("Content-Type: application/json\r\nContent-Encoding: {coding}");
        origin.will_answer(answer("200 OK", &head, TEXT));
    }
    let record = workspace.start_at(origin.address, "record", &["--out", "rec.har"]);
    for path in ["/utf-8", "/gzip"] {
        assert_eq!(call(record.address, "GET", path, &[], b"").body, TEXT);
    }
    let ran = record.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let line = "200 GET /utf-8 - gap TIME ms (operation.undocumented); response body unchecked: contrail does not \
                implement its Content-Encoding, and recorded it as it came";
    assert_line(&ran.stderr, line);
    let replay = Running::start(workspace.path(), ["replay", "rec.har", "--listen", "127.0.0.1:0"]);
    for path in ["/utf-8", "/gzip"] {
        let replayed = call(replay.address, "GET", path, &[], b"");
        assert_eq!((replayed.status(), &replayed.body[..]), (200, TEXT));
        assert_eq!(replayed.header("content-encoding"), Some(&path[1..]));
    }
    assert_eq!(replay.finish().status, 0);
}

#[test]
fn a_stream_that_its_client_left_is_recorded_and_replayed_with_the_events_that_came() {
    let workspace = Workspace::new();
    let tenant = TcpListener::bind("127.0.0.1:0").unwrap();
    let record = workspace.start_at(tenant.local_addr().unwrap(), "record", &["--out", "rec.har"]);
    let mut client = TcpStream::connect(record.address).unwrap();
    client.write_all(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let (mut asked, _) = tenant.accept().unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        asked.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    asked
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"n\":1}\n\ndata: {\"n\":")
        .unwrap();
    let mut came = Vec::new();
    while !came.ends_with(b"{\"n\":") {
        let mut byte = [0];
        client.read_exact(&mut byte).unwrap();
        came.push(byte[0]);
    }
    drop(client);
    let mut rest = Vec::new();
    let _ = asked.read_to_end(&mut rest);
    let ran = record.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_line(
        &ran.stderr,
        "200 GET /events - gap TIME ms (operation.undocumented); incomplete: the client went away before the exchange \
         was over",
    );
    let replay = Running::start(workspace.path(), ["replay", "rec.har", "--listen", "127.0.0.1:0"]);
    let replayed = call(replay.address, "GET", "/events", &[], b"");
    assert_eq!((replayed.status(), &replayed.body[..]), (200, &b"data: {\"n\":1}\n\n"[..]));
    assert_eq!(replay.finish().status, 0);
}

#[test]
fn a_fixture_with_an_entry_that_cannot_be_replayed_is_not_good_and_the_entry_is_named_with_the_reason() {
    for format in ["text", "json"] {
        let workspace = Workspace::new();
        let origin = Origin::start();
        let odd = "Content-Type: application/json\r\nContent-Encoding: odd";
        origin.will_answer(answer("200 OK", odd, b"\xff\xfe"));
        origin.will_answer(answer("200 OK", "Content-Type: application/json", b"{\0\"\0"));
        origin.will_answer(answer("200 OK", "Content-Type: text/plain", &[b'x'; 5000]));
        let options = ["--out", "rec.har", "--max-capture", "4096", "--format", format];
        let record = workspace.start_at(origin.address, "record", &options);
        let paths = ["/odd", "/binary", "/long"];
        for path in paths {
            assert_eq!(call(record.address, "GET", path, &[], b"").status(), 200);
        }
        let ran = record.finish();
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        assert!(!ran.stderr.contains("contrail replay"), "{}", ran.stderr);
        let problems: Vec<String> = if format == "json" {
            let summary = objects(&ran, "summary")[0]["summary"].clone();
            assert_eq!((&summary["proof"]["good"], &summary["next"]), (&false.into(), &Value::Null));
            serde_json::from_value(summary["proof"]["problems"].clone()).unwrap()
        } else {
            assert!(!ran.stderr.contains("good") && !ran.stderr.contains('['), "{}", ran.stderr);
            assert_line(
                &ran.stderr,
                "200 GET /odd - gap TIME ms (operation.undocumented); response body unchecked and not recorded: contrail \
                 does not implement its Content-Encoding",
            );
            ran.stderr.lines().map(str::to_owned).collect()
        };
        for (path, why) in paths.iter().zip([
            "undecodable",
            "unparsable",
            "only 4096 of 5000 bytes of the recorded answer were kept (--max-capture)",
        ]) {
            let told = problems
                .iter()
                .any(|line| line.contains(&format!("(GET {path}) cannot be replayed")) && line.contains(why));
            assert!(told, "{path}: {}", ran.stderr);
        }
        let replay = Running::start(workspace.path(), ["replay", "rec.har", "--listen", "127.0.0.1:0"]);
        let mut details = String::new();
        for path in paths {
            let miss = call(replay.address, "GET", path, &[], b"");
            let detail = miss.json()["detail"].as_str().unwrap().to_owned();
            assert_eq!(miss.status(), 421);
            details += &(detail.clone() + "\n");
            assert_eq!(detail.contains("--max-capture"), path == "/long", "{detail}");
        }
        assert_golden("record/what_cannot_be_replayed.txt", &details);
        assert_eq!(replay.finish().status, 3);
    }
}

#[test]
fn trailer_fields_reach_the_client_and_the_proof_says_that_they_are_not_recorded() {
    let workspace = Workspace::new();
    let origin = Origin::start();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n";
    origin.will_answer(format!("{head}X-Checksum: 900150\r\n\r\n"));
    origin.will_answer(format!("{head}\r\n"));
    let record = workspace.start_at(origin.address, "record", &["--out", "rec.har"]);
    for path in ["/sum", "/none"] {
        assert_eq!(call(record.address, "GET", path, &[("TE", "trailers")], b"").body, b"ok");
    }
    let ran = record.finish();
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let lost = "(GET /sum) does not replay: its answer had trailer fields, which are not recorded";
    assert!(ran.stderr.contains(lost) && !ran.stderr.contains("(GET /none)"), "{}", ran.stderr);
    let replay = Running::start(workspace.path(), ["replay", "rec.har", "--listen", "127.0.0.1:0"]);
    assert_eq!(call(replay.address, "GET", "/sum", &[], b"").body, b"ok");
    assert_eq!(replay.finish().status, 0);
}

#[test]
fn a_body_that_decodes_to_more_than_a_bound_is_withheld_with_the_name_of_its_option() {
    let spaces = format!("[{}]", " ".repeat(200_000)).into_bytes();
    let coded = ruzstd::encoding::compress_to_vec(&spaces[..], ruzstd::encoding::CompressionLevel::Fastest);
    for (option, value, why) in [
        ("--max-decoded", "100KiB", "it decodes to more than --max-decoded"),
        ("--max-ratio", "2", "it decodes to more than --max-ratio allows"),
    ] {
        let workspace = Workspace::new();
        let origin = Origin::start();
        origin.will_answer(answer("200 OK", "Content-Type: application/json\r\nContent-Encoding: zstd", &coded));
        let record = workspace.start_at(origin.address, "record", &["--out", "rec.har", option, value]);
        assert_eq!(call(record.address, "GET", "/x", &[], b"").body, coded);
        let ran = record.finish();
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        let line = format!(
            "200 GET /x - gap TIME ms (operation.undocumented); response body unchecked and not recorded: {why}"
        );
        assert_line(&ran.stderr, &line);
        let withheld = "1 body withheld: contrail cannot decode or parse it, so it cannot find its secrets";
        assert!(ran.stderr.contains(withheld), "{}", ran.stderr);
        let replay = Running::start(workspace.path(), ["replay", "rec.har", "--listen", "127.0.0.1:0"]);
        let miss = call(replay.address, "GET", "/x", &[], b"");
        let detail = miss.json()["detail"].as_str().unwrap().to_owned();
        assert!(miss.status() == 421 && detail.contains(&format!("a larger `{option}`")), "{detail}");
        assert_eq!(replay.finish().status, 3);
    }
}
