//! Exchanges that are not in a journal because it could not be written: once it can be written again, a line states how
//! many they are, and from when to when. In a trail, the chain covers that line.

use std::time::SystemTime;

use contrail_exchange::plural::plural;
use serde::{Deserialize, Serialize};

use super::lines::UNRECORDED;

/// Exchanges that are not in a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unrecorded {
    /// How many.
    pub exchanges: u64,
    /// When the first of them started.
    #[serde(with = "instant")]
    pub from: jiff::Timestamp,
    /// When the last of them started.
    #[serde(with = "instant")]
    pub to: jiff::Timestamp,
}

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(rename = "_unrecorded")]
    unrecorded: Unrecorded,
}

/// Adds exchanges to a sum.
pub(crate) fn add(sum: &mut Option<Unrecorded>, more: Unrecorded) {
    match sum {
        Some(sum) => sum.merge(&more),
        None => *sum = Some(more),
    }
}

impl Unrecorded {
    /// One exchange that started at this time.
    pub(super) fn one(started: Option<SystemTime>) -> Self {
        let started = started.and_then(|started| jiff::Timestamp::try_from(started).ok());
        let started = started.unwrap_or_else(jiff::Timestamp::now);
        Self { exchanges: 1, from: started, to: started }
    }

    /// Adds the statement to those of a trail. Beyond 1,000, the last one holds the sum.
    pub fn add_to(self, statements: &mut Vec<Self>) {
        const MAX_APART: usize = 1000;
        match statements.get_mut(MAX_APART - 1) {
            Some(last) => last.merge(&self),
            None => statements.push(self),
        }
    }

    /// Adds others.
    pub(super) fn merge(&mut self, other: &Self) {
        self.exchanges = self.exchanges.saturating_add(other.exchanges);
        self.from = self.from.min(other.from);
        self.to = self.to.max(other.to);
    }

    /// What is missing, as a sentence without its full stop.
    #[must_use]
    pub fn sentence(&self) -> String {
        let exchanges = plural(self.exchanges, "exchange");
        let (from, to) = (self.from, self.to);
        format!("{exchanges} could not be recorded ({from:.3} to {to:.3}), so the fixture lacks them")
    }

    /// Writes the line, with its line feed.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let line = serde_json::to_string(&Line { unrecorded: self.clone() });
        out.extend_from_slice(line.unwrap_or_default().as_bytes());
        out.push(b'\n');
    }

    /// What a line states, if it is such a line.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        if !line.starts_with(UNRECORDED) {
            return None;
        }
        serde_json::from_slice(line).ok().map(|Line { unrecorded }| unrecorded)
    }
}

/// Instants as entries have them: to the millisecond.
pub(super) mod instant {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(in crate::journal) fn serialize<S: Serializer>(instant: &jiff::Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{instant:.3}"))
    }

    pub(in crate::journal) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<jiff::Timestamp, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
