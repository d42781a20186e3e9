//! The journal of a trail that is sent to a stream, as the pipeline uses it.

use std::{
    io,
    sync::{Arc, PoisonError},
    time::Duration,
};

use super::Publisher;
use crate::{
    pipeline::{Encode, Journal, SharedJournal, Sync},
    recording::EntryBatch,
};

/// A trail that is sent as it is written. Under `--durable` a response also waits for the broker.
#[derive(Debug)]
pub struct SentJournal {
    /// The trail in its folder.
    pub journal: SharedJournal,
    /// What sends it.
    pub publisher: Arc<Publisher>,
    /// How long the broker may take for what `--durable` waits for.
    pub patience: Duration,
}

impl Journal for SentJournal {
    fn encoder(&self) -> Box<dyn Encode> {
        self.journal.encoder()
    }

    fn write(&mut self, batch: &mut EntryBatch) -> io::Result<()> {
        let written = self.journal.write(batch);
        self.publisher.wake();
        written
    }

    fn unsynced(&mut self) -> Sync {
        let on_disk = self.journal.unsynced();
        let end = self.journal.lock().unwrap_or_else(PoisonError::into_inner).end();
        let (publisher, patience) = (Arc::clone(&self.publisher), self.patience);
        Box::new(move || {
            on_disk()?;
            end.map_or(Ok(()), |(segment, offset)| publisher.wait(segment, offset, patience))
        })
    }

    fn alarms(&mut self) -> Vec<String> {
        self.journal.alarms()
    }
}
