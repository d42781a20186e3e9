//! The tenant written from the document, and the contract written from the document: where both are honest, they agree;
//! what the tenant breaks on purpose, the contract finds, and by that rule only.

use contrail_contract::{CheckOptions, Contract};
use contrail_exchange::finding::{Kind, Rule, Verdict};
use contrail_sandbox::{CHOICES, Choice, Misbehaviour};
use serde_json::json;

use super::{ACTION, CREDENTIAL, EVENT, GROUPS, POLICY, TEMPLATES};
use crate::support::tenant::{Live, Seen, presentation};

fn check(seen: &Seen) -> Verdict {
    Contract::built_in().check(&seen.exchange(), &CheckOptions::default())
}

fn rules(verdict: &Verdict) -> Vec<&'static str> {
    verdict.findings.iter().map(|finding| finding.rule.id()).collect()
}

/// The six operations as a careful client sends them.
fn careful(live: &Live) -> Vec<Seen> {
    let patch = json!({
        "name": "Night shift", "type": "mdl", "dialect": "simplified/1.0", "well_known_trusted_issuers": "aamva",
        "version": 2, "presentation": presentation("portrait", true),
    });
    vec![
        live.call("GET", POLICY, ""),
        live.call("GET", TEMPLATES, ""),
        live.call("GET", &format!("{GROUPS}?take=5"), ""),
        live.call("POST", EVENT, ""),
        live.call("PATCH", CREDENTIAL, &patch.to_string()),
        live.call("POST", ACTION, r#"{"payload": {"order": 7}}"#),
    ]
}

#[test]
fn what_the_honest_tenant_answers_to_a_careful_client_breaks_nothing_and_shows_no_gap() {
    let live = Live::start(&[]);
    let mut all = careful(&live);
    let seed: serde_json::Value = serde_json::from_str(contrail_sandbox::BUILT_IN_SEED).unwrap();
    let ids = |list: &str| -> Vec<String> {
        seed[list].as_array().unwrap().iter().map(|held| held["id"].as_str().unwrap().to_owned()).collect()
    };
    all.extend(ids("rate_limit_policies").iter().map(|id| live.call("GET", &format!("/rate-limit-policies/{id}"), "")));
    for id in ids("connections") {
        let path = format!("/connections/{id}/directory-provisioning/synchronized-groups");
        let mut query = "take=100".to_owned();
        loop {
            let page = live.call("GET", &format!("{path}?{query}"), "");
            let next = page.json()["next"].as_str().map(str::to_owned);
            all.push(page);
            let Some(next) = next else { break };
            let encoded: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
            query = format!("take=100&from={encoded}");
        }
    }
    for id in ids("verifiable_credential_templates") {
        all.push(live.call("PATCH", &format!("/verifiable-credentials/verification/templates/{id}"), "{}"));
    }
    let bearer = format!("Bearer {}", live.token("sandbox-full"));
    let form = [("authorization", bearer.as_str()), ("content-type", "application/x-www-form-urlencoded")];
    all.push(live.send("PATCH", &format!("/api/v2{CREDENTIAL}"), &form, "name=From+a+form&version=3"));
    all.push(live.send("POST", &format!("/api/v2{ACTION}"), &form, "payload=%7B%22a%22%3A1%7D"));
    // One SDK says that there is JSON where there is nothing.
    let idle = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    all.push(live.send("GET", &format!("/api/v2{POLICY}"), &idle, ""));
    all.push(live.send("POST", &format!("/api/v2{EVENT}"), &idle, ""));
    all.push(live.ask_token("sandbox-full"));
    // Each documented error to a request that has nothing wrong with it but what the status says.
    all.push(live.call("GET", "/rate-limit-policies/rlp_Nobody", ""));
    for _ in 0..6 {
        all.push(live.call_as("sandbox-throttled", "GET", POLICY, ""));
    }
    assert_eq!(all.last().unwrap().status, 429);
    all.push(live.call_as("sandbox-local", "GET", POLICY, ""));
    for seen in &all {
        let verdict = check(seen);
        assert_eq!(rules(&verdict), [""; 0], "{} {} {}: {:?}", seen.method, seen.target, seen.status, verdict.findings);
        assert!(verdict.operation.is_some());
    }
}

#[test]
fn what_a_careless_client_gets_is_never_the_tenants_violation() {
    let live = Live::start(&[]);
    let absent = "/connections/con_Nobody/directory-provisioning/synchronized-groups";
    let mut all = Vec::new();
    let operations = [
        ("GET", POLICY, ""),
        ("GET", TEMPLATES, ""),
        ("GET", GROUPS, ""),
        ("POST", EVENT, ""),
        ("PATCH", CREDENTIAL, "{}"),
        ("POST", ACTION, "{}"),
    ];
    for (method, path, body) in operations {
        let target = format!("/api/v2{path}");
        all.push((live.send(method, &target, &[], body), 401));
        all.push((live.send(method, &target, &[("authorization", "Bearer nonsense")], body), 401));
        all.push((live.call_as("sandbox-expired", method, path, body), 401));
        all.push((live.call_as("sandbox-undeclared", method, path, body), if path == EVENT { 202 } else { 200 }));
        all.push((live.call_as("sandbox-local", method, path, body), 401));
    }
    let full = |method, path: &str, body| live.call(method, path, body);
    all.push((live.call_as("sandbox-narrow", "GET", POLICY, ""), 403));
    all.push((full("GET", &format!("/rate-limit-policies/{}", "x".repeat(27)), ""), 404));
    all.push((full("GET", &format!("{GROUPS}?take=101"), ""), 400));
    all.push((full("GET", &format!("{GROUPS}?q=x"), ""), 200));
    all.push((full("GET", absent, ""), 404));
    all.push((full("POST", &EVENT.replace("evt_", "evt__"), ""), 400));
    all.push((full("POST", &EVENT.replace("evt_E", "evt_e"), ""), 404));
    all.push((full("PATCH", CREDENTIAL, r#"{"name": ""}"#), 400));
    all.push((full("PATCH", CREDENTIAL, r#"{"colour": "red"}"#), 200));
    all.push((full("PATCH", CREDENTIAL, "{"), 400));
    all.push((full("PATCH", &CREDENTIAL.replace("vct_D", "vct_d"), "{}"), 404));
    all.push((full("POST", ACTION, r#"{"payload": 1}"#), 400));
    all.push((full("POST", "/actions/actions/act_Nobody/test", "{}"), 404));
    for (seen, status) in &all {
        assert_eq!(seen.status, *status, "{} {}", seen.method, seen.target);
        for finding in check(seen).findings {
            let tenants = Misbehaviour::BREAKABLE.contains(&finding.rule) && finding.rule.kind() == Kind::Violation;
            assert!(!tenants, "{} {} {status}: {finding:?}", seen.method, seen.target);
        }
    }
}

/// Sends what makes a rule show, to a tenant that breaks it.
fn provoke(rule: Rule, live: &Live) -> Vec<Seen> {
    match rule {
        Rule::AuthUnenforced => vec![
            live.send("GET", &format!("/api/v2{POLICY}"), &[], ""),
            live.send("GET", &format!("/api/v2{TEMPLATES}"), &[("authorization", "Bearer nonsense")], ""),
            live.call_as("sandbox-expired", "POST", EVENT, ""),
            live.call_as("sandbox-narrow", "GET", POLICY, ""),
        ],
        _ => careful(live),
    }
}

#[test]
fn every_rule_that_the_tenant_breaks_on_purpose_is_found_by_exactly_that_rule() {
    for rule in Misbehaviour::BREAKABLE {
        let live = Live::start(&[rule.id()]);
        let mut found = 0;
        for seen in provoke(rule, &live) {
            let verdict = check(&seen);
            let mut tenants: Vec<Rule> = verdict
                .findings
                .iter()
                .map(|finding| finding.rule)
                .filter(|found| rule != Rule::AuthUnenforced || Misbehaviour::BREAKABLE.contains(found))
                .collect();
            // A 429 lacks three headers, and each is a finding.
            tenants.dedup();
            assert!(
                tenants.is_empty() || tenants == [rule],
                "{rule}: {} {} {}: {:?}",
                seen.method,
                seen.target,
                seen.status,
                verdict.findings
            );
            found += tenants.len();
        }
        // In how many of the exchanges above the rule can be broken.
        let expected = match rule {
            Rule::ResponseBody
            | Rule::ResponseBodyUndocumented
            | Rule::ResponseContentType
            | Rule::ResponseBodyMalformed
            | Rule::TransportIncomplete => 5,
            Rule::ResponseHeaders | Rule::AuthScopeUndeclared => 6,
            Rule::AuthUnenforced => 4,
            Rule::ExchangeIdentity => 2,
            _ => 1,
        };
        assert_eq!(found, expected, "{rule}");
    }
}

#[test]
fn for_every_aspect_that_the_contract_calls_not_shown_the_sandbox_states_its_choice() {
    let document = include_str!("../../../contracts/tenant-management.yaml");
    let document: serde_json::Value = serde_saphyr::from_str(document).unwrap();
    let mut asked = 0;
    for operation in document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values())
    {
        let Some(id) = operation["operationId"].as_str() else { continue };
        for aspect in operation["x-contrail-not-shown"].as_array().unwrap() {
            let aspect = aspect.as_str().unwrap();
            // A stage is a label; no behaviour follows from it.
            if aspect == "lifecycle-stage" {
                continue;
            }
            let chosen = |choice: &&Choice| {
                (choice.operation == id || (choice.operation == "all" && id != "requestToken"))
                    && choice.aspect == aspect
            };
            assert!(CHOICES.iter().find(chosen).is_some(), "{aspect} of {id}");
            asked += 1;
        }
    }
    assert!(asked > 25, "{asked}");
}

#[test]
fn the_sandbox_takes_nothing_from_the_contracts_code() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/sandbox/src");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            files += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                assert!(!line.contains("contract"), "{}: {line}", path.display());
            }
        }
    }
    assert!(files > 5, "{files}");
}
