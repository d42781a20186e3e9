//! HTTP for the library of stores, on hyper and rustls as the rest of contrail: one connection for each request, the
//! system's roots.

use std::{
    fmt,
    io::{self, ErrorKind},
    pin::Pin,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::{
    Version,
    client::conn::http1,
    header::{self, HeaderValue},
};
use hyper_util::rt::TokioIo;
use object_store::{
    ClientConfigKey, ClientOptions,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
        HttpResponseBody, HttpService,
    },
};
use rustls_pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_rustls::{TlsConnector, rustls};

/// The time to connect, handshake included.
const CONNECT: Duration = Duration::from_secs(5);

/// The time without a byte that goes, or an answer that comes.
const SILENCE: Duration = Duration::from_secs(30);

/// Makes clients for the library.
#[derive(Debug)]
pub(super) struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allows = options.get_config_value(&ClientConfigKey::AllowHttp);
        Ok(HttpClient::new(Service { allows_http: allows.as_deref() == Some("true") }))
    }
}

#[derive(Debug)]
struct Service {
    allows_http: bool,
}

impl HttpService for Service {
    fn call<'a, 'b>(&'a self, request: HttpRequest) -> Pin<Box<dyn Future<Output = Answer> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.send(request))
    }
}

type Answer = Result<HttpResponse, HttpError>;

impl Service {
    async fn send(&self, request: HttpRequest) -> Answer {
        let (mut head, body) = request.into_parts();
        let uri = &head.uri;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") if self.allows_http => false,
            _ => return Err(refused("the store's address is not https; AWS_ALLOW_HTTP=true allows http")),
        };
        let authority = uri.authority().ok_or_else(|| refused("the store's address has no host"))?.clone();
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if !head.headers.contains_key(header::HOST) {
            let value = HeaderValue::from_str(authority.as_str()).map_err(|_| refused("the host is malformed"))?;
            head.headers.insert(header::HOST, value);
        }
        head.uri = uri.path_and_query().map(ToString::to_string).unwrap_or_default().parse().unwrap_or_default();
        head.version = Version::HTTP_11;
        let progress = Arc::new(Progress::default());
        let body = TrackedBody { body, progress: Arc::clone(&progress) };
        let request = http::Request::from_parts(head, body);
        let connect =
            |cause: io::Error| HttpError::new(HttpErrorKind::Connect, HostError { host: host.clone(), port, cause });
        let late = || io::Error::new(ErrorKind::TimedOut, "no connection in 5 s");
        let stream = timeout(CONNECT, TcpStream::connect((host.as_str(), port))).await.map_err(|_| connect(late()))?;
        let stream = stream.map_err(connect)?;
        let _ = stream.set_nodelay(true);
        if !is_tls {
            return speak(stream, request, &progress).await;
        }
        let name = ServerName::try_from(host.clone()).map_err(|_| refused("the host is malformed"))?;
        let handshake = TlsConnector::from(tls()?).connect(name, stream);
        let stream = timeout(CONNECT, handshake).await.map_err(|_| connect(late()))?.map_err(connect)?;
        speak(stream, request, &progress).await
    }
}

/// Sends the request, and drives the connection while the answer is read.
async fn speak<IO>(io: IO, request: http::Request<TrackedBody>, progress: &Progress) -> Answer
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let failed = |error: hyper::Error| {
        let kind = if error.is_timeout() { HttpErrorKind::Timeout } else { HttpErrorKind::Interrupted };
        HttpError::new(kind, error)
    };
    let (mut sender, connection) = http1::handshake(TokioIo::new(io)).await.map_err(failed)?;
    // It ends with the answer's body, or when that is dropped.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to a store ended early");
        }
    });
    let response = tokio::select! {
        response = sender.send_request(request) => response.map_err(failed)?,
        () = progress.stalls() => {
            let silence = io::Error::new(ErrorKind::TimedOut, "the store took or sent nothing for 30 s");
            return Err(HttpError::new(HttpErrorKind::Timeout, silence));
        }
    };
    let (head, body) = response.into_parts();
    Ok(HttpResponse::from_parts(head, HttpResponseBody::new(Received(body))))
}

/// When the last part of a body went.
#[derive(Debug)]
struct Progress(Mutex<Instant>);

impl Default for Progress {
    fn default() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl Progress {
    fn made(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    async fn stalls(&self) {
        loop {
            let since = self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
            if since >= SILENCE {
                return;
            }
            sleep(SILENCE.saturating_sub(since)).await;
        }
    }
}

/// A body that tells when parts of it go.
struct TrackedBody {
    body: HttpRequestBody,
    progress: Arc<Progress>,
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        self.progress.made();
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body.
struct Received(hyper::body::Incoming);

impl Body for Received {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let frame = Pin::new(&mut self.0).poll_frame(context);
        frame.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

/// An error with the server that it is about.
#[derive(Debug)]
struct HostError {
    host: String,
    port: u16,
    cause: io::Error,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot connect to {}:{}: {}", self.host, self.port, self.cause)
    }
}

impl std::error::Error for HostError {}

fn refused(reason: &'static str) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, io::Error::new(ErrorKind::InvalidInput, reason))
}

/// The client's side of TLS. It is built once.
fn tls() -> Result<Arc<rustls::ClientConfig>, HttpError> {
    static BUILT: OnceLock<Option<Arc<rustls::ClientConfig>>> = OnceLock::new();
    let build = || {
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return None;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().ok()?;
        Some(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
    };
    BUILT.get_or_init(build).clone().ok_or_else(|| refused("the system trusts no certificate authority"))
}
