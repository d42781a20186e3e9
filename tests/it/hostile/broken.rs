//! The tables of a broken upstream's answers again: to clients of every way in, from upstreams with and without TLS.

use std::{net::SocketAddr, sync::Arc};

use contrail_proxy::entry::authority::Authority;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::{
    answers::{ENDS, UNUSABLE},
    expand,
    frames::{Said, block, greeting, headers, said},
    requests::latin1,
    ways::{Io, ProxyUnderTest, Way},
};
use crate::proxy::harness::{status, within};
use crate::support::golden::assert_line;

/// An answer that only the end of its connection ends.
const UNBOUNDED: &str = "HTTP/1.0 200 OK\r\n\r\nabc";

/// An upstream that answers `/u/7` with the seventh unusable answer, `/e/7` with the seventh of those that end, `/cut`
/// with one that only the end of its connection ends (without notice to TLS), and everything else well.
async fn tenant(acceptor: Option<TlsAcceptor>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let stream = listener.accept().await.unwrap().0;
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                match acceptor {
                    Some(acceptor) => play(acceptor.accept(stream).await.unwrap()).await,
                    None => play(stream).await,
                }
            });
        }
    });
    address
}

async fn play(mut stream: impl Io) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let target = head.split(' ').nth(1).unwrap();
    let nth = || target.rsplit('/').next().unwrap().parse::<usize>().unwrap();
    let answer = match target.split('/').nth(1).unwrap() {
        "u" => expand(UNUSABLE[nth()]),
        "e" => expand(ENDS[nth()].0),
        "cut" | "ended" => UNBOUNDED.to_owned(),
        _ => "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood".to_owned(),
    };
    let _ = stream.write_all(&latin1(&answer)).await;
    let _ = stream.flush().await;
    if target != "/cut" {
        let _ = stream.shutdown().await;
        // So that closing resets nothing that is on its way.
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    }
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

async fn over_http1(proxy: &ProxyUnderTest, way: Way) {
    let good = |text: &str| text.ends_with("\r\n\r\ngood");
    for (index, sent) in UNUSABLE.iter().enumerate() {
        let mut client = proxy.client(way, false).await;
        let shown = format!("{way:?} {:?}", &sent[..sent.len().min(100)]);
        within(client.0.write_all(&proxy.spelled(way, &get(&format!("/u/{index}"))))).await.unwrap();
        let answer = client.message().await;
        assert_line(&answer, "contrail-answer: upstream");
        assert!(status(&answer) == 502, "{shown}: {answer}");
        within(client.0.write_all(&proxy.spelled(way, &get("/")))).await.unwrap();
        assert!(good(&client.message().await), "{shown}");
    }
    for (index, (sent, expected, whole)) in ENDS.iter().enumerate() {
        let mut client = proxy.client(way, false).await;
        let expected = &*expand(expected);
        within(client.0.write_all(&proxy.spelled(way, &get(&format!("/e/{index}"))))).await.unwrap();
        if *whole {
            assert_eq!(client.until(expected).await, expected, "{way:?} {sent:?}");
            within(client.0.write_all(&proxy.spelled(way, &get("/")))).await.unwrap();
            assert!(good(&client.message().await), "{way:?} {sent:?}");
        } else {
            assert_eq!(client.rest().await, expected, "{way:?} {sent:?}");
        }
    }
}

async fn over_http2(proxy: &ProxyUnderTest, way: Way) {
    let cases = (0..UNUSABLE.len()).map(|index| (format!("/u/{index}"), Said::Problem(502)));
    let ends = ENDS
        .iter()
        .enumerate()
        .map(|(index, (.., whole))| (format!("/e/{index}"), if *whole { Said::Whole } else { Said::Reset }));
    let authority = if way == Way::Absolute { &proxy.authority } else { "a" };
    for (path, expected) in cases.chain(ends) {
        let mut client = proxy.client(way, true).await;
        let fields = format!(":method=GET|:scheme=http|:path={path}|:authority={authority}");
        within(client.0.write_all(&[greeting(), headers(1, true, &block(&fields))].concat())).await.unwrap();
        assert_eq!(said(&mut client).await, expected, "{way:?} {path}");
    }
}

/// What came of an answer that has no length, over HTTP/1 and over HTTP/2.
async fn unbounded(proxy: &ProxyUnderTest, path: &str) -> (String, Said) {
    let mut client = proxy.client(Way::Plain, false).await;
    client.send(&format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).await;
    let answer = client.rest().await;
    let mut client = proxy.client(Way::Plain, true).await;
    let fields = format!(":method=GET|:scheme=http|:path={path}|:authority=a");
    within(client.0.write_all(&[greeting(), headers(1, true, &block(&fields))].concat())).await.unwrap();
    (answer, said(&mut client).await)
}

async fn holds(command: &str, tls: bool) {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::open(folder.path(), &[]).unwrap();
    let roots = authority.certificate_path().unwrap();
    let scheme = if tls { "https" } else { "http" };
    let acceptor = tls.then(|| {
        let mut config = tokio_rustls::rustls::ServerConfig::clone(&authority.server_config("127.0.0.1").unwrap());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    });
    let tenant = tenant(acceptor).await;
    let trusted = ["--upstream-ca", roots.to_str().unwrap()];
    let proxy = ProxyUnderTest::start(command, scheme, tenant, if tls { &trusted } else { &[] });
    for way in Way::ALL {
        over_http1(&proxy, way).await;
        over_http2(&proxy, way).await;
    }
    let (ended, whole) = unbounded(&proxy, "/ended").await;
    assert!(ended.ends_with("\r\n3\r\nabc\r\n0\r\n\r\n") && whole == Said::Whole, "{ended} {whole:?}");
    let (cut, reset) = unbounded(&proxy, "/cut").await;
    let truncated = cut.ends_with("\r\n3\r\nabc\r\n") && reset == Said::Reset;
    // Without TLS the two ends look alike.
    assert!(if tls { truncated } else { cut == ended }, "{cut} {reset:?}");
    let (_, summary, _) = proxy.finish();
    let broken = ENDS.iter().filter(|(.., whole)| !whole).count() + UNUSABLE.len();
    let incomplete = Way::ALL.len() * 2 * broken + if tls { 2 } else { 0 };
    assert_eq!(summary["incomplete"], incomplete, "{summary}");
}

#[tokio::test]
async fn broken_answers_reach_no_client_of_a_recording_as_whole_ones() {
    holds("record", false).await;
}

#[tokio::test]
async fn broken_answers_over_tls_reach_no_client_of_a_watch_as_whole_ones() {
    holds("watch", true).await;
}
