//! The calls to one tenant, weighed.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    calls::{Refusal, Tenant},
    refusal::Reason,
};
use crate::learn::evidence::Sightings;

/// The calls to one tenant, weighed.
#[derive(Clone)]
pub(super) struct Weighed<'a> {
    pub(super) tenant: &'a Tenant,
    /// The tenant mentions a scope in a refusal.
    pub(super) explains: bool,
    pub(super) accepted: u64,
    pub(super) set_aside: u64,
    /// Scopes that every accepted token has; `None` where no call was accepted.
    pub(super) common: Option<Vec<&'a str>>,
    /// Those of them that no counted refusal had.
    pub(super) candidates: Vec<&'a str>,
    /// Refusals that count.
    pub(super) counted: Vec<(&'a Refusal, &'a Sightings)>,
    /// Why the refusals leave no single scope, whatever further calls show.
    pub(super) contradiction: Option<&'static str>,
}

impl<'a> Weighed<'a> {
    pub(super) fn of(tenant: &'a Tenant, explains: bool) -> Self {
        let mut sets = tenant.accepted.keys();
        let common: Option<Vec<&str>> = sets.next().map(|first| {
            let others = || tenant.accepted.keys().skip(1);
            first.iter().map(String::as_str).filter(|scope| others().all(|set| set.contains(*scope))).collect()
        });
        let is_aside = |refusal: &Refusal| tenant.accepted.keys().any(|set| set.is_subset(&refusal.scopes));
        let (aside, refused): (Vec<_>, Vec<_>) = tenant.refused.iter().partition(|(refusal, _)| is_aside(refusal));
        let counts = |refusal: &Refusal| {
            if explains || refusal.reason != Reason::None {
                return refusal.reason == Reason::Scope;
            }
            let alike = |(other, _): &(&Refusal, &Sightings)| other.path == refusal.path || other.text == refusal.text;
            tenant.paths.contains(&refusal.path) && !aside.iter().any(alike)
        };
        let (counted, other): (Vec<_>, Vec<_>) = refused.into_iter().partition(|(refusal, _)| counts(refusal));
        let mut candidates = common.clone().unwrap_or_default();
        candidates.retain(|scope| !counted.iter().any(|(refusal, _)| refusal.excludes(scope)));
        let names = || counted.iter().map(|(refusal, _)| &refusal.names).filter(|names| !names.is_empty());
        let is_common = |name: &String| common.as_ref().is_none_or(|common| common.contains(&name.as_str()));
        let contradiction = if aside.iter().any(|(refusal, _)| refusal.reason == Reason::Scope) {
            Some("a token with all scopes of an accepted one was refused for lack of a scope")
        } else if names().any(|names| names.len() > 1) {
            Some("a refusal names several scopes, any of which may suffice")
        } else if names().flatten().any(|name| !is_common(name)) {
            Some("a refusal names a scope that an accepted token lacks")
        } else {
            None
        };
        Self {
            tenant,
            explains,
            accepted: tenant.accepted.values().map(|seen| seen.count).sum(),
            set_aside: aside.iter().chain(&other).map(|(_, seen)| seen.count).sum(),
            contradiction,
            common,
            candidates,
            counted,
        }
    }

    pub(super) fn decided(&self) -> Option<&'a str> {
        match self.candidates[..] {
            [scope] if !self.counted.is_empty() && self.contradiction.is_none() => Some(scope),
            _ => None,
        }
    }

    /// The calls that leave only this scope: accepted ones without each other scope of the first, refused ones with
    /// each other scope that all accepted ones have.
    pub(super) fn deciding(&self, scope: &str) -> Vec<Value> {
        let mut cited = Vec::new();
        let mut cite = |what: &str, seen: &Sightings| {
            let mut one = seen.first.json();
            one["outcome"] = what.into();
            if !cited.contains(&one) {
                cited.push(one);
            }
        };
        let mut left: BTreeSet<&str> = BTreeSet::new();
        for (index, (set, seen)) in self.tenant.accepted.iter().enumerate() {
            let before = left.len();
            if index == 0 {
                left = set.iter().map(String::as_str).collect();
            } else {
                left.retain(|scope| set.contains(*scope));
            }
            if index == 0 || left.len() < before {
                cite("accepted", seen);
            }
        }
        for (index, (refusal, seen)) in self.counted.iter().enumerate() {
            let before = left.len();
            left.retain(|held| *held == scope || !refusal.excludes(held));
            if index == 0 || left.len() < before {
                cite("refused", seen);
            }
        }
        cited
    }
}
