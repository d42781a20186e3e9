//! What a report is written from.

use std::collections::BTreeMap;

use super::{Run, Tally, Title};
use crate::finding::{Conclusion, Rule};

/// What a report is written from.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// The contract.
    pub title: &'a Title,
    /// The counts and groups.
    pub tally: &'a Tally,
    /// The files whose producer strips `Authorization`.
    pub stripped: &'a [String],
    /// The rules that make the command fail.
    pub failing: &'a [Rule],
    /// What the run came to besides findings.
    pub run: &'a Run,
    /// The recordings that the report is about.
    pub sources: &'a [String],
    /// The upstream that answered.
    pub upstream: Option<&'a str>,
    /// When the report was made; empty where the same files always give the same report.
    pub made: String,
}

impl Facts<'_> {
    pub(super) fn fails(&self, rule: Rule) -> bool {
        self.failing.contains(&rule)
    }
}

/// `operation 3, other 1`: where something was counted, most first.
pub(super) fn places(counts: &BTreeMap<&str, u64>) -> String {
    let mut pairs: Vec<_> = counts.iter().collect();
    pairs.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    pairs.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// The word for what an exchange came to: a miss never `conforms`.
#[must_use]
pub fn verdict_name(conclusion: Conclusion, missed: bool) -> &'static str {
    if missed && conclusion == Conclusion::Conforms { "miss" } else { conclusion.name() }
}
