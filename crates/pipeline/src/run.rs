//! The pipeline itself: its parts, its state, and its turns.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use contrail_contract::Contract;
use contrail_proxy::metrics::{Exchanges, Metrics};
use contrail_recording::EntryBatch;
use contrail_redact::{Counters, JudgedExchange, Redacted, Redactor};
use contrail_report::{
    Collector, ExchangeRef, Title,
    coverage::{ContractParts, Touched},
};

use super::{
    batches::{Batches, Waiting},
    console::LineFormat,
    counts::Counts,
    disk::Disk,
    enforce::Enforce,
    journal::{Encode, Journal},
    judge::Judge,
    lines::Console,
    tracer::{Tracer, Viewer},
};

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
    /// Bytes of bodies that an event loop judges itself. More are judged on a thread of their own, so that the loop
    /// serves its other connections meanwhile.
    pub max_inline: usize,
    /// How exchange lines are shaped.
    pub lines: LineFormat,
    /// Exchanges without findings, misses and faults get no line.
    pub quiet: bool,
    /// Where exchange lines go.
    pub console: Console,
    /// Where exchanges are counted for `--metrics` and `--otlp`, if they are.
    pub metrics: Option<Arc<Metrics>>,
    /// Takes exchanges for `--otlp`.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// Takes exchanges for the live page.
    pub viewer: Option<Arc<dyn Viewer>>,
}

/// The pipeline; see the module.
#[derive(Debug)]
pub struct Pipeline {
    pub(super) judge: Judge,
    pub(super) redactor: Arc<Redactor>,
    parts: Option<Arc<ContractParts>>,
    pub(super) enforce: Enforce,
    pub(super) lines: LineFormat,
    pub(super) quiet: bool,
    pub(super) console: Arc<Console>,
    pub(super) durable: bool,
    pub(super) max_inline: usize,
    /// Where there is a journal.
    pub(super) encoder: Option<Box<dyn Encode>>,
    pub(super) batches: Batches,
    /// Locked for as long as a write takes; see [`Self::write`].
    pub(super) journal: Mutex<Option<Box<dyn Journal>>>,
    /// Never locked while anything is judged, redacted, encoded, or written to the journal.
    pub(super) state: Mutex<RunState>,
    pub(super) to_sync: Condvar,
    pub(super) syncer: Mutex<Option<JoinHandle<()>>>,
    pub(super) metrics: Option<Arc<Metrics>>,
    pub(super) tracer: Option<Arc<dyn Tracer>>,
    pub(super) viewer: Option<Arc<dyn Viewer>>,
}

#[derive(Debug)]
pub(super) struct RunState {
    pub(super) collector: Collector,
    pub(super) queued: Queued,
    /// A thread writes.
    pub(super) is_writing: bool,
    pub(super) line_batch: Vec<u8>,
    pub(super) disk: Disk,
    pub(super) counts: Counts,
}

