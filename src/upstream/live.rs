//! A live tenant: HTTP/1.1 over plain TCP or TLS, with a small pool of kept-alive connections.
//!
//! A kept-alive connection may turn out closed. A request that was not sent on it goes out on another one, whatever
//! its method; one that may have been sent is sent again only if that cannot do harm (an idempotent method, no body,
//! and not one byte of an answer), once.

use std::{
    error::Error as _,
    fmt, io,
    path::Path,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Method, Version};
use http_body::{Body, Frame, SizeHint};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Sleep,
};
use tokio_rustls::{TlsConnector, rustls};

use super::{
    Answer, BodyError, Failure, FailureKind, MessageBody, Notes, Origin, Request, Response, Upstream,
    own::{OwnAddresses, Resolved},
};

/// Bounds of a live upstream.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Longest time to connect, TLS handshake included.
    pub connect: Duration,
    /// Longest silence: before the first byte of an answer, and between two pieces of it.
    pub silence: Duration,
    /// How long a connection is kept for another request.
    pub idle: Duration,
    /// Most connections that are kept.
    pub kept: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(60),
            idle: Duration::from_secs(30),
            kept: 64,
        }
    }
}

/// A live tenant.
pub struct Live {
    origin: Origin,
    limits: Limits,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    pool: Arc<Pool>,
    own: Option<OwnAddresses>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("origin", &self.origin).field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Why a live upstream cannot be set up.
#[derive(Debug)]
#[non_exhaustive]
pub enum SetupError {
    /// `--upstream-ca` cannot be read, or holds no certificate.
    Authority {
        /// The file.
        path: std::path::PathBuf,
        /// The parser's or the system's words.
        cause: String,
    },
    /// The system has no roots, and none were given.
    NoRoots,
    /// The host cannot stand in a certificate.
    Host(String),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Authority { path, cause } => {
                write!(
                    f,
                    "--upstream-ca {}: no certificate can be read from it (PEM is expected): {cause}",
                    path.display()
                )
            }
            Self::NoRoots => {
                f.write_str("the system trusts no certificate authority; name one with --upstream-ca FILE")
            }
            Self::Host(host) => write!(f, "`{host}` cannot be checked against a certificate"),
        }
    }
}

impl std::error::Error for SetupError {}

impl Live {
    /// A tenant at `origin`; for https the system's roots are trusted, and those in `authority`.
    ///
    /// # Errors
    ///
    /// [`SetupError`], before anything is connected.
    pub fn new(origin: Origin, authority: Option<&Path>, limits: Limits) -> Result<Self, SetupError> {
        let tls = if origin.https { Some(connector(&origin, authority)?) } else { None };
        Ok(Self { origin, limits, tls, pool: Arc::default(), own: None })
    }

    /// The same, never connecting to one of contrail's own addresses.
    #[must_use]
    pub fn keeping_off(self, own: OwnAddresses) -> Self {
        Self { own: Some(own), ..self }
    }

    async fn connect(&self) -> Result<Connection, Failure> {
        let connected = tokio::time::timeout(self.limits.connect, self.handshake()).await;
        connected.unwrap_or_else(|_| {
            let seconds = self.limits.connect.as_secs_f32();
            Err(Failure::new(
                FailureKind::Timeout,
                format!("{} did not accept a connection in {seconds} s", self.origin),
            ))
        })
    }

    async fn handshake(&self) -> Result<Connection, Failure> {
        let unreachable = |cause: &dyn fmt::Display| {
            Failure::new(FailureKind::Unreachable, format!("cannot reach {}: {cause}", self.origin))
        };
        let stream = match &self.own {
            None => TcpStream::connect((&*self.origin.host, self.origin.port)).await,
            Some(own) => match own.resolve(&self.origin.host, self.origin.port).await {
                Ok(addresses) => TcpStream::connect(addresses.as_slice()).await,
                Err(Resolved::Own) => return Err(unreachable(&"it is contrail itself")),
                Err(Resolved::Unknown(error)) => Err(error),
            },
        }
        .map_err(|error| unreachable(&error))?;
        let _ = stream.set_nodelay(true);
        match &self.tls {
            None => self.speak(stream).await,
            Some((connector, name)) => {
                let stream = connector.connect(name.clone(), stream).await.map_err(|error| unreachable(&error))?;
                self.speak(stream).await
            }
        }
    }

