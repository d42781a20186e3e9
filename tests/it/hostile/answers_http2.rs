//! Answers of a broken or hostile upstream over HTTP/2, frame by frame.

use std::time::Duration;

use contrail_proxy::upstream::live;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{
    expand,
    frames::{
        CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PREFACE, RESET, SETTINGS, block, frame, headers,
    },
};
use crate::proxy::harness::{Harness, Setup, Wire, status, within};
use crate::support::golden::assert_line;

const GET: &str = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
const POST: &str = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
const UPLOAD: &str = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
const INTERNAL: u32 = 2;
const CANCEL: u32 = 8;
const REFUSED: u32 = 7;

async fn harness(limits: live::Limits) -> Harness {
    Harness::with(Setup { http2: live::Http2::Always, limits, ..Setup::default() }).await
}

/// The tenant's side of a connection over HTTP/2.
struct Tenant(Wire);

impl Tenant {
    /// Takes the proxy's next connection.
    async fn accept(harness: &Harness) -> Self {
        let mut wire = harness.accept().await;
        let mut preface = [0; 24];
        within(wire.0.read_exact(&mut preface)).await.unwrap();
        assert_eq!(preface, PREFACE);
        within(wire.0.write_all(&frame(SETTINGS, 0, 0, b""))).await.unwrap();
        Self(wire)
    }

    /// The next frame: type, flags, stream, payload; `None` at the end of the connection.
    async fn next(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        within(self.0.0.read_exact(&mut head)).await.ok()?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        within(self.0.0.read_exact(&mut payload)).await.ok()?;
        Some((head[3], head[4], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload))
    }

    /// Reads as far as the end of the next request; tells its stream, 0 if the connection ends instead.
    async fn request(&mut self) -> u32 {
        while let Some((kind, flags, stream, _)) = self.next().await {
            if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
                return stream;
            }
        }
        0
    }

    async fn send(&mut self, bytes: &[u8]) {
        within(self.0.0.write_all(bytes)).await.unwrap();
    }

    async fn answer(&mut self, stream: u32) {
        self.send(&headers(stream, false, &block(":status=200|content-length=4"))).await;
        self.send(&frame(DATA, END_STREAM, stream, b"good")).await;
    }
}

fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RESET, 0, stream, &code.to_be_bytes())
}

fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

/// The head of an answer on stream 1.
fn head(fields: &str) -> Vec<u8> {
    headers(1, false, &block(&expand(fields)))
}

/// What is no answer, and whether its connection can serve another request.
fn unusable() -> Vec<(&'static str, Vec<u8>, bool)> {
    let early_hints = head(":status=103|link=x");
    let endless: Vec<u8> = (0..2000).flat_map(|_| frame(CONTINUATION, 0, 1, &block(&expand("x=<<a*1000>>")))).collect();
    let promise = [&2u32.to_be_bytes()[..], &block(":method=GET|:scheme=http|:path=/evil|:authority=a")].concat();
    vec![
        ("a reset", reset(1, INTERNAL), true),
        ("a cancellation", reset(1, CANCEL), true),
        ("a goaway with an error", goaway(0, INTERNAL), false),
        ("the end of the connection", Vec::new(), false),
        ("a goaway that takes the request, and the end", goaway(1, 0), false),
        ("no frames", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), false),
        ("a body without a head", frame(DATA, END_STREAM, 1, b"evil"), false),
        ("a head on another stream", headers(3, true, &block(":status=200")), false),
        ("a head on a stream of its own", headers(2, true, &block(":status=200")), false),
        ("a broken header block", frame(HEADERS, END_HEADERS, 1, &[0xff, 0xff, 0xff, 0xff, 7]), false),
        ("a header block without end", [frame(HEADERS, 0, 1, &block(":status=200")), endless].concat(), false),
        ("a promise", frame(5, END_HEADERS, 1, &promise), false),
        ("no status", head("x=1"), true),
        ("two statuses", head(":status=200|:status=204"), true),
        ("status 99", head(":status=99"), true),
        ("status 2000", head(":status=2000"), true),
        ("a status that is not a number", head(":status=abc"), true),
        ("101 and the end", head(":status=101"), false),
        ("a late pseudo-header", head("x=1|:status=200"), true),
        ("an unknown pseudo-header", head(":status=200|:x=1"), true),
        ("a name in upper case", head(":status=200|X-A=1"), true),
        ("a name with a blank", head(":status=200|x a=1"), true),
        ("a value with a line feed", head(":status=200|x=a\nb: c"), true),
        ("a value with a NUL", head(":status=200|x=a\0"), true),
        ("a connection header", head(":status=200|connection=close"), true),
        ("a transfer coding", head(":status=200|transfer-encoding=chunked"), true),
        ("two lengths", head(":status=200|content-length=4|content-length=5"), true),
        ("a length that is not a number", head(":status=200|content-length=x"), true),
        ("too large a head", head(":status=200|x=<<a*140000>>"), true),
        ("an interim answer that ends", headers(1, true, &block(":status=103")), true),
        ("interim answers and the end", [early_hints.clone(), early_hints].concat(), false),
    ]
}

