//! The timers of a client connection, and half-closed clients.
//!
//! hyper has one timer for "waiting for the next request" and "a request head is arriving"; here they are two
//! ([`Settings::keep_alive`] and [`Settings::header_timeout`]).
//!
//! hyper takes the end of the client's bytes for the client's end. A client that only shut its writing half still wants
//! its answer; one that is gone should not keep the upstream busy. Both look the same here, so the end of the bytes is
//! passed on after [`GRACE`] while an exchange is in progress.
//!
//! [`Settings::keep_alive`]: crate::Settings::keep_alive
//! [`Settings::header_timeout`]: crate::Settings::header_timeout

use std::{
    io,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

use super::{
    frames::Frames,
    stall,
    state::{ConnectionState, GRACE},
};
use crate::io::{pass_on::pass_on, timer::Timer};

/// The IO of a connection, with its timers.
pub(crate) struct Guarded<IO> {
    io: IO,
    state: Arc<ConnectionState>,
    header_timeout: Duration,
    keep_alive: Duration,
    phase: Phase,
    timer: Timer,
    begun: bool,
    /// The state has been marked as too slow.
    late: bool,
    http2: Option<Blocks>,
}

/// HTTP/2 has frames between requests (pings, settings), so a request is recognised by its header block.
struct Blocks {
    frames: Frames,
    /// Runs while a header block is unfinished, whatever else the connection does.
    timer: Option<Pin<Box<Sleep>>>,
    /// Runs from when the client got a GOAWAY.
    farewell: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A head is arriving (or, on a new connection, is expected).
    Head,
    /// Nothing is going on.
    Idle,
    /// An exchange is in progress.
    Busy,
    /// The client's bytes have ended in the middle of an exchange.
    Ended,
}

impl<IO> Guarded<IO> {
    pub(crate) fn new(io: IO, state: Arc<ConnectionState>, header_timeout: Duration, keep_alive: Duration) -> Self {
        let timer = Timer::new(header_timeout);
        Self {
            io,
            state,
            header_timeout,
            keep_alive,
            phase: Phase::Head,
            timer,
            begun: false,
            late: false,
            http2: None,
        }
    }

    /// From here on HTTP/2 is spoken; `preface_read`: whether its first bytes were already taken.
    pub(crate) fn speaks_http2(&mut self, preface_read: bool) {
        self.begun = false;
        self.http2 = Some(Blocks { frames: Frames::new(preface_read), timer: None, farewell: None });
    }

    /// The time for a header block is over.
    fn block_is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(Blocks { frames, timer, .. }) = &mut self.http2 else { return false };
        if !frames.unfinished() {
            *timer = None;
            return false;
        }
        let time = self.header_timeout;
        timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(time))).as_mut().poll(cx).is_ready()
    }

    /// The time is over. A client of HTTP/2 gets a GOAWAY before the connection is cut.
    fn late(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.late && (self.begun || self.state.head_begun.load(Ordering::Acquire)) {
            self.late = true;
            self.state.too_slow.store(true, Ordering::Release);
        }
        if let Some(blocks) = &mut self.http2 {
            self.state.leaving.store(true, Ordering::Release);
            let farewell = blocks.farewell.get_or_insert_with(|| Box::pin(tokio::time::sleep(GRACE)));
            ready!(farewell.as_mut().poll(cx));
        }
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "no request head in time")))
    }

    fn enter(&mut self, phase: Phase) {
        let time = match phase {
            Phase::Head => self.header_timeout,
            Phase::Idle => self.keep_alive,
            Phase::Ended => GRACE,
            Phase::Busy => {
                self.phase = phase;
                return;
            }
        };
        self.phase = phase;
        self.timer.set(time);
    }

    /// Looks at what came of a write.
    fn wrote(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            // A client that still reads the last answer is not idle. HTTP/2 also writes without a request.
            Poll::Ready(Ok(_)) if self.phase == Phase::Idle && self.http2.is_none() => self.enter(Phase::Idle),
            Poll::Ready(Ok(_)) if self.http2.is_some() => {
                self.state.taken.fetch_add(1, Ordering::Release);
            }
            Poll::Ready(Err(error)) if stall::is_stall(error) => self.state.stalled.store(true, Ordering::Release),
            _ => {}
        }
        written
    }

    fn follow(&mut self) {
        if self.phase == Phase::Ended {
            return;
        }
        if self.state.busy() {
            if self.phase != Phase::Busy {
                self.enter(Phase::Busy);
            }
        } else if self.phase == Phase::Busy
            || matches!(self.phase, Phase::Head | Phase::Idle) && self.state.head_done.load(Ordering::Acquire)
        {
            self.state.head_done.store(false, Ordering::Release);
            self.begun = false;
            // A pipelined head may have begun meanwhile.
            let begun = self.state.head_begun.load(Ordering::Acquire);
            self.enter(if begun { Phase::Head } else { Phase::Idle });
        }
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Guarded<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.state.tunnel.load(Ordering::Acquire) {
            return Pin::new(&mut this.io).poll_read(cx, buf);
        }
        this.follow();
        if this.phase == Phase::Ended {
            if this.state.busy() {
                ready!(this.timer.poll(cx));
            }
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        match Pin::new(&mut this.io).poll_read(cx, buf) {
            Poll::Ready(Ok(())) if buf.filled().len() == before => {
                if this.phase == Phase::Busy {
                    let _ = this.state.closed.set(Instant::now());
                    this.enter(Phase::Ended);
                    ready!(this.timer.poll(cx));
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(result) => {
                match &mut this.http2 {
                    Some(blocks) => {
                        blocks.frames.feed(&buf.filled()[before..]);
                        this.begun |= blocks.frames.unfinished();
                    }
                    None => {
                        this.begun |= matches!(this.phase, Phase::Head | Phase::Idle);
                        if this.phase == Phase::Idle {
                            this.enter(Phase::Head);
                        }
                    }
                }
                Poll::Ready(result)
            }
            Poll::Pending => {
                if this.block_is_late(cx) {
                    return this.late(cx);
                }
                if matches!(this.phase, Phase::Head | Phase::Idle) {
                    ready!(this.timer.poll(cx));
                    return this.late(cx);
                }
                Poll::Pending
            }
        }
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Guarded<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, buf);
        self.wrote(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        ready!(Pin::new(&mut this.io).poll_flush(cx))?;
        // hyper does not read again by itself once an answer is out, so the timer is started here.
        if !this.state.tunnel.load(Ordering::Acquire) {
            this.follow();
            if matches!(this.phase, Phase::Head | Phase::Idle) {
                let _ = this.timer.poll(cx);
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.wrote(written)
    }

    pass_on!(io: is_write_vectored, poll_shutdown);
}
