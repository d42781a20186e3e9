//! The signals that end a run.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end a run.
#[derive(Debug)]
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The next one that comes.
    pub(super) async fn next(&mut self) -> nix::sys::signal::Signal {
        tokio::select! {
            _ = self.interrupt.recv() => nix::sys::signal::Signal::SIGINT,
            _ = self.terminate.recv() => nix::sys::signal::Signal::SIGTERM,
            _ = self.hangup.recv() => nix::sys::signal::Signal::SIGHUP,
        }
    }
}
