//! What the page shows: exchanges as they come, and what is known of the run.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use contrail_contract::Contract;
use contrail_exchange::{finding::Rule, visible::visible};
use contrail_pipeline::{Viewed, Viewer};
use contrail_proxy::upstream::Denied;
use contrail_recording::JournalContext;
use contrail_redact::{JudgedExchange, Redacted, Redactor};
use contrail_report::{
    Collector, ExchangeRef, LIVE, Miss,
    audit::Audit,
    coverage::{ContractParts, Coverage},
};

use serde_json::Value;

use super::{
    kept::{Gone, Kept, Surroundings},
    names::{Name, Names},
    summary::{About, Beside, State, Summary, VERDICTS},
};

/// Maximum exchanges whose summaries are held; the oldest leave.
const MAX_SUMMARIES: usize = 1_000_000;
/// Maximum exchanges that wait for the inspector's thread.
const MAX_WAITING: usize = 1024;
/// Maximum bytes of their bodies.
const MAX_WAITING_BYTES: usize = 8 << 20;
/// Maximum remarks of an exchange.
const MAX_REMARKS: usize = 20;

/// An exchange for the page.
#[derive(Debug)]
pub struct Taken {
    /// The exchange.
    pub judged: Redacted<JudgedExchange>,
    /// The file, as it was named; [`contrail_report::LIVE`] for what goes through the proxy.
    pub source: Arc<str>,
    /// Its index there.
    pub entry: usize,
    /// Its line in a journal.
    pub line: Option<usize>,
    /// It is outside the contract's base path.
    pub outside: bool,
    /// How long it took, where that was measured.
    pub took: Option<Duration>,
    /// The word for its verdict.
    pub verdict: &'static str,
    /// No recording answered it.
    pub miss: Option<Miss>,
    /// What contrail remarked beside its line.
    pub remarks: Vec<String>,
}

/// A variable that a client finds contrail by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

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

/// How a run ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct End {
    /// The exit status.
    pub status: u8,
    /// Why, a sentence each.
    pub sentences: Vec<String>,
    /// The command to go on with.
    pub next: Option<String>,
}

/// How far files have been read, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Read so far.
    pub read: u64,
    /// Of so many.
    pub of: u64,
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

/// The exchanges.
#[derive(Debug)]
pub(crate) struct Store {
    summaries: VecDeque<Summary>,
    /// Summaries that left.
    left: u32,
    /// When the last exchange started, in microseconds since the epoch.
    last: Option<i64>,
    pub(crate) names: Names,
    kept: Kept,
    context: JournalContext,
    pub(crate) collector: Collector,
    /// The run's own, once it has ended.
    pub(crate) ended: Option<Collector>,
    /// What became of exchanges between two recordings, by their numbers.
    beside: HashMap<u32, Beside>,
    /// How many of them no list has.
    unlisted: u32,
    durations: HashMap<Name, Durations>,
    /// Verdicts and statuses by operation.
    pub(crate) operations: HashMap<Name, Results>,
    /// Who called what, and which parts of the contract were touched; since the first exchange.
    pub(crate) audit: Option<Audit>,
    /// Exchanges of each source, in their order.
    pub(crate) sources: Vec<(Name, u64)>,
    /// Exchanges whose bytes could not be kept.
    pub(crate) unkept: u64,
    /// What a reader has to know of all of it.
    pub(crate) notes: Vec<String>,
    pub(crate) reading: Option<Reading>,
    pub(crate) listeners: Vec<String>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) end: Option<End>,
}

/// What became of the exchanges of an operation.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// By verdict.
    pub(crate) verdicts: [u64; VERDICTS.len()],
    /// By status; 0 where none came.
    pub(crate) statuses: BTreeMap<u16, u64>,
}

/// How long the exchanges of an operation took, in microseconds.
#[derive(Debug, Default)]
struct Durations {
    all: Vec<u32>,
    /// How many there were.
    seen: usize,
    /// The 50th and the 95th percentile of the first so many.
    known: (usize, u32, u32),
}

impl Durations {
    /// Maximum durations that count; later ones replace earlier ones.
    const MAX: usize = 10_000;
    /// Below so many no duration is called slow.
    const ENOUGH: usize = 20;

