//! State that the layers around a client's socket share with its requests.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::Poll,
    time::{Duration, Instant},
};

use super::{fault::RequestFault, head::HeadFacts, informational::InformationalQueue, stall};
use crate::{tunnel::Switch, upstream::live::ClientConnection};

/// How long an exchange in progress may go on after the client's last byte, and a connection of HTTP/2 after its client
/// got a GOAWAY.
pub(super) const GRACE: Duration = Duration::from_millis(750);

/// What a connection's layers and its requests share.
#[derive(Debug, Default)]
pub(crate) struct ConnectionState {
    in_flight: AtomicUsize,
    pub(super) head_done: AtomicBool,
    /// For each head that was read and not yet taken up: its fault, or what is known of it.
    heads: Mutex<VecDeque<Result<HeadFacts, RequestFault>>>,
    /// The begin of a head over HTTP/1 is here.
    pub(super) head_begun: AtomicBool,
    /// A head began and did not end in time.
    pub(super) too_slow: AtomicBool,
    /// No more requests come: the bytes are of a tunnel.
    pub(super) tunnel: AtomicBool,
    /// The client took nothing of what was there for it.
    pub(super) stalled: AtomicBool,
    /// A connection of HTTP/2 is over; its client gets a GOAWAY before it is cut.
    pub(super) leaving: AtomicBool,
    /// How often the client took bytes.
    pub(super) taken: AtomicUsize,
    upgrade: Mutex<Upgrade>,
    /// When the client's bytes ended in the middle of an exchange.
    pub(super) closed: OnceLock<Instant>,
    /// What the upstream keeps for this client alone.
    pub(crate) client: Arc<ClientConnection>,
    informational: InformationalQueue,
}

/// The state of a request for another protocol.
#[derive(Debug, Default)]
struct Upgrade {
    /// Whether the protocol is switched, once it is answered.
    accepted: Option<bool>,
    /// Bytes came behind it before it was answered.
    early: bool,
    switch: Option<Switch>,
}

/// Exists as long as an exchange is in progress on its connection.
#[derive(Debug)]
pub(crate) struct InFlight {
    state: Arc<ConnectionState>,
    /// What is known of its request.
    pub(crate) facts: HeadFacts,
}

impl ConnectionState {
    /// A request head with these facts has arrived.
    pub(crate) fn begin(self: &Arc<Self>, facts: HeadFacts) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        self.head_done.store(true, Ordering::Release);
        InFlight { state: Arc::clone(self), facts }
    }

    /// A head was read, and has this fault, or none; then this is known of it.
    pub(crate) fn head(&self, read: Result<HeadFacts, RequestFault>) {
        if read.is_ok_and(|facts| facts.asks_upgrade) {
            *self.upgrade() = Upgrade::default();
        }
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).push_back(read);
    }

    /// The result that [`Self::head`] noted of the next head; called once for each.
    pub(crate) fn next_head(&self) -> Result<HeadFacts, RequestFault> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or(Ok(HeadFacts::default()))
    }

    /// When the client closed its side in the middle of an exchange, if it did.
    pub(crate) fn client_closed(&self) -> Option<Instant> {
        self.closed.get().copied()
    }

    /// Resolves within [`GRACE`] of that, so that the client can still get its answer.
    pub(crate) async fn until_client_closes(&self) {
        while self.client_closed().is_none() {
            tokio::time::sleep(GRACE / 16).await;
        }
    }

    fn upgrade(&self) -> MutexGuard<'_, Upgrade> {
        self.upgrade.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes came behind a request for another protocol, before it was answered.
    pub(crate) fn came_early(&self) {
        self.upgrade().early = true;
    }

    /// If such a request is answered: whether the protocol is switched.
    pub(crate) fn accepted(&self) -> Option<bool> {
        self.upgrade().accepted
    }

    /// Such a request is answered, and the protocol is switched.
    pub(crate) fn switch(&self, switch: Switch) {
        let mut upgrade = self.upgrade();
        upgrade.accepted = Some(true);
        upgrade.switch = Some(switch);
        drop(upgrade);
        self.tunnels();
    }

    /// Such a request is answered, and the protocol stays. Tells whether bytes came early.
    pub(crate) fn keep_protocol(&self) -> bool {
        let mut upgrade = self.upgrade();
        upgrade.accepted = Some(false);
        upgrade.early
    }

    /// What the connection goes on as after its last request.
    pub(crate) fn goes_on_as(&self) -> Option<Switch> {
        self.upgrade().switch.take()
    }

    /// From here on the timers between requests rest.
    pub(crate) fn tunnels(&self) {
        self.tunnel.store(true, Ordering::Release);
    }

    /// Whether the begin of a head over HTTP/1 is here.
    pub(crate) fn head_begun(&self, begun: bool) {
        self.head_begun.store(begun, Ordering::Release);
    }

    /// Whether the connection ends because a head did not arrive in time; reported once.
    pub(crate) fn was_too_slow(&self) -> bool {
        self.too_slow.swap(false, Ordering::AcqRel)
    }

    /// Resolves when the connection is over and its client gets a GOAWAY. For the task that drives the connection, to
    /// be polled after it.
    pub(crate) fn leaving(&self) -> impl Future<Output = ()> {
        poll_fn(|_| if self.leaving.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending })
    }

    /// Informational responses that wait to be written.
    pub(crate) fn informational(&self) -> &InformationalQueue {
        &self.informational
    }

    /// Resolves when nothing was in progress for [`GRACE`], and the client took nothing: a client that neither reads
    /// nor answers does not keep a connection without streams. Exchanges in progress are not cut, nor what still goes
    /// out.
    pub(crate) async fn quiet(&self) {
        let mut taken = self.taken.load(Ordering::Acquire);
        loop {
            tokio::time::sleep(GRACE).await;
            let before = std::mem::replace(&mut taken, self.taken.load(Ordering::Acquire));
            if !self.busy() && taken == before {
                return;
            }
        }
    }

    pub(super) fn busy(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) > 0
    }
}

impl InFlight {
    /// Whether its connection, or its stream, ends because the client took nothing of the answer.
    pub(crate) fn stalled(&self) -> bool {
        self.state.stalled.load(Ordering::Acquire) || stall::stream_stalled()
    }

    /// Its connection.
    pub(crate) fn state(&self) -> &Arc<ConnectionState> {
        &self.state
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.state.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}