#[tokio::test]
async fn an_unusable_answer_over_http2_is_a_502_and_the_next_request_gets_a_good_one() {
    for (what, sent, usable) in unusable() {
        let mut harness = harness(live::Limits::default()).await;
        let mut client = harness.client().await;
        client.send(GET).await;
        let mut tenant = Tenant::accept(&harness).await;
        assert_eq!(tenant.request().await, 1);
        let _ = within(tenant.0.0.write_all(&sent)).await;
        let mut tenant = Some(tenant).filter(|_| usable);
        let answer = client.message().await;
        assert_eq!(status(&answer), 502, "{what}: {answer}");
        assert_line(&answer, "contrail-answer: upstream");
        let exchange = harness.ended().await.exchange;
        assert!(exchange.response.is_none() && exchange.transport.incomplete.is_some(), "{what}");
        assert!(!exchange.transport.retried, "{what}");
        client.send(GET).await;
        // What is wrong with a stream may end its connection, but then the next request finds another.
        let stream = match &mut tenant {
            Some(tenant) => tenant.request().await,
            None => 0,
        };
        if stream == 0 {
            tenant = Some(Tenant::accept(&harness).await);
            assert_eq!(tenant.as_mut().unwrap().request().await, 1);
        }
        tenant.unwrap().answer(stream.max(1)).await;
        assert!(client.message().await.ends_with("good"), "{what}");
        assert_eq!(harness.ended().await.exchange.transport.incomplete, None, "{what}");
    }
}

/// What breaks an answer off after its head and three bytes, each with its connection's end.
fn broken_off() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("a reset", reset(1, INTERNAL)),
        ("a reset without an error", reset(1, 0)),
        ("a goaway", goaway(0, INTERNAL)),
        ("a goaway that takes the request, and the end", goaway(1, 0)),
        ("the end of the connection", Vec::new()),
        ("the end of the stream", frame(DATA, END_STREAM, 1, b"")),
        ("more than its length", frame(DATA, END_STREAM, 1, b"defgh")),
        ("more than its length, without an end", frame(DATA, 0, 1, b"defgh")),
        ("trailers", headers(1, true, &block("x=1"))),
        ("trailers with a status", headers(1, true, &block(":status=200"))),
        ("a second head", head(":status=200")),
        ("a frame that is too large", frame(DATA, 0, 1, &vec![0; 20_000])),
        ("padding larger than its frame", frame(DATA, 8, 1, &[200, 1, 2])),
        ("a window beyond all bounds", frame(8, 0, 1, &0x7fff_ffffu32.to_be_bytes())),
        ("garbage", b"garbage that is no frame".to_vec()),
    ]
}

#[tokio::test]
async fn an_answer_over_http2_that_breaks_off_is_cut_for_the_client_and_marked() {
    for (what, sent) in broken_off() {
        let mut harness = harness(live::Limits::default()).await;
        let mut client = harness.client().await;
        client.send(GET).await;
        let mut tenant = Tenant::accept(&harness).await;
        assert_eq!(tenant.request().await, 1);
        tenant.send(&head(":status=200|content-length=5")).await;
        tenant.send(&frame(DATA, 0, 1, b"abc")).await;
        client.until("abc").await;
        let _ = within(tenant.0.0.write_all(&sent)).await;
        drop(tenant);
        assert_eq!(client.rest().await, "", "{what}");
        let exchange = harness.ended().await.exchange;
        assert!(exchange.transport.incomplete.is_some(), "{what}");
        assert!(!exchange.response.unwrap().body.is_whole(), "{what}");
        let mut client = harness.client().await;
        client.send(GET).await;
        let mut fresh = Tenant::accept(&harness).await;
        fresh.request().await;
        fresh.answer(1).await;
        assert!(client.message().await.ends_with("good"), "{what}");
    }
}

