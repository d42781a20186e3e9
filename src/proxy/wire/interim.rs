//! Interim answers (1xx) on their way to a client of HTTP/1.1, which hyper would not send.
//!
//! They are written beside hyper, and only where nothing of hyper's own is on its way: what hyper was given to write is
//! flushed, and the answer that they come before is not there yet. One that has no such moment goes nowhere.

use std::{
    io,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::state::State;
use crate::io::pass_on::pass_on;

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
