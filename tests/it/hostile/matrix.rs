//! The tables of hostile requests again, by every way in and in front of everything that answers: `record`, `watch` and
//! `replay`; plain, TLS, absolute form, and CONNECT with either inside; HTTP/1 and HTTP/2.

use super::{
    expand,
    frames::{self, Said, block, frame, greeting, headers, said},
    requests::{ACCEPTED, BROKEN_BODIES, REFUSED},
    ways::{ProxyUnderTest, Tenant, Way},
};
use crate::proxy::harness::{status, within};
use crate::support::golden::assert_line;
use tokio::io::AsyncWriteExt as _;

/// The bodies that are never whole upstream stand behind this.
const CHUNKED: &str = "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

/// What a table says of the reverse listener, said of a request that comes this way.
fn of_forward(way: Way, expected: (u16, &'static str)) -> (u16, &'static str) {
    match expected {
        (405, _) if way == Way::Absolute => (403, "tunnel-denied"),
        _ => expected,
    }
}

/// Tells how many were refused.
async fn refused_heads(proxy: &ProxyUnderTest, way: Way) -> u64 {
    let mut refused = 0;
    for (sent, expected, reason) in REFUSED {
        // With a target that names the authority, an empty Host is what RFC 9110 asks for; and in a tunnel the begin of
        // a handshake is one.
        if way == Way::Absolute && sent.contains("Host:\r\n") || way == Way::Tunnel && sent.starts_with('\x16') {
            continue;
        }
        let mut client = proxy.client(way, false).await;
        let sent = expand(sent);
        let _ = within(client.0.write_all(&proxy.spelled(way, &sent))).await;
        let answer = client.rest().await;
        let shown = format!("{way:?} {:?}: {answer}", &sent[..sent.len().min(120)]);
        let (expected, reason) = of_forward(way, (*expected, reason));
        assert!(answer.starts_with("HTTP/1.1 "), "{shown}");
        assert_eq!((status(&answer), answer.matches("HTTP/1.1 ").count()), (expected, 1), "{shown}");
        // What is no origin form is refused on the forward listener for that already.
        let reasons = [reason, "no-absolute-form"].map(|reason| format!("contrail-answer: {reason}\r\n"));
        let known = if way == Way::Absolute { &reasons[..] } else { &reasons[..1] };
        assert!(known.iter().any(|reason| answer.contains(reason)), "{shown}");
        assert_line(&answer, "content-type: application/problem+json");
        assert_line(&answer, "connection: close");
        refused += 1;
    }
    refused
}

async fn legal_requests(proxy: &ProxyUnderTest, way: Way, status_of_good: u16) {
    for (sent, _) in ACCEPTED {
        // Those name no upstream that a forward listener knows.
        if way == Way::Absolute && (sent.to_lowercase().contains(" http://") || sent.contains(" * ")) {
            continue;
        }
        let mut client = proxy.client(way, false).await;
        let sent = proxy.spelled(way, &expand(sent));
        for again in [false, true] {
            within(client.0.write_all(&sent)).await.unwrap();
            let answer = client.message().await;
            let shown = String::from_utf8_lossy(&sent[..sent.len().min(120)]).into_owned();
            assert_eq!(status(&answer), status_of_good, "{way:?} {shown:?}: {answer}");
            if answer.contains("connection: close") || sent.windows(8).any(|window| window == b"HTTP/1.0") {
                assert!(shown.contains("HTTP/1.0"), "{}", shown);
                assert!(!again, "{way:?} {shown:?}: {answer}");
                break;
            }
        }
    }
}

async fn broken_bodies(proxy: &ProxyUnderTest, way: Way) {
    for (body, expected) in BROKEN_BODIES {
        let mut client = proxy.client(way, false).await;
        within(client.0.write_all(&proxy.spelled(way, CHUNKED))).await.unwrap();
        let body = expand(body);
        let _ = within(client.0.write_all(body.as_bytes())).await;
        let answer = client.rest().await;
        let shown = format!("{way:?} {:?}: {answer}", &body[..body.len().min(80)]);
        assert_eq!((status(&answer), answer.matches("HTTP/1.1 ").count()), (*expected, 1), "{shown}");
        let reason = if *expected == 413 { "max-body" } else { "request-aborted" };
        assert_line(&answer, &format!("contrail-answer: {reason}"));
        assert_line(&answer, "connection: close");
    }
}

/// Tells how many got an answer of contrail's own.
async fn refused_over_http2(proxy: &ProxyUnderTest, way: Way) -> u64 {
    let mut answered = 0;
    for (fields, expected) in frames::REFUSED {
        let mut client = proxy.client(way, true).await;
        let fields = of_upstream(proxy, way, &expand(fields));
        let _ = within(client.0.write_all(&[greeting(), headers(1, true, &block(&fields))].concat())).await;
        let expected = match expected {
            Said::Problem(405) if way == Way::Absolute => &Said::Problem(501),
            expected => expected,
        };
        let said = said(&mut client).await;
        assert_eq!(said, *expected, "{way:?} {:?}", &fields[..fields.len().min(120)]);
        answered += u64::from(matches!(said, Said::Problem(_)));
    }
    answered
}

async fn bodies_over_http2(proxy: &ProxyUnderTest, way: Way) {
    for (fields, data, expected) in frames::BODIES {
        let mut client = proxy.client(way, true).await;
        let fields = of_upstream(proxy, way, &format!(":method=POST|:scheme=http|:path=/x|:authority=a{fields}"));
        let data = frame(frames::DATA, frames::END_STREAM, 1, expand(data).as_bytes());
        let sent = [greeting(), headers(1, false, &block(&fields)), data].concat();
        within(client.0.write_all(&sent)).await.unwrap();
        assert_eq!(said(&mut client).await, *expected, "{way:?} {fields}");
    }
}

/// A forward listener needs the upstream.
fn of_upstream(proxy: &ProxyUnderTest, way: Way, fields: &str) -> String {
    if way != Way::Absolute {
        return fields.to_owned();
    }
    let named = |field: &str| {
        if field == ":authority=a" { format!(":authority={}", proxy.authority) } else { field.to_owned() }
    };
    fields.split('|').map(named).collect::<Vec<_>>().join("|")
}

async fn holds(command: &str, options: &[&str]) {
    let mut tenant = Tenant::start().await;
    let proxy = ProxyUnderTest::start(command, "http", tenant.address, options);
    let mut refused = 0;
    for way in Way::ALL {
        refused += refused_heads(&proxy, way).await;
        refused += refused_over_http2(&proxy, way).await;
    }
    assert_eq!(tenant.all().await, [""; 0], "{command}");
    for way in Way::ALL {
        broken_bodies(&proxy, way).await;
    }
    for got in tenant.all().await {
        assert!(!got.contains("\r\n0\r\n"), "{command}: {got}");
    }
    for way in Way::ALL {
        bodies_over_http2(&proxy, way).await;
    }
    for got in tenant.all().await {
        assert!(!got.contains("\r\n0\r\n") && !got.contains("hello"), "{command}: {got}");
    }
    for way in Way::ALL {
        legal_requests(&proxy, way, if command == "replay" { 421 } else { 200 }).await;
    }
    let (_, summary, kept) = proxy.finish();
    let counts = summary["turned_away"].as_object().unwrap().values();
    let turned_away: u64 = counts.map(|count| count.as_u64().unwrap()).sum();
    // Of the bodies over HTTP/2 one has two lengths, which is refused before anything of it is read.
    assert_eq!(turned_away, refused + Way::ALL.len() as u64, "{summary}");
    assert!(!kept.contains("smuggled"), "{kept}");
}

#[tokio::test]
async fn hostile_requests_are_refused_by_every_way_into_a_recording() {
    holds("record", &[]).await;
}

#[tokio::test]
async fn hostile_requests_are_refused_by_every_way_into_a_watch() {
    holds("watch", &[]).await;
}

#[tokio::test]
async fn hostile_requests_are_refused_by_every_way_into_a_replay() {
    holds("replay", &[]).await;
}

#[tokio::test]
async fn hostile_requests_are_refused_by_every_worker() {
    holds("record", &["--workers", "3"]).await;
}
