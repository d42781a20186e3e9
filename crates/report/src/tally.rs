//! Counts of a recording's verdicts, findings in groups, and reasons for what is unchecked.

use std::{
    borrow::Cow,
    cell::LazyCell,
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use contrail_exchange::{
    Exchange,
    finding::{Blame, Conclusion, Finding, Kind, Reason, Rule, UNDOCUMENTED, Unchecked, UncheckedSet, Verdict},
    plural::plural,
};
use contrail_redact::{JudgedExchange, Redacted, Redactor};
use serde::Serialize;

use super::{
    Citation, ExchangeRef, Quote,
    audit::caller_name,
    first::First,
    group::{Group, Key, MAX_QUOTED, Sample, Unenforced, shape, without_indices},
    times::{Durations, Timeline, Times, Took},
};

/// Maximum groups of one rule that are kept apart; a recording that has more is summed up beyond it. Of one rule, since
/// a client that chooses places (names of query parameters) must not take the room of another rule's findings.
const MAX_GROUPS: usize = 5000;

/// Maximum reasons for what is unchecked that are kept apart; an aspect that has more is counted all the same.
const MAX_REASONS: usize = 1000;

/// Maximum groups of [`Rule::AuthUnenforced`] that are kept apart by caller, whose names clients choose.
const MAX_BY_CALLER: usize = 1000;

/// The one place of all exchanges that are outside the contract's base path.
const OUTSIDE: &str = "outside the contract (another site or base path)";

/// A verdict without a finding: where no report lists exchanges, its exchange is only counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanVerdict {
    operation: Option<Arc<str>>,
    unchecked: UncheckedSet,
    reasons: Vec<Reason>,
    blame: Option<Blame>,
    times: Times,
}

impl CleanVerdict {
    /// What there is to count of an exchange; `None` if there is a finding.
    #[must_use]
    pub fn of(verdict: &Verdict, exchange: &Exchange) -> Option<Self> {
        let Verdict { operation, findings, unchecked, reasons, blame } = verdict;
        findings.is_empty().then(|| {
            let (operation, reasons) = (operation.clone(), reasons.clone());
            Self { operation, unchecked: *unchecked, reasons, blame: *blame, times: Times::of(exchange) }
        })
    }
}

/// What was counted over many exchanges.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Exchanges in all.
    pub exchanges: u64,
    /// Those that conform.
    pub conforms: u64,
    /// Those with a gap and no violation.
    pub gap: u64,
    /// Those with a violation.
    pub violates: u64,
    /// Those that no recording answered, whatever the verdict on their request: they are counted nowhere above.
    pub misses: u64,
    /// Exchanges of the recordings that are served; they are counted nowhere above.
    pub recorded: Recorded,
    /// Entries that are not HTTP.
    pub skipped: u64,
    /// Exchanges outside the contract's base path; they are among `gap`.
    pub outside: u64,
    /// Findings that came after [`MAX_GROUPS`] groups of their rule, at further places.
    pub ungrouped: u64,
    /// Sorted by the operation.
    operations: Vec<(Box<str>, Counts)>,
    /// Why something is unchecked, array indices as `*`, with the exchanges of each operation; sorted.
    reasons: Vec<(Reason, BTreeMap<Arc<str>, u64>)>,
    /// By [`Blame`].
    blame: [u64; Blame::ALL.len()],
    groups: BTreeMap<Key, Group>,
    /// How many groups there are of each rule.
    kept: BTreeMap<Rule, usize>,
    rules: BTreeMap<Rule, u64>,
    timeline: Timeline,
}

/// Exchanges of the recordings that are served, judged beside the live requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// All of them.
    pub exchanges: u64,
    /// Those that conform.
    pub conforms: u64,
    /// Those with a gap and no violation.
    pub gap: u64,
    /// Those with a violation.
    pub violates: u64,
}

/// What was counted of one operation.
#[derive(Debug, Clone, Default)]
struct Counts {
    /// Exchanges with a documented operation; 0 for what stands for others.
    exchanges: u64,
    /// The same of the recordings that are served.
    recorded: u64,
    /// How long all of them took, as far as it was measured.
    took: Duration,
    /// The same, those of the recordings that are served left out.
    durations: Durations,
    /// By [`Unchecked`].
    unchecked: [u64; Unchecked::ALL.len()],
}

