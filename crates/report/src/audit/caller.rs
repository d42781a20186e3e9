//! One caller: what it called, and which scopes its tokens held, its calls needed, and some token lacked.

use std::{
    cell::OnceCell,
    collections::BTreeMap,
    io::{self, Write},
    time::SystemTime,
};

use contrail_contract::{Contract, Demand};
use contrail_exchange::{
    Credential, Exchange, SignatureCheck,
    finding::{Conclusion, Rule, UNDOCUMENTED, Unchecked},
    plural::plural,
    visible::visible,
};
use contrail_redact::{JudgedExchange, Redacted, Redactor};
use serde_json::{Value, json};

use super::{
    least::{least, suffices},
    waits::Early,
};
use crate::{Cited, ExchangeRef, cited::Citation, first::First};

/// Maximum scopes of one caller, whose names a hostile client can choose.
const MAX_SCOPES: usize = 2000;

/// What is known of one caller.
#[derive(Debug, Clone, Default)]
pub(super) struct Caller {
    /// Those that its tokens held.
    held: BTreeMap<String, First<Citation>>,
    pub(super) calls: BTreeMap<String, Calls>,
    /// Calls where the documentation does not show the required scope.
    not_shown: u64,
    /// Calls with a token of which nothing says whether its claims are the place for scopes.
    unread: u64,
    /// How often a scope beyond [`MAX_SCOPES`] was held or claimed.
    further_scopes: u64,
    /// What tokens claim that were refused. Anybody can send such a token.
    claims: Claims,
}

/// Calls with a token that the tenant did not accept (401), or whose signature fails.
#[derive(Debug, Clone, Default)]
struct Claims {
    calls: u64,
    first: Option<First<Citation>>,
    scopes: BTreeMap<String, First<Citation>>,
}

/// The first exchange that shows each of these.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scope<'a> {
    pub(super) held: Option<&'a Cited>,
    /// It is one of the least set that suffices for the calls.
    pub(super) needed: Option<&'a Cited>,
    /// The token of some call lacked it, even if another token of the caller has it.
    pub(super) lacked: Option<&'a Cited>,
    /// A token that was refused claims it.
    pub(super) claimed: Option<&'a Cited>,
}

/// Whether it is held and no call needs it, as far as the document shows.
pub(super) fn is_unneeded(scope: &Scope<'_>) -> bool {
    scope.held.is_some() && scope.needed.is_none()
}

/// Calls of one operation.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    pub(super) count: u64,
    pub(super) accepted: u64,
    /// 401 and 403.
    pub(super) refused: u64,
    /// 429.
    pub(super) limited: u64,
    pub(super) violating: u64,
    pub(super) first: Option<First<Citation>>,
    /// Calls that began before the time had passed that a 429 to an earlier one asked for.
    pub(super) early: u64,
    pub(super) first_early: Option<First<Citation>>,
    /// Exchanges for which that cannot be known.
    pub(super) early_unchecked: u64,
    needs: Option<Needs>,
}

/// Whether an answer of the tenant shows that it took the token for genuine: it gave what was asked for, named a scope
/// as the reason, or judged the request to a documented operation. 0 stands for no answer of the tenant.
const fn shows_holder(status: u16, is_documented: bool) -> bool {
    match status {
        200..300 | 403 => true,
        300..500 => is_documented && status != 401,
        _ => false,
    }
}

/// Whether the client of an exchange is only a claim: its token's signature fails, or no answer shows that it is genuine.
pub(super) fn is_claim(exchange: &Exchange, is_documented: bool) -> bool {
    let answer = exchange.response.as_ref().filter(|_| exchange.transport.answered_by_contrail.is_none());
    let status = answer.map_or(0, |response| response.status);
    let facts = exchange.request.credential.facts();
    facts.is_some_and(|facts| facts.signature == SignatureCheck::Bad || !shows_holder(status, is_documented))
}

/// Which scopes the calls of an operation need.
#[derive(Debug, Clone)]
struct Needs {
    /// All scopes of one of these.
    alternatives: Vec<Vec<Box<str>>>,
    first: First<Citation>,
    /// Scopes of the alternatives that a token lacked which suffices for none.
    lacked: BTreeMap<Box<str>, First<Citation>>,
}

