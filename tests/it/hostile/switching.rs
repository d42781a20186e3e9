//! Upgrade and 101: who may switch protocols, and what passes before and after.

use std::time::Duration;

use contrail_proxy::{HoldPolicy, Settings};
use tokio::io::AsyncWriteExt as _;

use super::{
    frames::{Said, block, greeting, headers, said},
    ways::{self, Way},
};
use crate::support::golden::assert_line;
use crate::{
    proxy::harness::{Harness, Setup, Wire, status, within},
    record::harness::{Workspace, entries},
};

const ASK: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n";
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\nX-A: 1\r\n\r\n";
const GET: &str = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n";

fn set(change: impl FnOnce(&mut Settings) + 'static) -> Setup {
    Setup { settings: Box::new(change), ..Setup::default() }
}

/// A client and the upstream of a connection whose protocol is switched.
async fn switched(harness: &Harness) -> (Wire, Wire) {
    let mut client = harness.client().await;
    client.send(ASK).await;
    let mut tenant = harness.accept().await;
    let got = tenant.message().await.to_lowercase();
    assert_line(&got, "connection: upgrade");
    assert_line(&got, "upgrade: websocket");
    tenant.send(SWITCH).await;
    let answer = client.until("\r\n\r\n").await.to_lowercase();
    assert!(answer.starts_with("http/1.1 101 switching protocols\r\n"), "{answer}");
    for field in ["connection: upgrade", "upgrade: websocket", "x-a: 1"] {
        assert_line(&answer, field);
    }
    assert!(!answer.contains("content-length") && !answer.contains("transfer-encoding"), "{answer}");
    (client, tenant)
}

#[tokio::test]
async fn a_protocol_that_the_client_requested_is_switched_and_the_exchange_is_recorded() {
    let mut harness = Harness::new().await;
    let (mut client, mut tenant) = switched(&harness).await;
    let ended = harness.ended().await;
    assert_eq!(ended.exchange.response.as_ref().unwrap().status, 101);
    assert_eq!(ended.exchange.transport.incomplete, None);
    assert_eq!(ended.meta.remarks, ["what follows the switch of protocols is neither judged nor recorded"]);
    client.send("GET /\0\r\n\n\x01 is no request here").await;
    tenant.until("no request here").await;
    tenant.send("HTTP/1.1 600 nor this an answer\n").await;
    client.until("nor this an answer\n").await;
    drop(tenant);
    assert_eq!(client.rest().await, "");
    assert!(harness.nothing_ended());
    assert!(harness.seen.turned_away.lock().unwrap().is_empty());
}

#[tokio::test]
async fn bytes_that_come_before_the_101_wait_for_it_and_pass_whole() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client
        .send(&format!(
            "{}early\n",
            ASK.replace("GET", "POST").replace("\r\n\r\n", "\r\nContent-Length: 4\r\n\r\nbody")
        ))
        .await;
    let mut tenant = harness.accept().await;
    assert!(tenant.message().await.ends_with("\r\n\r\nbody"));
    assert!(tenant.is_silent().await);
    client.send("more\n").await;
    assert!(tenant.is_silent().await);
    tenant.send(&format!("{SWITCH}hello\n")).await;
    assert!(client.until("hello\n").await.starts_with("HTTP/1.1 101 "));
    assert_eq!(tenant.until("more\n").await, "early\nmore\n");
    let exchange = harness.ended().await.exchange;
    assert_eq!((exchange.request.body.content.as_ref(), exchange.request.body.is_whole()), (&b"body"[..], true));
}

#[tokio::test]
async fn a_refused_switch_keeps_the_connection_for_requests_unless_bytes_came_early() {
    for early in ["", "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"] {
        let mut harness = Harness::new().await;
        let mut client = harness.client().await;
        client.send(&format!("{ASK}{early}")).await;
        let mut tenant = harness.accept().await;
        tenant.message().await;
        // A turn for the early bytes to be read.
        assert!(tenant.is_silent().await && client.is_silent().await);
        tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno").await;
        if early.is_empty() {
            assert!(client.message().await.ends_with("no"));
            client.send(GET).await;
            assert!(tenant.message().await.starts_with("GET /next "));
        } else {
            let answer = client.rest().await;
            assert_line(&answer, "connection: close");
            assert!(answer.ends_with("no"), "{answer}");
            assert!(tenant.is_silent().await, "something of it was forwarded");
        }
        harness.ended().await;
        assert!(harness.nothing_ended(), "{early}");
    }
}