impl Tally {
    pub(super) fn add(&mut self, place: ExchangeRef<'_>, judged: &Redacted<JudgedExchange>) {
        let verdict = &judged.verdict;
        self.count_verdict(
            place,
            Conclusion::of(verdict.findings.iter(), verdict.unchecked),
            verdict.operation.as_deref(),
            verdict.unchecked,
            verdict.blame,
            Times::of(&judged.exchange),
        );
        self.count_reasons(verdict.operation.as_ref(), &verdict.reasons);
        // A long URL with many findings is kept once.
        let cited = LazyCell::new(|| Citation::new(place, judged));
        for finding in &verdict.findings {
            *self.rules.entry(finding.rule).or_default() += 1;
            self.group(place, judged, finding, &cited);
        }
    }

    /// Counts an exchange without a finding.
    pub(super) fn count(&mut self, place: ExchangeRef<'_>, counted: &CleanVerdict) {
        let CleanVerdict { operation, unchecked, reasons, blame, times } = counted;
        let conclusion = Conclusion::of([].iter(), *unchecked);
        self.count_verdict(place, conclusion, operation.as_deref(), *unchecked, *blame, *times);
        self.count_reasons(operation.as_ref(), reasons);
    }

    /// Counts the reasons of one exchange, those of several items of a list once.
    fn count_reasons(&mut self, operation: Option<&Arc<str>>, given: &[Reason]) {
        let mut counted: Vec<Reason> = Vec::new();
        for reason in given {
            let reason = Reason { at: without_indices(&reason.at), ..reason.clone() };
            if !counted.contains(&reason) {
                counted.push(reason);
            }
        }
        for reason in counted {
            let operation = operation.map_or_else(|| UNDOCUMENTED.into(), Arc::clone);
            self.add_reason(reason, [(operation, 1)].into());
        }
    }

    fn add_reason(&mut self, reason: Reason, counts: BTreeMap<Arc<str>, u64>) {
        match self.reasons.binary_search_by(|(held, _)| held.cmp(&reason)) {
            Ok(at) => {
                for (operation, count) in counts {
                    *self.reasons[at].1.entry(operation).or_default() += count;
                }
            }
            Err(at) if self.reasons.len() < MAX_REASONS => self.reasons.insert(at, (reason, counts)),
            Err(_) => {}
        }
    }

    fn count_verdict(
        &mut self,
        place: ExchangeRef<'_>,
        conclusion: Conclusion,
        operation: Option<&str>,
        unchecked: UncheckedSet,
        blame: Option<Blame>,
        times: Times,
    ) {
        let (all, [conforms, gap, violates]) = if place.recorded {
            let Recorded { exchanges, conforms, gap, violates } = &mut self.recorded;
            (exchanges, [conforms, gap, violates])
        } else {
            (&mut self.exchanges, [&mut self.conforms, &mut self.gap, &mut self.violates])
        };
        *all += 1;
        match conclusion {
            _ if place.miss.is_some() => self.misses += 1,
            Conclusion::Unjudged => {}
            Conclusion::Conforms => *conforms += 1,
            Conclusion::Gap => *gap += 1,
            Conclusion::Violates => *violates += 1,
        }
        if let Some(blame) = blame {
            self.blame[blame as usize] += 1;
        }
        if !place.recorded {
            self.timeline.take(times.started, conclusion, place.miss.is_some());
        }
        self.outside += u64::from(place.outside && !place.recorded);
        let counts = self.counts(operation.unwrap_or(UNDOCUMENTED));
        counts.took += times.took;
        if !place.recorded {
            counts.durations.take(times.took);
        }
        if operation.is_some() && !place.outside {
            *(if place.recorded { &mut counts.recorded } else { &mut counts.exchanges }) += 1;
        }
        for aspect in unchecked.iter() {
            counts.unchecked[aspect as usize] += 1;
        }
    }

    /// Whether there are exchanges, and nothing of any was checked.
    #[must_use]
    pub fn nothing_judged(&self) -> bool {
        let Recorded { exchanges, conforms, gap, violates } = self.recorded;
        let judged = [self.conforms, self.gap, self.violates, conforms, gap, violates];
        (self.exchanges + exchanges).saturating_sub(self.misses) > 0 && judged.iter().sum::<u64>() == 0
    }

