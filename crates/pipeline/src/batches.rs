//! The exchanges that ended in one turn of an event loop, until the turn ends.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ThreadId},
};

use contrail_exchange::{Body, Exchange, Headers};
use contrail_proxy::{Committed, Completed, metrics::Exchanges, upstream::Problem};
use contrail_recording::EntryBatch;
use http::header::CONTENT_ENCODING;
use tokio::sync::{Notify, oneshot};

use super::{console::LineStart, journal::Encode};

/// Who waits for an exchange to be recorded.
#[derive(Debug)]
pub(super) struct Waiting {
    end: oneshot::Sender<Result<(), Problem>>,
    /// Why the response does not pass, though it is recorded.
    pub(super) refused: Option<Box<Problem>>,
}

impl Waiting {
    /// Waits with what is given.
    pub(super) fn new() -> (Self, Committed) {
        let (end, written) = oneshot::channel();
        (Self { end, refused: None }, Committed::when(written))
    }

    /// It is recorded, or will not be.
    pub(super) fn answer(self, recorded: Result<(), Problem>) {
        let refused = self.refused.map_or(Ok(()), |problem| Err(*problem));
        let _ = self.end.send(recorded.and(refused));
    }

    /// Whether its client has gone.
    pub(super) fn is_gone(&self) -> bool {
        self.end.is_closed()
    }
}

/// An exchange that ended and is not judged yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) ended: Completed,
    pub(super) waiting: Option<Waiting>,
}

/// Exchanges that are taken up without waiting for the turn's end: the first of them waits for the last, and more in
/// one batch gain nothing.
pub(super) const MAX_PENDING: usize = 32;

/// Bytes of bodies that may wait for the turn's end.
pub(super) const MAX_BYTES: usize = 4 << 20;

/// How many times its size a coded body is taken for, from this size on.
const EXPANSION: usize = 8;
const MIN_EXPANDED: usize = 4 << 10;

/// The batch of one event loop.
#[derive(Debug, Default)]
pub(super) struct Batch {
    notify: Notify,
    queue: Mutex<Queue>,
    /// Its event loop takes up what ends on it, so that something may be left to it.
    runs: AtomicBool,
    /// What was taken is judged.
    idle: Condvar,
    /// What was counted of its exchanges; its own thread takes the lock once per batch, a scrape once.
    exchanges: Mutex<Exchanges>,
    outgoing: Mutex<Outgoing>,
}

/// What a batch becomes; no other event loop waits for it.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// `None` until there are entries.
    pub(super) encoder: Option<Box<dyn Encode>>,
    pub(super) entries: EntryBatch,
    pub(super) lines: Vec<u8>,
    /// Where the lines of exchanges begin.
    pub(super) starts: Vec<LineStart>,
    /// Exchanges whose lines are in `lines`, or have none.
    pub(super) exchanges: u64,
}

#[derive(Debug, Default)]
struct Queue {
    pending: Vec<Pending>,
    bytes: usize,
    /// A thread judges what was taken. What ends meanwhile may hold secrets of it, and waits.
    busy: bool,
    /// The event loop cannot judge what is pending without holding up others.
    heavy: bool,
}

/// While it lives, what ends on the event loop waits.
#[derive(Debug)]
pub(super) struct Busy(Arc<Batch>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.queue().busy = false;
        self.0.idle.notify_all();
        self.0.wake();
    }
}

/// Bytes of the bodies of an exchange, as what they are taken for.
fn weight(exchange: &Exchange) -> usize {
    let weigh = |headers: &Headers, body: &Body| {
        let length = body.content.len();
        let expands = length >= MIN_EXPANDED && headers.contains(CONTENT_ENCODING.as_str());
        if expands { length.saturating_mul(EXPANSION) } else { length }
    };
    let response = exchange.response.as_ref().map_or(0, |response| weigh(&response.headers, &response.body));
    response.saturating_add(weigh(&exchange.request.headers, &exchange.request.body))
}

