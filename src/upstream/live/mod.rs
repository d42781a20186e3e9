//! A live tenant: HTTP/1.1 or HTTP/2 over plain TCP or TLS, with a small pool of kept-alive connections.
//!
//! A kept-alive connection may turn out closed. A request that was not sent on it goes out on another one, whatever
//! its method; one that may have been sent is sent again only if that cannot do harm (an idempotent method, no body,
//! and not one byte of an answer), once.

use std::{
    error::Error as _,
    fmt,
    path::PathBuf,
    pin::{Pin, pin},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, Version, header, uri::PathAndQuery};
use http_body::Body as _;
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls_pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::Instant,
};
use tokio_rustls::TlsConnector;

use self::{
    bodies::{Progress, Receiving, Sending},
    counted::{Counted, Meter},
    pool::{Connection, Lease, Pool, Sender},
};
use super::{
    Answer, Answered, BodyError, Failure, FailureKind, Inform, MessageBody, Notes, Origin, Request, Response, Upstream,
    own::{OwnAddresses, Resolved},
};
use crate::io::timer::Timer;

mod bodies;
mod counted;
mod framing;
mod pool;
mod reason;
mod tls;
mod via;

pub use tls::SetupError;
pub use via::{Via, ViaError};

/// Bytes that a connection reads or writes ahead; an answer's head fits in, or is refused.
const HTTP1_BUFFER: usize = 128 << 10;

/// Most header fields of an answer over HTTP/1 unless it is said otherwise; hyper's own bound.
const HTTP1_FIELDS: usize = 100;

/// Most bytes of the head of an answer over HTTP/2.
const HTTP2_HEADERS: u32 = 128 << 10;

/// HTTP/2 flow control, in bytes.
const HTTP2_WINDOW: u32 = 1 << 20;
const HTTP2_CONNECTION_WINDOW: u32 = 4 << 20;

/// Bounds of a live upstream.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Longest time to connect, TLS handshake included.
    pub connect: Duration,
    /// Longest silence: before the first byte of an answer, and between two pieces of it.
    pub silence: Duration,
    /// How long a connection is kept for another request.
    pub idle: Duration,
    /// How long a body whose client waits for 100 Continue waits for the upstream's. An upstream need not know of it, and
    /// a client that goes away meanwhile is not noticed.
    pub leave: Duration,
    /// Most connections that are kept.
    pub kept: usize,
    /// Most header fields of an answer over HTTP/1.
    pub fields: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_mins(1),
            idle: Duration::from_secs(30),
            leave: Duration::from_millis(250),
            kept: 64,
            fields: HTTP1_FIELDS,
        }
    }
}

/// How a live upstream is reached.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Certificate authorities (PEM) to trust besides the system's.
    pub roots: Option<PathBuf>,
    /// Certificate chain and private key (PEM) to show to it.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// A proxy on the way.
    pub via: Option<Via>,
    /// Whether HTTP/2 is spoken.
    pub http2: Http2,
    /// Where no connection may ever lead.
    pub own: OwnAddresses,
}

/// Whether HTTP/2 is spoken to the upstream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Http2 {
    /// Where a TLS handshake settles on it.
    #[default]
    Auto,
    /// Never.
    Off,
    /// Always, without asking (prior knowledge, RFC 9113, section 3.3).
    Always,
}