    /// Exchanges of which nothing was checked, in words behind the others; nothing if there is none.
    #[must_use]
    pub fn unjudged(&self) -> String {
        let judged = self.conforms + self.gap + self.violates + self.misses;
        match self.exchanges.saturating_sub(judged) {
            0 => String::new(),
            count => format!(", {count} not judged"),
        }
    }

    fn counts(&mut self, operation: &str) -> &mut Counts {
        let at = self.operations.binary_search_by(|(held, _)| (**held).cmp(operation));
        let at = at.unwrap_or_else(|at| {
            self.operations.insert(at, (operation.into(), Counts::default()));
            at
        });
        &mut self.operations[at].1
    }

    /// The group of a finding of this exchange.
    pub(super) fn group_of(&self, judged: &JudgedExchange, finding: &Finding) -> Option<&Group> {
        let places = [false, true].map(|outside| place_of(outside, judged, finding));
        let is_it = |group: &&Group| {
            group.rule == finding.rule && group.operation == judged.verdict.operation && places.contains(&group.place)
        };
        self.groups.values().find(is_it)
    }

    fn group(
        &mut self,
        place: ExchangeRef<'_>,
        judged: &Redacted<JudgedExchange>,
        finding: &Finding,
        cited: &LazyCell<Citation, impl FnOnce() -> Citation>,
    ) {
        let request = &judged.exchange.request;
        let unenforced = (finding.rule == Rule::AuthUnenforced).then(|| Unenforced {
            expected: finding.expected.to_string(),
            caller: Some(caller_name(request.credential.facts().and_then(|facts| facts.client.as_deref()), request)),
        });
        let mut key = Key {
            rule: finding.rule,
            operation: judged.verdict.operation.clone(),
            place: place_of(place.outside, judged, finding),
            unenforced,
            several: finding.fits_several(),
        };
        let kept = self.kept.get(&finding.rule).copied().unwrap_or_default();
        if kept >= MAX_BY_CALLER
            && !self.groups.contains_key(&key)
            && let Some(unenforced) = &mut key.unenforced
        {
            unenforced.caller = None;
        }
        let sample = |quoted: bool| Sample {
            message: finding.message(),
            at: finding.at.clone(),
            cited: Citation::clone(cited),
            quote: quoted.then(|| Box::new(Quote::new(judged, finding))),
        };
        let number = self.groups.len();
        if let Some(group) = self.groups.get_mut(&key) {
            group.count += 1;
            let is_quoted = group.sample.quote.is_some();
            group.sample.take(judged.exchange.started, || sample(is_quoted));
        } else if kept >= MAX_GROUPS {
            self.ungrouped += 1;
        } else {
            let group = Group {
                rule: key.rule,
                operation: key.operation.clone(),
                place: key.place.clone(),
                unenforced: key.unenforced.clone(),
                several: key.several,
                count: 1,
                sample: First::new(sample(number < MAX_QUOTED)),
            };
            *self.kept.entry(key.rule).or_default() += 1;
            self.groups.insert(key, group);
        }
    }

    /// Takes secrets out of the samples that were recognised only after their exchange.
    pub(super) fn redact(&mut self, redactor: &Redactor) {
        let mut citations = HashMap::new();
        let clean = |text: &mut String| {
            let clean = redactor.text(text);
            if *clean != *text {
                *text = clean.into_inner();
            }
        };
        for (mut reason, counts) in std::mem::take(&mut self.reasons) {
            clean(&mut reason.at);
            if let Cow::Owned(text) = &mut reason.reason {
                clean(text);
            }
            self.add_reason(reason, counts);
        }
        for group in self.groups.values_mut() {
            clean(&mut group.place);
            let Sample { message, at, cited, quote } = &mut *group.sample;
            cited.redact_shared(redactor, &mut citations);
            if let Some(quote) = quote {
                quote.redact(redactor);
            }
            [message, at].into_iter().for_each(clean);
        }
    }

    /// The groups of this kind: by rule, then most frequent first.
    #[must_use]
    pub fn groups(&self, kind: Kind) -> Vec<&Group> {
        let mut groups: Vec<&Group> = self.groups.values().filter(|group| group.rule.kind() == kind).collect();
        groups.sort_by(|a, b| a.rule.cmp(&b.rule).then(b.count.cmp(&a.count)).then(a.operation.cmp(&b.operation)));
        groups
    }

