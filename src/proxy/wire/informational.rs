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

/// Most bytes of interim answers to one request; no more go on.
const MOST: usize = 64 << 10;

/// The interim answers of a connection.
#[derive(Debug, Default)]
pub(in crate::proxy) struct Interim {
    waiting: Mutex<Waiting>,
    /// A request is with the upstream.
    pub(super) open: AtomicBool,
    /// There are bytes to write.
    pending: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Which request of the connection.
    turn: u64,
    bytes: BytesMut,
    /// Bytes of all interim answers to it.
    total: usize,
    pub(super) waker: Option<Waker>,
}

impl Interim {
    pub(super) fn waiting(&self) -> MutexGuard<'_, Waiting> {
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

    pub(in crate::proxy) fn inform(&self, turn: u64, status: StatusCode, headers: &HeaderMap) {
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
