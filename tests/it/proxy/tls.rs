//! An upstream over https.

use std::{sync::Arc, time::Duration};

use contrail_proxy::upstream::live;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::{TlsAcceptor, rustls};

use super::harness::{Harness, Setup, detail, status, within};
use crate::support::golden::assert_line;

struct Authority {
    pem: String,
    acceptor: TlsAcceptor,
}

fn authority() -> Authority {
    let certified = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = rustls_pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    Authority { pem: certified.cert.pem(), acceptor: TlsAcceptor::from(Arc::new(config)) }
}

async fn harness(authority: &Authority) -> (Harness, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, &authority.pem).unwrap();
    (Harness::with(Setup { https: Some(file), ..Setup::default() }).await, folder)
}

#[tokio::test]
async fn an_upstream_over_https_is_trusted_by_upstream_ca() {
    let authority = authority();
    let (mut harness, _folder) = harness(&authority).await;
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut tenant = within(authority.acceptor.accept(harness.accept().await.0)).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(within(tenant.read_u8()).await.unwrap());
    }
    within(tenant.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")).await.unwrap();
    assert!(client.message().await.ends_with("ok"));
    let target = harness.ended().await.exchange.request.target;
    assert_eq!(&*target.scheme, "https");
}

#[tokio::test]
async fn an_upstream_with_a_strangers_certificate_is_a_502() {
    let (mut harness, _folder) = harness(&authority()).await;
    let stranger = authority();
    let mut client = harness.client().await;
    client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    assert!(within(stranger.acceptor.accept(harness.accept().await.0)).await.is_err());
    let answer = client.message().await;
    assert_line(
        &detail(&answer),
        "cannot reach https://127.0.0.1:PORT: its certificate names a trusted authority, and is not signed by it; \
         --upstream-ca FILE names another to trust",
    );
    assert!(status(&answer) == 502, "{answer}");
    assert!(!answer.contains("Other("), "{answer}");
    harness.ended().await;
}

#[tokio::test]
async fn an_upstream_that_accepts_and_shakes_no_hand_is_a_504_after_the_connect_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, authority().pem).unwrap();
    // The upstream itself, and a proxy on the way to it that never answers CONNECT.
    let proxy = "the upstream proxy 127.0.0.1:PORT did not accept a connection in 0.1 s; --upstream-proxy names it; \
                 `--upstream-proxy none` connects directly";
    for (via, said) in
        [(false, "https://127.0.0.1:PORT accepted the connection, but no TLS handshake ended in 0.1 s"), (true, proxy)]
    {
        let limits = live::Limits { connect: Duration::from_millis(100), ..live::Limits::default() };
        let mut harness = Harness::with(Setup { https: Some(file.clone()), limits, via, ..Setup::default() }).await;
        let mut client = harness.client().await;
        client.send("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
        let mut silent = harness.accept().await;
        let answer = client.message().await;
        assert_line(&detail(&answer), said);
        assert!(status(&answer) == 504, "{answer}");
        assert_line(&answer, "contrail-answer: upstream-timeout");
        let mut rest = Vec::new();
        let _ = within(silent.0.read_to_end(&mut rest)).await;
        assert!(!rest.is_empty(), "it is given up");
        let exchange = harness.ended().await.exchange;
        assert!(exchange.response.is_none() && exchange.transport.incomplete.is_some());
    }
}
