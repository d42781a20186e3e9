//! Writing a batch of entries, and syncing it under `--durable`.

use std::{io, sync::PoisonError, time::Instant};

use super::{
    batches::Waiting,
    console,
    disk::unrecorded,
    run::{Pipeline, RunState},
};
use crate::upstream::Problem;

/// Bytes of entries that are written at once, without waiting for the turn of the event loop to end.
pub(super) const MAX_QUEUED: usize = 4 << 20;

impl Pipeline {
    pub(super) fn write_out(&self) {
        let mut state = self.lock();
        let state = &mut *state;
        self.write(state);
        if !state.line_batch.is_empty() {
            self.console.push(&mut state.line_batch);
        }
    }

    /// Gives the batch of entries to the kernel, and releases those who wait for no more than that.
    pub(super) fn write(&self, state: &mut RunState) {
        let Some(journal) = state.journal.as_mut().filter(|_| std::mem::take(&mut state.journal_batch)) else { return };
        let queue = &mut state.counts.queue;
        queue.most_bytes = queue.most_bytes.max(journal.queued());
        queue.most_exchanges = queue.most_exchanges.max(state.waiting.len() + state.disk.syncing.len());
        queue.writes += 1;
        let begun = Instant::now();
        let written = journal.write();
        let took = begun.elapsed();
        queue.slowest = queue.slowest.max(took);
        if let Some(metrics) = &self.metrics {
            metrics.journal.wrote(took);
        }
        for alarm in journal.alarms() {
            console::alarm(&mut state.line_batch, self.lines, &alarm, None);
        }
        if let Err(error) = written {
            return self.lost(state, &error);
        }
        if let Some(metrics) = self.metrics.as_ref().filter(|_| !state.disk.sync_failed) {
            metrics.journal.works();
        }
        if !self.durable {
            self.recorded(state.waiting.len());
            release(&mut state.waiting, &Ok(()));
            return;
        }
        if !state.disk.sync_failed {
            state.disk.refusing = None;
        }
        // Those whose client has gone already wait for nothing.
        let all = state.waiting.len();
        state.waiting.retain(|waiting| !waiting.is_gone());
        self.recorded(all - state.waiting.len());
        state.disk.syncing.append(&mut state.waiting);
        state.disk.sync_wanted = true;
        self.to_sync.notify_one();
    }

    /// A batch is not in the journal.
    fn lost(&self, state: &mut RunState, error: &io::Error) {
        state.counts.unwritten += state.waiting.len() as u64;
        if let Some(metrics) = &self.metrics {
            metrics.journal.lost(state.waiting.len());
            metrics.journal.fails(&error.to_string());
        }
        self.alarm(state, error);
        let answer = if self.durable { Err(state.disk.refuse(error.to_string())) } else { Ok(()) };
        release(&mut state.waiting, &answer);
    }

    /// Counts entries that are as safe as they will be.
    fn recorded(&self, entries: usize) {
        if let Some(metrics) = &self.metrics {
            metrics.journal.recorded(entries);
        }
    }

    /// Writes a journal again that could not be written: with the next batch, or now the line that states what was
    /// lost.
    pub fn write_again(&self) {
        let mut state = self.lock();
        state.journal_batch = true;
        self.write(&mut state);
    }

    /// Reports once that the journal cannot be written.
    fn alarm(&self, state: &mut RunState, error: &io::Error) {
        if state.counts.journal_error.is_some() {
            return;
        }
        state.counts.journal_error = Some(error.to_string());
        let alarm = if self.durable {
            "the journal cannot be written; requests get 503 until it can (--durable)"
        } else {
            "the journal cannot be written; traffic continues unrecorded"
        };
        tracing::error!(%error, "{alarm}");
        let mut line = Vec::new();
        console::alarm(&mut line, self.lines, alarm, Some(error));
        self.console.insist(&line);
    }

    /// The work of the syncing thread: one sync for all exchanges that were written since the one before.
    pub(super) fn sync_batches(&self) {
        let mut state = self.lock();
        loop {
            if !std::mem::take(&mut state.disk.sync_wanted) {
                if state.disk.closing {
                    return;
                }
                state = self.to_sync.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let mut waiting = std::mem::take(&mut state.disk.syncing);
            let sync = state.journal.as_mut().map(|journal| journal.unsynced());
            drop(state);
            let begun = Instant::now();
            let synced = sync.map_or(Ok(()), |sync| sync());
            let took = begun.elapsed();
            state = self.lock();
            state.counts.queue.syncs += 1;
            state.counts.queue.slowest = state.counts.queue.slowest.max(took);
            if let Some(metrics) = &self.metrics {
                metrics.journal.synced(took);
            }
            let answer = match synced {
                Ok(()) if !state.disk.sync_failed => Ok(()),
                Ok(()) => Err(unrecorded(state.disk.refusing.as_deref().unwrap_or_default())),
                Err(error) => {
                    state.disk.sync_failed = true;
                    self.alarm(&mut state, &error);
                    let reason = format!("{error}; restart contrail once the disk is repaired");
                    if let Some(metrics) = &self.metrics {
                        metrics.journal.fails(&reason);
                    }
                    Err(state.disk.refuse(reason))
                }
            };
            if answer.is_err() {
                state.counts.unwritten += waiting.len() as u64;
                if let Some(metrics) = &self.metrics {
                    metrics.journal.lost(waiting.len());
                }
            } else {
                self.recorded(waiting.len());
            }
            release(&mut waiting, &answer);
        }
    }
}

/// Answers all of them.
fn release(waiting: &mut Vec<Waiting>, answer: &Result<(), Problem>) {
    for waiting in waiting.drain(..) {
        waiting.answer(answer.clone());
    }
}