#[tokio::test]
async fn many_interim_answers_over_http2_pass_by_and_the_answer_comes() {
    let mut harness = harness(live::Limits::default()).await;
    let mut client = harness.client().await;
    client.send(GET).await;
    let mut tenant = Tenant::accept(&harness).await;
    tenant.request().await;
    for _ in 0..1000 {
        tenant.send(&head(":status=103|link=x")).await;
    }
    tenant.answer(1).await;
    assert!(client.message().await.ends_with("good"));
    assert_eq!(harness.ended().await.exchange.response.unwrap().status, 200);
}

#[tokio::test]
async fn silence_over_http2_is_a_504_or_a_cut_and_the_connection_serves_no_other_client() {
    let mut harness = harness(live::Limits { silence: Duration::from_millis(200), ..live::Limits::default() }).await;
    for begun in [false, true] {
        let mut client = harness.client().await;
        client.send(GET).await;
        let mut tenant = Tenant::accept(&harness).await;
        tenant.request().await;
        if begun {
            tenant.send(&head(":status=200|content-length=5")).await;
            tenant.send(&frame(DATA, 0, 1, b"abc")).await;
            assert!(client.rest().await.ends_with("\r\n\r\nabc"));
            assert_line(
                &harness.ended().await.exchange.transport.incomplete.unwrap(),
                "the upstream fell silent for 0.2 s in the middle of its response",
            );
        } else {
            assert_eq!(status(&client.message().await), 504);
            harness.ended().await;
            // Nobody else is made to wait on that connection; it stays open to show it.
            let mut client = harness.client().await;
            client.send(GET).await;
            let mut fresh = Tenant::accept(&harness).await;
            fresh.request().await;
            fresh.send(&goaway(1, 0)).await;
            fresh.answer(1).await;
            assert!(client.message().await.ends_with("good"));
            harness.ended().await;
        }
    }
}

