//! Every way in: plain and TLS, HTTP/1.1 and HTTP/2, reverse and forward, CONNECT.

use std::{
    fmt::Debug,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use contrail_proxy::{
    Committed, Completed, HostPort, Observer, Proxy, Settings,
    entry::{
        authority::Authority,
        forward::{Forward, Tunnel},
        listener::{self, ListenerKind},
        tls::Certificates,
    },
    upstream::{AnswerFuture, MessageBody, Request, Response, Upstream, own::OwnAddresses},
};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_rustls::{TlsConnector, rustls};

use crate::support::{golden::assert_line, tls::trusting};

const HOST: &str = "tenant.example";

/// An upstream that says what it was asked, sends the body back, and ends with a trailer.
#[derive(Debug)]
struct Echo;

impl Upstream for Echo {
    fn answer(&self, request: Request) -> AnswerFuture<'_> {
        Box::pin(async {
            let (target, head, body) = request.collect().await?;
            let frames = [
                Ok(http_body::Frame::data(body)),
                Ok(http_body::Frame::trailers(
                    [(http::HeaderName::from_static("x-trailer"), http::HeaderValue::from_static("t"))]
                        .into_iter()
                        .collect(),
                )),
            ];
            let stream = StreamBody::new(Frames(frames.into_iter().collect()));
            let mut response = Response::new(MessageBody::stream(stream));
            response.headers_mut().insert("x-asked", target.to_string().parse().unwrap());
            response.headers_mut().insert("trailer", http::HeaderValue::from_static("x-trailer"));
            response.headers_mut().insert("x-host", head.headers["host"].clone());
            Ok(response.into())
        })
    }
}

/// A ready-made stream of frames.
struct Frames(std::collections::VecDeque<Result<http_body::Frame<Bytes>, contrail_proxy::upstream::BodyError>>);

impl futures_core::Stream for Frames {
    type Item = Result<http_body::Frame<Bytes>, contrail_proxy::upstream::BodyError>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.pop_front())
    }
}

/// Remembers what it heard.
#[derive(Debug, Default)]
struct Heard {
    ended: Mutex<Vec<String>>,
    turned_away: Mutex<Vec<String>>,
}

impl Observer for Heard {
    fn on_completed(&self, ended: Completed) -> Committed {
        self.ended.lock().unwrap().push(ended.exchange.request.target.to_string());
        Committed::now()
    }

    fn on_rejected(&self, status: u16, reason: &str) {
        self.turned_away.lock().unwrap().push(format!("{status} {reason}"));
    }
}

struct Setup {
    heard: Arc<Heard>,
    authority: Arc<Authority>,
    own: OwnAddresses,
    plain: SocketAddr,
    tls: SocketAddr,
    forward: SocketAddr,
    _stop: watch::Sender<bool>,
    _folder: tempfile::TempDir,
}

struct Options {
    tunnel: Tunnel,
    credentials: Option<String>,
    header_timeout: Duration,
    scheme: &'static str,
    look_up: fn(&str, u16) -> std::io::Result<Vec<SocketAddr>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tunnel: Tunnel::Deny,
            credentials: None,
            header_timeout: Duration::from_secs(30),
            scheme: "https",
            look_up: |host, _| panic!("{host} is looked up"),
        }
    }
}

async fn setup(options: Options) -> Setup {
    let folder = tempfile::tempdir().unwrap();
    let heard = Arc::new(Heard::default());
    let authority = Arc::new(Authority::open(folder.path(), &[HOST.to_owned()]).unwrap());
    let port = if options.scheme == "https" { 443 } else { 80 };
    let settings = Settings { header_timeout: options.header_timeout, ..Settings::new(options.scheme, HOST) };
    let proxy = Proxy::new(settings.clone(), Arc::new(Echo), heard.clone()).unwrap();
    let unseen = Proxy::new(settings, Arc::new(Echo), Arc::new(Heard::default())).unwrap();
    let own = OwnAddresses::with_names(options.look_up);
    let forward = Arc::new(Forward {
        upstreams: vec![HostPort { host: HOST.into(), port }],
        intercepted: Vec::new(),
        authority: authority.clone(),
        any: None,
        tunnel: Some(options.tunnel),
        credentials: options.credentials,
        own: own.clone(),
        unseen,
        connect_timeout: Duration::from_secs(5),
    });
    let (stop, stopped) = watch::channel(false);
    let listeners = [
        ListenerKind::Plain(0),
        ListenerKind::Tls(Certificates::Authority(authority.clone()), 0),
        ListenerKind::Forward(forward),
    ];
    let mut addresses = Vec::new();
    for kind in listeners {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        addresses.push(listener.local_addr().unwrap());
        own.add(listener.local_addr().unwrap());
        tokio::spawn(listener::serve(proxy.clone(), listener, kind, stopped.clone()));
    }
    Setup {
        heard,
        authority,
        own,
        plain: addresses[0],
        tls: addresses[1],
        forward: addresses[2],
        _stop: stop,
        _folder: folder,
    }
}

