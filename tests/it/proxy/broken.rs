//! Peers that go away in the middle.

use contrail_exchange::Presence;

use super::harness::{Harness, Setup, detail, status, within};
use crate::support::golden::assert_line;

#[tokio::test]
async fn a_response_that_breaks_off_is_cut_for_the_client_and_marked() {
    for (framing, sent) in [
        ("Content-Length: 10", "first"),
        ("Transfer-Encoding: chunked", "5\r\nfirst\r\n"),
        ("Transfer-Encoding: chunked", "9\r\nfirst"),
    ] {
        let mut harness = Harness::new().await;
        let mut client = harness.client().await;
        client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
        let mut tenant = harness.accept().await;
        tenant.message().await;
        tenant.send(&format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n{sent}")).await;
        drop(tenant);
        let got = client.rest().await;
        assert_line(&got, "first");
        assert!(!got.contains("\r\n0\r\n\r\n"), "{got}");
        let exchange = harness.ended().await.exchange;
        assert_line(
            &exchange.transport.incomplete.unwrap(),
            "the upstream closed the connection in the middle of its response",
        );
        let body = exchange.response.unwrap().body;
        assert_eq!((&body.content[..], body.presence), (&b"first"[..], Presence::Truncated { kept: 5, total: None }));
    }
}

#[tokio::test]
async fn surplus_bytes_of_an_answer_never_reach_the_next_request() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send("GET /1 HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil").await;
    assert!(client.message().await.ends_with("ok"));
    harness.ended().await;
    client.send("GET /2 HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut fresh = harness.accept().await;
    fresh.message().await;
    fresh.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood").await;
    assert!(client.message().await.ends_with("good"));
}

#[tokio::test]
async fn an_upstream_that_refuses_connections_is_a_502_that_names_the_cause() {
    let mut harness = Harness::new().await;
    let address = harness.upstream.local_addr().unwrap();
    harness.upstream = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let answer = client.message().await;
    assert_line(&answer, "contrail-answer: upstream");
    assert!(status(&answer) == 502, "{answer}");
    assert_eq!(detail(&answer), format!("cannot reach http://{address}: Connection refused (os error 111)"));
    let ended = harness.ended().await;
    // The grace of a half-closed client is none of its own time.
    assert!(ended.took < std::time::Duration::from_millis(500), "{:?}", ended.took);
    let exchange = ended.exchange;
    assert!(exchange.response.is_none());
    assert_eq!(exchange.transport.answered_by_contrail.as_deref(), Some("upstream"));
}

#[tokio::test]
async fn what_is_no_http_response_is_a_502() {
    for nonsense in [
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ] {
        let mut harness = Harness::new().await;
        let (_, answer, _) = harness.exchange("GET /x HTTP/1.1\r\nHost: p\r\n\r\n", nonsense).await;
        assert_eq!(status(&answer), 502, "{nonsense:?}");
    }
}

#[tokio::test]
async fn a_length_that_is_stated_twice_passes_once() {
    let mut harness = Harness::new().await;
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok";
    let (_, answer, _) = harness.exchange("GET /x HTTP/1.1\r\nHost: p\r\n\r\n", response).await;
    assert_eq!(answer.to_lowercase().matches("content-length").count(), 1, "{answer}");
    assert!(answer.ends_with("ok"));
}

/// A kept-alive upstream connection that has served one exchange, and the client that asked.
async fn kept_alive(harness: &mut Harness) -> (super::harness::Wire, super::harness::Wire) {
    let mut client = harness.client().await;
    client.send("GET /1 HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    client.until("ok").await;
    harness.ended().await;
    (client, tenant)
}

#[tokio::test]
async fn a_get_on_a_kept_alive_connection_that_closes_is_sent_again_once_with_a_remark() {
    let mut harness = Harness::new().await;
    let (mut client, mut tenant) = kept_alive(&mut harness).await;
    client.send("GET /2 HTTP/1.1\r\nHost: p\r\n\r\n").await;
    tenant.message().await;
    drop(tenant);
    let mut fresh = harness.accept().await;
    assert!(fresh.message().await.starts_with("GET /2 "));
    fresh.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    client.until("ok").await;
    assert!(harness.ended().await.exchange.transport.retried);
}

#[tokio::test]
async fn a_post_that_may_have_arrived_is_never_sent_again() {
    let mut harness = Harness::new().await;
    let (mut client, mut tenant) = kept_alive(&mut harness).await;
    client.send("POST /2 HTTP/1.1\r\nHost: p\r\nContent-Length: 0\r\n\r\n").await;
    tenant.message().await;
    drop(tenant);
    assert_eq!(status(&client.message().await), 502);
    let exchange = harness.ended().await.exchange;
    assert!(!exchange.transport.retried && exchange.response.is_none());
}

#[tokio::test]
async fn a_get_that_got_the_start_of_an_answer_is_not_sent_again() {
    let mut harness = Harness::new().await;
    let (mut client, mut tenant) = kept_alive(&mut harness).await;
    client.send("GET /2 HTTP/1.1\r\nHost: p\r\n\r\n").await;
    tenant.message().await;
    tenant.send("HTTP/1.1 2").await;
    drop(tenant);
    assert_eq!(status(&client.message().await), 502);
    assert!(!harness.ended().await.exchange.transport.retried);
}

#[tokio::test]
async fn a_post_after_an_idle_connection_was_closed_goes_out_on_a_fresh_one() {
    let mut harness = Harness::new().await;
    let (mut client, tenant) = kept_alive(&mut harness).await;
    drop(tenant);
    client.send("POST /2 HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\nhi").await;
    let mut fresh = harness.accept().await;
    assert!(fresh.message().await.ends_with("hi"));
    fresh.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    client.until("ok").await;
    assert!(!harness.ended().await.exchange.transport.retried);
}

#[tokio::test]
async fn a_client_that_goes_away_ends_the_upstream_and_is_recorded_as_not_whole() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    drop(client);
    let begun = std::time::Instant::now();
    assert_eq!(tenant.rest().await, "");
    assert!(begun.elapsed() < std::time::Duration::from_secs(2), "{:?}", begun.elapsed());
    let exchange = harness.ended().await.exchange;
    assert!(exchange.response.is_none());
    assert!(exchange.transport.client_left && exchange.transport.incomplete.is_none());
}

#[tokio::test]
async fn a_client_that_goes_away_in_the_middle_of_a_response_leaves_what_there_was() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst").await;
    client.until("first").await;
    drop(client);
    assert_eq!(tenant.rest().await, "");
    let exchange = harness.ended().await.exchange;
    assert!(exchange.transport.client_left && exchange.transport.incomplete.is_none());
    assert_eq!(exchange.response.unwrap().body.content, "first");
}

