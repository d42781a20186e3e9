//! HTTP/1.1 and HTTP/2, plain and over TLS, on both sides of the proxy: large bodies and trailers both ways.

use std::{collections::VecDeque, convert::Infallible, pin::Pin, sync::Arc};

use bytes::Bytes;
use contrail_proxy::{
    Committed, Completed, Observer, Proxy, Settings,
    entry::{
        authority::Authority,
        listener::{self, ListenerKind},
        tls::Certificates,
    },
    upstream::{
        Origin,
        live::{Access, Http2, Limits, Live},
    },
};
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_rustls::{TlsAcceptor, TlsConnector, rustls};

use crate::support::tls::trusting;

const PIECES: usize = 64;
const PIECE: usize = 32 << 10;

/// A body in pieces, and a trailer after it.
struct Pieces(VecDeque<Frame<Bytes>>);

impl Pieces {
    fn body(trailer: &'static str) -> StreamBody<Self> {
        let data = (b'a'..=b'z').cycle().take(PIECES).map(|letter| Frame::data(Bytes::from(vec![letter; PIECE])));
        let trailers: HeaderMap =
            [(HeaderName::from_static("x-trailer"), HeaderValue::from_static(trailer))].into_iter().collect();
        StreamBody::new(Self(data.chain([Frame::trailers(trailers)]).collect()))
    }
}

impl futures_core::Stream for Pieces {
    type Item = Result<Frame<Bytes>, Infallible>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        std::task::Poll::Ready(self.0.pop_front().map(Ok))
    }
}

/// What came of a message: its length, and its trailer.
async fn taken(body: Incoming) -> (usize, Option<String>) {
    let whole = body.collect().await.unwrap();
    let trailer = whole.trailers().and_then(|trailers| trailers.get("x-trailer")).cloned();
    (whole.to_bytes().len(), trailer.map(|value| value.to_str().unwrap().to_owned()))
}

/// A tenant that says how it was asked and what it got, and answers at length.
async fn answer(request: http::Request<Incoming>) -> Result<http::Response<StreamBody<Pieces>>, Infallible> {
    let (version, target) = (request.version(), request.uri().path().to_owned());
    let got = taken(request.into_body()).await;
    let mut response = http::Response::new(Pieces::body("from the tenant"));
    response.headers_mut().insert("trailer", HeaderValue::from_static("x-trailer"));
    response.headers_mut().insert("x-asked", format!("{version:?} {target} {got:?}").parse().unwrap());
    Ok(response)
}

async fn serve(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, http2: bool) {
    let io = TokioIo::new(io);
    let _ = if http2 {
        hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(io, service_fn(answer)).await
    } else {
        hyper::server::conn::http1::Builder::new().serve_connection(io, service_fn(answer)).await
    };
}

async fn tenant(authority: &Authority, tls: bool, http2: bool) -> Origin {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut config = rustls::ServerConfig::clone(&authority.server_config("localhost").unwrap());
    config.alpn_protocols = vec![if http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if tls {
                    serve(acceptor.accept(stream).await.unwrap(), http2).await;
                } else {
                    serve(stream, http2).await;
                }
            });
        }
    });
    format!("{}://localhost:{port}", if tls { "https" } else { "http" }).parse().unwrap()
}

#[derive(Debug)]
struct Nobody;

impl Observer for Nobody {
    fn on_completed(&self, ended: Completed) -> Committed {
        assert_eq!(ended.exchange.transport.incomplete, None);
        Committed::now()
    }
}

async fn client(
    authority: Arc<Authority>,
    stream: TcpStream,
    alpn: &'static str,
) -> impl AsyncRead + AsyncWrite + Unpin + Send + 'static {
    let config = trusting(authority.certificate().clone(), alpn);
    let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
    TlsConnector::from(config).connect(name, stream).await.unwrap()
}

async fn ask(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, http2: bool) -> http::Response<Incoming> {
    let body = Pieces::body("from the client");
    let uri = if http2 { "http://localhost/a%2Fb" } else { "/a%2Fb" };
    let request = http::Request::post(uri).header("trailer", "x-trailer").header("te", "trailers");
    if http2 {
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(io));
        let (mut sender, connection) = handshake.await.unwrap();
        tokio::spawn(connection);
        return sender.send_request(request.body(body).unwrap()).await.unwrap();
    }
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(io)).await.unwrap();
    tokio::spawn(connection);
    sender.send_request(request.header("host", "localhost").body(body).unwrap()).await.unwrap()
}

#[tokio::test]
async fn every_combination_of_protocols_passes_large_bodies_and_trailers_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Arc::new(Authority::open(folder.path(), &[]).unwrap());
    for (upstream_tls, upstream_http2) in [(false, false), (false, true), (true, false), (true, true)] {
        let origin = tenant(&authority, upstream_tls, upstream_http2).await;
        let http2 = if upstream_http2 && !upstream_tls { Http2::Always } else { Http2::Auto };
        let access = Access { roots: Some(authority.certificate_path().unwrap()), http2, ..Access::default() };
        let live = Live::new(origin.clone(), access, Limits::default()).unwrap();
        let settings = Settings::new(origin.scheme(), &*origin.authority);
        let proxy = Proxy::new(settings, Arc::new(live), Arc::new(Nobody)).unwrap();
        let (_stop, stopping) = watch::channel(false);
        for client_tls in [false, true] {
            let door = if client_tls {
                ListenerKind::Tls(Certificates::Authority(authority.clone()), 0)
            } else {
                ListenerKind::Plain(0)
            };
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(listener::serve(proxy.clone(), listener, door, stopping.clone()));
            for client_http2 in [false, true] {
                let stream = TcpStream::connect(address).await.unwrap();
                let response = if client_tls {
                    let alpn = if client_http2 { "h2" } else { "http/1.1" };
                    let stream = client(authority.clone(), stream, alpn).await;
                    ask(stream, client_http2).await
                } else {
                    ask(stream, client_http2).await
                };
                let case = format!("client {client_tls} {client_http2}, upstream {upstream_tls} {upstream_http2}");
                let version = if upstream_http2 { "HTTP/2.0" } else { "HTTP/1.1" };
                let got = (PIECES * PIECE, Some("from the client".to_owned()));
                assert_eq!(response.headers()["x-asked"], format!("{version} /a%2Fb {got:?}"), "{case}");
                let came = taken(response.into_body()).await;
                assert_eq!(came, (PIECES * PIECE, Some("from the tenant".to_owned())), "{case}");
            }
        }
    }
}
