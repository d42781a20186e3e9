//! All metrics of a server, and what they ask it for.

use std::{
    collections::BTreeMap,
    fmt,
    net::SocketAddr,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use super::{
    exchanges::Exchanges,
    health::{Health, Phase},
    journal::JournalMetrics,
    telemetry::TelemetryMetrics,
};

/// What a server is asked for when somebody asks for its metrics or its readiness.
pub trait Subject: Send + Sync + fmt::Debug {
    /// The exchanges of all its event loops.
    fn exchanges(&self) -> Exchanges;

    /// What is in use at present.
    fn gauges(&self) -> Gauges {
        Gauges::default()
    }

    /// The hash of the contract in force, once it is known.
    fn contract(&self) -> Option<String> {
        None
    }

    /// The path template of an operation, by the contract in force.
    fn path_template(&self, _operation: &str) -> Option<String> {
        None
    }

    /// Whether all is compiled that judging needs.
    fn is_prepared(&self) -> bool {
        true
    }

    /// Ends the failure of a journal that is over. Waits for nothing but a write.
    fn look_again(&self) {}

    /// Tries again to write a journal that could not be written. May wait for the disk.
    fn write_again(&self) {}
}

/// What is in use at present.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Open connections of clients.
    pub connections: u64,
    /// Maximum of them.
    pub max_connections: u64,
    /// Exchanges in progress.
    pub exchanges: u64,
    /// Bytes that captured bodies in progress take of `--max-captured`.
    pub captured: u64,
    /// Console lines that were dropped, since standard error is read too slowly.
    pub lines_dropped: u64,
}

/// The metrics of a server.
#[derive(Debug)]
pub struct Metrics {
    /// Where they are served, if they are.
    pub address: Option<SocketAddr>,
    /// When the server started.
    pub started: SystemTime,
    pub(super) health: Health,
    pub(super) subject: OnceLock<Box<dyn Subject>>,
    /// The journal's.
    pub journal: JournalMetrics,
    /// Those of `--otlp`.
    pub telemetry: TelemetryMetrics,
    /// Requests that were rejected before they became exchanges, by status.
    pub(super) rejected: Mutex<BTreeMap<u16, u64>>,
    pub(super) left_out: AtomicU64,
    pub(super) internal_errors: AtomicU64,
    /// Times that files were read again: with success, and not.
    pub(super) reloads: [AtomicU64; 2],
}

impl Metrics {
    /// Those of a server that starts now; they are served at this address, if at any.
    #[must_use]
    pub fn new(address: Option<SocketAddr>) -> Self {
        Self {
            address,
            started: SystemTime::now(),
            health: Health::default(),
            subject: OnceLock::new(),
            journal: JournalMetrics::default(),
            telemetry: TelemetryMetrics::default(),
            rejected: Mutex::default(),
            left_out: AtomicU64::new(0),
            internal_errors: AtomicU64::new(0),
            reloads: Default::default(),
        }
    }

    /// Names the server, which listens from now on.
    pub fn serve(&self, subject: Box<dyn Subject>) {
        let _ = self.subject.set(subject);
        self.health.enter(Phase::Serving);
    }

    /// The server enters this phase.
    pub fn enter(&self, phase: Phase) {
        self.health.enter(phase);
    }

    /// A request was rejected before it became an exchange; status 0 where the client got no answer.
    pub fn rejected(&self, status: u16) {
        *self.rejected.lock().unwrap_or_else(PoisonError::into_inner).entry(status).or_default() += 1;
    }

    /// An exchange passed that is neither judged nor recorded.
    pub fn left_out(&self) {
        self.left_out.fetch_add(1, Ordering::Relaxed);
    }

    /// A check, a redaction or an encoding panicked.
    pub fn internal_error(&self) {
        self.internal_errors.fetch_add(1, Ordering::Relaxed);
    }

    /// Files were read again.
    pub fn reloaded(&self, succeeded: bool) {
        self.reloads[usize::from(!succeeded)].fetch_add(1, Ordering::Relaxed);
    }

    /// The path template of an operation, by the contract in force.
    #[must_use]
    pub fn path_template(&self, operation: &str) -> Option<String> {
        self.subject.get()?.path_template(operation)
    }

    /// Whether the server should get traffic.
    ///
    /// A journal that failed is tried again, since without traffic nothing else would. May wait for the disk.
    ///
    /// # Errors
    ///
    /// Why not, in one line.
    pub fn readiness(&self) -> Result<(), String> {
        match self.health.phase() {
            Phase::Starting => return Err("starting: not listening yet".to_owned()),
            Phase::Draining => return Err("draining: exchanges in progress end, no new connection is taken".to_owned()),
            Phase::Serving => {}
        }
        let Some(subject) = self.subject.get() else { return Err("starting: not listening yet".to_owned()) };
        if !subject.is_prepared() {
            return Err("starting: the contract is being compiled".to_owned());
        }
        if self.journal.failure().is_some() {
            subject.write_again();
        }
        match self.journal.failure() {
            Some(reason) => Err(format!("the journal cannot be written: {reason}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize},
    };

    use super::*;

    fn metrics() -> Metrics {
        Metrics::new(None)
    }

    #[derive(Debug, Default)]
    struct Fake {
        prepared: AtomicBool,
        tries: AtomicUsize,
        disk_works: AtomicBool,
    }

    #[derive(Debug)]
    struct Server(Arc<Fake>, Arc<Metrics>);

    impl Subject for Server {
        fn exchanges(&self) -> Exchanges {
            Exchanges::default()
        }

        fn is_prepared(&self) -> bool {
            self.0.prepared.load(Ordering::Relaxed)
        }

        fn write_again(&self) {
            self.0.tries.fetch_add(1, Ordering::Relaxed);
            if self.0.disk_works.load(Ordering::Relaxed) {
                self.1.journal.works();
            }
        }
    }

    #[test]
    fn a_server_is_ready_once_it_listens_and_has_compiled_its_contract_until_it_drains() {
        let (metrics, fake) = (Arc::new(metrics()), Arc::new(Fake::default()));
        let reason = || metrics.readiness().unwrap_err();
        assert_eq!(reason(), "starting: not listening yet");
        metrics.serve(Box::new(Server(Arc::clone(&fake), Arc::clone(&metrics))));
        assert_eq!(reason(), "starting: the contract is being compiled");
        fake.prepared.store(true, Ordering::Relaxed);
        assert_eq!(metrics.readiness(), Ok(()));
        metrics.enter(Phase::Draining);
        assert_eq!(reason(), "draining: exchanges in progress end, no new connection is taken");
    }

    #[test]
    fn a_journal_that_fails_is_tried_again_by_whoever_asks_for_readiness() {
        let (metrics, fake) = (Arc::new(metrics()), Arc::new(Fake::default()));
        fake.prepared.store(true, Ordering::Relaxed);
        metrics.serve(Box::new(Server(Arc::clone(&fake), Arc::clone(&metrics))));
        assert_eq!((metrics.readiness(), fake.tries.load(Ordering::Relaxed)), (Ok(()), 0));
        metrics.journal.fails("No space left on device");
        let failing = Err("the journal cannot be written: No space left on device".to_owned());
        assert_eq!((metrics.readiness(), fake.tries.load(Ordering::Relaxed)), (failing, 1));
        fake.disk_works.store(true, Ordering::Relaxed);
        assert_eq!((metrics.readiness(), fake.tries.load(Ordering::Relaxed)), (Ok(()), 2));
    }
}
