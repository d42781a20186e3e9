//! What is refused, and what is too much or too slow.

use std::time::Duration;

use contrail_proxy::upstream::live;

use super::harness::{Harness, Setup, detail, status};
use crate::support::golden::assert_line;

fn tight(change: impl FnOnce(&mut contrail_proxy::Settings) + 'static) -> Setup {
    Setup { settings: Box::new(change), ..Setup::default() }
}

#[tokio::test]
async fn connect_is_refused_on_a_reverse_listener() {
    let harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send("CONNECT tenant.example:443 HTTP/1.1\r\nHost: tenant.example:443\r\n\r\n").await;
    let answer = client.rest().await;
    assert_eq!(status(&answer), 405);
    assert_line(&answer, "contrail-answer: connect-refused");
    assert_eq!(harness.seen.turned_away.lock().unwrap().as_slice(), [(405, "connect-refused".to_owned())]);
}

#[tokio::test]
async fn heads_that_could_be_read_in_two_ways_get_400_and_a_closed_connection() {
    for head in [
        "Host: a\r\nHost: b\r\n",
        "",
        "Host: a b\r\n",
        "Host: user@a\r\n",
        "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n",
        "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Host: a\r\nTransfer-Encoding: xchunked\r\n",
        "Host: a\r\nContent-Length: +5\r\n",
        "Host: a\r\nContent-Length: 5, 5\r\n",
        "Host: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n",
        "Host: a\r\nContent-Length : 5\r\n",
        "Host: a\r\n folded\r\n",
        "Host: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        "Host: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n",
        "Host: a\nX: 1\r\n",
    ] {
        let harness = Harness::new().await;
        let mut client = harness.client().await;
        client.send(&format!("POST /x HTTP/1.1\r\n{head}\r\n")).await;
        let answer = client.rest().await;
        assert_eq!(status(&answer), 400, "{head:?}: {answer}");
        assert_eq!(harness.seen.turned_away.lock().unwrap().len(), 1, "{head:?}");
    }
}

#[tokio::test]
async fn a_pipelined_head_with_both_lengths_is_refused_after_the_good_one_was_answered() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client
        .send(
            "GET /1 HTTP/1.1\r\nHost: p\r\n\r\nPOST /2 HTTP/1.1\r\nHost: p\r\nContent-Length: 5\r\n\
             Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        )
        .await;
    let mut tenant = harness.accept().await;
    assert!(tenant.message().await.starts_with("GET /1 "));
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    assert!(client.message().await.ends_with("ok"));
    harness.ended().await;
    assert_eq!(status(&client.rest().await), 400);
    assert!(harness.nothing_ended());
}

#[tokio::test]
async fn a_target_with_a_fragment_is_refused() {
    let harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send("GET /x#y HTTP/1.1\r\nHost: p\r\n\r\n").await;
    assert_eq!(status(&client.rest().await), 400);
}

#[tokio::test]
async fn a_body_larger_than_allowed_gets_413_by_its_announced_length() {
    let mut harness = Harness::with(tight(|settings| settings.max_body = 4)).await;
    let mut client = harness.client().await;
    client.send("POST /x HTTP/1.1\r\nHost: p\r\nContent-Length: 5\r\n\r\n").await;
    let answer = client.rest().await;
    assert_line(&answer, "contrail-answer: max-body");
    assert!(status(&answer) == 413, "{answer}");
    assert_eq!(harness.ended().await.exchange.transport.answered_by_contrail.as_deref(), Some("max-body"));
}

