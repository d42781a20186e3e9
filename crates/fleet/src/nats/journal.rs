//! The journal of a trail that is sent to a stream, as the pipeline uses it.

use std::{
    io,
    sync::{Arc, PoisonError},
};

use contrail_pipeline::{Encode, Journal, SharedJournal, Sync};
use contrail_recording::EntryBatch;

use super::shared::Shared;

/// A trail that is sent as it is written. Under `--durable` a response also waits for the broker.
#[derive(Debug)]
pub(super) struct SentJournal {
    /// The trail in its folder.
    pub(super) journal: SharedJournal,
    pub(super) shared: Arc<Shared>,
}

impl Journal for SentJournal {
    fn encoder(&self) -> Box<dyn Encode> {
        self.journal.encoder()
    }

    fn write(&mut self, batch: &mut EntryBatch) -> io::Result<()> {
        let written = self.journal.write(batch);
        self.shared.wake.notify_one();
        written
    }

    fn unsynced(&mut self) -> Sync {
        let on_disk = self.journal.unsynced();
        let end = self.journal.lock().unwrap_or_else(PoisonError::into_inner).end();
        let shared = Arc::clone(&self.shared);
        Box::new(move || {
            on_disk()?;
            let Some((segment, offset)) = end else { return Ok(()) };
            shared.wait(segment, offset).map_err(|reason| {
                let reason = format!("the broker does not acknowledge them ({reason})");
                io::Error::new(io::ErrorKind::TimedOut, reason)
            })
        })
    }

    fn is_late(&self) -> bool {
        self.shared.is_late()
    }

    fn alarms(&mut self) -> Vec<String> {
        self.journal.alarms()
    }
}