trait Io: AsyncRead + AsyncWrite + Unpin + Send + Debug + 'static {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send + Debug + 'static> Io for T {}

async fn over_tls(
    setup: &Setup,
    io: impl Io,
    host: &'static str,
    alpn: &str,
) -> tokio_rustls::client::TlsStream<impl Io> {
    let config = trusting(setup.authority.certificate().clone(), alpn);
    let name = rustls::pki_types::ServerName::try_from(host).unwrap();
    let stream = TlsConnector::from(config).connect(name, io).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(alpn.as_bytes()));
    stream
}

/// Sends a megabyte and gives back: what the upstream was asked, the body's length, the trailer.
async fn ask(io: impl Io, http2: bool, uri: &str) -> (String, usize, String) {
    let body = Full::new(Bytes::from(vec![b'x'; 1 << 20]));
    let request = http::Request::post(uri).header("host", "liar.example").header("te", "trailers").body(body).unwrap();
    let response = if http2 {
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(io)).await.unwrap();
        tokio::spawn(connection);
        let mut request = request;
        request.headers_mut().remove("host");
        sender.send_request(request).await.unwrap()
    } else {
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(io)).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    };
    assert_eq!(response.status(), 200, "{:?}", response.headers());
    assert_eq!(response.headers()["x-host"], HOST);
    let asked = response.headers()["x-asked"].to_str().unwrap().to_owned();
    let whole = response.into_body().collect().await.unwrap();
    let trailer =
        whole.trailers().and_then(|trailers| trailers.get("x-trailer")).map(|value| value.to_str().unwrap().to_owned());
    (asked, whole.to_bytes().len(), trailer.unwrap_or_default())
}

fn expected(path: &str) -> (String, usize, String) {
    (format!("https://{HOST}{path}"), 1 << 20, "t".into())
}

async fn raw(address: SocketAddr, request: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let head = head(&mut stream).await;
    (stream, head)
}