    /// All groups.
    pub(super) fn all_groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.values()
    }

    /// How often each rule was found, in the rules' order.
    pub fn by_rule(&self) -> impl Iterator<Item = (Rule, u64)> {
        self.rules.iter().map(|(rule, count)| (*rule, *count))
    }

    /// The findings of a rule that are in none of its groups, if there are any.
    pub(super) fn further(&self) -> impl Iterator<Item = (Rule, u64)> {
        let of = |rule| self.groups.values().filter(|group| group.rule == rule).map(|group| group.count).sum::<u64>();
        let rules = self.by_rule().filter(|_| self.ungrouped > 0);
        rules.map(move |(rule, count)| (rule, count - of(rule).min(count))).filter(|(_, count)| *count > 0)
    }

    /// The same in a sentence.
    pub(super) fn further_in_words(&self) -> Option<String> {
        (self.ungrouped > 0)
            .then(|| format!("{} at further places, not listed one by one", plural(self.ungrouped, "finding")))
    }

    /// Exchanges per operation, those of the recordings that are served left out.
    #[must_use]
    pub fn operations(&self) -> BTreeMap<&str, u64> {
        self.per_operation(|counts| counts.exchanges)
    }

    /// Exchanges of the recordings that are served, per operation.
    #[must_use]
    pub fn recorded_operations(&self) -> BTreeMap<&str, u64> {
        self.per_operation(|counts| counts.recorded)
    }

    /// How long the exchanges of an operation took, as far as it was measured; of undocumented ones where there is
    /// none.
    #[must_use]
    pub(super) fn took(&self, operation: Option<&str>) -> Duration {
        let operation = operation.unwrap_or(UNDOCUMENTED);
        let held = self.operations.binary_search_by(|(held, _)| (**held).cmp(operation));
        held.map_or(Duration::ZERO, |at| self.operations[at].1.took)
    }

    /// How long the exchanges of each operation took, where that was measured; the undocumented ones together.
    pub(super) fn durations(&self) -> impl Iterator<Item = Took<'_>> {
        self.operations.iter().filter_map(|(operation, counts)| {
            counts.durations.of(Some(&**operation).filter(|operation| *operation != UNDOCUMENTED))
        })
    }

    /// Exchanges by the time of their start, those of the recordings that are served left out.
    pub(super) fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Exchanges of this blame.
    #[must_use]
    pub fn blame(&self, blame: Blame) -> u64 {
        self.blame[blame as usize]
    }

    /// What could not be checked: aspect, exchanges in all, exchanges per operation.
    pub fn unchecked(&self) -> impl Iterator<Item = (&'static str, u64, BTreeMap<&str, u64>)> {
        Unchecked::ALL.iter().filter_map(|aspect| {
            let counts = self.per_operation(|counts| counts.unchecked[*aspect as usize]);
            (!counts.is_empty()).then(|| (aspect.name(), counts.values().sum(), counts))
        })
    }

    /// Why an aspect could not be checked, as far as it is not that the document does not show it: each reason with its
    /// exchanges per operation, the most frequent first.
    pub(super) fn reasons(&self, aspect: &str) -> Vec<(&Reason, BTreeMap<&str, u64>)> {
        let of_aspect = self.reasons.iter().filter(|(reason, _)| reason.aspect.name() == aspect);
        let mut reasons: Vec<_> = of_aspect
            .map(|(reason, counts)| (reason, counts.iter().map(|(operation, count)| (&**operation, *count)).collect()))
            .collect();
        reasons.sort_by_key(|(_, counts): &(_, BTreeMap<&str, u64>)| std::cmp::Reverse(counts.values().sum::<u64>()));
        reasons
    }

    /// A count of each operation that has any.
    fn per_operation(&self, count: impl Fn(&Counts) -> u64) -> BTreeMap<&str, u64> {
        let counts = self.operations.iter().map(|(operation, counts)| (&**operation, count(counts)));
        counts.filter(|(_, count)| *count > 0).collect()
    }
}

/// The place of a finding as groups have it, where its exchange is outside the contract's base path or not.
fn place_of(outside: bool, judged: &JudgedExchange, finding: &Finding) -> String {
    let request = &judged.exchange.request;
    match finding.rule {
        Rule::OperationUndocumented if outside => OUTSIDE.to_owned(),
        Rule::OperationUndocumented if judged.verdict.operation.is_none() => {
            format!("{} {}", request.method, shape(request.target.path()))
        }
        _ => without_indices(&finding.at),
    }
}
