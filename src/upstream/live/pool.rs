//! Connections to the upstream that wait for another request.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    thread::{self, ThreadId},
    time::Duration,
};

use hyper::client::conn::{http1, http2};
use tokio::time::Instant;

use super::{
    counted::Meter,
    sending::{Progress, Sending},
    settings::Limits,
};
use crate::io::timer::Timer;

/// Connections that wait for another request. One of HTTP/2 serves many at a time and is never taken out. Each serves
/// requests of its own thread only: the event loop that it was made in is the one that moves its bytes and its timer.
#[derive(Debug)]
pub(super) struct Pool {
    limits: Limits,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    idle: Vec<Connection>,
    /// At most one for each thread.
    shared: Vec<Connection>,
}

/// A connection, or a handle on a shared one.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) sender: Sender,
    /// What came in on it.
    pub(super) meter: Arc<Meter>,
    thread: ThreadId,
    /// Since when it has been in the pool, and once it is taken, when it was; `None` for a fresh one.
    pub(super) kept_since: Option<Instant>,
    /// Measures the upstream's silence.
    pub(super) timer: Option<Timer>,
}

/// The sending side, by protocol.
#[derive(Debug)]
pub(super) enum Sender {
    Http1(http1::SendRequest<Sending>),
    Http2(http2::SendRequest<Sending>),
}

impl Sender {
    pub(super) fn is_http2(&self) -> bool {
        matches!(self, Self::Http2(_))
    }

    fn is_closed(&self) -> bool {
        match self {
            Self::Http1(sender) => sender.is_closed(),
            Self::Http2(sender) => sender.is_closed(),
        }
    }

    async fn is_ready(&mut self) -> bool {
        match self {
            Self::Http1(sender) => sender.ready().await.is_ok(),
            Self::Http2(sender) => sender.ready().await.is_ok(),
        }
    }
}

impl Connection {
    /// A fresh one, of this thread.
    pub(super) fn new(sender: Sender, meter: Arc<Meter>) -> Self {
        Self { sender, meter, thread: thread::current().id(), kept_since: None, timer: None }
    }

    /// Another handle on it, if it is a shared one.
    fn handle(&self) -> Option<Self> {
        let Sender::Http2(sender) = &self.sender else { return None };
        let (sender, meter) = (Sender::Http2(sender.clone()), Arc::clone(&self.meter));
        Some(Self { sender, meter, thread: self.thread, kept_since: Some(Instant::now()), timer: None })
    }
}

impl Pool {
    /// An empty one.
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, kept: Mutex::default() }
    }

    /// A kept connection that is not known to be closed. For a request that is `repeatable` what is known already is
    /// enough: it goes out again if the connection turns out closed.
    pub(super) async fn take(&self, repeatable: bool) -> Option<Connection> {
        let mut looked = repeatable;
        loop {
            let mut connection = self.next()?;
            let now = Instant::now();
            if connection.kept_since.is_none_or(|since| now.saturating_duration_since(since) > self.limits.idle) {
                continue;
            }
            connection.kept_since = Some(now);
            if !looked {
                // Lets the reactor report which connections were closed meanwhile.
                tokio::task::yield_now().await;
                looked = true;
            }
            if !connection.sender.is_closed() && connection.sender.is_ready().await {
                return Some(connection);
            }
        }
    }

    fn next(&self) -> Option<Connection> {
        let here = thread::current().id();
        let mut kept = self.lock();
        kept.shared.retain(|shared| !shared.sender.is_closed());
        if let Some(shared) = kept.shared.iter().find(|shared| shared.thread == here) {
            return shared.handle();
        }
        let last = kept.idle.iter().rposition(|idle| idle.thread == here)?;
        Some(kept.idle.remove(last))
    }

    /// Lets others use a fresh connection of HTTP/2 too.
    pub(super) fn share(&self, connection: &Connection) {
        if let Some(shared) = connection.handle() {
            let mut kept = self.lock();
            kept.shared.retain(|held| held.thread != shared.thread);
            kept.shared.push(shared);
        }
    }

    /// Takes this shared connection out of use: an answer did not come on it, for an unknown reason.
    pub(super) fn forget(&self, connection: &Connection) {
        self.lock().shared.retain(|shared| !Arc::ptr_eq(&shared.meter, &connection.meter));
    }

    fn put(&self, mut connection: Connection) {
        if connection.sender.is_http2() {
            return;
        }
        let now = Instant::now();
        connection.kept_since = Some(now);
        let mut kept = self.lock();
        // What is too old for its own thread takes no room from the others. It was put first.
        let is_young = |other: &Connection| {
            other.kept_since.is_some_and(|since| now.saturating_duration_since(since) <= self.limits.idle)
        };
        let young = kept.idle.iter().position(is_young).unwrap_or(kept.idle.len());
        kept.idle.drain(..young);
        if kept.idle.len() >= self.limits.kept {
            kept.idle.retain(|other| !other.sender.is_closed());
        }
        if kept.idle.len() < self.limits.kept && !connection.sender.is_closed() {
            kept.idle.push(connection);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection in use by one exchange.
pub(super) struct Lease {
    pub(super) connection: Option<Connection>,
    pub(super) progress: Arc<Progress>,
    pub(super) pool: Arc<Pool>,
}

impl Lease {
    /// How long the upstream may be silent.
    pub(super) fn silence(&self) -> Duration {
        self.pool.limits.silence
    }

    /// The response is whole; if the request was too, the connection can serve another one.
    pub(super) fn give_back(mut self) {
        if self.progress.done.load(Ordering::Acquire)
            && let Some(connection) = self.connection.take()
        {
            self.pool.put(connection);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.progress.over();
    }
}