async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.unwrap() > 0 {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test]
async fn http1_and_http2_pass_plain_and_over_tls_with_large_bodies_and_trailers() {
    let setup = setup(Options::default()).await;
    for http2 in [false, true] {
        let plain = TcpStream::connect(setup.plain).await.unwrap();
        let uri = if http2 { "http://liar.example/a%2Fb?q=%2B" } else { "/a%2Fb?q=%2B" };
        assert_eq!(ask(plain, http2, uri).await, expected("/a%2Fb?q=%2B"));

        let tcp = TcpStream::connect(setup.tls).await.unwrap();
        let tls = over_tls(&setup, tcp, "localhost", if http2 { "h2" } else { "http/1.1" }).await;
        assert_eq!(ask(tls, http2, uri).await, expected("/a%2Fb?q=%2B"));
    }
    assert_eq!(setup.heard.ended.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_connect_to_the_upstream_is_opened_whatever_is_spoken_inside() {
    let setup = setup(Options::default()).await;
    for connect in [
        "CONNECT tenant.example:443 HTTP/1.1\r\nHost: tenant.example:443\r\n\r\n",
        "CONNECT tenant.example:443 HTTP/1.0\r\n\r\n",
        "CONNECT TENANT.example.:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nProxy-Connection: keep-alive\r\n\r\n",
    ] {
        let (tunnel, head) = raw(setup.forward, connect).await;
        assert!(head.starts_with("HTTP/1.1 200") || head.starts_with("HTTP/1.0 200"), "{head}");
        let tls = over_tls(&setup, tunnel, HOST, "http/1.1").await;
        assert_eq!(ask(tls, false, "/in/tls").await, expected("/in/tls"));
    }
    let connect = "CONNECT tenant.example:443 HTTP/1.1\r\nHost: tenant.example:443\r\n\r\n";
    let (tunnel, _) = raw(setup.forward, connect).await;
    let tls = over_tls(&setup, tunnel, HOST, "h2").await;
    assert_eq!(ask(tls, true, "https://liar.example/in/h2").await, expected("/in/h2"));
    let (tunnel, _) = raw(setup.forward, connect).await;
    assert_eq!(ask(tunnel, false, "/in/plain").await, expected("/in/plain"));
    assert_eq!(setup.heard.ended.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn the_absolute_form_reaches_the_upstream_over_its_own_scheme() {
    let setup = setup(Options { scheme: "http", ..Options::default() }).await;
    let tcp = TcpStream::connect(setup.forward).await.unwrap();
    let (asked, ..) = ask(tcp, false, "http://tenant.example/a|b?c").await;
    assert_eq!(asked, "http://tenant.example/a|b?c");
    let tls = setup_https_absolute().await;
    assert_eq!(tls, "https://tenant.example/secure");
}

async fn setup_https_absolute() -> String {
    let setup = setup(Options::default()).await;
    let tcp = TcpStream::connect(setup.forward).await.unwrap();
    ask(tcp, false, "https://tenant.example/secure").await.0
}

#[tokio::test]
async fn other_targets_are_denied_and_neither_recorded_nor_reached() {
    let setup = setup(Options::default()).await;
    let outside = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let other = outside.local_addr().unwrap();
    for request in [
        format!("CONNECT {other} HTTP/1.1\r\nHost: {other}\r\n\r\n"),
        format!("GET http://{other}/ HTTP/1.1\r\nHost: {other}\r\n\r\n"),
        "CONNECT nobody.invalid:443 HTTP/1.1\r\nHost: nobody.invalid:443\r\n\r\n".to_owned(),
        "CONNECT tenant.example:80 HTTP/1.1\r\nHost: tenant.example:80\r\n\r\n".to_owned(),
    ] {
        let (_, head) = raw(setup.forward, &request).await;
        assert!(head.starts_with("HTTP/1.1 403"), "{request}{head}");
        assert_line(&head, "contrail-answer: tunnel-denied");
    }
    assert!(setup.heard.ended.lock().unwrap().is_empty());
    assert!(tokio::time::timeout(Duration::from_millis(50), outside.accept()).await.is_err());
}

#[tokio::test]
async fn what_is_denied_is_denied_by_its_name_and_only_an_allowed_target_is_looked_up() {
    let denied = "GET http://elsewhere.example/ HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n";
    let tunnel = "CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example:443\r\n\r\n";
    let deny = setup(Options::default()).await;
    for request in [denied, tunnel] {
        let (_, head) = raw(deny.forward, request).await;
        assert_line(&head, "contrail-answer: tunnel-denied");
        assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    }
    let unknown = |_: &str, _| Err(std::io::Error::other("the nameserver was asked"));
    let allow = setup(Options { tunnel: Tunnel::Allow, look_up: unknown, ..Options::default() }).await;
    let (mut stream, head) = raw(allow.forward, tunnel).await;
    let mut body = String::new();
    stream.read_to_string(&mut body).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 502"), "{head}");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&body).unwrap().to_string(),
        r#"{"type":"urn:contrail:upstream","title":"Bad Gateway","status":502,"detail":"cannot resolve elsewhere.example:443: the nameserver was asked"}"#
    );
}

#[tokio::test]
async fn a_malformed_target_is_the_clients_fault() {
    let setup = setup(Options::default()).await;
    for target in [
        "tenant.example",
        "tenant.example:",
        "tenant.example:99999",
        "user@tenant.example:443",
        "tenant.example..:443",
        "[tenant.example]:443",
        "https://tenant.example:443/",
        "https://tenant.example:443",
        ":443",
        "::1:443",
        "a%2eb:443",
        "a:443?x",
        "a:443/",
    ] {
        let (_, head) = raw(setup.forward, &format!("CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
        assert!(head.contains("contrail-answer: bad-"), "{}", head);
        assert!(head.starts_with("HTTP/1.1 400"), "{target}: {head}");
    }
    let (_, head) = raw(setup.forward, "GET /origin/form HTTP/1.1\r\nHost: tenant.example\r\n\r\n").await;
    assert_line(&head, "contrail-answer: no-absolute-form");
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
}

#[tokio::test]
async fn an_allowed_tunnel_passes_bytes_unseen_but_never_to_contrail_itself() {
    let setup = setup(Options { tunnel: Tunnel::Allow, ..Options::default() }).await;
    let outside = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let other = outside.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = outside.accept().await.unwrap();
        let mut bytes = [0; 4];
        stream.read_exact(&mut bytes).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
    });
    let (mut tunnel, head) = raw(setup.forward, &format!("CONNECT {other} HTTP/1.1\r\nHost: {other}\r\n\r\n")).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    tunnel.write_all(b"\x16abc").await.unwrap();
    let mut back = [0; 4];
    tunnel.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"\x16abc");

    for address in [setup.plain, setup.tls, setup.forward] {
        assert!(setup.own.contains(address));
        for host in
            ["127.0.0.1", "localhost", "127.1", "2130706433", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "LOCALHOST."]
        {
            let target = format!("{host}:{}", address.port());
            let (_, head) = raw(setup.forward, &format!("CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
            assert_line(&head, "contrail-answer: own-address");
            assert!(head.starts_with("HTTP/1.1 403"), "{target}: {head}");
            let (_, head) = raw(setup.forward, &format!("GET http://{target}/ HTTP/1.1\r\nHost: x\r\n\r\n")).await;
            assert_line(&head, "contrail-answer: own-address");
            assert!(head.starts_with("HTTP/1.1 403"), "{target}: {head}");
        }
    }
    assert!(setup.heard.ended.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_forward_listener_with_credentials_wants_to_see_them() {
    let setup = setup(Options { credentials: Some("user:pässword".into()), ..Options::default() }).await;
    let connect = |auth: &str| format!("CONNECT tenant.example:443 HTTP/1.1\r\nHost: x\r\n{auth}\r\n");
    for auth in [
        "",
        "Proxy-Authorization: Basic bm9ib2R5Om5vdGhpbmc=\r\n",
        "Proxy-Authorization: Bearer x\r\n",
        "Proxy-Authorization: Basic ???\r\n",
    ] {
        let (_, head) = raw(setup.forward, &connect(auth)).await;
        assert_line(&head, "proxy-authenticate: Basic realm=\"contrail\", charset=\"UTF-8\"");
        assert!(head.starts_with("HTTP/1.1 407"), "{auth}{head}");
    }
    let (_, head) = raw(setup.forward, &connect("Proxy-Authorization: basic dXNlcjpww6Rzc3dvcmQ=\r\n")).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

#[tokio::test]
async fn a_client_whose_alpn_names_nothing_that_is_spoken_here_gets_http_1() {
    let setup = setup(Options::default()).await;
    for offered in [&["http/1.0"][..], &["acme", "h3"], &[]] {
        let mut config = (*trusting(setup.authority.certificate().clone(), "")).clone();
        config.alpn_protocols = offered.iter().map(|name| name.as_bytes().to_vec()).collect();
        let connect = "CONNECT tenant.example:443 HTTP/1.1\r\nHost: x\r\n\r\n";
        let ways = [TcpStream::connect(setup.tls).await.unwrap(), raw(setup.forward, connect).await.0];
        for io in ways {
            let name = rustls::pki_types::ServerName::try_from(HOST).unwrap();
            let stream = TlsConnector::from(Arc::new(config.clone())).connect(name, io).await.unwrap();
            assert_eq!(stream.get_ref().1.alpn_protocol(), None);
            assert_eq!(ask(stream, false, "/old").await, expected("/old"));
        }
    }
}

#[tokio::test]
async fn silence_before_a_handshake_and_after_a_connect_ends_the_connection() {
    let setup = setup(Options { header_timeout: Duration::from_millis(100), ..Options::default() }).await;
    let (mut tunnel, head) = raw(setup.forward, "CONNECT tenant.example:443 HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(tunnel.read(&mut [0]).await.unwrap_or(0), 0);
    let mut tls = TcpStream::connect(setup.tls).await.unwrap();
    tls.write_all(&[0x16, 3, 1]).await.unwrap();
    assert_eq!(tls.read(&mut [0]).await.unwrap_or(0), 0);
    let mut plain = TcpStream::connect(setup.plain).await.unwrap();
    plain.write_all(b"PRI * HTT").await.unwrap();
    let mut rest = Vec::new();
    let _ = plain.read_to_end(&mut rest).await;
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn what_is_inside_a_connect_outlives_the_time_for_a_head() {
    let setup = setup(Options { header_timeout: Duration::from_millis(100), ..Options::default() }).await;
    let (mut tunnel, _) = raw(setup.forward, "CONNECT tenant.example:443 HTTP/1.1\r\nHost: x\r\n\r\n").await;
    for _ in 0..2 {
        tunnel.write_all(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        assert!(head(&mut tunnel).await.starts_with("HTTP/1.1 200"));
        assert!(head(&mut tunnel).await.starts_with("0\r\n"), "an empty body");
        // A connection that says nothing is ended after the time for a head; this one goes on.
        let mut silent = TcpStream::connect(setup.plain).await.unwrap();
        assert_eq!(silent.read(&mut [0]).await.unwrap_or(0), 0);
    }
}

#[tokio::test]
async fn a_refused_connect_ends_its_connection_and_what_follows_it_is_no_request() {
    let setup = setup(Options { credentials: Some("user:password".into()), ..Options::default() }).await;
    let proof = "Proxy-Authorization: Basic dXNlcjpwYXNzd29yZA==\r\n";
    for (target, proof, status) in
        [("other.example:443", proof, 403), ("tenant.example:443", "", 407), ("x", proof, 400)]
    {
        let follows = format!("GET http://tenant.example/x HTTP/1.1\r\nHost: a\r\nHost: b\r\n{proof}\r\n");
        let sent = format!("CONNECT {target} HTTP/1.1\r\nHost: x\r\n{proof}\r\n{follows}");
        let (mut stream, head) = raw(setup.forward, &sent).await;
        assert_line(&head, "connection: close");
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(!String::from_utf8_lossy(&rest).contains("HTTP/1.1 "), "{target}");
    }
    assert!(setup.heard.ended.lock().unwrap().is_empty());
}
