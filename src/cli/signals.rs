//! The signals that end a run, or have it read its certificates and its contract again.

use std::{
    io::{self, IsTerminal as _, Write as _},
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use tokio::{
    runtime,
    signal::unix::{SignalKind, signal},
};

/// The exit status of a process that a signal ended before its work was done: 128 + SIGINT.
const STOPPED: i32 = 130;

/// The signals that a run listens to.
#[derive(Debug)]
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
    /// Which of standard input and standard error were a terminal at the start.
    terminals: [bool; 2],
}

/// What a signal asks of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// To end.
    End,
    /// To read its certificates and its contract again.
    Reload,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            terminals: terminals(),
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

    /// What the next one asks for. SIGHUP ends a run whose terminal was closed.
    pub(super) async fn wish(&mut self) -> Wish {
        let is_hangup = self.next().await == nix::sys::signal::Signal::SIGHUP;
        let is_closed = self.terminals.into_iter().zip(terminals()).any(|(was, is)| was && !is);
        if is_hangup && !is_closed { Wish::Reload } else { Wish::End }
    }

    /// Waits for one that ends a run; others are of no use any more.
    pub(super) async fn end(&mut self) {
        while self.wish().await != Wish::End {}
    }
}

/// Becomes true with the next signal that ends a run, for work that is done after it.
pub(super) fn end_asked() -> Arc<AtomicBool> {
    let asked = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&asked);
    on_end(move || noted.store(true, Ordering::Relaxed));
    asked
}

/// While it lives, a signal that ends a run ends the process, for work that may be killed at any time.
#[derive(Debug)]
pub(super) struct EndsAtOnce(Arc<Mutex<bool>>);

impl EndsAtOnce {
    /// `last_words` is what the process prints then.
    pub(super) fn new(last_words: String) -> Self {
        let alive = Arc::new(Mutex::new(true));
        let lives = Arc::clone(&alive);
        on_end(move || {
            let lives = lives.lock().unwrap_or_else(PoisonError::into_inner);
            if *lives {
                let _ = writeln!(io::stderr(), "contrail: {last_words}");
                process::exit(STOPPED);
            }
        });
        Self(alive)
    }
}

impl Drop for EndsAtOnce {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }
}

/// Does this with the next signal that ends a run.
fn on_end(then: impl FnOnce() + Send + 'static) {
    let (listens, is_listening) = mpsc::channel::<()>();
    // Without it, the work after a run takes the time that it may.
    let _ = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let Ok(runtime) = runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let signals = Signals::new();
            drop(listens);
            if let Ok(mut signals) = signals {
                signals.end().await;
                then();
            }
        });
    });
    // It is dropped once a signal is noted, or where none can be.
    let _ = is_listening.recv();
}

/// Which of standard input and standard error are a terminal; a closed one is none.
fn terminals() -> [bool; 2] {
    [io::stdin().is_terminal(), io::stderr().is_terminal()]
}