    async fn speak<IO>(&self, io: IO) -> Result<Connection, Failure>
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let reads = Arc::new(AtomicU64::new(0));
        let io = TokioIo::new(Counted { io, reads: Arc::clone(&reads) });
        let (sender, connection) = http1::Builder::new()
            .preserve_header_case(true)
            .handshake(io)
            .await
            .map_err(|error| self.broken(&error))?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "an upstream connection ended early");
            }
        });
        Ok(Connection { sender, reads, kept_since: None })
    }

    fn broken(&self, error: &hyper::Error) -> Failure {
        let cause = if error.is_incomplete_message() {
            "it closed the connection before it answered".to_owned()
        } else {
            error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
        };
        Failure::new(FailureKind::Broken, format!("no answer from {}: {cause}", self.origin))
    }

    async fn ask(&self, request: Request) -> Result<Response, Failure> {
        let Request { head, body, .. } = request;
        let repeatable = is_idempotent(&head.method) && body.is_end_stream();
        let (mut body, mut retried) = (body, false);
        loop {
            let mut connection = match if retried { None } else { self.pool.take(&self.limits).await } {
                Some(connection) => connection,
                None => self.connect().await.map_err(|failure| Failure { retried, ..failure })?,
            };
            let reused = connection.kept_since.is_some();
            let before = connection.reads.load(Ordering::Acquire);
            let progress = Arc::new(Progress::new());
            let outgoing = Sending { inner: std::mem::take(&mut body), progress: Arc::clone(&progress) };
            let mut outgoing = http::Request::from_parts(head.clone(), outgoing);
            *outgoing.version_mut() = Version::HTTP_11;
            let answer = tokio::select! {
                answer = connection.sender.try_send_request(outgoing) => answer,
                () = progress.stalled(self.limits.silence) => {
                    let seconds = self.limits.silence.as_secs_f32();
                    let cause = format!("{} did not answer within {seconds} s", self.origin);
                    return Err(Failure { retried, ..Failure::new(FailureKind::Timeout, cause) });
                }
            };
            match answer {
                Ok(answer) => {
                    let lease = Lease { connection, progress, pool: Arc::clone(&self.pool), limits: self.limits };
                    return Ok(response(answer, lease, retried));
                }
                Err(mut error) => {
                    if let Some(unsent) = error.take_message() {
                        if reused {
                            body = unsent.into_body().inner;
                            continue;
                        }
                    } else if reused && repeatable && !retried && connection.reads.load(Ordering::Acquire) == before {
                        retried = true;
                        continue;
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

impl Upstream for Live {
    fn answer(&self, request: Request) -> Answer<'_> {
        Box::pin(self.ask(request))
    }
}

fn connector(origin: &Origin, authority: Option<&Path>) -> Result<(TlsConnector, ServerName<'static>), SetupError> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = authority {
        let wrong = |cause: String| SetupError::Authority { path: path.to_owned(), cause };
        let certificates = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| wrong(error.to_string()))?;
        if certificates.is_empty() {
            return Err(wrong("it holds none".to_owned()));
        }
        for certificate in certificates {
            roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
        }
    }
    if roots.is_empty() {
        return Err(SetupError::NoRoots);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| SetupError::Host(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let name = ServerName::try_from(origin.host.to_string()).map_err(|_| SetupError::Host(origin.host.to_string()))?;
    Ok((TlsConnector::from(Arc::new(config)), name))
}

/// Methods whose repetition does no harm (RFC 9110, section 9.2.2).
fn is_idempotent(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE | Method::PUT | Method::DELETE)
}

fn response(answer: http::Response<Incoming>, lease: Lease, retried: bool) -> Response {
    let (mut head, body) = answer.into_parts();
    if retried {
        head.extensions.insert(Notes { retried, ..Notes::default() });
    }
    let body = if body.is_end_stream() {
        lease.give_back();
        MessageBody::Empty
    } else {
        MessageBody::stream(Receiving { inner: body, lease: Some(lease), timer: None })
    };
    Response::from_parts(head, body)
}

/// Connections that wait for another request.
#[derive(Debug, Default)]
struct Pool(Mutex<Vec<Connection>>);

#[derive(Debug)]
struct Connection {
    sender: SendRequest<Sending>,
    /// Bytes read so far.
    reads: Arc<AtomicU64>,
    /// Since when it has been in the pool; `None` for a fresh one.
    kept_since: Option<Instant>,
}

impl Pool {
    async fn take(&self, limits: &Limits) -> Option<Connection> {
        let mut looked = false;
        loop {
            let mut connection = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if connection.kept_since.is_none_or(|since| since.elapsed() > limits.idle) {
                continue;
            }
            if !looked {
                // Lets the reactor tell us which connections were closed meanwhile.
                tokio::task::yield_now().await;
                looked = true;
            }
            if !connection.sender.is_closed() && connection.sender.ready().await.is_ok() {
                return Some(connection);
            }
        }
    }

    fn put(&self, mut connection: Connection, limits: &Limits) {
        connection.kept_since = Some(Instant::now());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| !other.sender.is_closed());
        if kept.len() < limits.kept && !connection.sender.is_closed() {
            kept.push(connection);
        }
    }
}

/// A connection in use by one exchange.
struct Lease {
    connection: Connection,
    progress: Arc<Progress>,
    pool: Arc<Pool>,
    limits: Limits,
}

impl Lease {
    /// The response is whole; if the request was too, the connection can serve another one.
    fn give_back(self) {
        if self.progress.done.load(Ordering::Acquire) {
            self.pool.put(self.connection, &self.limits);
        }
    }
}

/// How the sending of a request stands, so that only the upstream's silence counts and not the client's.
#[derive(Debug)]
struct Progress {
    done: AtomicBool,
    waits_for_client: AtomicBool,
    started: Instant,
    /// Milliseconds after `started` at which the upstream last took something.
    last: AtomicU64,
}

impl Progress {
    fn new() -> Self {
        Self {
            done: AtomicBool::new(false),
            waits_for_client: AtomicBool::new(false),
            started: Instant::now(),
            last: AtomicU64::new(0),
        }
    }

    fn moved(&self) {
        let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(millis, Ordering::Release);
    }

    async fn stalled(&self, silence: Duration) {
        loop {
            let since = if self.waits_for_client.load(Ordering::Acquire) {
                Instant::now()
            } else {
                self.started + Duration::from_millis(self.last.load(Ordering::Acquire))
            };
            let left = silence.saturating_sub(since.elapsed());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }
}

/// A request body on its way out.
struct Sending {
    inner: MessageBody,
    progress: Arc<Progress>,
}

impl Body for Sending {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) else {
            self.progress.waits_for_client.store(true, Ordering::Release);
            return Poll::Pending;
        };
        self.progress.moved();
        self.progress.waits_for_client.store(false, Ordering::Release);
        if !matches!(frame, Some(Err(_))) && (frame.is_none() || self.inner.is_end_stream()) {
            self.progress.done.store(true, Ordering::Release);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        let ended = self.inner.is_end_stream();
        if ended {
            self.progress.done.store(true, Ordering::Release);
        }
        ended
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// A response body on its way in; gives its connection back at the end.
struct Receiving {
    inner: Incoming,
    lease: Option<Lease>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Receiving {
    fn end(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.give_back();
        }
    }
}

impl Body for Receiving {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) else {
            let Some(lease) = &this.lease else { return Poll::Pending };
            let silence = lease.limits.silence;
            let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(silence)));
            ready!(std::future::Future::poll(timer.as_mut(), cx));
            this.lease = None;
            let reason =
                format!("the upstream fell silent for {} s in the middle of its response", silence.as_secs_f32());
            return Poll::Ready(Some(Err(BodyError(reason))));
        };
        this.timer = None;
        Poll::Ready(match frame {
            None => {
                this.end();
                None
            }
            Some(Ok(frame)) => {
                if this.inner.is_end_stream() {
                    this.end();
                }
                Some(Ok(frame))
            }
            Some(Err(_)) => {
                this.lease = None;
                Some(Err(BodyError::new("the upstream closed the connection in the middle of its response")))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Counts what is read, so that "not one byte of an answer" can be told.
struct Counted<IO> {
    io: IO,
    reads: Arc<AtomicU64>,
}

impl<IO: AsyncRead + Unpin> AsyncRead for Counted<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = ready!(Pin::new(&mut self.io).poll_read(cx, buf));
        self.reads.fetch_add((buf.filled().len() - before) as u64, Ordering::AcqRel);
        Poll::Ready(result)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Counted<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}
