//! Whether a server should get traffic.

use std::sync::atomic::{AtomicU8, Ordering};

/// The phase of a server's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// It does not listen yet.
    Starting,
    /// It listens.
    Serving,
    /// It takes no more connections, and lets exchanges in progress end.
    Draining,
}

/// The present phase.
#[derive(Debug, Default)]
pub(super) struct Health(AtomicU8);

impl Health {
    pub(super) fn enter(&self, phase: Phase) {
        self.0.store(phase as u8, Ordering::Release);
    }

    pub(super) fn phase(&self) -> Phase {
        match self.0.load(Ordering::Acquire) {
            0 => Phase::Starting,
            1 => Phase::Serving,
            _ => Phase::Draining,
        }
    }
}
