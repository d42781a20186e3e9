//! Required scopes by elimination.
//!
//! An operation is taken to require one scope, as documents state it. That scope is in the token of every accepted call
//! and of no call that was refused for lack of it. What else a 403 may mean decides which refusals count: one of a
//! token that holds all that an accepted token holds has another reason and is set aside. Where the tenant mentions a
//! scope in any refusal (RFC 6750, section 3.1, or in the body), only such refusals count. Where it never does, a
//! refusal counts if it states no reason, its path was accepted for another token, and nothing that was set aside has
//! its path or its text.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher},
};

use memchr::memmem;
use serde_json::{Map, Value, json};

use super::evidence::{Cited, Sightings};
use crate::exchange::Response;

/// Maximum tenants of an operation; and of each tenant, sets of scopes of accepted calls, differing refusals, and
/// paths.
const MAX_TENANTS: usize = 50;
const MAX_SETS: usize = 2000;
const MAX_PATHS: usize = 20_000;
/// Maximum scopes that a sentence lists.
const MAX_NAMES: usize = 3;

/// The calls of one operation, by tenant.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    tenants: BTreeMap<String, Tenant>,
    /// Calls with a token whose scopes cannot be read.
    unread: u64,
    /// There were more tenants, sets of scopes, refusals or paths than are kept.
    overflow: bool,
}

/// The calls to one tenant: the origin of the requests.
#[derive(Debug, Clone, Default)]
struct Tenant {
    accepted: BTreeMap<Scopes, Sightings>,
    refused: BTreeMap<Refusal, Sightings>,
    /// Of accepted calls, as hashes.
    paths: HashSet<u64>,
}

type Scopes = BTreeSet<String>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Refusal {
    scopes: Scopes,
    path: u64,
    /// Its text, as a hash.
    text: u64,
    reason: Reason,
}

/// What a refusal states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// A scope is missing.
    Scope,
    /// Only that it is one.
    None,
    /// Anything else.
    Other,
}

/// The words of a refusal without a reason, and of the fields that hold them.
const PLAIN: [&str; 32] = [
    "a",
    "access",
    "action",
    "allowed",
    "authorized",
    "code",
    "denied",
    "detail",
    "do",
    "error",
    "errors",
    "for",
    "forbidden",
    "have",
    "insufficient",
    "is",
    "message",
    "not",
    "operation",
    "perform",
    "permission",
    "permissions",
    "privileges",
    "request",
    "resource",
    "status",
    "statuscode",
    "the",
    "this",
    "title",
    "to",
    "you",
];

/// One call, as far as it can decide.
pub(super) enum Call {
    /// The tenant accepted it.
    Accepted(Scopes),
    /// It was refused with 403, in these words.
    Refused(Scopes, Words),
    /// The scopes of its token cannot be read.
    Unread,
}

/// What a refusal says.
pub(super) struct Words {
    text: u64,
    reason: Reason,
}

impl Words {
    pub(super) fn of(response: &Response) -> Self {
        let challenges = response.headers.get_all("www-authenticate").map(http::HeaderValue::as_bytes);
        let mut text = Vec::new();
        for part in challenges.chain([&*response.body.content]) {
            // Numbers are ids, instants and counters.
            text.extend(part.iter().filter(|byte| !byte.is_ascii_digit()).map(u8::to_ascii_lowercase));
        }
        // `The scope of your subscription` is no scope of a token.
        let mut scopes = memmem::find_iter(&text, b"scope").map(|at| &text[at + b"scope".len()..]);
        let reason = if scopes.any(|after| !after.starts_with(b" of ")) {
            Reason::Scope
        } else {
            let words = text.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| !word.is_empty());
            let mut unknown = words.filter(|word| PLAIN.binary_search_by(|plain| plain.as_bytes().cmp(word)).is_err());
            if unknown.next().is_none() { Reason::None } else { Reason::Other }
        };
        Self { text: hash(&text), reason }
    }

    /// Whether it states that a scope is missing.
    pub(super) fn mentions_scope(&self) -> bool {
        self.reason == Reason::Scope
    }
}

