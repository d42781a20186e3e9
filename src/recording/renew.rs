//! Which entries of a fixture give way to those of a new recording.
//!
//! Only an answer of the tenant replaces one. Where contrail answered in its place, what was recorded before stays; and if
//! the tenant could not be reached, so does everything that the new recording has no answer for.

use std::collections::{BTreeMap, HashMap};

use super::{Folded, identity::Identity};
use crate::exchange::Transport;

/// Which entries of a fixture a new recording replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renew<'a> {
    /// None: it is added to them.
    Nothing,
    /// Those of these operations.
    Operations(&'a [String]),
    /// All.
    Everything,
}

/// How an entry stands to the new recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// It stays.
    Stays,
    /// It gives way to new answers of this group.
    GivesWay(usize),
    /// It is new, of this group.
    New(usize),
}

impl Folded {
    /// Most causes that are kept.
    const MAX_CAUSES: usize = 8;

    /// Counts an answer of contrail's own.
    pub(super) fn own_answer(&mut self, transport: &Transport) {
        self.own_answers += 1;
        count(&mut self.own_causes, transport.incomplete.as_ref().or(transport.answered_by_contrail.as_ref()));
    }

    /// Counts an exchange that ended before any answer.
    pub(super) fn no_answer(&mut self, transport: &Transport) {
        count(&mut self.no_answers, transport.incomplete.as_ref());
    }
}

fn count(causes: &mut BTreeMap<String, usize>, cause: Option<&String>) {
    let cause = cause.map(String::as_str).unwrap_or_default();
    if let Some(count) = causes.get_mut(cause) {
        *count += 1;
    } else if causes.len() < Folded::MAX_CAUSES {
        causes.insert(cause.to_owned(), 1);
    }
}

impl Renew<'_> {
    /// How an entry of this operation stands, and of a source that `is_new`. Each operation that is recorded anew is a
    /// group of its own; otherwise all are one.
    pub(super) fn part(&self, operation: Option<&str>, is_new: bool) -> Part {
        let group = match self {
            Self::Operations(list) => list.iter().position(|named| Some(&**named) == operation),
            Self::Nothing if !is_new => None,
            Self::Nothing | Self::Everything => Some(0),
        };
        match group {
            None => Part::Stays,
            Some(group) if is_new => Part::New(group),
            Some(group) => Part::GivesWay(group),
        }
    }

    fn groups(&self) -> usize {
        if let Self::Operations(list) = self { list.len() } else { 1 }
    }
}

/// What contrail answered in the tenant's place, while the new recording is read.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    /// Requests whose last answer was contrail's own; whether the tenant could not be reached.
    requests: HashMap<Identity, bool>,
}

impl Unanswered {
    /// Whether the tenant's answer replaces each of contrail's own.
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The tenant answered this request.
    pub(super) fn answered(&mut self, identity: &Identity) {
        if !self.requests.is_empty() {
            self.requests.remove(identity);
        }
    }

    /// contrail answered this request itself.
    pub(super) fn refused(&mut self, identity: Identity, transport: &Transport) {
        let reason = transport.answered_by_contrail.as_deref().unwrap_or_default();
        self.requests.insert(identity, matches!(reason, "upstream" | "upstream-timeout"));
    }

    /// For each entry, in any order that keeps those of one identity and part in theirs, whether it is in the fixture.
    /// `answered` says of an entry whether it holds a response.
    pub(super) fn kept<'a>(
        &self,
        renew: Renew<'_>,
        items: impl Iterator<Item = (&'a Identity, Part, bool)> + Clone,
        folded: &mut Folded,
    ) -> Vec<bool> {
        let mut answers = vec![0_usize; renew.groups()];
        let mut new: HashMap<&Identity, usize> = HashMap::new();
        for (identity, part, answered) in items.clone() {
            if let Part::New(group) = part {
                answers[group] += usize::from(answered);
                *new.entry(identity).or_default() += 1;
            }
        }
        folded.nothing = answers.iter().all(|count| *count == 0);
        if let Renew::Operations(list) = renew {
            let without = answers.iter().zip(list).filter(|(count, _)| **count == 0);
            folded.unanswered = without.map(|(_, operation)| operation.clone()).collect();
        }
        let unreachable = self.requests.values().any(|unreachable| *unreachable);
        let mut old: HashMap<&Identity, usize> = HashMap::new();
        let kept = items.map(|(identity, part, _)| match part {
            Part::Stays => true,
            Part::New(group) => answers[group] > 0,
            Part::GivesWay(group) if answers[group] == 0 => true,
            Part::GivesWay(_) => {
                let before = old.entry(identity).or_default();
                let replaced = *before < new.get(identity).copied().unwrap_or_default();
                *before += 1;
                let unanswered = self.requests.contains_key(identity) || unreachable && !new.contains_key(identity);
                let stays = unanswered && !replaced;
                folded.stayed += usize::from(stays);
                folded.replaced += usize::from(!stays);
                stays
            }
        });
        kept.collect()
    }
}
