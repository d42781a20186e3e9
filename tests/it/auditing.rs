//! `audit` of clients that the tenant slows down, and of more clients and scopes than it lists.

use std::fs;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::support::{command::run_in, har};

/// A call that began so many seconds after noon, answered with this status and `Retry-After: 30` if it is 429.
fn call(second: u32, status: u16) -> Value {
    let body = if status == 200 { har::POLICY } else { r#"{"statusCode":429,"error":"e","message":"m"}"# };
    let mut entry = har::get("/api/v2/rate-limit-policies/rlp_1", Some(&har::bearer()), status, body);
    entry["startedDateTime"] = format!("2025-11-21T12:{:02}:{:02}.000Z", second / 60, second % 60).into();
    if status == 429 {
        entry["response"]["headers"].as_array_mut().unwrap().push(json!({"name": "Retry-After", "value": "30"}));
    }
    entry
}

/// The early calls of an audit of these files with these options, those that were not checked, and the entry of the
/// first.
fn early_in(files: &[&[Value]], options: &[&str]) -> (Value, Value, Value) {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..files.len()).map(|at| format!("{at}.har")).collect();
    for (name, entries) in names.iter().zip(files) {
        fs::write(folder.path().join(name), har::har(entries)).unwrap();
    }
    let mut arguments = vec!["audit", "--format", "json"];
    arguments.extend(options.iter().copied().chain(names.iter().map(String::as_str)));
    let ran = run_in(folder.path(), arguments);
    let audit: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    let calls = &audit["callers"][0]["calls"][0];
    (calls["early"].clone(), calls["earlyUnchecked"].clone(), calls["firstEarly"]["entry"].clone())
}

/// The early calls of an audit, and the entry of the first.
fn early(entries: &[Value]) -> (Value, Value) {
    let (early, unchecked, first) = early_in(&[entries], &[]);
    assert_eq!(unchecked, Value::Null);
    (early, first)
}

#[test]
fn a_call_before_the_wait_of_a_429_is_over_is_early_and_one_after_it_is_not() {
    assert_eq!(early(&[call(0, 200), call(1, 429), call(3, 429), call(32, 200), call(70, 200)]), (json!(2), json!(2)));
    assert_eq!(early(&[call(1, 429), call(31, 200)]), (json!(0), Value::Null));
}

#[test]
fn a_call_that_was_on_its_way_when_the_429_arrived_is_not_early() {
    let mut slow = call(1, 429);
    slow["time"] = 5000.into();
    slow["timings"]["wait"] = 5000.into();
    assert_eq!(early(&[slow, call(3, 200), call(7, 200)]), (json!(1), json!(2)));
}

#[test]
fn a_call_to_another_tenant_is_not_early() {
    let at = |origin: &str| {
        let mut entry = call(3, 200);
        entry["request"]["url"] = format!("{origin}/api/v2/rate-limit-policies/rlp_1").into();
        entry
    };
    assert_eq!(early(&[call(1, 429), at("https://other.example")]), (json!(0), Value::Null));
    assert_eq!(early(&[call(1, 429), at("https://TENANT.example:443")]), (json!(1), json!(1)));
}

#[test]
fn a_429_has_arrived_after_the_whole_time_of_its_entry_and_its_seconds_count_from_there() {
    let mut slow = call(1, 429);
    slow["time"] = 5000.into();
    assert_eq!(early(&[slow.clone(), call(3, 200)]), (json!(0), Value::Null));
    assert_eq!(early(&[slow.clone(), call(35, 200)]), (json!(1), json!(1)));
    assert_eq!(early(&[slow, call(36, 200)]), (json!(0), Value::Null));
}

#[test]
fn an_instant_to_wait_for_is_one_of_the_tenants_clock() {
    let reset = |date: &str| {
        let mut entry = call(1, 429);
        let fields = json!([{"name": "X-RateLimit-Reset", "value": "1763730031"}, {"name": "Date", "value": date}]);
        entry["response"]["headers"] = fields;
        entry
    };
    // The clock of the tenant is right, then an hour fast: the reset is 30 seconds after the 429 that names it.
    let mut right = reset("Fri, 21 Nov 2025 12:00:01 GMT");
    right["response"]["headers"][0]["value"] = "1763726431".into();
    for limited in [right, reset("Fri, 21 Nov 2025 13:00:01 GMT")] {
        assert_eq!(early(&[limited.clone(), call(30, 200)]), (json!(1), json!(1)));
        assert_eq!(early(&[limited, call(31, 200)]), (json!(0), Value::Null));
    }
}

