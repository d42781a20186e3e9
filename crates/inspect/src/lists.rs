//! Lists of exchanges: which ones a filter selects, and in which order. The last few are kept, so that a scroll costs a
//! slice.

use std::{
    cmp::Ordering,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use contrail_redact::JudgedExchange;

use super::{
    filter::{Answer, Clock, Context, Filter, FilterError},
    inspector::Inspector,
    store::Store,
    summary::Summary,
};

/// Maximum lists that are kept.
const MAX_LISTS: usize = 16;
/// How long a list works at a time, where exchanges have to be read.
const SLICE: Duration = Duration::from_millis(150);

/// What a list is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Sort {
    Number,
    Verdict,
    Method,
    Status,
    Operation,
    Path,
    Client,
    Took,
    Size,
}

impl Sort {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "" | "n" => Self::Number,
            "verdict" => Self::Verdict,
            "method" => Self::Method,
            "status" => Self::Status,
            "operation" => Self::Operation,
            "path" => Self::Path,
            "client" => Self::Client,
            "took" => Self::Took,
            "size" => Self::Size,
            _ => return None,
        })
    }

    fn compare(self, a: &Summary, b: &Summary, store: &Store) -> Ordering {
        let name = |number| store.names.text(number);
        match self {
            Self::Number => Ordering::Equal,
            Self::Verdict => severity(a).cmp(&severity(b)),
            Self::Method => name(a.method).cmp(&name(b.method)),
            Self::Status => a.status.cmp(&b.status),
            Self::Operation => name(a.operation).cmp(&name(b.operation)),
            Self::Path => a.path.cmp(&b.path),
            Self::Client => name(a.client).cmp(&name(b.client)),
            Self::Took => a.took.cmp(&b.took),
            Self::Size => a.size.cmp(&b.size),
        }
    }
}

/// The worse a verdict, the more.
fn severity(summary: &Summary) -> usize {
    let order = ["unjudged", "conforms", "gap", "miss", "violates"];
    order.iter().position(|name| *name == summary.verdict_name()).unwrap_or(0)
}

/// Which list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) query: String,
    pub(crate) sort: Sort,
    pub(crate) descending: bool,
    /// Minutes of the reader's time zone east of UTC.
    pub(crate) zone: i32,
}

impl Wanted {
    fn is_by_number(&self) -> bool {
        self.sort == Sort::Number
    }
}

/// A list, as far as it goes.
#[derive(Debug, Clone)]
pub(crate) struct List {
    wanted: Wanted,
    pub(crate) filter: Filter,
    /// Numbers of exchanges.
    pub(crate) matches: Vec<u32>,
    /// All below this number were looked at.
    up_to: u32,
}

/// The lists that are kept, the one used last at the end.
#[derive(Debug, Default)]
pub(crate) struct Lists(Mutex<Vec<List>>);

/// A part of a list.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Slice {
    /// Numbers of exchanges.
    pub(crate) numbers: Vec<u32>,
    /// The size of the list.
    pub(crate) size: usize,
    /// The share that was searched, where the search goes on.
    pub(crate) searched: Option<f64>,
}

