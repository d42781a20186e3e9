//! A thread that works beside the traffic, and is waited for at the end of a run.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How often a wait for the end looks at what it waits for.
const LOOK: Duration = Duration::from_millis(10);

/// A thread that was started.
#[derive(Debug)]
pub(super) struct Worker(Mutex<Option<JoinHandle<()>>>);

impl Worker {
    pub(super) fn new(thread: JoinHandle<()>) -> Self {
        Self(Mutex::new(Some(thread)))
    }

    /// Waits until it ends by itself, for at most `patience`, and until `asked` is true.
    pub(super) fn wait(&self, patience: Duration, asked: &AtomicBool) {
        let until = Instant::now() + patience;
        let is_done =
            || self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_none_or(JoinHandle::is_finished);
        while !is_done() && Instant::now() < until && !asked.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
    }

    /// Waits until it has ended, however long that takes.
    pub(super) fn join(&self) {
        let thread = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}
