//! The only place that knows all stages: capture → decode → credential → check → redact → journal, console, counters.
//!
//! A [`Pipeline`] is the proxy's observer. Each exchange that ended is judged and redacted at once; its journal line and
//! its console line go into a batch, and all that ended in one turn of the event loop are written together
//! ([`Pipeline::run`]), with one write each. Only then do the ends of their responses go out.
//!
//! A checker that panics costs one exchange its verdict, never the recording. A journal that cannot be written stops
//! no traffic; it is said at once, in the summary, and by the exit status.

mod console;
mod enforce;
mod judge;
mod shapes;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{Notify, oneshot};

pub use self::{
    console::LineFormat,
    enforce::Enforce,
    judge::{Attestation, Checker, Judge, Scope},
    shapes::ContractShapes,
};
use crate::{
    exchange::Exchange,
    finding::{Kind, Rule},
    proxy::{Ended, Holds, Observer, Written},
    recording,
    redact::{Counters, Judged, Redacted, Redactor},
    report::{Collector, Place},
    upstream::{Notes, Problem},
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
}

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
    /// Counts what was said, for the summary and reports.
    pub collector: Collector,
    /// Where entries go.
    pub journal: Option<Box<dyn Journal>>,
    /// How exchange lines are shaped.
    pub lines: LineFormat,
    /// Where exchange lines go.
    pub console: Console,
}

/// Where exchange lines go.
pub struct Console(Box<dyn Write + Send>);

impl Console {
    /// To this writer.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Self(Box::new(writer))
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Console")
    }
}

/// See the module.
#[derive(Debug)]
pub struct Pipeline {
    judge: Judge,
    redactor: Arc<Redactor>,
    enforce: Enforce,
    lines: LineFormat,
    state: Mutex<State>,
    work: Notify,
}

#[derive(Debug)]
struct State {
    collector: Collector,
    journal: Option<Box<dyn Journal>>,
    console: Console,
    line_batch: Vec<u8>,
    journal_batch: bool,
    waiting: Vec<oneshot::Sender<()>>,
    counts: Counts,
}

/// What a pipeline counted besides the verdicts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Exchanges that were judged.
    pub exchanges: u64,
    /// Exchanges outside `--only`, or inside `--exclude`: forwarded, neither judged nor recorded.
    pub left_out: u64,
    /// Exchanges whose check panicked: recorded, nothing about them checked.
    pub unjudged: u64,
    /// Exchanges whose redaction panicked: forwarded, and neither shown nor recorded, since they may hold secrets.
    pub unredacted: u64,
    /// Exchanges that are not whole.
    pub incomplete: u64,
    /// Requests that contrail answered itself, by the value of `Contrail-Answer`.
    pub answered: BTreeMap<String, u64>,
    /// Requests that were sent twice.
    pub retried: u64,
    /// Replay misses.
    pub misses: u64,
    /// Requests that were turned away before they became exchanges, by reason.
    pub turned_away: BTreeMap<String, u64>,
    /// Exchanges that could not be written to the journal.
    pub unwritten: u64,
    /// The first reason why.
    pub journal_error: Option<String>,
}

/// What a pipeline came to, at its end.
#[derive(Debug)]
pub struct Outcome {
    /// What was said about the exchanges.
    pub collector: Collector,
    /// What was counted besides.
    pub counts: Counts,
    /// What redaction found.
    pub secrets: Counters,
}

impl Counts {
    /// Whether an exchange that was to be recorded was not.
    #[must_use]
    pub fn lost(&self) -> bool {
        self.unwritten > 0 || self.unredacted > 0 || self.journal_error.is_some()
    }
}

impl Pipeline {
    /// Puts the parts together. Run [`Pipeline::run`] beside the proxy, else the end of no response goes out.
    #[must_use]
    pub fn new(parts: Parts) -> Arc<Self> {
        let Parts { judge, redactor, enforce, collector, journal, lines, console } = parts;
        Arc::new(Self {
            judge,
            redactor,
            enforce,
            lines,
            state: Mutex::new(State {
                collector,
                journal,
                console,
                line_batch: Vec::new(),
                journal_batch: false,
                waiting: Vec::new(),
                counts: Counts::default(),
            }),
            work: Notify::new(),
        })
    }

    /// Writes batches as long as it is polled: one per turn of the event loop in which an exchange ended.
    pub async fn run(&self) {
        loop {
            self.work.notified().await;
            // Everything that is ready in this turn runs first, and so joins the batch.
            tokio::task::yield_now().await;
            self.flush();
        }
    }

