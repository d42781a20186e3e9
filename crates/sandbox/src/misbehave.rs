//! Breaking the document on purpose: each rule that a tenant can break, at a rate.
//!
//! The honest answer comes first and is then broken, so every breach differs from an honest answer in that one thing.
//! At most one rule is broken per exchange; where several are due, the one that has waited longest goes first.

use std::{
    fmt,
    str::FromStr,
    sync::{Mutex, PoisonError},
};

use contrail_exchange::finding::{Rule, UnknownRule};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use super::{
    call::Call,
    fields,
    input::{Paging, template_changes},
    message::{Answer, Ask},
};

/// A scope that section 5 of the document does not declare.
pub(super) const UNDECLARED_SCOPE: &str = "read:sandbox_secrets";

/// A whole: rates count in millionths, so that no rounding adds up.
const WHOLE: u64 = 1_000_000;

/// A rule to break, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misbehaviour {
    rule: Rule,
    /// Millionths of the exchanges in which the rule can be broken.
    rate: u64,
}

impl Misbehaviour {
    /// Breaks a rule wherever it can be broken.
    ///
    /// # Errors
    ///
    /// [`MisbehaviourError::NotTheTenants`].
    pub fn always(rule: Rule) -> Result<Self, MisbehaviourError> {
        if Self::BREAKABLE.contains(&rule) {
            Ok(Self { rule, rate: WHOLE })
        } else {
            Err(MisbehaviourError::NotTheTenants(rule))
        }
    }

    /// The rules that a tenant can break.
    pub const BREAKABLE: [Rule; 14] = [
        Rule::ResponseContentType,
        Rule::ResponseBody,
        Rule::ResponseBodyMalformed,
        Rule::ResponseBodyUndocumented,
        Rule::AuthScopeUndeclared,
        Rule::AuthUnenforced,
        Rule::AuthRefused,
        Rule::StatusSuccess,
        Rule::StatusUndocumented,
        Rule::ResponseHeaders,
        Rule::ExchangeIdentity,
        Rule::ExchangePageSize,
        Rule::ExchangeEcho,
        Rule::TransportIncomplete,
    ];
}

/// Why a word asks for no misbehaviour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MisbehaviourError {
    /// It names no rule.
    Unknown(UnknownRule),
    /// Only a client can break it.
    NotTheTenants(Rule),
    /// The part after `=` is no number from 0 to 1.
    Rate(String),
}

impl fmt::Display for MisbehaviourError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(unknown) => write!(f, "{unknown}"),
            Self::NotTheTenants(rule) => {
                write!(f, "a tenant cannot break `{rule}`, which is about what clients send; it can break: ")?;
                for (place, rule) in Misbehaviour::BREAKABLE.iter().enumerate() {
                    write!(f, "{}{rule}", if place == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Self::Rate(rate) => write!(f, "`{rate}` is not a rate: write a number from 0 to 1, for example 0.25"),
        }
    }
}

impl std::error::Error for MisbehaviourError {}

impl FromStr for Misbehaviour {
    type Err = MisbehaviourError;

    fn from_str(text: &str) -> Result<Self, MisbehaviourError> {
        let (rule, rate) = text.split_once('=').map_or((text, None), |(rule, rate)| (rule, Some(rate)));
        let mut misbehaviour = Self::always(rule.parse().map_err(MisbehaviourError::Unknown)?)?;
        if let Some(text) = rate {
            misbehaviour.rate = millionths(text).ok_or_else(|| MisbehaviourError::Rate(text.to_owned()))?;
        }
        Ok(misbehaviour)
    }
}

/// `0.25` as 250000.
fn millionths(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 6 || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction: u64 = format!("{fraction:0<6}").parse().ok()?;
    let rate = whole.checked_mul(WHOLE)?.checked_add(fraction)?;
    (rate <= WHOLE).then_some(rate)
}

/// What is broken on purpose, and what is due.
#[derive(Debug, Default)]
pub(super) struct Misbehaviours(Mutex<Vec<Due>>);

#[derive(Debug)]
struct Due {
    misbehaviour: Misbehaviour,
    /// Millionths of a breach that have come together.
    due: u64,
}

impl Misbehaviours {
    pub(super) fn new(misbehaviours: &[Misbehaviour]) -> Self {
        let due = |misbehaviour: &Misbehaviour| Due { misbehaviour: *misbehaviour, due: 0 };
        Self(Mutex::new(misbehaviours.iter().map(due).collect()))
    }