    fn add(&mut self, took: u32) {
        if self.all.len() < Self::MAX {
            self.all.push(took);
        } else {
            self.all[self.seen % Self::MAX] = took;
        }
        self.seen += 1;
        // The percentiles follow once there is an eighth more, or an eighth of them is new.
        if self.seen > self.known.0 + self.known.0.min(Self::MAX) / 8 {
            let mut sorted = self.all.clone();
            sorted.sort_unstable();
            let at = |part: usize| sorted[(sorted.len() - 1) * part / 100];
            self.known = (self.seen, at(50), at(95));
        }
    }
}

impl Store {
    /// How many exchanges came.
    pub(crate) fn count(&self) -> u32 {
        self.left + u32::try_from(self.summaries.len()).unwrap_or(u32::MAX)
    }

    /// How many exchanges a list without a filter has.
    pub(crate) fn listed(&self) -> u32 {
        (self.count() - self.left).saturating_sub(self.unlisted)
    }

    /// What became of an exchange between two recordings.
    pub(crate) fn beside(&self, n: u32) -> Option<Beside> {
        self.beside.get(&n).copied()
    }

    /// Whether lists may have an exchange.
    pub(crate) fn is_listed(&self, n: u32) -> bool {
        self.beside(n).is_none_or(|beside| beside.state != State::Old)
    }

    /// Whether an exchange counts: it is of the new recording, if there are two.
    pub(crate) fn is_counted(&self, n: u32) -> bool {
        self.beside(n).is_none_or(|beside| !matches!(beside.state, State::Removed | State::Old))
    }

    /// An exchange as a row of a list.
    pub(crate) fn row(&self, n: u32, clean: impl Fn(&str) -> String) -> Option<Value> {
        let summary = self.summary(n)?;
        let mut row = summary.row(n, &self.names, self.is_slow(summary), clean);
        row["state"] = self.beside(n).and_then(|beside| beside.state.name()).into();
        Some(row)
    }

    /// How many of each verdict.
    pub(crate) fn verdicts(&self) -> [u64; VERDICTS.len()] {
        let mut all = [0; VERDICTS.len()];
        for results in self.operations.values() {
            all.iter_mut().zip(results.verdicts).for_each(|(sum, count)| *sum += count);
        }
        all
    }

    /// The first that is still held.
    pub(crate) fn first(&self) -> u32 {
        self.left
    }

    /// Those that a list without a filter has, with their numbers.
    pub(crate) fn numbered(&self) -> impl DoubleEndedIterator<Item = (u32, &Summary)> + Clone {
        let numbered = |(at, summary)| (self.left + u32::try_from(at).unwrap_or(u32::MAX), summary);
        self.summaries.iter().enumerate().map(numbered).filter(|(n, _)| self.is_listed(*n))
    }

    /// The same without them.
    pub(crate) fn summaries(&self) -> impl Iterator<Item = &Summary> + Clone {
        self.numbered().map(|(_, summary)| summary)
    }

    pub(crate) fn summary(&self, n: u32) -> Option<&Summary> {
        self.summaries.get(n.checked_sub(self.left)? as usize)
    }

    /// The number of an exchange that a report cites.
    pub(crate) fn number(&self, source: Option<&str>, entry: usize) -> Option<u32> {
        let mut start = 0_u32;
        for (name, count) in &self.sources {
            let end = start.saturating_add(u32::try_from(*count).unwrap_or(u32::MAX));
            if source.is_none_or(|source| self.names.text(*name).is_some_and(|name| **name == *source)) {
                // In one source, entries ascend; some may be missing.
                let (mut from, mut to) = (start.max(self.left), end);
                while from < to {
                    let middle = from + (to - from) / 2;
                    match (self.summary(middle)?.entry as usize).cmp(&entry) {
                        std::cmp::Ordering::Equal => return Some(middle),
                        std::cmp::Ordering::Less => from = middle + 1,
                        std::cmp::Ordering::Greater => to = middle,
                    }
                }
            }
            start = end;
        }
        None
    }

    /// Whether an exchange took longer than 19 of 20 of its operation.
    pub(crate) fn is_slow(&self, summary: &Summary) -> bool {
        let known = self.durations.get(&summary.operation).map(|durations| durations.known);
        known.zip(summary.took).is_some_and(|((count, _, p95), took)| count >= Durations::ENOUGH && took > p95)
    }