/// Entries that the next write takes.
#[derive(Debug, Default)]
pub(super) struct Queued {
    /// There are some, or the journal is to be written all the same.
    pub(super) is_wanted: bool,
    pub(super) entries: EntryBatch,
    pub(super) waiting: Vec<Waiting>,
}

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
        let Parts {
            judge,
            redactor,
            enforce,
            collector,
            journal,
            durable,
            max_inline,
            lines,
            quiet,
            console,
            metrics,
            tracer,
            viewer,
        } = parts;
        let pipeline = Arc::new(Self {
            judge,
            redactor,
            parts: collector.parts().cloned(),
            enforce,
            lines,
            quiet,
            console: Arc::new(console),
            durable,
            max_inline,
            encoder: journal.as_ref().map(|journal| journal.encoder()),
            batches: Batches::default(),
            journal: Mutex::new(journal),
            state: Mutex::new(RunState {
                collector,
                queued: Queued::default(),
                is_writing: false,
                line_batch: Vec::new(),
                disk: Disk::default(),
                counts: Counts::default(),
            }),
            to_sync: Condvar::new(),
            syncer: Mutex::new(None),
            metrics,
            tracer,
            viewer,
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
    pub async fn run(self: &Arc<Self>) {
        let turn = self.batches.begin();
        loop {
            turn.notified().await;
            // Everything that is ready in this turn runs first, and so joins the batch.
            tokio::task::yield_now().await;
            let mut is_left = false;
            self.take_up(|| is_left = !self.process_batch(&turn));
            if is_left {
                let (pipeline, turn) = (Arc::clone(self), Arc::clone(&turn));
                let judging = move || {
                    let (pending, _busy) = turn.take_all();
                    pipeline.take_up(|| pipeline.process(&turn, pending));
                };
                let _ = tokio::task::spawn_blocking(judging).await;
            }
        }
    }

    /// Processes something, and writes what comes of it.
    fn take_up(&self, process: impl FnOnce()) {
        let taken_up = catch_unwind(AssertUnwindSafe(|| {
            process();
            self.write_out();
        }));
        if taken_up.is_err() {
            // Those that come after it are still written; the responses of the others are cut.
            tracing::error!("failed to encode a journal entry; please report it");
            self.lock().counts.unwritten += 1;
            self.internal_error();
        }
    }

    /// Processes and writes what ended. [`Pipeline::run`] does it; the end of a run does it once more.
    pub fn flush(&self) {
        self.process_batches();
        self.write_out();
        drop(self.not_writing());
    }

    /// Where exchanges are counted for `--metrics` and `--otlp`, if they are.
    #[must_use]
    pub fn metrics(&self) -> Option<&Arc<Metrics>> {
        self.metrics.as_ref()
    }

    /// The counters of all event loops.
    #[must_use]
    pub fn exchanges(&self) -> Exchanges {
        let mut all = Exchanges::default();
        for turn in self.batches.each() {
            all.add(&turn.exchanges());
        }
        all
    }

    /// How many exchange lines were dropped.
    #[must_use]
    pub fn lines_dropped(&self) -> u64 {
        self.console.dropped()
    }

    pub(super) fn internal_error(&self) {
        if let Some(metrics) = &self.metrics {
            metrics.internal_error();
        }
    }

    /// The contract in force.
    #[must_use]
    pub fn contract(&self) -> Arc<Contract> {
        Arc::clone(&self.judge.contract)
    }

    /// Whether no check waits until its contract is compiled.
    #[must_use]
    pub fn is_prepared(&self) -> bool {
        self.judge.contract.is_prepared()
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
    pub fn collect(&self, place: ExchangeRef<'_>, judged: &Redacted<JudgedExchange>) -> io::Result<()> {
        let touched = self.touched(judged);
        let mut state = self.lock();
        if let Some(touched) = touched {
            state.collector.touched(&touched);
        }
        state.collector.exchange(place, judged)
    }

    /// The parts of the contract that an exchange touches, if reports show them.
    pub(super) fn touched(&self, judged: &Redacted<JudgedExchange>) -> Option<Touched> {
        let parts = self.parts.as_ref()?;
        catch_unwind(AssertUnwindSafe(|| parts.touched_by(&judged.exchange))).ok()
    }

    /// Writes what is left, closes the journal, and gives what was counted.
    ///
    /// The journal given to [`Parts`] is dropped here; nothing is recorded any more.
    pub fn finish(&self) -> Outcome {
        self.flush();
        self.lock().disk.closing = true;
        self.to_sync.notify_one();
        let syncer = self.syncer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(syncer) = syncer {
            let _ = syncer.join();
        }
        let nothing = Collector::new(Title::default(), Vec::new(), false);
        *self.journal() = None;
        let mut state = self.lock();
        state.collector.redact(&self.redactor);
        state.collector.evicted(self.redactor.counters().forgotten);
        Outcome {
            collector: std::mem::replace(&mut state.collector, nothing),
            counts: std::mem::take(&mut state.counts),
            secrets: self.redactor.counters(),
            console: Arc::clone(&self.console),
        }
    }

    pub(super) fn journal(&self) -> MutexGuard<'_, Option<Box<dyn Journal>>> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
