//! `contrail learn`: what recordings show of what the contract does not.

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use crate::support::{
    command::{Ran, run_in},
    golden::assert_output,
    har,
};

const TEMPLATES: &str = "/api/v2/connection-profiles/templates";
const MISSING: &str = r#"{"statusCode":403,"error":"Forbidden","message":"Insufficient scope"}"#;

fn call(scopes: &str, status: u16, body: &str) -> Value {
    let bearer = format!("Bearer {}", har::token(scopes, har::NOON + 3600));
    har::get(TEMPLATES, Some(&bearer), status, body)
}

fn list(strategy: &str) -> String {
    json!({"connection_profile_templates": [{"name": "one", "display_name": strategy}]}).to_string()
}

/// A tenant that requires `read:connection_profiles` and answers 200 and 403.
fn deciding() -> Vec<Value> {
    let mut calls: Vec<Value> = (0..20).map(|_| call("read:connection_profiles read:logs", 200, &list("x"))).collect();
    calls.push(call("read:connection_profiles read:users", 200, &list("y")));
    calls.push(call("read:logs read:users", 403, MISSING));
    calls
}

/// What a report lists as unchecked, and the rules of its findings.
fn unchecked_and_rules(ran: &Ran) -> (BTreeSet<String>, BTreeSet<String>) {
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let (mut unchecked, mut rules) = (BTreeSet::new(), BTreeSet::new());
    for exchange in report["exchanges"].as_array().unwrap() {
        unchecked
            .extend(exchange["unchecked"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()));
        let findings = exchange["findings"].as_array().unwrap();
        rules.extend(findings.iter().map(|finding| finding["rule"].as_str().unwrap().to_owned()));
    }
    (unchecked, rules)
}

fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

#[test]
fn what_the_calls_decide_is_an_overlay_and_the_rest_is_listed_with_the_call_that_would_decide() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("traffic.har"), har::har(&deciding())).unwrap();
    let ran = run_in(folder.path(), ["learn", "traffic.har"]);
    assert_output("learn/what_the_calls_decide_is_an_overlay", &ran);
    let named = run_in(folder.path(), ["learn", "traffic.har", "--out", "-"]);
    assert!(named.stdout == ran.stdout && !folder.path().join("-").exists());
}

#[test]
fn the_overlay_makes_what_it_states_checked_and_learning_again_adds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("traffic.har"), har::har(&deciding())).unwrap();
    let before = run_in(folder.path(), ["verify", "--format", "json", "traffic.har"]);
    let silent =
        set(["required-scope", "success-status", "error-status", "error-body", "response-required", "signature"]);
    assert_eq!(unchecked_and_rules(&before), (silent, set(["response.body.undocumented"])));
    let learned = run_in(folder.path(), ["learn", "traffic.har", "--out", "learned.yaml"]);
    assert_eq!(learned.status, 0, "{}", learned.stderr);
    let with = ["--overlay", "learned.yaml", "traffic.har"];
    let after = run_in(folder.path(), ["verify", "--format", "json"].iter().chain(&with));
    // The refused call is one without the scope, and now that is known.
    assert_eq!((after.status, &*after.stderr), (1, ""));
    assert_eq!(unchecked_and_rules(&after), (set(["signature"]), set(["auth.scope"])));
    let again = run_in(folder.path(), ["learn", "--format", "json"].iter().chain(&with));
    let overlay: Value = serde_json::from_str(&again.stdout).unwrap();
    let changes = overlay["actions"].as_array().unwrap().iter().filter(|action| action["update"] != json!({}));
    assert_eq!(changes.count(), 0, "{}", again.stdout);
    // What contradicts it is found.
    let other = [call("read:logs", 200, &list("x")), call("read:connection_profiles", 200, "{}")];
    fs::write(folder.path().join("other.har"), har::har(&other)).unwrap();
    let ran = run_in(folder.path(), ["verify", "--format", "json", "--overlay", "learned.yaml", "other.har"]);
    assert_eq!(
        unchecked_and_rules(&ran),
        (set(["signature"]), set(["auth.scope", "auth.unenforced", "response.body"]))
    );
    // Another status stays what it was: not shown.
    fs::write(folder.path().join("third.har"), har::har(&[call("read:connection_profiles", 206, &list("x"))])).unwrap();
    let ran = run_in(folder.path(), ["verify", "--format", "json", "--overlay", "learned.yaml", "third.har"]);
    assert!(unchecked_and_rules(&ran).0.contains("success-status"), "{}", ran.stdout);
}