#[tokio::test]
async fn half_an_upload_is_never_completed_upstream() {
    for framing in ["Content-Length: 10\r\n\r\nfirst", "Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"] {
        let mut harness = Harness::new().await;
        let mut client = harness.client().await;
        client.send(&format!("POST /x HTTP/1.1\r\nHost: p\r\n{framing}")).await;
        let mut tenant = harness.accept().await;
        tenant.until("first").await;
        drop(client);
        let rest = tenant.rest().await;
        assert!(!rest.contains("0\r\n\r\n"), "{rest}");
        let exchange = harness.ended().await.exchange;
        assert!(!exchange.request.body.is_whole());
        assert!(exchange.transport.client_left && exchange.transport.incomplete.is_none());
    }
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_leaves_its_whole_events() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    tenant.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\ndata: 2\n\ndata:").await;
    client.until("data: 2\n\ndata:").await;
    drop(client);
    let exchange = harness.ended().await.exchange;
    assert!(exchange.transport.client_left && exchange.transport.incomplete.is_none());
    let body = exchange.response.unwrap().body;
    assert!(body.is_whole());
    assert_eq!(body.content, "data: 1\n\ndata: 2\n\n");
}

#[tokio::test]
async fn a_connection_that_a_client_authenticated_serves_no_other_client_and_ends_with_its_own() {
    const CHALLENGE: &str =
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer, NTLM TlRMTVNTUAAC\r\nContent-Length: 2\r\n\r\nno";
    const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for (first, answer, end) in [("", CHALLENGE, "no"), ("Authorization: Negotiate YII=\r\n", OK, "ok")] {
        let harness = Harness::new().await;
        let (mut one, mut other) = (harness.client().await, harness.client().await);
        one.send(&format!("GET /1 HTTP/1.1\r\nHost: p\r\n{first}\r\n")).await;
        let mut tenant = harness.accept().await;
        tenant.message().await;
        tenant.send(answer).await;
        one.until(end).await;
        // The other client comes between the two legs of the handshake.
        other.send("GET /2 HTTP/1.1\r\nHost: p\r\n\r\n").await;
        let mut shared = harness.accept().await;
        assert!(shared.message().await.starts_with("GET /2 "));
        shared.send(OK).await;
        other.until("ok").await;
        // Once authenticated, requests carry no credentials any more.
        for next in ["/3", "/4"] {
            one.send(&format!("GET {next} HTTP/1.1\r\nHost: p\r\n\r\n")).await;
            assert!(tenant.message().await.starts_with(&format!("GET {next} ")));
            tenant.send(OK).await;
            one.until("ok").await;
        }
        other.send("GET /5 HTTP/1.1\r\nHost: p\r\n\r\n").await;
        assert!(shared.message().await.starts_with("GET /5 "));
        shared.send(OK).await;
        other.until("ok").await;
        drop(one);
        assert_eq!(tenant.rest().await, "");
    }
}

