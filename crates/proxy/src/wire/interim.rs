//! Writing informational responses (1xx) to a client of HTTP/1.1, which hyper does not do.
//!
//! They are written only while hyper writes nothing: its output is flushed, and the final response is not there yet.
//! One that gets no such moment is dropped.

use std::{
    io,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::state::ConnectionState;
use crate::io::pass_on::pass_on;

/// An IO that writes interim answers between what hyper writes.
pub(crate) struct Between<IO> {
    io: IO,
    state: Arc<ConnectionState>,
    /// What is begun of them is written to its end before anything else is.
    out: BytesMut,
    /// hyper has written something that may not be all of a message.
    unflushed: bool,
}

impl<IO> Between<IO> {
    pub(crate) fn new(io: IO, state: Arc<ConnectionState>) -> Self {
        Self { io, state, out: BytesMut::new(), unflushed: false }
    }
}

impl<IO: AsyncWrite + Unpin> Between<IO> {
    fn pour(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.out.is_empty() {
            self.out = self.state.informational().take();
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
        } else if !self.state.informational().open.load(Ordering::Acquire) {
            // Their answer may have begun.
            self.state.informational().take();
        }
        self.unflushed = true;
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncRead for Between<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let interim = this.state.informational();
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
