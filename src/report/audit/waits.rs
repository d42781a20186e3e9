//! The time that the 429 of a tenant asks its client to wait, and the calls that do not.
//!
//! A call is early only where nothing else explains it: it is of the same client, operation and origin as the 429, and
//! it began after the whole 429 had arrived. Where that cannot be known, the exchange counts as not checked:
//! `docs/audit.md` lists the cases.
//!
//! A 429 of one part of an audit may be about calls of the next. So a part keeps the first calls of each limit
//! ([`Waits::keep_calls`]), and those are taken again behind the waits of the parts before it.

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use serde::{Deserialize, Serialize};

use super::client::name_of_client;
use crate::{
    exchange::Exchange,
    recording::wait_until,
    report::cited::{Citation, Stamp},
};

/// Maximum limits whose waits are held.
const MAX_LIMITS: usize = 20_000;

/// Maximum waits of one limit.
const MAX_WAITS: usize = 16;

/// Maximum calls of one limit that a part keeps.
const MAX_KEPT_OF_LIMIT: usize = 1000;

/// Maximum calls of all limits that a part keeps.
const MAX_KEPT: usize = 100_000;

/// What a 429 is taken to limit: the calls of a client, of an operation, at an origin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Limit {
    client: String,
    pub(super) operation: Arc<str>,
    origin: String,
}

impl Limit {
    /// The name of the caller.
    pub(super) fn caller(&self) -> String {
        name_of_client(&self.client)
    }
}

/// The waits of all limits, in the order in which their exchanges are read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Waits {
    #[serde(with = "listed")]
    limits: BTreeMap<Limit, Limited>,
    /// Some limit found no room, or parts leave open which calls were early.
    in_doubt: bool,
    /// The room for calls of a part; `None` where there is no part.
    #[serde(skip)]
    room: Option<usize>,
}

/// What was read of one limit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Limited {
    /// From the end of a 429 until the end of its wait.
    waits: Vec<(Stamp, Stamp)>,
    /// The latest end of those that are held no more.
    dropped: Option<Stamp>,
    /// When the first and the last of the audited calls began.
    calls: Option<(Stamp, Stamp)>,
    /// The first calls, in the order of reading.
    kept: Vec<Call>,
    /// Further ones.
    rest: Option<Rest>,
}

/// An exchange, as far as waits depend on it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Call {
    started: Stamp,
    /// From the end of a 429 until the end of its wait.
    wait: Option<(Stamp, Stamp)>,
    /// The exchange, if the filters do not leave it out.
    audited: Option<Citation>,
}

/// Calls that a part does not keep one by one.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Rest {
    /// When the first of them began.
    from: Stamp,
    /// The audited ones that are neither early nor not checked.
    open: u64,
}

/// What the waits show of an exchange.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Early {
    /// It began before the wait of a 429 was over.
    pub(super) early: bool,
    /// Whether it did cannot be known; of a 429, whether another call began before its wait was over.
    pub(super) unchecked: bool,
}

/// How the waits of earlier parts change what a part counted of a limit.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// More early calls.
    pub(super) early: i64,
    /// More exchanges that are not checked.
    pub(super) unchecked: i64,
    /// The first call that is early only because of the earlier parts.
    pub(super) first: Option<Citation>,
    /// The part does not keep what decides it.
    in_doubt: bool,
}

impl Waits {
    /// Keeps the first calls of each limit, for the part of an audit.
    pub(super) fn keep_calls(&mut self) {
        self.room = Some(MAX_KEPT);
    }

    /// Whether calls are kept, so that [`Waits::take`] needs their citation.
    pub(super) fn keeps_calls(&self) -> bool {
        self.room.is_some()
    }

    /// Takes in an exchange; `audited` if the filters do not leave it out.
    pub(super) fn take(
        &mut self,
        client: Option<&str>,
        operation: Option<&Arc<str>>,
        exchange: &Exchange,
        audited: bool,
        cited: Option<Citation>,
    ) -> Early {
        let wait = |arrived: SystemTime| {
            let limited = exchange.response.as_ref().filter(|response| response.status == 429)?;
            let until = wait_until(limited, arrived).filter(|until| arrived < *until)?;
            Some((Stamp(arrived), Stamp(until)))
        };
        let limit = || {
            let (client, operation) = (client?.to_owned(), Arc::clone(operation?));
            Some(Limit { client, operation, origin: exchange.request.target.normal_origin() })
        };
        let limit = exchange.started.and_then(|started| Some((started, limit()?)));
        let is_known = limit.is_some();
        let limit = limit.filter(|(_, limit)| self.limits.len() < MAX_LIMITS || self.limits.contains_key(limit));
        let Some((started, limit)) = limit else {
            self.in_doubt |= is_known;
            let unchecked = audited && wait(exchange.started.unwrap_or(SystemTime::UNIX_EPOCH)).is_some();
            return Early { early: false, unchecked };
        };
        let limited = self.limits.entry(limit).or_default();
        let whole = exchange.timings.before.unwrap_or_default().saturating_add(exchange.timings.total());
        let (started, wait) = (Stamp(started), started.checked_add(whole).and_then(wait));
        let early = limited.take(started, wait, audited);
        if let Some(room) = &mut self.room {
            limited.keep(Call { started, wait, audited: cited.filter(|_| audited) }, early, audited, room);
        }
        early
    }

