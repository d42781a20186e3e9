//! The journal as the pipeline uses it.

use std::{
    fmt, io,
    sync::{Arc, Mutex, PoisonError},
};

use super::judge::Attestation;
use crate::{
    recording,
    redact::{JudgedExchange, Redacted},
};

/// Where entries go. Both methods are called from the event loop and must not block longer than a write does.
pub trait Journal: Send + fmt::Debug {
    /// Adds an entry to the batch.
    fn add(&mut self, judged: &Redacted<JudgedExchange>, attestation: Attestation);

    /// Gives the batch to the kernel, in one write.
    ///
    /// # Errors
    ///
    /// The batch was not written, or not whole; the journal stays usable.
    fn write(&mut self) -> io::Result<()>;

    /// Bytes in the batch.
    fn queued(&self) -> usize {
        0
    }

    /// What waits until all that was written so far is on the disk. It runs on another thread.
    fn unsynced(&mut self) -> Sync {
        Box::new(|| Ok(()))
    }

    /// Events since the last call that a user must see, though nothing was lost.
    fn alarms(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// See [`Journal::unsynced`].
pub type Sync = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// A journal that its owner folds when the pipeline is done with it.
pub type SharedJournal = Arc<Mutex<recording::Journal>>;

impl Journal for SharedJournal {
    fn add(&mut self, judged: &Redacted<JudgedExchange>, attestation: Attestation) {
        let mut journal = self.lock().unwrap_or_else(PoisonError::into_inner);
        journal.add(judged, attestation.attested.as_ref());
    }

    fn write(&mut self) -> io::Result<()> {
        self.lock().unwrap_or_else(PoisonError::into_inner).write()
    }

    fn queued(&self) -> usize {
        self.lock().unwrap_or_else(PoisonError::into_inner).queued()
    }

    fn unsynced(&mut self) -> Sync {
        let unsynced = self.lock().unwrap_or_else(PoisonError::into_inner).unsynced();
        Box::new(move || unsynced.sync())
    }

    fn alarms(&mut self) -> Vec<String> {
        self.lock().unwrap_or_else(PoisonError::into_inner).alarms()
    }
}
