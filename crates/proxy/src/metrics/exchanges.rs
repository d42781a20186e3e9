//! Counters of exchanges.

use std::{collections::HashMap, sync::Arc, time::Duration};

use contrail_exchange::{
    finding::{Rule, Unchecked, Verdict},
    known_method,
};
use http::{Method, StatusCode};

/// Upper bounds of the buckets of durations, in seconds; those that OpenTelemetry's conventions for HTTP advise.
pub(super) const BOUNDS: [(f64, &str); 14] = [
    (0.005, "0.005"),
    (0.01, "0.01"),
    (0.025, "0.025"),
    (0.05, "0.05"),
    (0.075, "0.075"),
    (0.1, "0.1"),
    (0.25, "0.25"),
    (0.5, "0.5"),
    (0.75, "0.75"),
    (1.0, "1.0"),
    (2.5, "2.5"),
    (5.0, "5.0"),
    (7.5, "7.5"),
    (10.0, "10.0"),
];

/// What is counted of an exchange.
#[derive(Debug)]
pub struct Observed<'a> {
    /// Its operation, its findings, and what is unchecked.
    pub verdict: &'a Verdict,
    /// The word for its verdict: `conforms`, `gap`, `violates`, `miss` or `unjudged`.
    pub conclusion: &'static str,
    /// The method.
    pub method: &'a Method,
    /// The scheme of the request's target.
    pub scheme: &'a str,
    /// The status that the client got.
    pub status: Option<u16>,
    /// How long it took.
    pub took: Duration,
    /// Why contrail answered itself: the value of `Contrail-Answer`.
    pub answered: Option<&'a str>,
    /// It ended before it was whole.
    pub incomplete: bool,
    /// Captured bytes of the bodies of request and response.
    pub captured: [usize; 2],
}

/// The facts by which durations of an operation are counted apart. Each takes few values, whatever a client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DurationLabels {
    pub(super) method: &'static str,
    pub(super) scheme: &'static str,
    /// The class of the status; `none` where the client got no response.
    pub(super) class: &'static str,
    /// The status itself, if HTTP has a name for it.
    pub(super) status: Option<u16>,
}

impl DurationLabels {
    fn of(observed: &Observed<'_>) -> Self {
        let named = |status: &u16| StatusCode::from_u16(*status).is_ok_and(|code| code.canonical_reason().is_some());
        Self {
            method: counted_method(observed.method),
            scheme: if observed.scheme == "https" { "https" } else { "http" },
            class: status_class(observed.status),
            status: observed.status.filter(named),
        }
    }
}

/// The exchanges of an operation. Lists, since most operations have one method, two classes of statuses and two
/// verdicts.
#[derive(Debug, Clone, Default)]
pub(super) struct OfOperation {
    pub(super) durations: Vec<(DurationLabels, Durations)>,
    pub(super) verdicts: Vec<(&'static str, u64)>,
}

/// A histogram of durations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Durations {
    /// Exchanges in each bucket, the last without a bound; not cumulative.
    pub buckets: [u64; BOUNDS.len() + 1],
    /// Their sum.
    pub sum: Duration,
}

/// Counters of exchanges; those of an event loop, or of several.
#[derive(Debug, Clone, Default)]
pub struct Exchanges {
    pub(super) operations: HashMap<Arc<str>, OfOperation, ahash::RandomState>,
    pub(super) undocumented: OfOperation,
    pub(super) findings: HashMap<Rule, u64, ahash::RandomState>,
    pub(super) unchecked: [u64; Unchecked::ALL.len()],
    pub(super) answered: HashMap<Box<str>, u64, ahash::RandomState>,
    pub(super) incomplete: u64,
    pub(super) captured: [u64; 2],
}

impl Exchanges {
    /// Counts an exchange.
    pub fn count(&mut self, observed: &Observed<'_>) {
        let operation = self.operation(observed.verdict.operation.as_ref());
        *at(&mut operation.verdicts, observed.conclusion) += 1;
        at(&mut operation.durations, DurationLabels::of(observed)).add(observed.took);
        for finding in &observed.verdict.findings {
            *self.findings.entry(finding.rule).or_default() += 1;
        }
        for aspect in observed.verdict.unchecked.iter() {
            self.unchecked[aspect as usize] += 1;
        }
        if let Some(reason) = observed.answered {
            *self.answered.entry(reason.into()).or_default() += 1;
        }
        self.incomplete += u64::from(observed.incomplete);
        for (sum, bytes) in self.captured.iter_mut().zip(observed.captured) {
            *sum += bytes as u64;
        }
    }

    /// Adds the counters of another event loop.
    pub fn add(&mut self, other: &Self) {
        let documented = other.operations.iter().map(|(name, more)| (Some(name), more));
        for (name, more) in documented.chain([(None, &other.undocumented)]) {
            let operation = self.operation(name);
            for (labels, durations) in &more.durations {
                at(&mut operation.durations, *labels).merge(durations);
            }
            for (verdict, count) in &more.verdicts {
                *at(&mut operation.verdicts, *verdict) += count;
            }
        }
        for (rule, count) in &other.findings {
            *self.findings.entry(*rule).or_default() += count;
        }
        for (own, more) in self.unchecked.iter_mut().zip(other.unchecked) {
            *own += more;
        }
        for (reason, count) in &other.answered {
            *self.answered.entry(reason.clone()).or_default() += count;
        }
        self.incomplete += other.incomplete;
        for (own, more) in self.captured.iter_mut().zip(other.captured) {
            *own += more;
        }
    }
}

