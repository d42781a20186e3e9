//! What `docs/learn.md` promises: what counts, what does not, and the bounds.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::json;

use super::*;
use crate::support::golden::assert_line;

const TEMPLATES: &str = "/api/v2/connection-profiles/templates";

/// The actions that these exchanges give.
fn learned(entries: &[Value]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(entries)).unwrap();
    let ran = run_in(folder.path(), ["learn", "--format", "json", "a.har"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut overlay: Value = serde_json::from_str(&ran.stdout).unwrap();
    overlay["actions"].as_array_mut().map(std::mem::take).unwrap()
}

/// Those that change the contract.
fn facts(entries: &[Value]) -> Vec<Value> {
    learned(entries).into_iter().filter(|action| action["update"] != json!({})).collect()
}

fn templates(status: u16, token: &str, body: &str) -> Value {
    har::get(TEMPLATES, Some(&format!("Bearer {token}")), status, body)
}

fn scoped(scopes: &str) -> String {
    har::token(scopes, har::NOON + 3600)
}

#[test]
fn beyond_each_bound_what_an_answer_holds_is_left_out() {
    let content = |entries: &[Value]| facts(entries)[0]["update"]["404"]["content"].clone();
    let typed = |number: usize| {
        let mut one = templates(404, &scoped("a"), "{}");
        let media_type = format!("application/a{number}+json");
        one["response"]["headers"][0]["value"] = media_type.as_str().into();
        one["response"]["content"]["mimeType"] = media_type.into();
        one
    };
    let types: Vec<Value> = (0..9).map(typed).collect();
    assert_eq!(content(&types[..8]).as_object().unwrap().len(), 8);
    assert_eq!(content(&types), Value::Null);

    let names = |count: usize| -> serde_json::Map<String, Value> {
        (0..count).map(|number| (format!("n{number}"), json!(number))).collect()
    };
    let described = |count: usize| {
        let body = Value::Object(names(count)).to_string();
        content(&[templates(404, &scoped("a"), &body)])["application/json"]["schema"].clone()
    };
    assert_eq!(described(100)["properties"].as_object().unwrap().len(), 100);
    assert_eq!(described(101), json!({"type": "object"}));

    let count = |entries: &[Value], what: &str| {
        facts(entries).iter().filter(|fact| fact["description"].as_str().unwrap().contains(what)).count()
    };
    let selected = |number: usize| {
        let policy = har::POLICY.replace("default", &format!("other{number}"));
        har::get("/api/v2/rate-limit-policies/rlp_1", Some(&har::bearer()), 200, &policy)
    };
    let values: Vec<Value> = (0..201).map(selected).collect();
    let fields = |count: usize| {
        let body = json!({"connection_profile_templates": [names(count)]}).to_string();
        [templates(200, &scoped("a"), &body)]
    };
    for (kept, entries, what) in [
        (200, &values[..200], "has the further value"),
        (200, &values, "has the further value"),
        (100, &fields(100), "has the further field"),
        (100, &fields(101), "has the further field"),
    ] {
        assert_eq!(count(entries, what), kept, "{what}, {} exchanges", entries.len());
    }
}

#[test]
fn only_what_the_tenant_answered_teaches_and_nothing_learned_is_no_error() {
    let mut request = har::get("/api/v2/verifiable-credentials/verification/templates/vct_1", None, 200, "{}");
    request["request"]["method"] = "PATCH".into();
    request["request"]["postData"] = json!({"mimeType": "application/json", "text": r#"{"colour": "blue"}"#});
    assert!(!json!(learned(&[request])).to_string().contains("colour"));
    let mut token = har::get("/oauth/token/", None, 418, r#"{"short": "stout"}"#);
    token["request"]["method"] = "POST".into();
    assert_eq!(facts(&[token]), [json!(null); 0]);

    // contrail's own refusal; each way to name the trail that holds it.
    let folder = tempfile::tempdir().unwrap();
    let watch =
        ["watch", "--upstream", "sandbox", "--enforce", "requests", "--listen", "127.0.0.1:0", "--trail", "trail"];
    let running = Running::start(folder.path(), watch);
    assert_eq!(call(running.address, "GET", TEMPLATES, &[], b"").status(), 400);
    running.finish();
    for name in ["trail", "trail/trail-00000001.journal", "."] {
        let ran = run_in(folder.path(), ["learn", name]);
        assert_eq!(ran.status, 0, "{name}: {}", ran.stderr);
        assert!(ran.stderr.ends_with("contrail: learned 0 facts from 1 exchange\n"), "{name}: {}", ran.stderr);
    }
    let journal = folder.path().join("trail/trail-00000001.journal");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("GET", "PUT", 1)).unwrap();
    let ran = run_in(folder.path(), ["learn", "trail"]);
    let altered = "contrail: nothing is learned from a trail that was altered: ";
    assert!(ran.status == 2 && ran.stdout.is_empty() && ran.stderr.starts_with(altered), "{}", ran.stderr);
    let ran = run_in(folder.path(), ["learn", "nosuch.har"]);
    assert_eq!((ran.status, &*ran.stdout), (2, ""), "{}", ran.stderr);
}

#[test]
fn what_is_learned_from_a_fixture_is_what_its_folder_teaches() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let of = |name: &str| run_in(&root, ["learn", name]).stdout.replace("operations/operations.har", "operations");
    assert_eq!(of("operations"), of("operations/operations.har"));
    assert_line(&of("operations"), "    description: getConnectionProfileTemplates answers 200");
}

#[test]
fn a_required_scope_rests_on_accepted_calls_and_on_403_of_valid_tokens_alone() {
    let scope = |entries: &[Value]| {
        let actions = learned(entries);
        let target = format!("$.paths['{}'].get", TEMPLATES.trim_start_matches("/api/v2"));
        actions.into_iter().find(|action| action["target"] == target.as_str()).unwrap()
    };
    let accepted = templates(200, &scoped("a b"), r#"{"connection_profile_templates": []}"#);
    let refusal = r#"{"message": "Insufficient scope"}"#;
    let encrypted = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"RSA-OAEP","enc":"A256GCM"}"#) + "..cGFydA.cGFydA.cGFydA";
    let silent = [
        accepted.clone(),
        templates(404, &scoped("b"), "{}"),
        templates(400, &scoped("b"), "{}"),
        templates(403, &har::token("b", har::NOON - 1), refusal),
        templates(200, &encrypted, r#"{"connection_profile_templates": []}"#),
    ];
    let open = scope(&silent);
    assert_eq!(open["x-contrail-undecided"]["candidates"], json!(["a", "b"]), "{open}");
    let counts = |action: &Value| {
        ["accepted", "refused", "set-aside", "unread"].map(|name| action["x-contrail-evidence"][name].as_u64().unwrap())
    };
    assert_eq!(counts(&open), [1, 0, 0, 1]);
    let decided = scope(&[accepted, templates(403, &scoped("b"), refusal)]);
    assert_eq!(decided["update"], json!({"security": [{"bearerAuth": ["a"]}]}));
    assert_eq!(counts(&decided), [1, 1, 0, 0]);
}