#[test]
fn no_call_of_an_unknown_client_or_an_undocumented_operation_counts_as_early() {
    let change = |mut entry: Value, change: &dyn Fn(&mut Value)| {
        change(&mut entry);
        entry
    };
    let anonymous = |entry: &mut Value| entry["request"]["headers"] = json!([]);
    let elsewhere = |entry: &mut Value| entry["request"]["url"] = "https://tenant.example/api/v2/users".into();
    for to in [&anonymous as &dyn Fn(&mut Value), &elsewhere] {
        let entries = [change(call(1, 429), to), change(call(3, 200), to)];
        assert_eq!(early_in(&[&entries], &[]), (json!(0), json!(1), Value::Null));
    }
}

#[test]
fn the_order_of_files_turns_no_early_call_into_a_punctual_one() {
    let (limited, soon, late) = ([call(1, 429)], [call(3, 200)], [call(40, 200)]);
    assert_eq!(early_in(&[&limited, &soon], &[]), (json!(1), Value::Null, json!(0)));
    assert_eq!(early_in(&[&soon, &limited], &[]), (json!(0), json!(1), Value::Null));
    assert_eq!(early_in(&[&late, &limited], &[]), (json!(0), Value::Null, Value::Null));
    assert_eq!(early_in(&[&[call(50, 429)], &limited, &soon], &[]), (json!(1), Value::Null, json!(0)));
    // More waits than are held.
    let many: Vec<Value> = (1..=17).map(|minute| call(60 * minute, 429)).collect();
    assert_eq!(early_in(&[&many, &[call(62, 200)]], &[]), (json!(0), json!(1), Value::Null));
}

#[test]
fn the_wait_of_a_429_that_a_filter_leaves_out_holds() {
    let entries = [call(1, 429), call(3, 200), call(40, 200)];
    let since = ["--since", "2025-11-21T12:00:02Z"];
    assert_eq!(early_in(&[&entries], &since), (json!(1), Value::Null, json!(1)));
    assert_eq!(early_in(&[&entries[1..2], &entries[..1]], &since), (json!(0), json!(1), Value::Null));
}

#[test]
fn an_audit_states_for_how_many_exchanges_it_cannot_know_what_was_early() {
    let mut timeless = call(1, 429);
    timeless["startedDateTime"] = Value::Null;
    let (text, json) = audited(&[timeless, call(3, 200)]);
    let line = "\n                      too early after a 429: not checked for 1 exchange\n";
    assert!(text.contains(line), "{text}");
    assert_eq!(json["callers"][1]["calls"][0]["earlyUnchecked"], 1);
}

/// A call with a token of this client that holds these scopes.
fn call_of(client: usize, scopes: &str) -> Value {
    let claims = json!({"azp": format!("client-{client}"), "exp": 4_102_444_800_u32, "scope": scopes});
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let token = format!("{}.{}.c2lnbmF0dXJl", part(&json!({"alg": "RS256"})), part(&claims));
    har::get("/api/v2/rate-limit-policies/rlp_1", Some(&format!("Bearer {token}")), 200, har::POLICY)
}

/// The audit of these calls, as text and as JSON.
fn audited(entries: &[Value]) -> (String, Value) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(entries)).unwrap();
    let of = |format: &str| run_in(folder.path(), ["audit", "a.har", "--format", format]).stdout;
    (of("text"), serde_json::from_str(&of("json")).unwrap())
}

