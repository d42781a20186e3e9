//! What the page shows: exchanges on their way into the store, and out of it as they may be shown.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use contrail_contract::{Contract, ContractDocument};
use contrail_exchange::{finding::Rule, visible::visible};
use contrail_pipeline::{Viewed, Viewer};
use contrail_proxy::upstream::Denied;
use contrail_recording::JournalContext;
use contrail_redact::{JudgedExchange, Redacted, Redactor};
use contrail_report::{Collector, LIVE};

use super::{
    kept::{Gone, Kept, Surroundings},
    store::{End, Reading, Store, Taken, Variable},
    summary::Beside,
};

/// Maximum exchanges that wait for the inspector's thread.
const MAX_WAITING: usize = 1024;
/// Maximum bytes of their bodies.
const MAX_WAITING_BYTES: usize = 8 << 20;
/// Maximum remarks of an exchange.
const MAX_REMARKS: usize = 20;

/// What does not change during a run.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// `record`, `watch`, `replay` or `inspect`.
    pub mode: &'static str,
    /// What it does, as a title: `recording https://tenant.example → fixtures/checkout`.
    pub title: String,
    /// The upstream's origin; empty for files.
    pub upstream: String,
    /// A command that shows one of its exchanges again: `contrail inspect fixtures/checkout`.
    pub command: Option<String>,
    /// A command that prints what these exchanges show of what the contract does not.
    pub learn: Option<String>,
    /// A command that records what a replay missed.
    pub record: Option<String>,
    /// Options that have another value than their default, and where each comes from. Values may be secrets.
    pub options: Vec<(String, String)>,
    /// The recording that exchanges are compared with.
    pub base: Option<String>,
}

impl Facts {
    /// Whether exchanges come from a proxy, not from files.
    pub(crate) fn is_live(&self) -> bool {
        self.mode != "inspect"
    }
}

/// What is known of a rule, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Advice {
    /// What a finding of it means.
    pub means: String,
    /// Where that stands.
    pub source: String,
    /// What to do now.
    pub now: String,
}

/// What an inspector works by.
pub struct Settings {
    /// The contract that judges.
    pub contract: Arc<Contract>,
    /// What takes secrets out that come to light later.
    pub redactor: Arc<Redactor>,
    /// An empty collector: what the page counts, it counts.
    pub collector: Collector,
    /// Maximum bytes of exchanges that are kept.
    pub buffer: u64,
    /// What is known of a rule.
    pub advice: Box<dyn Fn(Rule) -> Advice + Send + Sync>,
    /// What does not change.
    pub facts: Facts,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// What the page shows.
pub struct Inspector {
    pub(crate) contract: Arc<Contract>,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) facts: Facts,
    /// A name of this run, by which a page distinguishes it from another one on the same port.
    pub(crate) run: String,
    pub(crate) started: jiff::Timestamp,
    advice: Box<dyn Fn(Rule) -> Advice + Send + Sync>,
    store: RwLock<Store>,
    waiting: Waiting,
    /// The source of what goes through a proxy.
    live: Arc<str>,
    /// How many exchanges are in progress.
    in_progress: OnceLock<Box<dyn Fn() -> u64 + Send + Sync>>,
}

impl std::fmt::Debug for Inspector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspector").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// Exchanges on their way to the inspector's thread.
#[derive(Debug, Default)]
struct Waiting {
    exchanges: AtomicUsize,
    bytes: AtomicUsize,
    /// Exchanges of which nothing is shown, since too many waited.
    dropped: AtomicU64,
}

/// Brings exchanges from event loops to the inspector's thread.
#[derive(Debug)]
pub struct Intake {
    inspector: Arc<Inspector>,
    sender: Sender<Incoming>,
}

/// What comes to the inspector's thread.
#[derive(Debug)]
enum Incoming {
    Exchange(Box<Taken>),
    Denied {
        host: String,
        reason: &'static str,
    },
    /// Everything before it is kept once it is dropped.
    Mark(Sender<()>),
}

impl Intake {
    /// Waits until everything is kept that came so far.
    pub fn flush(&self) {
        let (done, kept) = channel();
        if self.sender.send(Incoming::Mark(done)).is_ok() {
            let _ = kept.recv();
        }
    }
}

impl Viewer for Intake {
    /// Where too many wait already, the exchange is dropped and counted.
    fn exchange(&self, viewed: Viewed) {
        let waiting = &self.inspector.waiting;
        let bytes = size(&viewed.judged);
        let (exchanges, held) = (waiting.exchanges.load(Ordering::Relaxed), waiting.bytes.load(Ordering::Relaxed));
        if exchanges >= MAX_WAITING || held > 0 && held + bytes > MAX_WAITING_BYTES {
            waiting.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let Viewed { judged, entry, took, conclusion, miss, mut remarks } = viewed;
        remarks.truncate(MAX_REMARKS);
        waiting.exchanges.fetch_add(1, Ordering::Relaxed);
        waiting.bytes.fetch_add(bytes, Ordering::Relaxed);
        let taken = Taken {
            judged,
            source: Arc::clone(&self.inspector.live),
            entry,
            line: None,
            outside: false,
            took: Some(took),
            verdict: conclusion,
            miss,
            remarks,
        };
        let _ = self.sender.send(Incoming::Exchange(Box::new(taken)));
    }

    fn denied(&self, denied: &Denied) {
        let _ = self.sender.send(Incoming::Denied { host: denied.host.clone(), reason: denied.reason });
    }
}

/// Bytes of an exchange's bodies.
pub(crate) fn size(judged: &JudgedExchange) -> usize {
    let response = judged.exchange.response.as_ref().map_or(0, |response| response.body.content.len());
    judged.exchange.request.body.content.len() + response
}

impl Inspector {
    /// An empty one.
    ///
    /// # Errors
    ///
    /// The system gives no temporary file.
    pub fn new(settings: Settings) -> io::Result<Arc<Self>> {
        let Settings { contract, redactor, collector, buffer, advice, facts } = settings;
        let context = JournalContext { upstream: facts.upstream.as_str().into(), contract: "".into() };
        let mut store = Store::new(Kept::new(buffer)?, context, collector);
        for operation in contract.documents().iter().flat_map(ContractDocument::operations) {
            store.names.tag(&operation.id, operation.tags);
        }
        Ok(Arc::new(Self {
            contract,
            redactor,
            run: super::guard::random_name(),
            started: jiff::Timestamp::now(),
            advice,
            store: RwLock::new(store),
            waiting: Waiting::default(),
            live: LIVE.into(),
            in_progress: OnceLock::new(),
            facts,
        }))
    }

