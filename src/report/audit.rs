//! The audit: who called what, with which scopes, and which of those the documentation says were needed.
//!
//! Least privilege is told as far as the documentation goes and no further: where it does not show which scope an
//! operation needs, a scope that a caller holds may be needed there, and the report says so.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    time::SystemTime,
};

use serde_json::{Value, json};

use super::Integrity;
use crate::{
    contract::Contract,
    exchange::Credential,
    finding::{Conclusion, Kind, Rule},
    plural::plural,
    redact::{Judged, Redacted},
    visible::visible,
};

/// Most callers and, per caller, most undocumented operations that are told apart; the rest is counted together.
const MAX_NAMES: usize = 10_000;

/// What a set of recordings says, folded one exchange at a time.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    exchanges: u64,
    first: Option<SystemTime>,
    last: Option<SystemTime>,
    verdicts: BTreeMap<&'static str, u64>,
    rules: BTreeMap<Rule, u64>,
    callers: BTreeMap<String, Caller>,
    integrity: Vec<Integrity>,
    files: Vec<String>,
}

#[derive(Debug, Clone, Default)]
struct Caller {
    held: BTreeSet<String>,
    needed: BTreeSet<String>,
    /// What the token of some call lacked, even if another token of the caller has it.
    lacked: BTreeSet<String>,
    calls: BTreeMap<String, Calls>,
    not_shown: u64,
}

#[derive(Debug, Clone, Default)]
struct Calls {
    count: u64,
    accepted: u64,
    refused: u64,
    violations: u64,
}

impl Audit {
    /// Notes what the chain of a trail says; before its exchanges.
    pub fn integrity(&mut self, integrity: Integrity) {
        self.integrity.push(integrity);
    }

    /// Notes that this recording is no trail, so that nothing proves that it is as it was written.
    pub fn file(&mut self, name: &str) {
        self.files.push(name.to_owned());
    }

    /// Whether a trail was altered.
    #[must_use]
    pub fn altered(&self) -> bool {
        self.integrity.iter().any(|one| one.broken.is_some())
    }

    /// How many exchanges were added.
    #[must_use]
    pub fn exchanges(&self) -> u64 {
        self.exchanges
    }

    /// Adds an exchange.
    pub fn exchange(&mut self, judged: &Redacted<Judged>, contract: &Contract) {
        let (exchange, verdict) = (&judged.exchange, &judged.verdict);
        self.exchanges += 1;
        if let Some(started) = exchange.started {
            self.first = Some(self.first.map_or(started, |first| first.min(started)));
            self.last = Some(self.last.map_or(started, |last| last.max(started)));
        }
        *self.verdicts.entry(verdict.conclusion().name()).or_default() += 1;
        for finding in &verdict.findings {
            *self.rules.entry(finding.rule).or_default() += 1;
        }
        let name = caller(&exchange.request.credential);
        let name =
            if self.callers.len() < MAX_NAMES || self.callers.contains_key(&name) { name } else { "others".into() };
        let caller = self.callers.entry(name).or_default();
        let status = exchange.response.as_ref().map_or(0, |response| response.status);
        let accepted = (200..300).contains(&status);
        let found = contract.find(exchange.request.method.as_str(), exchange.request.target.path());
        let operation = match &found {
            Some(found) => found.operation.id.to_string(),
            None => "undocumented".to_owned(),
        };
        let calls = caller.calls.entry(operation).or_default();
        calls.count += 1;
        calls.accepted += u64::from(accepted);
        calls.refused += u64::from(matches!(status, 401 | 403));
        calls.violations += u64::from(verdict.conclusion() == Conclusion::Violates);
        let Credential::Token(facts) = &exchange.request.credential else { return };
        let held = facts.scopes.as_deref().unwrap_or_default();
        caller.held.extend(held.iter().cloned());
        match found.map(|found| &found.operation.security) {
            Some(security) if !security.required => {}
            Some(security) if !security.scopes.is_empty() => {
                // Of several alternatives the one counts that the token has.
                let holds = |one: &str| held.iter().any(|scope| scope == one);
                let alternative = security.scopes.iter().find(|all| all.iter().all(|one| holds(one)));
                for one in alternative.or(security.scopes.first()).into_iter().flatten() {
                    caller.needed.insert(one.to_string());
                    if !holds(one) {
                        caller.lacked.insert(one.to_string());
                    }
                }
            }
            // What is not documented at all may need any scope.
            Some(_) | None => caller.not_shown += 1,
        }
    }

