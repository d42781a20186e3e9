//! What goes on in HTTP/2 streams after their head, and floods of frames that are legal one by one.

use std::time::Duration;

use contrail_proxy::Settings;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GET, GOAWAY, HEADERS, RESET, SETTINGS, Said, WHOLE, block, frame,
    headers, opened, said,
};
use crate::proxy::harness::{Harness, Setup, within};

const POST: &str = ":method=POST|:scheme=http|:path=/x|:authority=a";

/// What comes in a stream after a head and three bytes, and is no end of its body.
fn broken_bodies() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("trailers with a pseudo-header", headers(1, true, &block("x=1|:path=/evil"))),
        ("trailers without an end", headers(1, false, &block("x=1"))),
        ("trailers in upper case", headers(1, true, &block("X-A=1"))),
        ("a reset", frame(RESET, 0, 1, &8u32.to_be_bytes())),
        ("a reset without an error", frame(RESET, 0, 1, &0u32.to_be_bytes())),
        ("padding larger than its frame", frame(DATA, 8 | END_STREAM, 1, &[200, 1])),
        ("a stream that depends on itself", frame(2, 0, 1, &[0, 0, 0, 1, 0])),
        ("a priority of the wrong size", frame(2, 0, 1, &[0, 0, 0])),
        ("a window of nothing", frame(8, 0, 1, &[0; 4])),
        ("a window beyond all bounds", frame(8, 0, 1, &0x7fff_ffffu32.to_be_bytes())),
        ("a connection window beyond all bounds", frame(8, 0, 0, &0x7fff_ffffu32.to_be_bytes())),
        ("a promise", frame(5, END_HEADERS, 1, &[&2u32.to_be_bytes()[..], &block(GET)].concat())),
        ("settings on a stream", frame(SETTINGS, 0, 1, b"")),
        ("settings of the wrong size", frame(SETTINGS, 0, 0, b"abc")),
        ("settings beyond all bounds", frame(SETTINGS, 0, 0, &[0, 4, 0xff, 0xff, 0xff, 0xff])),
        ("a ping of the wrong size", frame(6, 0, 0, b"abc")),
        ("a continuation of nothing", frame(CONTINUATION, END_HEADERS, 1, &block("x=1"))),
        ("garbage", vec![0xff; 100]),
        ("the end of the connection", Vec::new()),
    ]
}

#[tokio::test]
async fn an_upload_over_http2_that_breaks_off_is_never_completed_upstream() {
    for (what, sent) in broken_bodies() {
        let mut harness = Harness::new().await;
        let mut client = opened(&harness).await;
        client.0.write_all(&headers(1, false, &block(POST))).await.unwrap();
        client.0.write_all(&frame(DATA, 0, 1, b"abc")).await.unwrap();
        let mut tenant = harness.accept().await;
        tenant.until("\r\n3\r\nabc\r\n").await;
        within(client.0.write_all(&sent)).await.unwrap();
        if sent.is_empty() {
            client.0.shutdown().await.unwrap();
        }
        assert_eq!(tenant.rest().await, "", "{what}");
        let exchange = harness.ended().await.exchange;
        assert!(!exchange.request.body.is_whole() && exchange.transport.unfinished().is_some(), "{what}");
    }
}

#[tokio::test]
async fn what_comes_after_the_end_of_a_stream_reaches_no_client() {
    for after in [frame(DATA, END_STREAM, 1, b"evil"), headers(1, true, &block(POST)), frame(DATA, 0, 1, b"evil")] {
        let mut harness = Harness::new().await;
        let mut client = opened(&harness).await;
        client.0.write_all(&headers(1, true, &block(GET))).await.unwrap();
        let mut tenant = harness.accept().await;
        tenant.message().await;
        client.0.write_all(&after).await.unwrap();
        assert!(matches!(said(&mut client).await, Said::Reset | Said::Gone), "{after:?}");
        assert_eq!(tenant.rest().await, "", "{after:?}");
        harness.ended().await;
    }
}

#[tokio::test]
async fn a_stream_that_is_reset_ends_its_upstream_at_once_and_the_others_go_on() {
    let mut harness = Harness::new().await;
    let mut client = opened(&harness).await;
    for stream in [1, 3] {
        client.0.write_all(&headers(stream, true, &block(GET))).await.unwrap();
    }
    let (mut one, mut other) = (harness.accept().await, harness.accept().await);
    one.message().await;
    other.message().await;
    client.0.write_all(&frame(RESET, 0, 1, &8u32.to_be_bytes())).await.unwrap();
    // Their order is unknown; one ends, and the other answers.
    let (mut byte, mut last) = ([0], [0]);
    tokio::select! {
        read = one.0.read(&mut byte) => assert_eq!(read.unwrap_or(0), 0),
        read = other.0.read(&mut last) => {
            assert_eq!(read.unwrap_or(0), 0);
            other = one;
        }
    }
    assert!(harness.ended().await.exchange.transport.unfinished().is_some());
    other.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood").await;
    let mut seen = Vec::new();
    while !seen.ends_with(b"good") {
        seen.push(within(client.0.read_u8()).await.unwrap());
    }
    assert_eq!(harness.ended().await.exchange.transport.incomplete, None);
}

#[tokio::test]
async fn a_client_that_sends_goaway_still_gets_its_answer() {
    let harness = Harness::new().await;
    let mut client = opened(&harness).await;
    client.0.write_all(&headers(1, true, &block(GET))).await.unwrap();
    let mut tenant = harness.accept().await;
    tenant.message().await;
    client.0.write_all(&frame(GOAWAY, 0, 0, &[0; 8])).await.unwrap();
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood").await;
    let mut all = Vec::new();
    let _ = within(client.0.read_to_end(&mut all)).await;
    assert!(all.windows(4).any(|window| window == b"good"));
}