#[tokio::test]
async fn an_upload_whose_window_never_opens_is_a_504() {
    let limits = live::Limits { silence: Duration::from_millis(200), ..live::Limits::default() };
    let mut harness = harness(limits).await;
    let mut client = harness.client().await;
    let body = "a".repeat(200_000);
    client.send(&format!("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len())).await;
    let mut tenant = Tenant::accept(&harness).await;
    assert_eq!(status(&client.message().await), 504);
    let mut got = 0;
    let ended = loop {
        match tenant.next().await {
            Some((DATA, flags, _, data)) => {
                got += data.len();
                assert_eq!(flags & END_STREAM, 0, "half an upload is never completed");
            }
            Some((RESET, _, 1, _)) => break true,
            Some(_) => {}
            None => break false,
        }
    };
    assert!(ended && got == 65_535, "{got}");
    assert!(harness.ended().await.exchange.transport.incomplete.is_some());
}

#[tokio::test]
async fn what_the_upstream_did_not_process_goes_out_again_once_whatever_its_method() {
    for (request, refusal, again) in [
        (GET, reset(1, REFUSED), true),
        (POST, reset(1, REFUSED), true),
        (GET, goaway(0, 0), true),
        (POST, goaway(0, 0), true),
        // Its body is gone.
        (UPLOAD, reset(1, REFUSED), false),
        // It may have been processed.
        (POST, reset(1, INTERNAL), false),
        (POST, goaway(1, 0), false),
    ] {
        let mut harness = harness(live::Limits::default()).await;
        let mut client = harness.client().await;
        client.send(request).await;
        let mut tenant = Tenant::accept(&harness).await;
        tenant.request().await;
        tenant.send(&refusal).await;
        if refusal[3] == GOAWAY {
            drop(tenant);
        }
        if again {
            let mut fresh = Tenant::accept(&harness).await;
            assert_eq!(fresh.request().await, 1);
            fresh.answer(1).await;
        }
        let answer = client.message().await;
        assert_eq!(status(&answer), if again { 200 } else { 502 }, "{request} {refusal:?}: {answer}");
        assert_eq!(harness.ended().await.exchange.transport.retried, again, "{request} {refusal:?}");
    }
}

#[tokio::test]
async fn a_request_that_is_refused_twice_is_a_502() {
    let mut harness = harness(live::Limits::default()).await;
    let mut client = harness.client().await;
    client.send(GET).await;
    for _ in 0..2 {
        let mut tenant = Tenant::accept(&harness).await;
        tenant.request().await;
        tenant.send(&reset(1, REFUSED)).await;
    }
    assert_eq!(status(&client.message().await), 502);
    assert!(harness.ended().await.exchange.transport.retried);
}

#[tokio::test]
async fn on_a_kept_connection_that_ends_only_idempotent_requests_go_out_again() {
    for (request, again) in [(GET, true), (POST, false), (UPLOAD, false)] {
        let mut harness = harness(live::Limits::default()).await;
        let mut client = harness.client().await;
        client.send(GET).await;
        let mut tenant = Tenant::accept(&harness).await;
        tenant.request().await;
        tenant.answer(1).await;
        client.message().await;
        harness.ended().await;
        client.send(request).await;
        assert_eq!(tenant.request().await, 3);
        drop(tenant);
        if again {
            let mut fresh = Tenant::accept(&harness).await;
            fresh.request().await;
            fresh.answer(1).await;
        }
        assert_eq!(status(&client.message().await), if again { 200 } else { 502 }, "{request}");
        assert_eq!(harness.ended().await.exchange.transport.retried, again, "{request}");
    }
}

#[tokio::test]
async fn a_goaway_lets_what_it_took_end_and_sends_what_comes_after_elsewhere() {
    let mut harness = harness(live::Limits::default()).await;
    let mut client = harness.client().await;
    client.send(GET).await;
    let mut tenant = Tenant::accept(&harness).await;
    tenant.request().await;
    tenant.send(&head(":status=200|content-length=4")).await;
    tenant.send(&goaway(1, 0)).await;
    client.until("\r\n\r\n").await;
    let mut other = harness.client().await;
    other.send(GET).await;
    let mut fresh = Tenant::accept(&harness).await;
    fresh.request().await;
    fresh.answer(1).await;
    assert!(other.message().await.ends_with("good"));
    tenant.send(&frame(DATA, END_STREAM, 1, b"last")).await;
    assert_eq!(client.until("last").await, "last");
    for _ in 0..2 {
        assert_eq!(harness.ended().await.exchange.transport.incomplete, None);
    }
}

#[tokio::test]
async fn a_client_that_goes_away_resets_its_stream_and_leaves_the_connection_to_others() {
    for begun in [false, true] {
        let mut harness = harness(live::Limits::default()).await;
        let mut client = harness.client().await;
        client.send(GET).await;
        let mut tenant = Tenant::accept(&harness).await;
        tenant.request().await;
        if begun {
            tenant.send(&head(":status=200|content-length=400000")).await;
            client.until("\r\n\r\n").await;
        }
        drop(client);
        while !matches!(tenant.next().await.unwrap(), (RESET, _, 1, _)) {}
        assert!(harness.ended().await.exchange.transport.client_left);
        let mut client = harness.client().await;
        client.send(GET).await;
        assert_eq!(tenant.request().await, 3);
        tenant.answer(3).await;
        assert!(client.message().await.ends_with("good"));
    }
}

#[tokio::test]
async fn half_an_upload_is_never_completed_over_http2() {
    let mut harness = harness(live::Limits::default()).await;
    for framing in ["Content-Length: 9\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"] {
        let mut client = harness.client().await;
        client.send(&format!("POST /x HTTP/1.1\r\nHost: a\r\n{framing}")).await;
        let mut tenant = Tenant::accept(&harness).await;
        while !matches!(tenant.next().await.unwrap(), (DATA, 0, 1, data) if data == b"hello") {}
        drop(client);
        loop {
            match tenant.next().await {
                Some((DATA | HEADERS, flags, ..)) => assert_eq!(flags & END_STREAM, 0, "{framing}"),
                Some((RESET, _, 1, code)) => {
                    assert_ne!(code, 0u32.to_be_bytes(), "{framing}");
                    break;
                }
                Some(_) => {}
                None => panic!("{framing}: the connection is for others, too"),
            }
        }
        let exchange = harness.ended().await.exchange;
        assert!(!exchange.request.body.is_whole() && exchange.transport.unfinished().is_some(), "{framing}");
        tenant.send(&goaway(1, 0)).await;
        assert_eq!(tenant.request().await, 0);
    }
}
