//! The thread that sends a trail to its stream.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{
    publish, sent,
    shared::{Phase, Settings, Shared},
};

/// Sends a trail to its stream until it is [ended](Self::end).
#[derive(Debug)]
pub struct Publisher {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What is left at the end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsent {
    /// Bytes of the trail that the broker has not acknowledged.
    pub bytes: u64,
    /// Why not.
    pub reason: String,
}

impl Publisher {
    /// Begins to send the trail in a folder.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn begin(settings: Settings) -> io::Result<Self> {
        let acknowledged = sent::load(&settings.sent);
        let shared = Arc::new(Shared::new(settings, acknowledged));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let running = Arc::clone(&shared);
        let thread = thread::Builder::new().name("nats".to_owned()).spawn(move || {
            runtime.block_on(publish::run(&running));
            running.done();
            // A look-up of a name may hang beyond its time.
            runtime.shutdown_background();
        })?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// There is more to send.
    pub fn wake(&self) {
        self.shared.wake.notify_one();
    }

    /// Waits until the broker has all up to this byte of a segment.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::TimedOut`] after `patience`, or at once where the broker has been failing for longer.
    pub fn wait(&self, segment: u64, offset: u64, patience: Duration) -> io::Result<()> {
        let reason = self.shared.wait(segment, offset, patience);
        reason.map_err(|reason| {
            io::Error::new(io::ErrorKind::TimedOut, format!("the broker does not acknowledge them ({reason})"))
        })
    }

    /// Bytes of the trail that the broker has not acknowledged.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.shared.waiting()
    }

    /// How often sending failed so far.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.shared.failures()
    }

    /// Why nothing is sent, while that is so.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.shared.trouble()
    }

    /// Sends what is left, for at most `patience`. Nothing is to be written to the trail any more.
    ///
    /// # Errors
    ///
    /// What the broker has not acknowledged; the next start with the same folder sends it.
    pub fn end(&self, patience: Duration) -> Result<(), Unsent> {
        let until = Instant::now() + patience;
        self.shared.phase.send_replace(Phase::Ending);
        self.shared.wait_until_done(until);
        self.give_up();
        match self.waiting() {
            0 => Ok(()),
            bytes => Err(Unsent { bytes, reason: self.trouble().unwrap_or_else(|| "the broker is slow".to_owned()) }),
        }
    }

    fn give_up(&self) {
        self.shared.phase.send_replace(Phase::GivenUp);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.give_up();
    }
}
