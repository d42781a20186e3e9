//! Required scopes by elimination.
//!
//! An operation is taken to require one scope, as documents state it. That scope is in the token of every accepted call
//! and of no call that was refused for lack of it. What else a 403 may mean decides which refusals count: one of a
//! token that holds all that an accepted token holds has another reason and is set aside. Where the tenant mentions a
//! scope in any refusal (RFC 6750, section 3.1, or in the body), only such refusals count. Where it never does, a
//! refusal counts if it states no reason, its path was accepted for another token, and nothing that was set aside has
//! its path or its text. Where a refusal names scopes, only a scope that it names alone can be the required one.

mod calls;
mod decision;
mod named;
mod refusal;
#[cfg(test)]
mod tests;
mod weighed;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

pub(super) use self::{
    calls::{Call, Calls},
    decision::Decision,
    refusal::Words,
};
use self::{
    calls::{Refusal, Scopes},
    decision::{NextCall, Undecided},
    refusal::Reason,
    weighed::Weighed,
};
use super::evidence::Sightings;

impl Calls {
    /// What all tenants together decide, and the evidence. `explaining` are the tenants that mention a scope in a
    /// refusal.
    pub(super) fn decide(&self, explaining: &BTreeSet<String>) -> (Decision, Map<String, Value>) {
        let weigh = |(name, tenant)| Weighed::of(tenant, explaining.contains(name));
        let weighed: Vec<Weighed<'_>> = self.tenants.iter().map(weigh).collect();
        let required = required(&weighed).filter(|_| !self.overflow);
        let decision = match required {
            Some(scope) => Decision::Requires(scope.to_owned()),
            None if self.overflow => open(&[], "there were more kinds of calls than are kept apart", None),
            None => why_open(&weighed),
        };
        (decision, self.evidence(&weighed, required))
    }

    fn evidence(&self, weighed: &[Weighed<'_>], scope: Option<&str>) -> Map<String, Value> {
        let sum = |counts: &dyn Fn(&Weighed<'_>) -> u64| weighed.iter().map(counts).sum::<u64>();
        let mut evidence = Map::new();
        evidence.insert("accepted".to_owned(), sum(&|one| one.accepted).into());
        evidence.insert("refused".to_owned(), sum(&|one| one.counted.iter().map(|(_, seen)| seen.count).sum()).into());
        evidence.insert("set-aside".to_owned(), sum(&|one| one.set_aside).into());
        evidence.insert("unread".to_owned(), self.unread.into());
        let all = self.tenants.values().flat_map(|tenant| tenant.accepted.values().chain(tenant.refused.values()));
        if let Some(span) = all.cloned().reduce(Sightings::merge) {
            span.instants(&mut evidence);
        }
        if let Some(scope) = scope {
            let deciding = weighed.iter().find(|one| one.decided() == Some(scope));
            let cited = deciding.map(|one| one.deciding(scope)).unwrap_or_default();
            evidence.insert("decided-by".to_owned(), cited.into());
        }
        evidence
    }
}

/// The scope that at least one tenant decides and none contradicts.
fn required<'a>(weighed: &[Weighed<'a>]) -> Option<&'a str> {
    let scope = weighed.iter().find_map(Weighed::decided)?;
    let agrees = |one: &Weighed<'_>| {
        one.decided().is_none_or(|other| other == scope)
            && (one.common.is_none() || one.candidates.contains(&scope) && one.contradiction.is_none())
    };
    weighed.iter().all(agrees).then_some(scope)
}

fn open(candidates: &[&str], why: &'static str, next: Option<NextCall>) -> Decision {
    Decision::Open(Undecided { candidates: owned(candidates), why, next })
}

/// Why no scope is required, and what would decide it.
fn why_open(weighed: &[Weighed<'_>]) -> Decision {
    let accepted = weighed.iter().filter(|one| one.common.is_some());
    let Some(first) = accepted.clone().next() else {
        let next = NextCall { with: Vec::new(), without: Vec::new(), decides_if: Vec::new() };
        return open(&[], "the tenant accepted no call whose scopes can be read", Some(next));
    };
    let decided: BTreeSet<&str> = weighed.iter().filter_map(Weighed::decided).collect();
    if decided.len() > 1 {
        return open(&[], "tenants require different scopes", None);
    }
    if let Some(contradiction) = accepted.clone().find_map(|one| one.contradiction) {
        return open(&[], contradiction, None);
    }
    let mut candidates: Vec<&str> = first.candidates.clone();
    candidates.retain(|scope| accepted.clone().all(|one| one.candidates.contains(scope)));
    let common: Vec<&str> = first.common.iter().flatten().copied().collect();
    match candidates[..] {
        [] if common.is_empty() => open(&[], "the accepted tokens have no scope in common", None),
        [] => open(&common, "refused tokens had each of the scopes that all accepted ones have", None),
        [one] => {
            let why = "no call of a token without it was refused for lack of a scope";
            open(&[one], why, Some(next(weighed, &[], &[one])))
        }
        [one, ..] => {
            let next = next(weighed, &[one], &candidates[1..]);
            open(&candidates, "all accepted tokens have them", Some(next))
        }
    }
}

/// A further call of this token, and with which outcomes it decides: what it would add to these calls is tried.
fn next(weighed: &[Weighed<'_>], with: &[&str], without: &[&str]) -> NextCall {
    let scopes: Scopes = with.iter().map(|scope| (*scope).to_owned()).collect();
    let decides = |outcome: &&'static str| {
        weighed.iter().enumerate().any(|(at, one)| {
            let mut tenant = one.tenant.clone();
            let Some(seen) = tenant.accepted.values().next().cloned() else { return false };
            if *outcome == "accepted" {
                tenant.accepted.insert(scopes.clone(), seen);
            } else {
                let Some(path) = tenant.paths.iter().next().copied() else { return false };
                let reason = if one.explains { Reason::Scope } else { Reason::None };
                tenant
                    .refused
                    .insert(Refusal { scopes: scopes.clone(), path, text: 0, reason, names: Scopes::new() }, seen);
            }
            let mut tried = weighed.to_vec();
            tried[at] = Weighed::of(&tenant, one.explains);
            required(&tried).is_some()
        })
    };
    let decides_if = ["accepted", "refused"].into_iter().filter(decides).collect();
    NextCall { with: owned(with), without: owned(without), decides_if }
}

fn owned(scopes: &[&str]) -> Vec<String> {
    scopes.iter().map(|scope| (*scope).to_owned()).collect()
}