#[test]
fn what_a_refused_token_claims_is_apart_from_what_the_client_holds() {
    let mut forged = call_of(0, "delete:users create:clients");
    forged["response"]["status"] = 401.into();
    let accepted = call_of(0, "read:rate_limit_policies");
    let (text, json) = audited(&[forged.clone(), accepted.clone(), forged.clone()]);
    let line = "\n  claimed     create:clients delete:users (2 calls whose answer does not show that the token is genuine, or \
                whose signature fails; the name is a claim, too); first a.har entry 0 (2025-11-21T12:00:00Z)\n  holds       read:rate_limit_policies\n";
    assert!(text.contains(line) && !text.contains("unneeded"), "{text}");
    let caller = &json["callers"][0];
    assert_eq!((&caller["holds"], &caller["lacks"]), (&json!(["read:rate_limit_policies"]), &json!([])));
    let claims = &caller["claims"];
    assert_eq!(
        (&claims["calls"], &claims["scopes"], &claims["first"]["entry"]),
        (&json!(2), &json!(["create:clients", "delete:users"]), &json!(0))
    );
    // Nobody looks at a token for a path that is not there.
    let mut astray = forged.clone();
    astray["request"]["url"] = "https://tenant.example/api/v2/nothing".into();
    astray["response"]["status"] = 404.into();
    let (_, json) = audited(&[astray, accepted.clone()]);
    assert_eq!(
        (&json["callers"][0]["claims"]["calls"], json["callers"][0]["holds"].as_array().unwrap().len()),
        (&json!(1), 1)
    );
    // A 403 is an answer to who the client is.
    forged["response"]["status"] = 403.into();
    let (_, json) = audited(&[forged, accepted]);
    assert_eq!(json["callers"][0]["claims"], Value::Null);
    assert_eq!(json["callers"][0]["holds"].as_array().unwrap().len(), 3);
}

#[test]
fn what_the_tenant_did_not_refuse_is_listed_by_reason_and_caller() {
    let mut anonymous = call_of(0, "");
    anonymous["request"]["headers"] = json!([]);
    let lacks = |client| call_of(client, "read:users");
    let (text, json) = audited(&[lacks(1), anonymous, lacks(2), lacks(1), call_of(3, "read:rate_limit_policies")]);
    let findings = json["findings"].as_array().unwrap().iter();
    let unenforced: Vec<_> = findings
        .filter(|finding| finding["rule"] == "auth.unenforced")
        .map(|finding| json!([finding["caller"], finding["count"], finding["first"]["entry"]]))
        .collect();
    assert_eq!(unenforced, [json!(["client-1", 2, 0]), json!(["client-2", 1, 2]), json!(["no token", 1, 1])]);
    let scope = "expected the tenant to refuse a request with a token that lacks the documented scope, saw `200`";
    assert!(text.contains(&format!("\n    caller client-1: {scope}\n    first a.har entry 0 ")), "{text}");
    let token = "expected the tenant to refuse a request without a token, saw `200`";
    assert!(text.contains(&format!("\n    caller no token: {token}\n    first a.har entry 1 ")), "{text}");
}

/// A line of a journal with this exchange of a client.
#[test]
fn findings_at_places_that_a_client_chooses_hide_none_of_another_rule_and_are_counted_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let probe = |at: usize| {
        let mut entry = call_of(0, "read:rate_limit_policies");
        entry["request"]["url"] = format!("https://tenant.example/api/v2/rate-limit-policies/rlp_1?q{at}=1").into();
        entry
    };
    let mut entries: Vec<Value> = (0..5001).map(probe).collect();
    entries.push(call_of(1, "read:users"));
    fs::write(folder.path().join("a.har"), har::har(&entries)).unwrap();
    let formats = ["text", "json", "csv", "html", "markdown", "junit", "sarif", "github"];
    for command in ["audit", "verify"] {
        let mut arguments = vec![command.to_owned(), "a.har".to_owned()];
        arguments.extend(formats.iter().flat_map(|format| ["--report".to_owned(), format!("{format}={format}.out")]));
        assert_eq!(run_in(folder.path(), &arguments).status, 1);
        for format in formats {
            let report = fs::read_to_string(folder.path().join(format!("{format}.out"))).unwrap();
            assert!(report.contains("auth.unenforced"), "{command} {format}");
            let further = if format == "json" { "\"furtherFindings\": 1" } else { "at further places" };
            assert!(report.contains(further), "{command} {format}");
            if command == "audit" && format == "json" {
                let report: Value = serde_json::from_str(&report).unwrap();
                assert_eq!(report["findings"][0]["caller"], "client-1");
            }
        }
    }
}