#[test]
fn an_existing_file_is_kept_and_recordings_without_an_exchange_are_status_2() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("traffic.har"), har::har(&deciding())).unwrap();
    fs::write(folder.path().join("learned.yaml"), "reviewed").unwrap();
    let ran = run_in(folder.path(), ["learn", "traffic.har", "--out", "learned.yaml"]);
    let expected = "contrail: `learned.yaml` exists already; add --overwrite to replace it\n";
    assert_eq!((ran.status, &*ran.stderr), (2, expected));
    assert_eq!(fs::read_to_string(folder.path().join("learned.yaml")).unwrap(), "reviewed");
    fs::write(folder.path().join("none.har"), har::har(&[])).unwrap();
    let ran = run_in(folder.path(), ["learn", "none.har", "--out", "learned.yaml", "--overwrite"]);
    let said = "contrail: nothing is learned from recordings without an exchange, so no overlay is written\n";
    assert!(ran.status == 2 && ran.stdout.is_empty() && ran.stderr.ends_with(said), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(fs::read_to_string(folder.path().join("learned.yaml")).unwrap(), "reviewed");
}

#[test]
fn an_overlay_replaces_no_file_that_it_was_learned_from() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = har::har(&deciding());
    fs::write(folder.join("traffic.har"), &text).unwrap();
    let empty = "overlay: 1.0.0\ninfo: {title: x, version: '1'}\nactions: []\n";
    fs::write(folder.join("ours.yaml"), empty).unwrap();
    for (out, what) in [("traffic.har", "recording"), ("./ours.yaml", "contract")] {
        let ran = run_in(folder, ["learn", "traffic.har", "--overlay", "ours.yaml", "--out", out, "--overwrite"]);
        let name = out.trim_start_matches("./");
        let said = format!("--out: {out} belongs to the {what} `{name}`, and would be replaced; name another file");
        assert_eq!((ran.status, ran.stderr), (2, format!("contrail: {said}\n")));
    }
    let ran = run_in(folder, ["contract", "--overlay", "ours.yaml", "--export", "ours.yaml"]);
    let said = "--export: ours.yaml belongs to the contract `ours.yaml`, and would be replaced; name another file";
    assert_eq!((ran.status, ran.stderr), (2, format!("contrail: {said}\n")));
    assert_eq!(fs::read_to_string(folder.join("traffic.har")).unwrap(), text);
    assert_eq!(fs::read_to_string(folder.join("ours.yaml")).unwrap(), empty);
}

#[test]
fn a_further_field_is_described_by_all_of_its_values_and_by_no_label() {
    let template = |further: Value| {
        let mut template = json!({"name": "one", "display_name": "x"});
        template.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        call("read:connection_profiles", 200, &json!({"connection_profile_templates": [template]}).to_string())
    };
    let calls = [
        template(json!({"owner": {"id": 1}})),
        template(json!({"owner": {"id": 2, "client_secret": "zq81mxo2-77aa-kk"}, "client_secret": "zq81mxo2-88bb-kk"})),
        template(json!({"client_secret": "zq81mxo2-99cc-kk", "client_secretary": "Ann"})),
    ];
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("traffic.har"), har::har(&calls)).unwrap();
    let ran = run_in(folder.path(), ["learn", "traffic.har", "--format", "json"]);
    let overlay: Value = serde_json::from_str(&ran.stdout).unwrap();
    let updates = overlay["actions"].as_array().unwrap().iter().map(|action| &action["update"]["properties"]);
    let fields: Vec<&Value> = updates.filter(|properties| properties.is_object()).collect();
    let owner = json!({"type": "object", "properties": {"id": {"type": "integer"}, "client_secret": {}}});
    let string = json!({"type": "string"});
    assert_eq!(fields, [&json!({"client_secretary": string}), &json!({"name": string}), &json!({"owner": owner})]);
}

