//! Answers of a broken or hostile upstream over HTTP/1.

use std::time::Duration;

use contrail_exchange::Presence;
use contrail_proxy::{HoldPolicy, upstream::live};
use tokio::io::AsyncWriteExt as _;

use super::{expand, frames};
use crate::proxy::harness::{Harness, Setup, status, within};
use crate::support::golden::{assert_line, masked};

const GET: &str = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";

/// Answers that are no answers: each is a 502 of contrail's own, and its connection is thrown away.
#[rustfmt::skip]
pub const UNUSABLE: &[&str] = &[
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nX Y: 1\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\ngarbage\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\n<<X: 1\r\n*101>>Content-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nX: <<a*900000>>\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 99 X\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 000 X\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 2000 X\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 2x0 X\r\nContent-Length: 0\r\n\r\n",
    "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "hello\r\n\r\n",
    "\x16\x03\x01\r\n\r\n",
];

#[tokio::test]
async fn an_unusable_answer_is_a_502_and_the_next_request_gets_a_fresh_connection() {
    for sent in UNUSABLE {
        let mut harness = Harness::new().await;
        let mut client = harness.client().await;
        client.send(GET).await;
        let mut tenant = harness.accept().await;
        tenant.message().await;
        {
            let _ = tenant.0.write_all(expand(sent).as_bytes()).await;
            let _ = tenant.0.shutdown().await;
        }
        let answer = client.message().await;
        let shown: String = sent.chars().take(100).collect();
        assert_eq!(status(&answer), 502, "{shown:?}: {answer}");
        assert_line(&answer, "contrail-answer: upstream");
        let exchange = harness.ended().await.exchange;
        assert!(exchange.response.is_none() && exchange.transport.incomplete.is_some(), "{shown:?}");
        client.send(GET).await;
        let mut fresh = harness.accept().await;
        fresh.message().await;
        fresh.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood").await;
        assert!(client.message().await.ends_with("good"), "{shown:?}");
    }
}

#[tokio::test]
async fn an_answer_with_more_fields_than_the_bound_is_a_502_that_names_the_option_and_passes_under_a_larger_one() {
    let fields = (0..150).fold(String::new(), |fields, at| fields + &format!("X-{at}: 1\r\n"));
    let sent = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 2\r\n\r\nok");
    for (bound, expected) in [
        (
            100,
            (
                502,
                r#"{"type":"urn:contrail:upstream","title":"Bad Gateway","status":502,"detail":"no answer from http://127.0.0.1:PORT: the head of its response has more than 100 fields (--max-response-headers) or more than 131072 bytes"}"#,
            ),
        ),
        (200, (200, "ok")),
    ] {
        let limits = live::Limits { fields: bound, ..live::Limits::default() };
        let harness = Harness::with(Setup { limits, ..Setup::default() }).await;
        let mut client = harness.client().await;
        client.send(GET).await;
        let mut tenant = harness.accept().await;
        tenant.message().await;
        tenant.send(&sent).await;
        let answer = client.message().await;
        let body = masked(answer.split_once("\r\n\r\n").unwrap().1);
        // Problem documents are indented, for people.
        let body = serde_json::from_str::<serde_json::Value>(&body).map_or(body, |value| value.to_string());
        assert_eq!((status(&answer), &*body), expected);
    }
}

/// Answers that are cut or go on too long: what is sent before the upstream closes, what the client gets, and whether
/// that is whole.
#[rustfmt::skip]
pub const ENDS: &[(&str, &str, bool)] = &[
    ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", false),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false),
    ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", false),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", false),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", false),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", false),
    ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", true),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\nevil", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", true),
    ("HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nevil", "HTTP/1.1 204 No Content\r\n\r\n", true),
    ("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n", true),
    ("HTTP/1.1 304 Not Modified\r\n\r\nevil", "HTTP/1.1 304 Not Modified\r\n\r\n", true),
    ("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", true),
    ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", true),
    ("<<HTTP/1.1 102 Processing\r\n\r\n*20>>HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "<<HTTP/1.1 102 Processing\r\n\r\n*20>>HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", true),
    ("HTTP/1.1 103 X\r\nContent-Length: 3\r\nConnection: close\r\n\r\nHTTP/1.1 199 X\r\nTransfer-Encoding: chunked\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 199 \r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", true),
    ("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", true),
    ("HTTP/1.1 200 OK\r\nUpgrade: h2c\r\nConnection: upgrade, x-a\r\nX-A: 1\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", true),
];

