//! The proxy: listeners, limits, hop-by-hop headers, the capture of an exchange. It sees neither contracts nor files.
//!
//! A connection is anything that reads and writes ([`entry::listener::serve_connection`]); a request on it is forwarded by
//! [`reverse`], whatever kind of listener it came through. What went by is handed to an [`Observer`] as an
//! [`Exchange`], and the *end* of the response waits until the observer has written it down: what a client has whole,
//! the journal has. Everything before the end streams; where the upstream's head and end came in one, they leave in one
//! write, and nothing is waited for but the write of the journal in the same turn of the event loop.

pub mod entry;
pub mod transfer;
pub mod wire;

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, OnceLock, atomic::AtomicUsize},
    task::{Context, Poll, ready},
    time::Duration,
};

use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use self::{entry::workers::Workers, transfer::audience::Audience};
use crate::{
    exchange::{Exchange, Request},
    upstream::{Denied, Failure, FailureKind, Notes, Problem, Upstream, own::OwnAddresses},
};

/// Bounds and addresses of a proxy. Sizes in bytes.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The upstream's scheme: `http` or `https`.
    pub scheme: Arc<str>,
    /// The upstream's host and, unless it is the scheme's own, port; the Host header that it gets.
    pub authority: Arc<str>,
    /// Most bytes of a request body; 413 beyond.
    pub max_body: u64,
    /// Most bytes of each body that are kept for judging and recording.
    pub max_capture: usize,
    /// Most bytes of all bodies in progress that are kept at a time, beyond 64 KiB of each.
    pub max_captured: usize,
    /// Most connections at a time; 503 beyond.
    pub max_connections: usize,
    /// Most header fields of a request; 431 beyond.
    pub max_headers: usize,
    /// Most bytes of a request head; 431 beyond.
    pub max_header_bytes: usize,
    /// Longest request target, in bytes; 414 beyond.
    pub max_target: usize,
    /// Longest time for a request head to arrive, from its first byte (or the connection's begin).
    pub header_timeout: Duration,
    /// Longest silence in the middle of a request body.
    pub body_timeout: Duration,
    /// Fewest bytes of a request body per second, on the average beyond the first `body_timeout`; 0 for any.
    pub body_rate: u64,
    /// Longest time in which a client takes no byte of an answer that is there.
    pub write_timeout: Duration,
    /// How long a connection may be idle between requests.
    pub keep_alive: Duration,
    /// Longest silence, both ways, of a tunnel or of a connection whose protocol was switched.
    pub tunnel_timeout: Duration,
    /// Most HTTP/2 streams of one connection at a time.
    pub max_streams: u32,
    /// Most requests that are with the upstream at a time, each on a connection of its own over HTTP/1.
    pub max_upstream: usize,
    /// How long another one waits for its turn; 503 beyond.
    pub turn: Duration,
    /// What happens to the `audience` of a token request.
    pub audience: Audience,
    /// contrail's own listeners.
    pub own: OwnAddresses,
    /// Who serves the connections.
    pub workers: Workers,
    /// How long exchanges in progress may go on after a shutdown was asked for.
    pub drain: Duration,
}

impl Settings {
    /// The defaults, for this upstream.
    pub fn new(scheme: impl Into<Arc<str>>, authority: impl Into<Arc<str>>) -> Self {
        Self {
            scheme: scheme.into(),
            authority: authority.into(),
            max_body: 64 << 20,
            max_capture: 4 << 20,
            max_captured: 256 << 20,
            max_connections: 1024,
            max_headers: 100,
            max_header_bytes: 64 << 10,
            max_target: 16 << 10,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_mins(1),
            body_rate: 500,
            write_timeout: Duration::from_mins(1),
            keep_alive: Duration::from_secs(75),
            tunnel_timeout: Duration::from_mins(10),
            max_streams: 128,
            max_upstream: 1024,
            turn: Duration::from_secs(10),
            audience: Audience::default(),
            own: OwnAddresses::default(),
            workers: Workers::default(),
            drain: Duration::from_secs(10),
        }
    }
}

/// An exchange that is over, as the observer gets it.
#[derive(Debug)]
pub struct Ended {
    /// The exchange; bodies as they were on the wire, content coding included, the credential not yet read.
    pub exchange: Box<Exchange>,
    /// What the upstream said about its answer.
    pub notes: Notes,
    /// How long it took, from the request's head to the end.
    pub took: Duration,
    /// Its response is held until the observer has judged it ([`Holds::responses`]): it goes out only if [`Written`] is no
    /// error.
    pub held: bool,
    /// No other exchange was in progress when it ended: nothing is gained by waiting for one that ends beside it.
    pub alone: bool,
}

/// Which messages are held until the observer admits them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holds {
    /// Requests, before the upstream sees anything of them.
    pub requests: bool,
    /// Responses, before the client sees anything of them.
    pub responses: bool,
    /// Heads of responses, until the first piece of a body of known length: an answer whose exchange cannot be recorded
    /// can then be replaced, and not only cut.
    pub heads: bool,
}

impl Holds {
    /// Whether any message is judged before it passes.
    #[must_use]
    pub const fn judge(self) -> bool {
        self.requests || self.responses
    }
}

/// Whoever listens to what the proxy sees. None of its methods may block.
pub trait Observer: Send + Sync + fmt::Debug {
    /// Which messages it wants to admit first; asked once per exchange.
    fn holds(&self) -> Holds {
        Holds::default()
    }