fn line_of(client: usize, mut entry: Value) -> String {
    entry["request"]["headers"] = json!([{"name": "Authorization", "value": "Bearer !token-1!"}]);
    let token = json!({"client": format!("client-{client}"), "scopes": [], "outcome": "valid"});
    entry["_contrail"] = json!({"version": 1, "token": token});
    format!("{entry}\n")
}

/// Lines of as many clients.
fn lines_of(clients: usize) -> String {
    (0..clients).map(|client| line_of(client, har::get("/x", None, 200, "{}"))).collect()
}

#[test]
fn what_is_not_checked_of_callers_that_are_counted_together_is_counted_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut limited = call(0, 429);
    limited["startedDateTime"] = "2025-11-21T11:59:59Z".into();
    let lines = [lines_of(10_000), line_of(10_000, call(3, 200)), line_of(10_000, limited)].concat();
    fs::write(folder.path().join("a.journal"), lines).unwrap();
    let since = ["--since", "2025-11-21T12:00:00Z"];
    let ran = run_in(folder.path(), ["audit", "a.journal", "--format", "json"].into_iter().chain(since));
    let audit: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    let calls = &audit["callers"][0]["calls"][0];
    assert_eq!((&calls["count"], &calls["earlyUnchecked"]), (&json!(1), &json!(1)), "{}", ran.stderr);
}

#[test]
fn callers_beyond_the_first_ten_thousand_are_counted_together_and_named_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.journal"), lines_of(10_003)).unwrap();
    let ran = run_in(folder.path(), ["audit", "a.journal", "--format", "json", "--report", "text=a.txt"]);
    let audit: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    let name = "callers beyond the first 10000, counted together";
    let callers = audit["callers"].as_array().unwrap();
    assert_eq!(
        (callers.len(), &callers[0]["caller"], &callers[0]["calls"][0]["count"]),
        (10_001, &json!(name), &json!(3))
    );
    let text = fs::read_to_string(folder.path().join("a.txt")).unwrap();
    assert!(text.contains(&format!("\n{name}\n  undocumented       3  accepted 3;")));
}

#[test]
fn scopes_beyond_the_first_two_thousand_of_a_caller_are_counted() {
    let scopes = |from: usize| (from..from + 1000).map(|number| format!("a{number}")).collect::<Vec<_>>().join(" ");
    let (text, json) = audited(&[call_of(0, &scopes(0)), call_of(0, &scopes(1000)), call_of(0, &scopes(1999))]);
    assert!(text.contains("\n  further     999 times a scope beyond the first 2000, which are listed\n"), "{text}");
    assert_eq!(json["callers"][0]["furtherScopes"], 999);
}

/// A call of nothing documented, with a token of this client.
fn call_by(client: &str) -> Value {
    let claims = json!({"azp": client, "exp": 4_102_444_800_u32});
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let token = format!("Bearer {}.{}.c2lnbmF0dXJl", part(&json!({"alg": "RS256"})), part(&claims));
    har::get("/x", Some(&token), 200, "{}")
}

