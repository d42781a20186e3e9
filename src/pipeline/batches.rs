//! The exchanges that ended in one turn of an event loop, until the turn ends.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
};

use tokio::sync::{Notify, oneshot};

use crate::{
    proxy::{Committed, Completed},
    upstream::Problem,
};

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
    pub(super) fn tell(self, recorded: Result<(), Problem>) {
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

/// Exchanges that are taken up without waiting for the turn's end: the first of them waits for the last, and more in one
/// batch gain nothing.
pub(super) const MAX_PENDING: usize = 32;

/// Bytes of bodies that may wait for the turn's end.
pub(super) const MAX_BYTES: usize = 4 << 20;

/// The batch of one event loop.
#[derive(Debug, Default)]
pub(super) struct Batch {
    notify: Notify,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    pending: Vec<Pending>,
    bytes: usize,
}

impl Batch {
    /// Whether the batch is full.
    pub(super) fn add(&self, pending: Pending) -> bool {
        let exchange = &pending.ended.exchange;
        let response = exchange.response.as_ref().map_or(0, |response| response.body.content.len());
        let mut queue = self.queue();
        queue.bytes += exchange.request.body.content.len() + response;
        queue.pending.push(pending);
        queue.pending.len() >= MAX_PENDING || queue.bytes >= MAX_BYTES
    }

    /// Its exchanges, in the order in which they ended.
    pub(super) fn take(&self) -> Vec<Pending> {
        std::mem::take(&mut *self.queue()).pending
    }

    /// There is something to take up or to write.
    pub(super) fn wake(&self) {
        self.notify.notify_one();
    }

    /// Resolves when there is.
    pub(super) async fn notified(&self) {
        self.notify.notified().await;
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The batches of all event loops, by thread: an exchange waits for no other thread than its own.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// What ends on a thread that takes nothing up is taken up by the first one that does.
    first: Arc<Batch>,
    /// Those that do, the first one first.
    all: Mutex<Vec<(ThreadId, Arc<Batch>)>>,
}

impl Batches {
    /// From now on this thread's event loop takes up what ends on it.
    pub(super) fn begin(&self) -> Arc<Batch> {
        let mut all = self.all();
        let here = thread::current().id();
        if !all.iter().any(|(thread, _)| *thread == here) {
            let turn = if all.is_empty() { Arc::clone(&self.first) } else { Arc::default() };
            all.push((here, turn));
        }
        drop(all);
        let turn = self.here();
        // For what came before there was anybody.
        turn.wake();
        turn
    }

    /// The batch of this thread's event loop.
    pub(super) fn here(&self) -> Arc<Batch> {
        let all = self.all();
        if all.len() > 1 {
            let here = thread::current().id();
            if let Some((_, turn)) = all.iter().find(|(thread, _)| *thread == here) {
                return Arc::clone(turn);
            }
        }
        Arc::clone(&self.first)
    }

    /// Whether there are several event loops.
    pub(super) fn are_several(&self) -> bool {
        self.all().len() > 1
    }

    /// The batches of all of them, the first one's even before it is there.
    pub(super) fn each(&self) -> Vec<Arc<Batch>> {
        let mut each = vec![Arc::clone(&self.first)];
        each.extend(self.all().iter().skip(1).map(|(_, turn)| Arc::clone(turn)));
        each
    }

    fn all(&self) -> MutexGuard<'_, Vec<(ThreadId, Arc<Batch>)>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