/// Requests that ask for nothing: `Upgrade` ends here.
#[rustfmt::skip]
const ASKS_NOTHING: &[&str] = &[
    "GET /x HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n",
    "GET /x HTTP/1.1\r\nHost: a\r\nConnection: x\r\nUpgrade: websocket\r\n\r\n",
    "GET /x HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
    "GET /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: H2C , ,\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
    "GET /x HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n\r\n",
    "GET /x HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade:\r\n\r\n",
    "GET /x HTTP/1.0\r\nHost: a\r\nConnection: upgrade, keep-alive\r\nUpgrade: websocket\r\n\r\n",
];

#[tokio::test]
async fn a_101_that_no_client_requested_is_a_502_and_its_connection_is_closed() {
    for asked in ASKS_NOTHING {
        let mut harness = Harness::new().await;
        let mut client = harness.client().await;
        client.send(asked).await;
        let mut tenant = harness.accept().await;
        let got = tenant.message().await.to_lowercase();
        assert!(!got.contains("upgrade") && !got.contains("http2-settings"), "{asked:?}: {got}");
        tenant.send(SWITCH).await;
        refused(&mut harness, &mut client, &mut tenant, asked).await;
    }
}

/// Answers to [`ASK`] that switch to something else.
#[rustfmt::skip]
const ANOTHER: &[&str] = &[
    "HTTP/1.1 101 X\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
    "HTTP/1.1 101 X\r\nUpgrade: websocket, tls/1.0\r\nConnection: upgrade\r\n\r\n",
    "HTTP/1.1 101 X\r\nUpgrade: web\r\nConnection: upgrade\r\n\r\n",
    "HTTP/1.1 101 X\r\nUpgrade:\r\nConnection: upgrade\r\n\r\n",
    "HTTP/1.1 101 X\r\n\r\n",
];

#[tokio::test]
async fn a_101_to_another_protocol_than_the_requested_one_is_a_502() {
    for answer in ANOTHER {
        let mut harness = Harness::new().await;
        let mut client = harness.client().await;
        client.send(ASK).await;
        let mut tenant = harness.accept().await;
        tenant.message().await;
        tenant.send(answer).await;
        refused(&mut harness, &mut client, &mut tenant, answer).await;
    }
}

#[tokio::test]
async fn a_101_before_the_request_is_whole_is_a_502() {
    let harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send(&ASK.replace("\r\n\r\n", "\r\nContent-Length: 4\r\n\r\nbo")).await;
    let mut tenant = harness.accept().await;
    tenant.until("bo").await;
    tenant.send(SWITCH).await;
    assert_eq!(status(&client.message().await), 502);
    client.send("dy").await;
    assert!(!tenant.rest().await.contains("dy"));
}

/// The client gets a 502 of contrail's own, the upstream's connection ends, and the next request gets a fresh one.
async fn refused(harness: &mut Harness, client: &mut Wire, tenant: &mut Wire, shown: &str) {
    let answer = client.message().await;
    assert_eq!(status(&answer), 502, "{shown:?}: {answer}");
    assert_line(&answer, "contrail-answer: upstream");
    assert_eq!(tenant.rest().await, "", "{shown:?}");
    let exchange = harness.ended().await.exchange;
    assert!(exchange.response.is_none() && exchange.transport.incomplete.is_some(), "{shown:?}");
    let mut client = harness.client().await;
    client.send(GET).await;
    let mut fresh = harness.accept().await;
    fresh.message().await;
    fresh.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood").await;
    assert!(client.message().await.ends_with("good"), "{shown:?}");
    harness.ended().await;
}

#[tokio::test]
async fn of_several_protocols_only_those_worth_asking_for_go_on_and_any_of_them_may_come() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client
        .send(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade, http2-settings, x-hop\r\nUpgrade: h2c, a/1\r\n\
             Upgrade: B\r\nHTTP2-Settings: x\r\nX-Hop: 1\r\nX-Stays: 1\r\n\r\n",
        )
        .await;
    let mut tenant = harness.accept().await;
    let got = tenant.message().await.to_lowercase();
    assert_line(&got, "upgrade: a/1, b");
    assert_line(&got, "connection: upgrade");
    assert_line(&got, "x-stays: 1");
    assert!(!got.contains("h2c") && !got.contains("http2") && !got.contains("x-hop"), "{got}");
    tenant.send("HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: b\r\nContent-Length: 9\r\n\r\nhello").await;
    let answer = client.until("hello").await;
    assert!(!answer.to_lowercase().contains("content-length"), "{answer}");
    assert_eq!(harness.ended().await.exchange.response.unwrap().status, 101);
}