#[tokio::test]
async fn an_answer_ends_where_its_framing_ends_and_nothing_of_it_leaks_into_the_next() {
    for (sent, expected, whole) in ENDS {
        let mut harness = Harness::new().await;
        let mut client = harness.client().await;
        client.send(GET).await;
        let mut tenant = harness.accept().await;
        tenant.message().await;
        tenant.send(&expand(sent)).await;
        drop(tenant);
        let expected = &*expand(expected);
        if !whole {
            assert_eq!(client.rest().await, *expected, "{sent:?}");
            let exchange = harness.ended().await.exchange;
            assert!(exchange.transport.incomplete.is_some(), "{sent:?}");
            assert!(!exchange.response.unwrap().body.is_whole(), "{sent:?}");
            continue;
        }
        assert_eq!(client.until(expected).await, *expected, "{sent:?}");
        assert_eq!(harness.ended().await.exchange.transport.incomplete, None, "{sent:?}");
        client.send(GET).await;
        let mut fresh = harness.accept().await;
        fresh.message().await;
        fresh.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood").await;
        assert_eq!(client.until("good").await, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood", "{sent:?}");
    }
}

#[tokio::test]
async fn an_interim_answer_reaches_the_client_before_the_answer_is_there() {
    for request in
        [GET, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo", "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"]
    {
        let mut harness = Harness::new().await;
        let mut client = harness.client().await;
        client.send(request).await;
        let mut tenant = harness.accept().await;
        tenant.until(if request.ends_with("bo") { "bo" } else { "\r\n\r\n" }).await;
        for hint in ["a", "b"] {
            tenant
                .send(&format!(
                    "HTTP/1.1 103 Early Hints\r\nLink: {hint}\r\nConnection: x-hop\r\nX-Hop: 1\r\nContent-Length: 3\r\n\r\n"
                ))
                .await;
            let got = client.until("\r\n\r\n").await;
            assert_eq!(got, format!("HTTP/1.1 103 Early Hints\r\nlink: {hint}\r\n\r\n"), "{request}");
        }
        if request.ends_with("bo") {
            client.send("dy").await;
            tenant.until("dy").await;
        }
        tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no").await;
        client.until("\r\n\r\no").await;
        // Too late: it is no longer before the answer.
        tenant.send("kHTTP/1.1 103 Early Hints\r\n\r\n").await;
        assert_eq!(client.until("k").await, "k");
        let exchange = harness.ended().await.exchange;
        assert_eq!((exchange.response.unwrap().status, exchange.transport.incomplete), (200, None));
        client.send(GET).await;
        assert!(client.is_silent().await);
    }
}

#[tokio::test]
async fn a_client_that_cannot_take_interim_answers_gets_none() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n";
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood";
    let judging = HoldPolicy { responses: true, ..HoldPolicy::default() };
    for (request, holds) in [("GET /x HTTP/1.0\r\nHost: a\r\n\r\n", HoldPolicy::default()), (GET, judging)] {
        let mut harness = Harness::with(Setup { holds, ..Setup::default() }).await;
        let (_, got, _) = harness.exchange(request, &format!("{hints}{answer}")).await;
        assert!(status(&got) == 200 && got.ends_with("good"), "{got}");
    }
    let harness = Harness::new().await;
    let mut client = frames::opened(&harness).await;
    client.0.write_all(&frames::headers(1, true, &frames::block(frames::GET))).await.unwrap();
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send(&format!("{hints}{answer}")).await;
    assert_eq!(frames::said(&mut client).await, frames::Said::Whole);
}

#[tokio::test]
async fn interim_answers_without_end_are_a_502_however_fast_and_a_504_however_slow() {
    const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
    for (pause, expected, reason) in [
        (
            Duration::ZERO,
            502,
            "no answer from http://127.0.0.1:PORT: connection error: it sent too many interim responses (1xx) and no final response",
        ),
        (Duration::from_millis(20), 504, "http://127.0.0.1:PORT did not answer within 0.3 s"),
    ] {
        let limits = live::Limits { silence: Duration::from_millis(300), ..live::Limits::default() };
        let limits = if expected == 504 { limits } else { live::Limits::default() };
        let mut harness = Harness::with(Setup { limits, ..Setup::default() }).await;
        let mut client = harness.client().await;
        client.send(GET).await;
        let mut tenant = harness.accept().await;
        tenant.message().await;
        let flood = tokio::spawn(async move {
            let mut sent = 0;
            let piece = HINTS.repeat(if pause.is_zero() { 1000 } else { 1 });
            while tenant.0.write_all(piece.as_bytes()).await.is_ok() {
                sent += piece.len();
                tokio::time::sleep(pause).await; // how fast it sends is what this is about
            }
            sent
        });
        let mut answer = client.message().await;
        let mut passed = 0;
        while status(&answer) == 103 {
            passed += answer.len();
            answer = client.message().await;
        }
        assert_eq!(status(&answer), expected, "{answer}");
        assert!(0 < passed && passed <= 64 << 10, "{passed}");
        let exchange = harness.ended().await.exchange;
        assert!(exchange.response.is_none());
        assert_eq!(masked(&exchange.transport.incomplete.unwrap()), reason);
        assert!(within(flood).await.unwrap() < 16 << 20);
        client.send(GET).await;
        harness.accept().await.message().await;
    }
}

#[tokio::test]
async fn an_answer_without_a_length_ends_with_its_connection_and_the_client_gets_the_last_chunk() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send(GET).await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.0 200 OK\r\n\r\nabc").await;
    drop(tenant);
    assert_line(&client.until("0\r\n\r\n").await, "3\nabc");
    assert_eq!(harness.ended().await.exchange.transport.incomplete, None);
}