#[tokio::test]
async fn a_shutdown_lets_an_exchange_in_progress_end() {
    let mut harness = Harness::new().await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    harness.stop();
    tenant.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    client.until("ok").await;
    assert_eq!(harness.ended().await.exchange.transport.incomplete, None);
    within(&mut harness.server).await.unwrap();
}

#[tokio::test]
async fn a_shutdown_cuts_what_does_not_end_in_time_and_records_it() {
    let drain = std::time::Duration::from_millis(100);
    let setup = Setup { settings: Box::new(move |settings| settings.drain = drain), ..Setup::default() };
    let mut harness = Harness::with(setup).await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = harness.accept().await;
    tenant.message().await;
    harness.stop();
    within(&mut harness.server).await.unwrap();
    assert_eq!(client.rest().await, "");
    let incomplete = harness.ended().await.exchange.transport.incomplete;
    assert_eq!(incomplete.as_deref(), Some("contrail stopped before the exchange was over: --drain ran out"));
}

#[tokio::test]
async fn the_407_of_a_proxy_on_the_way_is_contrails_own_502_and_never_the_tenants_answer() {
    let mut harness = Harness::with(Setup { via: true, ..Setup::default() }).await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\nProxy-Authorization: Basic client\r\n\r\n").await;
    let mut via = harness.accept().await;
    let address = harness.upstream.local_addr().unwrap();
    let got = via.message().await.to_lowercase();
    assert!(got.starts_with(&format!("get http://{address}/x http/1.1\r\n")), "{got}");
    // me:hunter2
    assert_line(&got, "proxy-authorization: basic bwu6ahvudgvymg==");
    assert!(!got.contains("client"), "{got}");
    via.send("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno")
        .await;
    let answer = client.message().await;
    assert_eq!(status(&answer), 502, "{answer}");
    assert_line(&answer, "contrail-answer: upstream");
    assert_eq!(
        detail(&answer),
        format!(
            "the proxy {address} refused the request with 407; it does not accept the name and the password in \
             --upstream-proxy"
        )
    );
    assert!(!answer.contains("hunter2"), "{answer}");
    let exchange = harness.ended().await.exchange;
    assert!(exchange.response.is_none() && exchange.transport.incomplete.is_some());
    client.send("GET /y HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut fresh = harness.accept().await;
    fresh.message().await;
    fresh.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno").await;
    assert_eq!(status(&client.message().await), 403);
}
