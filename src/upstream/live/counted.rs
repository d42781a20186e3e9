//! Counts what is read, so that "not one byte of an answer" can be told.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::upstream::pass_on::pass_on;

/// An IO with a count of the bytes that came in.
pub(super) struct Counted<IO> {
    pub(super) io: IO,
    pub(super) reads: Arc<AtomicU64>,
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
    pass_on!(io: poll_write, poll_write_vectored, is_write_vectored, poll_flush, poll_shutdown);
}