/// A live tenant.
pub struct Live {
    origin: Origin,
    access: Access,
    limits: Limits,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    pool: Arc<Pool>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("origin", &self.origin).field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Live {
    /// A tenant at `origin`.
    ///
    /// # Errors
    ///
    /// [`SetupError`], before anything is connected.
    pub fn new(origin: Origin, access: Access, limits: Limits) -> Result<Self, SetupError> {
        let tls = if origin.https { Some(tls::connector(&origin, &access)?) } else { None };
        Ok(Self { origin, access, limits, tls, pool: Arc::new(Pool::new(limits)) })
    }

    /// A connection for a request; `fresh` says that no kept one will do.
    async fn connection(&self, repeatable: bool, fresh: bool, switching: bool) -> Result<Connection, Failure> {
        if !fresh && let Some(kept) = self.pool.take(repeatable).await {
            return Ok(kept);
        }
        Box::pin(self.connect(switching)).await
    }

    /// Connects; `switching` says that only HTTP/1.1 will do, since another protocol is asked for on it.
    async fn connect(&self, switching: bool) -> Result<Connection, Failure> {
        let connected = tokio::time::timeout(self.limits.connect, self.handshake(switching)).await;
        connected.unwrap_or_else(|_| {
            let seconds = self.limits.connect.as_secs_f32();
            Err(Failure::new(
                FailureKind::Timeout,
                format!("{} did not accept a connection in {seconds} s", self.origin),
            ))
        })
    }

    async fn handshake(&self, switching: bool) -> Result<Connection, Failure> {
        let unreachable = |cause: &dyn fmt::Display| {
            Failure::new(FailureKind::Unreachable, format!("cannot reach {}: {cause}", self.origin))
        };
        let (host, port) = match &self.access.via {
            Some(via) => (&*via.host, via.port),
            None => (&*self.origin.host, self.origin.port),
        };
        let connected = match self.access.own.resolve(host, port).await {
            Ok(addresses) => TcpStream::connect(addresses.as_slice()).await,
            Err(Resolved::Own) => return Err(unreachable(&"it is contrail itself")),
            Err(Resolved::Unknown(error)) => Err(error),
        };
        let mut stream = connected.map_err(|error| unreachable(&error))?;
        let _ = stream.set_nodelay(true);
        let Some((connector, name)) = &self.tls else {
            return self.speak(stream, self.access.http2 == Http2::Always).await;
        };
        if let Some(via) = &self.access.via {
            via.tunnel(&mut stream, &self.origin).await.map_err(|error| unreachable(&error))?;
        }
        let always = self.access.http2 == Http2::Always;
        let connecting = if switching && !always {
            connector.with_alpn(vec![tls::HTTP1.to_vec()]).connect(name.clone(), stream)
        } else {
            connector.connect(name.clone(), stream)
        };
        let stream = connecting.await.map_err(|error| unreachable(&tls::failed(&error)))?;
        let http2 = always || stream.get_ref().1.alpn_protocol() == Some(b"h2");
        self.speak(stream, http2).await
    }

    async fn speak<IO>(&self, io: IO, http2: bool) -> Result<Connection, Failure>
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let meter = Arc::new(Meter::new());
        let io = TokioIo::new(Counted { io, meter: Arc::clone(&meter) });
        if http2 {
            let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .initial_stream_window_size(HTTP2_WINDOW)
                .initial_connection_window_size(HTTP2_CONNECTION_WINDOW)
                .max_header_list_size(HTTP2_HEADERS)
                .handshake(io)
                .await
                .map_err(|error| self.broken(&error))?;
            tokio::spawn(ended(connection));
            let connection = Connection::new(Sender::Http2(sender), meter);
            self.pool.share(&connection);
            return Ok(connection);
        }
        let mut builder = http1::Builder::new();
        builder.preserve_header_case(true).max_buf_size(HTTP1_BUFFER);
        // With a bound of its own hyper needs longer for each head.
        if self.limits.fields != HTTP1_FIELDS {
            builder.max_headers(self.limits.fields);
        }
        let (sender, connection) = builder.handshake(io).await.map_err(|error| self.broken(&error))?;
        tokio::spawn(ended(connection.with_upgrades()));
        Ok(Connection::new(Sender::Http1(sender), meter))
    }

    /// The head as this connection wants it.
    fn address(&self, head: &mut http::request::Parts, http2: bool) {
        head.version = if http2 { Version::HTTP_2 } else { Version::HTTP_11 };
        let plain_via = self.access.via.as_ref().filter(|_| self.tls.is_none());
        if http2 {
            // The authority is a field of its own there (RFC 9113, section 8.3.1).
            head.headers.remove(header::HOST);
            // Nor is there another protocol to switch to (section 8.6).
            head.headers.remove(header::CONNECTION);
            head.headers.remove(header::UPGRADE);
        }
        if http2 || plain_via.is_some() {
            let mut parts = http::uri::Parts::default();
            parts.scheme = self.origin.scheme().parse().ok();
            parts.authority = self.origin.authority.parse().ok();
            // The server as a whole is in absolute form what its root is (RFC 9112, section 3.2.4); hyper writes no empty path.
            let path = head.uri.path_and_query().filter(|path| http2 || path.as_str() != "*");
            parts.path_and_query = Some(path.cloned().unwrap_or(PathAndQuery::from_static("/")));
            head.uri = Uri::from_parts(parts).unwrap_or_default();
        }
        if let Some(value) = plain_via.and_then(Via::authorization)
            && let Ok(value) = HeaderValue::from_str(value)
        {
            head.headers.insert(header::PROXY_AUTHORIZATION, value);
        }
    }

