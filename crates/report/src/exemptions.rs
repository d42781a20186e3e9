//! Findings that do not set the exit status: a baseline lists them, or a suppression covers them.

use contrail_exchange::{
    finding::{Kind, Rule},
    plural::plural,
};
use jiff::civil::Date;

use super::{Baseline, Covered, Group, Reason, Run, Suppressed, Suppression, Tally};

/// Findings that do not set the exit status.
#[derive(Debug, Clone)]
pub struct Exemptions {
    baseline: Option<Baseline>,
    suppressions: Vec<Suppression>,
    today: Date,
}

/// Why a finding does not set the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exemption<'a> {
    Suppressed(&'a Suppression),
    /// The baseline lists it.
    Known,
}

impl Exemption<'_> {
    /// The reason for people.
    pub(super) fn reason(self) -> String {
        match self {
            Self::Known => "listed in the baseline".to_owned(),
            Self::Suppressed(Suppression { until, reason, .. }) => format!("suppressed until {until}: {reason}"),
        }
    }

    /// The same in a word.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Suppressed(_) => "suppressed",
        }
    }

    /// Why a suppression accepts the finding.
    pub(super) fn justification(self) -> Option<String> {
        match self {
            Self::Known => None,
            Self::Suppressed(one) => Some(one.reason.clone()),
        }
    }
}

impl Default for Exemptions {
    fn default() -> Self {
        Self { baseline: None, suppressions: Vec::new(), today: Date::MIN }
    }
}

impl Exemptions {
    /// The findings of an earlier run, and those that are suppressed on this day.
    #[must_use]
    pub const fn new(baseline: Option<Baseline>, suppressions: Vec<Suppression>, today: Date) -> Self {
        Self { baseline, suppressions, today }
    }

    /// Why these findings do not set the exit status; `None` if they do.
    pub(super) fn of(&self, group: &Group) -> Option<Exemption<'_>> {
        let holds = |one: &&Suppression| !one.is_expired(self.today) && one.names(group);
        let known = || self.knows(group).then_some(Exemption::Known);
        self.suppressions.iter().find(holds).map(Exemption::Suppressed).or_else(known)
    }

    /// Whether the baseline lists these findings.
    fn knows(&self, group: &Group) -> bool {
        self.baseline.as_ref().is_some_and(|baseline| baseline.covers(group))
    }

    /// The same; `None` without a baseline.
    pub(super) fn known(&self, group: &Group) -> Option<bool> {
        self.baseline.is_some().then(|| self.knows(group))
    }

    /// What the baseline covers of these findings, if there is one.
    pub(super) fn covered(&self, tally: &Tally) -> Option<Covered<'_>> {
        self.baseline.as_ref().map(|baseline| baseline.covered(tally))
    }

    /// What each suppression covers of these findings.
    pub(super) fn suppressed(&self, tally: &Tally) -> Vec<Suppressed<'_>> {
        self.suppressions.iter().map(|one| one.suppressed(tally, self.today)).collect()
    }

    /// The suppressions that do not hold any more. Each makes the command fail.
    pub(super) fn expired(&self) -> impl Iterator<Item = &Suppression> {
        self.suppressions.iter().filter(|one| one.is_expired(self.today))
    }

    /// What it covers of these findings, for people.
    pub(super) fn lines(&self, tally: &Tally) -> Vec<String> {
        let covered = self.covered(tally);
        let suppressed = self.suppressed(tally);
        covered.iter().flat_map(Covered::lines).chain(suppressed.iter().map(Suppressed::line)).collect()
    }

    /// How often each of these rules was found where nothing exempts the finding.
    pub(super) fn failing(&self, tally: &Tally, rules: &[Rule]) -> impl Iterator<Item = (Rule, u64)> {
        let exempt = move |rule| {
            let groups = tally.all_groups().filter(|group| group.rule == rule);
            groups.filter(|group| self.of(group).is_some()).map(|group| group.count).sum::<u64>()
        };
        let new = tally.by_rule().map(move |(rule, count)| (rule, count.saturating_sub(exempt(rule))));
        new.filter(|(rule, count)| rules.contains(rule) && *count > 0)
    }

    /// The reasons for the exit status that a report itself shows: failing rules, altered trails, exchanges that could
    /// not be recorded, and expired suppressions.
    pub(super) fn failing_reasons(&self, tally: &Tally, rules: &[Rule], run: &Run) -> impl Iterator<Item = Reason> {
        let rules = self.failing(tally, rules).map(|(rule, count)| {
            let denied = if rule.kind() == Kind::Gap { ", denied" } else { "" };
            Reason::shown("findings", format!("{rule} {count} ({}{denied})", rule.kind().name()))
        });
        let altered = run.integrity.iter().filter(|trail| trail.broken.is_some());
        let altered = altered.map(|trail| Reason::shown("altered", trail.sentence()));
        let expired = self.expired().map(|one| Reason::shown("suppression-expired", one.expiry()));
        let lost = Some(run.unrecorded()).filter(|lost| run.unrecorded_fails && *lost > 0);
        let lost = lost.map(|lost| Reason::shown("unrecorded", format!("{} NOT RECORDED", plural(lost, "exchange"))));
        rules.chain(altered).chain(lost).chain(expired)
    }
}
