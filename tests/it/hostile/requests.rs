//! Requests over HTTP/1: smuggling, odd heads, odd chunks, limits.

use std::time::Duration;

use contrail_proxy::Settings;
use tokio::io::AsyncWriteExt as _;

use super::expand;
use crate::proxy::harness::{Harness, Setup, status, within};
use crate::support::golden::assert_line;

/// Heads that are refused before the upstream sees anything: what is sent, the status, the reason.
#[rustfmt::skip]
pub const REFUSED: &[(&str, u16, &str)] = &[
    // Transfer-Encoding is exactly one `chunked`.
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;q=1\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked,\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0cchunked\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\t: chunked\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\r\n: chunked\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nX: y\nTransfer-Encoding: chunked\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\ncontent_length: 5\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "bad-request"),
    // Content-Length is one, digits only.
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5,5\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5.0\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: five\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\0\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nhello", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\nhello", 413, "max-body"),
    // Header fields.
    ("GET /x HTTP/1.1\nHost: a\n\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a\r\n\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a\r\nX Y: 1\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a\r\nX(: 1\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a\r\nX\u{e9}: 1\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\n Host: a\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\n\tX: 1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    // Host: exactly one, valid.
    ("GET /x HTTP/1.1\r\n\r\n", 400, "bad-request"),
    ("GET http://a/x HTTP/1.1\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost:\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a, b\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a,b\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: u@a\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: http://a\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a:b\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: a:99999\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: :80\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\r\nHost: [::1\r\n\r\n", 400, "bad-request"),
    // Request lines.
    ("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET  /x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET /x  HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1 \r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET\t/x\tHTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    (" GET /x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET /x\rHTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET /x#y HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET http:x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET ftp://a/x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET http://u:p@a/x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET http://a:b/x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET /x\r\n\r\n", 400, "bad-request"),
    ("GET /x http/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/11.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.2\r\nHost: a\r\n\r\n", 505, "http-version"),
    ("GET /x HTTP/2.0\r\nHost: a\r\n\r\n", 505, "http-version"),
    ("GET /x HTTP/0.9\r\nHost: a\r\n\r\n", 505, "http-version"),
    ("G@T /x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad-request"),
    ("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", 400, "bad-request"),
    ("\x16\x03\x01\x02\0\x01\0\x01\u{fc}\x03\x03", 400, "bad-request"),
    ("SSH-2.0-x\r\n\r\n", 400, "bad-request"),
    // What has a fault is not read to its end.
    ("GET /x\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.3\r\n", 505, "http-version"),
    ("GET /x HTTP/1.1\r\nHost: a\r\n\r\r\n", 400, "bad-request"),
    ("GET /x HTTP/1.1\nHost: a", 400, "bad-request"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\nX", 400, "bad-request"),
    ("<<\r\n*101>>", 400, "bad-request"),
    // Limits.
    ("GET /<<a*17000>> HTTP/1.1\r\nHost: a\r\n\r\n", 414, "max-target"),
    ("GET /<<a*17000>>", 414, "max-target"),
    ("GET /<<a*900000>> HTTP/1.1\r\nHost: a\r\n\r\n", 414, "max-target"),
    ("GET /x HTTP/1.1\r\nHost: a\r\n<<A: 1\r\n*100>>\r\n", 431, "max-headers"),
    ("GET /x HTTP/1.1\r\nHost: a\r\n<<A: 1\r\n*100>>", 431, "max-headers"),
    ("GET /x HTTP/1.1\r\nHost: a\r\nA: <<a*66000>>\r\n\r\n", 431, "max-header-bytes"),
    ("GET /x HTTP/1.1\r\nHost: a\r\nA: <<a*66000>>", 431, "max-header-bytes"),
    ("GET /x HTTP/1.1\r\nHost: a\r\n<<a*900000>>: 1\r\n\r\n", 431, "max-header-bytes"),
    ("<<G*66000>> /x HTTP/1.1\r\n\r\n", 431, "max-header-bytes"),
    ("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n", 405, "connect-refused"),
];

#[tokio::test]
async fn refused_heads_get_their_status_a_reason_and_a_closed_connection_and_nothing_goes_upstream() {
    for (sent, expected, reason) in REFUSED {
        let mut harness = Harness::new().await;
        let mut client = harness.client().await;
        // A second request right behind is never answered: its beginning is unknown.
        let sent = expand(sent);
        let _ = within(client.0.write_all(&latin1(&sent))).await;
        let answer = client.rest().await;
        let shown: String = sent.chars().take(120).collect();
        assert!(answer.starts_with("HTTP/1.1 "), "{shown:?}: {answer:?}");
        assert_eq!((status(&answer), answer.matches("HTTP/1.1 ").count()), (*expected, 1), "{shown:?}: {answer}");
        assert_line(&answer, &format!("contrail-answer: {reason}"));
        assert_line(&answer, "content-type: application/problem+json");
        assert_line(&answer, "connection: close");
        let turned_away = harness.seen.turned_away.lock().unwrap().clone();
        assert_eq!(turned_away.iter().map(|(status, _)| *status).collect::<Vec<_>>(), [*expected], "{shown:?}");
        if reason.starts_with("bad-") {
            let (_, why) = &turned_away[0];
            assert!(why.contains(' '), "the line does not say what is wrong with {shown:?}: {why}");
        }
        assert!(harness.nothing_ended(), "{shown:?}");
        let connected = tokio::time::timeout(Duration::ZERO, harness.upstream.accept()).await;
        assert!(connected.is_err(), "{shown:?} reached the upstream");
    }
}

#[tokio::test]
async fn a_refused_head_in_pieces_is_refused_as_well() {
    for (sent, expected, _) in REFUSED.iter().filter(|(sent, ..)| expand(sent).len() < 100) {
        let harness = Harness::new().await;
        let mut client = harness.client().await;
        for byte in latin1(sent) {
            if within(client.0.write_all(&[byte])).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        assert_eq!(status(&client.rest().await), *expected, "{sent:?}");
    }
}

#[tokio::test]
async fn a_refused_head_request_gets_no_body() {
    let harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send("HEAD /x HTTP/1.1\r\nHost: a\r\nHost: b\r\nX: \x01\r\n\r\n").await;
    let answer = client.rest().await;
    assert!(status(&answer) == 400 && answer.ends_with("\r\n\r\n"), "{answer}");
}

/// Odd, and legal: what is sent, and the begin of what the upstream gets.
#[rustfmt::skip]
pub const ACCEPTED: &[(&str, &str)] = &[
    ("\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n", "GET /x HTTP/1.1\r\n"),
    ("GET /x HTTP/1.0\r\n\r\n", "GET /x HTTP/1.1\r\n"),
    ("GET //evil/x HTTP/1.1\r\nHost: a\r\n\r\n", "GET //evil/x HTTP/1.1\r\n"),
    ("GET http://b/x HTTP/1.1\r\nHost: a\r\n\r\n", "GET /x HTTP/1.1\r\n"),
    ("GET http://b/x HTTP/1.1\r\nHost:\r\n\r\n", "GET /x HTTP/1.1\r\n"),
    ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\n"),
    ("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\n"),
    ("OPTIONS http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS / HTTP/1.1\r\n"),
    ("OPTIONS http://a?q HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS /?q HTTP/1.1\r\n"),
    ("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\n"),
    ("GET HTTP://a?q=/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET /?q=/ HTTP/1.1\r\n"),
    ("GET /x HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "GET /x HTTP/1.1\r\n"),
    ("get /x HTTP/1.1\r\nHost: a\r\n\r\n", "get /x HTTP/1.1\r\n"),
    ("GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "GET /x HTTP/1.1\r\n"),
    ("GET /<<a*16000>> HTTP/1.1\r\nHost: a\r\n\r\n", "GET /aaaa"),
    ("GET /x HTTP/1.1\r\nHost: a\r\n<<A: 1\r\n*99>>\r\n", "GET /x HTTP/1.1\r\n"),
    ("GET /x HTTP/1.1\r\nHost: a\r\nA: <<a*60000>>\r\n\r\n", "GET /x HTTP/1.1\r\n"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\tCHUNKED \r\n\r\n5;a=b;c=\"d;\"\r\nhello\r\n0\r\n\r\n", "POST /x HTTP/1.1\r\n"),
    ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length:5 \r\n\r\nhello", "POST /x HTTP/1.1\r\n"),
];

#[tokio::test]
async fn odd_and_legal_requests_pass_and_the_connection_goes_on() {
    for (sent, begin) in ACCEPTED {
        let mut harness = Harness::new().await;
        let mut client = harness.client().await;
        client.send(&expand(sent)).await;
        let mut tenant = harness.accept().await;
        let got = tenant.message().await;
        assert!(got.starts_with(begin), "{sent:?}: {got}");
        tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
        assert!(client.message().await.ends_with("ok"), "{sent:?}");
        assert_eq!(harness.ended().await.exchange.transport.incomplete, None);
    }
}

/// Chunked bodies that are never whole upstream: what stands behind the head, and the status.
#[rustfmt::skip]
pub const BROKEN_BODIES: &[(&str, u16)] = &[
    ("0x5\r\nhello\r\n0\r\n\r\n", 400),
    ("+5\r\nhello\r\n0\r\n\r\n", 400),
    ("-5\r\nhello\r\n0\r\n\r\n", 400),
    ("5 \r\nhello\r\n0\r\n\r\n", 400),
    (" 5\r\nhello\r\n0\r\n\r\n", 400),
    ("5;\r\nhello\r\n0\r\n\r\n", 400),
    ("5;a=\"\r\nhello\r\n0\r\n\r\n", 400),
    ("5;\0\r\nhello\r\n0\r\n\r\n", 400),
    ("5;a\nb\r\nhello\r\n0\r\n\r\n", 400),
    ("5;a\rb\r\nhello\r\n0\r\n\r\n", 400),
    ("5;<<a*20000>>\r\nhello\r\n0\r\n\r\n", 400),
    ("5\nhello\r\n0\r\n\r\n", 400),
    ("5\rhello\r\n0\r\n\r\n", 400),
    ("5\r\nhello\n0\r\n\r\n", 400),
    ("5\r\nhello0\r\n\r\n", 400),
    ("5\r\nhelloX\r\n0\r\n\r\n", 400),
    ("5\r\nhello\r\n\r\n", 400),
    ("5\r\nhello\r\nz\r\n\r\n", 400),
    ("5\r\nhello\r\n0\n\n", 400),
    ("5\r\nhello\r\n0\r\n\n", 400),
    ("\r\n5\r\nhello\r\n0\r\n\r\n", 400),
    ("10000000000000005\r\nhello\r\n0\r\n\r\n", 400),
    ("00000000000000005\r\nhello\r\n0\r\n\r\n", 400),
    ("5\r\nhello\r\n0\r\nbad name: 1\r\n\r\n", 400),
    ("5\r\nhello\r\n0\r\n folded\r\n\r\n", 400),
    ("5\r\nhello\r\n0\r\nX: a\nY: b\r\n\r\n", 400),
    ("5\r\nhello\r\n0\r\n<<A: b\r\n*200>>\r\n", 400),
    ("5\r\nhello\r\n0\r\nA: <<b*70000>>\r\n\r\n", 400),
    ("ffffffffffffffff\r\nhello", 413),
    ("3e9\r\n<<a*1001>>\r\n0\r\n\r\n", 413),
    ("<<1\r\na\r\n*1001>>0\r\n\r\n", 413),
];

#[tokio::test]
async fn chunked_bodies_that_are_broken_or_too_large_are_never_whole_upstream() {
    for (body, expected) in BROKEN_BODIES {
        let setup = Setup { settings: Box::new(|settings| settings.max_body = 1000), ..Setup::default() };
        let mut harness = Harness::with(setup).await;
        let mut client = harness.client().await;
        client.send("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").await;
        let mut tenant = harness.accept().await;
        let body = expand(body);
        let _ = within(client.0.write_all(body.as_bytes())).await;
        let shown: String = body.chars().take(80).collect();
        let answer = client.rest().await;
        assert_eq!((status(&answer), answer.matches("HTTP/1.1 ").count()), (*expected, 1), "{shown:?}: {answer}");
        let reason = if *expected == 413 { "max-body" } else { "request-aborted" };
        assert_line(&answer, &format!("contrail-answer: {reason}"));
        assert_line(&answer, "connection: close");
        let got = tenant.rest().await;
        assert!(!got.contains("\r\n0\r\n"), "{shown:?}: {got}");
        let exchange = harness.ended().await.exchange;
        let transport = &exchange.transport;
        assert!(transport.client_left || transport.incomplete.is_some(), "{shown:?}");
        assert!(!exchange.request.body.is_whole(), "{shown:?}");
    }
}

#[tokio::test]
async fn trailers_that_decide_framing_or_who_asks_never_go_on() {
    let harness = Harness::new().await;
    let mut client = harness.client().await;
    client
        .send(
            "POST /x HTTP/1.1\r\nHost: a\r\nTrailer: X-T, Content-Length, Host, Authorization\r\n\
             Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\nContent-Length: 9\r\nHost: evil\r\n\
             Authorization: evil\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
        .await;
    let mut tenant = harness.accept().await;
    tenant.until("0\r\n").await;
    assert_eq!(tenant.until("\r\n\r\n").await.to_lowercase(), "x-t: 1\r\n\r\n");
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order_and_keep_their_own_bodies() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client
        .send(
            "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\noneGET /2 HTTP/1.1\r\nHost: a\r\n\r\n\
             POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nthree\r\n0\r\n\r\n\
             GET /4 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\nGET /5 HTTP/1.1\r\nHost: a\r\n\r\n",
        )
        .await;
    let mut tenant = harness.accept().await;
    for (number, start, body) in [(1, "POST /1", "one"), (2, "GET /2", ""), (3, "POST /3", "three")] {
        let got = tenant.message().await;
        assert_line(&got, &format!("{start} HTTP/1.1"));
        assert!(got.contains(body), "{}", got);
        tenant.send(&format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{number}")).await;
        assert!(client.message().await.ends_with(&format!("\r\n\r\n{number}")));
        assert_eq!(harness.ended().await.exchange.request.body.content, body);
    }
    let last = client.rest().await;
    assert_eq!((status(&last), last.matches("HTTP/1.1 ").count()), (400, 1), "{last}");
    assert!(harness.nothing_ended());
}

#[tokio::test]
async fn a_client_that_expects_100_continue_gets_it_once_and_loses_no_byte_of_its_body() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    assert_eq!(client.until("\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("hello").await;
    tenant.until("hello").await;
    tenant.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let answer = client.message().await;
    assert!(status(&answer) == 200 && answer.ends_with("ok"), "{answer}");
    assert!(harness.ended().await.exchange.request.body.is_whole());
}

#[tokio::test]
async fn a_client_that_goes_on_sending_can_still_read_why_it_was_refused() {
    let setup = Setup { settings: Box::new(|settings| settings.max_body = 1000), ..Setup::default() };
    let mut harness = Harness::with(setup).await;
    let mut client = harness.client().await;
    client.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n").await;
    let _ = tokio::time::timeout(Duration::from_millis(900), client.0.write_all(&vec![b'a'; 3_000_000])).await;
    assert_eq!(status(&client.rest().await), 413);
    assert_eq!(harness.ended().await.exchange.response.unwrap().status, 413);
}

#[tokio::test]
async fn slow_heads_are_cut_even_when_they_never_fall_silent() {
    let tight = |settings: &mut Settings| settings.header_timeout = Duration::from_millis(200);
    let harness = Harness::with(Setup { settings: Box::new(tight), ..Setup::default() }).await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: a\r\n").await;
    let begun = std::time::Instant::now();
    // A byte each 20 ms: the promise is about time.
    while client.0.write_all(b"a").await.is_ok() && begun.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let turned_away = harness.seen.turned_away.lock().unwrap().clone();
    assert_eq!(turned_away, [(408, "the request head did not arrive within --header-timeout".to_owned())]);
    assert_eq!(status(&client.rest().await), 408);
}

/// Each character as one byte.
pub fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|char| u8::try_from(u32::from(char)).unwrap()).collect()
}