impl Lists {
    /// Drops a list: its next slice makes it again.
    pub(crate) fn renew(&self, wanted: &Wanted) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|list| list.wanted != *wanted);
    }

    /// Does something with a list, after it was brought up to date as far as it can be at once.
    pub(crate) fn with<T>(
        &self,
        inspector: &Inspector,
        wanted: &Wanted,
        then: impl FnOnce(&List, Option<f64>) -> T,
    ) -> Result<T, FilterError> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held = lists.iter().position(|list| list.wanted == *wanted).map(|at| lists.remove(at));
        let mut list = match held.filter(|list| !list.filter.is_relative()) {
            Some(list) => list,
            None => {
                let clock = Clock { now: inspector.now(), zone: wanted.zone };
                let filter = Filter::parse(&wanted.query, clock)?;
                List { wanted: wanted.clone(), filter, matches: Vec::new(), up_to: 0 }
            }
        };
        let searched = list.update(inspector);
        let done = then(&list, searched);
        lists.push(list);
        if lists.len() > MAX_LISTS {
            lists.remove(0);
        }
        Ok(done)
    }

    /// A part of a list.
    pub(crate) fn slice(
        &self,
        inspector: &Inspector,
        wanted: &Wanted,
        from: usize,
        count: usize,
    ) -> Result<Slice, FilterError> {
        self.with(inspector, wanted, |List { matches, .. }, searched| {
            let size = matches.len();
            let range = from.min(size)..from.saturating_add(count).min(size);
            let numbers = if wanted.is_by_number() && wanted.descending {
                range.map(|index| matches[size - 1 - index]).collect()
            } else {
                matches[range].to_vec()
            };
            Slice { numbers, size, searched }
        })
    }

    /// The place of an exchange in a list.
    pub(crate) fn index(&self, inspector: &Inspector, wanted: &Wanted, n: u32) -> Result<Option<usize>, FilterError> {
        self.with(inspector, wanted, |List { matches, .. }, _| {
            if !wanted.is_by_number() {
                return matches.iter().position(|held| *held == n);
            }
            let at = matches.binary_search(&n).ok();
            at.map(|at| if wanted.descending { matches.len() - 1 - at } else { at })
        })
    }

    /// The next exchange of a list, in its order, that has a finding; and which of its findings.
    pub(crate) fn next_finding(
        &self,
        inspector: &Inspector,
        wanted: &Wanted,
        from: Option<(u32, Option<usize>)>,
        back: bool,
    ) -> Result<Option<(u32, usize)>, FilterError> {
        let mut index = match from {
            Some((n, _)) => self.index(inspector, wanted, n)?,
            None => None,
        };
        let findings = |n: u32| inspector.store().summary(n).map_or(0, |summary| summary.findings.len());
        // Another one of the same exchange.
        if let (Some((n, finding)), Some(_)) = (from, index) {
            let next = match finding {
                Some(finding) if back => finding.checked_sub(1),
                Some(finding) => finding.checked_add(1),
                None => None,
            };
            if let Some(next) = next.filter(|next| *next < findings(n)) {
                return Ok(Some((n, next)));
            }
        }
        loop {
            let from = match (index, back) {
                (None, false) => 0,
                (Some(index), false) => index + 1,
                (Some(0), true) => return Ok(None),
                (Some(index), true) => index.saturating_sub(CHUNK),
                (None, true) => self.slice(inspector, wanted, 0, 0)?.size.saturating_sub(CHUNK),
            };
            let count = match (index, back) {
                (Some(index), true) => index - from,
                _ => CHUNK,
            };
            let slice = self.slice(inspector, wanted, from, count)?;
            let has = |n: &&u32| findings(**n) > 0;
            let found = if back { slice.numbers.iter().rev().find(has) } else { slice.numbers.iter().find(has) };
            if let Some(n) = found {
                return Ok(Some((*n, if back { findings(*n) - 1 } else { 0 })));
            }
            if slice.numbers.is_empty() || back && from == 0 {
                return Ok(None);
            }
            index = Some(if back { from } else { from + slice.numbers.len() - 1 });
        }
    }
}

/// Exchanges that are looked at together for the next finding.
const CHUNK: usize = 4096;

impl List {
    /// Looks at exchanges that came since. The share that was searched, if that takes longer than a moment.
    fn update(&mut self, inspector: &Inspector) -> Option<f64> {
        let is_snapshot = !self.wanted.is_by_number();
        let reads = self.filter.reads();
        let begun = Instant::now();
        let (first, count) = {
            let store = inspector.store();
            (store.first(), store.count())
        };
        if is_snapshot && self.up_to > 0 && !reads {
            return None;
        }
        self.up_to = self.up_to.max(first);
        // What left is no match any more.
        let gone = self.matches.iter().take_while(|n| **n < first).count();
        if !is_snapshot {
            self.matches.drain(..gone);
        }
        while self.up_to < count {
            self.look(inspector, count);
            if reads && begun.elapsed() > SLICE {
                let share = f64::from(self.up_to - first) / f64::from((count - first).max(1));
                return Some(share).filter(|_| self.up_to < count);
            }
        }
        if is_snapshot {
            let store = inspector.store();
            let (sort, descending) = (self.wanted.sort, self.wanted.descending);
            self.matches.sort_by(|a, b| {
                let order = match (store.summary(*a), store.summary(*b)) {
                    (Some(a), Some(b)) => sort.compare(a, b, &store),
                    _ => Ordering::Equal,
                };
                if descending { order.reverse() } else { order }
            });
        }
        None
    }

    /// Looks at the next exchanges: at many by their summaries, at one that has to be read.
    fn look(&mut self, inspector: &Inspector, count: u32) {
        let known = inspector.known();
        let store = inspector.store();
        while self.up_to < count {
            let n = self.up_to;
            self.up_to += 1;
            let Some(summary) = store.summary(n) else { continue };
            if !store.is_listed(n) {
                continue;
            }
            let state = store.beside(n).map(|beside| beside.state);
            let context = Context { names: &store.names, is_slow: store.is_slow(summary), state };
            let mut answer = self.filter.selects(summary, None, context);
            let has_read = answer == Answer::Unknown;
            if has_read {
                // What was kept before a secret was known may hold it, and a filter must not find out.
                let redact = |judged: JudgedExchange| {
                    if summary.known == known { judged } else { inspector.redactor.redact(judged).into_inner() }
                };
                let whole = store.held(summary).ok().map(|(judged, _)| redact(judged));
                answer = whole.map_or(Answer::No, |whole| self.filter.selects(summary, Some(&whole), context));
            }
            if answer == Answer::Yes {
                self.matches.push(n);
            }
            if has_read {
                return;
            }
        }
    }
}