#[tokio::test]
async fn frames_of_data_without_data_are_silence() {
    let change = |settings: &mut Settings| settings.body_timeout = Duration::from_millis(200);
    let mut harness = Harness::with(Setup { settings: Box::new(change), ..Setup::default() }).await;
    let mut client = opened(&harness).await;
    client.0.write_all(&headers(1, false, &block(POST))).await.unwrap();
    let (mut reading, mut writing) = client.0.into_split();
    let flood = tokio::spawn(async move {
        // A frame each 20 ms: the promise is about time.
        while writing.write_all(&frame(DATA, 0, 1, b"")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let exchange = harness.ended().await.exchange;
    assert_eq!(exchange.response.unwrap().status, 408);
    flood.abort();
    let _ = reading.read(&mut [0]).await;
}

/// Frames that are legal one by one.
fn floods() -> Vec<(&'static str, Vec<u8>)> {
    let pings = frame(6, 0, 0, b"12345678").repeat(50_000);
    let settings = frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]).repeat(50_000);
    let priorities = frame(2, 0, 5, &[0, 0, 0, 3, 1]).repeat(50_000);
    let windows = frame(8, 0, 0, &1u32.to_be_bytes()).repeat(50_000);
    let unknown = frame(0x77, 0, 0, b"abc").repeat(50_000);
    let acks = frame(SETTINGS, 1, 0, b"").repeat(50_000);
    let nothing = [headers(1, false, &block(POST)), frame(DATA, 0, 1, b"").repeat(50_000)].concat();
    let bytes = [headers(1, false, &block(POST)), frame(DATA, 0, 1, b"a").repeat(50_000)].concat();
    let empty = [frame(HEADERS, 0, 1, &block(GET)), frame(CONTINUATION, 0, 1, b"").repeat(50_000)].concat();
    let made_to_reset: Vec<u8> = (0..2000)
        .flat_map(|index| [headers(2 * index + 1, true, &block(GET)), frame(8, 0, 2 * index + 1, &[0; 4])].concat())
        .collect();
    let malformed: Vec<u8> =
        (0..2000).flat_map(|index| headers(2 * index + 1, true, &block(&GET.replace("/x", "x")))).collect();
    let many: Vec<u8> = (0..2000).flat_map(|index| frame(HEADERS, WHOLE, 2 * index + 1, &block(GET))).collect();
    vec![
        ("pings", pings),
        ("settings", settings),
        ("acknowledgements", acks),
        ("priorities", priorities),
        ("windows", windows),
        ("unknown frames", unknown),
        ("empty data", nothing),
        ("single bytes", bytes),
        ("empty continuations", empty),
        ("streams that are made to be reset", made_to_reset),
        ("malformed streams", malformed),
        ("streams beyond the limit", many),
    ]
}

#[tokio::test]
async fn a_flood_of_frames_ends_its_connection_or_does_no_harm_and_others_are_served() {
    for (what, flood) in floods() {
        let harness = Harness::new().await;
        let mut client = opened(&harness).await;
        // Nothing of what the proxy says is read.
        let _ = tokio::time::timeout(Duration::from_secs(2), client.0.write_all(&flood)).await;
        let mut other = harness.client().await;
        other.send("GET /other HTTP/1.1\r\nHost: a\r\n\r\n").await;
        loop {
            let mut tenant = harness.accept().await;
            if tenant.until("\r\n\r\n").await.contains("GET /other ") {
                tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood").await;
                break;
            }
        }
        assert!(other.message().await.ends_with("good"), "{what}");
    }
}

#[tokio::test]
async fn a_small_block_that_stands_for_a_large_head_is_refused() {
    let mut harness = Harness::new().await;
    let mut client = opened(&harness).await;
    // A field of 3900 bytes goes into the table, and comes again 8000 times as one byte each.
    let mut bomb = block(GET);
    bomb.extend_from_slice(&[0x40, 1, b'x', 127, 0xbd, 0x1d]);
    bomb.extend_from_slice(&[b'a'; 3900]);
    bomb.extend_from_slice(&[0xbe; 8000]);
    client.0.write_all(&headers(1, true, &bomb)).await.unwrap();
    assert!(matches!(said(&mut client).await, Said::Gone | Said::Reset | Said::Problem(431)));
    assert!(harness.nothing_ended());
    assert!(tokio::time::timeout(Duration::ZERO, harness.upstream.accept()).await.is_err(), "it was forwarded");
}

#[tokio::test]
async fn streams_open_no_more_connections_to_the_upstream_than_may_be() {
    let change = |settings: &mut Settings| settings.max_upstream = 2;
    let harness = Harness::with(Setup { settings: Box::new(change), ..Setup::default() }).await;
    let mut client = opened(&harness).await;
    for stream in 0..20 {
        client.0.write_all(&headers(2 * stream + 1, true, &block(GET))).await.unwrap();
    }
    let mut tenants = [harness.accept().await, harness.accept().await];
    for tenant in &mut tenants {
        tenant.message().await;
    }
    let third = tokio::time::timeout(Duration::from_millis(100), harness.upstream.accept()).await;
    assert!(third.is_err(), "a third connection is opened");
    // All of them are served in turn by these two.
    let [mut one, mut other] = tenants;
    one.send("HTTP/1.1 204 No Content\r\n\r\n").await;
    for _ in 2..20 {
        one.message().await;
        one.send("HTTP/1.1 204 No Content\r\n\r\n").await;
    }
    other.send("HTTP/1.1 204 No Content\r\n\r\n").await;
}