impl Calls {
    /// Neither accepted, nor refused, nor limited.
    pub(super) fn other(&self) -> u64 {
        self.count - self.accepted - self.refused - self.limited
    }
}

impl Caller {
    pub(super) fn take(
        &mut self,
        place: ExchangeRef<'_>,
        judged: &Redacted<JudgedExchange>,
        contract: &Contract,
        Early { early, unchecked }: Early,
    ) {
        let exchange = &judged.exchange;
        let cited = OnceCell::new();
        let cite = || cited.get_or_init(|| Citation::new(place, judged)).clone();
        let found = contract.judges(&exchange.request).map(|(_, matched)| matched);
        let operation = found.as_ref().map_or_else(|| UNDOCUMENTED.to_owned(), |found| found.operation.id.to_string());
        let calls = self.calls.entry(operation).or_default();
        calls.count += 1;
        first(&mut calls.first, exchange.started, cite);
        let answer = exchange.response.as_ref().filter(|_| exchange.transport.answered_by_contrail.is_none());
        match answer.map_or(0, |response| response.status) {
            200..300 => calls.accepted += 1,
            401 | 403 => calls.refused += 1,
            429 => calls.limited += 1,
            _ => {}
        }
        let facts = match &exchange.request.credential {
            Credential::Token(facts) => Some(facts),
            _ => None,
        };
        let status = answer.map_or(0, |response| response.status);
        let is_claim = is_claim(exchange, found.is_some());
        // Who sends a token that the tenant refuses is not the client that it names.
        if early && !is_claim {
            calls.early += 1;
            first(&mut calls.first_early, exchange.started, cite);
        }
        calls.early_unchecked += u64::from(unchecked);
        calls.violating += u64::from(judged.verdict.conclusion() == Conclusion::Violates);
        let Some(facts) = facts else { return };
        let held = facts.scopes.as_deref().unwrap_or_default();
        let known = if is_claim { &mut self.claims.scopes } else { &mut self.held };
        for scope in held {
            let is_full = known.len() == MAX_SCOPES;
            match known.get_mut(scope) {
                Some(held) => held.take(exchange.started, cite),
                None if is_full => self.further_scopes += 1,
                None => _ = known.insert(scope.clone(), First::new(cite())),
            }
        }
        if is_claim {
            self.claims.calls += 1;
            first(&mut self.claims.first, exchange.started, cite);
            // What is not documented at all may need any scope.
            let is_refused = facts.signature == SignatureCheck::Bad || status == 401;
            self.not_shown += u64::from(found.is_none() && !is_refused);
            return;
        }
        self.unread += u64::from(facts.scopes.is_none() && judged.verdict.unchecked.contains(Unchecked::Auth));
        match found.as_ref().map(|found| found.operation.security.demand(&exchange.request)) {
            Some(Demand::Nothing) => {}
            Some(Demand::Scopes(alternatives)) => {
                let owned = || alternatives.iter().map(|all| all.to_vec()).collect();
                let new = || Needs { alternatives: owned(), first: First::new(cite()), lacked: BTreeMap::new() };
                let needs = calls.needs.get_or_insert_with(new);
                needs.first.take(exchange.started, cite);
                if judged.verdict.findings.iter().any(|finding| finding.rule == Rule::AuthScope) {
                    let is_held = |one: &str| held.iter().any(|scope| scope == one);
                    for one in alternatives.into_iter().flatten().filter(|one| !is_held(one)) {
                        match needs.lacked.get_mut(one) {
                            Some(lacked) => lacked.take(exchange.started, cite),
                            None => _ = needs.lacked.insert(one.clone(), First::new(cite())),
                        }
                    }
                }
            }
            // What is not documented at all may need any scope.
            Some(Demand::NotShown) | None => self.not_shown += 1,
        }
    }

