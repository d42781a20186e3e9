//! What the demo's client does, and the expected result of each step.
//!
//! Three acts: a careful client before an honest tenant, a careless client before an honest tenant, and a careful
//! client before a tenant that breaks its own documentation.

use contrail_exchange::finding::Rule;
use serde_json::{Value, json};

/// Who a step is sent as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bearer {
    /// With the token that this client of the tenant got in an earlier step.
    Client(&'static str),
    /// With no token at all.
    Nobody,
}

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// What is tried, for people.
    pub(super) what: &'static str,
    pub(super) bearer: Bearer,
    pub(super) method: &'static str,
    /// Raw path and query; `{next}` is the token of the page before.
    pub(super) target: String,
    /// The JSON body, if there is one.
    pub(super) body: Option<Value>,
    /// The client that asks for a token in this step; the body is made for it.
    pub(super) asks_token: Option<&'static str>,
    /// The rule that the tenant breaks on purpose.
    pub(super) tenant_breaks: Option<Rule>,
    /// The expected status.
    pub(super) status: u16,
    /// The expected rules.
    pub(super) rules: Vec<Rule>,
    /// Whether the replay has an answer to it. A cut one is never served as if it were whole.
    pub(super) replayable: bool,
}

/// A part of the demo.
#[derive(Debug)]
pub(super) struct Act {
    pub(super) title: &'static str,
    pub(super) steps: Vec<Step>,
}

const FULL: Bearer = Bearer::Client("sandbox-full");
const POLICIES: &str = "/api/v2/rate-limit-policies";
const TEMPLATES: &str = "/api/v2/connection-profiles/templates";
const GROUPS: &str = "/api/v2/connections/con_Directory/directory-provisioning/synchronized-groups";
const SMALL_TEAM: &str = "/api/v2/connections/con_SmallTeam/directory-provisioning/synchronized-groups";
const EVENTS: &str = "/api/v2/event-streams/est_Orders0000000000000000/redeliver";
const CREDENTIALS: &str = "/api/v2/verifiable-credentials/verification/templates";
const ACTION: &str = "/api/v2/actions/actions/act_Enrich/test";

impl Step {
    fn new(what: &'static str, method: &'static str, target: impl Into<String>, status: u16) -> Self {
        Self {
            what,
            bearer: FULL,
            method,
            target: target.into(),
            body: None,
            asks_token: None,
            tenant_breaks: None,
            status,
            rules: Vec::new(),
            replayable: true,
        }
    }

    fn token(what: &'static str, client: &'static str) -> Self {
        let mut step = Self::new(what, "POST", "/oauth/token/", 200);
        step.bearer = Bearer::Nobody;
        step.asks_token = Some(client);
        step
    }

    fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    fn by(mut self, bearer: Bearer) -> Self {
        self.bearer = bearer;
        self
    }

    fn finds(mut self, rules: &[Rule]) -> Self {
        self.rules = rules.to_vec();
        self
    }

    /// The ids of the expected rules, sorted.
    pub(super) fn expected_rules(&self) -> Vec<String> {
        let mut rules: Vec<String> = self.rules.iter().map(|rule| rule.id().to_owned()).collect();
        rules.sort_unstable();
        rules
    }

    /// The tenant breaks this rule, and it is found beside what is expected of the request.
    fn breaks(mut self, rule: Rule) -> Self {
        self.tenant_breaks = Some(rule);
        self.replayable = rule != Rule::TransportIncomplete;
        self.rules.push(rule);
        self
    }
}

/// All of it.
pub(super) fn acts() -> Vec<Act> {
    vec![careful(), careless(), misbehaving()]
}

/// A request that was not recorded, for the end of the replay.
pub(super) fn never_recorded() -> Step {
    Step::new("asks for what was never recorded", "GET", format!("{GROUPS}?take=7"), 421)
}

fn careful() -> Act {
    let patch = json!({"name": "Night shift", "dialect": "simplified/1.0", "version": 2});
    Act {
        title: "A careful client and an honest tenant: the six operations",
        steps: vec![
            Step::token("asks for a token", "sandbox-full"),
            Step::new("reads a rate limit policy", "GET", format!("{POLICIES}/rlp_BlockOneClient00000000"), 200),
            Step::new("lists connection profile templates", "GET", TEMPLATES, 200),
            Step::new("lists the first 100 groups", "GET", format!("{GROUPS}?take=100"), 200),
            Step::new("lists the next 100", "GET", format!("{GROUPS}?take=100&from={{next}}"), 200),
            Step::new("has an event delivered again", "POST", format!("{EVENTS}/evt_EndpointIsBack00000000"), 202),
            Step::new(
                "renames a credential template",
                "PATCH",
                format!("{CREDENTIALS}/vct_DrivingLicence00000000"),
                200,
            )
            .body(patch),
            Step::new("tests an action", "POST", ACTION, 200).body(json!({"payload": {"order": 7}})),
        ],
    }
}