/// What the calls decide.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decision {
    /// This scope is required.
    Requires(String),
    /// One of these may be.
    Open {
        candidates: Vec<String>,
        why: &'static str,
        /// `None` where no further call decides it.
        next: Option<NextCall>,
    },
}

/// The call that would decide, or come nearest to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NextCall {
    /// Scopes of its token.
    with: Vec<String>,
    /// Scopes that its token lacks.
    without: Vec<String>,
    /// With which outcomes it decides.
    decides_if: Vec<&'static str>,
}

impl Calls {
    pub(super) fn take(&mut self, tenant: String, path: &str, call: Call, cited: &Cited) {
        let is_known = self.tenants.len() < MAX_TENANTS || self.tenants.contains_key(&tenant);
        let path = hash(path.as_bytes());
        let full = match call {
            Call::Unread => {
                self.unread += 1;
                false
            }
            _ if !is_known => true,
            Call::Accepted(scopes) => {
                let tenant = self.tenants.entry(tenant).or_default();
                let has_room = tenant.paths.len() < MAX_PATHS || tenant.paths.contains(&path);
                if has_room {
                    tenant.paths.insert(path);
                }
                count(&mut tenant.accepted, scopes, cited) || !has_room
            }
            Call::Refused(scopes, Words { text, reason }) => {
                let refused = &mut self.tenants.entry(tenant).or_default().refused;
                count(refused, Refusal { scopes, path, text, reason }, cited)
            }
        };
        self.overflow |= full;
    }

    /// What all tenants together decide, and the evidence. `explaining` are the tenants that mention a scope in a
    /// refusal.
    pub(super) fn decide(&self, explaining: &BTreeSet<String>) -> (Decision, Map<String, Value>) {
        let weighed = self.weigh(explaining);
        let required = self.required(&weighed);
        let evidence = self.evidence(&weighed, required);
        let decision =
            required.map_or_else(|| self.open(&weighed, explaining), |scope| Decision::Requires(scope.to_owned()));
        (decision, evidence)
    }

