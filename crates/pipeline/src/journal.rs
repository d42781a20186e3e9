//! The journal as the pipeline uses it.

use std::{
    fmt, io,
    sync::{Arc, Mutex, PoisonError},
};

use contrail_recording::{self as recording, Encoder, EntryBatch};
use contrail_redact::{JudgedExchange, Redacted};

use super::judge::Attestation;

/// Where entries go. What it does must not block longer than a write does.
pub trait Journal: Send + fmt::Debug {
    /// What encodes its entries.
    fn encoder(&self) -> Box<dyn Encode>;

    /// Gives entries to the kernel, in one write; the batch is empty then.
    ///
    /// # Errors
    ///
    /// The batch was not written, or not whole; the journal stays usable.
    fn write(&mut self, batch: &mut EntryBatch) -> io::Result<()>;

    /// What waits until all that was written so far is on the disk. It runs on another thread. An error of the kind
    /// [`io::ErrorKind::TimedOut`] states that nothing is lost, and that a later call may succeed.
    fn unsynced(&mut self) -> Sync {
        Box::new(|| Ok(()))
    }

    /// Whether what a sync was too late for still is: once that is safe, nothing is late any more. Waits for nothing.
    fn is_late(&self) -> bool {
        true
    }

    /// Events since the last call that a user must see, though nothing was lost.
    fn alarms(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Encodes entries; each event loop has its own.
pub trait Encode: Send + std::marker::Sync + fmt::Debug {
    /// One for another event loop.
    fn another(&self) -> Box<dyn Encode>;

    /// Adds an entry to a batch.
    fn encode(&mut self, judged: &Redacted<JudgedExchange>, attestation: &Attestation, batch: &mut EntryBatch);
}

impl Encode for Encoder {
    fn another(&self) -> Box<dyn Encode> {
        Box::new(Self::another(self))
    }

    fn encode(&mut self, judged: &Redacted<JudgedExchange>, attestation: &Attestation, batch: &mut EntryBatch) {
        Self::encode(self, judged, attestation.attested.as_ref(), batch);
    }
}

/// See [`Journal::unsynced`].
pub type Sync = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// A journal that its owner folds when the pipeline is done with it.
pub type SharedJournal = Arc<Mutex<recording::Journal>>;

impl Journal for SharedJournal {
    fn encoder(&self) -> Box<dyn Encode> {
        Box::new(self.lock().unwrap_or_else(PoisonError::into_inner).encoder())
    }

    fn write(&mut self, batch: &mut EntryBatch) -> io::Result<()> {
        let mut journal = self.lock().unwrap_or_else(PoisonError::into_inner);
        journal.take(batch);
        journal.write()
    }

    fn unsynced(&mut self) -> Sync {
        let unsynced = self.lock().unwrap_or_else(PoisonError::into_inner).unsynced();
        Box::new(move || unsynced.sync())
    }

    fn alarms(&mut self) -> Vec<String> {
        self.lock().unwrap_or_else(PoisonError::into_inner).alarms()
    }
}