    /// Why this request is not taken at present, if so; what the client gets. The refusal is an exchange of its own.
    fn refuses(&self, _request: &Request) -> Option<Problem> {
        None
    }

    /// Whether a request (an exchange without a response) may go to the upstream. Its body's coding may be undone, and its
    /// credential be read.
    ///
    /// # Errors
    ///
    /// The answer that the client gets instead.
    fn admit_request(&self, _exchange: &mut Exchange) -> Result<(), Problem> {
        Ok(())
    }

    /// Takes an exchange that is over. The end of its response waits for the future.
    fn ended(&self, ended: Ended) -> Written;

    /// Hears of the header fields of an interim answer (1xx) that is passed on. They are recorded nowhere, but what they hold
    /// may come again.
    fn informed(&self, _headers: &HeaderMap) {}

    /// Hears of a request that was turned away before it could become an exchange. The reason holds nothing of it.
    fn turned_away(&self, _status: u16, _reason: &str) {}

    /// Hears of a request that was turned away because of the host that it asked for.
    fn denied(&self, denied: &Denied) {
        self.turned_away(denied.status, denied.reason);
    }
}

/// Resolves when an exchange is recorded (or could not be, and that has been said): then its response may end. An error
/// is what the client gets in its place, or, where the response has begun, why it is cut: it could not be recorded, or was
/// [held](Ended::held) and does not pass.
#[derive(Debug)]
pub struct Written(State);

#[derive(Debug)]
enum State {
    Known(Result<(), Box<Problem>>),
    Waiting(oneshot::Receiver<Result<(), Problem>>),
}

impl Written {
    /// Already done, or nothing to write.
    #[must_use]
    pub const fn now() -> Self {
        Self(State::Known(Ok(())))
    }

    /// It will not be recorded, so its response may not end.
    #[must_use]
    pub fn refused(problem: Problem) -> Self {
        Self(State::Known(Err(Box::new(problem))))
    }

    /// As the sender says. One that is gone recorded nothing.
    #[must_use]
    pub const fn when(receiver: oneshot::Receiver<Result<(), Problem>>) -> Self {
        Self(State::Waiting(receiver))
    }
}

impl Future for Written {
    type Output = Result<(), Problem>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Problem>> {
        let result = match &mut self.0 {
            State::Known(result) => std::mem::replace(result, Ok(())).map_err(|problem| *problem),
            State::Waiting(receiver) => ready!(Pin::new(receiver).poll(cx)).unwrap_or_else(|_| {
                let detail = "the recording ended before this exchange was in it";
                Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "recording-ended", detail))
            }),
        };
        self.0 = State::Known(Ok(()));
        Poll::Ready(result)
    }
}

/// A proxy: settings, the upstream that answers, and the observer that listens. Shared by all its connections.
#[derive(Debug)]
pub struct Proxy {
    settings: Settings,
    host: HeaderValue,
    /// Connections that are still free, over all listeners.
    slots: Arc<Semaphore>,
    /// Requests that may go to the upstream besides those that are there.
    turns: Arc<Semaphore>,
    captured: transfer::capture::Budget,
    /// How many exchanges are in progress.
    exchanges: AtomicUsize,
    /// Why exchanges in progress are cut, once contrail does that.
    cut: OnceLock<&'static str>,
    upstream: Arc<dyn Upstream>,
    /// See [`Upstream::passes_on`].
    passes_on: bool,
    observer: Arc<dyn Observer>,
}

impl Proxy {
    /// Puts the parts together.
    ///
    /// # Errors
    ///
    /// If the upstream's authority cannot stand in a Host header.
    pub fn new(
        settings: Settings,
        upstream: Arc<dyn Upstream>,
        observer: Arc<dyn Observer>,
    ) -> Result<Arc<Self>, http::header::InvalidHeaderValue> {
        let host = HeaderValue::from_str(&settings.authority)?;
        let slots = Arc::new(Semaphore::new(settings.max_connections.min(Semaphore::MAX_PERMITS)));
        let turns = Arc::new(Semaphore::new(settings.max_upstream.min(Semaphore::MAX_PERMITS)));
        let captured = transfer::capture::Budget::new(settings.max_captured);
        Ok(Arc::new(Self {
            settings,
            host,
            slots,
            turns,
            captured,
            exchanges: AtomicUsize::new(0),
            cut: OnceLock::new(),
            passes_on: upstream.passes_on(),
            upstream,
            observer,
        }))
    }

    /// Exchanges in progress are about to be cut; `reason` is what is recorded of each.
    pub fn cutting(&self, reason: &'static str) {
        let _ = self.cut.set(reason);
    }

    /// An empty copy of a body.
    fn copy(&self) -> transfer::capture::Copy {
        transfer::capture::Copy::new(self.settings.max_capture, self.captured.clone())
    }

    /// A place among the requests that are with the upstream, where they are counted, if one comes free in time.
    async fn turn(&self) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        if !self.passes_on {
            return Ok(None);
        }
        if let Ok(turn) = Arc::clone(&self.turns).try_acquire_owned() {
            return Ok(Some(turn));
        }
        let waiting = Box::pin(tokio::time::timeout(self.settings.turn, Arc::clone(&self.turns).acquire_owned()));
        match waiting.await {
            Ok(Ok(turn)) => Ok(Some(turn)),
            Ok(Err(_)) | Err(_) => {
                let seconds = self.settings.turn.as_secs_f32();
                let cause = format!("as many requests as --max-upstream were with the upstream for {seconds} s");
                Err(Failure::new(FailureKind::Busy, cause))
            }
        }
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
