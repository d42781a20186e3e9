//! Counts received bytes: it shows whether any byte of an answer came, and bounds what comes before an answer.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::io::pass_on::pass_on;

/// Maximum bytes before an answer's body: its head, and informational responses (1xx), which hyper does not bound.
const MAX_AHEAD: u64 = 1 << 20;

/// Maximum bytes of the begin of an answer that are kept.
const MAX_BEGIN: usize = 2048;

/// What came in on a connection.
#[derive(Debug)]
pub(super) struct Meter {
    read: AtomicU64,
    /// What `read` may come to.
    most: AtomicU64,
    /// How the answer begins, for a message about a head that cannot be read.
    begin: Mutex<Vec<u8>>,
}

impl Meter {
    pub(super) fn new() -> Self {
        Self { read: AtomicU64::new(0), most: AtomicU64::new(u64::MAX), begin: Mutex::default() }
    }

    /// How many bytes.
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Acquire)
    }

    /// An answer is expected from here on.
    pub(super) fn expect(&self) {
        self.most.store(self.read() + MAX_AHEAD, Ordering::Release);
        self.lock().clear();
    }

    /// How the answer begins that is expected.
    pub(super) fn begin(&self) -> Vec<u8> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.begin.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is here; its body may have any length.
    pub(super) fn answered(&self) {
        self.most.store(u64::MAX, Ordering::Release);
    }
}

/// An IO with a count of the bytes that came in.
pub(super) struct Counted<IO> {
    pub(super) io: IO,
    pub(super) meter: Arc<Meter>,
}

impl<IO: AsyncRead + Unpin> AsyncRead for Counted<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = ready!(Pin::new(&mut self.io).poll_read(cx, buf));
        let more = (buf.filled().len() - before) as u64;
        // Only this task writes it.
        let read = self.meter.read() + more;
        self.meter.read.store(read, Ordering::Release);
        let most = self.meter.most.load(Ordering::Acquire);
        if most != u64::MAX {
            let mut begin = self.meter.lock();
            let room = MAX_BEGIN - begin.len();
            let came = &buf.filled()[before..];
            begin.extend_from_slice(&came[..came.len().min(room)]);
        }
        if read > most {
            let error = "it sent too many interim responses (1xx) and no final response";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
        }
        Poll::Ready(result)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Counted<IO> {
    pass_on!(io: poll_write, poll_write_vectored, is_write_vectored, poll_flush, poll_shutdown);
}