    fn broken(&self, error: &hyper::Error) -> Failure {
        // A server of https answers what is no handshake with an alert, or not at all.
        let hint = if self.tls.is_none() { "; is it https?" } else { "" };
        let cause = if error.is_incomplete_message() {
            format!("it closed the connection before it answered{hint}")
        } else if error.is_parse_too_large() {
            let fields = self.limits.fields;
            format!(
                "the head of its answer has more than {fields} fields (--max-response-headers), or {HTTP1_BUFFER} bytes"
            )
        } else {
            let cause = error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
            if error.is_parse() { format!("{cause}{hint}") } else { cause }
        };
        Failure::new(FailureKind::Broken, format!("no answer from {}: {cause}", self.origin))
    }

    /// Tells the tenant's answers from those of a proxy that plain requests go through.
    fn of_the_tenant(&self, answer: &http::Response<Incoming>, retried: bool) -> Result<(), Failure> {
        let via = self.access.via.as_ref().filter(|_| self.tls.is_none());
        match via.filter(|_| answer.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED) {
            None => Ok(()),
            Some(via) => {
                let cause = format!("cannot reach {}: {}", self.origin, via.refused("the request", "407"));
                Err(Failure { retried, ..Failure::new(FailureKind::Unreachable, cause) })
            }
        }
    }

    /// The request as this connection wants it.
    fn outgoing(
        &self,
        mut head: http::request::Parts,
        body: Sending,
        http2: bool,
        informed: Option<Arc<dyn Inform>>,
    ) -> http::Request<Sending> {
        self.address(&mut head, http2);
        let progress = Arc::clone(&body.progress);
        let mut outgoing = http::Request::from_parts(head, body);
        if !http2 && (progress.waits() || informed.is_some()) {
            hear_interim(&mut outgoing, progress, informed);
        }
        outgoing
    }

    /// Asks until there is an answer or a reason why there is none. What the future owns from the begin, and what lives while
    /// an answer is waited for, is all that it has room for.
    fn ask(&self, request: Request) -> impl Future<Output = Result<Answered, Failure>> + Send {
        let Request { mut head, mut body, informed, .. } = request;
        let bodiless = body.is_end_stream();
        let repeatable = is_idempotent(&head.method) && bodiless;
        let waits = !bodiless && matches!(body, MessageBody::Stream(_)) && expects(&head.headers);
        // What is in memory can go out again even if it was given away.
        let spare = if let MessageBody::Full(bytes) = &body { Some(bytes.clone()) } else { None };
        let switching = head.headers.contains_key(header::UPGRADE);
        // What is kept of a TLS upstream may speak HTTP/2.
        let fresh = switching && self.tls.is_some();
        let mut retried = false;
        async move {
            loop {
                let connection = self.connection(repeatable, retried || fresh, switching).await;
                let mut connection = connection.map_err(|failure| Failure { retried, ..failure })?;
                let reused = connection.kept_since.is_some();
                let before = connection.meter.read();
                let http2 = connection.sender.is_http2();
                if !http2 {
                    connection.meter.expect();
                }
                let started = connection.kept_since.unwrap_or_else(Instant::now);
                let patience = (waits && !http2).then_some(self.limits.leave);
                let progress = Arc::new(Progress::new(started, patience));
                let copy = if http2 || reused && repeatable { for_another_attempt(&head) } else { no_head() };
                let outgoing = self.outgoing(
                    std::mem::replace(&mut head, copy),
                    Sending::new(std::mem::take(&mut body), Arc::clone(&progress)),
                    http2,
                    informed.clone(),
                );
                let silence = self.limits.silence;
                let timer = connection.timer.get_or_insert_with(|| Timer::new(silence));
                let answer = match &mut connection.sender {
                    Sender::Http1(sender) => {
                        let answer = pin!(sender.try_send_request(outgoing));
                        unless_silent(answer, &progress, silence, timer).await
                    }
                    Sender::Http2(sender) => {
                        let answer = pin!(sender.try_send_request(outgoing));
                        unless_silent(answer, &progress, silence, timer).await
                    }
                };
                let Some(answer) = answer else {
                    self.pool.forget(&connection);
                    let seconds = silence.as_secs_f32();
                    let cause = format!("{} did not answer within {seconds} s", self.origin);
                    return Err(Failure { retried, ..Failure::new(FailureKind::Timeout, cause) });
                };
                match answer {
                    Ok(answer) => {
                        progress.answered();
                        connection.meter.answered();
                        let pool = Arc::clone(&self.pool);
                        return self.answered(answer, Lease { connection: Some(connection), progress, pool }, retried);
                    }
                    Err(mut error) => {
                        if let Some(unsent) = error.take_message() {
                            if reused {
                                let (unsent, sending) = unsent.into_parts();
                                // Over HTTP/2 it lacks what only HTTP/1 has.
                                head = if http2 { head } else { unsent };
                                body = sending.inner;
                                continue;
                            }
                        } else if !retried {
                            let sent = error.error();
                            let untouched = reason::is_unprocessed(sent) && (bodiless || spare.is_some());
                            let no_answer =
                                if http2 { !reason::is_reset(sent) } else { connection.meter.read() == before };
                            if untouched || reused && repeatable && no_answer {
                                body = spare.clone().map_or(MessageBody::Empty, MessageBody::from);
                                retried = true;
                                continue;
                            }
                        }
                        let error = error.into_error();
                        if error.is_user()
                            && let Some(aborted) = error.source().and_then(|source| source.downcast_ref::<BodyError>())
                        {
                            return Err(aborted.clone().into());
                        }
                        return Err(Failure { retried, ..self.broken(&error) });
                    }
                }
            }
        }
    }