impl Exchanges {
    /// The counters of an operation. Its name, which all event loops share, is cloned at its first exchange only.
    fn operation(&mut self, name: Option<&Arc<str>>) -> &mut OfOperation {
        let Some(name) = name else { return &mut self.undocumented };
        if !self.operations.contains_key(name) {
            self.operations.insert(Arc::clone(name), OfOperation::default());
        }
        self.operations.get_mut(name).expect("it is there now")
    }
}

/// The value of a key, added if it is not there.
fn at<K: PartialEq, V: Default>(list: &mut Vec<(K, V)>, key: K) -> &mut V {
    let index = list.iter().position(|(held, _)| *held == key).unwrap_or_else(|| {
        list.push((key, V::default()));
        list.len() - 1
    });
    &mut list[index].1
}

impl Durations {
    fn add(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = BOUNDS.iter().position(|(bound, _)| seconds <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[bucket] += 1;
        self.sum += took;
    }

    /// Upper bounds of all buckets but the last, in seconds.
    pub fn bounds() -> impl Iterator<Item = f64> {
        BOUNDS.iter().map(|(bound, _)| *bound)
    }

    /// The buckets, each with its upper bound in words.
    pub(super) fn labelled(&self) -> impl Iterator<Item = (&'static str, u64)> {
        BOUNDS.iter().map(|(_, bound)| *bound).chain(["+Inf"]).zip(self.buckets)
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (own, more) in self.buckets.iter_mut().zip(other.buckets) {
            *own += more;
        }
        self.sum += other.sum;
    }
}

/// What stands for the methods that have no label of their own.
pub const OTHER_METHOD: &str = "_OTHER";

/// The label of a method, as `http.request.method` of OpenTelemetry has it.
#[must_use]
pub fn counted_method(method: &Method) -> &'static str {
    known_method(method).unwrap_or(OTHER_METHOD)
}

/// The class of a status; `none` where the client got no response.
fn status_class(status: Option<u16>) -> &'static str {
    match status.map(|status| status / 100) {
        Some(1) => "1xx",
        Some(2) => "2xx",
        Some(3) => "3xx",
        Some(4) => "4xx",
        Some(5) => "5xx",
        Some(_) => "other",
        None => "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed<'a>(verdict: &'a Verdict, method: &'a Method, status: Option<u16>, millis: u64) -> Observed<'a> {
        Observed {
            verdict,
            conclusion: "conforms",
            method,
            scheme: "https",
            status,
            took: Duration::from_millis(millis),
            answered: None,
            incomplete: false,
            captured: [1, 20],
        }
    }

    #[test]
    fn a_duration_counts_in_the_first_bucket_that_holds_it() {
        let mut durations = Durations::default();
        for millis in [0, 5, 6, 10_000, 10_001] {
            durations.add(Duration::from_millis(millis));
        }
        assert_eq!(
            (durations.buckets[0], durations.buckets[1], durations.buckets[13], durations.buckets[14]),
            (2, 1, 1, 1)
        );
        assert_eq!(durations.sum, Duration::from_millis(20_012));
    }

    #[test]
    fn methods_and_statuses_that_clients_and_upstreams_make_up_share_one_label() {
        let mut counted = Exchanges::default();
        for index in 0..1000_u16 {
            let method = Method::from_bytes(format!("M{index}").as_bytes()).unwrap();
            counted.count(&observed(&Verdict::default(), &method, Some(index), 1));
        }
        let all = &counted.undocumented.durations;
        assert!(all.iter().all(|(labels, _)| labels.method == "_OTHER"), "{all:?}");
        let unnamed = all.iter().filter(|(labels, _)| labels.status.is_none());
        let mut classes: Vec<_> = unnamed.map(|(labels, _)| labels.class).collect();
        classes.sort_unstable();
        assert_eq!(classes, ["1xx", "2xx", "3xx", "4xx", "5xx", "other"]);
        // Those that HTTP has a name for.
        assert!((50..80).contains(&(all.len() - classes.len())), "{}", all.len());
    }

    #[test]
    fn the_counters_of_two_event_loops_add_up() {
        let [mut one, mut other, mut both] = [(); 3].map(|()| Exchanges::default());
        let operations: Vec<Option<Arc<str>>> = vec![None, Some("a".into())];
        for (index, operation) in operations.iter().cycle().take(9).enumerate() {
            let verdict = Verdict { operation: operation.clone(), ..Verdict::default() };
            let exchange = Observed {
                answered: Some("upstream"),
                incomplete: index % 2 == 0,
                ..observed(&verdict, &Method::GET, Some(200), index as u64)
            };
            both.count(&exchange);
            if index < 4 { one.count(&exchange) } else { other.count(&exchange) }
        }
        one.add(&other);
        for (one, both) in [(&one.undocumented, &both.undocumented), (&one.operations["a"], &both.operations["a"])] {
            assert_eq!((&one.durations, &one.verdicts), (&both.durations, &both.verdicts));
        }
        assert_eq!((&one.answered, one.incomplete, one.captured), (&both.answered, 5, [9, 180]));
    }
}
