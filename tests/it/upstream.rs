//! The upstream's side: HTTP/2, client certificates, a proxy on the way.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use contrail_exchange::Target;
use contrail_proxy::{
    entry::authority::{Authority, server_config},
    upstream::{
        FailureKind, MessageBody, Origin, Request, Upstream as _,
        live::{Access, Http2, Limits, Live, Via},
    },
};

use crate::support::{golden::assert_line, wire::Nobody};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{self, ServerConfig},
};

/// An origin that says in its answer what it was asked, by which version, and echoes the body.
struct Tenant {
    origin: Origin,
    connections: Arc<AtomicUsize>,
}

async fn tenant(config: Arc<ServerConfig>, http2: bool) -> Tenant {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("https://localhost:{}", listener.local_addr().unwrap().port()).parse().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            let acceptor = TlsAcceptor::from(Arc::clone(&config));
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let http2 = http2 && stream.get_ref().1.alpn_protocol() != Some(b"http/1.1");
                let service = service_fn(|request: http::Request<hyper::body::Incoming>| async {
                    let asked = format!("{:?} {}", request.version(), request.uri());
                    let host = request.headers().get("host").cloned();
                    let body = request.into_body().collect().await?.to_bytes();
                    let mut response = http::Response::new(Full::new(body));
                    response.headers_mut().insert("x-asked", asked.parse().unwrap());
                    host.map(|host| response.headers_mut().insert("x-host", host));
                    Ok::<_, hyper::Error>(response)
                });
                let io = TokioIo::new(stream);
                let _ = if http2 {
                    hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await
                } else {
                    hyper::server::conn::http1::Builder::new().serve_connection(io, service).await
                };
            });
        }
    });
    Tenant { origin, connections }
}

fn authority() -> (Authority, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Authority::open(folder.path(), &[]).unwrap(), folder)
}

fn request(origin: &Origin, path: &str, body: &'static [u8]) -> Request {
    let (mut head, ()) = http::Request::post(path).body(()).unwrap().into_parts();
    head.headers.insert("host", origin.authority.parse().unwrap());
    let target = Target::new(origin.scheme(), &*origin.authority, path);
    let body = MessageBody::from(Bytes::from_static(body));
    Request { target, head, body, on_informational: None, client: None, called: None }
}

async fn asked(live: &Live, origin: &Origin, path: &str) -> String {
    let response = live.answer(request(origin, path, b"hello")).await.unwrap().response;
    let asked = response.headers()["x-asked"].to_str().unwrap().to_owned();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "hello");
    asked
}

