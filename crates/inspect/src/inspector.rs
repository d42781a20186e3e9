//! What the page shows: exchanges on their way into the store, and out of it as they may be shown.

use std::{
    collections::VecDeque,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    thread,
};

use contrail_contract::{Contract, ContractDocument};
use contrail_exchange::{Exchange, finding::Rule, visible::visible};
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

/// Maximum bytes of exchanges that wait to be taken into the store.
const MAX_WAITING: usize = 28 << 20;
/// With so many, the store takes them in before a page asks; the rest is left for what comes meanwhile.
const MUCH: usize = MAX_WAITING / 4 * 3;
/// What an exchange takes beside its bodies and header fields, and a header field beside its value.
const EXCHANGE: usize = 2 << 10;
const FIELD: usize = 100;
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
    waiting: Mutex<Waiting>,
    /// Much waits.
    much: Condvar,
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

/// What waits to be taken into the store: that takes half as long as a whole proxied exchange, and is due where a page
/// asks for the store, or much waits.
#[derive(Debug, Default)]
struct Waiting {
    incoming: VecDeque<Incoming>,
    bytes: usize,
    /// Exchanges of which nothing is shown, since too many waited.
    dropped: u64,
}

/// What comes from an event loop.
#[derive(Debug)]
enum Incoming {
    Exchange(Box<Viewed>),
    Denied { host: String, reason: &'static str },
}

impl Incoming {
    /// About how many bytes it takes.
    fn bytes(&self) -> usize {
        let Self::Exchange(viewed) = self else { return FIELD };
        let Exchange { request, response, .. } = &*viewed.judged.exchange;
        let fields = request.headers.len() + response.as_ref().map_or(0, |response| response.headers.len());
        EXCHANGE + FIELD * fields + viewed.packed.size()
    }
}

impl Viewer for Inspector {
    fn exchange(&self, viewed: Viewed) {
        self.push(Incoming::Exchange(Box::new(viewed)));
    }

    fn denied(&self, denied: &Denied) {
        self.push(Incoming::Denied { host: denied.host.clone(), reason: denied.reason });
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
            waiting: Mutex::default(),
            much: Condvar::new(),
            live: LIVE.into(),
            in_progress: OnceLock::new(),
            facts,
        }))
    }

    /// Begins the thread that takes exchanges in where no page asks for them.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn begin(self: &Arc<Self>) -> io::Result<()> {
        let inspector = Arc::clone(self);
        let work = move || {
            loop {
                let waited = inspector.much.wait_while(inspector.waiting(), |waiting| waiting.bytes < MUCH);
                drop(waited);
                inspector.catch_up();
            }
        };
        thread::Builder::new().name("inspector".to_owned()).spawn(work).map(drop)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, incoming: Incoming) {
        let bytes = incoming.bytes();
        let mut waiting = self.waiting();
        let before = waiting.bytes;
        // One alone may be larger. No exchange waits for room.
        if before > 0 && before + bytes > MAX_WAITING {
            waiting.dropped += 1;
            return;
        }
        waiting.incoming.push_back(incoming);
        waiting.bytes += bytes;
        if before < MUCH && waiting.bytes >= MUCH {
            self.much.notify_one();
        }
    }

    /// Takes in what waits.
    pub(crate) fn catch_up(&self) {
        let count = self.waiting().incoming.len();
        if count == 0 {
            return;
        }
        // Before the first is taken out: who finds none waits here until the store has it.
        self.change(|store| {
            // All that waits came since the last look, redacted by what was known then.
            let known = std::mem::replace(&mut store.known, self.known());
            for _ in 0..count {
                let mut waiting = self.waiting();
                let Some(incoming) = waiting.incoming.pop_front() else { break };
                waiting.bytes -= incoming.bytes();
                drop(waiting);
                match incoming {
                    // A panic costs the page this exchange, not the next ones.
                    Incoming::Exchange(viewed) => {
                        let add = AssertUnwindSafe(|| store.add(&self.taken(*viewed), None, &self.contract, known));
                        let _ = catch_unwind(add);
                    }
                    Incoming::Denied { host, reason } => store.collector.denied(&host, reason),
                }
            }
        });
    }

    fn taken(&self, viewed: Viewed) -> Taken {
        let Viewed { mut judged, packed, entry, took, conclusion: verdict, miss, mut remarks } = viewed;
        remarks.truncate(MAX_REMARKS);
        judged.unpack(packed);
        let source = Arc::clone(&self.live);
        Taken { judged, source, entry, line: None, outside: false, took: Some(took), verdict, miss, remarks }
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
        self.waiting().dropped
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contrail_exchange::{Body, Headers};
    use contrail_redact::Plan;
    use contrail_report::Title;

    use super::*;
    use crate::kept::tests::exchange;

    fn inspector() -> Arc<Inspector> {
        let settings = Settings {
            contract: Contract::built_in(),
            redactor: Arc::new(Redactor::new(Plan::default())),
            collector: Collector::new(Title::default(), Vec::new(), false),
            buffer: 1 << 20,
            advice: Box::new(|_| Advice::default()),
            facts: Facts::default(),
        };
        Inspector::new(settings).unwrap()
    }

    /// Hands over an exchange with a body of this size.
    fn add(inspector: &Inspector, entry: usize, body: usize) {
        let mut judged = exchange("");
        judged.set_recorded((Headers::new(), Body::whole(vec![b'x'; body])));
        let (took, remarks, packed) = (Duration::from_millis(1), Vec::new(), judged.pack(false));
        inspector.exchange(Viewed { judged, packed, entry, took, conclusion: "violates", miss: None, remarks });
    }

    #[test]
    fn what_waits_is_bounded_and_is_in_the_store_when_a_page_asks() {
        let inspector = inspector();
        for entry in 0..30 {
            add(&inspector, entry, 1 << 20);
        }
        let denied = Denied { host: "other.example".to_owned(), reason: "host", advice: String::new(), status: 421 };
        inspector.denied(&denied);
        assert_eq!((inspector.store().count(), inspector.dropped()), (0, 3));
        inspector.catch_up();
        let store = inspector.store();
        assert_eq!((store.count(), store.verdicts()[2]), (27, 27));
        assert_eq!(store.collector.run().denied().count(), 1);
        drop(store);
        assert_eq!(inspector.waiting().bytes, 0);
    }

    #[test]
    fn much_is_taken_into_the_store_though_no_page_asks() {
        let inspector = inspector();
        inspector.begin().unwrap();
        add(&inspector, 0, MUCH);
        while inspector.store().count() == 0 {
            std::thread::yield_now();
        }
    }
}
