//! Processing a batch: judge, redact, count, encode.

use std::{
    mem::take,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use contrail_exchange::{Exchange, finding::Verdict};
use contrail_proxy::{
    Committed, Completed, Observer as _, held_back,
    metrics::{Exchanges, Observed},
    upstream::{AnswerMeta, Miss},
};
use contrail_redact::{JudgedExchange, Redacted};
use contrail_report::{self as report, ExchangeRef, LIVE, coverage::Touched, verdict_name};
use http::header;

use super::{
    batches::{Batch, Outgoing, Pending, Waiting},
    console::{self, LineStart},
    disk::unrecorded,
    enforce::{self, HeldMessage},
    judge::{Attestation, Judge},
    run::Pipeline,
    tracer::{Traced, Viewed},
    writing::MAX_QUEUED,
};

/// An exchange of a batch, at one of the stages.
struct Processing<T> {
    /// Its value at this stage; `None` if a stage failed, and nothing of it may be written or shown.
    of: Option<T>,
    meta: AnswerMeta,
    took: Duration,
    /// When it ended.
    ended: Instant,
    /// Its response is held until it is judged.
    held: bool,
    waiting: Option<Waiting>,
    /// Captured bytes of the bodies of request and response.
    captured: [usize; 2],
    /// The answer has a link that leads its client past contrail.
    leads_past: bool,
}

/// An exchange that can be counted, shown and recorded.
struct Ready {
    judged: Redacted<JudgedExchange>,
    attestation: Attestation,
    panicked: bool,
    /// The parts of the contract that it touches, where reports show them.
    touched: Option<Touched>,
}

/// A miss, for reports.
fn report_miss(miss: &Miss) -> report::Miss {
    report::Miss {
        reason: miss.word(),
        request: miss.asked.clone(),
        detail: miss.detail(),
        nearest: miss.nearest.clone(),
        session: miss.session.as_deref().map(str::to_owned),
    }
}

fn judged(judge: &Judge, Pending { ended, waiting }: Pending) -> Processing<(JudgedExchange, bool)> {
    let Completed { exchange, meta, took, ended, held, alone: _, calls_contrail } = ended;
    let response = exchange.response.as_ref().map_or(0, |response| response.body.content.len());
    let captured = [exchange.request.body.content.len(), response];
    // A panic costs this exchange, not those that ended with it.
    let judged = catch_unwind(AssertUnwindSafe(|| judge.judge(exchange, &meta))).ok();
    let leads_past = calls_contrail && judged.as_ref().is_some_and(|(judged, _)| names_upstream(&judged.exchange));
    Processing { of: judged, meta, took, ended, held, waiting, captured, leads_past }
}

/// Whether the answer names the origin that the request went to, in a link or in its body.
fn names_upstream(exchange: &Exchange) -> bool {
    let Some(response) = &exchange.response else { return false };
    let authority = exchange.request.target.authority.as_bytes();
    let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':');
    let is_link = |rest: &[u8]| rest.starts_with(authority) && !rest.get(authority.len()).is_some_and(is_host);
    let names = |text: &[u8]| {
        // To begin a search for all of it takes as long as to look at so many bytes slash by slash.
        if text.len() < 4096 {
            memchr::memchr_iter(b'/', text).any(|slash| is_link(&text[slash + 1..]))
        } else {
            memchr::memmem::find_iter(text, authority).any(|at| text[..at].ends_with(b"/") && is_link(&text[at..]))
        }
    };
    let links = [header::LOCATION, header::LINK, header::CONTENT_LOCATION];
    let mut headers = response.headers.iter().filter(|(name, _)| links.contains(name));
    headers.any(|(_, value)| names(value.as_ref())) || names(&response.body.content)
}

/// The word for a verdict.
fn conclusion(verdict: &Verdict, panicked: bool, meta: &AnswerMeta) -> &'static str {
    if panicked { "unjudged" } else { verdict_name(verdict.conclusion(), meta.miss.is_some()) }
}

impl Pipeline {
    /// Processes the batches of all event loops, since they may hold secrets of what is redacted next.
    pub fn process_batches(&self) {
        for turn in self.batches.each() {
            let (pending, _busy) = turn.take_all();
            self.process(turn, pending);
        }
    }