    /// Begins a thread that keeps what goes through a proxy. It ends when the intake is dropped.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn begin(self: &Arc<Self>) -> io::Result<Arc<Intake>> {
        let (sender, receiver) = channel();
        let inspector = Arc::clone(self);
        thread::Builder::new().name("inspector".to_owned()).spawn(move || inspector.keep(&receiver))?;
        Ok(Arc::new(Intake { inspector: Arc::clone(self), sender }))
    }

    fn keep(&self, receiver: &Receiver<Incoming>) {
        while let Ok(incoming) = receiver.recv() {
            match incoming {
                Incoming::Exchange(taken) => {
                    let bytes = size(&taken.judged);
                    // A panic costs the page this exchange, not the next ones.
                    let _ = catch_unwind(AssertUnwindSafe(|| self.add(&taken)));
                    self.waiting.exchanges.fetch_sub(1, Ordering::Relaxed);
                    self.waiting.bytes.fetch_sub(bytes, Ordering::Relaxed);
                }
                Incoming::Denied { host, reason } => self.change(|store| store.collector.denied(&host, reason)),
                Incoming::Mark(done) => drop(done),
            }
        }
    }

    /// Adds an exchange.
    pub fn add(&self, taken: &Taken) {
        self.add_beside(taken, None);
    }

    /// Adds an exchange of one of two recordings.
    pub(crate) fn add_beside(&self, taken: &Taken, beside: Option<Beside>) {
        let known = self.known();
        self.change(|store| store.add(taken, beside, &self.contract, known));
    }

    /// The run listens here, a client finds it by these variables, and so many exchanges are in progress.
    pub fn listens(
        &self,
        listeners: Vec<String>,
        variables: Vec<Variable>,
        in_progress: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        self.change(|store| (store.listeners, store.variables) = (listeners, variables));
        let _ = self.in_progress.set(Box::new(in_progress));
    }

    /// A sentence that a reader has to know.
    pub fn note(&self, sentence: String) {
        self.change(|store| store.notes.push(sentence));
    }

    /// How far files have been read; `None` at their end.
    pub fn reading(&self, reading: Option<Reading>) {
        self.change(|store| store.reading = reading);
    }

    /// Lets the end of a run add what it knows.
    pub fn conclude(&self, add: impl FnOnce(&mut Collector)) {
        self.change(|store| add(&mut store.collector));
    }

    /// The run has ended; `collector` is the run's own, which knows what only its end shows.
    pub fn end(&self, collector: Collector, end: End) {
        self.change(|store| (store.ended, store.end) = (Some(collector), Some(end)));
    }

    /// How many secrets are known.
    pub(crate) fn known(&self) -> u64 {
        let counters = self.redactor.counters();
        counters.secrets.values().chain(counters.personal.values()).sum()
    }

    /// What is now to a reader, in microseconds since the epoch: of files, when their last exchange started.
    pub(crate) fn now(&self) -> i64 {
        let last = if self.facts.is_live() { None } else { self.store().last };
        last.unwrap_or_else(|| jiff::Timestamp::now().as_microsecond())
    }

    /// Exchanges of which nothing is shown, since too many waited.
    pub(crate) fn dropped(&self) -> u64 {
        self.waiting.dropped.load(Ordering::Relaxed)
    }

    /// Exchanges that have begun and not ended.
    pub(crate) fn in_progress(&self) -> u64 {
        self.in_progress.get().map_or(0, |count| count())
    }

    pub(crate) fn advice(&self, rule: Rule) -> Advice {
        (self.advice)(rule)
    }

    /// A text as it may be shown: without the secrets that came to light since it was kept, and visible.
    pub(crate) fn clean(&self, text: &str) -> String {
        visible(&self.redactor.text(text)).into_owned()
    }

    pub(crate) fn store(&self) -> RwLockReadGuard<'_, Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Store)) {
        let mut store: RwLockWriteGuard<'_, Store> = self.store.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut store);
    }

    /// An exchange as it may be shown: redacted once more, by all that is known now.
    pub(crate) fn whole(&self, n: u32) -> Result<(Redacted<JudgedExchange>, Surroundings), Gone> {
        let store = self.store();
        let summary = store.summary(n).ok_or(Gone::Left)?;
        let (judged, surroundings) = store.held(summary)?;
        drop(store);
        Ok((self.redactor.redact(judged), surroundings))
    }
}
