//! `Expect: 100-continue`: who waits for whom.

use std::time::Duration;

use contrail_proxy::upstream::live::Limits;

use crate::proxy::harness::{Harness, Setup, status};
use crate::support::golden::assert_line;

const HEAD: &str = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-Continue\r\n\r\n";
const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Waits for the upstream as long as it takes.
async fn patient() -> Harness {
    let limits = Limits { leave: Duration::from_mins(1), ..Limits::default() };
    Harness::with(Setup { limits, ..Setup::default() }).await
}

#[tokio::test]
async fn a_client_that_waits_gets_100_when_the_upstream_wants_the_body() {
    for head in [HEAD.to_owned(), HEAD.replace("Content-Length: 5", "Transfer-Encoding: chunked")] {
        let mut harness = patient().await;
        let mut client = harness.client().await;
        client.send(&head).await;
        let mut tenant = harness.accept().await;
        assert_line(&tenant.until("\r\n\r\n").await, "Expect: 100-Continue");
        assert!(client.is_silent().await);
        tenant.send(CONTINUE).await;
        assert_eq!(client.until("\r\n\r\n").await, CONTINUE);
        if head.contains("chunked") {
            client.send("5\r\nhello\r\n0\r\n\r\n").await;
            tenant.until("0\r\n\r\n").await;
        } else {
            client.send("hello").await;
            tenant.until("hello").await;
        }
        tenant.send(OK).await;
        assert_eq!(client.message().await, OK);
        assert!(harness.ended().await.exchange.request.body.is_whole());
        // Both connections serve on.
        client.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(tenant.message().await.starts_with("GET /next "));
    }
}

#[tokio::test]
async fn a_final_answer_in_place_of_100_reaches_the_client_and_no_body_goes_anywhere() {
    for (answer, expected) in [
        ("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno", 401),
        ("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n", 417),
        ("HTTP/1.1 413 Content Too Large\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n", 413),
    ] {
        let mut harness = patient().await;
        let mut client = harness.client().await;
        client.send(HEAD).await;
        let mut tenant = harness.accept().await;
        tenant.until("\r\n\r\n").await;
        tenant.send(answer).await;
        let got = client.message().await;
        assert_eq!(status(&got), expected, "{got}");
        let exchange = harness.ended().await.exchange;
        assert_eq!((exchange.response.unwrap().status, exchange.transport.incomplete), (expected, None));
        assert_eq!(exchange.request.body.content, "");
        // What the client sends all the same is neither a body nor a request.
        let _ = tokio::io::AsyncWriteExt::write_all(&mut client.0, b"GET /").await;
        assert_eq!(tenant.rest().await, "", "{expected}");
        assert!(!client.rest().await.contains("HTTP/1.1"), "{expected}");
        assert!(harness.nothing_ended());
    }
}

#[tokio::test]
async fn a_body_that_comes_unasked_and_an_upstream_that_never_asks_are_brought_together() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send(&format!("{HEAD}hello")).await;
    let mut tenant = harness.accept().await;
    tenant.until("hello").await;
    tenant.send(OK).await;
    let answer = client.until("ok").await;
    assert!(answer == OK || answer == format!("{CONTINUE}{OK}"), "{answer}");
    assert!(harness.ended().await.exchange.request.body.is_whole());
}

#[tokio::test]
async fn other_expectations_and_those_without_a_body_pass_and_wait_for_nothing() {
    for head in [
        "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: the-unexpected\r\n\r\nhello",
        "POST /x HTTP/1.0\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
    ] {
        let harness = Harness::new().await;
        let mut client = harness.client().await;
        client.send(head).await;
        let mut tenant = harness.accept().await;
        let got = tenant.message().await;
        assert!(got.ends_with("hello") || !head.ends_with("hello"), "{head}: {got}");
        assert_eq!(got.contains("xpect: "), head.contains("Expect"), "{head}: {got}");
        tenant.send(&format!("{CONTINUE}{OK}")).await;
        let answer = client.message().await;
        assert!(status(&answer) == 200 && answer.ends_with("ok"), "{head}: {answer}");
    }
}