    /// For people.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{}", plural(self.exchanges, "exchange"))?;
        if let (Some(first), Some(last)) = (self.first, self.last) {
            write!(out, " from {} to {}", instant(first), instant(last))?;
        }
        writeln!(out)?;
        for one in &self.integrity {
            writeln!(out, "{}", visible(&one.sentence()))?;
        }
        for file in &self.files {
            writeln!(out, "`{}` is not a trail: nothing proves that it is unaltered", visible(file))?;
        }
        for (name, caller) in &self.callers {
            writeln!(out, "\n{}", visible(name))?;
            let width = caller.calls.keys().map(String::len).max().unwrap_or_default();
            for (operation, calls) in &caller.calls {
                write!(out, "  {operation:<width$}  {:>6}", calls.count)?;
                write!(out, "  accepted {}", calls.accepted)?;
                for (what, count) in [("401 or 403", calls.refused), ("violating", calls.violations)] {
                    if count > 0 {
                        write!(out, ", {what} {count}")?;
                    }
                }
                writeln!(out)?;
            }
            if caller.held.is_empty() && caller.needed.is_empty() {
                continue;
            }
            writeln!(out, "  holds       {}", list(&caller.held))?;
            writeln!(out, "  needed      {}", list(&caller.needed))?;
            if !caller.lacked.is_empty() {
                let lacked = caller.lacked.iter().map(|scope| {
                    let some = if caller.held.contains(scope) { " (in some of its tokens)" } else { "" };
                    format!("{scope}{some}")
                });
                writeln!(out, "  lacks       {}", list(&lacked.collect()))?;
            }
            let unneeded: BTreeSet<_> = caller.held.difference(&caller.needed).cloned().collect();
            if !unneeded.is_empty() {
                writeln!(out, "  unneeded    {}", list(&unneeded))?;
            }
            if caller.not_shown > 0 {
                writeln!(
                    out,
                    "  but         {} went where the documentation does not show the required scope; what is called \
                     unneeded may be needed there",
                    plural(caller.not_shown, "call")
                )?;
            }
        }
        for (kind, title) in [(Kind::Violation, "violations"), (Kind::Gap, "gaps")] {
            let of_kind: Vec<_> = self.rules.iter().filter(|(rule, _)| rule.kind() == kind).collect();
            if !of_kind.is_empty() {
                writeln!(out, "\n{title}")?;
            }
            for (rule, count) in of_kind {
                writeln!(out, "  {:<26} {count:>6}", rule.id())?;
            }
        }
        Ok(())
    }

    /// For machines: one object.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn json(&self, contract: &Contract, out: &mut dyn Write) -> io::Result<()> {
        let callers: Vec<Value> = self
            .callers
            .iter()
            .map(|(name, caller)| {
                let calls: Vec<Value> = caller
                    .calls
                    .iter()
                    .map(|(operation, calls)| {
                        json!({"operation": operation, "count": calls.count, "accepted": calls.accepted,
                               "refused": calls.refused, "violating": calls.violations})
                    })
                    .collect();
                json!({"caller": name, "calls": calls, "holds": caller.held, "needed": caller.needed,
                       "lacks": caller.lacked,
                       "unneeded": caller.held.difference(&caller.needed).collect::<Vec<_>>(),
                       "callsWithoutDocumentedScope": caller.not_shown})
            })
            .collect();
        let rules: serde_json::Map<String, Value> =
            self.rules.iter().map(|(rule, count)| (rule.id().to_owned(), (*count).into())).collect();
        let report = json!({
            "contract": {"title": contract.title(), "version": contract.version()},
            "summary": {"exchanges": self.exchanges, "verdicts": self.verdicts,
                        "from": self.first.map(instant), "to": self.last.map(instant)},
            "integrity": self.integrity,
            "unproven": self.files,
            "callers": callers,
            "rules": rules,
        });
        writeln!(out, "{report:#}")
    }
}

fn caller(credential: &Credential) -> String {
    match credential {
        Credential::Token(facts) => facts.client.clone().unwrap_or_else(|| "a token without a client".to_owned()),
        Credential::Missing | Credential::OtherScheme(_) => "no token".to_owned(),
        Credential::Malformed(_) => "a token that is no JWT".to_owned(),
        Credential::Encrypted => "an encrypted token".to_owned(),
        Credential::Unknown => "unknown (the file does not say)".to_owned(),
    }
}

fn list(scopes: &BTreeSet<String>) -> String {
    if scopes.is_empty() {
        "none".to_owned()
    } else {
        visible(&scopes.iter().cloned().collect::<Vec<_>>().join(" ")).into_owned()
    }
}

fn instant(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time).map_or_else(|_| "an instant out of range".to_owned(), |time| format!("{time:.0}"))
}