#[tokio::test]
async fn a_body_larger_than_allowed_gets_413_by_its_real_bytes_and_is_never_whole_upstream() {
    let mut harness = Harness::with(tight(|settings| settings.max_body = 4)).await;
    let mut client = harness.client().await;
    client.send("POST /x HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.until("3\r\nabc\r\n").await;
    client.send("2\r\nde\r\n0\r\n\r\n").await;
    assert_eq!(status(&client.rest().await), 413);
    assert_eq!(tenant.rest().await, "");
    let ended = harness.ended().await;
    assert!(!ended.exchange.request.body.is_whole());
    assert_eq!(ended.exchange.response.unwrap().status, 413);
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_passes() {
    let mut harness = Harness::with(tight(|settings| settings.max_body = 4)).await;
    let (got, _, _) = harness
        .exchange(
            "POST /x HTTP/1.1\r\nHost: p\r\nContent-Length: 4\r\n\r\nabcd",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        )
        .await;
    assert!(got.ends_with("abcd"));
}

#[tokio::test]
async fn a_head_that_does_not_arrive_in_time_gets_408_and_ends_the_connection() {
    for start in ["P", "PRI * HTT", "GET /x HTT", "GET /x HTTP/1.1\r\nHost: p\r\nX-", "\r\nGET"] {
        let harness = Harness::with(tight(|settings| settings.header_timeout = Duration::from_millis(100))).await;
        let mut client = harness.client().await;
        client.send(start).await;
        let answer = client.rest().await;
        assert_eq!((status(&answer), answer.matches("HTTP/1.1 ").count()), (408, 1), "{start:?}: {answer}");
        assert_line(&answer, "contrail-answer: header-timeout");
        assert_line(&answer, "connection: close");
        let turned_away = harness.seen.turned_away.lock().unwrap().clone();
        assert_eq!(turned_away, [(408, "the request head did not arrive within --header-timeout".to_owned())]);
    }
}

#[tokio::test]
async fn a_silent_connection_is_closed_without_an_answer() {
    for start in ["", "\r\n"] {
        let harness = Harness::with(tight(|settings| settings.header_timeout = Duration::from_millis(100))).await;
        let mut client = harness.client().await;
        client.send(start).await;
        assert_eq!(client.rest().await, "", "{start:?}");
    }
}

#[tokio::test]
async fn a_head_that_began_behind_a_request_has_its_time_from_the_answer_on() {
    let harness = Harness::with(tight(|settings| settings.header_timeout = Duration::from_millis(100))).await;
    let mut client = harness.client().await;
    client.send("GET /1 HTTP/1.1\r\nHost: p\r\n\r\nHEAD /2 HT").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    assert!(client.message().await.ends_with("ok"));
    let answer = client.rest().await;
    assert!(status(&answer) == 408 && answer.ends_with("\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn an_idle_connection_outlives_the_header_timeout_and_a_second_slow_head_does_not() {
    let mut harness = Harness::with(tight(|settings| settings.header_timeout = Duration::from_millis(300))).await;
    let mut client = harness.client().await;
    client.send("GET /1 HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    client.until("ok").await;
    harness.ended().await;
    tokio::time::sleep(Duration::from_millis(600)).await; // the promise is about time
    client.send("GET /2 HTTP/1.1\r\nHost: p\r\n\r\n").await;
    tenant.message().await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    client.until("ok").await;
    client.send("GET /3 HT").await;
    assert_eq!(status(&client.rest().await), 408);
}

#[tokio::test]
async fn an_idle_connection_is_closed_without_an_answer_after_its_time() {
    for answer in ["HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"] {
        let harness = Harness::with(tight(|settings| settings.keep_alive = Duration::from_millis(100))).await;
        let mut client = harness.client().await;
        client.send("GET /1 HTTP/1.1\r\nHost: p\r\n\r\n").await;
        let mut tenant = harness.accept().await;
        tenant.message().await;
        tenant.send(answer).await;
        assert_eq!(client.rest().await, answer);
        assert!(harness.seen.turned_away.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_client_that_falls_silent_in_its_body_gets_408() {
    let mut harness = Harness::with(tight(|settings| settings.body_timeout = Duration::from_millis(100))).await;
    let mut client = harness.client().await;
    client.send("POST /x HTTP/1.1\r\nHost: p\r\nContent-Length: 5\r\n\r\nab").await;
    let mut tenant = harness.accept().await;
    assert_eq!(status(&client.rest().await), 408);
    assert!(tenant.rest().await.ends_with("ab"));
    assert_eq!(harness.ended().await.exchange.response.unwrap().status, 408);
}

#[tokio::test]
async fn a_client_that_sends_its_body_in_drops_gets_408_though_it_never_falls_silent() {
    let setup = tight(|settings| {
        settings.body_timeout = Duration::from_millis(200);
        settings.body_rate = 1000;
    });
    let mut harness = Harness::with(setup).await;
    let mut client = harness.client().await;
    client.send("POST /x HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.until("\r\n\r\n").await;
    let (reading, mut writing) = client.0.into_split();
    let drops = tokio::spawn(async move {
        // A byte each 20 ms: the promise is about time.
        while tokio::io::AsyncWriteExt::write_all(&mut writing, b"1\r\na\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let exchange = harness.ended().await.exchange;
    let reason = exchange.transport.incomplete.unwrap();
    assert_line(&reason, "the client sent its request body more slowly than --body-rate");
    assert!(exchange.response.unwrap().status == 408, "{reason}");
    assert!(!tenant.rest().await.ends_with("0\r\n\r\n"), "it is never whole upstream");
    drops.abort();
    drop(reading);
}

#[tokio::test]
async fn a_body_that_is_fast_enough_or_waits_for_the_upstream_may_take_longer_than_its_silence() {
    let setup = tight(|settings| {
        settings.body_timeout = Duration::from_millis(200);
        settings.body_rate = 1000;
    });
    let mut harness = Harness::with(setup).await;
    let mut client = harness.client().await;
    let piece = "a".repeat(100);
    client.send("POST /x HTTP/1.1\r\nHost: p\r\nContent-Length: 1000\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    for _ in 0..10 {
        client.send(&piece).await;
        tokio::time::sleep(Duration::from_millis(50)).await; // twice as fast as it has to be
    }
    assert!(tenant.message().await.ends_with(&piece));
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    assert!(client.message().await.ends_with("ok"));
    assert_eq!(harness.ended().await.exchange.transport.incomplete, None);
}

#[tokio::test]
async fn a_connection_beyond_the_limit_gets_503_and_the_others_go_on() {
    let mut harness = Harness::with(tight(|settings| settings.max_connections = 1)).await;
    let mut first = harness.client().await;
    first.send("GET /1 HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    let mut second = harness.client().await;
    let answer = second.rest().await;
    assert_line(&answer, "contrail-answer: max-connections");
    assert!(status(&answer) == 503, "{answer}");
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    first.until("ok").await;
    harness.ended().await;
}

#[tokio::test]
async fn a_request_beyond_those_that_may_be_with_the_upstream_waits_for_its_turn() {
    let mut harness = Harness::with(tight(|settings| settings.max_upstream = 1)).await;
    let (mut first, mut second) = (harness.client().await, harness.client().await);
    first.send("GET /1 HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    second.send("GET /2 HTTP/1.1\r\nHost: p\r\n\r\n").await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no").await;
    first.until("o").await;
    assert!(second.is_silent().await);
    let other = tokio::time::timeout(Duration::ZERO, harness.upstream.accept()).await;
    assert!(other.is_err(), "no second connection is opened");
    tenant.send("k").await;
    first.until("k").await;
    assert!(tenant.message().await.starts_with("GET /2 "));
    tenant.send("HTTP/1.1 204 No Content\r\n\r\n").await;
    assert_eq!(status(&second.message().await), 204);
    harness.ended().await;
}

#[tokio::test]
async fn a_request_whose_turn_does_not_come_in_time_gets_503_and_one_that_goes_away_leaves_the_line() {
    let setup = tight(|settings| {
        settings.max_upstream = 1;
        settings.permit_timeout = Duration::from_millis(100);
    });
    let mut harness = Harness::with(setup).await;
    let (mut first, mut second) = (harness.client().await, harness.client().await);
    first.send("GET /1 HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    second.send("GET /2 HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let answer = second.message().await;
    assert_line(&answer, "contrail-answer: max-upstream");
    assert!(status(&answer) == 503, "{answer}");
    let ended = harness.ended().await.exchange.transport;
    assert_line(&ended.incomplete.unwrap(), "as many requests as --max-upstream were with the upstream for 0.1 s");
    // Who gives up gives its turn back.
    drop(first);
    harness.ended().await;
    second.send("GET /3 HTTP/1.1\r\nHost: p\r\n\r\n").await;
    assert!(harness.accept().await.message().await.starts_with("GET /3 "));
}

#[tokio::test]
async fn too_many_or_too_long_headers_get_431() {
    for (change, head) in [
        (
            Box::new(|settings: &mut contrail_proxy::Settings| settings.max_headers = 3) as Box<dyn FnOnce(&mut _)>,
            "A: 1\r\nB: 1\r\nC: 1\r\n".to_owned(),
        ),
        (
            Box::new(|settings: &mut contrail_proxy::Settings| settings.max_header_bytes = 100),
            format!("A: {}\r\n", "x".repeat(100)),
        ),
    ] {
        let harness = Harness::with(Setup { settings: change, ..Setup::default() }).await;
        let mut client = harness.client().await;
        client.send(&format!("GET /x HTTP/1.1\r\nHost: p\r\n{head}\r\n")).await;
        assert_eq!(status(&client.rest().await), 431);
    }
}

fn impatient() -> Setup {
    let limits = live::Limits { silence: Duration::from_millis(100), ..live::Limits::default() };
    Setup { limits, ..Setup::default() }
}

#[tokio::test]
async fn an_upstream_that_does_not_answer_in_time_is_a_504_that_names_it() {
    let mut harness = Harness::with(impatient()).await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    let answer = client.message().await;
    let upstream = harness.upstream.local_addr().unwrap();
    assert_eq!(detail(&answer), format!("http://{upstream} did not answer within 0.1 s"));
    assert!(status(&answer) == 504, "{answer}");
    assert_eq!(tenant.rest().await, "");
    let ended = harness.ended().await;
    assert!(ended.exchange.response.is_none() && ended.exchange.transport.incomplete.is_some());
}

#[tokio::test]
async fn an_upstream_that_falls_silent_in_its_body_is_cut() {
    let mut harness = Harness::with(impatient()).await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst").await;
    assert!(client.rest().await.ends_with("\r\n\r\nfirst"));
    let ended = harness.ended().await;
    assert_line(
        &ended.exchange.transport.incomplete.unwrap(),
        "the upstream fell silent for 0.1 s in the middle of its response",
    );
}

#[tokio::test]
async fn a_slow_client_is_not_the_upstreams_silence() {
    let mut harness = Harness::with(impatient()).await;
    let mut client = harness.client().await;
    client.send("POST /x HTTP/1.1\r\nHost: p\r\nContent-Length: 4\r\n\r\nab").await;
    let mut tenant = harness.accept().await;
    tenant.until("ab").await;
    tokio::time::sleep(Duration::from_millis(300)).await; // the promise is about time
    client.send("cd").await;
    tenant.until("cd").await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    client.until("ok").await;
    assert_eq!(harness.ended().await.exchange.transport.incomplete, None);
}