    /// Breaks these rules from now on, and no others.
    pub(super) fn replace(&self, misbehaviours: &[Misbehaviour]) {
        let fresh = Self::new(misbehaviours).0.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
    }

    /// Counts this exchange for every rule that `breach` can break in it, and gives the breach that is due, if one is.
    fn choose<T>(&self, mut breach: impl FnMut(Rule) -> Option<T>) -> Option<T> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut chosen: Option<(usize, T)> = None;
        for place in 0..all.len() {
            let Some(broken) = breach(all[place].misbehaviour.rule) else { continue };
            all[place].due += all[place].misbehaviour.rate;
            let waited = all[place].due;
            if waited >= WHOLE && chosen.as_ref().is_none_or(|(first, _)| all[*first].due < waited) {
                chosen = Some((place, broken));
            }
        }
        let (place, broken) = chosen?;
        all[place].due -= WHOLE;
        Some(broken)
    }

    /// Whether a request that has to be refused is to be let in.
    pub(super) fn lets_in(&self) -> bool {
        self.choose(|rule| (rule == Rule::AuthUnenforced).then_some(())).is_some()
    }

    /// Whether a token is to carry a scope that is not declared.
    pub(super) fn mints_an_undeclared_scope(&self) -> bool {
        self.choose(|rule| (rule == Rule::AuthScopeUndeclared).then_some(())).is_some()
    }

    /// The answer, broken if a breach is due.
    pub(super) fn spoil(&self, call: &Call, ask: &Ask<'_>, honest: Answer) -> Answer {
        self.choose(|rule| broken(rule, call, ask, &honest)).unwrap_or(honest)
    }
}

/// The honest answer with one rule broken; `None` where that rule cannot be broken here.
fn broken(rule: Rule, call: &Call, ask: &Ask<'_>, honest: &Answer) -> Option<Answer> {
    let mut answer = honest.clone();
    let has_body = !honest.body.is_empty();
    let policy = matches!(call, Call::GetPolicy { .. });
    match rule {
        Rule::ResponseContentType if has_body => {
            answer.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        }
        Rule::ResponseBodyMalformed if has_body => answer.body = honest.body.slice(..honest.body.len() - 1),
        Rule::TransportIncomplete if has_body => answer.cut_at = Some(honest.body.len() / 2),
        Rule::StatusSuccess if policy && honest.status == StatusCode::OK => answer.status = StatusCode::CREATED,
        Rule::StatusUndocumented if policy => return Some(Answer::refusal(StatusCode::GONE, "Gone, for no reason")),
        Rule::ResponseHeaders => {
            return Some(Answer::refusal(
                StatusCode::TOO_MANY_REQUESTS,
                "Too many requests, and no header says how many",
            ));
        }
        Rule::AuthRefused if policy && matches!(honest.status, StatusCode::OK | StatusCode::NOT_FOUND) => {
            return Some(Answer::refusal(StatusCode::FORBIDDEN, "Insufficient scope"));
        }
        Rule::ResponseBody
        | Rule::ResponseBodyUndocumented
        | Rule::ExchangeIdentity
        | Rule::ExchangePageSize
        | Rule::ExchangeEcho
            if has_body && honest.status.is_success() =>
        {
            let Ok(Value::Object(mut body)) = serde_json::from_slice(&honest.body) else { return None };
            break_body(rule, call, ask, &mut body)?;
            answer.body = Value::Object(body).to_string().into();
        }
        _ => return None,
    }
    Some(answer)
}