#[test]
fn a_client_is_apart_from_what_the_audit_calls_requests_without_one() {
    let beyond = "callers beyond the first 10000, counted together";
    let clients = ["no token", "", r#""no token""#, "gaps", "  holds", beyond, "me", "no token (Basic)", "me "];
    let mut entries: Vec<Value> = clients.into_iter().map(call_by).collect();
    entries.push(har::get("/x", None, 200, "{}"));
    entries.push(har::get("/x", Some("basic dXNlcjpwYXNz"), 200, "{}"));
    let (text, json) = audited(&entries);
    let callers = json["callers"].as_array().unwrap().iter().map(|caller| caller["caller"].as_str().unwrap());
    let quoted = [
        r#""  holds""#.to_owned(),
        r#""""#.to_owned(),
        r#""\"no token\"""#.to_owned(),
        format!("\"{beyond}\""),
        r#""gaps""#.to_owned(),
        r#""me ""#.to_owned(),
        r#""no token (Basic)""#.to_owned(),
        r#""no token""#.to_owned(),
        "me".to_owned(),
        "no token".to_owned(),
        "no token (Basic)".to_owned(),
    ];
    assert_eq!(callers.collect::<Vec<_>>(), quoted);
    assert!(text.contains("\n\"gaps\"\n  undocumented  "), "{text}");

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(&entries)).unwrap();
    for (client, entry) in [("no token", 9), ("no token (Basic)", 10), (r#""no token""#, 0)] {
        let ran = run_in(folder.path(), ["audit", "a.har", "--client", client, "--format", "json"]);
        let audit: Value = serde_json::from_str(&ran.stdout).unwrap();
        let calls = &audit["callers"][0]["calls"][0];
        assert_eq!((&calls["count"], &calls["first"]["entry"]), (&json!(1), &json!(entry)), "{client}");
    }
}

#[test]
fn a_caller_whose_credential_is_unknown_is_named_by_the_reason_of_it_and_the_check_has_the_same() {
    let mut several = call_of(0, "read:rate_limit_policies");
    let headers = several["request"]["headers"].as_array_mut().unwrap();
    headers.push(json!({"name": "authorization", "value": "Basic dXNlcjpwYXNz"}));
    let masked = har::get("/api/v2/rate-limit-policies/rlp_1", Some("Bearer ***"), 200, har::POLICY);
    let mut timeless = call_of(0, "read:rate_limit_policies");
    timeless["startedDateTime"] = "yesterday".into();
    let stripped = har::get("/api/v2/rate-limit-policies/rlp_1", None, 200, har::POLICY);
    let no_token = "the file masks the credentials, or it lacks the instant at which a token counted";
    for (entry, name, reason) in [
        (several, "several Authorization headers", "the request has several `Authorization` headers"),
        (masked, "a masked token, or no instant", no_token),
        (timeless, "a masked token, or no instant", no_token),
        (stripped, "the file lacks Authorization", "the file holds no Authorization header"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.har"), har::har(&[entry])).unwrap();
        let of = |command| run_in(folder.path(), [command, "a.har", "--format", "json"]).stdout;
        let audit: Value = serde_json::from_str(&of("audit")).unwrap();
        assert_eq!(audit["callers"][0]["caller"], format!("unknown ({name})"));
        let checked: Value = serde_json::from_str(&of("verify")).unwrap();
        assert_eq!(checked["exchanges"][0]["reasons"][0]["reason"], reason, "{name}");
    }
}

#[test]
fn a_token_request_counts_for_the_client_that_it_names() {
    let request = |media_type: &str, body: &str| {
        let mut entry = har::get("/oauth/token/", None, 401, "{}");
        entry["request"]["method"] = "POST".into();
        entry["request"]["headers"] = json!([{"name": "Content-Type", "value": media_type}]);
        entry["request"]["postData"] = json!({"mimeType": media_type, "text": body});
        entry
    };
    let form = "application/x-www-form-urlencoded";
    let callers = |entry: Value| {
        let (_, json) = audited(&[entry, call_by("a b")]);
        let callers = json["callers"].as_array().unwrap().iter().map(|caller| caller["caller"].as_str().unwrap());
        callers.map(str::to_owned).collect::<Vec<_>>()
    };
    for (media_type, body) in [
        (form, "grant_type=client_credentials&client_id=a+b&client_secret=zz"),
        ("application/json", r#"{"grant_type":"client_credentials","client_id":"a b","client_secret":"zz"}"#),
    ] {
        assert_eq!(callers(request(media_type, body)), ["a b"]);
    }
    for body in ["client_id=a+b&client_id=c", "client_id=", "grant_type=client_credentials"] {
        assert_eq!(callers(request(form, body)), ["a b", "no token"], "{body}");
    }
    let mut elsewhere = request(form, "client_id=a+b");
    elsewhere["request"]["url"] = "https://tenant.example/x".into();
    assert_eq!(callers(elsewhere), ["a b", "no token"]);
}

#[test]
fn an_answer_of_contrail_in_another_tools_file_is_none_of_the_tenant() {
    let answered = |fields: Value| {
        let mut entry = har::get("/api/v2/rate-limit-policies/rlp_1", Some(&har::bearer()), 403, "{}");
        entry["response"]["headers"].as_array_mut().unwrap().extend(fields.as_array().unwrap().clone());
        let (_, json) = audited(&[entry]);
        let calls = &json["callers"][0]["calls"][0];
        (calls["refused"].clone(), calls["other"].clone(), json["rules"].clone())
    };
    let own = json!([{"name": "Contrail-Answer", "value": "host-denied"}]);
    assert_eq!(answered(own), (json!(0), json!(1), json!({})));
    let rules = json!({"auth.refused": 1});
    for theirs in [json!([]), json!([{"name": "Contrail-Answer", "value": "No word"}])] {
        assert_eq!(answered(theirs), (json!(1), json!(0), rules.clone()));
    }
}

#[test]
fn the_first_exchange_is_the_first_by_time_whatever_the_order_of_the_files() {
    let at = |minute: u32, lacks: bool| {
        let mut entry = call_of(0, if lacks { "read:users" } else { "read:rate_limit_policies" });
        entry["startedDateTime"] = format!("2025-11-21T12:{minute:02}:00Z").into();
        entry
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.har"), har::har(&[at(30, true), at(31, false)])).unwrap();
    fs::write(folder.path().join("b.har"), har::har(&[at(20, false), at(21, true), at(22, true)])).unwrap();
    for (command, files) in
        [("audit", ["a.har", "b.har"]), ("audit", ["b.har", "a.har"]), ("verify", ["a.har", "b.har"])]
    {
        let ran = run_in(folder.path(), [command, files[0], files[1], "--format", "json"]);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
        let cited = |cited: &Value| (cited["source"].clone(), cited["entry"].clone());
        let entry = |entry: u32| (json!("b.har"), json!(entry));
        assert_eq!(cited(&report["findings"][0]["first"]), entry(1), "{command} {files:?}");
        if command == "audit" {
            let caller = &report["callers"][0];
            let needed = &caller["scopes"][0];
            let shown =
                [&caller["calls"][0]["first"], &needed["held"], &needed["needed"], &needed["lacked"]].map(cited);
            assert_eq!(shown, [entry(0), entry(0), entry(0), entry(1)], "{files:?}");
        }
    }
}

/// Three operations: one takes either scope, one takes `w`, and one takes both or `t`.
const ALTERNATIVES: &str = "\
openapi: 3.1.0
info: {title: S, version: '1'}
servers: [{url: https://tenant.example}]
paths:
  /or: {get: {operationId: or, security: [{b: [r]}, {b: [w]}], responses: {default: {description: x}}}}
  /w: {get: {operationId: w, security: [{b: [w]}], responses: {default: {description: x}}}}
  /both: {get: {operationId: both, security: [{b: [r, w]}, {b: [t]}], responses: {default: {description: x}}}}
  /key: {get: {operationId: key, security: [{k: []}, {b: [r]}], responses: {default: {description: x}}}}
components:
  securitySchemes:
    b: {type: oauth2, flows: {clientCredentials: {tokenUrl: /t, scopes: {r: '', w: '', t: ''}}}}
    k: {type: apiKey, in: header, name: X-Key}
";

#[test]
fn the_least_set_of_scopes_suffices_for_all_calls_and_every_other_scope_is_unneeded() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("c.yaml"), ALTERNATIVES).unwrap();
    let scopes = |calls: &[(&str, &str)]| {
        let entry = |(path, scopes): &(&str, &str)| {
            let mut entry = call_of(0, scopes);
            entry["request"]["url"] = format!("https://tenant.example/{path}").into();
            entry
        };
        fs::write(folder.path().join("a.har"), har::har(&calls.iter().map(entry).collect::<Vec<_>>())).unwrap();
        let ran = run_in(folder.path(), ["audit", "--contract", "c.yaml", "a.har", "--format", "json"]);
        let audit: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
        let caller = &audit["callers"][0];
        let lists = ["needed", "unneeded", "lacks"].map(|key| {
            let list = caller[key].as_array().unwrap().iter().map(|scope| scope.as_str().unwrap());
            list.collect::<Vec<_>>().join(" ")
        });
        (lists, caller["scopes"].clone())
    };
    let lists = |calls: &[(&str, &str)]| scopes(calls).0.join(", ");
    assert_eq!(lists(&[("or", "r w"), ("w", "r w")]), "w, r, ");
    assert_eq!(lists(&[("w", "r w"), ("or", "r w")]), "w, r, ");
    assert_eq!(lists(&[("or", "w t")]), "w, t, ");
    assert_eq!(lists(&[("both", "r w")]), "r w, , ");
    assert_eq!(lists(&[("or", "t"), ("w", "w")]), "w, t, w");
    let cited = scopes(&[("or", "t"), ("w", "w")]).1;
    assert_eq!(
        (&cited[1]["scope"], &cited[1]["needed"]["entry"], &cited[1]["lacked"]["entry"]),
        (&json!("w"), &json!(0), &json!(0))
    );
}

/// As [`call_of`], to an operation of [`ALTERNATIVES`].
fn call_to(path: &str, scopes: &str) -> Value {
    let mut entry = call_of(0, scopes);
    entry["request"]["url"] = format!("https://tenant.example/{path}").into();
    entry
}

/// The only caller of these calls in an audit by [`ALTERNATIVES`], and the text about it.
fn caller_by_alternatives(entries: &[Value]) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("c.yaml"), ALTERNATIVES).unwrap();
    fs::write(folder.path().join("a.har"), har::har(entries)).unwrap();
    let of = |format| run_in(folder.path(), ["audit", "--contract", "c.yaml", "a.har", "--format", format]).stdout;
    let audit: Value = serde_json::from_str(&of("json")).unwrap();
    (audit["callers"][0].clone(), of("text"))
}

#[test]
fn a_token_that_comes_without_the_api_key_which_would_do_needs_its_scope() {
    let lists = |caller: &Value| ["needed", "unneeded", "lacks"].map(|key| caller[key].to_string()).join(" ");
    let (caller, _) = caller_by_alternatives(&[call_to("key", "r")]);
    assert_eq!(lists(&caller), r#"["r"] [] []"#);
    let mut with_key = call_to("key", "w");
    let headers = with_key["request"]["headers"].as_array_mut().unwrap();
    headers.push(json!({"name": "X-Key", "value": "Zk3mQ9xT7pLw2Vb8"}));
    let (caller, _) = caller_by_alternatives(&[with_key]);
    assert_eq!(lists(&caller), r#"[] ["w"] []"#);
    let (caller, _) = caller_by_alternatives(&[call_to("key", "w")]);
    assert_eq!(lists(&caller), r#"["r"] ["w"] ["r"]"#);
}

#[test]
fn a_token_whose_claims_name_no_scopes_lacks_none_where_the_document_states_no_jwt() {
    let claims = json!({"azp": "client-0", "exp": 4_102_444_800_u32, "roles": ["w"]});
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let token = format!("Bearer {}.{}.c2lnbmF0dXJl", part(&json!({"alg": "RS256"})), part(&claims));
    let call = har::get("/w", Some(&token), 200, "{}");
    let (caller, text) = caller_by_alternatives(&[call]);
    assert_eq!((&caller["lacks"], &caller["callsWithUnreadScopes"]), (&json!([]), &json!(1)));
    let but = "\n  but         1 call had a token whose claims name no scopes: which it holds is unchecked\n";
    assert!(text.contains(but) && !text.contains("lacks"), "{text}");
}

#[test]
fn an_audit_states_why_something_was_not_checked_as_verify_does() {
    let folder = tempfile::tempdir().unwrap();
    let document =
        ALTERNATIVES.replacen("{description: x}", "{description: x, content: {image/*: {schema: {type: object}}}}", 1);
    fs::write(folder.path().join("c.yaml"), document).unwrap();
    let calls = ["image/png", "image/gif", "image/png"].map(|media_type| {
        let mut call = call_to("or", "r");
        call["response"]["headers"][0]["value"] = media_type.into();
        call["response"]["content"]["mimeType"] = media_type.into();
        call
    });
    fs::write(folder.path().join("a.har"), har::har(&calls)).unwrap();
    let of =
        |command, format| run_in(folder.path(), [command, "--contract", "c.yaml", "a.har", "--format", format]).stdout;
    let reasons = "    contrail does not read `image/png` (or 2)\n    contrail does not read `image/gif` (or 1)\n";
    for command in ["verify", "audit"] {
        let text = of(command, "text");
        assert!(text.contains(reasons), "{command}: {text}");
    }
    let audit: Value = serde_json::from_str(&of("audit", "json")).unwrap();
    let reason = |media_type: &str, count: u64| {
        json!({"aspect": "response-body", "at": "", "reason": format!("contrail does not read `{media_type}`"),
               "operations": {"or": count}})
    };
    assert_eq!(audit["reasons"], json!([reason("image/png", 2), reason("image/gif", 1)]));
}