    /// Takes an exchange that is over; its response waits for what is given, if it waits.
    pub(super) fn record(&self, ended: Completed) -> Committed {
        if let Some(denied) = &ended.meta.denied {
            self.on_denied(denied);
            return Committed::now();
        }
        if !self.judge.includes(&ended.exchange.request) {
            self.lock().counts.left_out += 1;
            if let Some(metrics) = &self.metrics {
                metrics.left_out();
            }
            return Committed::now();
        }
        let turn = self.batches.here();
        let later = self.defers(turn, &ended.exchange);
        // An exchange in another event loop could use a secret before this batch is processed; and clients that wait
        // for a thread send no more than it can judge.
        let waits = ended.held
            || later
            || self.encoder.is_some() && (self.durable || self.is_recorded(&ended.meta))
            || self.batches.are_several();
        let (waiting, written) = if waits {
            let (waiting, written) = Waiting::new();
            (Some(waiting), written)
        } else {
            (None, Committed::now())
        };
        let alone = ended.alone;
        let full = turn.add(Pending { ended, waiting }, later);
        let processed = (alone || full) && self.process_batch(turn);
        if alone && processed {
            self.write();
        }
        turn.wake();
        written
    }

    /// See [`Batch::defers`].
    pub(super) fn defers(&self, turn: &Batch, exchange: &Exchange) -> bool {
        turn.defers(exchange, self.max_inline, || self.is_prepared())
    }

    /// Whether an exchange gets an entry; a recorded answer is in a recording already.
    fn is_recorded(&self, meta: &AnswerMeta) -> bool {
        self.encoder.is_some() && !meta.response_judged_elsewhere
    }

    /// Processes the batch of an event loop on it; `false` where that would hold it up.
    pub(super) fn process_batch(&self, turn: &Batch) -> bool {
        turn.take_light().map(|pending| self.process(turn, pending)).is_some()
    }

    /// Judges and redacts a batch, and queues its entries and lines.
    pub(super) fn process(&self, turn: &Batch, pending: Vec<Pending>) {
        if pending.is_empty() {
            return;
        }
        let judged: Vec<_> = pending.into_iter().map(|pending| judged(&self.judge, pending)).collect();
        let mut redacted: Vec<_> = judged.into_iter().map(|judged| self.redacted(judged)).collect();
        if self.metrics.is_some() {
            let mut exchanges = turn.exchanges();
            for redacted in &redacted {
                self.count(&mut exchanges, redacted);
            }
        }
        let mut outgoing = turn.outgoing();
        // What a panic left of another batch.
        outgoing.entries.clear();
        outgoing.lines.clear();
        outgoing.starts.clear();
        outgoing.exchanges = 0;
        let mut queued = 0;
        for next in 0..redacted.len() {
            self.encode_exchange(&redacted[next], &mut outgoing);
            if outgoing.entries.size() >= MAX_QUEUED {
                self.queue(&mut redacted[queued..=next], &mut outgoing);
                queued = next + 1;
                self.write();
            }
        }
        self.queue(&mut redacted[queued..], &mut outgoing);
    }

    /// Counts an exchange for `--metrics`.
    fn count(&self, exchanges: &mut Exchanges, redacted: &Processing<Ready>) {
        let Processing { of: Some(Ready { judged, panicked, .. }), meta, took, captured, .. } = redacted else {
            return self.internal_error();
        };
        let JudgedExchange { exchange, verdict, .. } = &**judged;
        if *panicked {
            self.internal_error();
        }
        let given = || meta.given_status.map(|status| status.as_u16());
        exchanges.count(&Observed {
            verdict,
            conclusion: conclusion(verdict, *panicked, meta),
            method: &exchange.request.method,
            scheme: &exchange.request.target.scheme,
            status: exchange.response.as_ref().map(|response| response.status).or_else(given),
            took: *took,
            answered: exchange.transport.answered(),
            incomplete: exchange.transport.unfinished().is_some(),
            captured: *captured,
        });
    }

    fn redacted(&self, judged: Processing<(JudgedExchange, bool)>) -> Processing<Ready> {
        let Processing { of, mut meta, took, ended, held, mut waiting, captured, leads_past } = judged;
        let passes = !held
            || of
                .as_ref()
                .is_some_and(|(judged, panicked)| !panicked && enforce::passes(&judged.verdict, HeldMessage::Response));
        let is_recorded = self.is_recorded(&meta);
        let redacted = of.and_then(|(mut judged, panicked)| {
            if !passes {
                judged.exchange.transport.given = Some(held_back(&judged.exchange.request.method).as_u16());
            }
            // Nothing is to be looked for in it; only the live page shows more of it than its status.
            let recorded = match judged.exchange.response.as_mut() {
                Some(response) if meta.response_redacted => (take(&mut response.headers), take(&mut response.body)),
                _ => Default::default(),
            };
            let (mut redacted, attestation) = self.judge.redact(&self.redactor, judged, &meta, is_recorded)?;
            if meta.response_redacted && self.viewer.is_some() {
                redacted.set_recorded(recorded);
            }
            let touched = self.touched(&redacted);
            Some(Ready { judged: redacted, attestation, panicked, touched })
        });
        if let Some(waiting) = waiting.as_mut().filter(|_| !passes) {
            let refusal = match &redacted {
                Some(Ready { judged, panicked: false, .. }) => enforce::refusal(judged, HeldMessage::Response),
                _ => enforce::unjudged(HeldMessage::Response),
            };
            waiting.refused = Some(Box::new(refusal));
        }
        // Remarks were written during the exchange; secrets may have been found since.
        for remark in &mut meta.remarks {
            let redacted = catch_unwind(AssertUnwindSafe(|| self.redactor.text(remark).into_inner()));
            *remark = redacted.unwrap_or_default();
        }
        // What the client waits for contrail is part of how long it took, unless it is gone.
        let has_left = |ready: &Ready| ready.judged.exchange.transport.client_left;
        let took = if redacted.as_ref().is_some_and(has_left) { took } else { took + ended.elapsed() };
        Processing { of: redacted, meta, took, ended, held, waiting, captured, leads_past }
    }