fn careless() -> Act {
    let policy = format!("{POLICIES}/rlp_BlockOneClient00000000");
    Act {
        title: "A careless client: what it does wrong is found, and the tenant refuses",
        steps: vec![
            Step::token("asks for a token that lacks a scope", "sandbox-narrow"),
            Step::new("reads a policy without the scope", "GET", policy.clone(), 403)
                .by(Bearer::Client("sandbox-narrow"))
                .finds(&[Rule::AuthScope]),
            Step::new("reads a policy without a token", "GET", policy, 401)
                .by(Bearer::Nobody)
                .finds(&[Rule::AuthMissing]),
            Step::token("asks for a token that has expired", "sandbox-expired"),
            Step::new("sends an expired token", "GET", TEMPLATES, 401)
                .by(Bearer::Client("sandbox-expired"))
                .finds(&[Rule::AuthExpired]),
            Step::new("takes 101 groups", "GET", format!("{GROUPS}?take=101"), 400).finds(&[Rule::QueryParameter]),
            Step::new("names an event by 27 characters", "POST", format!("{EVENTS}/evt_EndpointIsBack000000000"), 400)
                .finds(&[Rule::PathParameter]),
            Step::new("sends an empty name", "PATCH", format!("{CREDENTIALS}/vct_DrivingLicence00000000"), 400)
                .body(json!({"name": ""}))
                .finds(&[Rule::RequestBody]),
            Step::new("uses an undocumented parameter", "GET", format!("{GROUPS}?take=5&q=sales"), 200)
                .finds(&[Rule::QueryUndocumented]),
            Step::new("calls an undocumented operation", "GET", "/api/v2/users", 404)
                .finds(&[Rule::OperationUndocumented]),
        ],
    }
}

fn misbehaving() -> Act {
    Act {
        title: "A tenant that breaks its own documentation",
        steps: vec![
            Step::new("an invalid date", "GET", format!("{POLICIES}/rlp_Default000000000000000"), 200)
                .breaks(Rule::ResponseBody),
            Step::new("somebody else's policy", "GET", format!("{POLICIES}/rlp_LogCimdClients00000000"), 200)
                .breaks(Rule::ExchangeIdentity),
            Step::new("201 instead of 200", "GET", format!("{POLICIES}/rlp_WithoutDates0000000000"), 201)
                .breaks(Rule::StatusSuccess),
            Step::new("an answer without a token", "GET", format!("{POLICIES}/rlp_RedirectThirdParties00"), 200)
                .by(Bearer::Nobody)
                .finds(&[Rule::AuthMissing])
                .breaks(Rule::AuthUnenforced),
            Step::new("403 in spite of the scope", "GET", format!("{POLICIES}/rlp_BlockOneCimdClient0000"), 403)
                .breaks(Rule::AuthRefused),
            Step::new("four groups where three were asked for", "GET", format!("{GROUPS}?take=3"), 200)
                .breaks(Rule::ExchangePageSize),
            Step::new("another name than was sent", "PATCH", format!("{CREDENTIALS}/vct_OwnAuthority0000000000"), 200)
                .body(json!({"name": "Day shift"}))
                .breaks(Rule::ExchangeEcho),
            Step::new("JSON that says it is HTML", "POST", ACTION, 200)
                .body(json!({"payload": {"order": 8}}))
                .breaks(Rule::ResponseContentType),
            Step::new("an answer that breaks off", "GET", SMALL_TEAM, 200).breaks(Rule::TransportIncomplete),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_careful_act_has_every_operation_and_expects_no_finding() {
        let act = careful();
        assert!(act.steps.iter().all(|step| step.rules.is_empty() && step.tenant_breaks.is_none()));
        for part in [POLICIES, TEMPLATES, GROUPS, EVENTS, CREDENTIALS, ACTION, "/oauth/token/"] {
            assert!(act.steps.iter().any(|step| step.target.starts_with(part)), "{part}");
        }
    }

    #[test]
    fn a_client_requests_its_token_before_it_uses_it() {
        let mut known = Vec::new();
        for step in acts().into_iter().flat_map(|act| act.steps) {
            known.extend(step.asks_token);
            if let Bearer::Client(client) = step.bearer {
                assert!(known.contains(&client), "{}", step.what);
            }
        }
    }
}
