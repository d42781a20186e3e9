//! Connections to the upstream that wait for another request.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    thread::{self, ThreadId},
    time::Duration,
};

use http::{HeaderMap, HeaderName};
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
    kept: Mutex<Connections>,
}

#[derive(Debug, Default)]
struct Connections {
    idle: Vec<Connection>,
    /// At most one for each thread.
    shared: Vec<Connection>,
}

/// A client's connection, as the live upstream sees it. NTLM and Negotiate authenticate a connection, not a request (RFC
/// 4559, section 6; RFC 9110, section 3.3): from the first such field on, the client has a connection to the upstream for
/// itself, which ends with its own.
#[derive(Debug, Default)]
pub struct ClientConnection(Mutex<Option<Own>>);

/// The upstream's connection of one client, while it waits for another request.
#[derive(Debug, Default)]
struct Own(Option<Connection>);

impl ClientConnection {
    /// Looks at the credentials, or the challenges, of a message. Whether the client has a connection for itself.
    pub(super) fn is_bound(&self, headers: &HeaderMap, field: &HeaderName) -> bool {
        let mut own = self.lock();
        if own.is_none() && headers.get_all(field).iter().any(|value| authenticates_connections(value.as_bytes())) {
            *own = Some(Own::default());
        }
        own.is_some()
    }

    fn take(&self) -> Option<Connection> {
        self.lock().as_mut()?.0.take()
    }

    fn put(&self, connection: Connection) {
        if let Some(own) = &mut *self.lock() {
            own.0 = Some(connection);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Own>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether one of the schemes in a field authenticates its connection. A field can hold several challenges, with commas
/// between them and in them.
fn authenticates_connections(value: &[u8]) -> bool {
    let starts = std::iter::once(0).chain(memchr::memchr_iter(b',', value).map(|comma| comma + 1));
    starts.map(|start| value[start..].trim_ascii_start()).any(|part| {
        let scheme = part.split(|byte| matches!(byte, b' ' | b'\t' | b',')).next().unwrap_or_default();
        scheme.eq_ignore_ascii_case(b"NTLM") || scheme.eq_ignore_ascii_case(b"Negotiate")
    })
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
    /// enough: it goes out again if the connection turns out closed. An `owner` gets its own one only.
    pub(super) async fn take(&self, repeatable: bool, owner: Option<&ClientConnection>) -> Option<Connection> {
        let mut looked = repeatable;
        loop {
            let mut connection = owner.map_or_else(|| self.next(), ClientConnection::take)?;
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

    fn put(&self, mut connection: Connection, owner: Option<&ClientConnection>) {
        if connection.sender.is_http2() {
            return;
        }
        let now = Instant::now();
        connection.kept_since = Some(now);
        if let Some(owner) = owner {
            return owner.put(connection);
        }
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

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection in use by one exchange.
pub(super) struct Lease {
    pub(super) connection: Option<Connection>,
    pub(super) progress: Arc<Progress>,
    pub(super) pool: Arc<Pool>,
    /// The client whose connection this is, if it is not anybody's.
    pub(super) owner: Option<Arc<ClientConnection>>,
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
            self.pool.put(connection, self.owner.as_deref());
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.progress.over();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_that_authenticate_connections_are_recognised_among_others() {
        for value in ["NTLM", "ntlm TlRMTVNTUAAB", "Negotiate YII=", "Basic realm=\"a, b\", Negotiate", "Bearer,NTLM"] {
            assert!(authenticates_connections(value.as_bytes()), "{value}");
        }
        for value in ["", "Bearer negotiate", "Basic bnRsbTo=", "Negotiated x", "Digest realm=\"NTLM\""] {
            assert!(!authenticates_connections(value.as_bytes()), "{value}");
        }
    }
}