#[tokio::test]
async fn a_client_of_http_1_0_gets_no_chunks_and_the_end_with_its_connection() {
    let mut harness = Harness::new().await;
    for (keep, cut) in [("", false), ("Connection: keep-alive\r\n", false), ("Connection: keep-alive\r\n", true)] {
        let mut client = harness.client().await;
        client.send(&format!("GET /x HTTP/1.0\r\nHost: a\r\n{keep}\r\n")).await;
        let mut tenant = harness.accept().await;
        assert!(tenant.message().await.starts_with("GET /x HTTP/1.1\r\n"));
        let end = if cut { "5\r\nde" } else { "0\r\nX-T: 1\r\n\r\n" };
        tenant
            .send(&format!(
                "HTTP/1.1 103 X\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n{end}"
            ))
            .await;
        drop(tenant);
        let answer = client.rest().await;
        assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
        assert!(!answer.to_lowercase().contains("transfer-encoding"), "{answer}");
        assert!(answer.ends_with(if cut { "\r\n\r\nabcde" } else { "\r\n\r\nabc" }), "{answer}");
        assert_eq!(harness.ended().await.exchange.transport.incomplete.is_some(), cut);
    }
}

#[tokio::test]
async fn a_body_behind_the_answer_to_head_reaches_no_client() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil").await;
    assert_line(&client.until("\r\n\r\n").await, "Content-Length: 4");
    harness.ended().await;
    client.send(GET).await;
    let mut fresh = harness.accept().await;
    fresh.message().await;
    fresh.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood").await;
    assert!(client.message().await.ends_with("\r\n\r\ngood"));
}

#[tokio::test]
async fn bodies_that_stall_together_are_kept_no_further_than_the_common_bound_and_pass_whole() {
    let setup = Setup { settings: Box::new(|settings| settings.max_captured = 0), ..Setup::default() };
    let mut harness = Harness::with(setup).await;
    let body = "a".repeat(100_000);
    let (_, answer, ended) =
        harness.exchange(GET, &format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())).await;
    assert!(answer.ends_with(&format!("\r\n\r\n{body}")));
    assert_eq!(ended.exchange.transport.incomplete, None);
    let kept = ended.exchange.response.unwrap().body;
    assert_eq!(kept.presence, Presence::Truncated { kept: 64 << 10, total: Some(100_000) });
}
