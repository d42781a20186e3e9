//! A proxy between raw sockets: what a test says byte by byte, and what the proxy makes of it.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use contrail_exchange::Exchange;
use contrail_proxy::{
    Committed, Completed, HoldPolicy, Observer, Proxy, Settings,
    entry::listener,
    upstream::{Origin, Problem, live},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
};

/// Longest time that anything in a test may take.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What the observer heard, and what releases its end.
type Heard = (Completed, Option<oneshot::Sender<Result<(), Problem>>>);

/// An observer that hands out what it sees, and releases ends on request.
#[derive(Debug)]
pub struct Seen {
    ended: mpsc::UnboundedSender<Heard>,
    hold_ends: bool,
    pub holds: HoldPolicy,
    pub refuse: Mutex<Option<Problem>>,
    /// Admission of requests with a body waits for it.
    admit: Option<Mutex<std::sync::mpsc::Receiver<()>>>,
    pub turned_away: Mutex<Vec<(u16, String)>>,
}

impl Observer for Seen {
    fn holds(&self) -> HoldPolicy {
        self.holds
    }

    fn is_slow_to_admit(&self, exchange: &Exchange) -> bool {
        self.admit.is_some() && !exchange.request.body.content.is_empty()
    }

    fn admit_request(&self, exchange: &mut Exchange) -> Result<(), Problem> {
        assert!(exchange.response.is_none());
        if let Some(admit) = self.admit.as_ref().filter(|_| self.is_slow_to_admit(exchange)) {
            admit.lock().unwrap().recv_timeout(PATIENCE).expect("nobody lets it go on");
        }
        let _ = exchange.request.body.document();
        self.refuse.lock().unwrap().clone().map_or(Ok(()), Err)
    }

    fn on_completed(&self, ended: Completed) -> Committed {
        let refused = self.refuse.lock().unwrap().clone().filter(|_| ended.held);
        if let Some(refused) = refused {
            assert!(ended.exchange.response.is_some());
            let _ = self.ended.send((ended, None));
            return Committed::refused(Problem { status: http::StatusCode::BAD_GATEWAY, ..refused });
        }
        if !self.hold_ends {
            let _ = self.ended.send((ended, None));
            return Committed::now();
        }
        let (release, released) = oneshot::channel();
        let _ = self.ended.send((ended, Some(release)));
        Committed::when(released)
    }

    fn on_rejected(&self, status: u16, reason: &str) {
        self.turned_away.lock().unwrap().push((status, reason.to_owned()));
    }
}

/// How a harness differs from the plain one.
pub struct Setup {
    pub settings: Box<dyn FnOnce(&mut Settings)>,
    pub limits: live::Limits,
    pub hold_ends: bool,
    pub holds: HoldPolicy,
    pub refuse: Option<Problem>,
    pub admit: Option<std::sync::mpsc::Receiver<()>>,
    pub https: Option<std::path::PathBuf>,
    pub http2: live::Http2,
    /// The upstream stands for a proxy on the way to itself.
    pub via: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            settings: Box::new(|_| {}),
            limits: live::Limits::default(),
            hold_ends: false,
            holds: HoldPolicy::default(),
            refuse: None,
            admit: None,
            https: None,
            http2: live::Http2::default(),
            via: false,
        }
    }
}

/// A proxy with a raw upstream behind it.
pub struct Harness {
    pub address: SocketAddr,
    pub upstream: TcpListener,
    pub seen: Arc<Seen>,
    ended: mpsc::UnboundedReceiver<Heard>,
    stop: watch::Sender<bool>,
    pub server: JoinHandle<()>,
}

impl Harness {
    pub async fn new() -> Self {
        Self::with(Setup::default()).await
    }