#[tokio::test]
async fn http2_is_spoken_where_the_handshake_settles_on_it_and_one_connection_serves_all() {
    let (authority, _folder) = authority();
    let tenant = tenant(authority.server_config("localhost").unwrap(), true).await;
    let access = Access { roots: Some(authority.certificate_path().unwrap()), ..Access::default() };
    let live = Arc::new(Live::new(tenant.origin.clone(), access, Limits::default()).unwrap());
    let first = asked(&live, &tenant.origin, "/a%2Fb|c?q=%2B").await;
    assert_eq!(first, format!("HTTP/2.0 {}/a%2Fb|c?q=%2B", tenant.origin));
    let many: Vec<_> = (0..20)
        .map(|_| {
            let (live, origin) = (Arc::clone(&live), tenant.origin.clone());
            tokio::spawn(async move { asked(&live, &origin, "/").await })
        })
        .collect();
    for one in many {
        assert!(one.await.unwrap().starts_with("HTTP/2.0"));
    }
    assert_eq!(tenant.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn another_protocol_is_requested_over_http1_even_of_an_upstream_that_speaks_http2() {
    let (authority, _folder) = authority();
    let tenant = tenant(authority.server_config("localhost").unwrap(), true).await;
    let access = Access { roots: Some(authority.certificate_path().unwrap()), ..Access::default() };
    let live = Live::new(tenant.origin.clone(), access, Limits::default()).unwrap();
    assert_eq!(asked(&live, &tenant.origin, "/1").await, format!("HTTP/2.0 {}/1", tenant.origin));
    let mut asking = request(&tenant.origin, "/2", b"");
    asking.head.headers.insert("connection", "upgrade".parse().unwrap());
    asking.head.headers.insert("upgrade", "websocket".parse().unwrap());
    let response = live.answer(asking).await.unwrap().response;
    assert_eq!(response.headers()["x-asked"], "HTTP/1.1 /2");
    response.into_body().collect().await.unwrap();
    assert!(asked(&live, &tenant.origin, "/3").await.starts_with("HTTP/2.0 "));
    assert_eq!(tenant.connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn http2_can_be_turned_off() {
    let (authority, _folder) = authority();
    let mut config = ServerConfig::clone(&authority.server_config("localhost").unwrap());
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let tenant = tenant(Arc::new(config), false).await;
    let access = Access { roots: Some(authority.certificate_path().unwrap()), http2: Http2::Off, ..Access::default() };
    let live = Live::new(tenant.origin.clone(), access, Limits::default()).unwrap();
    assert_eq!(asked(&live, &tenant.origin, "/x").await, "HTTP/1.1 /x");
}

#[tokio::test]
async fn a_self_signed_certificate_that_is_named_is_trusted_for_its_names_and_its_time_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("upstream.pem");
    let outcome = async |name: &str, until: i32, trusted: bool| {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        let own = params.self_signed(&key).unwrap();
        let other = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
        std::fs::write(&file, if trusted { own.pem() } else { other.pem() }).unwrap();
        let config = server_config(vec![own.der().clone()], key.serialize_der().try_into().unwrap()).unwrap();
        let tenant = tenant(Arc::new(config), true).await;
        let access = Access { roots: Some(file.clone()), ..Access::default() };
        let live = Live::new(tenant.origin.clone(), access, Limits::default()).unwrap();
        live.answer(request(&tenant.origin, "/", b""))
            .await
            .map(|answered| answered.response.status())
            .map_err(|f| f.kind)
    };
    assert_eq!(outcome("localhost", 4000, true).await, Ok(http::StatusCode::OK));
    for (name, until, trusted) in [("other.example", 4000, true), ("localhost", 2001, true), ("localhost", 4000, false)]
    {
        assert_eq!(outcome(name, until, trusted).await, Err(FailureKind::Unreachable), "{name} {until} {trusted}");
    }
}

#[tokio::test]
async fn an_upstream_that_wants_a_client_certificate_gets_it() {
    let (_authority, folder) = authority();
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["client".to_owned()]).unwrap().self_signed(&key).unwrap();
    let (chain_file, key_file) = (folder.path().join("client.pem"), folder.path().join("client-key.pem"));
    std::fs::write(&chain_file, certificate.pem()).unwrap();
    std::fs::write(&key_file, key.serialize_pem()).unwrap();

    let mut clients = rustls::RootCertStore::empty();
    clients.add(certificate.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(clients), provider.clone())
        .build()
        .unwrap();
    let server_key = rcgen::KeyPair::generate().unwrap();
    let server = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&server_key).unwrap();
    let server_file = folder.path().join("server.pem");
    std::fs::write(&server_file, server.pem()).unwrap();
    let server_key = rustls::pki_types::PrivateKeyDer::try_from(server_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![server.der().clone()], server_key.clone_key())
        .unwrap();
    assert!(server_config(vec![server.der().clone()], server_key).is_ok());
    let tenant = tenant(Arc::new(config), false).await;

    let access = Access { roots: Some(server_file), ..Access::default() };
    let anonymous = Live::new(tenant.origin.clone(), access.clone(), Limits::default()).unwrap();
    assert!(anonymous.answer(request(&tenant.origin, "/", b"")).await.is_err());
    let access = Access { identity: Some((chain_file, key_file)), ..access };
    let known = Live::new(tenant.origin.clone(), access, Limits::default()).unwrap();
    assert_eq!(asked(&known, &tenant.origin, "/known").await, "HTTP/1.1 /known");
}

/// A forward proxy that notes the head of each CONNECT and then passes bytes, or refuses.
async fn forward_proxy(refuse: bool) -> (Via, Arc<std::sync::Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let via = format!("http://me:p%40ss@{}", listener.local_addr().unwrap()).parse().unwrap();
    let heads = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = Arc::clone(&heads);
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(client.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            let target = head.split(' ').nth(1).unwrap().to_owned();
            noted.lock().unwrap().push(head);
            if refuse {
                client
                    .write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
                    .await
                    .unwrap();
                continue;
            }
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            let mut server = TcpStream::connect(target.replace("localhost", "127.0.0.1")).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
        }
    });
    (via, heads)
}

#[tokio::test]
async fn a_proxy_on_the_way_gets_a_connect_with_its_credentials() {
    let (authority, _folder) = authority();
    let tenant = tenant(authority.server_config("localhost").unwrap(), true).await;
    let (via, heads) = forward_proxy(false).await;
    let access = Access { roots: Some(authority.certificate_path().unwrap()), via: Some(via), ..Access::default() };
    let live = Live::new(tenant.origin.clone(), access, Limits::default()).unwrap();
    assert!(asked(&live, &tenant.origin, "/via").await.starts_with("HTTP/2.0"));
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 1);
    assert!(heads[0].starts_with(&format!("CONNECT localhost:{} HTTP/1.1\r\n", tenant.origin.port)), "{}", heads[0]);
    assert!(heads[0].contains("Proxy-Authorization: Basic bWU6cEBzcw==\r\n"), "{}", heads[0]);
}

#[tokio::test]
async fn a_proxy_that_refuses_the_tunnel_is_named_with_its_status() {
    let (authority, _folder) = authority();
    let tenant = tenant(authority.server_config("localhost").unwrap(), true).await;
    let (via, _) = forward_proxy(true).await;
    let said = format!("the proxy {via} refused the tunnel with 407");
    let access = Access { roots: Some(authority.certificate_path().unwrap()), via: Some(via), ..Access::default() };
    let live = Live::new(tenant.origin.clone(), access, Limits::default()).unwrap();
    let failure = live.answer(request(&tenant.origin, "/", b"")).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unreachable);
    let advice = "it does not accept the name and the password in --upstream-proxy";
    assert_eq!(failure.cause, format!("{said}; {advice}"));
}

