//! What `docs/sandbox.md` promises beyond its client table.

use contrail_exchange::finding::Rule;
use contrail_sandbox::{Misbehaviour, Seed};
use serde_json::json;

use super::*;
use crate::support::tenant::{Live, Seen};

#[test]
fn the_sandbox_page_names_every_client_and_every_rule_that_a_tenant_can_break() {
    let page = page("sandbox.md");
    let clients = Seed::built_in().unwrap().clients.into_iter().map(|client| client.id);
    assert_eq!(clients.collect::<BTreeSet<_>>(), first_column(&page, "| client | scopes |"));
    let breakable = Rule::ALL.iter().map(|rule| rule.id().to_owned());
    let breakable = breakable.filter(|rule| rule.parse::<Misbehaviour>().is_ok());
    assert_eq!(breakable.collect::<BTreeSet<_>>(), first_column(&page, "| rule | where |"));
}

#[test]
fn the_members_of_the_sandboxs_data_are_those_of_its_page_with_their_defaults() {
    let printed = run_in(Path::new("."), ["sandbox", "--print-seed"]);
    let seed: Value = serde_json::from_str(&printed.stdout).unwrap();
    let members: BTreeSet<String> = seed.as_object().unwrap().keys().cloned().collect();
    assert_eq!(members, first_column(&page("sandbox.md"), "| member | is |"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seed.json");
    let least = json!({"tenant": "t.example", "clock": "2026-01-15T09:30:00Z", "clients": [{"id": "c", "scopes": []}]});
    fs::write(&file, least.to_string()).unwrap();
    let seed = Seed::load(&file).unwrap();
    assert_eq!(format!("{:?}", seed.rate_limit_reset), "Wall");
    let client = &seed.clients[0];
    assert_eq!((client.global, client.token_lifetime, client.rate_limit.is_none()), (true, 86_400, true));
}

#[test]
fn each_rule_is_broken_as_the_page_states_and_the_rest_of_the_answer_stays() {
    let path = |seed: &Value, list: &str, before: &str, after: &str| {
        format!("{before}{}{after}", seed[list][0]["id"].as_str().unwrap())
    };
    let seed: Value = serde_json::from_str(contrail_sandbox::BUILT_IN_SEED).unwrap();
    let groups = path(&seed, "connections", "/connections/", "/directory-provisioning/synchronized-groups?take=3");
    let policy = path(&seed, "rate_limit_policies", "/rate-limit-policies/", "");
    let get = |rules: &[&str], path: &str| Live::start(rules).call("GET", path, "");
    let honest = get(&[], &policy);
    let differs = |seen: &Seen, status: u16, whole: bool, body: &[u8]| {
        assert_eq!((seen.status, seen.whole, &*seen.body), (status, whole, body));
    };
    differs(&get(&["status.success"], &policy), 201, true, &honest.body);
    let html = get(&["response.content-type"], &policy);
    differs(&html, 200, true, &honest.body);
    assert_eq!(html.headers.get_str("content-type"), Some("text/html; charset=utf-8"));
    let end = honest.body.len();
    differs(&get(&["response.body.malformed"], &policy), 200, true, &honest.body[..end - 1]);
    differs(&get(&["transport.incomplete"], &policy), 200, false, &honest.body[..end / 2]);
    for (rule, status) in [("status.undocumented", 410), ("auth.refused", 403), ("response.headers", 429)] {
        let seen = get(&[rule], &policy);
        assert_eq!(seen.status, status, "{rule}");
        assert_eq!(seen.headers.get_str("x-ratelimit-limit"), None, "{rule}");
    }
    // The names of the members that differ, of a documented field or of a new one.
    let honest = honest.json();
    for (rule, member) in [
        ("response.body", "created_at"),
        ("response.body.undocumented", "consumer_selector"),
        ("exchange.identity", "id"),
    ] {
        let broken = get(&[rule], &policy).json();
        let names = broken.as_object().unwrap().iter().filter(|(name, value)| honest[*name] != **value);
        assert_eq!(names.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [member], "{rule}");
    }
    assert_eq!(get(&["exchange.page-size"], &groups).json()["groups"].as_array().unwrap().len(), 4);
    assert_eq!(Live::start(&["auth.unenforced"]).send("GET", &format!("/api/v2{policy}"), &[], "").status, 200);
    let scopes = |rules: &[&str]| {
        let token = Live::start(rules).ask_token("sandbox-full").json();
        token["scope"].as_str().unwrap().split(' ').count()
    };
    assert_eq!(scopes(&["auth.scope.undeclared"]), scopes(&[]) + 1);
    let template =
        path(&seed, "verifiable_credential_templates", "/verifiable-credentials/verification/templates/", "");
    let echoed = Live::start(&["exchange.echo"]).call("PATCH", &template, r#"{"name": "A"}"#);
    assert!(echoed.status == 200 && echoed.json()["name"] != "A", "{echoed:?}");
}

#[test]
fn beside_another_document_the_built_in_contract_brings_the_sandbox_tenant() {
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/contracts/shop.yaml");
    let answers = |contracts: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let options = contracts.iter().flat_map(|contract| ["--contract", contract]);
        let sandbox = ["sandbox", "--listen", "127.0.0.1:0"].into_iter().chain(options);
        let running = Running::start(folder.path(), sandbox);
        ["/.well-known/jwks.json", "/api/v2/connection-profiles/templates", "/v1/status"]
            .map(|path| call(running.address, "GET", path, &[], b"").status())
    };
    assert_eq!(answers(&["built-in", shop]), [200, 401, 200]);
    assert_eq!(answers(&[shop]), [404, 404, 200]);
}