const SHOP: &str = r"openapi: 3.1.0
info: {title: Shop, version: '1'}
servers: [{url: https://tenant.example}]
x-contrail-media-types: [application/json]
paths:
  /a:
    post:
      operationId: makeA
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}
      responses:
        '200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}
        '404': {$ref: '#/components/responses/Failure'}
  /b:
    get:
      operationId: getB
      responses:
        '200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Other'}}}}
        '404': {$ref: '#/components/responses/Failure'}
        default: {description: other}
components:
  responses:
    Failure: {description: a failure}
  schemas:
    Thing: {type: object, properties: {id: {type: integer}}}
    Other: {type: object, properties: {id: {type: integer}}}
";

/// A call of `makeA` with this body.
fn make(sent: &str, status: u16, body: &str) -> Value {
    let mut call = har::get("/a", None, status, body);
    call["request"]["method"] = "POST".into();
    call["request"]["headers"] = json!([{"name": "Content-Type", "value": "application/json"}]);
    call["request"]["postData"] = json!({"mimeType": "application/json", "text": sent});
    call
}

/// The same exchange with an answer of this media type.
fn of_type(media_type: &str, mut call: Value) -> Value {
    call["response"]["headers"][0]["value"] = media_type.into();
    call["response"]["content"]["mimeType"] = media_type.into();
    call
}