impl Batch {
    /// Whether an exchange has to wait until a thread has judged it or what came before it: its bodies are larger than
    /// `inline`, or not all that judging needs is `prepared`.
    pub(super) fn defers(&self, exchange: &Exchange, inline: usize, prepared: impl Fn() -> bool) -> bool {
        self.runs.load(Ordering::Relaxed)
            && (weight(exchange) > inline || !prepared() || {
                let queue = self.queue();
                queue.busy || queue.heavy
            })
    }

    /// Whether the batch is full. `heavy`: see [`Self::defers`].
    pub(super) fn add(&self, pending: Pending, heavy: bool) -> bool {
        let weight = weight(&pending.ended.exchange);
        let mut queue = self.queue();
        queue.bytes = queue.bytes.saturating_add(weight);
        queue.heavy |= heavy;
        queue.pending.push(pending);
        queue.pending.len() >= MAX_PENDING || queue.bytes >= MAX_BYTES
    }

    /// Its exchanges, in the order in which they ended; `None` where its event loop is not to judge them.
    pub(super) fn take_light(&self) -> Option<Vec<Pending>> {
        let mut queue = self.queue();
        (!queue.busy && !queue.heavy).then(|| queue.take())
    }

    /// Its exchanges, whatever they weigh, once nothing that came before them is being judged. What ends from now on
    /// waits for them.
    pub(super) fn take_all(self: &Arc<Self>) -> (Vec<Pending>, Busy) {
        let queue = self.idle.wait_while(self.queue(), |queue| queue.busy);
        let mut queue = queue.unwrap_or_else(PoisonError::into_inner);
        queue.busy = true;
        (queue.take(), Busy(Arc::clone(self)))
    }

    /// There is something to take up or to write.
    pub(super) fn wake(&self) {
        self.notify.notify_one();
    }

    /// Resolves when there is.
    pub(super) async fn notified(&self) {
        self.notify.notified().await;
    }

    /// The counters of its exchanges.
    pub(super) fn exchanges(&self) -> MutexGuard<'_, Exchanges> {
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its output: entries and lines of the console.
    pub(super) fn outgoing(&self) -> MutexGuard<'_, Outgoing> {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn take(&mut self) -> Vec<Pending> {
        (self.bytes, self.heavy) = (0, false);
        std::mem::take(&mut self.pending)
    }
}

/// The batches of all event loops, by thread: an exchange waits for no other thread than its own.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// What ends on a thread that takes nothing up is taken up by the first one that does.
    first: Arc<Batch>,
    /// Those that do, the first one first. The list only grows, and is read without a lock.
    loops: OnceLock<Box<EventLoop>>,
}

/// A thread that takes up what ends on it.
#[derive(Debug)]
struct EventLoop {
    thread: ThreadId,
    batch: Arc<Batch>,
    next: OnceLock<Box<EventLoop>>,
}

impl Batches {
    /// From now on this thread's event loop takes up what ends on it.
    pub(super) fn begin(&self) -> Arc<Batch> {
        let here = thread::current().id();
        let (mut place, mut batch) = (&self.loops, Arc::clone(&self.first));
        let turn = loop {
            let found = place.get_or_init(|| Box::new(EventLoop { thread: here, batch, next: OnceLock::new() }));
            if found.thread == here {
                break Arc::clone(&found.batch);
            }
            (place, batch) = (&found.next, Arc::default());
        };
        turn.runs.store(true, Ordering::Relaxed);
        // For what came before there was anybody.
        turn.wake();
        turn
    }

    /// The batch of this thread's event loop.
    pub(super) fn here(&self) -> &Arc<Batch> {
        if self.are_several() {
            let here = thread::current().id();
            if let Some(found) = self.loops().find(|found| found.thread == here) {
                return &found.batch;
            }
        }
        &self.first
    }

    /// Whether there are several event loops.
    pub(super) fn are_several(&self) -> bool {
        self.loops.get().is_some_and(|first| first.next.get().is_some())
    }

    /// The batches of all of them, the first one's even before it is there.
    pub(super) fn each(&self) -> impl Iterator<Item = &Arc<Batch>> {
        std::iter::once(&self.first).chain(self.loops().skip(1).map(|found| &found.batch))
    }

    fn loops(&self) -> impl Iterator<Item = &EventLoop> {
        std::iter::successors(self.loops.get(), |found| found.next.get()).map(|found| &**found)
    }
}
