//! The queue between the event loops and the thread that sends.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::record::Record;

/// Spans of one request.
pub(super) const BATCH: usize = 512;

/// Bytes of records that end a batch early: receivers bound their requests.
const BATCH_BYTES: usize = 1 << 20;

/// Records that wait, within a bound. A lock is held for no more than a push.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    limit: usize,
    enough: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    records: VecDeque<Record>,
    /// Bytes of them, and of those that are being sent.
    bytes: usize,
    /// How many are being sent.
    sending: usize,
    is_closed: bool,
}

/// Why a record is not in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unqueued {
    /// There is no room at present, or nothing is taken any more.
    NoRoom,
    /// There never is room for it.
    TooLarge,
}

impl Queue {
    /// One of at most so many bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { waiting: Mutex::default(), limit, enough: Notify::new() }
    }

    /// Adds a record.
    pub(super) fn push(&self, record: Record) -> Result<(), Unqueued> {
        let weight = record.weight();
        if weight > self.limit {
            return Err(Unqueued::TooLarge);
        }
        let mut waiting = self.lock();
        if waiting.is_closed || waiting.bytes + weight > self.limit {
            return Err(Unqueued::NoRoom);
        }
        waiting.bytes += weight;
        waiting.records.push_back(record);
        let is_enough = waiting.records.len() == BATCH;
        drop(waiting);
        // To wake another thread takes a system call, so once per batch.
        if is_enough {
            self.enough.notify_one();
        }
        Ok(())
    }

    /// Resolves when there is a batch.
    pub(super) async fn is_enough(&self) {
        self.enough.notified().await;
    }

    /// The next batch and its weight. It counts until it is [settled](Self::settle).
    pub(super) fn take(&self) -> (Vec<Record>, usize) {
        let mut waiting = self.lock();
        let (mut batch, mut weight) = (Vec::new(), 0);
        while batch.len() < BATCH && weight < BATCH_BYTES {
            let Some(record) = waiting.records.pop_front() else { break };
            weight += record.weight();
            batch.push(record);
        }
        waiting.sending = batch.len();
        (batch, weight)
    }

    /// What was taken is sent, or refused.
    pub(super) fn settle(&self, weight: usize) {
        let mut waiting = self.lock();
        waiting.bytes -= weight;
        waiting.sending = 0;
    }

    /// Takes nothing any more; how many will never be sent.
    pub(super) fn close(&self) -> usize {
        let mut waiting = self.lock();
        waiting.is_closed = true;
        let left = waiting.records.len() + std::mem::take(&mut waiting.sending);
        waiting.records.clear();
        left
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
