//! Findings of an earlier run, as its JSON report lists them: they do not set the exit status again.
//!
//! A finding is the same in the next run if rule, operation and place are, array indices and the ids in an undocumented
//! path left out.

use std::collections::BTreeSet;

use contrail_exchange::{finding::Rule, plural::plural};
use serde::{Deserialize, Serialize};

use super::{Cited, Exemptions, Group, Tally, exemptions::Exemption};

/// The findings of an earlier run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    name: String,
    known: BTreeSet<BaselineEntry>,
}

/// A finding, whatever exchange it is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BaselineEntry {
    /// The rule's id.
    pub rule: String,
    /// The documented operation, if there is one.
    pub operation: Option<String>,
    /// Where, as [`Group::place`].
    pub at: String,
}

/// What a baseline covered in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Covered<'a> {
    /// The file.
    pub file: &'a str,
    /// Findings of this run that it lists.
    pub known: u64,
    /// What it lists and this run did not find.
    pub gone: Vec<&'a BaselineEntry>,
}

impl Baseline {
    /// Reads the JSON report of an earlier run. `name` is the file's.
    ///
    /// # Errors
    ///
    /// Why the text is none.
    pub fn parse(name: impl Into<String>, text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Report {
            findings: BTreeSet<BaselineEntry>,
        }
        let report: Report = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match report.findings.iter().find(|known| known.rule.parse::<Rule>().is_err()) {
            Some(known) => Err(format!("`{}` is not a rule", known.rule)),
            None => Ok(Self { name: name.into(), known: report.findings }),
        }
    }

    pub(super) fn covers(&self, group: &Group) -> bool {
        self.known.contains(&BaselineEntry::of(group))
    }

    /// What it covered of these findings.
    pub(super) fn covered(&self, tally: &Tally) -> Covered<'_> {
        let found: BTreeSet<BaselineEntry> = tally.all_groups().map(BaselineEntry::of).collect();
        Covered {
            file: &self.name,
            known: tally.all_groups().filter(|group| self.covers(group)).map(|group| group.count).sum(),
            gone: self.known.iter().filter(|known| !found.contains(*known)).collect(),
        }
    }
}

/// A group of findings, as JSON reports list them.
#[derive(Debug, Serialize)]
pub(super) struct Listed<'a> {
    rule: &'static str,
    kind: &'static str,
    operation: Option<&'a str>,
    at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<&'a str>,
    count: u64,
    message: &'a str,
    first: &'a Cited,
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suppressed: Option<String>,
}

impl<'a> Listed<'a> {
    /// A group with whether the baseline lists it and why a suppression covers it, where that applies.
    pub(super) fn new(group: &'a Group, exemptions: &Exemptions) -> Self {
        Self {
            rule: group.rule.id(),
            kind: group.rule.kind().name(),
            operation: group.operation.as_deref(),
            at: &group.place,
            caller: group.unenforced.as_ref().and_then(|unenforced| unenforced.caller.as_deref()),
            count: group.count,
            message: &group.sample.message,
            first: &group.sample.cited,
            known: exemptions.known(group),
            suppressed: exemptions.of(group).and_then(Exemption::justification),
        }
    }
}

impl BaselineEntry {
    fn of(group: &Group) -> Self {
        Self {
            rule: group.rule.id().to_owned(),
            operation: group.operation.as_deref().map(str::to_owned),
            at: group.place.clone(),
        }
    }

    /// The finding in one line.
    pub(super) fn in_words(&self) -> String {
        let operation = self.operation.as_deref().unwrap_or("no documented operation");
        let at = if self.at.is_empty() { String::new() } else { format!(" at {}", self.at) };
        format!("{}: {operation}{at}", self.rule)
    }
}

impl Covered<'_> {
    /// What it covered, then what no longer occurs, a line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let gone = self.gone.iter().map(|known| format!("  {}", known.in_words()));
        [self.sentence()].into_iter().chain(gone).collect()
    }

    /// What it covered, in one line.
    pub(super) fn sentence(&self) -> String {
        let gone = if self.gone.is_empty() {
            "all that it lists still occur".to_owned()
        } else {
            format!("{} that it lists no longer occur{}", self.gone.len(), if self.gone.len() == 1 { "s" } else { "" })
        };
        format!("the baseline {} covers {}; {gone}", self.file, plural(self.known, "finding"))
    }
}
