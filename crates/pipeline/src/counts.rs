//! Counters of a pipeline besides verdicts.

use std::{collections::BTreeMap, time::Duration};

use contrail_exchange::{Exchange, Presence};
use contrail_proxy::upstream::AnswerMeta;
use serde::{Serialize, Serializer};

/// What a pipeline counted besides the verdicts, as the JSON summary has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Exchanges that were judged.
    #[serde(skip)]
    pub exchanges: u64,
    /// Exchanges outside `--only`, or inside `--exclude`: forwarded, neither judged nor recorded.
    pub left_out: u64,
    /// Exchanges whose check panicked: recorded, nothing about them checked.
    pub unjudged: u64,
    /// Exchanges whose redaction panicked: forwarded, and neither shown nor recorded, since they may hold secrets.
    pub unredacted: u64,
    /// Exchanges that are not whole.
    pub incomplete: u64,
    /// Bodies that are withheld: contrail cannot decode or parse them, and so cannot locate their secrets.
    pub withheld: u64,
    /// Bodies of which only a part was captured; redaction drops that part.
    #[serde(skip)]
    pub cut: u64,
    /// Requests that contrail answered itself, by the value of `Contrail-Answer`.
    #[serde(rename = "answered_by_contrail")]
    pub answered: BTreeMap<String, u64>,
    /// Exchanges without a lasting answer: none came, or 429.
    #[serde(skip)]
    pub without_answer: u64,
    /// Requests that were sent twice.
    pub retried: u64,
    /// Answers that name the upstream's own address to a client that calls contrail by contrail's.
    pub upstream_named: u64,
    /// Replay misses.
    pub misses: u64,
    /// Requests that were turned away before they became exchanges, by reason.
    pub turned_away: BTreeMap<String, u64>,
    /// Exchanges that could not be written to the journal.
    pub unwritten: u64,
    /// The first reason why.
    pub journal_error: Option<String>,
    /// Why the last head of a trail could not be kept (`--head-to`).
    pub head_error: Option<String>,
    /// Why a trail is not the one of which earlier runs kept heads, if so.
    pub trail_error: Option<String>,
    /// Why segments of a trail could not be read again at the end.
    pub reread_error: Option<String>,
    /// Entries of a kept trail in which a secret stands that was recognised only after they were written.
    pub late: u64,
    /// Spans of `--otlp` for which there was no room, or no time at the end.
    pub spans_dropped: u64,
    /// How many of them were larger than `--otlp-queue`.
    pub spans_too_large: u64,
    /// Spans that the receiver of `--otlp` refused.
    pub spans_rejected: u64,
    /// How the journal kept up.
    #[serde(rename = "journal_queue")]
    pub queue: Queue,
}

/// How the journal kept up with the traffic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Queue {
    /// Maximum bytes that waited to be written.
    pub most_bytes: usize,
    /// Maximum exchanges that waited to be written or synced.
    pub most_exchanges: usize,
    /// The longest that one write or sync took.
    #[serde(rename = "slowest_ms", serialize_with = "millis")]
    pub slowest: Duration,
    /// Writes.
    pub writes: u64,
    /// Syncs.
    pub syncs: u64,
}

fn millis<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

impl Counts {
    /// Whether an exchange was not recorded that was to be, or not judged because the check failed on it.
    #[must_use]
    pub fn lost(&self) -> bool {
        let errors = [&self.journal_error, &self.head_error, &self.trail_error, &self.reread_error];
        self.unwritten > 0 || self.unredacted > 0 || self.unjudged > 0 || errors.into_iter().any(Option::is_some)
    }

    /// An exchange ended and is redacted; `panicked` if nothing about it was checked.
    pub(super) fn exchange(&mut self, exchange: &Exchange, meta: &AnswerMeta, panicked: bool) {
        self.exchanges += 1;
        self.unjudged += u64::from(panicked);
        self.incomplete += u64::from(exchange.transport.unfinished().is_some());
        self.retried += u64::from(exchange.transport.retried);
        let response = exchange.response.as_ref().map(|response| &response.body);
        for body in [Some(&exchange.request.body), response].into_iter().flatten() {
            self.withheld += u64::from(matches!(body.presence, Presence::Withheld(_)));
            self.cut += u64::from(matches!(body.presence, Presence::Truncated { kept: 1.., .. }));
        }
        let status = exchange.response.as_ref().map(|response| response.status);
        self.without_answer += u64::from(status.is_none_or(|status| status == 429));
        self.misses += u64::from(meta.miss.is_some());
        if let Some(reason) = exchange.transport.answered() {
            *self.answered.entry(reason.to_owned()).or_default() += 1;
        }
    }
}
