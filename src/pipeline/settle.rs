//! From the end of an exchange to its place in the batches, for all that ended in one turn together.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use super::{
    MOST_QUEUED, Pipeline, State, console,
    enforce::{self, Held},
    judge::Attestation,
    turns::{Pending, Turn, Waiting},
    unrecorded,
};
use crate::{
    proxy::{Ended, Observer as _, Written},
    redact::{Judged, Redacted},
    replay,
    report::{self, Place},
    upstream::Notes,
};

/// An exchange between its end and its entry.
struct Settling<T> {
    /// What became of it so far; `None` if that failed, and nothing of it may be written or shown.
    of: Option<T>,
    notes: Notes,
    took: Duration,
    /// Its response is held until it is judged.
    held: bool,
    waiting: Option<Waiting>,
}

/// What a report holds of a miss.
fn told(miss: &replay::Miss) -> report::Miss {
    let difference = |one: &replay::Difference| report::Difference {
        place: one.place.clone(),
        yours: one.yours.clone(),
        fixture: one.fixture.clone(),
        option: one.option.clone(),
    };
    let near = |near: &replay::Near| report::Near {
        entry: near.entry.clone(),
        request: near.request.clone(),
        status: near.status,
        differences: near.differences.iter().map(difference).collect(),
    };
    report::Miss {
        reason: miss.word(),
        request: miss.asked.clone(),
        detail: miss.detail(),
        nearest: miss.nearest.iter().map(near).collect(),
    }
}

impl Pipeline {
    /// Takes up what ended so far, on every event loop, since it may tell of secrets in what is to be redacted now.
    pub fn take_up(&self) {
        for turn in self.turns.each() {
            self.settle(&turn);
        }
    }

    /// Takes an exchange that is over; its response waits for what is given, if it waits.
    pub(super) fn record(&self, ended: Ended) -> Written {
        if let Some(denied) = &ended.notes.denied {
            self.denied(denied);
            return Written::now();
        }
        if !self.judge.includes(&ended.exchange.request) {
            self.lock().counts.left_out += 1;
            return Written::now();
        }
        let turn = self.turns.here();
        // What one event loop takes up later cannot be met sooner by itself, but it can by another one.
        let waits =
            ended.held || self.records && (self.durable || self.is_recorded(&ended.notes)) || self.turns.are_several();
        let (waiting, written) = if waits {
            let (waiting, written) = Waiting::new();
            (Some(waiting), written)
        } else {
            (None, Written::now())
        };
        let alone = ended.alone;
        let full = turn.add(Pending { ended, waiting });
        if alone || full {
            self.settle(&turn);
        }
        if alone {
            self.write(&mut self.lock());
        }
        turn.wake();
        written
    }

    /// Whether an exchange of which its upstream says this gets an entry; a recorded answer is in a recording already.
    fn is_recorded(&self, notes: &Notes) -> bool {
        self.records && !notes.response_judged_elsewhere
    }

    /// Judges and redacts what ended in a turn, and puts it into the batches.
    pub(super) fn settle(&self, turn: &Turn) {
        let pending = turn.take();
        if pending.is_empty() {
            return;
        }
        let judged: Vec<_> = pending.into_iter().map(|pending| self.judged(pending)).collect();
        let settled: Vec<_> = judged.into_iter().map(|judged| self.redacted(judged)).collect();
        let mut state = self.lock();
        for settled in settled {
            self.batch(&mut state, settled);
        }
    }

    fn judged(&self, Pending { ended, waiting }: Pending) -> Settling<(Judged, bool)> {
        let Ended { exchange, notes, took, held, alone: _ } = ended;
        // A panic costs this exchange, not those that ended with it.
        let judged = catch_unwind(AssertUnwindSafe(|| self.judge.judge(exchange, &notes))).ok();
        Settling { of: judged, notes, took, held, waiting }
    }

    fn redacted(&self, judged: Settling<(Judged, bool)>) -> Settling<(Redacted<Judged>, Attestation, bool)> {
        let Settling { of, mut notes, took, held, mut waiting } = judged;
        let passes = !held
            || of
                .as_ref()
                .is_some_and(|(judged, panicked)| !panicked && enforce::passes(&judged.verdict, Held::Response));
        let is_recorded = self.is_recorded(&notes);
        let redacted = of.and_then(|(judged, panicked)| {
            let (redacted, attestation) = self.judge.redact(&self.redactor, judged, &notes, is_recorded)?;
            Some((redacted, attestation, panicked))
        });
        if let Some(waiting) = waiting.as_mut().filter(|_| !passes) {
            let refusal = match &redacted {
                Some((redacted, _, false)) => enforce::refusal(redacted, Held::Response),
                _ => enforce::unjudged(Held::Response),
            };
            waiting.refused = Some(Box::new(refusal));
        }
        // They were worded while the exchange went on, and secrets may have been learnt since.
        for remark in &mut notes.remarks {
            let redacted = catch_unwind(AssertUnwindSafe(|| self.redactor.text(remark).into_inner()));
            *remark = redacted.unwrap_or_default();
        }
        Settling { of: redacted, notes, took, held, waiting }
    }

    /// Counts an exchange, and puts its line and its entry into the batches.
    fn batch(&self, state: &mut State, settled: Settling<(Redacted<Judged>, Attestation, bool)>) {
        let Settling { of, notes, took, waiting, held: _ } = settled;
        let Some((judged, attestation, panicked)) = of else {
            state.counts.unredacted += 1;
            console::unredacted(&mut state.line_batch, self.lines);
            if let Some(waiting) = waiting {
                let refused = self.durable && state.journal.is_some();
                let problem = || unrecorded("redaction failed on this exchange; please report it");
                waiting.tell(if refused { Err(problem()) } else { Ok(()) });
            }
            return;
        };
        state.counts.exchange(&judged.exchange, &notes, panicked);
        let miss = notes.miss.as_deref().map(told);
        let entry = usize::try_from(state.counts.exchanges - 1).unwrap_or(0);
        let place = Place { source: "live", entry, miss: miss.as_ref(), ..Place::default() };
        if let Err(error) = state.collector.exchange(place, &judged, None) {
            tracing::warn!(%error, "the report's temporary file cannot be written");
        }
        console::line(&mut state.line_batch, self.lines, &judged, &notes, took);
        match state.journal.as_mut().filter(|_| self.is_recorded(&notes)) {
            Some(journal) => {
                journal.add(&judged, attestation);
                state.journal_batch = true;
                state.waiting.extend(waiting);
                if state.journal.as_ref().is_some_and(|journal| journal.queued() >= MOST_QUEUED) {
                    self.write(state);
                }
            }
            None => {
                if let Some(waiting) = waiting {
                    waiting.tell(Ok(()));
                }
            }
        }
    }
}
