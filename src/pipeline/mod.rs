//! The only place that knows all stages: capture → decode → credential → check → redact → journal, console, counters.
//!
//! A [`Pipeline`] is the proxy's observer. The exchanges that end in one turn of an event loop form a batch, which is
//! processed at the end of the turn ([`Pipeline::run`]): all are judged, then all are redacted, then their entries and
//! lines are written with one call each. Going stage by stage keeps each stage's code and data in the processor's caches.
//! Only then do the ends of their responses go out. Each event loop processes its own batch; the first one that ends its
//! turn writes for all.
//!
//! A checker that panics costs one exchange its verdict, never the recording. A journal that cannot be written stops no
//! traffic: an alarm, the summary and the exit status report it.
//!
//! Under `--durable` the ends of responses also wait for the disk. A thread syncs what was written, once for all exchanges
//! written meanwhile; the event loop never waits for it. An exchange that cannot be written or synced is refused: its
//! response does not end, and new requests get 503 until an entry can be written again.

mod batches;
mod console;
mod counts;
mod enforce;
mod judge;
mod lines;
mod process;
mod shapes;
#[cfg(test)]
mod tests;
mod verdict_cache;

use std::{
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use http::{HeaderMap, StatusCode};

use self::{
    batches::{Batches, Waiting},
    enforce::Held,
};
pub use self::{
    console::LineFormat,
    counts::{Counts, Queue},
    enforce::Enforce,
    judge::{Attestation, Checker, Judge},
    lines::Console,
    shapes::ContractShapes,
    verdict_cache::VerdictCache,
};
use crate::{
    contract::Contract,
    exchange::{Exchange, Headers, Request},
    finding::{Kind, Rule, Verdict},
    proxy::{Committed, Completed, HoldPolicy, Observer},
    recording,
    redact::{Counters, Judged, Redacted, Redactor},
    report::{Collector, Place},
    upstream::{Denied, Problem},
};

/// Where entries go. Both methods are called from the event loop and must not block longer than a write does.
pub trait Journal: Send + fmt::Debug {
    /// Adds an entry to the batch.
    fn add(&mut self, judged: &Redacted<Judged>, attestation: Attestation);

    /// Gives the batch to the kernel, in one write.
    ///
    /// # Errors
    ///
    /// The batch was not written, or not whole; the journal stays usable.
    fn write(&mut self) -> io::Result<()>;

    /// Bytes in the batch.
    fn queued(&self) -> usize {
        0
    }

    /// What waits until all that was written so far is on the disk. It runs on another thread.
    fn unsynced(&mut self) -> Sync {
        Box::new(|| Ok(()))
    }

    /// Events since the last call that a user must see, though nothing was lost.
    fn alarms(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// See [`Journal::unsynced`].
pub type Sync = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// A journal that its owner folds when the pipeline is done with it.
pub type SharedJournal = Arc<Mutex<recording::Journal>>;

impl Journal for SharedJournal {
    fn add(&mut self, judged: &Redacted<Judged>, attestation: Attestation) {
        let mut journal = self.lock().unwrap_or_else(PoisonError::into_inner);
        journal.add(judged, attestation.attested.as_ref());
    }

    fn write(&mut self) -> io::Result<()> {
        self.lock().unwrap_or_else(PoisonError::into_inner).write()
    }

    fn queued(&self) -> usize {
        self.lock().unwrap_or_else(PoisonError::into_inner).queued()
    }

    fn unsynced(&mut self) -> Sync {
        let unsynced = self.lock().unwrap_or_else(PoisonError::into_inner).unsynced();
        Box::new(move || unsynced.sync())
    }

    fn alarms(&mut self) -> Vec<String> {
        self.lock().unwrap_or_else(PoisonError::into_inner).alarms()
    }
}

/// What a pipeline is made of.
#[derive(Debug)]
pub struct Parts {
    /// Judges exchanges.
    pub judge: Judge,
    /// Takes the secrets out.
    pub redactor: Arc<Redactor>,
    /// Which messages are held until they are judged, if any.
    pub enforce: Enforce,
    /// Counts findings, for the summary and reports.
    pub collector: Collector,
    /// Where entries go.
    pub journal: Option<Box<dyn Journal>>,
    /// The ends of responses wait for the disk, and what cannot be recorded is refused.
    pub durable: bool,
    /// How exchange lines are shaped.
    pub lines: LineFormat,
    /// Where exchange lines go.
    pub console: Console,
}

/// The pipeline; see the module.
#[derive(Debug)]
pub struct Pipeline {
    judge: Judge,
    redactor: Arc<Redactor>,
    enforce: Enforce,
    lines: LineFormat,
    console: Arc<Console>,
    durable: bool,
    records: bool,
    batches: Batches,
    state: Mutex<State>,
    to_sync: Condvar,
    syncer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct State {
    collector: Collector,
    journal: Option<Box<dyn Journal>>,
    line_batch: Vec<u8>,
    journal_batch: bool,
    waiting: Vec<Waiting>,
    disk: Disk,
    counts: Counts,
}

/// The state of the disk, under `--durable`.
#[derive(Debug, Default)]
struct Disk {
    /// Written, and not on the disk yet.
    syncing: Vec<Waiting>,
    sync_wanted: bool,
    /// Why requests are refused at present.
    refusing: Option<String>,
    /// A sync failed: which part of the journal is on the disk is unknown, and a later success would not show it.
    sync_failed: bool,
    /// No more is to come.
    closing: bool,
}

impl Disk {
    /// From now on requests are refused, for this reason; the answer.
    fn refuse(&mut self, reason: String) -> Problem {
        let problem = unrecorded(&reason);
        self.refusing = Some(reason);
        problem
    }
}

/// Bytes of entries that are written at once, without waiting for the turn of the event loop to end.
const MAX_QUEUED: usize = 4 << 20;

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Counts of findings.
    pub collector: Collector,
    /// Other counts.
    pub counts: Counts,
    /// What redaction found.
    pub secrets: Counters,
    /// Where exchange lines went; close it before printing anything else.
    pub console: Arc<Console>,
}

impl Pipeline {
    /// Puts the parts together. Run [`Pipeline::run`] beside the proxy, else the end of no response goes out.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn new(parts: Parts) -> io::Result<Arc<Self>> {
        let Parts { judge, redactor, enforce, collector, journal, durable, lines, console } = parts;
        let pipeline = Arc::new(Self {
            judge,
            redactor,
            enforce,
            lines,
            console: Arc::new(console),
            durable,
            records: journal.is_some(),
            batches: Batches::default(),
            state: Mutex::new(State {
                collector,
                journal,
                line_batch: Vec::new(),
                journal_batch: false,
                waiting: Vec::new(),
                disk: Disk::default(),
                counts: Counts::default(),
            }),
            to_sync: Condvar::new(),
            syncer: Mutex::new(None),
        });
        if durable {
            let syncing = Arc::clone(&pipeline);
            let thread = thread::Builder::new().name("journal".to_owned()).spawn(move || syncing.sync_batches())?;
            *pipeline.syncer.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        }
        Ok(pipeline)
    }

    /// Processes and writes what ended, once per turn of the event loop in which an exchange ended. Runs until it is
    /// dropped; each event loop needs one.
    pub async fn run(&self) {
        let turn = self.batches.begin();
        loop {
            turn.notified().await;
            // Everything that is ready in this turn runs first, and so joins the batch.
            tokio::task::yield_now().await;
            let taken_up = catch_unwind(AssertUnwindSafe(|| {
                self.process_batch(&turn);
                self.write_out();
            }));
            if taken_up.is_err() {
                // Those that come after it are still written; the responses of the others are cut.
                tracing::error!("failed to encode a journal entry; please report it");
                self.lock().counts.unwritten += 1;
            }
        }
    }

    /// Processes and writes what ended. [`Pipeline::run`] does it; the end of a run does it once more.
    pub fn flush(&self) {
        self.process_batches();
        self.write_out();
    }

    fn write_out(&self) {
        let mut state = self.lock();
        let state = &mut *state;
        self.write(state);
        if !state.line_batch.is_empty() {
            self.console.push(&mut state.line_batch);
        }
    }

    /// Gives the batch of entries to the kernel, and releases those who wait for no more than that.
    fn write(&self, state: &mut State) {
        let Some(journal) = state.journal.as_mut().filter(|_| std::mem::take(&mut state.journal_batch)) else { return };
        let queue = &mut state.counts.queue;
        queue.most_bytes = queue.most_bytes.max(journal.queued());
        queue.most_exchanges = queue.most_exchanges.max(state.waiting.len() + state.disk.syncing.len());
        queue.writes += 1;
        let begun = Instant::now();
        let written = journal.write();
        queue.slowest = queue.slowest.max(begun.elapsed());
        for alarm in journal.alarms() {
            console::alarm(&mut state.line_batch, self.lines, &alarm, None);
        }
        if let Err(error) = written {
            return self.lost(state, &error);
        }
        if !self.durable {
            release(&mut state.waiting, &Ok(()));
            return;
        }
        if !state.disk.sync_failed {
            state.disk.refusing = None;
        }
        // Those whose client has gone already wait for nothing.
        state.waiting.retain(|waiting| !waiting.is_gone());
        state.disk.syncing.append(&mut state.waiting);
        state.disk.sync_wanted = true;
        self.to_sync.notify_one();
    }

    /// A batch is not in the journal.
    fn lost(&self, state: &mut State, error: &io::Error) {
        state.counts.unwritten += state.waiting.len() as u64;
        self.alarm(state, error);
        let answer = if self.durable { Err(state.disk.refuse(error.to_string())) } else { Ok(()) };
        release(&mut state.waiting, &answer);
    }

    /// Reports once that the journal cannot be written.
    fn alarm(&self, state: &mut State, error: &io::Error) {
        if state.counts.journal_error.is_some() {
            return;
        }
        state.counts.journal_error = Some(error.to_string());
        let alarm = if self.durable {
            "the journal cannot be written; requests get 503 until it can (--durable)"
        } else {
            "the journal cannot be written; traffic goes on and is not recorded"
        };
        tracing::error!(%error, "{alarm}");
        let mut line = Vec::new();
        console::alarm(&mut line, self.lines, alarm, Some(error));
        self.console.insist(&line);
    }

    /// The work of the syncing thread: one sync for all exchanges that were written since the one before.
    fn sync_batches(&self) {
        let mut state = self.lock();
        loop {
            if !std::mem::take(&mut state.disk.sync_wanted) {
                if state.disk.closing {
                    return;
                }
                state = self.to_sync.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let mut waiting = std::mem::take(&mut state.disk.syncing);
            let sync = state.journal.as_mut().map(|journal| journal.unsynced());
            drop(state);
            let begun = Instant::now();
            let synced = sync.map_or(Ok(()), |sync| sync());
            let took = begun.elapsed();
            state = self.lock();
            state.counts.queue.syncs += 1;
            state.counts.queue.slowest = state.counts.queue.slowest.max(took);
            let answer = match synced {
                Ok(()) if !state.disk.sync_failed => Ok(()),
                Ok(()) => Err(unrecorded(state.disk.refusing.as_deref().unwrap_or_default())),
                Err(error) => {
                    state.disk.sync_failed = true;
                    self.alarm(&mut state, &error);
                    let reason = format!("{error}; start contrail anew once the disk is mended");
                    Err(state.disk.refuse(reason))
                }
            };
            if answer.is_err() {
                state.counts.unwritten += waiting.len() as u64;
            }
            release(&mut waiting, &answer);
        }
    }

    /// The contract in force.
    #[must_use]
    pub fn contract(&self) -> &Arc<Contract> {
        &self.judge.contract
    }

    /// How exchange lines are shaped.
    #[must_use]
    pub fn lines(&self) -> LineFormat {
        self.lines
    }

    /// What redaction works by.
    #[must_use]
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// Counts an exchange that did not go through the proxy now (a recorded one, judged beside it).
    ///
    /// # Errors
    ///
    /// The temporary file of a JSON report could not be written.
    pub fn collect(&self, place: Place<'_>, judged: &Redacted<Judged>) -> io::Result<()> {
        self.lock().collector.exchange(place, judged, None)
    }

    /// Writes what is left, closes the journal, and gives what was counted.
    ///
    /// The journal given to [`Parts`] is dropped here; nothing is recorded any more.
    pub fn finish(&self, replacement: Collector) -> Outcome {
        self.flush();
        self.lock().disk.closing = true;
        self.to_sync.notify_one();
        let syncer = self.syncer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(syncer) = syncer {
            let _ = syncer.join();
        }
        let mut state = self.lock();
        state.journal = None;
        state.collector.redact(&self.redactor);
        Outcome {
            collector: std::mem::replace(&mut state.collector, replacement),
            counts: std::mem::take(&mut state.counts),
            secrets: self.redactor.counters(),
            console: Arc::clone(&self.console),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts and shows a request that was turned away because of its host.
    fn deny(&self, denied: &Denied) {
        let mut state = self.lock();
        let state = &mut *state;
        *state.counts.turned_away.entry(denied.reason.to_owned()).or_default() += 1;
        state.collector.denied(&denied.host, denied.reason);
        console::denied(&mut state.line_batch, self.lines, denied);
        self.batches.here().wake();
    }

    /// Why a request that is held does not pass.
    fn refusal(&self, exchange: &Exchange, verdict: Verdict) -> Problem {
        self.process_batches();
        let redacted = catch_unwind(AssertUnwindSafe(|| self.redactor.redact(Judged::new(exchange.clone(), verdict))));
        redacted
            .map_or_else(|_| enforce::unjudged(Held::Request), |redacted| enforce::refusal(&redacted, Held::Request))
    }
}

/// Answers all of them.
fn release(waiting: &mut Vec<Waiting>, answer: &Result<(), Problem>) {
    for waiting in waiting.drain(..) {
        waiting.tell(answer.clone());
    }
}

/// The answer to a request that cannot be recorded, under `--durable`.
fn unrecorded(reason: &str) -> Problem {
    let detail = format!("the journal cannot be written, and --durable lets nothing through unrecorded: {reason}");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "durable", detail)
}

impl Observer for Pipeline {
    fn holds(&self) -> HoldPolicy {
        HoldPolicy { heads: self.durable, ..self.enforce.holds() }
    }

    fn refuses(&self, request: &Request) -> Option<Problem> {
        if !self.durable {
            return None;
        }
        let problem = self.lock().disk.refusing.as_deref().map(unrecorded)?;
        // What is not recorded anyway does not wait for the journal.
        self.judge.includes(request).then_some(problem)
    }

    fn admit_request(&self, exchange: &mut Exchange) -> Result<(), Problem> {
        match self.judge.admit(exchange) {
            None => Ok(()),
            Some(Err(judge::Unjudged)) => Err(enforce::unjudged(Held::Request)),
            Some(Ok(verdict)) if enforce::passes(&verdict, Held::Request) => Ok(()),
            Some(Ok(verdict)) => Err(self.refusal(exchange, verdict)),
        }
    }

    fn on_completed(&self, ended: Completed) -> Committed {
        self.record(ended)
    }

    fn on_informational(&self, headers: &HeaderMap) {
        // What fails here fails on the exchange too, and is reported there.
        let _ = catch_unwind(AssertUnwindSafe(|| self.redactor.recognise_headers(&Headers::from(headers))));
    }

    fn on_rejected(&self, status: u16, reason: &str) {
        let mut state = self.lock();
        let state = &mut *state;
        *state.counts.turned_away.entry(reason.to_owned()).or_default() += 1;
        console::turned_away(&mut state.line_batch, self.lines, status, reason);
        self.batches.here().wake();
    }

    fn on_denied(&self, denied: &Denied) {
        // Clients can put anything where a host belongs.
        let clean =
            |text: &str| catch_unwind(AssertUnwindSafe(|| self.redactor.text(text).into_inner())).unwrap_or_default();
        self.deny(&Denied { host: clean(&denied.host), advice: clean(&denied.advice), ..*denied });
    }
}

/// Whether a rule's findings are violations; what `--enforce` goes by.
fn violates(rule: Rule) -> bool {
    rule.kind() == Kind::Violation
}

/// Milliseconds, for lines.
fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
