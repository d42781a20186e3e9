//! Counters of the journal: how it keeps up with the traffic.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

/// Counters of the journal. The page reads them without a lock.
#[derive(Debug, Default)]
pub struct JournalMetrics {
    /// Entries that joined a batch.
    added: AtomicU64,
    /// Entries that the kernel has, or the disk under `--durable`.
    pub(super) recorded: AtomicU64,
    /// Entries that could not be written.
    pub(super) lost: AtomicU64,
    pub(super) writes: AtomicU64,
    pub(super) write_nanos: AtomicU64,
    pub(super) syncs: AtomicU64,
    pub(super) sync_nanos: AtomicU64,
    is_failing: AtomicBool,
    /// Why it fails, while it does.
    reason: Mutex<String>,
}

impl JournalMetrics {
    /// An entry joined a batch.
    pub fn added(&self) {
        self.added.fetch_add(1, Ordering::Relaxed);
    }

    /// A write ended.
    pub fn wrote(&self, took: Duration) {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.write_nanos.fetch_add(nanos(took), Ordering::Relaxed);
    }

    /// A sync ended.
    pub fn synced(&self, took: Duration) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.sync_nanos.fetch_add(nanos(took), Ordering::Relaxed);
    }

    /// So many entries are recorded.
    pub fn recorded(&self, entries: usize) {
        self.recorded.fetch_add(entries as u64, Ordering::Relaxed);
    }

    /// So many entries will never be.
    pub fn lost(&self, entries: usize) {
        self.lost.fetch_add(entries as u64, Ordering::Relaxed);
    }

    /// From now on the journal cannot be written.
    pub fn fails(&self, reason: &str) {
        reason.clone_into(&mut self.reason.lock().unwrap_or_else(PoisonError::into_inner));
        self.is_failing.store(true, Ordering::Release);
    }

    /// It can be written.
    pub fn works(&self) {
        // A store for each write would cost more than the look.
        if self.is_failing.load(Ordering::Relaxed) {
            self.is_failing.store(false, Ordering::Release);
        }
    }

    /// Why it cannot be written, if so.
    pub(super) fn failure(&self) -> Option<String> {
        let is_failing = self.is_failing.load(Ordering::Acquire);
        is_failing.then(|| self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Entries that joined a batch and are neither recorded nor lost.
    pub(super) fn pending(&self) -> u64 {
        // Read first, so that none is missing from the sum.
        let settled = self.recorded.load(Ordering::Acquire) + self.lost.load(Ordering::Acquire);
        self.added.load(Ordering::Acquire).saturating_sub(settled)
    }
}

fn nanos(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_pending_until_it_is_recorded_or_lost() {
        let journal = JournalMetrics::default();
        for _ in 0..5 {
            journal.added();
        }
        assert_eq!(journal.pending(), 5);
        journal.recorded(3);
        journal.lost(1);
        assert_eq!(journal.pending(), 1);
    }

    #[test]
    fn a_journal_that_works_again_has_no_reason_any_more() {
        let journal = JournalMetrics::default();
        assert_eq!(journal.failure(), None);
        journal.fails("no space");
        assert_eq!(journal.failure().as_deref(), Some("no space"));
        journal.works();
        assert_eq!(journal.failure(), None);
    }
}