    fn weigh(&self, explaining: &BTreeSet<String>) -> Vec<Weighed<'_>> {
        self.tenants.iter().map(|(name, tenant)| Weighed::of(name, tenant, explaining.contains(name))).collect()
    }

    /// The scope that at least one tenant decides and none contradicts.
    fn required<'a>(&self, weighed: &[Weighed<'a>]) -> Option<&'a str> {
        let scope = weighed.iter().find_map(Weighed::decided)?;
        let agrees = |one: &Weighed<'_>| {
            one.decided().is_none_or(|other| other == scope)
                && (one.common.is_none() || one.candidates.contains(&scope) && !one.contradicts)
        };
        (!self.overflow && weighed.iter().all(agrees)).then_some(scope)
    }

    fn open(&self, weighed: &[Weighed<'_>], explaining: &BTreeSet<String>) -> Decision {
        let open = |candidates: &[&str], why, next| Decision::Open { candidates: owned(candidates), why, next };
        if self.overflow {
            return open(&[], "there were more kinds of calls than are kept apart", None);
        }
        let accepted: Vec<&Weighed<'_>> = weighed.iter().filter(|one| one.common.is_some()).collect();
        let Some(first) = accepted.first() else {
            let next = NextCall { with: Vec::new(), without: Vec::new(), decides_if: Vec::new() };
            return open(&[], "the tenant accepted no call whose scopes can be read", Some(next));
        };
        let decided: BTreeSet<&str> = weighed.iter().filter_map(Weighed::decided).collect();
        if decided.len() > 1 {
            return open(&[], "tenants require different scopes", None);
        }
        if accepted.iter().any(|one| one.contradicts) {
            let why = "a token with all scopes of an accepted one was refused for lack of a scope";
            return open(&[], why, None);
        }
        let mut candidates: Vec<&str> = first.candidates.clone();
        candidates.retain(|scope| accepted.iter().all(|one| one.candidates.contains(scope)));
        let common: Vec<&str> = first.common.iter().flatten().copied().collect();
        let next = |with, without| Some(self.next(&accepted, explaining, with, without));
        match candidates[..] {
            [] if common.is_empty() => open(&[], "the accepted tokens have no scope in common", None),
            [] => open(&common, "refused tokens had each of the scopes that all accepted ones have", None),
            [one] => {
                let why = "no call of a token without it was refused for lack of a scope";
                open(&[one], why, next(&[], &[one]))
            }
            [one, ..] => open(&candidates, "all accepted tokens have them", next(&[one], &candidates[1..])),
        }
    }

    /// A further call of this token, and with which outcomes it decides: what it would add to these calls is tried.
    fn next(
        &self,
        accepted: &[&Weighed<'_>],
        explaining: &BTreeSet<String>,
        with: &[&str],
        without: &[&str],
    ) -> NextCall {
        let scopes: Scopes = with.iter().map(|scope| (*scope).to_owned()).collect();
        let decides = |outcome: &&'static str| {
            accepted.iter().any(|one| {
                let mut trial = self.clone();
                let Some(tenant) = trial.tenants.get_mut(one.name) else { return false };
                let Some(seen) = tenant.accepted.values().next().cloned() else { return false };
                if *outcome == "accepted" {
                    tenant.accepted.insert(scopes.clone(), seen);
                } else {
                    let Some(path) = tenant.paths.iter().next().copied() else { return false };
                    let reason = if explaining.contains(one.name) { Reason::Scope } else { Reason::None };
                    tenant.refused.insert(Refusal { scopes: scopes.clone(), path, text: 0, reason }, seen);
                }
                trial.required(&trial.weigh(explaining)).is_some()
            })
        };
        let decides_if = ["accepted", "refused"].into_iter().filter(decides).collect();
        NextCall { with: owned(with), without: owned(without), decides_if }
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
            let deciding = weighed.iter().filter(|one| one.decided() == Some(scope)).take(1);
            let cited: Vec<Value> = deciding.flat_map(|one| one.deciding(scope)).collect();
            evidence.insert("decided-by".to_owned(), cited.into());
        }
        evidence
    }
}

fn owned(scopes: &[&str]) -> Vec<String> {
    scopes.iter().map(|scope| (*scope).to_owned()).collect()
}

/// Counts something; `true` if there is no room for it.
fn count<K: Ord>(counts: &mut BTreeMap<K, Sightings>, key: K, cited: &Cited) -> bool {
    if let Some(seen) = counts.get_mut(&key) {
        seen.again(cited);
    } else if counts.len() < MAX_SETS {
        counts.insert(key, Sightings::new(cited));
    } else {
        return true;
    }
    false
}

/// The same in every process.
fn hash(bytes: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(bytes)
}

/// The calls to one tenant, weighed.
struct Weighed<'a> {
    name: &'a str,
    tenant: &'a Tenant,
    accepted: u64,
    set_aside: u64,
    /// Scopes that every accepted token has; `None` where no call was accepted.
    common: Option<Vec<&'a str>>,
    /// Those of them that no counted refusal had.
    candidates: Vec<&'a str>,
    /// Refusals that count.
    counted: Vec<(&'a Refusal, &'a Sightings)>,
    /// A refusal states that a scope is missing, and its token held all that an accepted one held.
    contradicts: bool,
}

impl<'a> Weighed<'a> {
    fn of(name: &'a str, tenant: &'a Tenant, explains: bool) -> Self {
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
        candidates.retain(|scope| !counted.iter().any(|(refusal, _)| refusal.scopes.contains(*scope)));
        Self {
            name,
            tenant,
            accepted: tenant.accepted.values().map(|seen| seen.count).sum(),
            set_aside: aside.iter().chain(&other).map(|(_, seen)| seen.count).sum(),
            contradicts: aside.iter().any(|(refusal, _)| refusal.reason == Reason::Scope),
            common,
            candidates,
            counted,
        }
    }