    /// Adds the waits of a part that was read later; how they change what that part counted, by its limits.
    pub(super) fn merge(&mut self, later: Self) -> Vec<(Limit, Change)> {
        self.in_doubt |= later.in_doubt;
        let mut changes = Vec::new();
        for (limit, later) in later.limits {
            if self.limits.len() >= MAX_LIMITS && !self.limits.contains_key(&limit) {
                self.in_doubt = true;
                continue;
            }
            let change = self.limits.entry(limit.clone()).or_default().merge(later, self.room.as_mut());
            self.in_doubt |= change.in_doubt;
            changes.push((limit, change));
        }
        changes
    }

    /// Whether some limit found no room, or parts leave open which calls were early.
    pub(super) fn in_doubt(&self) -> bool {
        self.in_doubt
    }
}

impl Limited {
    fn take(&mut self, started: Stamp, wait: Option<(Stamp, Stamp)>, audited: bool) -> Early {
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
            self.called(started, started);
        }
        Early { early, unchecked }
    }

    fn called(&mut self, from: Stamp, to: Stamp) {
        let (first, last) = self.calls.unwrap_or((from, to));
        self.calls = Some((first.min(from), last.max(to)));
    }

    fn hold(&mut self, mut arrived: Stamp, mut until: Stamp) {
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

    /// Keeps a call for a part, or counts it where there is no room.
    fn keep(&mut self, call: Call, Early { early, unchecked }: Early, audited: bool, room: &mut usize) {
        if *room > 0 && self.rest.is_none() && self.kept.len() < MAX_KEPT_OF_LIMIT {
            self.kept.push(call);
            *room -= 1;
            return;
        }
        self.keep_no_more(Rest { from: call.started, open: u64::from(audited && !early && !unchecked) });
    }

    fn keep_no_more(&mut self, further: Rest) {
        let rest = self.rest.get_or_insert(Rest { from: further.from, open: 0 });
        rest.from = rest.from.min(further.from);
        rest.open += further.open;
    }

    /// From here on, nothing depends on what was read so far.
    fn reach(&self) -> Option<Stamp> {
        let waits = self.waits.iter().map(|(_, until)| *until);
        waits.chain(self.dropped).chain(self.calls.map(|(_, last)| last)).max()
    }

    /// Adds what was read later of the same limit: its first calls again, behind what is held. With room, both are to
    /// be a part again.
    fn merge(&mut self, later: Self, mut room: Option<&mut usize>) -> Change {
        let reach = self.reach();
        let mut alone = Self::default();
        let mut change = Change::default();
        let count = |is: bool| i64::from(is);
        for call in later.kept {
            let Call { started, wait, ref audited } = call;
            let before = alone.take(started, wait, audited.is_some());
            let now = self.take(started, wait, audited.is_some());
            // Those that the filters leave out are not counted.
            let (is_early, was_early) = (now.early && audited.is_some(), before.early && audited.is_some());
            change.early += count(is_early) - count(was_early);
            change.unchecked += count(now.unchecked) - count(before.unchecked);
            change.in_doubt |= was_early && !is_early;
            let is_new = is_early && !was_early;
            if let Some(cited) = audited.as_ref().filter(|_| is_new)
                && change.first.as_ref().is_none_or(|first| cited.at < first.at)
            {
                change.first = Some(cited.clone());
            }
            if let Some(room) = &mut room {
                let is_audited = audited.is_some();
                self.keep(call, now, is_audited, room);
            }
        }
        let Some(mut rest) = later.rest else { return change };
        if reach.is_some_and(|reach| rest.from <= reach) {
            change.unchecked = change.unchecked.saturating_add_unsigned(rest.open);
            change.in_doubt = true;
            rest.open = 0;
        }
        if room.is_some() {
            self.keep_no_more(rest);
        }
        for (arrived, until) in later.waits {
            self.hold(arrived, until);
        }
        self.dropped = self.dropped.max(later.dropped);
        if let Some((from, to)) = later.calls {
            self.called(from, to);
        }
        change
    }
}

/// The limits as a list.
mod listed {
    use std::collections::BTreeMap;

    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::{Limit, Limited};

    pub(super) fn serialize<S: Serializer>(
        limits: &BTreeMap<Limit, Limited>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(limits)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Limit, Limited>, D::Error> {
        Vec::<(Limit, Limited)>::deserialize(deserializer).map(|limits| limits.into_iter().collect())
    }
}