/// Learns from these exchanges, and checks them with what was learned: the actions, the report before and the one after.
fn learned(contract: Option<&str>, calls: &[Value]) -> (Vec<Value>, Ran, Ran) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("traffic.har"), har::har(calls)).unwrap();
    let mut with: Vec<&str> = Vec::new();
    if let Some(contract) = contract {
        fs::write(folder.path().join("contract.yaml"), contract).unwrap();
        with.extend(["--contract", "contract.yaml"]);
    }
    let verify = |more: &[&str]| {
        run_in(folder.path(), [&["verify", "traffic.har", "--format", "json"], &with[..], more].concat())
    };
    let before = verify(&[]);
    let ran =
        run_in(folder.path(), [&["learn", "traffic.har", "--out", "o.json", "--format", "json"], &with[..]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let Ok(overlay) = fs::read_to_string(folder.path().join("o.json")) else {
        return (Vec::new(), before, verify(&[]));
    };
    let overlay: Value = serde_json::from_str(&overlay).unwrap();
    (overlay["actions"].as_array().unwrap().clone(), before, verify(&["--overlay", "o.json"]))
}

/// Descriptions of the actions that change the contract.
fn facts(actions: &[Value]) -> Vec<&str> {
    let changes = actions.iter().filter(|action| action["update"] != json!({}));
    changes.map(|action| action["description"].as_str().unwrap()).collect()
}

#[test]
fn a_page_of_a_gateway_teaches_nothing_and_stays_a_violation() {
    let policy = |status| {
        let path = "/api/v2/rate-limit-policies/rlp_1";
        of_type("text/html", har::get(path, Some(&har::bearer()), status, "<html><h1>Bad Gateway</h1></html>"))
    };
    for status in [403, 502, 503] {
        let (actions, before, after) = learned(None, &[policy(status)]);
        assert_eq!(facts(&actions), [""; 0], "{status}");
        let of = |ran: &Ran| unchecked_and_rules(ran).1;
        assert!(of(&before).contains("response.content-type"), "{status}");
        assert_eq!(of(&before), of(&after), "{status}");
    }
}

#[test]
fn a_further_field_is_no_rule_for_requests_nor_for_another_media_type() {
    let calls = [
        make(r#"{"id":1,"more":"x"}"#, 200, r#"{"id":1,"more":1}"#),
        har::get("/b", None, 200, r#"{"extra":1}"#),
        of_type("application/hal+json", har::get("/b", None, 200, r#"{"extra":"a"}"#)),
    ];
    let (actions, _, after) = learned(Some(SHOP), &calls);
    assert_eq!((after.status, unchecked_and_rules(&after).1), (0, set([])), "{}", after.stdout);
    let properties: Vec<&Value> =
        actions.iter().map(|action| &action["update"]["properties"]).filter(|held| held.is_object()).collect();
    assert_eq!(properties, [&json!({"extra": {"type": ["string", "integer"]}}), &json!({"more": {}})]);
}

#[test]
fn a_success_that_is_not_documented_violates_nothing_that_the_documented_one_taught() {
    let document = "
openapi: 3.1.0
info: {title: S, version: '1'}
servers: [{url: https://tenant.example}]
paths: {/a: {post: {operationId: make, responses: {'201': {description: x, content: {application/json: {schema:
  {type: object, required: [id], properties: {id: {type: string}}}}}}}}}}
";
    let calls = [
        make("{}", 201, r#"{"id":"1","at":"noon"}"#),
        make("{}", 201, r#"{"id":"2","at":"noon"}"#),
        make("{}", 202, r#"{"job":"x"}"#),
        make("{}", 202, r#"{"job":7,"at":1}"#),
    ];
    let (actions, before, after) = learned(Some(document), &calls);
    assert!(!facts(&actions).is_empty());
    let [before, after] = [before, after].map(|ran| unchecked_and_rules(&ran).1);
    assert!(after.is_subset(&before), "{before:?} {after:?}");
    assert!(!after.contains("response.body"), "{after:?}");
}

#[test]
fn a_response_that_operations_share_is_described_once_all_of_them_have_shown_it() {
    let (of_b, of_a) = (har::get("/b", None, 404, "[]"), make("{}", 404, "{}"));
    let (actions, ..) = learned(Some(SHOP), std::slice::from_ref(&of_b));
    assert_eq!(facts(&actions), [""; 0]);
    let (actions, _, after) = learned(Some(SHOP), &[of_b, of_a]);
    assert_eq!(facts(&actions), ["getB answers 404, its body"]);
    assert_eq!(actions[0]["update"]["content"]["application/json"]["schema"], json!({"type": ["object", "array"]}));
    assert_eq!(unchecked_and_rules(&after), (set([]), set([])));
}

#[test]
fn a_status_under_a_default_response_is_learned_and_one_that_http_does_not_have_is_not() {
    let calls = [har::get("/b", None, 500, "{}"), har::get("/b", None, 999, "{}")];
    let (actions, before, after) = learned(Some(SHOP), &calls);
    assert_eq!(facts(&actions), ["getB answers 500, its body"]);
    assert_eq!((before.status, after.status), (0, 0), "{}", after.stdout);
}

#[test]
fn one_tenant_has_one_origin_however_its_url_is_written() {
    let at = |url: &str, mut call: Value| {
        call["request"]["url"] = format!("{url}{TEMPLATES}").into();
        call
    };
    let calls = [
        at("https://TENANT.example", call("read:connection_profiles read:logs", 200, &list("x"))),
        at("https://tenant.example:443", call("read:logs", 403, MISSING)),
    ];
    let (actions, ..) = learned(None, &calls);
    let expected = "getConnectionProfileTemplates requires the scope read:connection_profiles";
    assert!(facts(&actions).contains(&expected), "{actions:#?}");
}

#[test]
fn learn_says_that_all_refusals_of_an_operation_were_set_aside() {
    let other = r#"{"message":"This feature is not enabled"}"#;
    let said = |calls: &[Value]| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("traffic.har"), har::har(calls)).unwrap();
        let stderr = run_in(folder.path(), ["learn", "traffic.har"]).stderr;
        stderr.lines().find(|line| line.contains("set aside")).map(str::to_owned)
    };
    let accepted = call("read:connection_profiles read:logs", 200, &list("x"));
    let refused = call("read:logs", 403, other);
    let line = "contrail: getConnectionProfileTemplates: 2 refusals set aside, as all were: each may have another \
                reason than a missing scope";
    assert_eq!(said(&[accepted.clone(), refused.clone(), refused.clone()]).as_deref(), Some(line));
    assert_eq!(said(&[accepted, refused, call("read:logs", 403, MISSING)]), None);
}

#[test]
fn a_tenant_that_mentions_scopes_anywhere_refuses_for_other_reasons_in_other_words() {
    let policy = har::get("/api/v2/rate-limit-policies/rlp_1", Some(&har::bearer()), 403, MISSING);
    let calls = [
        call("read:connection_profiles read:logs", 200, &list("x")),
        call("read:logs", 403, r#"{"statusCode":403,"error":"Forbidden","message":"Forbidden"}"#),
    ];
    let rule = "getConnectionProfileTemplates requires the scope read:connection_profiles";
    assert!(facts(&learned(None, &calls).0).contains(&rule));
    assert!(!facts(&learned(None, &[&calls[..], &[policy]].concat()).0).contains(&rule));
}