    fn decided(&self) -> Option<&'a str> {
        match self.candidates[..] {
            [scope] if !self.counted.is_empty() && !self.contradicts => Some(scope),
            _ => None,
        }
    }

    /// The calls that leave only this scope: accepted ones without each other scope of the first, refused ones with
    /// each other scope that all accepted ones have.
    fn deciding(&self, scope: &str) -> Vec<Value> {
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
            left.retain(|held| *held == scope || !refusal.scopes.contains(*held));
            if index == 0 || left.len() < before {
                cite("refused", seen);
            }
        }
        cited
    }
}

impl Decision {
    /// What is not decided, and the call that would decide it.
    pub(super) fn undecided(&self, method: &str, path: &str) -> Option<Value> {
        let Self::Open { candidates, why, next } = self else { return None };
        let call = next.as_ref().map(|NextCall { with, without, decides_if }| {
            let token = json!({"with": with, "without": without});
            json!({"method": method, "path": path, "token": token, "decides-if": decides_if})
        });
        Some(json!({
            "fact": "required-scope", "candidates": candidates, "because": why, "deciding-call": call
        }))
    }

    /// The same in a sentence.
    pub(super) fn sentence(&self, method: &str, path: &str) -> Option<String> {
        let Self::Open { candidates, why, next } = self else { return None };
        let list = |scopes: &[String]| {
            let mut names: Vec<String> = scopes.iter().take(MAX_NAMES).map(|one| format!("`{one}`")).collect();
            if scopes.len() > MAX_NAMES {
                names.push(format!("{} more", scopes.len() - MAX_NAMES));
            }
            names.join(", ")
        };
        let subject = if candidates.is_empty() { String::new() } else { format!("{}: ", list(candidates)) };
        let undecided = format!("the required scope is undecided: {subject}{why}");
        let Some(NextCall { with, without, decides_if }) = next else {
            return Some(format!("{undecided}; no further call decides it"));
        };
        let token = match (&with[..], &without[..]) {
            ([], []) => "a token whose scopes are known".to_owned(),
            ([], without) => format!("a token without {}", list(without)),
            (with, []) => format!("a token with {} and no other scope", list(with)),
            (with, without) => format!("a token with {} and without {}", list(with), list(without)),
        };
        let decides = match decides_if[..] {
            [] => "next call",
            ["accepted"] => "this call decides it if the tenant accepts it",
            ["refused"] => "this call decides it if the tenant refuses it",
            _ => "this call would decide it",
        };
        Some(format!("{undecided}; {decides}: {method} {path} with {token}"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::exchange::{Body, Headers};

    fn scopes(names: &[&str]) -> Scopes {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn words(text: &str) -> Words {
        let body = Body::whole(text.to_owned());
        Words::of(&Response { status: 403, version: http::Version::HTTP_11, headers: Headers::default(), body })
    }

    /// A call to a tenant's path.
    struct TestCall<'a>(&'a str, &'a str, Call);

    const MISSING: &str = r#"{"message":"Insufficient scope"}"#;
    const FORBIDDEN: &str = r#"{"message":"Forbidden"}"#;

    fn decide(calls: Vec<TestCall<'_>>) -> (Decision, Map<String, Value>) {
        let (mut held, mut explaining) = (Calls::default(), BTreeSet::new());
        for (entry, TestCall(tenant, path, call)) in calls.into_iter().enumerate() {
            if let Call::Refused(_, words) = &call
                && words.mentions_scope()
            {
                explaining.insert(tenant.to_owned());
            }
            held.take(tenant.to_owned(), path, call, &Cited { file: Arc::from("a.har"), entry, at: None });
        }
        held.decide(&explaining)
    }

    fn accepted<'a>(path: &'a str, names: &[&str]) -> TestCall<'a> {
        TestCall("https://a", path, Call::Accepted(scopes(names)))
    }

    fn refused<'a>(path: &'a str, names: &[&str], text: &str) -> TestCall<'a> {
        TestCall("https://a", path, Call::Refused(scopes(names), words(text)))
    }

