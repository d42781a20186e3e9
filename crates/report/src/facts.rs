//! The facts that every report is written from.

use std::{collections::BTreeMap, sync::Arc};

use contrail_contract::{Contract, Passage, Subject};
use contrail_exchange::finding::{Conclusion, Rule};
use serde::Serialize;

use super::{Exemptions, Group, Run, Tally, exemptions::Exemption};
use crate::coverage::Coverage;

/// The title of a contract, for the head of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Title {
    /// `info.title`.
    pub title: String,
    /// `info.version`.
    pub version: String,
    /// The digest of the contract in force, overlays included.
    pub hash: String,
    /// The ids of its operations.
    pub operations: Vec<Arc<str>>,
}

impl Title {
    /// Title and version.
    pub(super) fn in_words(&self) -> String {
        format!("{} {}", self.title, self.version).trim().to_owned()
    }

    /// What stands for the title of a contract where a report is not about one.
    pub(super) fn named(title: &str) -> Self {
        Self { title: title.to_owned(), ..Self::default() }
    }
}

/// What a report is written from.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// The contract.
    pub title: &'a Title,
    /// The same, for passages of it.
    pub contract: Option<&'a Contract>,
    /// The counts and groups.
    pub tally: &'a Tally,
    /// The parts of the contract that were touched, where they were looked for.
    pub coverage: Option<&'a Coverage>,
    /// The files whose producer strips `Authorization`.
    pub stripped: &'a [String],
    /// The rules that make the command fail.
    pub failing: &'a [Rule],
    /// Findings that do not make the command fail.
    pub exemptions: &'a Exemptions,
    /// The results of the run besides findings.
    pub run: &'a Run,
    /// The recordings that the report is about.
    pub sources: &'a [String],
    /// The upstream that answered.
    pub upstream: Option<&'a str>,
    /// When the report was made; empty where the same files always give the same report.
    pub made: String,
}

/// Documented operations that were called, recorded exchanges that a replay serves among them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct OperationsCalled<'a> {
    pub(super) called: usize,
    pub(super) documented: usize,
    pub(super) never: Vec<&'a str>,
}

impl Facts<'_> {
    /// `None` where nothing was judged.
    pub(super) fn called(&self) -> Option<OperationsCalled<'_>> {
        let (seen, recorded) = (self.tally.operations(), self.tally.recorded_operations());
        let is_called = |id: &&str| seen.contains_key(id) || recorded.contains_key(id);
        let all: Vec<&str> = self.title.operations.iter().map(|id| &**id).collect();
        let never: Vec<&str> = all.iter().copied().filter(|id| !is_called(id)).collect();
        let is_empty = all.is_empty() || self.tally.exchanges + self.tally.recorded.exchanges == 0;
        (!is_empty).then(|| OperationsCalled { called: all.len() - never.len(), documented: all.len(), never })
    }

    /// What the contract shows of the subject of these findings.
    pub(super) fn passages(&self, group: &Group) -> Vec<Passage> {
        let (Some(contract), Some(operation), Some(quote)) = (self.contract, &group.operation, &group.sample.quote)
        else {
            return Vec::new();
        };
        let (at, media_type) = (&*quote.at, &*quote.media_type);
        contract.passages(Subject { rule: group.rule, operation, at, status: group.sample.cited.status, media_type })
    }

    pub(super) fn fails(&self, rule: Rule) -> bool {
        self.failing.contains(&rule)
    }

    /// Why these findings do not make the command fail, if something exempts them.
    pub(super) fn exemption(&self, group: &Group) -> Option<Exemption<'_>> {
        self.exemptions.of(group)
    }
}

/// `operation 3, other 1`: where something was counted, most first.
pub(super) fn places(counts: &BTreeMap<&str, u64>) -> String {
    let mut pairs: Vec<_> = counts.iter().collect();
    pairs.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    pairs.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// The word for the result of an exchange: a miss never `conforms`.
#[must_use]
pub fn verdict_name(conclusion: Conclusion, missed: bool) -> &'static str {
    if missed && conclusion <= Conclusion::Conforms { "miss" } else { conclusion.name() }
}