    /// The answer, if it can be read in one way and is the tenant's.
    fn answered(&self, answer: http::Response<Incoming>, lease: Lease, retried: bool) -> Result<Answered, Failure> {
        let progress = Arc::clone(&lease.progress);
        self.of_the_tenant(&answer, retried)?;
        let response = response(answer, lease).map_err(|fault| {
            progress.stop();
            let cause = format!("the answer of {} cannot be read in one way: {fault}", self.origin);
            Failure { retried, ..Failure::new(FailureKind::Broken, cause) }
        })?;
        Ok(Answered { response, notes: Notes { retried, ..Notes::default() } })
    }
}

impl Upstream for Live {
    fn answer(&self, request: Request) -> Answer<'_> {
        Box::pin(self.ask(request))
    }
}

/// Whether the client waits for leave to send its body.
fn expects(headers: &HeaderMap) -> bool {
    headers.get(header::EXPECT).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Hears of interim answers: one lets a body go out that waits for it (hyper asks the client for it no sooner), the
/// others go on.
fn hear_interim(request: &mut http::Request<Sending>, progress: Arc<Progress>, informed: Option<Arc<dyn Inform>>) {
    hyper::ext::on_informational(request, move |answer| match (answer.status(), &informed) {
        (StatusCode::CONTINUE, _) => progress.give_leave(),
        (status, Some(informed)) => informed.inform(status, answer.headers()),
        (_, None) => {}
    });
}

/// What is sent, or `None` once the upstream was silent for so long.
async fn unless_silent<F: Future>(
    answer: Pin<&mut F>,
    progress: &Progress,
    silence: Duration,
    timer: &mut Timer,
) -> Option<F::Output> {
    tokio::select! {
        biased;
        answer = answer => Some(answer),
        () = progress.clock.silent(silence, timer) => None,
    }
}

/// Drives a connection to its end.
async fn ended(connection: impl Future<Output = hyper::Result<()>>) {
    if let Err(error) = connection.await {
        tracing::debug!(%error, "an upstream connection ended early");
    }
}

/// A copy of the head. How its names were spelled is not worth one with every request (HTTP/1 keeps that in the
/// extensions): their case means nothing (RFC 9110, section 5.1).
fn for_another_attempt(head: &http::request::Parts) -> http::request::Parts {
    let mut copy = no_head();
    copy.method = head.method.clone();
    copy.uri = head.uri.clone();
    copy.version = head.version;
    copy.headers = head.headers.clone();
    copy
}

fn no_head() -> http::request::Parts {
    http::Request::new(()).into_parts().0
}

/// Methods whose repetition does no harm (RFC 9110, section 9.2.2).
fn is_idempotent(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE | Method::PUT | Method::DELETE)
}

/// The answer; one whose end is in doubt takes its connection with it.
fn response(answer: http::Response<Incoming>, lease: Lease) -> Result<Response, &'static str> {
    let (mut head, body) = answer.into_parts();
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        if head.version == Version::HTTP_2 {
            return Err("HTTP/2 has no 101");
        }
        if !lease.progress.done.load(Ordering::Acquire) {
            return Err("it switched protocols before it had the whole request");
        }
        // Its connection is no longer one of HTTP, whatever comes of it.
        return Ok(Response::from_parts(head, MessageBody::Empty));
    }
    framing::settle(head.version, &mut head.headers)?;
    let body = if body.is_end_stream() {
        lease.give_back();
        MessageBody::Empty
    } else {
        MessageBody::stream(Receiving { inner: body, lease: Some(lease), timer: None })
    };
    Ok(Response::from_parts(head, body))
}
