//! Interim answers (1xx) on their way to a client of HTTP/1.1, which hyper would not send.
//!
//! They are written beside hyper, and only where nothing of hyper's own is on its way: what hyper was given to write is
//! flushed, and the answer that they come before is not there yet. One that has no such moment goes nowhere.

use std::{
    fmt, io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker, ready},
};

use bytes::{Buf as _, BytesMut};
use http::{HeaderMap, StatusCode, header};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::state::State;
use crate::proxy::{Observer, transfer::hop};
use crate::{io::pass_on::pass_on, upstream::Inform};

/// Most bytes of interim answers to one request; no more go on.
const MOST: usize = 64 << 10;

/// The interim answers of a connection.
#[derive(Debug, Default)]
pub(in crate::proxy) struct Interim {
    waiting: Mutex<Waiting>,
    /// A request is with the upstream.
    open: AtomicBool,
    /// There are bytes to write.
    pending: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Which request of the connection.
    turn: u64,
    bytes: BytesMut,
    /// Bytes of all interim answers to it.
    total: usize,
    waker: Option<Waker>,
}

impl Interim {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request goes to the upstream; what is said about it comes under this number.
    pub(in crate::proxy) fn begin(&self) -> u64 {
        let mut waiting = self.waiting();
        waiting.turn += 1;
        waiting.total = 0;
        self.open.store(true, Ordering::Release);
        waiting.turn
    }

    /// Its answer is here.
    pub(in crate::proxy) fn end(&self) {
        let waiting = self.waiting();
        self.open.store(false, Ordering::Release);
        drop(waiting);
    }

    fn inform(&self, turn: u64, status: StatusCode, headers: &HeaderMap) {
        let mut waiting = self.waiting();
        if waiting.turn != turn || !self.open.load(Ordering::Acquire) {
            return;
        }
        let before = waiting.bytes.len();
        write_head(status, headers, &mut waiting.bytes);
        waiting.total += waiting.bytes.len() - before;
        if waiting.total > MOST {
            waiting.bytes.truncate(before);
            return;
        }
        self.pending.store(true, Ordering::Release);
        if let Some(waker) = waiting.waker.take() {
            waker.wake();
        }
    }

    fn take(&self) -> BytesMut {
        if !self.pending.swap(false, Ordering::AcqRel) {
            return BytesMut::new();
        }
        self.waiting().bytes.split()
    }
}

fn write_head(status: StatusCode, headers: &HeaderMap, out: &mut BytesMut) {
    let reason = status.canonical_reason().unwrap_or_default();
    out.extend_from_slice(format!("HTTP/1.1 {} {reason}\r\n", status.as_u16()).as_bytes());
    for (name, value) in &hop::response(headers.clone()) {
        if *name == header::CONTENT_LENGTH {
            continue;
        }
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// Where the interim answers to one request go.
pub(in crate::proxy) struct To {
    pub(in crate::proxy) state: Arc<State>,
    pub(in crate::proxy) turn: u64,
    pub(in crate::proxy) observer: Arc<dyn Observer>,
}

impl fmt::Debug for To {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "To({})", self.turn)
    }
}

impl Inform for To {
    fn inform(&self, status: StatusCode, headers: &HeaderMap) {
        self.observer.informed(headers);
        self.state.interim().inform(self.turn, status, headers);
    }
}

/// An IO that writes interim answers between what hyper writes.
pub(in crate::proxy) struct Between<IO> {
    io: IO,
    state: Arc<State>,
    /// What is begun of them is written to its end before anything else is.
    out: BytesMut,
    /// hyper has written something that may not be all of a message.
    unflushed: bool,
}

impl<IO> Between<IO> {
    pub(in crate::proxy) fn new(io: IO, state: Arc<State>) -> Self {
        Self { io, state, out: BytesMut::new(), unflushed: false }
    }
}

impl<IO: AsyncWrite + Unpin> Between<IO> {
    fn pour(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.out.is_empty() {
            self.out = self.state.interim().take();
            if self.out.is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
        while !self.out.is_empty() {
            let written = ready!(Pin::new(&mut self.io).poll_write(cx, &self.out))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.out.advance(written);
        }
        Pin::new(&mut self.io).poll_flush(cx)
    }

    /// hyper is about to write.
    fn make_way(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.unflushed {
            ready!(self.pour(cx))?;
        } else if !self.state.interim().open.load(Ordering::Acquire) {
            // Their answer may have begun.
            self.state.interim().take();
        }
        self.unflushed = true;
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncRead for Between<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let interim = this.state.interim();
        if interim.open.load(Ordering::Acquire) {
            let mut waiting = interim.waiting();
            if !waiting.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                waiting.waker = Some(cx.waker().clone());
            }
            drop(waiting);
            if !this.unflushed
                && let Poll::Ready(Err(error)) = this.pour(cx)
            {
                return Poll::Ready(Err(error));
            }
        }
        Pin::new(&mut this.io).poll_read(cx, buf)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Between<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.make_way(cx))?;
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.make_way(cx))?;
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.io).poll_flush(cx))?;
        self.unflushed = false;
        Poll::Ready(Ok(()))
    }

    pass_on!(io: is_write_vectored, poll_shutdown);
}
