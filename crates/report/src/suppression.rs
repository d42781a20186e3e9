//! Findings that a user accepts until a date, for a reason.

use contrail_exchange::{
    finding::{Rule, UNDOCUMENTED},
    plural::plural,
};
use jiff::civil::Date;
use serde::{Serialize, Serializer, ser::SerializeStruct as _};

use super::{Group, Tally};

/// Findings that do not set the exit status up to a date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// The rule.
    pub rule: Rule,
    /// The documented operation, or `undocumented`; `None` for any.
    pub operation: Option<String>,
    /// The place, as [`Group::place`]; `None` for any.
    pub at: Option<String>,
    /// Why the findings are accepted.
    pub reason: String,
    /// The last day on which it holds (UTC).
    pub until: Date,
    /// Where it stands: the file and the line.
    pub source: String,
}

/// What a suppression covered in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppressed<'a> {
    pub(super) suppression: &'a Suppression,
    /// Findings of this run that it covers; of an expired one, those that it would cover.
    pub(super) count: u64,
    pub(super) is_expired: bool,
}

impl Suppression {
    /// Whether the findings are those that it is about, expired or not.
    pub(super) fn names(&self, group: &Group) -> bool {
        let operation = group.operation.as_deref().unwrap_or(UNDOCUMENTED);
        self.rule == group.rule
            && self.operation.as_deref().is_none_or(|named| named == operation)
            && self.at.as_deref().is_none_or(|at| at == group.place)
    }

    /// What it covers of these findings.
    pub(super) fn suppressed(&self, tally: &Tally, today: Date) -> Suppressed<'_> {
        let count = tally.all_groups().filter(|group| self.names(group)).map(|group| group.count).sum();
        Suppressed { suppression: self, count, is_expired: self.is_expired(today) }
    }

    pub(super) fn is_expired(&self, today: Date) -> bool {
        self.until < today
    }

    /// `response.body: update_tenant at /name`.
    pub(super) fn about(&self) -> String {
        let operation = self.operation.as_deref().map(|operation| format!(": {operation}")).unwrap_or_default();
        let at = self.at.as_deref().map(|at| format!(" at {at}")).unwrap_or_default();
        format!("{}{operation}{at}", self.rule)
    }

    /// That it does not hold any more, in a sentence.
    pub(super) fn expiry(&self) -> String {
        let Self { source, until, .. } = self;
        format!("{source}: the suppression of {} expired on {until}; remove it or set a later date", self.about())
    }
}

impl Suppressed<'_> {
    /// What it covers, in a line.
    #[must_use]
    pub fn line(&self) -> String {
        let Suppression { reason, until, source, .. } = self.suppression;
        let count = plural(self.count, "finding");
        let state = if self.is_expired { "suppression EXPIRED on" } else { "suppressed until" };
        format!("{state} {until}: {count} of {}: {reason} ({source})", self.suppression.about())
    }
}

impl Serialize for Suppressed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Suppression { rule, operation, at, reason, until, source } = self.suppression;
        let mut members = serializer.serialize_struct("Suppressed", 8)?;
        members.serialize_field("rule", rule.id())?;
        members.serialize_field("operation", operation)?;
        members.serialize_field("at", at)?;
        members.serialize_field("reason", reason)?;
        members.serialize_field("until", &until.to_string())?;
        members.serialize_field("source", source)?;
        members.serialize_field("count", &self.count)?;
        members.serialize_field("expired", &self.is_expired)?;
        members.end()
    }
}