fn break_body(rule: Rule, call: &Call, ask: &Ask<'_>, body: &mut Map<String, Value>) -> Option<()> {
    let (name, value) = match (rule, call) {
        (Rule::ResponseBody, Call::GetPolicy { .. } | Call::UpdateCredentialTemplate { .. }) => {
            ("created_at", json!("the day before yesterday"))
        }
        (Rule::ResponseBody, Call::ListProfileTemplates) => ("connection_profile_templates", json!({})),
        (Rule::ResponseBody, Call::ListGroups { .. }) => ("next", json!(17)),
        (Rule::ResponseBody, Call::TestAction { .. }) => ("payload", json!([])),
        // 2.1 is closed, but the forms of a selector are not.
        (Rule::ResponseBodyUndocumented, Call::GetPolicy { .. }) => ("consumer_selector", json!("everybody_else")),
        (Rule::ResponseBodyUndocumented, _) => ("sandbox_extra", json!(true)),
        (Rule::ExchangeIdentity, Call::GetPolicy { .. } | Call::UpdateCredentialTemplate { .. }) => {
            let id = body.get("id").and_then(Value::as_str)?;
            let mut other: String = id.chars().take(id.chars().count().saturating_sub(1)).collect();
            other.push(if id.ends_with('X') { 'Y' } else { 'X' });
            ("id", Value::String(other))
        }
        (Rule::ExchangePageSize, Call::ListGroups { .. }) => {
            let take = Paging::read(ask.query()).ok()?.take;
            let groups = body.get("groups").and_then(Value::as_array)?;
            let surplus = (groups.len()..=take).map(|n| json!({"id": format!("grp_surplus_{n}")}));
            ("groups", groups.iter().cloned().chain(surplus).collect())
        }
        (Rule::ExchangeEcho, Call::UpdateCredentialTemplate { .. }) => {
            let sent = template_changes(&fields::read(ask).ok()?).ok()?;
            let name = sent.keys().next()?.clone();
            let other = changed_leaf(sent.get(&name)?)?;
            body.insert(name, other);
            return Some(());
        }
        _ => return None,
    };
    body.insert(name.to_owned(), value);
    Some(())
}

/// The same value with one leaf changed; `None` if it has none.
fn changed_leaf(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(flag) => Some(Value::Bool(!flag)),
        Value::String(text) => Some(Value::String(if text == "else" { "other".into() } else { "else".into() })),
        Value::Object(members) => {
            let mut members = members.clone();
            let (name, other) = members.iter().find_map(|(name, held)| Some((name.clone(), changed_leaf(held)?)))?;
            members.insert(name, other);
            Some(Value::Object(members))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_about_what_clients_send_is_refused_with_the_list_of_the_others() {
        let client_side = Rule::ALL.iter().filter(|rule| !Misbehaviour::BREAKABLE.contains(rule));
        for rule in client_side {
            let message = rule.id().parse::<Misbehaviour>().unwrap_err().to_string();
            let breakable = Misbehaviour::BREAKABLE.map(Rule::id).join(", ");
            let rule = rule.id();
            let expected =
                format!("a tenant cannot break `{rule}`, which is about what clients send; it can break: {breakable}");
            assert_eq!(message, expected);
        }
        let message = "response.bodies".parse::<Misbehaviour>().unwrap_err().to_string();
        assert_eq!(
            message,
            "`response.bodies` is not a rule; did you mean `response.body`? `contrail explain` lists them all"
        );
    }

    #[test]
    fn a_rate_is_a_number_from_0_to_1() {
        let rate = |text: &str| format!("exchange.echo={text}").parse::<Misbehaviour>().map(|parsed| parsed.rate);
        assert_eq!(rate("0"), Ok(0));
        assert_eq!(rate("0.25"), Ok(250_000));
        assert_eq!(rate(".000001"), Ok(1));
        assert_eq!(rate("1.0"), Ok(WHOLE));
        for bad in ["", ".", "1.1", "2", "-1", "1e-1", "0.0000001", "half", "18446744073709551616"] {
            assert_eq!(rate(bad), Err(MisbehaviourError::Rate(bad.into())));
        }
    }

    #[test]
    fn a_rate_of_a_tenth_breaks_every_tenth_time() {
        let all = Misbehaviours::new(&["auth.unenforced=0.1".parse().unwrap()]);
        let breaches: Vec<usize> = (1..=40).filter(|_| all.lets_in()).collect();
        assert_eq!(breaches, [10, 20, 30, 40]);
    }

    #[test]
    fn two_rules_at_full_rate_take_turns() {
        let all = Misbehaviours::new(&["exchange.echo".parse().unwrap(), "response.body".parse().unwrap()]);
        let broken: Vec<&str> = (0..4).filter_map(|_| all.choose(Some).map(Rule::id)).collect();
        assert_eq!(broken, ["exchange.echo", "response.body", "exchange.echo", "response.body"]);
    }

    #[test]
    fn a_rule_that_cannot_be_broken_here_is_not_counted() {
        let all = Misbehaviours::new(&["response.body=0.5".parse().unwrap()]);
        assert_eq!(all.choose(|_| None::<()>), None);
        assert_eq!(all.choose(|_| Some(())), None);
        assert_eq!(all.choose(|_| Some(())), Some(()));
    }
}
