//! The sandbox tenant behind a real socket, with a clock that the test sets, and a client that sends exact bytes.

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, SystemTime},
};

use contrail_exchange::{Body, Exchange, Headers, Request, Response, Target, Timings, Transport, token};
use contrail_sandbox::{self as sandbox, Misbehaviour, Seed, Tenant};
use serde_json::{Value, json};

/// The instant that a [`Live`] tenant starts at, in seconds since the epoch.
pub const START: u64 = 1_800_000_000;

/// A tenant that serves until it is dropped.
pub struct Live {
    /// Where it listens.
    pub address: SocketAddr,
    secrets: HashMap<String, String>,
    tokens: Mutex<HashMap<String, String>>,
    clock: Arc<AtomicU64>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// One request with what came back.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The method.
    pub method: String,
    /// Raw path and query.
    pub target: String,
    /// What was sent.
    pub sent: (Headers, String),
    /// The status.
    pub status: u16,
    /// Header fields of the answer.
    pub headers: Headers,
    /// Body of the answer, as far as it came.
    pub body: Vec<u8>,
    /// Whether all of the announced body came.
    pub whole: bool,
    /// The tenant's instant of the exchange.
    pub at: SystemTime,
}

impl Seen {
    /// The body, as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// As the proxy would have captured it.
    pub fn exchange(&self) -> Exchange {
        let credential = token::decode(&self.sent.0, Some(self.at), Duration::ZERO, None);
        Exchange {
            request: Request {
                method: self.method.parse().unwrap(),
                target: Target::new("https", "tenant.example", self.target.as_str()),
                version: http::Version::HTTP_11,
                headers: self.sent.0.clone(),
                body: Body::whole(self.sent.1.clone()),
                credential,
            },
            response: Some(Response {
                status: self.status,
                version: http::Version::HTTP_11,
                headers: self.headers.clone(),
                body: Body::whole(self.body.clone()),
            }),
            started: Some(self.at),
            timings: Timings::default(),
            transport: Transport {
                incomplete: (!self.whole).then(|| "the connection was closed early".to_owned()),
                ..Transport::default()
            },
        }
    }
}

impl Live {
    /// With the built-in data and these misbehaviours.
    pub fn start(misbehaviours: &[&str]) -> Self {
        Self::with_seed(Seed::built_in().unwrap(), misbehaviours)
    }

    /// With this data.
    pub fn with_seed(seed: Seed, misbehaviours: &[&str]) -> Self {
        let misbehaviours: Vec<Misbehaviour> = misbehaviours.iter().map(|text| text.parse().unwrap()).collect();
        let clock = Arc::new(AtomicU64::new(START));
        let read = Arc::clone(&clock);
        let now = move || SystemTime::UNIX_EPOCH + Duration::from_secs(read.load(Ordering::SeqCst));
        let tenant = Arc::new(Tenant::new(seed, &misbehaviours).unwrap().with_clock(Arc::new(now)));
        let secrets =
            tenant.clients().iter().map(|client| (client.id.clone(), client.secret.clone().unwrap())).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || {
            let stopped = async {
                let _ = stopped.await;
            };
            runtime.block_on(sandbox::serve(listener, tenant, stopped)).unwrap();
        });
        Self { address, secrets, tokens: Mutex::default(), clock, stop: Some(stop), thread: Some(thread) }
    }

    /// Moves the tenant's clock.
    pub fn pass(&self, seconds: u64) {
        self.clock.fetch_add(seconds, Ordering::SeqCst);
    }

    /// The secret of a client.
    pub fn secret(&self, client: &str) -> &str {
        &self.secrets[client]
    }

    /// Asks for a token, as a form, at the documented path.
    pub fn ask_token(&self, client: &str) -> Seen {
        let secret = self.secret(client);
        let body =
            format!("grant_type=client_credentials&client_id={client}&client_secret={secret}&audience=%2Fapi%2Fv2%2F");
        self.send("POST", "/oauth/token/", &[("content-type", "application/x-www-form-urlencoded")], &body)
    }

    /// A token of a client; asked for once.
    pub fn token(&self, client: &str) -> String {
        let mut tokens = self.tokens.lock().unwrap();
        let fresh = || self.ask_token(client).json()["access_token"].as_str().unwrap().to_owned();
        tokens.entry(client.to_owned()).or_insert_with(fresh).clone()
    }

    /// Sends a request below `/api/v2` with the token of a client and, if there is a body, as JSON.
    pub fn call_as(&self, client: &str, method: &str, path: &str, body: &str) -> Seen {
        let bearer = format!("Bearer {}", self.token(client));
        let mut headers = vec![("authorization", bearer.as_str())];
        if !body.is_empty() {
            headers.push(("content-type", "application/json"));
        }
        self.send(method, &format!("/api/v2{path}"), &headers, body)
    }

    /// The same as the client that may do everything.
    pub fn call(&self, method: &str, path: &str, body: &str) -> Seen {
        self.call_as("sandbox-full", method, path, body)
    }

    /// Sends a request on a connection of its own.
    pub fn send(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Seen {
        let mut text = format!("{method} {target} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        for (name, value) in headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        if !body.is_empty() || method == "POST" {
            let _ = write!(text, "content-length: {}\r\n", body.len());
        }
        text.push_str("\r\n");
        text.push_str(body);
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(self.clock.load(Ordering::SeqCst));
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut raw = Vec::new();
        // A connection that breaks in the middle may end with a reset.
        let _ = stream.read_to_end(&mut raw);
        let (status, received, body_start) = head(&raw);
        let announced: usize =
            received.get_str("content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
        let come = raw[body_start..].to_vec();
        assert!(come.len() <= announced, "more came than was announced");
        Seen {
            method: method.to_owned(),
            target: target.to_owned(),
            sent: (
                headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect(),
                body.to_owned(),
            ),
            status,
            headers: received,
            whole: come.len() == announced,
            body: come,
            at,
        }
    }
}

/// Status, header fields, and where the body starts.
fn head(raw: &[u8]) -> (u16, Headers, usize) {
    let end = raw.windows(4).position(|four| four == b"\r\n\r\n").expect("a response head came");
    let text = std::str::from_utf8(&raw[..end]).unwrap();
    let mut lines = text.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let fields = lines.map(|line| {
        let (name, value) = line.split_once(':').unwrap();
        (name.parse().unwrap(), value.trim().parse().unwrap())
    });
    (status, fields.collect(), end + 4)
}

impl Drop for Live {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the tenant panicked");
        }
    }
}

/// A presentation that asks for one attribute.
pub fn presentation(attribute: &str, asked: bool) -> Value {
    json!({"org.iso.18013.5.1.mDL": {"org.iso.18013.5.1": {attribute: asked}}})
}