    /// Adds the line and the entry of an exchange.
    fn encode_exchange(&self, redacted: &Processing<Ready>, outgoing: &mut Outgoing) {
        let Some(Ready { judged, attestation, panicked, .. }) = &redacted.of else {
            self.internal_error();
            return console::unredacted(&mut outgoing.lines, self.lines);
        };
        if let Some(tracer) = &self.tracer {
            let (meta, took) = (&redacted.meta, redacted.took);
            let conclusion = conclusion(&judged.verdict, *panicked, meta);
            tracer.exchange(&Traced { judged, meta, took, conclusion, contract: &self.judge.contract });
        }
        let before = outgoing.exchanges;
        outgoing.exchanges += 1;
        if !self.quiet || *panicked || console::is_notable(judged, &redacted.meta) {
            let (at, started) = (outgoing.lines.len(), judged.exchange.started);
            outgoing.starts.push(LineStart { at, before, started });
            console::line(&mut outgoing.lines, self.lines, judged, &redacted.meta, redacted.took);
        }
        if let Some(encoder) = self.encoder.as_ref().filter(|_| self.is_recorded(&redacted.meta)) {
            let own = outgoing.encoder.get_or_insert_with(|| encoder.another());
            own.encode(judged, attestation, &mut outgoing.entries);
        }
    }

    /// Numbers and counts exchanges, and queues their entries and lines in that order.
    fn queue(&self, redacted: &mut [Processing<Ready>], outgoing: &mut Outgoing) {
        let mut state = self.lock();
        let state = &mut *state;
        // First: who waits for an entry is not to be released without it, whatever panics.
        state.queued.entries.append(&mut outgoing.entries);
        let Outgoing { lines, starts, .. } = outgoing;
        console::numbered(lines, starts, self.lines, state.counts.exchanges, &mut state.line_batch);
        outgoing.exchanges = 0;
        for Processing { of, meta, waiting, leads_past, took, .. } in redacted {
            let is_recorded = self.is_recorded(meta);
            let Some(Ready { judged, panicked, touched, .. }) = of else {
                state.counts.unredacted += 1;
                let refused = self.durable && self.encoder.is_some();
                let problem = || unrecorded("redaction failed on this exchange; please report it");
                if let Some(waiting) = waiting.take() {
                    waiting.answer(if refused { Err(problem()) } else { Ok(()) });
                }
                continue;
            };
            state.counts.exchange(&judged.exchange, meta, *panicked);
            state.counts.upstream_named += u64::from(*leads_past && !meta.response_judged_elsewhere);
            if let Some(touched) = touched {
                state.collector.touched(touched);
            }
            let miss = meta.miss.as_deref().map(report_miss);
            let entry = usize::try_from(state.counts.exchanges - 1).unwrap_or(0);
            let place = ExchangeRef { source: LIVE, entry, miss: miss.as_ref(), ..ExchangeRef::default() };
            if let Err(error) = state.collector.exchange(place, judged) {
                tracing::warn!(%error, "the report's temporary file cannot be written");
            }
            if is_recorded {
                if let Some(metrics) = &self.metrics {
                    metrics.journal.added();
                }
                state.queued.is_wanted = true;
                state.queued.waiting.extend(waiting.take());
            } else if let Some(waiting) = waiting.take() {
                waiting.answer(Ok(()));
            }
            // Last: nobody else wants the exchange any more.
            if let Some(viewer) = &self.viewer
                && let Some(Ready { mut judged, panicked, .. }) = of.take()
            {
                let conclusion = conclusion(&judged.verdict, panicked, meta);
                let remarks = take(&mut meta.remarks);
                let packed = judged.pack(meta.response_redacted);
                viewer.exchange(Viewed { judged, packed, entry, took: *took, conclusion, miss, remarks });
            }
        }
    }
}
