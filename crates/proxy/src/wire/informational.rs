//! Informational answers (1xx) that wait to be written to a client of HTTP/1.1.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
};

use bytes::BytesMut;
use http::{HeaderMap, StatusCode, header};

/// Maximum bytes of informational responses to one request; later ones are dropped.
const MAX_BYTES: usize = 64 << 10;

/// The informational responses of a connection.
#[derive(Debug, Default)]
pub(crate) struct InformationalQueue {
    waiting: Mutex<Waiting>,
    /// A request is with the upstream.
    pub(super) open: AtomicBool,
    /// There are bytes to write.
    pending: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Which request of the connection.
    request_seq: u64,
    bytes: BytesMut,
    /// Bytes of all informational responses to it.
    total: usize,
    pub(super) waker: Option<Waker>,
}

impl InformationalQueue {
    pub(super) fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request goes to the upstream; its informational responses carry this number.
    pub(crate) fn begin(&self) -> u64 {
        let mut waiting = self.waiting();
        waiting.request_seq += 1;
        waiting.total = 0;
        self.open.store(true, Ordering::Release);
        waiting.request_seq
    }

    /// Its answer is here.
    pub(crate) fn end(&self) {
        let waiting = self.waiting();
        self.open.store(false, Ordering::Release);
        drop(waiting);
    }

    pub(crate) fn inform(&self, request_seq: u64, status: StatusCode, headers: &HeaderMap) {
        let mut waiting = self.waiting();
        if waiting.request_seq != request_seq || !self.open.load(Ordering::Acquire) {
            return;
        }
        let before = waiting.bytes.len();
        write_head(status, headers, &mut waiting.bytes);
        waiting.total += waiting.bytes.len() - before;
        if waiting.total > MAX_BYTES {
            waiting.bytes.truncate(before);
            return;
        }
        self.pending.store(true, Ordering::Release);
        if let Some(waker) = waiting.waker.take() {
            waker.wake();
        }
    }

    pub(super) fn take(&self) -> BytesMut {
        if !self.pending.swap(false, Ordering::AcqRel) {
            return BytesMut::new();
        }
        self.waiting().bytes.split()
    }
}

fn write_head(status: StatusCode, headers: &HeaderMap, out: &mut BytesMut) {
    let reason = status.canonical_reason().unwrap_or_default();
    out.extend_from_slice(format!("HTTP/1.1 {} {reason}\r\n", status.as_u16()).as_bytes());
    for (name, value) in headers {
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