    fn candidates(decision: &Decision) -> Vec<&str> {
        let Decision::Open { candidates, .. } = decision else { panic!("{decision:?}") };
        candidates.iter().map(String::as_str).collect()
    }

    #[test]
    fn a_scope_is_required_once_an_accepted_and_a_refused_call_leave_no_other() {
        let (decision, evidence) = decide(vec![
            accepted("/x", &["a", "b", "c"]),
            accepted("/x", &["a", "b"]),
            refused("/x", &["b", "d"], MISSING),
        ]);
        assert_eq!(decision, Decision::Requires("a".to_owned()));
        let cited = |entry: usize, outcome: &str| json!({"file": "a.har", "entry": entry, "outcome": outcome});
        // The narrowest accepted token comes first, and says as much as the other.
        assert_eq!(evidence["decided-by"], json!([cited(1, "accepted"), cited(2, "refused")]));
        assert_eq!((&evidence["accepted"], &evidence["refused"]), (&json!(2), &json!(1)));
    }

    #[test]
    fn tokens_that_are_all_alike_decide_nothing_and_the_deciding_call_is_named() {
        let (decision, _) = decide(vec![accepted("/x", &["a", "b"]), accepted("/x", &["a", "b"])]);
        assert_eq!(candidates(&decision), ["a", "b"]);
        assert_eq!(
            decision.sentence("GET", "/x").unwrap(),
            "the required scope is undecided: `a`, `b`: all accepted tokens have them; this call decides it if the \
             tenant refuses it: GET /x with a token with `a` and without `b`"
        );
        let (decision, _) = decide(vec![accepted("/x", &["a"])]);
        assert_eq!(candidates(&decision), ["a"]);
        let (decision, _) = decide(vec![refused("/x", &["a"], MISSING)]);
        assert_eq!(candidates(&decision), [""; 0]);
    }

    /// The outcomes with which the next call decides.
    fn decides_if(decision: &Decision) -> Option<&[&'static str]> {
        let Decision::Open { next, .. } = decision else { panic!("{decision:?}") };
        next.as_ref().map(|next| &next.decides_if[..])
    }

