//! What is known of the exchanges: a summary of each, and what they add up to.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use contrail_contract::Contract;
use contrail_recording::JournalContext;
use contrail_redact::{JudgedExchange, Redacted};
use contrail_report::{
    Collector, ExchangeRef, Miss,
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

/// The exchanges.
#[derive(Debug)]
pub(crate) struct Store {
    summaries: VecDeque<Summary>,
    /// Summaries that left.
    left: u32,
    /// When the last exchange started, in microseconds since the epoch.
    pub(crate) last: Option<i64>,
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
    /// How many secrets were known when exchanges of a proxy were last taken in.
    pub(crate) known: u64,
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
    pub(crate) fn new(kept: Kept, context: JournalContext, collector: Collector) -> Self {
        Self {
            summaries: VecDeque::new(),
            left: 0,
            last: None,
            names: Names::default(),
            kept,
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
            known: 0,
            notes: Vec::new(),
            reading: None,
            listeners: Vec::new(),
            variables: Vec::new(),
            end: None,
        }
    }

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

    /// How often each part of the contract was touched; `None` before the first exchange.
    pub(crate) fn coverage(&self) -> Option<&Coverage> {
        self.audit.as_ref().map(Audit::coverage)
    }

    /// When the first of the exchanges that a list has started, and the last, in microseconds since the epoch.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        let mut started = self.summaries().filter_map(|summary| summary.started);
        let first = started.next()?;
        Some(started.fold((first, first), |(from, to), at| (from.min(at), to.max(at))))
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

    /// Adds an exchange; `known` is how many secrets are known.
    pub(crate) fn add(&mut self, taken: &Taken, beside: Option<Beside>, contract: &Arc<Contract>, known: u64) {
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
