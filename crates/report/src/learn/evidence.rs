//! Which exchanges a fact rests on.

use std::{sync::Arc, time::SystemTime};

use contrail_exchange::json::second;
use serde_json::{Map, Value, json};

/// Where an exchange stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cited {
    /// The file.
    pub(super) file: Arc<str>,
    /// Index in that file.
    pub(super) entry: usize,
    /// When it was; `None` in a fixture.
    pub(super) at: Option<SystemTime>,
}

impl Cited {
    pub(super) fn json(&self) -> Value {
        let mut cited = json!({"file": *self.file, "entry": self.entry});
        if let Some(at) = self.at.and_then(second) {
            cited["at"] = at.into();
        }
        cited
    }
}

/// How often something was seen, and when.
#[derive(Debug, Clone)]
pub(super) struct Sightings {
    pub(super) count: u64,
    pub(super) first: Cited,
    last: Option<SystemTime>,
}

impl Sightings {
    pub(super) fn new(first: &Cited) -> Self {
        Self { count: 1, first: first.clone(), last: first.at }
    }

    /// Counts one more.
    pub(super) fn again(&mut self, cited: &Cited) {
        self.count += 1;
        self.last = self.last.max(cited.at);
        if cited.at.is_some_and(|at| self.first.at.is_some_and(|first| at < first)) {
            self.first = cited.clone();
        }
    }

    /// Both together.
    pub(super) fn merge(mut self, other: Self) -> Self {
        self.count += other.count;
        self.last = self.last.max(other.last);
        if other.first.at.is_some_and(|at| self.first.at.is_none_or(|first| at < first)) {
            self.first = other.first;
        }
        self
    }

    /// Adds the first and the last instant, where they are known.
    pub(super) fn instants(&self, evidence: &mut Map<String, Value>) {
        for (name, at) in [("first", self.first.at), ("last", self.last)] {
            if let Some(at) = at.and_then(second) {
                evidence.insert(name.to_owned(), at.into());
            }
        }
    }
}
