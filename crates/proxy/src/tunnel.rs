//! Bytes that pass both ways unseen: a tunnel, or a connection after its protocol was switched.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf, copy_bidirectional},
    sync::watch,
    time::Instant,
};

use super::shutdown;
use crate::io::{clock::Clock, pass_on::pass_on, timer::Timer};

/// The two sides of a connection whose protocol is being switched.
#[derive(Debug, Clone)]
pub(crate) struct Switch {
    pub(super) client: OnUpgrade,
    pub(super) upstream: OnUpgrade,
}

impl Switch {
    /// Passes bytes both ways once both sides are ready. See [`pass`].
    pub(crate) async fn run(self, silence: Duration, stop: watch::Receiver<bool>) {
        match (self.client.await, self.upstream.await) {
            (Ok(client), Ok(upstream)) => pass(TokioIo::new(client), TokioIo::new(upstream), silence, stop).await,
            (Err(error), _) | (_, Err(error)) => tracing::debug!(%error, "a protocol was not switched after all"),
        }
    }
}

/// Passes bytes both ways, unseen, until both sides ended, nothing moved for `silence`, or contrail stops.
pub(crate) async fn pass<A, B>(client: A, target: B, silence: Duration, mut stop: watch::Receiver<bool>)
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let (clock, mut timer) = (Arc::new(Clock::new(Instant::now())), Timer::new(silence));
    let mut client = Watched { io: client, clock: Arc::clone(&clock) };
    let mut target = Watched { io: target, clock: Arc::clone(&clock) };
    tokio::select! {
        ended = copy_bidirectional(&mut client, &mut target) => {
            if let Err(error) = ended {
                tracing::debug!(%error, "a tunnel ended early");
            }
            return;
        }
        () = clock.silent(silence, &mut timer) => tracing::debug!("a tunnel was silent for --tunnel-timeout"),
        () = shutdown::stopped(&mut stop) => {}
    }
    let _ = client.shutdown().await;
}

/// An IO that reports each byte that moves to the clock.
struct Watched<IO> {
    io: IO,
    clock: Arc<Clock>,
}

impl<IO: AsyncRead + Unpin> AsyncRead for Watched<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        self.clock.moved();
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Watched<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write(cx, buf))?;
        self.clock.moved();
        Poll::Ready(Ok(written))
    }

    pass_on!(io: poll_flush, poll_shutdown);
}