    pub async fn with(setup: Setup) -> Self {
        let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = upstream.local_addr().unwrap().port();
        let scheme = if setup.https.is_some() { "https" } else { "http" };
        let origin: Origin = format!("{scheme}://127.0.0.1:{port}").parse().unwrap();
        let via = setup.via.then(|| format!("http://me:hunter2@127.0.0.1:{port}").parse().unwrap());
        let access = live::Access { roots: setup.https, http2: setup.http2, via, ..live::Access::default() };
        let live = live::Live::new(origin.clone(), access, setup.limits).unwrap();
        let (sender, ended) = mpsc::unbounded_channel();
        let seen = Arc::new(Seen {
            ended: sender,
            hold_ends: setup.hold_ends,
            holds: setup.holds,
            refuse: Mutex::new(setup.refuse),
            admit: setup.admit.map(Mutex::new),
            turned_away: Mutex::default(),
        });
        let mut settings = Settings::new(origin.scheme(), &*origin.authority);
        settings.tenant = contrail_contract::Contract::built_in();
        (setup.settings)(&mut settings);
        let proxy = Proxy::new(settings, Arc::new(live), Arc::clone(&seen) as _).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopping) = watch::channel(false);
        let server = tokio::spawn(listener::serve(proxy, listener, listener::ListenerKind::Plain(0), stopping));
        Self { address, upstream, seen, ended, stop, server }
    }

    pub async fn client(&self) -> Wire {
        Wire(TcpStream::connect(self.address).await.unwrap())
    }

    /// The connection that the proxy opens next.
    pub async fn accept(&self) -> Wire {
        Wire(within(self.upstream.accept()).await.unwrap().0)
    }

    /// The next exchange that is over.
    pub async fn ended(&mut self) -> Completed {
        within(self.ended.recv()).await.unwrap().0
    }

    /// The next exchange that is over, and what releases its end.
    pub async fn held(&mut self) -> (Completed, oneshot::Sender<Result<(), Problem>>) {
        let (ended, release) = within(self.ended.recv()).await.unwrap();
        (ended, release.unwrap())
    }

    pub fn nothing_ended(&mut self) -> bool {
        self.ended.try_recv().is_err()
    }

    pub fn stop(&self) {
        self.stop.send(true).unwrap();
    }

    /// One exchange on fresh connections: what the upstream got, what the client got, and the exchange.
    pub async fn exchange(&mut self, request: &str, response: &str) -> (String, String, Completed) {
        let mut client = self.client().await;
        client.send(request).await;
        let mut tenant = self.accept().await;
        let got = tenant.message().await;
        tenant.send(response).await;
        drop(tenant);
        let answer = client.message().await;
        (got, answer, self.ended().await)
    }
}

pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it takes too long")
}

/// A connection on which tests read and write text.
pub struct Wire<IO = TcpStream>(pub IO);

impl<IO: AsyncRead + AsyncWrite + Unpin> Wire<IO> {
    pub async fn send(&mut self, text: &str) {
        within(self.0.write_all(text.as_bytes())).await.unwrap();
    }

    /// Reads until the text ends with `end`.
    pub async fn until(&mut self, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            let mut byte = [0];
            let read = within(self.0.read(&mut byte)).await;
            assert_eq!(read.ok(), Some(1), "the peer closed after: {}", String::from_utf8_lossy(&text));
            text.push(byte[0]);
        }
        String::from_utf8(text).unwrap()
    }

    /// Reads a message: its head, and the body that Content-Length or chunks announce.
    pub async fn message(&mut self) -> String {
        let head = self.until("\r\n\r\n").await;
        let lower = head.to_ascii_lowercase();
        if lower.contains("transfer-encoding: chunked") {
            let body = if lower.contains("\r\ntrailer:") {
                self.until("\r\n\r\n").await
            } else {
                self.until("0\r\n\r\n").await
            };
            return head + &body;
        }
        let length = lower.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next()).unwrap_or("0");
        let mut body = vec![0; length.parse().unwrap()];
        within(self.0.read_exact(&mut body)).await.unwrap();
        head + std::str::from_utf8(&body).unwrap()
    }

    /// Reads to the end of the connection, however it ends.
    pub async fn rest(&mut self) -> String {
        let mut text = Vec::new();
        let _ = within(self.0.read_to_end(&mut text)).await;
        String::from_utf8(text).unwrap()
    }
}

impl Wire {
    /// Whether nothing can be read now.
    pub async fn is_silent(&mut self) -> bool {
        // One turn of the event loop is enough for what the proxy (on the same thread) would have sent already.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        let mut byte = [0];
        matches!(self.0.try_read(&mut byte), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    }
}

/// The detail of a problem that contrail answers with.
pub fn detail(answer: &str) -> String {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let problem: serde_json::Value = serde_json::from_str(body).unwrap();
    problem["detail"].as_str().unwrap().to_owned()
}

/// The status line's number.
pub fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}