/// A proxy that answers each connection with these bytes once it has read something, and closes.
async fn answering_proxy(answer: &'static [u8]) -> Via {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let via = format!("http://me:p%40ss@{}", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let _ = client.read(&mut [0; 1024]).await;
            let _ = client.write_all(answer).await;
        }
    });
    via
}

#[tokio::test]
async fn a_proxy_on_the_way_that_does_not_serve_is_named_and_what_to_do_and_never_the_tenant_or_a_password() {
    let (authority, _folder) = authority();
    let tenant = tenant(authority.server_config("localhost").unwrap(), true).await;
    let plain: Origin = "http://tenant.example".parse().unwrap();
    let nobody = Nobody::new();
    let closed: Via = format!("http://me:p%40ss@{}", nobody.address).parse().unwrap();
    let bad_gateway = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n";
    let alert = b"\x15\x03\x01\x00\x02\x02\x46";
    let direct = "--upstream-proxy names it; `--upstream-proxy none` connects directly";
    let refused = |via: &Via| format!("cannot reach the upstream proxy {via}: Connection refused (os error 111)");
    let cases = [
        (&tenant.origin, closed.clone(), refused(&closed)),
        (&plain, closed.clone(), refused(&closed)),
        (
            &tenant.origin,
            answering_proxy(bad_gateway).await,
            "the proxy 127.0.0.1:PORT refused the tunnel with 502".to_owned(),
        ),
        (
            &tenant.origin,
            answering_proxy(alert).await,
            "the proxy 127.0.0.1:PORT does not answer CONNECT with HTTP/1; is it an https or SOCKS proxy?".to_owned(),
        ),
        (
            &tenant.origin,
            answering_proxy(b"").await,
            "the proxy 127.0.0.1:PORT does not answer CONNECT with HTTP/1; is it an https or SOCKS proxy?".to_owned(),
        ),
        (
            &plain,
            answering_proxy(b"").await,
            "no answer from the upstream proxy 127.0.0.1:PORT: it closed the connection before it answered".to_owned(),
        ),
        (
            &plain,
            answering_proxy(alert).await,
            "no answer from the upstream proxy 127.0.0.1:PORT: invalid HTTP version parsed; its answer begins with \
             `\\u{15}\\u{3}\\u{1}\\u{0}\\u{2}\\u{2}F`"
                .to_owned(),
        ),
    ];
    for (origin, via, said) in cases {
        let access =
            Access { roots: Some(authority.certificate_path().unwrap()), via: Some(via.clone()), ..Access::default() };
        let live = Live::new(origin.clone(), access, Limits::default()).unwrap();
        let failure = live.answer(request(origin, "/", b"")).await.unwrap_err();
        let cause = &failure.cause;
        let end = if said.ends_with('?') { "" } else { ";" };
        assert_line(cause, &format!("{said}{end} {direct}").replace("127.0.0.1:PORT", &via.to_string()));
        assert!(!cause.contains("p@ss") && !cause.contains("p%40ss"), "{cause}");
        assert!(!cause.contains(&*origin.host), "{cause}");
    }
}

#[tokio::test]
async fn a_proxy_on_the_way_that_stays_silent_is_named_in_the_timeout() {
    let (authority, _folder) = authority();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let via: Via = listener.local_addr().unwrap().to_string().parse().unwrap();
    let short = std::time::Duration::from_millis(20);
    let limits = Limits { connect: short, silence: short, ..Limits::default() };
    for origin in ["https://localhost", "http://tenant.example"] {
        let origin: Origin = origin.parse().unwrap();
        let access =
            Access { roots: Some(authority.certificate_path().unwrap()), via: Some(via.clone()), ..Access::default() };
        let live = Live::new(origin.clone(), access, limits).unwrap();
        let failure = live.answer(request(&origin, "/", b"")).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert!(failure.cause.starts_with(&format!("the upstream proxy {via} ")), "{}", failure.cause);
    }
}

#[tokio::test]
async fn a_failed_handshake_behind_a_proxy_names_both() {
    let (authority, _folder) = authority();
    let tenant = tenant(authority.server_config("other.example").unwrap(), true).await;
    let (via, _) = forward_proxy(false).await;
    let said = format!("cannot reach {} through the proxy {via}: its certificate", tenant.origin);
    let access = Access { roots: Some(authority.certificate_path().unwrap()), via: Some(via), ..Access::default() };
    let live = Live::new(tenant.origin.clone(), access, Limits::default()).unwrap();
    let failure = live.answer(request(&tenant.origin, "/", b"")).await.unwrap_err();
    assert!(failure.cause.starts_with(&said), "{}", failure.cause);
}