    /// Takes out secrets that were recognised later.
    pub(super) fn redact(&mut self, redactor: &Redactor) {
        let calls = self.calls.values_mut().flat_map(|Calls { first, first_early, needs, .. }| {
            let needs = needs.iter_mut().flat_map(|needs| needs.lacked.values_mut().chain([&mut needs.first]));
            first.iter_mut().chain(first_early).chain(needs)
        });
        let Claims { first: claimed, scopes, .. } = &mut self.claims;
        for first in self.held.values_mut().chain(scopes.values_mut()).chain(claimed).chain(calls) {
            first.redact(redactor);
        }
    }

    /// The scopes that its tokens held, those that its calls need (the least set), and those that refused tokens claim.
    pub(super) fn scopes(&self) -> BTreeMap<&str, Scope<'_>> {
        let mut scopes: BTreeMap<&str, Scope<'_>> = BTreeMap::new();
        for (name, held) in &self.held {
            scopes.insert(name, Scope { held: Some(held), ..Scope::default() });
        }
        for (name, claimed) in &self.claims.scopes {
            scopes.entry(name).or_default().claimed = Some(claimed);
        }
        let needs = || self.calls.values().filter_map(|calls| calls.needs.as_ref());
        let least = least(needs().map(|needs| &*needs.alternatives), |name| self.held.contains_key(name));
        for Needs { alternatives, first, lacked } in needs() {
            for name in suffices(alternatives, &least).into_iter().flatten() {
                let scope = scopes.entry(name).or_default();
                let lacked: Option<&Cited> = lacked.get(name).map(|lacked| &***lacked);
                for (known, cited) in [(&mut scope.needed, Some(&***first)), (&mut scope.lacked, lacked)] {
                    if known.is_none_or(|known| cited.is_some_and(|cited| cited.is_before(known))) {
                        *known = cited;
                    }
                }
            }
        }
        scopes
    }

    /// What the least set of scopes rests on: documented operations that were called, of all.
    pub(super) fn rests_on(&self, contract: &Contract) -> [usize; 2] {
        let (mut called, mut all) = (0, 0);
        for operation in contract.operations().filter(|operation| !operation.token_endpoint) {
            all += 1;
            called += usize::from(self.calls.contains_key(&*operation.id));
        }
        [called, all]
    }

    pub(super) fn text(&self, contract: &Contract, out: &mut dyn Write) -> io::Result<()> {
        let width = self.calls.keys().map(String::len).max().unwrap_or_default();
        for (operation, calls) in &self.calls {
            write!(out, "  {operation:<width$}  {:>6}  accepted {}", calls.count, calls.accepted)?;
            let counts = [
                ("401 or 403", calls.refused),
                ("429", calls.limited),
                ("other", calls.other()),
                ("violating", calls.violating),
            ];
            for (what, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
                write!(out, ", {what} {count}")?;
            }
            let first = calls.first.as_ref().map(|first| first.place()).unwrap_or_default();
            writeln!(out, "; first {}", visible(&first))?;
            if let Some(first) = &calls.first_early {
                let (early, first) = (plural(calls.early, "call"), first.place());
                writeln!(out, "  {:<width$}  too early after a 429: {early}; first {}", "", visible(&first))?;
            }
            if calls.early_unchecked > 0 {
                let unchecked = plural(calls.early_unchecked, "exchange");
                writeln!(out, "  {:<width$}  too early after a 429: not checked for {unchecked}", "")?;
            }
        }
        let scopes = self.scopes();
        if let Some(first) = &self.claims.first {
            let claimed = list(&named(&scopes, |scope| scope.claimed.is_some()));
            let (calls, first) = (plural(self.claims.calls, "call"), first.place());
            writeln!(
                out,
                "  claimed     {claimed} ({calls} whose answer does not show that the token is genuine, or whose signature \
                 fails; the name is a claim, too); first {}",
                visible(&first)
            )?;
        }
        if scopes.values().all(|scope| scope.held.is_none() && scope.needed.is_none()) {
            return Ok(());
        }
        writeln!(out, "  holds       {}", list(&named(&scopes, |scope| scope.held.is_some())))?;
        writeln!(out, "  needed      {}", list(&named(&scopes, |scope| scope.needed.is_some())))?;
        for (name, scope) in &scopes {
            let Some(lacked) = &scope.lacked else { continue };
            let some = if scope.held.is_some() { " (in some of its tokens)" } else { "" };
            writeln!(out, "  lacks       {}", visible(&format!("{name}{some}; first {}", lacked.place())))?;
        }
        let unneeded = named(&scopes, is_unneeded);
        if !unneeded.is_empty() {
            writeln!(out, "  unneeded    {}", list(&unneeded))?;
        }
        if self.further_scopes > 0 {
            let times = plural(self.further_scopes, "time");
            writeln!(out, "  further     {times} a scope beyond the first {MAX_SCOPES}, which are listed")?;
        }
        let [called, all] = self.rests_on(contract);
        writeln!(out, "  rests on    {called} of {}", plural(all, "documented operation"))?;
        [self.unread(), self.may_be_needed()].iter().flatten().try_for_each(|but| writeln!(out, "  but         {but}"))
    }

    /// What its tokens leave open.
    pub(super) fn unread(&self) -> Option<String> {
        let calls = plural(self.unread, "call");
        (self.unread > 0)
            .then(|| format!("{calls} had a token whose claims name no scopes: which it holds is unchecked"))
    }

    /// Why a scope that it holds and does not need may be needed after all.
    pub(super) fn may_be_needed(&self) -> Option<String> {
        let calls = plural(self.not_shown, "call");
        (self.not_shown > 0).then(|| {
            format!(
                "{calls} went to operations whose required scope is not documented; an unneeded scope may be needed there"
            )
        })
    }

    pub(super) fn json(&self, name: &str, contract: &Contract) -> Value {
        let call = |(operation, calls): (&String, &Calls)| {
            let mut call = json!({"operation": operation, "count": calls.count, "accepted": calls.accepted,
                   "refused": calls.refused, "limited": calls.limited, "other": calls.other(),
                   "violating": calls.violating, "early": calls.early, "first": cited(calls.first.as_ref()),
                   "firstEarly": cited(calls.first_early.as_ref())});
            if calls.early_unchecked > 0 {
                call["earlyUnchecked"] = json!(calls.early_unchecked);
            }
            call
        };
        let scope = |(name, scope): (&&str, &Scope<'_>)| json!({"scope": name, "held": scope.held, "needed": scope.needed, "lacked": scope.lacked, "claimed": scope.claimed});
        let scopes = self.scopes();
        let [called, all] = self.rests_on(contract);
        let mut caller = json!({"caller": name,
               "calls": self.calls.iter().map(call).collect::<Vec<_>>(),
               "holds": named(&scopes, |scope| scope.held.is_some()),
               "needed": named(&scopes, |scope| scope.needed.is_some()),
               "lacks": named(&scopes, |scope| scope.lacked.is_some()),
               "unneeded": named(&scopes, is_unneeded),
               "restsOn": {"called": called, "documented": all},
               "callsWithoutDocumentedScope": self.not_shown,
               "scopes": scopes.iter().map(scope).collect::<Vec<_>>()});
        if let Some(first) = &self.claims.first {
            let claimed = named(&scopes, |scope| scope.claimed.is_some());
            caller["claims"] = json!({"calls": self.claims.calls, "scopes": claimed, "first": cited(Some(first))});
        }
        if self.unread > 0 {
            caller["callsWithUnreadScopes"] = json!(self.unread);
        }
        if self.further_scopes > 0 {
            caller["furtherScopes"] = json!(self.further_scopes);
        }
        caller
    }
}

/// Keeps the exchange that started first.
fn first(held: &mut Option<First<Citation>>, started: Option<SystemTime>, cite: impl Fn() -> Citation) {
    match held {
        Some(held) => held.take(started, cite),
        None => *held = Some(First::new(cite())),
    }
}

/// The exchange itself.
pub(super) fn cited(first: Option<&First<Citation>>) -> Option<&Cited> {
    first.map(|first| &***first)
}

fn named<'a>(scopes: &BTreeMap<&'a str, Scope<'_>>, is: impl Fn(&Scope<'_>) -> bool) -> Vec<&'a str> {
    scopes.iter().filter(|(_, scope)| is(scope)).map(|(name, _)| *name).collect()
}

fn list(scopes: &[&str]) -> String {
    if scopes.is_empty() { "none".to_owned() } else { visible(&scopes.join(" ")).into_owned() }
}
