//! Writing a batch of entries, and syncing it under `--durable`.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{MutexGuard, PoisonError},
    time::Instant,
};

use contrail_proxy::upstream::Problem;

use super::{
    batches::Waiting,
    console,
    disk::{LATE, Syncs, UNWRITTEN, unrecorded},
    run::{Pipeline, RunState},
};

/// Bytes of entries that are written at once, without waiting for the turn of the event loop to end.
pub(super) const MAX_QUEUED: usize = 4 << 20;

impl Pipeline {
    pub(super) fn write_out(&self) {
        self.write();
        let mut state = self.lock();
        let state = &mut *state;
        if !state.line_batch.is_empty() {
            self.console.push(&mut state.line_batch);
        }
    }

    /// Gives what is queued to the kernel, and releases those who wait for no more than that. If another thread writes,
    /// that one takes it up, and this one waits only where too much is queued.
    pub(super) fn write(&self) {
        let mut state = self.lock();
        if state.is_writing {
            if state.queued.entries.size() < MAX_QUEUED {
                return;
            }
            drop(state);
            state = self.not_writing();
        }
        while std::mem::take(&mut state.queued.is_wanted) {
            state = self.write_queued(state);
        }
    }

    /// The state, when no thread writes.
    pub(super) fn not_writing(&self) -> MutexGuard<'_, RunState> {
        loop {
            let state = self.lock();
            if !state.is_writing {
                return state;
            }
            drop(state);
            // It has the journal for as long as it writes.
            drop(self.journal());
        }
    }

    fn write_queued<'a>(&'a self, mut state: MutexGuard<'a, RunState>) -> MutexGuard<'a, RunState> {
        let RunState { queued, disk, counts, is_writing, .. } = &mut *state;
        let (mut entries, mut waiting) = (std::mem::take(&mut queued.entries), std::mem::take(&mut queued.waiting));
        counts.queue.most_bytes = counts.queue.most_bytes.max(entries.size());
        counts.queue.most_exchanges = counts.queue.most_exchanges.max(waiting.len() + disk.syncing.len());
        *is_writing = true;
        let mut journal = self.journal();
        drop(state);
        let begun = Instant::now();
        let written = journal.as_mut().map_or(Ok(()), |journal| {
            let written = catch_unwind(AssertUnwindSafe(|| journal.write(&mut entries)));
            written.unwrap_or_else(|_| Err(io::Error::other("contrail failed to write an entry; please report it")))
        });
        let took = begun.elapsed();
        let alarms = journal.as_mut().map(|journal| journal.alarms()).unwrap_or_default();
        drop(journal);
        if let Some(metrics) = &self.metrics {
            metrics.journal.wrote(took);
        }
        if written.is_ok() && !self.durable {
            // Before the lock: to wake another event loop takes a system call.
            self.recorded(waiting.len());
            release(&mut waiting, &Ok(()));
        }
        let mut state = self.lock();
        state.is_writing = false;
        state.counts.queue.writes += 1;
        state.counts.queue.slowest = state.counts.queue.slowest.max(took);
        for alarm in alarms {
            console::alarm(&mut state.line_batch, self.lines, &alarm, None);
        }
        match written {
            Ok(()) => self.wrote(&mut state, &mut waiting),
            Err(error) => self.lost(&mut state, &error, &mut waiting),
        }
        entries.clear();
        if !state.queued.is_wanted {
            // For their room.
            (state.queued.entries, state.queued.waiting) = (entries, waiting);
        }
        state
    }

    /// A batch is in the journal.
    fn wrote(&self, state: &mut RunState, waiting: &mut Vec<Waiting>) {
        if state.disk.syncs == Syncs::Done {
            self.works(state);
        }
        if !self.durable {
            return;
        }
        // Those whose client has gone already wait for nothing.
        let all = waiting.len();
        waiting.retain(|waiting| !waiting.is_gone());
        self.recorded(all - waiting.len());
        state.disk.syncing.append(waiting);
        state.disk.sync_wanted = true;
        self.to_sync.notify_one();
    }

    /// The journal can be written.
    fn works(&self, state: &mut RunState) {
        if let Some(metrics) = &self.metrics {
            metrics.journal.works();
        }
        state.disk.refusing = None;
    }

    /// A batch is not in the journal.
    fn lost(&self, state: &mut RunState, error: &io::Error, waiting: &mut Vec<Waiting>) {
        state.counts.unwritten += waiting.len() as u64;
        if let Some(metrics) = &self.metrics {
            metrics.journal.lost(waiting.len());
            metrics.journal.fails(&error.to_string());
        }
        self.alarm(state, error);
        let answer = if self.durable { Err(state.disk.refuse(UNWRITTEN, &error.to_string())) } else { Ok(()) };
        release(waiting, &answer);
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
        self.look_again();
        self.not_writing().queued.is_wanted = self.encoder.is_some();
        self.write();
        drop(self.not_writing());
    }

    /// Takes requests again where what was late is safe by now: the next one is not refused for a state that is over.
    pub fn look_again(&self) {
        if !self.lock().disk.is_late() {
            return;
        }
        let mut state = self.not_writing();
        if state.disk.is_late() && self.journal().as_ref().is_some_and(|journal| !journal.is_late()) {
            state.disk.syncs = Syncs::Done;
            self.works(&mut state);
        }
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

    /// What was written is not as safe as `--durable` wants it, and may be later; the answer until then.
    fn is_late(&self, state: &mut RunState, error: &io::Error) -> Problem {
        if let Some(metrics) = &self.metrics {
            metrics.journal.fails(&error.to_string());
        }
        if std::mem::replace(&mut state.disk.syncs, Syncs::Late) == Syncs::Done {
            let mut line = Vec::new();
            let alarm = "entries wait too long to be safe; requests get 503 until they do not (--durable)";
            console::alarm(&mut line, self.lines, alarm, Some(error));
            self.console.insist(&line);
        }
        state.disk.refuse(LATE, &error.to_string())
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
            drop(state);
            let sync = self.journal().as_mut().map(|journal| journal.unsynced());
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
                Ok(()) if state.disk.syncs != Syncs::Failed => {
                    if std::mem::take(&mut state.disk.syncs) == Syncs::Late {
                        self.works(&mut state);
                    }
                    Ok(())
                }
                Ok(()) => Err(state.disk.refusal().unwrap_or_else(|| unrecorded(UNWRITTEN))),
                Err(error) if error.kind() == io::ErrorKind::TimedOut && state.disk.syncs != Syncs::Failed => {
                    self.recorded(waiting.len());
                    let refused = Err(self.is_late(&mut state, &error));
                    release(&mut waiting, &refused);
                    continue;
                }
                Err(error) => {
                    state.disk.syncs = Syncs::Failed;
                    self.alarm(&mut state, &error);
                    let reason = format!("{error}; restart contrail once the disk is repaired");
                    if let Some(metrics) = &self.metrics {
                        metrics.journal.fails(&reason);
                    }
                    Err(state.disk.refuse(UNWRITTEN, &reason))
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
