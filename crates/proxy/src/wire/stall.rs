//! Clients that do not read: one that takes no byte within `--write-timeout` is cut, so that the upstream is free
//! again. A client that reads, however slowly, is not cut.
//!
//! On a connection the socket shows it ([`Patient`]). A stream of HTTP/2 can stall on a connection that does not,
//! because the client never opens its window. hyper polls a body for its next piece once the last one had room, so the
//! time between a piece and the next poll is the client's ([`Streams`]).

use std::{
    fmt, io,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{Instant, Sleep},
};

use crate::io::pass_on::pass_on;

/// Why such an exchange ended.
pub(crate) const REASON: &str = "the client took no byte of its answer within --write-timeout";

/// Inside the error of a connection that ended for it.
#[derive(Debug)]
struct Stalled;

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REASON)
    }
}

impl std::error::Error for Stalled {}

/// Whether a connection ended because its peer did not read.
pub(crate) fn is_stall(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Stalled>());
    inner.is_some()
}

/// A socket that gives up on a peer that takes nothing.
pub(crate) struct Patient<IO> {
    io: IO,
    patience: Duration,
    /// Runs while bytes wait to be taken.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<IO> Patient<IO> {
    pub(crate) fn new(io: IO, patience: Duration) -> Self {
        Self { io, patience, timer: None }
    }

    fn watch(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.timer = None;
            return written;
        }
        let patience = self.patience;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        match timer.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, Stalled))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Patient<IO> {
    pass_on!(io: poll_read);
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Patient<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, buf);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.watch(cx, written)
    }

    pass_on!(io: is_write_vectored, poll_flush, poll_shutdown);
}

tokio::task_local! {
    /// The stream that is being served.
    static STREAM: Arc<Stream>;
}

/// How the client of one HTTP/2 stream stands.
#[derive(Debug, Default)]
struct Stream {
    /// Since when a piece waits to be taken.
    since: Mutex<Option<Instant>>,
    stalled: AtomicBool,
}

impl Stream {
    fn set(&self, since: Option<Instant>) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    async fn stalls(&self, patience: Duration) {
        loop {
            let since = self.since.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(Instant::now);
            let end = since + patience;
            if end <= Instant::now() {
                self.stalled.store(true, Ordering::Release);
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }
}

/// Whether this runs for a stream of HTTP/2.
pub(crate) fn in_stream() -> bool {
    STREAM.try_with(|_| ()).is_ok()
}

/// Something of the answer waits for the client.
pub(crate) fn handed_over() {
    let _ = STREAM.try_with(|stream| stream.set(Some(Instant::now())));
}

/// The client has taken what there was.
pub(crate) fn asked_for_more() {
    let _ = STREAM.try_with(|stream| stream.set(None));
}

/// Whether the stream is being ended because its client took nothing.
pub(crate) fn stream_stalled() -> bool {
    STREAM.try_with(|stream| stream.stalled.load(Ordering::Acquire)).unwrap_or(false)
}

/// Runs the streams of HTTP/2 connections, and drops (which resets) those whose clients take nothing for this long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Streams(pub(crate) Duration);

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Streams {
    fn execute(&self, serving: F) {
        let patience = self.0;
        let stream = Arc::new(Stream::default());
        tokio::spawn(STREAM.scope(Arc::clone(&stream), async move {
            tokio::select! {
                () = serving => {}
                () = stream.stalls(patience) => {}
            }
        }));
    }
}
