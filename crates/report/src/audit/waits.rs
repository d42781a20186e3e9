//! The time that the 429 of a tenant asks its client to wait, and the calls that do not.
//!
//! A call is early only where nothing else explains it: it is of the same client, operation and origin as the 429, and
//! it began after the whole 429 had arrived. Where that cannot be known, the exchange counts as not checked:
//! `docs/audit.md` lists the cases.

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use contrail_exchange::Exchange;
use contrail_recording::wait_until;

/// Maximum limits whose waits are held.
const MAX_LIMITS: usize = 20_000;

/// Maximum waits of one limit.
const MAX_WAITS: usize = 16;

/// What a 429 is taken to limit: the calls of a client, of an operation, at an origin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Limit {
    client: String,
    operation: Arc<str>,
    origin: String,
}

/// The waits of all limits, in the order in which their exchanges are read.
#[derive(Debug, Clone, Default)]
pub(super) struct Waits(BTreeMap<Limit, Limited>);

/// What was read of one limit.
#[derive(Debug, Clone, Default)]
struct Limited {
    /// From the end of a 429 until the end of its wait.
    waits: Vec<(SystemTime, SystemTime)>,
    /// The latest end of those that are held no more.
    dropped: Option<SystemTime>,
    /// When the first and the last of the audited calls began.
    calls: Option<(SystemTime, SystemTime)>,
}

/// What the waits show of an exchange.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Early {
    /// It began before the wait of a 429 was over.
    pub(super) early: bool,
    /// Whether it did cannot be known; of a 429, whether another call began before its wait was over.
    pub(super) unchecked: bool,
}

impl Waits {
    /// Takes in an exchange; `audited` if the filters do not leave it out.
    pub(super) fn take(
        &mut self,
        client: Option<&str>,
        operation: Option<&Arc<str>>,
        exchange: &Exchange,
        audited: bool,
    ) -> Early {
        let wait = |arrived: SystemTime| {
            let limited = exchange.response.as_ref().filter(|response| response.status == 429)?;
            let until = wait_until(limited, arrived).filter(|until| arrived < *until)?;
            Some((arrived, until))
        };
        let limit = || {
            let (client, operation) = (client?.to_owned(), Arc::clone(operation?));
            Some(Limit { client, operation, origin: exchange.request.target.normal_origin() })
        };
        let limit = exchange.started.and_then(|started| Some((started, limit()?)));
        let limit = limit.filter(|(_, limit)| self.0.len() < MAX_LIMITS || self.0.contains_key(limit));
        let Some((started, limit)) = limit else {
            let unchecked = audited && wait(exchange.started.unwrap_or(SystemTime::UNIX_EPOCH)).is_some();
            return Early { early: false, unchecked };
        };
        let whole = exchange.timings.before.unwrap_or_default().saturating_add(exchange.timings.total());
        self.0.entry(limit).or_default().take(started, started.checked_add(whole).and_then(wait), audited)
    }
}

impl Limited {
    fn take(&mut self, started: SystemTime, wait: Option<(SystemTime, SystemTime)>, audited: bool) -> Early {
        let early = self.waits.iter().any(|(arrived, until)| *arrived < started && started < *until);
        // One that is left out counts only where the limit has an audited call.
        let counts = audited || self.calls.is_some();
        let mut unchecked = !early && counts && self.dropped.is_some_and(|until| started < until);
        if let Some((arrived, until)) = wait {
            // A call that was read before it may have begun after it.
            unchecked |= self.calls.is_some_and(|(first, last)| first < until && arrived < last);
            self.hold(arrived, until);
        }
        if audited {
            let (first, last) = self.calls.unwrap_or((started, started));
            self.calls = Some((first.min(started), last.max(started)));
        }
        Early { early, unchecked }
    }

    fn hold(&mut self, mut arrived: SystemTime, mut until: SystemTime) {
        self.waits.retain(|held| {
            let apart = held.1 < arrived || until < held.0;
            if !apart {
                (arrived, until) = (arrived.min(held.0), until.max(held.1));
            }
            apart
        });
        self.waits.push((arrived, until));
        if self.waits.len() > MAX_WAITS
            && let Some(at) = (0..self.waits.len()).min_by_key(|at| self.waits[*at].1)
        {
            self.dropped = self.dropped.max(Some(self.waits.swap_remove(at).1));
        }
    }
}
