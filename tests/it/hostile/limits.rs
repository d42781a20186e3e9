//! Each limit of the configuration, met exactly and gone beyond by one, with what comes of it and where that is said.

use std::{io::Write as _, net::SocketAddr};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::{
    frames::{DATA, END_STREAM, Said, block, frame, greeting, headers, said},
    ways::{ProxyUnderTest, Tenant, Way},
};
use crate::proxy::harness::{Wire, status, within};
use crate::support::golden::assert_line;

/// A head of exactly so many bytes.
fn head_of(bytes: usize) -> String {
    let plain = "GET /x HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n".len();
    format!("GET /x HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(bytes - plain))
}

fn with_fields(fields: usize) -> String {
    format!("GET /x HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: 1\r\n".repeat(fields - 1))
}

fn with_target(length: usize) -> String {
    format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(length - 1))
}

fn with_body(length: usize) -> String {
    format!("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length))
}

fn with_chunks(length: usize) -> String {
    let chunks = "1\r\nx\r\n".repeat(length);
    format!("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")
}

/// The limits of one run, what goes beyond by as much as it is told to, and what that is answered with.
type Limit = (usize, fn(usize) -> String, u16, &'static str);
const LIMITS: &[Limit] = &[
    (800, head_of, 431, "max-header-bytes"),
    (7, with_fields, 431, "max-headers"),
    (300, with_target, 414, "max-target"),
    (1000, with_body, 413, "max-body"),
    (1000, with_chunks, 413, "max-body"),
];
const OPTIONS: &[&str] =
    &["--max-header-bytes", "800", "--max-headers", "7", "--max-target", "300", "--max-streams", "3"];

async fn holds(command: &str) {
    let tenant = Tenant::start().await;
    let proxy = ProxyUnderTest::start(command, "http", tenant.address, OPTIONS);
    let good = if command == "replay" { 421 } else { 200 };
    for (most, request, beyond, reason) in LIMITS {
        let mut client = proxy.client(Way::Plain, false).await;
        // Twice on one connection: what has been met exactly leaves nothing behind.
        for _ in 0..2 {
            client.send(&request(*most)).await;
            let answer = client.message().await;
            assert!(status(&answer) == good && !answer.contains("connection: close"), "{reason}: {answer}");
        }
        let _ = within(client.0.write_all(request(most + 1).as_bytes())).await;
        let answer = client.rest().await;
        assert_eq!((status(&answer), answer.matches("HTTP/1.1 ").count()), (*beyond, 1), "{reason}: {answer}");
        assert_line(&answer, &format!("contrail-answer: {reason}"));
        assert_line(&answer, "connection: close");
    }
    over_http2(&proxy, good).await;
    let (_, summary, _) = proxy.finish();
    let turned_away = summary["turned_away"].as_object().unwrap();
    for said in ["larger than --max-header-bytes", "header fields than --max-headers", "longer than --max-target"] {
        let counted = turned_away.iter().find(|(reason, _)| reason.contains(said));
        assert_eq!(counted.map(|(_, count)| count.as_u64()), Some(Some(2)), "{said}: {summary}");
    }
    let by_size = summary["answered_by_contrail"]["max-body"].as_u64().unwrap_or_default();
    let announced = turned_away.iter().find(|(reason, _)| reason.contains("--max-body"));
    assert_eq!(by_size + announced.map_or(0, |(_, count)| count.as_u64().unwrap()), 3, "{summary}");
}

async fn over_http2(proxy: &ProxyUnderTest, good: u16) {
    let good = if good == 421 { Said::Problem(421) } else { Said::Whole };
    let get = |path: &str, more: &str| format!(":method=GET|:scheme=http|:path={path}|:authority=a{more}");
    // As HTTP/1 would write it: name, colon, blank, value, line end; beside the target.
    let bytes = |total: usize| get("/x", &format!("|x={}", "x".repeat(total - "/x".len() - "x: \r\n".len())));
    let path = |length: usize| get(&format!("/{}", "x".repeat(length - 1)), "");
    let fields = |count: usize| get("/x", &"|a=1".repeat(count));
    let cases = [
        (bytes(800), good),
        (bytes(801), Said::Problem(431)),
        (path(300), good),
        (path(301), Said::Problem(414)),
        (fields(7), good),
        (fields(8), Said::Problem(431)),
    ];
    for (fields, expected) in cases {
        let mut client = proxy.client(Way::Tls, true).await;
        within(client.0.write_all(&[greeting(), headers(1, true, &block(&fields))].concat())).await.unwrap();
        assert_eq!(said(&mut client).await, expected, "{fields}");
    }
    for (length, expected) in [(1000, good), (1001, Said::Problem(413))] {
        let mut client = proxy.client(Way::Plain, true).await;
        let head = headers(1, false, &block(":method=POST|:scheme=http|:path=/x|:authority=a"));
        let data = frame(DATA, END_STREAM, 1, &vec![b'x'; length]);
        within(client.0.write_all(&[greeting(), head, data].concat())).await.unwrap();
        assert_eq!(said(&mut client).await, expected, "{length} bytes");
    }
}

#[tokio::test]
async fn a_request_of_exactly_what_is_allowed_passes_into_a_recording_and_one_more_is_refused_with_a_reason() {
    holds("record").await;
}

#[tokio::test]
async fn a_request_of_exactly_what_is_allowed_passes_into_a_replay_and_one_more_is_refused_with_a_reason() {
    holds("replay").await;
}

#[tokio::test]
async fn as_many_streams_as_allowed_are_served_at_a_time_and_one_more_is_refused_and_can_be_sent_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = ProxyUnderTest::start("watch", "http", listener.local_addr().unwrap(), OPTIONS);
    let mut client = proxy.client(Way::Tls, true).await;
    let get = block(":method=GET|:scheme=http|:path=/x|:authority=a");
    let sent: Vec<u8> = [1, 3, 5, 7].into_iter().flat_map(|stream| headers(stream, true, &get)).collect();
    within(client.0.write_all(&[greeting(), sent].concat())).await.unwrap();
    // REFUSED_STREAM (7): nothing was done, so it can be sent again (RFC 9113, section 8.7).
    let reset = frame(3, 0, 7, &7_u32.to_be_bytes());
    let mut came = Vec::new();
    while !came.windows(reset.len()).any(|window| window == reset) {
        assert!(within(client.0.read_buf(&mut came)).await.unwrap() > 0, "{came:?}");
    }
    for _ in 0..3 {
        let mut tenant = Wire(within(listener.accept()).await.unwrap().0);
        tenant.until("\r\n\r\n").await;
        tenant.send("HTTP/1.1 204 No Content\r\n\r\n").await;
    }
    drop(client);
    let (_, summary, _) = proxy.finish();
    assert_eq!(summary["exchanges"], 3, "{summary}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    coder.write_all(bytes).unwrap();
    coder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut coder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    coder.write_all(bytes).unwrap();
    coder.finish().unwrap()
}

/// 16 MiB of blanks, as the reference encoder writes them.
const BROTLI_BOMB: &[u8] = &[
    0xcb, 0xff, 0xff, 0x3f, 0xf8, 0x25, 0x40, 0xe2, 0xb1, 0x40, 0x20, 0xf7, 0xfe, 0x2f, 0xff, 0xff, 0xff, 0xf0, 0x4b,
    0x00, 0xc4, 0x61, 0x11, 0x80, 0xee, 0xfd, 0x1f,
];

/// JSON of exactly this length.
fn json_of(length: usize) -> Vec<u8> {
    format!("\"{}\"", "x".repeat(length - 2)).into_bytes()
}

fn nested(depth: usize) -> Vec<u8> {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth)).into_bytes()
}

