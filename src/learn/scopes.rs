//! Required scopes by elimination.
//!
//! An operation is taken to require one scope, as documents state it. That scope is in the token of every accepted call
//! and of no call that was refused for lack of it. What else a 403 may mean decides which refusals count: one of a
//! token that holds all that an accepted token holds has another reason and is set aside. Where the tenant says in a
//! refusal that a scope is missing (RFC 6750, section 3.1, or a body that speaks of scopes), only such refusals count.
//! Where it never does, a refusal counts if its path was accepted for another token and nothing that was set aside has
//! its path or its text.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher},
};

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
    /// It says that a scope is missing.
    explained: bool,
}

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
    explained: bool,
}

impl Words {
    pub(super) fn of(response: &Response) -> Self {
        let challenges = response.headers.get_all("www-authenticate").map(http::HeaderValue::as_bytes);
        let mut text = Vec::new();
        for part in challenges.chain([&*response.body.content]) {
            // Numbers are ids, instants and counters.
            text.extend(part.iter().filter(|byte| !byte.is_ascii_digit()).map(u8::to_ascii_lowercase));
        }
        Self { text: hash(&text), explained: memchr::memmem::find(&text, b"scope").is_some() }
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
        /// The token of the call that would decide.
        with: Vec<String>,
        without: Vec<String>,
    },
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
            Call::Refused(scopes, Words { text, explained }) => {
                let refused = &mut self.tenants.entry(tenant).or_default().refused;
                count(refused, Refusal { scopes, path, text, explained }, cited)
            }
        };
        self.overflow |= full;
    }

    /// The tenants that say in a refusal that a scope is missing.
    pub(super) fn explaining(&self) -> impl Iterator<Item = &str> {
        let explains = |tenant: &Tenant| tenant.refused.keys().any(|refusal| refusal.explained);
        self.tenants.iter().filter(move |(_, tenant)| explains(tenant)).map(|(name, _)| name.as_str())
    }

    /// What all tenants together decide, and the evidence.
    pub(super) fn decide(&self, explaining: &BTreeSet<String>) -> (Decision, Map<String, Value>) {
        let weighed: Vec<Weighed<'_>> =
            self.tenants.iter().map(|(name, tenant)| Weighed::of(tenant, explaining.contains(name))).collect();
        let decided: BTreeSet<&str> = weighed.iter().filter_map(Weighed::decided).collect();
        let first = decided.first().copied();
        let agrees = |one: &Weighed<'_>| match (&one.common, first) {
            (Some(_), Some(scope)) => one.candidates.contains(&scope) && !one.contradicts,
            _ => true,
        };
        let decision = match first {
            Some(scope) if decided.len() == 1 && !self.overflow && weighed.iter().all(agrees) => {
                Decision::Requires(scope.to_owned())
            }
            _ => self.open(&weighed, decided.len()),
        };
        let scope = if let Decision::Requires(scope) = &decision { Some(scope.as_str()) } else { None };
        let evidence = self.evidence(&weighed, scope);
        (decision, evidence)
    }

    fn open(&self, weighed: &[Weighed<'_>], decided: usize) -> Decision {
        let names = |scopes: &[&str]| scopes.iter().map(|scope| (*scope).to_owned()).collect::<Vec<_>>();
        let open = |candidates: &[&str], why, with: &[&str], without: &[&str]| Decision::Open {
            candidates: names(candidates),
            why,
            with: names(with),
            without: names(without),
        };
        if self.overflow {
            return open(&[], "there were more kinds of calls than are kept apart", &[], &[]);
        }
        let accepted: Vec<&Weighed<'_>> = weighed.iter().filter(|one| one.common.is_some()).collect();
        let Some(first) = accepted.first() else {
            return open(&[], "the tenant accepted no call whose scopes can be read", &[], &[]);
        };
        if decided > 1 || accepted.iter().any(|one| one.contradicts) {
            let why = if decided > 1 {
                "tenants require different scopes"
            } else {
                "a token with all scopes of an accepted one was refused for lack of a scope"
            };
            return open(&[], why, &[], &[]);
        }
        let mut candidates: Vec<&str> = first.candidates.clone();
        candidates.retain(|scope| accepted.iter().all(|one| one.candidates.contains(scope)));
        let common: Vec<&str> = first.common.iter().flatten().copied().collect();
        match candidates[..] {
            [] if common.is_empty() => open(&[], "the accepted tokens have no scope in common", &[], &common),
            [] => open(&common, "refused tokens had each of the scopes that all accepted ones have", &common, &[]),
            [one] => open(&[one], "no call of a token without it was refused for lack of a scope", &[], &[one]),
            [one, ..] => open(&candidates, "all accepted tokens have them", &[one], &candidates[1..]),
        }
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
    tenant: &'a Tenant,
    accepted: u64,
    set_aside: u64,
    /// Scopes that every accepted token has; `None` where no call was accepted.
    common: Option<Vec<&'a str>>,
    /// Those of them that no counted refusal had.
    candidates: Vec<&'a str>,
    /// Refusals that count.
    counted: Vec<(&'a Refusal, &'a Sightings)>,
    /// A refusal says that a scope is missing, and its token held all that an accepted one held.
    contradicts: bool,
}

impl<'a> Weighed<'a> {
    fn of(tenant: &'a Tenant, explains: bool) -> Self {
        let mut sets = tenant.accepted.keys();
        let common: Option<Vec<&str>> = sets.next().map(|first| {
            let others = || tenant.accepted.keys().skip(1);
            first.iter().map(String::as_str).filter(|scope| others().all(|set| set.contains(*scope))).collect()
        });
        let is_aside = |refusal: &Refusal| tenant.accepted.keys().any(|set| set.is_subset(&refusal.scopes));
        let (aside, refused): (Vec<_>, Vec<_>) = tenant.refused.iter().partition(|(refusal, _)| is_aside(refusal));
        let counts = |refusal: &Refusal| {
            if explains {
                return refusal.explained;
            }
            let alike = |(other, _): &(&Refusal, &Sightings)| other.path == refusal.path || other.text == refusal.text;
            tenant.paths.contains(&refusal.path) && !aside.iter().any(alike)
        };
        let (counted, other): (Vec<_>, Vec<_>) = refused.into_iter().partition(|(refusal, _)| counts(refusal));
        let mut candidates = common.clone().unwrap_or_default();
        candidates.retain(|scope| !counted.iter().any(|(refusal, _)| refusal.scopes.contains(*scope)));
        Self {
            tenant,
            accepted: tenant.accepted.values().map(|seen| seen.count).sum(),
            set_aside: aside.iter().chain(&other).map(|(_, seen)| seen.count).sum(),
            contradicts: aside.iter().any(|(refusal, _)| refusal.explained),
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
        let Self::Open { candidates, why, with, without } = self else { return None };
        let token = json!({"with": with, "without": without});
        Some(json!({
            "fact": "required-scope", "candidates": candidates, "because": why,
            "deciding-call": {"method": method, "path": path, "token": token}
        }))
    }

    /// The same in a sentence.
    pub(super) fn sentence(&self, method: &str, path: &str) -> Option<String> {
        let Self::Open { candidates, why, with, without } = self else { return None };
        let list = |scopes: &[String]| {
            let mut names: Vec<String> = scopes.iter().take(MAX_NAMES).map(|one| format!("`{one}`")).collect();
            if scopes.len() > MAX_NAMES {
                names.push(format!("{} more", scopes.len() - MAX_NAMES));
            }
            names.join(", ")
        };
        let subject = if candidates.is_empty() { String::new() } else { format!("{}: ", list(candidates)) };
        let token = match (&with[..], &without[..]) {
            ([], []) => "a token whose scopes are known".to_owned(),
            ([], without) => format!("a token without {}", list(without)),
            (with, []) => format!("a token with {} and no other scope", list(with)),
            (with, without) => format!("a token with {} and without {}", list(with), list(without)),
        };
        Some(format!(
            "the required scope is undecided: {subject}{why}; this call would decide it: {method} {path} with {token}"
        ))
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
        let mut held = Calls::default();
        for (entry, TestCall(tenant, path, call)) in calls.into_iter().enumerate() {
            held.take(tenant.to_owned(), path, call, &Cited { file: Arc::from("a.har"), entry, at: None });
        }
        let explaining = held.explaining().map(str::to_owned).collect();
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
            "the required scope is undecided: `a`, `b`: all accepted tokens have them; this call would decide it: GET /x with a \
             token with `a` and without `b`"
        );
        let (decision, _) = decide(vec![accepted("/x", &["a"])]);
        assert_eq!(candidates(&decision), ["a"]);
        let (decision, _) = decide(vec![refused("/x", &["a"], MISSING)]);
        assert_eq!(candidates(&decision), [""; 0]);
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
