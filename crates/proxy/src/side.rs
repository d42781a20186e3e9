//! A small HTTP/1.1 listener beside the proxy, on a thread of its own, so that what it answers takes no time of the
//! event loops that serve exchanges: metrics, and the live page.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use hyper::{
    body::{Body, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
    sync::{Semaphore, oneshot},
};

/// Maximum connections at a time; a further one waits for its turn.
const MAX_CONNECTIONS: usize = 64;
/// How long a request head may take, and how long a connection may be idle before it.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of a request's head.
const MAX_HEAD: usize = 16 << 10;
/// How long a connection takes requests, and how long its last answer may then take, so that no client that stops
/// reading keeps the place of another. A browser asks for the page's notices on a connection that is in use already.
const MAX_LIFE: Duration = Duration::from_mins(1);
/// How long to wait after an accept failed (out of file descriptors, for example).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A listener that is bound and answers nobody yet.
#[derive(Debug)]
pub struct SideListener {
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

impl SideListener {
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

    /// Answers each request by `answer`, on a thread of this name.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn serve<A, F, B>(self, name: &str, answer: A) -> io::Result<Serving>
    where
        A: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: Body<Data = Bytes, Error = Infallible> + Send + 'static,
    {
        let Self { runtime, listener, .. } = self;
        let (stop, stopped) = oneshot::channel();
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, Arc::new(answer)) => {}
                    _ = stopped => {}
                }
            });
            // An answer that waits for the disk does not hold up the end.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(work)?;
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

async fn accept<A, F, B>(listener: TcpListener, answer: Arc<A>)
where
    A: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let answer = Arc::clone(&answer);
                tokio::spawn(async move {
                    connection(stream, &*answer).await;
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

async fn connection<A, F, B>(stream: TcpStream, answer: &A)
where
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<B>>,
    B: Body<Data = Bytes, Error = Infallible> + 'static,
{
    let service = service_fn(|request| {
        let answered = answer(request);
        async { Ok::<_, Infallible>(answered.await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = tokio::time::sleep(MAX_LIFE) => {
            served.as_mut().graceful_shutdown();
            tokio::time::timeout(MAX_LIFE, served).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