/// An upstream that answers each request with the next of these.
async fn tenant(answers: Vec<(&'static str, Vec<u8>)>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut stream = Wire(listener.accept().await.unwrap().0);
        for (coding, body) in answers {
            stream.until("\r\n\r\n").await;
            let coding = if coding.is_empty() { String::new() } else { format!("Content-Encoding: {coding}\r\n") };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{coding}Content-Length: {length}\r\n\r\n"
            );
            stream.send(&head).await;
            within(stream.0.write_all(&body)).await.unwrap();
        }
        stream.until("never").await;
    });
    address
}

#[tokio::test]
async fn what_is_beyond_the_limits_of_looking_at_a_body_is_unchecked_and_reaches_the_client_byte_for_byte() {
    let mut bomb = brotli_decompressor::Decompressor::new(BROTLI_BOMB, 4096);
    let whole = std::io::copy(&mut bomb, &mut std::io::sink()).unwrap();
    assert_eq!(whole, 16 << 20);
    let blanks = vec![b' '; 64 << 20];
    let cases: Vec<(&str, Vec<u8>, bool)> = vec![
        ("", json_of(5000), true),
        ("", json_of(5001), false), // --max-capture
        ("", nested(20), true),
        ("", nested(21), false), // --max-depth
        ("gzip", gzip(&json_of(90_000)), true),
        ("gzip", gzip(&json_of(90_001)), false), // --max-decoded
        ("deflate", zlib(&json_of(90_001)), false),
        ("gzip, gzip", gzip(&gzip(&json_of(90_001))), false),
        ("gzip", gzip(&blanks[..4 << 20]), false),
        ("gzip, gzip, gzip", gzip(&gzip(&gzip(&blanks))), false),
        ("br", BROTLI_BOMB.to_vec(), false),
        ("gzip, deflate, gzip, deflate", zlib(&gzip(&zlib(&gzip(b"[]")))), true),
        ("gzip, gzip, gzip, gzip, gzip", gzip(&gzip(&gzip(&gzip(&gzip(b"[]"))))), false),
        ("zstd", b"[]".to_vec(), true),
    ];
    let answers = cases.iter().map(|(coding, body, _)| (*coding, body.clone())).collect();
    let options = ["--max-capture", "5000", "--max-depth", "20", "--max-decoded", "90000"];
    let proxy = ProxyUnderTest::start("watch", "http", tenant(answers).await, &options);
    let mut client = proxy.client(Way::Plain, false).await;
    for (coding, body, _) in &cases {
        client.send("GET /api/v2/connection-profiles/templates HTTP/1.1\r\nHost: a\r\n\r\n").await;
        let head = client.until("\r\n\r\n").await;
        assert!(coding.is_empty() || head.contains(&format!("Content-Encoding: {coding}\r\n")), "{head}");
        let mut came = vec![0; body.len()];
        within(client.0.read_exact(&mut came)).await.unwrap();
        assert!(came == *body, "{coding}");
    }
    let folder = proxy.folder.path().join("trail/trail-00000001.journal");
    let journal = std::fs::read_to_string(folder).unwrap();
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let entries: Vec<Value> = entries.filter(|entry| entry.get("startedDateTime").is_some()).collect();
    assert_eq!(entries.len(), cases.len());
    for ((coding, body, looked_at), entry) in cases.iter().zip(entries) {
        let note = &entry["_contrail"];
        let found = |list: &str, name: &str| note[list].to_string().contains(name);
        let shown = format!("{coding} {} bytes: {note}", body.len());
        // What was looked at is no list of templates; what was not is unchecked.
        assert_eq!(found("findings", "response.body"), *looked_at, "{shown}");
        assert_eq!(found("unchecked", "response-body"), !looked_at, "{shown}");
    }
}
