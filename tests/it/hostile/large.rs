//! Large uploads, and upstreams that stop reading them.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::ways::{ProxyUnderTest, Way};
use crate::proxy::harness::{Wire, status, within};

/// Bytes of each body.
const LARGE: usize = 40 << 20;
static PIECE: [u8; 64 << 10] = [b'x'; 64 << 10];

/// An upstream that reads uploads to `/read` whole and answers how much came, and no byte of a body to `/stall`.
async fn tenant() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let mut stream = Wire(listener.accept().await.unwrap().0);
            tokio::spawn(async move {
                let head = stream.until("\r\n\r\n").await;
                if head.starts_with("POST /stall ") {
                    return std::future::pending().await;
                }
                let mut read = 0;
                let mut piece = vec![0; 64 << 10];
                while read < LARGE {
                    match within(stream.0.read(&mut piece)).await {
                        Ok(more @ 1..) => read += more,
                        _ => break,
                    }
                }
                let read = read.to_string();
                stream.send(&format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{read}", read.len())).await;
            });
        }
    });
    address
}

fn post(path: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: {LARGE}\r\n\r\n")
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn memory_stays_flat_with_large_uploads_and_an_upstream_that_stops_reading() {
    let most = LARGE.to_string();
    let proxy = ProxyUnderTest::start("record", "http", tenant().await, &["--max-body", &most]);
    let mut stalled = Vec::new();
    for way in Way::ALL.into_iter().chain(Way::ALL) {
        let mut client = proxy.client(way, false).await;
        within(client.0.write_all(&proxy.spelled(way, &post("/stall")))).await.unwrap();
        stalled.push(tokio::spawn(async move { while client.0.write_all(&PIECE).await.is_ok() {} }));
    }
    for way in [Way::Plain, Way::TlsTunnel] {
        let mut client = proxy.client(way, false).await;
        within(client.0.write_all(&proxy.spelled(way, &post("/read")))).await.unwrap();
        for _ in 0..LARGE / PIECE.len() {
            within(client.0.write_all(&PIECE)).await.unwrap();
        }
        let answer = client.message().await;
        assert!(status(&answer) == 200 && answer.ends_with(&LARGE.to_string()), "{way:?}: {answer}");
    }
    let peak = proxy.running.memory("VmHWM");
    // Twelve bodies of 40 MiB were on their way; 4 MiB of each may be kept.
    assert!(peak < 200 << 10, "{peak} kB");
    for client in &stalled {
        client.abort();
    }
    for client in stalled {
        let _ = client.await;
    }
    let (_, summary, _) = proxy.finish();
    assert_eq!((summary["exchanges"].as_u64(), summary["incomplete"].as_u64()), (Some(12), Some(10)), "{summary}");
}
