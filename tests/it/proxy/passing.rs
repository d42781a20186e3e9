//! What passes, byte for byte, and what waits for the observer.

use contrail_exchange::Presence;
use contrail_proxy::{HoldPolicy, upstream::Problem};

use super::harness::{Harness, Setup, detail, status};
use crate::support::golden::assert_line;

#[tokio::test]
async fn the_client_has_the_first_half_of_a_body_before_the_upstream_goes_on() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst").await;
    assert!(client.until("first").await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(harness.nothing_ended());
    tenant.send("after").await;
    client.until("after").await;
    assert_eq!(harness.ended().await.exchange.response.unwrap().body.content, "firstafter");
}

#[tokio::test]
async fn the_end_of_a_sized_response_waits_until_the_exchange_is_written() {
    let mut harness = Harness::with(Setup { hold_ends: true, ..Setup::default() }).await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst").await;
    client.until("first").await;
    tenant.send("after").await;
    let (ended, release) = harness.held().await;
    assert!(ended.exchange.response.unwrap().body.is_whole());
    assert!(client.is_silent().await);
    release.send(Ok(())).unwrap();
    client.until("after").await;
}

#[tokio::test]
async fn the_last_chunk_waits_until_the_exchange_is_written() {
    let mut harness = Harness::with(Setup { hold_ends: true, ..Setup::default() }).await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n").await;
    client.until("5\r\nfirst\r\n").await;
    tenant.send("0\r\n\r\n").await;
    let (_, release) = harness.held().await;
    assert!(client.is_silent().await);
    release.send(Ok(())).unwrap();
    client.until("0\r\n\r\n").await;
}

#[tokio::test]
async fn a_response_without_a_body_waits_as_a_whole() {
    for response in [
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n",
    ] {
        let mut harness = Harness::with(Setup { hold_ends: true, ..Setup::default() }).await;
        let mut client = harness.client().await;
        client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
        let mut tenant = harness.accept().await;
        tenant.message().await;
        tenant.send(response).await;
        let (ended, release) = harness.held().await;
        assert_eq!(ended.exchange.transport.incomplete, None, "{response}");
        assert!(client.is_silent().await, "{response}");
        release.send(Ok(())).unwrap();
        assert_eq!(client.until("\r\n\r\n").await.to_lowercase(), response.to_lowercase());
    }
}

#[tokio::test]
async fn the_answer_to_head_has_a_length_and_no_body() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send("HEAD /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.until("\r\n\r\n").await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n").await;
    assert_line(&client.until("\r\n\r\n").await, "Content-Length: 10");
    assert_eq!(harness.ended().await.exchange.transport.incomplete, None);
}

#[tokio::test]
async fn targets_pass_byte_for_byte() {
    for target in [
        "/api/v2/a%2Fb/%252F/%7C/|/%3F",
        "/a/../b/./c//d",
        "/x?from=a%2Bb%2Fc%3D&q=a+b%20c&&=&take=5",
        "/caf%C3%A9?",
        "/x?a=b?c=d",
    ] {
        let mut harness = Harness::new().await;
        let (got, _, ended) = harness
            .exchange(
                &format!("GET {target} HTTP/1.1\r\nHost: p\r\n\r\n"),
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            )
            .await;
        assert_eq!(got.split(' ').nth(1).unwrap(), target);
        assert_eq!(&*ended.exchange.request.target.path_and_query, target);
    }
}