#[tokio::test]
async fn a_switched_connection_serves_no_other_client_and_outlives_the_timers_of_requests() {
    let mut harness = Harness::with(set(|settings| {
        settings.header_timeout = Duration::from_millis(100);
        settings.keep_alive = Duration::from_millis(100);
    }))
    .await;
    let (mut client, mut tenant) = switched(&harness).await;
    harness.ended().await;
    client.send("a\n").await;
    tenant.until("a\n").await;
    let mut other = harness.client().await;
    other.send(GET).await;
    let mut fresh = harness.accept().await;
    assert!(fresh.message().await.starts_with("GET /next "));
    fresh.send("HTTP/1.1 204 No Content\r\n\r\n").await;
    // The other connection is idle and is closed for it; the tunnel was idle for longer.
    assert!(other.rest().await.starts_with("HTTP/1.1 204 "));
    client.send("b\n").await;
    tenant.until("b\n").await;
    tenant.send("c\n").await;
    client.until("c\n").await;
}

#[tokio::test]
async fn a_tunnel_passes_the_end_of_one_side_on_and_keeps_the_other_open() {
    let harness = Harness::new().await;
    let (mut client, mut tenant) = switched(&harness).await;
    client.send("last\n").await;
    client.0.shutdown().await.unwrap();
    assert_eq!(tenant.rest().await, "last\n");
    tenant.send("answer\n").await;
    tenant.0.shutdown().await.unwrap();
    assert_eq!(client.rest().await, "answer\n");
}

#[tokio::test]
async fn a_protocol_is_switched_by_every_way_in_and_both_ends_pass() {
    let upstream = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let workspace = ways::ProxyUnderTest::start("watch", "http", upstream.local_addr().unwrap(), &[]);
    for way in Way::ALL {
        let mut client = workspace.client(way, false).await;
        let asked = [workspace.spelled(way, ASK), b"early\n".to_vec()].concat();
        within(client.0.write_all(&asked)).await.unwrap();
        let mut tenant = Wire(within(upstream.accept()).await.unwrap().0);
        assert!(tenant.message().await.to_lowercase().contains("\r\nupgrade: websocket\r\n"), "{way:?}");
        assert!(tenant.is_silent().await, "{way:?}: something came before the switch");
        tenant.send(&format!("{SWITCH}hello\n")).await;
        assert!(client.until("hello\n").await.starts_with("HTTP/1.1 101 "), "{way:?}");
        client.send("GET / HTTP/1.1\r\n\r\nlast\n").await;
        within(client.0.shutdown()).await.unwrap();
        assert_eq!(tenant.rest().await, "early\nGET / HTTP/1.1\r\n\r\nlast\n", "{way:?}");
        tenant.send("answer\n").await;
        tenant.0.shutdown().await.unwrap();
        assert_eq!(client.rest().await, "answer\n", "{way:?}");
    }
    let (_, summary, trail) = workspace.finish();
    assert_eq!((&summary["exchanges"], &summary["incomplete"]), (&Way::ALL.len().into(), &0.into()), "{summary}");
    assert!(!trail.contains("early") && !trail.contains("answer\n"), "{trail}");
}

#[tokio::test]
async fn over_http2_no_switch_is_requested() {
    let upstream = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let workspace = ways::ProxyUnderTest::start("watch", "http", upstream.local_addr().unwrap(), &[]);
    let fields = ":method=CONNECT|:scheme=https|:path=/chat|:authority=a|:protocol=websocket";
    for way in [Way::Tls, Way::TlsTunnel] {
        let mut client = workspace.client(way, true).await;
        within(client.0.write_all(&[greeting(), headers(1, false, &block(fields))].concat())).await.unwrap();
        assert_eq!(said(&mut client).await, Said::Reset, "{way:?}");
    }
    let reached = tokio::time::timeout(Duration::ZERO, upstream.accept()).await;
    assert!(reached.is_err(), "something of it was forwarded");
}

