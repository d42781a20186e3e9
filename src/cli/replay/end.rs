//! The end of a replay: what was unused, the gates, the reports and the summary.

use std::sync::Arc;

use contrail_pipeline as pipeline;
use contrail_redact::Redactor;
use contrail_replay::Replay;
use contrail_report::{Reason, Unused};

use super::{Args, gates, messages, missing::MissingOutcome, recorded::RecordingVerdicts, sessions::Sessions};
use crate::cli::{Failure, Outcome, nothing, run::RunEnd, summary};

/// A replay that is over.
pub(super) struct Ending<'a> {
    pub(super) args: &'a Args,
    pub(super) redactor: &'a Redactor,
    /// The recordings that were served, those of requests without a session first.
    pub(super) replays: Vec<Arc<Replay>>,
    pub(super) sessions: Option<&'a Sessions>,
    /// What the check of the recorded exchanges gave.
    pub(super) judged: RecordingVerdicts,
    /// What could not be done.
    pub(super) undone: Vec<Reason>,
    /// What was recorded beside it.
    pub(super) recorded: MissingOutcome,
}

impl Ending<'_> {
    /// Prints the summary and writes the reports; the exit status.
    pub(super) fn end(mut self, outcome: &mut pipeline::Outcome, ran: &RunEnd) -> Result<Outcome, Failure> {
        let Self { args, redactor, .. } = self;
        let unproven = self.recorded.proof.as_ref().is_some_and(|proof| !proof.good);
        if let Some(proof) = self.recorded.proof.take() {
            outcome.collector.proved(proof);
        }
        let unused = match self.sessions {
            None => self.replays.iter().flat_map(|replay| replay.unused()).map(Unused::from).collect(),
            Some(sessions) => {
                outcome.collector.sessions(sessions.counts());
                self.undone.extend(sessions.unreadable().into_iter().map(|why| Reason::new("sessions", why, "")));
                sessions.unused()
            }
        };
        let stale = &mut self.judged.stale;
        let idle = self.sessions.filter(|_| args.used.is_some()).into_iter().flat_map(Sessions::idle);
        let idle: Vec<_> = idle.map(|(_, fixture)| fixture).collect();
        let gates = gates::apply(args, &mut outcome.collector, &self.replays, unused, &idle, stale)?;
        let mut exit = Outcome {
            findings: outcome.collector.fails() || unproven || gates.findings,
            misses: outcome.counts.misses > 0 || gates.denied,
            command: ran.failure(),
            ..Outcome::CLEAN
        };
        let mut rows = self.recorded.rows;
        self.undone.extend(self.recorded.undone);
        // Without recordings there was nothing to request.
        if (self.sessions.is_some() || self.replays.iter().any(|replay| !replay.is_empty()))
            && let Some(reason) = nothing::unrequested(&args.judge.policy, outcome, ran, exit)
        {
            rows.push(nothing::row(&reason));
            self.undone.push(reason);
        }
        summary::conclude(outcome, &mut exit, self.undone, redactor, &args.judge.report);
        messages::end(args.judge.format, outcome, &self.replays, &self.judged, rows);
        summary::reports(outcome, redactor, &args.judge.report)?;
        Ok(exit)
    }
}