#[tokio::test]
async fn an_absolute_target_loses_its_origin_and_the_host_becomes_the_upstreams() {
    let mut harness = Harness::new().await;
    let authority = harness.upstream.local_addr().unwrap().to_string();
    let (got, _, ended) = harness
        .exchange(
            "GET http://elsewhere.example/x?y=%2F HTTP/1.1\r\nHost: other\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        )
        .await;
    assert!(got.starts_with("GET /x?y=%2F HTTP/1.1\r\n"), "{got}");
    assert!(got.to_lowercase().contains(&format!("host: {authority}\r\n")), "{got}");
    assert_eq!(ended.exchange.request.target.to_string(), format!("http://{authority}/x?y=%2F"));
}

#[tokio::test]
async fn an_absolute_target_without_a_path_keeps_its_query() {
    for (target, passed) in [("http://e.example?a=%2F", "/?a=%2F"), ("http://e.example", "/"), ("/?a=b", "/?a=b")] {
        let mut harness = Harness::new().await;
        let request = format!("GET {target} HTTP/1.1\r\nHost: other\r\n\r\n");
        let (got, _, ended) = harness.exchange(&request, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        assert_eq!(got.split(' ').nth(1).unwrap(), passed);
        assert_eq!(&*ended.exchange.request.target.path_and_query, passed);
    }
}

#[tokio::test]
async fn max_forwards_counts_down_and_ends_here_at_nothing() {
    let mut harness = Harness::new().await;
    for (method, sent, got) in [
        ("OPTIONS", "7", Some("6")),
        ("TRACE", "1", Some("0")),
        ("OPTIONS", "0", None),
        ("TRACE", "0", None),
        ("GET", "0", Some("0")),
        ("OPTIONS", "x", Some("x")),
    ] {
        let mut client = harness.client().await;
        client
            .send(&format!("{method} /x HTTP/1.1\r\nHost: p\r\nMax-Forwards: {sent}\r\nConnection: close\r\n\r\n"))
            .await;
        if let Some(got) = got {
            let mut tenant = harness.accept().await;
            assert_line(&tenant.message().await, &format!("Max-Forwards: {got}"));
            tenant.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").await;
            harness.ended().await;
        }
        assert_eq!(status(&client.rest().await), if got.is_some() { 204 } else { 405 }, "{method} {sent}");
    }
    assert!(harness.nothing_ended());
}

#[tokio::test]
async fn hop_by_hop_headers_end_at_the_proxy_in_both_directions() {
    let mut harness = Harness::new().await;
    let (got, answer, ended) = harness
        .exchange(
            "GET /x HTTP/1.1\r\nHost: p\r\nConnection: X-Hop, Authorization\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n\
             Authorization: Bearer t\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\nProxy-Authorization: x\r\nX-End: 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nConnection: X-Back\r\nX-Back: 1\r\nKeep-Alive: 5\r\nX-Stays: 1\r\nContent-Length: 0\r\n\r\n",
        )
        .await;
    let got = got.to_lowercase();
    for gone in ["x-hop", "keep-alive", "upgrade", "http2-settings", "proxy-authorization", "connection:"] {
        assert!(!got.contains(gone), "{gone} in {got}");
    }
    assert_line(&got, "authorization: bearer t");
    assert_line(&got, "x-end: 1");
    let answer = answer.to_lowercase();
    assert_line(&answer, "x-stays: 1");
    assert!(!answer.contains("x-back") && !answer.contains("keep-alive"), "{answer}");
    assert!(!ended.exchange.response.unwrap().headers.contains("x-back"));
}

#[tokio::test]
async fn header_names_keep_their_case_and_repeats_their_order() {
    let mut harness = Harness::new().await;
    let (got, answer, ended) = harness
        .exchange(
            "GET /x HTTP/1.1\r\nHost: p\r\nX-CasE: 1\r\nx-other: a\r\nX-CasE: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nSet-COOKIE: a=1\r\nSet-COOKIE: b=2\r\nContent-Length: 0\r\n\r\n",
        )
        .await;
    assert_line(&got, "X-CasE: 1");
    assert!(got.find("X-CasE: 1") < got.find("X-CasE: 2"), "{got}");
    assert_line(&answer, "Set-COOKIE: a=1\nSet-COOKIE: b=2");
    let response = ended.exchange.response.unwrap();
    let cookies: Vec<_> = response.headers.get_all("set-cookie").collect();
    assert_eq!(cookies, ["a=1", "b=2"]);
}

#[tokio::test]
async fn nothing_is_added_to_an_answer() {
    let mut harness = Harness::new().await;
    let response = "HTTP/1.1 418 Short And Stout\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nhi";
    let (_, answer, _) = harness.exchange("GET /x HTTP/1.1\r\nHost: p\r\n\r\n", response).await;
    assert_eq!(answer, response);
}

#[tokio::test]
async fn request_bodies_pass_sized_and_chunked_and_empty() {
    for (framing, body, passed) in [
        ("Content-Length: 5", "hello", "hello"),
        ("Transfer-Encoding: chunked", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "hello"),
        ("Content-Length: 0", "", ""),
    ] {
        let mut harness = Harness::new().await;
        let (got, _, ended) = harness
            .exchange(
                &format!("POST /x HTTP/1.1\r\nHost: p\r\n{framing}\r\n\r\n{body}"),
                "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
            )
            .await;
        assert!(got.to_lowercase().contains(&framing.to_lowercase()), "{got}");
        let request = ended.exchange.request;
        assert_eq!((&request.body.content[..], request.body.is_whole()), (passed.as_bytes(), true));
    }
}

#[tokio::test]
async fn a_body_beyond_the_capture_passes_whole_and_is_recorded_as_cut() {
    let mut harness =
        Harness::with(Setup { settings: Box::new(|settings| settings.max_capture = 4), ..Setup::default() }).await;
    let (got, answer, ended) = harness
        .exchange(
            "POST /x HTTP/1.1\r\nHost: p\r\nContent-Length: 6\r\n\r\nabcdef",
            "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nghijklmn",
        )
        .await;
    assert!(got.ends_with("abcdef") && answer.ends_with("ghijklmn"));
    let exchange = ended.exchange;
    assert_eq!(exchange.request.body.presence, Presence::Truncated { kept: 4, total: Some(6) });
    let body = exchange.response.unwrap().body;
    assert_eq!((&body.content[..], body.presence), (&b"ghij"[..], Presence::Truncated { kept: 4, total: Some(8) }));
    assert_eq!(exchange.transport.incomplete, None);
}

#[tokio::test]
async fn one_connection_carries_many_exchanges_on_both_sides() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send("GET /1 HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    for number in 1..=3 {
        assert!(tenant.message().await.starts_with(&format!("GET /{number} ")));
        tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
        client.until("ok").await;
        harness.ended().await;
        client.send(&format!("GET /{} HTTP/1.1\r\nHost: p\r\n\r\n", number + 1)).await;
    }
}

#[tokio::test]
async fn a_half_closed_client_still_gets_its_answer() {
    use tokio::io::AsyncWriteExt as _;
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    client.0.shutdown().await.unwrap();
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    client.until("ok").await;
    let ended = harness.ended().await;
    assert_eq!(ended.exchange.transport.incomplete, None);
    assert!(ended.meta.remarks[0].starts_with("the client had closed its side after "), "{:?}", ended.meta.remarks);
}

#[tokio::test]
async fn a_half_closed_client_still_gets_an_answer_that_waits_for_its_entry() {
    use tokio::io::AsyncWriteExt as _;
    for (response, end) in
        [("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok"), ("HTTP/1.1 204 No Content\r\n\r\n", "\r\n\r\n")]
    {
        let mut harness = Harness::with(Setup { hold_ends: true, ..Setup::default() }).await;
        let mut client = harness.client().await;
        client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
        let mut tenant = harness.accept().await;
        tenant.message().await;
        client.0.shutdown().await.unwrap();
        tenant.send(response).await;
        let (_, release) = harness.held().await;
        assert!(client.is_silent().await, "{response}");
        release.send(Ok(())).unwrap();
        client.until(end).await;
    }
}

fn refusal() -> Problem {
    Problem::new(http::StatusCode::BAD_REQUEST, "enforce", "it breaks a rule")
}

#[tokio::test]
async fn a_held_request_that_is_refused_never_reaches_the_upstream() {
    let holds = HoldPolicy { requests: true, ..HoldPolicy::default() };
    let mut harness = Harness::with(Setup { holds, refuse: Some(refusal()), ..Setup::default() }).await;
    let mut client = harness.client().await;
    client.send("POST /x HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\nhi").await;
    let answer = client.message().await;
    assert_eq!(status(&answer), 400);
    assert_line(&answer, "contrail-answer: enforce");
    assert_eq!(detail(&answer), "it breaks a rule");
    let ended = harness.ended().await;
    assert_eq!(ended.exchange.transport.answered_by_contrail.as_deref(), Some("enforce"));
    assert_eq!(ended.exchange.request.body.content, "hi");
    assert_eq!(ended.exchange.response.unwrap().status, 400);
    let connected = tokio::time::timeout(std::time::Duration::from_millis(50), harness.upstream.accept()).await;
    assert!(connected.is_err(), "the upstream saw a connection");
}

#[tokio::test]
async fn while_a_held_request_is_judged_other_connections_are_served() {
    for refuse in [None, Some(refusal())] {
        let holds = HoldPolicy { requests: true, ..HoldPolicy::default() };
        let (next, waiting) = std::sync::mpsc::channel();
        let mut harness = Harness::with(Setup { holds, admit: Some(waiting), ..Setup::default() }).await;
        let mut client = harness.client().await;
        client.send("POST /large HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\nhi").await;
        let small = "GET /small HTTP/1.1\r\nHost: p\r\n\r\n";
        let (_, answer, ended) = harness.exchange(small, "HTTP/1.1 204 No Content\r\n\r\n").await;
        assert_eq!((status(&answer), ended.exchange.request.target.path()), (204, "/small"));
        let is_refused = refuse.is_some();
        *harness.seen.refuse.lock().unwrap() = refuse;
        next.send(()).unwrap();
        if is_refused {
            assert_eq!(status(&client.message().await), 400);
        } else {
            let mut tenant = harness.accept().await;
            assert!(tenant.message().await.ends_with("hi"));
            tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            assert_eq!(status(&client.message().await), 200);
        }
        assert_eq!(harness.ended().await.exchange.request.body.content, "hi");
    }
}

#[tokio::test]
async fn a_held_response_that_is_refused_becomes_502_or_424_where_the_method_is_unsafe() {
    for (method, expected) in [("GET", 502), ("POST", 424), ("PATCH", 424)] {
        let holds = HoldPolicy { responses: true, ..HoldPolicy::default() };
        let mut harness = Harness::with(Setup { holds, refuse: Some(refusal()), ..Setup::default() }).await;
        let (_, answer, ended) = harness
            .exchange(
                &format!("{method} /x HTTP/1.1\r\nHost: p\r\nContent-Length: 0\r\n\r\n"),
                "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret",
            )
            .await;
        assert_eq!(status(&answer), expected);
        assert!(!answer.contains("secret"), "{answer}");
        // What the tenant said is what is recorded.
        assert_eq!(ended.exchange.response.unwrap().body.content, "secret");
    }
}

#[tokio::test]
async fn held_messages_that_are_admitted_pass_untouched() {
    let holds = HoldPolicy { requests: true, responses: true, ..HoldPolicy::default() };
    let mut harness = Harness::with(Setup { holds, ..Setup::default() }).await;
    let response = "HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nhi";
    let (got, answer, _) =
        harness.exchange("POST /x HTTP/1.1\r\nHost: p\r\nContent-Length: 5\r\n\r\nhello", response).await;
    assert!(got.ends_with("hello"));
    assert_eq!(answer, response);
}

#[tokio::test]
async fn what_the_admission_of_a_request_read_of_its_body_is_kept_for_its_end() {
    let holds = HoldPolicy { requests: true, ..HoldPolicy::default() };
    let mut harness = Harness::with(Setup { holds, ..Setup::default() }).await;
    let request = "POST /x HTTP/1.1\r\nHost: p\r\nContent-Length: 5\r\n\r\n[1,2]";
    let (_, _, ended) = harness.exchange(request, "HTTP/1.1 204 No Content\r\n\r\n").await;
    let body = ended.exchange.request.body;
    assert_eq!(body.held_document().map(|held| held.source().clone()), Some(body.content));
}

#[tokio::test]
async fn what_is_too_large_to_judge_is_refused_under_enforce() {
    let holds = HoldPolicy { requests: true, responses: true, ..HoldPolicy::default() };
    let setup = Setup { holds, settings: Box::new(|settings| settings.max_capture = 4), ..Setup::default() };
    let mut harness = Harness::with(setup).await;
    let mut client = harness.client().await;
    client.send("POST /x HTTP/1.1\r\nHost: p\r\nContent-Length: 5\r\n\r\nhello").await;
    let answer = client.message().await;
    assert_line(&answer, "contrail-answer: enforce");
    assert!(status(&answer) == 413, "{answer}");
    harness.ended().await;
    let (_, answer, _) = harness
        .exchange("GET /x HTTP/1.1\r\nHost: p\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        .await;
    assert!(status(&answer) == 502 && !answer.contains("hello"), "{answer}");
}