#[tokio::test]
async fn a_silent_tunnel_ends_and_so_does_one_when_contrail_stops() {
    let silent = Harness::with(set(|settings| settings.tunnel_timeout = Duration::from_millis(100))).await;
    let (mut client, mut tenant) = switched(&silent).await;
    assert_eq!((client.rest().await, tenant.rest().await), (String::new(), String::new()));

    let stopped = Harness::new().await;
    let (mut client, mut tenant) = switched(&stopped).await;
    stopped.stop();
    assert_eq!((client.rest().await, tenant.rest().await), (String::new(), String::new()));
    stopped.server.await.unwrap();
}

#[tokio::test]
async fn a_tunnel_counts_as_a_connection() {
    let harness = Harness::with(set(|settings| settings.max_connections = 1)).await;
    let (client, tenant) = switched(&harness).await;
    assert_eq!(status(&harness.client().await.rest().await), 503);
    drop((client, tenant));
    loop {
        let mut next = harness.client().await;
        next.send(GET).await;
        if next.is_silent().await {
            assert!(harness.accept().await.message().await.starts_with("GET /next "));
            return;
        }
    }
}

#[tokio::test]
async fn under_enforce_no_switch_is_requested() {
    for holds in [
        HoldPolicy { requests: true, ..HoldPolicy::default() },
        HoldPolicy { responses: true, ..HoldPolicy::default() },
    ] {
        let mut harness = Harness::with(Setup { holds, ..Setup::default() }).await;
        let mut client = harness.client().await;
        client.send(ASK).await;
        let mut tenant = harness.accept().await;
        let got = tenant.message().await.to_lowercase();
        assert!(!got.contains("upgrade"), "{got}");
        tenant.send("HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nConnection: upgrade\r\nContent-Length: 0\r\n\r\n").await;
        assert_eq!(status(&client.message().await), 426);
        harness.ended().await;
        client.send(GET).await;
        assert!(tenant.message().await.starts_with("GET /next "));
    }
}

/// An upstream that switches protocols and then sends everything back.
fn echo() -> std::net::SocketAddr {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut line = String::new();
            while reader.read_line(&mut line).unwrap() > 2 {
                line.clear();
            }
            stream.write_all(SWITCH.as_bytes()).unwrap();
            let _ = std::io::copy(&mut reader, &mut stream);
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_switch_is_recorded_without_what_followed_and_never_replayed_as_an_answer() {
    let workspace = Workspace::new();
    let upstream = echo();
    let forward = ["--out", "rec.har", "--ca-dir", "ca", "--forward-listen", "127.0.0.1:0"];
    let running = workspace.start_at(upstream, "record", &forward);
    for (door, connect) in [(0, false), (1, false), (1, true)] {
        let mut client = Wire(tokio::net::TcpStream::connect(running.addresses[door]).await.unwrap());
        if connect {
            client.send(&format!("CONNECT {upstream} HTTP/1.1\r\nHost: {upstream}\r\n\r\n")).await;
            client.until("\r\n\r\n").await;
        }
        let target = if door == 1 && !connect { format!("http://{upstream}/chat") } else { "/chat".to_owned() };
        client.send(&format!("{}early ", ASK.replace("/chat", &target))).await;
        assert!(client.until("\r\n\r\n").await.starts_with("HTTP/1.1 101 "));
        client.send("private words\n").await;
        assert_eq!(client.until("words\n").await, "early private words\n");
    }
    let ran = running.finish();
    assert_line(
        &ran.stderr,
        "101 GET /chat - gap TIME ms (operation.undocumented); what follows the switch of protocols is neither judged \
         nor recorded",
    );
    let har = workspace.read("rec.har");
    assert!(!har.contains("private words") && !ran.stderr.contains("private words"));
    let entries = entries(&har);
    assert_eq!((entries.len(), &entries[2]["response"]["status"]), (3, &101.into()), "{har}");

    let replaying =
        crate::support::process::Running::start(workspace.path(), ["replay", "--listen", "127.0.0.1:0", "rec.har"]);
    let mut client = Wire(tokio::net::TcpStream::connect(replaying.addresses[0]).await.unwrap());
    client.send(ASK).await;
    let answer = client.message().await;
    assert_eq!(status(&answer), 421, "{answer}");
    assert!(answer.contains("switched the protocol"), "{}", answer);
    assert_eq!(replaying.finish().status, 3);
}
