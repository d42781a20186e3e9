//! The listener: `/metrics`, `/healthz` and `/readyz` over HTTP/1.1, on a thread of its own, so that no scrape takes
//! time of the event loops that serve exchanges.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
    sync::{Semaphore, oneshot},
};

use super::{registry::Metrics, text::TextFormat};

/// Maximum connections at a time; a further one waits for its turn.
const MAX_CONNECTIONS: usize = 64;
/// How long a request head may take, and how long a connection may be idle before it.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may last, so that no client that stops reading keeps the place of a probe.
const MAX_LIFE: Duration = Duration::from_mins(1);
/// How long to wait after an accept failed (out of file descriptors, for example).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

const PATHS: &str = "there are /metrics, /healthz and /readyz\n";

/// A listener that is bound and answers nobody yet.
#[derive(Debug)]
pub struct MetricsListener {
    runtime: Runtime,
    listener: TcpListener,
    /// Where it listens.
    pub address: SocketAddr,
}

/// A listener that answers, until this is dropped.
#[derive(Debug)]
pub struct Serving {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsListener {
    /// Binds one by this future, in an event loop of its own.
    ///
    /// # Errors
    ///
    /// Those of the future, and the system gives no event loop.
    pub fn bind<E: From<io::Error>>(
        bind: impl Future<Output = Result<(TcpListener, SocketAddr), E>>,
    ) -> Result<Self, E> {
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(MAX_CONNECTIONS).build()?;
        let (listener, address) = runtime.block_on(bind)?;
        Ok(Self { runtime, listener, address })
    }

    /// Answers by these metrics, on a thread of its own.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn serve(self, metrics: Arc<Metrics>) -> io::Result<Serving> {
        let Self { runtime, listener, .. } = self;
        let (stop, stopped) = oneshot::channel();
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, metrics) => {}
                    _ = stopped => {}
                }
            });
            // A probe that waits for the disk does not hold up the end.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("metrics".to_owned()).spawn(work)?;
        Ok(Serving { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, metrics: Arc<Metrics>) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let metrics = Arc::clone(&metrics);
                tokio::spawn(async move {
                    connection(stream, metrics).await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, metrics: Arc<Metrics>) {
    let service = service_fn(move |request| {
        let metrics = Arc::clone(&metrics);
        async move { Ok::<_, Infallible>(answer(&request, metrics).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = tokio::time::sleep(MAX_LIFE) => {
            served.as_mut().graceful_shutdown();
            tokio::time::timeout(HEADER_TIMEOUT, served).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection to the metrics ended early");
    }
}

async fn answer(request: &Request<Incoming>, metrics: Arc<Metrics>) -> Response<Full<Bytes>> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri().path() {
        "/metrics" => {
            let accept = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
            let format = TextFormat::accepted(accept.unwrap_or_default());
            response(StatusCode::OK, format.media_type(), metrics.page(format))
        }
        "/healthz" => plain(StatusCode::OK, "ok\n"),
        // It may wait for the disk.
        "/readyz" => match tokio::task::spawn_blocking(move || metrics.readiness()).await {
            Ok(Ok(())) => plain(StatusCode::OK, "ready\n"),
            Ok(Err(reason)) => plain(StatusCode::SERVICE_UNAVAILABLE, reason + "\n"),
            Err(_) => plain(StatusCode::SERVICE_UNAVAILABLE, "the check of readiness failed; please report it\n"),
        },
        _ => plain(StatusCode::NOT_FOUND, PATHS),
    }
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", text)
}

fn response(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