    /// Writes what is there. [`Pipeline::run`] does it; the end of a run does it once more.
    pub fn flush(&self) {
        let mut state = self.lock();
        let state = &mut *state;
        let entries = state.waiting.len() as u64;
        if std::mem::take(&mut state.journal_batch)
            && let Some(journal) = &mut state.journal
            && let Err(error) = journal.write()
        {
            state.counts.unwritten += entries;
            if state.counts.journal_error.is_none() {
                tracing::error!(%error, "the journal cannot be written; traffic goes on, unrecorded");
                state.counts.journal_error = Some(error.to_string());
                console::alarm(&mut state.line_batch, self.lines, &error);
            }
        }
        for waiting in state.waiting.drain(..) {
            let _ = waiting.send(());
        }
        if !state.line_batch.is_empty() {
            // Nobody who reads the lines is owed more than an attempt.
            let _ = state.console.0.write_all(&state.line_batch).and_then(|()| state.console.0.flush());
            state.line_batch.clear();
        }
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

    /// A copy of what was counted so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.lock().counts.clone()
    }

    /// Writes what is left, closes the journal, and gives what was counted.
    ///
    /// The journal given to [`Parts`] is dropped here; nothing is recorded any more.
    pub fn finish(&self, replacement: Collector) -> Outcome {
        self.flush();
        let mut state = self.lock();
        state.journal = None;
        Outcome {
            collector: std::mem::replace(&mut state.collector, replacement),
            counts: std::mem::take(&mut state.counts),
            secrets: self.redactor.counters(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, ended: Ended) -> Written {
        let Ended { exchange, notes, took } = ended;
        let judged = self.judge.judge(exchange, &notes);
        let Some((judged, panicked)) = judged else {
            self.lock().counts.left_out += 1;
            return Written::now();
        };
        let redacted = self.judge.redact(&self.redactor, judged, &notes);
        let mut state = self.lock();
        let state = &mut *state;
        let Some((judged, attestation)) = redacted else {
            state.counts.unredacted += 1;
            console::unredacted(&mut state.line_batch, self.lines);
            self.work.notify_one();
            return Written::now();
        };
        count(&mut state.counts, &judged.exchange, &notes, panicked);
        let place =
            Place { source: "live", entry: usize::try_from(state.counts.exchanges - 1).unwrap_or(0), outside: false };
        if let Err(error) = state.collector.exchange(place, &judged, None) {
            tracing::warn!(%error, "the report's temporary file cannot be written");
        }
        console::line(&mut state.line_batch, self.lines, &judged, &notes, took);
        self.work.notify_one();
        // A recorded answer is in a recording already.
        let journal = state.journal.as_mut().filter(|_| !notes.response_judged_elsewhere);
        let Some(journal) = journal else { return Written::now() };
        journal.add(&judged, attestation);
        state.journal_batch = true;
        let (done, written) = oneshot::channel();
        state.waiting.push(done);
        Written::when(written)
    }

    fn admit(&self, exchange: &Exchange, scope: Scope) -> Result<(), Problem> {
        match self.judge.admit(exchange.clone(), scope) {
            None => Ok(()),
            Some(Err(judge::Unjudged)) => Err(enforce::unjudged()),
            Some(Ok(judged)) => {
                let redacted = catch_unwind(AssertUnwindSafe(|| self.redactor.redact(judged)));
                redacted.map_or_else(|_| Err(enforce::unjudged()), |redacted| enforce::verdict(&redacted, scope))
            }
        }
    }
}

fn count(counts: &mut Counts, exchange: &Exchange, notes: &Notes, panicked: bool) {
    counts.exchanges += 1;
    counts.unjudged += u64::from(panicked);
    counts.incomplete += u64::from(exchange.transport.incomplete.is_some());
    counts.retried += u64::from(exchange.transport.retried);
    counts.misses += u64::from(notes.miss);
    if let Some(reason) = &exchange.transport.answered_by_contrail {
        *counts.answered.entry(reason.clone()).or_default() += 1;
    }
}

impl Observer for Pipeline {
    fn holds(&self) -> Holds {
        self.enforce.holds()
    }

    fn admit_request(&self, exchange: &Exchange) -> Result<(), Problem> {
        self.admit(exchange, Scope::Request)
    }

    fn admit_response(&self, exchange: &Exchange) -> Result<(), Problem> {
        self.admit(exchange, Scope::Whole)
    }

    fn ended(&self, ended: Ended) -> Written {
        self.record(ended)
    }

    fn turned_away(&self, status: u16, reason: &str) {
        let mut state = self.lock();
        let state = &mut *state;
        *state.counts.turned_away.entry(reason.to_owned()).or_default() += 1;
        console::turned_away(&mut state.line_batch, self.lines, status, reason);
        self.work.notify_one();
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