    /// The 50th and the 95th percentile of an operation, in microseconds.
    pub(crate) fn durations(&self, operation: Name) -> Option<(u32, u32)> {
        self.durations.get(&operation).map(|Durations { known: (_, p50, p95), .. }| (*p50, *p95))
    }

    /// An exchange with its bytes, as it was kept.
    pub(crate) fn held(&self, summary: &Summary) -> Result<(JudgedExchange, Surroundings), Gone> {
        summary.place.map_or(Err(Gone::NotKept), |place| self.kept.read(place))
    }

    fn add(&mut self, taken: &Taken, beside: Option<Beside>, contract: &Arc<Contract>, known: u64) {
        let Taken { judged, source, entry, took, verdict, remarks, .. } = taken;
        let place = self.kept.keep(judged, remarks, &self.context);
        self.unkept += u64::from(place.is_none());
        // As the reports count: a miss, whatever else there is to find.
        let verdict = if taken.miss.is_some() { "miss" } else { *verdict };
        let about = About { source, entry: *entry, took: *took, verdict, known };
        let summary = Summary::new(judged, about, place, &mut self.names);
        match self.sources.last_mut() {
            Some((name, count)) if *name == summary.source => *count += 1,
            _ => self.sources.push((summary.source, 1)),
        }
        if let Some(beside) = beside {
            self.unlisted += u32::from(beside.state == State::Old);
            self.beside.insert(self.count(), beside);
        }
        if self.is_counted(self.count()) {
            self.tally(taken, &summary, contract);
        }
        if self.summaries.len() >= MAX_SUMMARIES {
            self.summaries.pop_front();
            self.left += 1;
        }
        self.summaries.push_back(summary);
    }

    /// Counts an exchange.
    fn tally(&mut self, taken: &Taken, summary: &Summary, contract: &Arc<Contract>) {
        let Taken { judged, source, entry, .. } = taken;
        self.last = self.last.max(summary.started);
        if let Some(took) = summary.took {
            self.durations.entry(summary.operation).or_default().add(took);
        }
        let place = ExchangeRef {
            source,
            entry: *entry,
            line: taken.line,
            outside: taken.outside,
            miss: taken.miss.as_ref(),
            recorded: false,
        };
        let results = self.operations.entry(summary.operation).or_default();
        results.verdicts[usize::from(summary.verdict)] += 1;
        *results.statuses.entry(summary.status).or_default() += 1;
        // The parts of a large contract take a moment, which no start of a run has to wait for.
        let audit =
            self.audit.get_or_insert_with(|| Audit::new(Vec::new(), Coverage::new(ContractParts::of(contract))));
        let touched = audit.parts().touched_by(&judged.exchange);
        audit.exchange(place, judged, &touched, contract);
        // Only the list of a JSON report is written to a file, and there is none.
        let _ = self.collector.exchange(place, judged);
    }
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
        Ok(Arc::new(Self {
            contract,
            redactor,
            run: super::guard::random_name(),
            started: jiff::Timestamp::now(),
            advice,
            store: RwLock::new(Store {
                summaries: VecDeque::new(),
                left: 0,
                last: None,
                names: Names::default(),
                kept: Kept::new(buffer)?,
                context,
                collector,
                ended: None,
                beside: HashMap::new(),
                unlisted: 0,
                durations: HashMap::new(),
                operations: HashMap::new(),
                audit: None,
                sources: Vec::new(),
                unkept: 0,
                notes: Vec::new(),
                reading: None,
                listeners: Vec::new(),
                variables: Vec::new(),
                end: None,
            }),
            waiting: Waiting::default(),
            live: LIVE.into(),
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

    /// The run listens here, and a client finds it by these variables.
    pub fn listens(&self, listeners: Vec<String>, variables: Vec<Variable>) {
        self.change(|store| (store.listeners, store.variables) = (listeners, variables));
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
    use super::*;

    #[test]
    fn percentiles_follow_the_latest_durations() {
        let mut durations = Durations::default();
        let add = |durations: &mut Durations, base: u32| (0..20_000).for_each(|n| durations.add(base + n % 100));
        add(&mut durations, 1000);
        assert_eq!((durations.known.1, durations.known.2), (1049, 1094));
        add(&mut durations, 5000);
        assert_eq!((durations.known.1, durations.known.2), (5049, 5094));
        assert_eq!(durations.all.len(), Durations::MAX);
    }
}
