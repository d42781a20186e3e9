//! Clients that do not read their answers, and clients that read slowly.

use std::time::Duration;

use contrail_proxy::Settings;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{
    frames::{DATA, GET, HEADERS, RESET, SETTINGS, block, frame, greeting, headers},
    ways::{ProxyUnderTest, Way},
};
use crate::proxy::harness::{Harness, Setup, Wire, within};

const REASON: &str = "the client took no byte of its answer within --write-timeout";
const PIECE: usize = 64 << 10;

async fn harness(write_timeout: u64) -> Harness {
    let change = move |settings: &mut Settings| settings.write_timeout = Duration::from_millis(write_timeout);
    Harness::with(Setup { settings: Box::new(change), ..Setup::default() }).await
}

/// Answers without end, until the proxy closes the connection; tells how much went out.
async fn answer_without_end(mut tenant: Wire) -> usize {
    tenant.message().await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n").await;
    let (piece, mut sent) = (vec![b'a'; PIECE], 0);
    while within(tenant.0.write_all(&piece)).await.is_ok() {
        sent += PIECE;
    }
    sent
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_cut_and_the_upstream_is_free_again() {
    let mut harness = harness(200).await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let tenant = harness.accept().await;
    let sent = answer_without_end(tenant).await;
    // What the sockets' own buffers take, and no more.
    assert!(sent < 64 << 20, "{sent}");
    let exchange = harness.ended().await.exchange;
    assert_eq!(exchange.transport.incomplete.as_deref(), Some(REASON));
    assert!(!exchange.response.unwrap().body.is_whole());
    let got = client.rest().await;
    assert!(got.len() < sent + 1000 && !got.ends_with("\r\n0\r\n\r\n"));
}

#[tokio::test]
async fn a_client_that_reads_slowly_gets_all_of_it() {
    let mut harness = harness(1000).await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    let total = 24 << 20;
    let writing = tokio::spawn(async move {
        tenant.send(&format!("HTTP/1.1 200 OK\r\nContent-Length: {total}\r\n\r\n")).await;
        for _ in 0..total / PIECE {
            within(tenant.0.write_all(&vec![b'a'; PIECE])).await.unwrap();
        }
    });
    client.until("\r\n\r\n").await;
    let (mut left, mut piece) = (total, vec![0; 1 << 20]);
    let begun = tokio::time::Instant::now();
    while left > 0 {
        left -= within(client.0.read(&mut piece)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await; // the promise is about time
    }
    assert!(begun.elapsed() > Duration::from_millis(1000), "slower than the time in which something has to be taken");
    writing.await.unwrap();
    assert_eq!(harness.ended().await.exchange.transport.incomplete, None);
}

/// A client whose streams begin with a window of this size.
async fn with_window(harness: &Harness, window: u32) -> Wire {
    let mut client = harness.client().await;
    let settings = [&4u16.to_be_bytes()[..], &window.to_be_bytes()].concat();
    let mut greeting = greeting();
    greeting.extend_from_slice(&frame(SETTINGS, 0, 0, &settings));
    within(client.0.write_all(&greeting)).await.unwrap();
    client
}

/// The next frame: its type, its stream, and what it holds.
async fn next(client: &mut Wire) -> (u8, u32, Vec<u8>) {
    let mut head = [0; 9];
    within(client.0.read_exact(&mut head)).await.unwrap();
    let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
    within(client.0.read_exact(&mut payload)).await.unwrap();
    (head[3], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload)
}

#[tokio::test]
async fn a_stream_whose_window_never_opens_is_reset_and_the_others_go_on() {
    for (window, length) in [(0, 5), (0, 500_000), (1000, 20_000), (60_000, 500_000)] {
        let mut harness = harness(200).await;
        let mut client = with_window(&harness, window).await;
        client.0.write_all(&headers(1, true, &block(GET))).await.unwrap();
        let mut tenant = harness.accept().await;
        tenant.message().await;
        let body = "a".repeat(length);
        tenant.send(&format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}")).await;
        let mut got = 0;
        loop {
            match next(&mut client).await {
                (DATA, 1, data) => got += data.len(),
                (RESET, 1, code) => {
                    assert_eq!(code, 8u32.to_be_bytes(), "it is cancelled");
                    break;
                }
                _ => {}
            }
        }
        assert_eq!(got, window as usize);
        // As with a socket, what is on its way when the end is there counts as given.
        let incomplete = harness.ended().await.exchange.transport.incomplete;
        assert_eq!(incomplete.as_deref(), Some(REASON).filter(|_| length > 2 * PIECE), "{window} of {length}");
        // An answer without a body needs no window.
        client.0.write_all(&headers(3, true, &block(&GET.replace("/x", "/y")))).await.unwrap();
        let mut tenant = if length > 2 * PIECE { harness.accept().await } else { tenant };
        assert!(tenant.message().await.starts_with("GET /y "), "{window}");
        tenant.send("HTTP/1.1 204 No Content\r\n\r\n").await;
        while !matches!(next(&mut client).await, (HEADERS, 3, _)) {}
        assert_eq!(harness.ended().await.exchange.transport.incomplete, None);
    }
}

#[tokio::test]
async fn a_connection_of_http2_that_is_not_read_is_cut_with_all_its_streams() {
    let mut harness = harness(200).await;
    let mut client = with_window(&harness, 0x7fff_ffff).await;
    let open = 0x7000_0000u32.to_be_bytes();
    client.0.write_all(&frame(8, 0, 0, &open)).await.unwrap();
    client.0.write_all(&headers(1, true, &block(GET))).await.unwrap();
    let tenant = harness.accept().await;
    let sent = answer_without_end(tenant).await;
    assert!(sent < 64 << 20, "{sent}");
    assert_eq!(harness.ended().await.exchange.transport.incomplete.as_deref(), Some(REASON));
    let mut rest = Vec::new();
    let _ = within(client.0.read_to_end(&mut rest)).await;
}

#[tokio::test]
async fn who_does_not_read_is_cut_by_whatever_way_it_came_in() {
    let tenant = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = ProxyUnderTest::start("watch", "http", tenant.local_addr().unwrap(), &["--write-timeout", "0.3"]);
    for way in Way::ALL {
        let mut client = proxy.client(way, false).await;
        let request = proxy.spelled(way, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
        within(client.0.write_all(&request)).await.unwrap();
        let upstream = Wire(within(tenant.accept()).await.unwrap().0);
        let sent = answer_without_end(upstream).await;
        assert!(sent < 64 << 20, "{way:?}: {sent}");
        let mut rest = Vec::new();
        let _ = within(client.0.read_to_end(&mut rest)).await;
        assert!(rest.len() <= sent + 1000, "{way:?}");
    }
    let (_, summary, trail) = proxy.finish();
    assert_eq!(summary["incomplete"], Way::ALL.len(), "{summary}");
    assert_eq!(trail.matches(REASON).count(), Way::ALL.len());
}