    #[test]
    fn the_next_call_decides_with_the_outcomes_that_it_names_and_with_no_other() {
        let a_or_b = || vec![accepted("/x", &["a", "b"]), refused("/x", &["c"], MISSING)];
        let call = |of: &[&str], is_accepted: bool| {
            if is_accepted { accepted("/x", of) } else { refused("/x", of, MISSING) }
        };
        let requires = |scope: &str| Decision::Requires(scope.to_owned());
        let after = |calls: Vec<TestCall<'static>>, of: &[&str], is_accepted| {
            decide(calls.into_iter().chain([call(of, is_accepted)]).collect()).0
        };
        assert_eq!(decides_if(&decide(a_or_b()).0), Some(&["accepted", "refused"][..]));
        assert_eq!((after(a_or_b(), &["a"], true), after(a_or_b(), &["a"], false)), (requires("a"), requires("b")));
        let three = || vec![accepted("/x", &["a", "b", "c"]), refused("/x", &[], MISSING)];
        assert_eq!(decides_if(&decide(three()).0), Some(&["accepted"][..]));
        assert_eq!(after(three(), &["a"], true), requires("a"));
        assert_eq!(candidates(&after(three(), &["a"], false)), ["b", "c"]);
        let accepted_only = || vec![accepted("/x", &["a", "b"])];
        assert_eq!(decides_if(&decide(accepted_only()).0), Some(&["refused"][..]));
        assert_eq!(after(accepted_only(), &["a"], false), requires("b"));
        assert_eq!(decides_if(&after(accepted_only(), &["a"], true)), Some(&["refused"][..]));
        assert_eq!(decides_if(&decide(vec![accepted("/x", &["a", "b", "c"])]).0), Some(&[][..]));
        assert_eq!(decides_if(&decide(vec![refused("/x", &["b"], MISSING)]).0), Some(&[][..]));
    }

    #[test]
    fn where_calls_contradict_each_other_no_further_call_decides() {
        let any_of_two = vec![accepted("/x", &["a"]), accepted("/x", &["b"]), refused("/x", &["c"], MISSING)];
        let changed = vec![accepted("/x", &["a", "b"]), refused("/x", &["a"], MISSING), refused("/x", &["b"], MISSING)];
        for calls in [any_of_two, changed] {
            let (decision, _) = decide(calls);
            assert_eq!(decides_if(&decision), None);
            assert!(decision.sentence("GET", "/x").unwrap().ends_with("; no further call decides it"));
            assert_eq!(decision.undecided("GET", "/x").unwrap()["deciding-call"], Value::Null);
        }
    }

    #[test]
    fn a_refusal_that_gives_another_reason_decides_nothing() {
        let with = |text: &str| decide(vec![accepted("/x", &["a", "b"]), refused("/x", &["b"], text)]);
        for plain in ["", FORBIDDEN, r#"{"statusCode":403,"error":"Forbidden","message":"Access denied"}"#] {
            assert_eq!(with(plain).0, Decision::Requires("a".to_owned()), "{plain}");
        }
        for other in [
            r#"{"message":"This feature is not enabled for your tenant"}"#,
            r#"{"error":"ip_not_allowed"}"#,
            r#"{"message":"Directory sync is outside the scope of your subscription"}"#,
            "<html><h1>403 Forbidden</h1><hr>nginx</html>",
        ] {
            let (decision, evidence) = with(other);
            assert_eq!((candidates(&decision), &evidence["set-aside"]), (vec!["a", "b"], &json!(1)), "{other}");
        }
        assert!(PLAIN.is_sorted());
    }

    #[test]
    fn a_refusal_of_a_token_that_holds_all_that_an_accepted_one_holds_is_set_aside_and_counted() {
        let calls = || vec![accepted("/x", &["a", "b"]), refused("/y", &["a", "b", "c"], FORBIDDEN)];
        let (decision, evidence) = decide(calls());
        assert_eq!((candidates(&decision), &evidence["set-aside"]), (vec!["a", "b"], &json!(1)));
        // A refusal in the same words, or of the same path, may have that reason, too.
        for other in [refused("/x", &["b"], "forbidden 12"), refused("/y", &["b"], "quite another text")] {
            let (decision, _) = decide(
                calls()
                    .into_iter()
                    .map(|one| if one.1 == "/y" { refused("/y", &["a", "b", "c"], "Forbidden 7") } else { one })
                    .chain([other])
                    .collect(),
            );
            assert_eq!(candidates(&decision), ["a", "b"]);
        }
        // One that says what is missing decides.
        let (decision, _) = decide(calls().into_iter().chain([refused("/z", &["b"], MISSING)]).collect());
        assert_eq!(decision, Decision::Requires("a".to_owned()));
    }

    #[test]
    fn a_tenant_that_enforces_nothing_a_change_half_way_and_two_tenants_teach_no_scope() {
        let (decision, _) = decide(vec![accepted("/x", &["a"]), accepted("/x", &[]), refused("/x", &["b"], MISSING)]);
        assert_eq!(candidates(&decision), [""; 0]);
        let changed = vec![accepted("/x", &["a"]), refused("/x", &["b"], MISSING), refused("/x", &["a"], MISSING)];
        assert_eq!(candidates(&decide(changed).0), [""; 0]);
        let mut two = vec![accepted("/x", &["a", "c"])];
        two.push(TestCall("https://b", "/x", Call::Accepted(scopes(&["b", "c"]))));
        two.push(TestCall("https://b", "/x", Call::Refused(scopes(&["a"]), words(MISSING))));
        assert_eq!(candidates(&decide(two).0), ["c"]);
    }

    #[test]
    fn a_refusal_counts_for_its_challenge_and_without_any_only_where_its_path_was_accepted() {
        let calls = |path, words: Words| {
            let refused = TestCall("https://a", path, Call::Refused(scopes(&["b"]), words));
            decide(vec![accepted("/x", &["a", "b"]), refused]).0
        };
        let mut headers = Headers::default();
        headers.append("www-authenticate".parse().unwrap(), r#"Bearer error="insufficient_scope""#.parse().unwrap());
        let body = Body::whole(FORBIDDEN.to_owned());
        let challenge = Words::of(&Response { status: 403, version: http::Version::HTTP_11, headers, body });
        let requires = Decision::Requires("a".to_owned());
        assert_eq!(calls("/elsewhere", challenge), requires);
        assert_eq!(calls("/x", words(FORBIDDEN)), requires);
        assert_eq!(candidates(&calls("/elsewhere", words(FORBIDDEN))), ["a", "b"]);
    }

    #[test]
    fn beyond_each_bound_of_the_page_the_scope_stays_undecided() {
        let deciding = || vec![accepted("/x", &["a", "b"]), refused("/x", &["b"], MISSING)];
        let texts = |count: usize| (0..count).map(|number| format!("/{number}")).collect::<Vec<_>>();
        let requires = Decision::Requires("a".to_owned());
        let overflow =
            |decision: Decision| matches!(decision, Decision::Open { why, .. } if why.starts_with("there were more"));
        // Every bound less the one of `deciding`, then one more of its kind.
        for (bound, kind) in [(50, "tenants"), (2_000, "sets"), (2_000, "refusals"), (20_000, "paths")] {
            let texts = texts(bound);
            let calls = |count: usize| {
                let one = |text| match kind {
                    "tenants" => TestCall(text, "/x", Call::Accepted(scopes(&["a"]))),
                    "sets" => accepted("/x", &["a", text]),
                    "refusals" => refused(text, &["b"], MISSING),
                    _ => accepted(text, &["a", "b"]),
                };
                let calls = deciding().into_iter().chain(texts[..count].iter().map(|text| one(text.as_str())));
                // What is known already needs no room.
                decide(calls.chain(deciding()).collect()).0
            };
            assert_eq!(calls(bound - 1), requires, "{kind}");
            assert!(overflow(calls(bound)), "{kind}");
        }
    }

    proptest! {
        #[test]
        fn no_decision_contradicts_the_hidden_scope_and_what_the_calls_decide_is_decided(
            hidden in 0_usize..6, explains: bool,
            calls in prop::collection::vec((0_u8..64, 0_usize..3, 0_u8..20), 1..30),
        ) {
            const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
            let (mut told, mut common, mut refusals) = (Vec::new(), None::<u8>, Vec::new());
            for (set, path, disabled) in calls {
                let names: Vec<&str> = (0..6).filter(|bit| set & (1 << bit) != 0).map(|bit| NAMES[bit]).collect();
                let path = ["/1", "/2", "/3"][path];
                if disabled == 0 {
                    // A feature that is off refuses everybody, in its own words.
                    told.push(refused(path, &names, r#"{"message":"Feature disabled"}"#));
                } else if set & (1 << hidden) != 0 {
                    told.push(accepted(path, &names));
                    common = Some(common.unwrap_or(63) & set);
                } else {
                    told.push(refused(path, &names, if explains { MISSING } else { FORBIDDEN }));
                    refusals.push(set);
                }
            }
            let has_disabled = told.iter().any(|TestCall(_, _, call)| {
                matches!(call, Call::Refused(_, said) if said.text == words(r#"{"message":"Feature disabled"}"#).text)
            });
            let decided = common.is_some_and(|common| {
                !refusals.is_empty() && refusals.iter().fold(common, |left, set| left & !set) == 1 << hidden
            });
            // A tenant that refused nothing for lack of a scope has not shown that it explains such refusals.
            let explains = explains && !refusals.is_empty();
            let (decision, _) = decide(told);
            if let Decision::Requires(scope) = &decision {
                // Without words that explain it, a feature that is off for some tokens only looks like a missing scope.
                prop_assert!(scope == NAMES[hidden] || (has_disabled && !explains));
            } else if explains {
                prop_assert!(!decided);
                prop_assert!(decision.undecided("GET", "/x").is_some());
            }
        }
    }
}
