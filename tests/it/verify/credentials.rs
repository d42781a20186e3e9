//! Tokens: where and when they are judged, and where they cannot be.

use super::*;
use crate::support::golden::{assert_line, assert_output};

#[test]
fn a_stripped_header_is_named_only_where_the_contract_requires_a_credential() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("open.yaml"),
        "openapi: 3.1.0\ninfo: {title: Open, version: '1'}\npaths:\n  /open: {get: {responses: {'200': {description: x}}}}\n  \
         /keyed: {get: {security: [{key: []}], responses: {'200': {description: x}}}}\ncomponents: {securitySchemes: {key: \
         {type: apiKey, in: header, name: X-Key}}}\n",
    )
    .unwrap();
    let open = folder.path().join("open.yaml");
    let verified = |path| verify_text(&[get(path, None, 200, "")], &["--contract", open.to_str().unwrap()]);
    let tenant = verify_text(&[get("/api/v2/rate-limit-policies/rlp_1", None, 200, POLICY)], &[]);
    for (contract, ran) in [("open", verified("/open")), ("keyed", verified("/keyed")), ("tenant", tenant)] {
        let name = "verify/credentials/a_stripped_header_is_named_only_where_the_contract_requires_a_credential";
        assert_output(&format!("{name}-{contract}"), &ran);
    }
}

#[test]
fn a_file_in_which_no_entry_carries_authorization_leaves_it_unchecked_and_the_report_states_it_once() {
    let path = "/api/v2/rate-limit-policies/rlp_1";
    let stripped = [get(path, None, 200, POLICY), get(path, None, 200, POLICY)];
    let ran = verify_text(&stripped, &[]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("no request in it carries Authorization").count(), 1, "{}", ran.stdout);
    let (_, report) = verify_json(&stripped, &[]);
    for entry in 0..2 {
        assert!(rules(&report, entry).is_empty());
        assert!(report["exchanges"][entry]["unchecked"].as_array().unwrap().contains(&"auth".into()));
        assert_eq!(report["exchanges"][entry]["verdict"], "conforms");
    }
}

#[test]
fn a_credential_that_a_tool_masked_is_unchecked_and_no_violation() {
    let path = "/api/v2/rate-limit-policies/rlp_1";
    for value in
        ["Bearer !token-1!", "!token-1!", "Bearer [REDACTED]", "[authorization redacted]", "***", "bearer  ****"]
    {
        let (status, report) = verify_json(&[get(path, Some(value), 200, POLICY)], &[]);
        assert_eq!((status, rules(&report, 0)), (0, vec![]), "{value}");
        assert!(report["exchanges"][0]["unchecked"].as_array().unwrap().contains(&"auth".into()), "{value}");
    }
    for value in [
        "Bearer undefined",
        "Bearer ..",
        "Bearer a..b",
        "Basic !basic-1!",
        "Bearer",
        "",
        "Bearer not!token-1!quite",
        "Basic dXNlcjpwYXNz",
    ] {
        let (status, report) = verify_json(&[get(path, Some(value), 401, "{}")], &[]);
        assert_eq!((status, rules(&report, 0).len()), (1, 1), "{value}");
    }
}

#[test]
fn cookies_that_a_producer_strips_are_unchecked_and_those_that_stand_in_cookies_alone_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let contract = folder.path().join("cookies.yaml");
    fs::write(
        &contract,
        "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths:\n  /needs: {get: {parameters: [{name: c, in: cookie, required: \
         true, schema: {type: integer}}], responses: {'200': {description: x}}}}\n  /keyed: {get: {security: [{sid: []}], \
         responses: {'200': {description: x}}}}\ncomponents: {securitySchemes: {sid: {type: apiKey, in: cookie, name: sid}}}\n",
    )
    .unwrap();
    let sent = |path: &str, authorization: Option<&str>, cookies: Value| {
        let mut entry = get(path, authorization, 200, "");
        entry["request"]["cookies"] = cookies;
        entry
    };
    let judged = |entries: &[Value]| {
        let (_, report) = verify_json(entries, &["--contract", contract.to_str().unwrap()]);
        let of = |entry: usize| (rules(&report, entry).join(" "), report["exchanges"][entry]["unchecked"].to_string());
        (0..entries.len()).map(of).collect::<Vec<_>>()
    };
    let pair = |rules: &str, unchecked: &str| (rules.to_owned(), unchecked.to_owned());
    let stripped = [pair("", r#"["request-parameters"]"#), pair("", r#"["auth"]"#)];
    assert_eq!(judged(&[sent("/needs", None, json!([])), sent("/keyed", None, json!([]))]), stripped);
    let jar = |value: &str| json!([{"name": "c", "value": value}, {"name": "sid", "value": "s"}]);
    let known = [sent("/needs", None, jar("5")), sent("/needs", None, jar("x")), sent("/keyed", None, jar("5"))];
    assert_eq!(judged(&known), [pair("", "[]"), pair("cookie.parameter", "[]"), pair("", "[]")]);
    // A file that keeps Authorization strips nothing.
    let kept = [sent("/needs", Some("Bearer x"), json!([])), sent("/keyed", Some("Bearer x"), json!([]))];
    assert_eq!(judged(&kept), [pair("cookie.parameter", "[]"), pair("auth.missing auth.unenforced", "[]")]);
}

#[test]
fn what_redact_made_of_an_export_verifies_without_blame() {
    let folder = tempfile::tempdir().unwrap();
    let export = folder.path().join("export.har");
    std::fs::write(&export, har::har(&[conforming()])).unwrap();
    let clean = folder.path().join("clean.har");
    let ran = run(["redact", export.to_str().unwrap(), "--out", clean.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(std::fs::read_to_string(&clean).unwrap().contains("Bearer !token-1!"));
    let ran = run(["verify", clean.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    assert_output("verify/credentials/what_redact_made_of_an_export_verifies_without_blame", &ran);
}

#[test]
fn a_token_of_an_entry_without_an_instant_is_unchecked() {
    let mut timeless = conforming();
    timeless["startedDateTime"] = "yesterday".into();
    let (status, report) = verify_json(&[timeless], &[]);
    assert_eq!((status, rules(&report, 0)), (0, vec![]));
    assert!(report["exchanges"][0]["unchecked"].as_array().unwrap().contains(&"auth".into()));
}

#[test]
fn one_authorization_at_the_end_of_the_file_makes_its_lack_a_violation_from_the_first_entry() {
    let path = "/api/v2/rate-limit-policies/rlp_1";
    let (status, report) = verify_json(&[get(path, None, 200, POLICY), get(path, None, 401, "{}"), conforming()], &[]);
    assert_eq!(status, 1);
    assert_eq!(rules(&report, 0), ["auth.missing", "auth.unenforced"]);
    assert_eq!(rules(&report, 1), ["auth.missing"]);
    assert_eq!(rules(&report, 2), Vec::<&str>::new());
    assert_eq!(report["summary"]["violates"], 2);
    let indices: Vec<&Value> = report["exchanges"].as_array().unwrap().iter().map(|e| &e["entry"]).collect();
    assert_eq!(indices, [0, 1, 2]);
    assert_output(
        "verify/credentials/one_authorization_makes_its_lack_a_violation",
        &verify_text(&[get(path, None, 200, POLICY), conforming()], &[]),
    );
}

#[test]
fn each_file_is_decided_on_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let stripped = har::har(&[get("/api/v2/rate-limit-policies/rlp_1", None, 200, POLICY)]);
    fs::write(folder.path().join("a.har"), &stripped).unwrap();
    fs::write(folder.path().join("b.har"), har::har(&[conforming()])).unwrap();
    let ran = run_in(folder.path(), ["verify", "b.har", "a.har", "b.har"]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("unchecked in a.har").count(), 1, "{}", ran.stdout);
}

#[test]
fn a_token_is_judged_at_the_instant_of_its_exchange_with_the_tolerance_given() {
    let expired = format!("Bearer {}", token("read:rate_limit_policies", NOON - 30));
    let entries = [get("/api/v2/rate-limit-policies/rlp_1", Some(&expired), 401, "{}")];
    let (status, report) = verify_json(&entries, &[]);
    assert_eq!(status, 1);
    assert_eq!(rules(&report, 0), ["auth.expired"]);
    assert_eq!(verify_json(&entries, &["--clock-skew", "31"]).0, 0);
}

#[test]
fn authorization_in_the_last_of_many_entries_settles_those_before_it() {
    let without = get("/api/v2/rate-limit-policies/rlp_1", None, 200, POLICY);
    let mut entries = vec![without; 1500];
    let (status, stripped) = verify_json(&entries, &[]);
    assert_eq!((status, &stripped["summary"]["conforms"]), (0, &1500.into()));
    assert_eq!(verify_text(&entries, &[]).status, 0);
    entries.push(conforming());
    let (status, report) = verify_json(&entries, &[]);
    assert_eq!((status, &report["summary"]["violates"]), (1, &1500.into()));
    assert_line(&verify_text(&entries, &[]).stdout, "  auth.missing  getRateLimitPolicy at Authorization  1500 times");
}

#[test]
fn signatures_are_checked_where_keys_are_given() {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
    let random = ring::rand::SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    let keys = serde_json::json!({"keys": [{"kty": "EC", "crv": "P-256", "kid": "k1", "use": "sig", "alg": "ES256",
        "x": BASE64.encode(x), "y": BASE64.encode(y)}]});
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("keys.json"), keys.to_string()).unwrap();

    let claims = serde_json::json!({"azp": "svc-1", "exp": NOON + 60, "scope": "read:rate_limit_policies"});
    let head = serde_json::json!({"alg": "ES256", "kid": "k1"});
    let signed = format!("{}.{}", BASE64.encode(head.to_string()), BASE64.encode(claims.to_string()));
    let signature = BASE64.encode(pair.sign(&random, signed.as_bytes()).unwrap());
    let other = BASE64.encode([7; 64]);
    let unknown = serde_json::json!({"alg": "ES256", "kid": "k9"});
    let unknown = format!("{}.{}.{other}", BASE64.encode(unknown.to_string()), BASE64.encode(claims.to_string()));
    let entries: Vec<Value> = [format!("{signed}.{signature}"), format!("{signed}.{other}"), unknown]
        .iter()
        .map(|token| get("/api/v2/rate-limit-policies/rlp_1", Some(&format!("Bearer {token}")), 401, "{}"))
        .collect();
    fs::write(folder.path().join("x.har"), har::har(&entries)).unwrap();

    let ran = run_in(folder.path(), ["verify", "--format", "json", "--jwks", "keys.json", "x.har"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(rules(&report, 0), Vec::<&str>::new());
    assert_eq!(rules(&report, 1), ["auth.signature"]);
    assert_eq!(rules(&report, 2), Vec::<&str>::new(), "the set lacks its key, and proves nothing");
    let reasons = report["exchanges"][2]["reasons"].as_array().unwrap();
    let why = reasons.iter().find(|reason| reason["aspect"] == "signature").unwrap();
    assert_eq!(why["reason"], "the given key set has no usable key `k9`, the token's `kid`");
    assert_eq!(ran.stderr, "", "the file has every token");
    let ran = run_in(folder.path(), ["verify", "x.har"]);
    assert_eq!(ran.status, 0, "without keys nobody can say: {}", ran.stdout);
    let audited = |keys: &[&str]| {
        let ran = run_in(folder.path(), [&["audit", "--format", "json", "x.har"], keys].concat());
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        (ran.status, report["rules"]["auth.signature"].as_u64())
    };
    assert_eq!(audited(&["--jwks", "keys.json"]), (1, Some(1)));
    assert_eq!(audited(&[]), (0, None));
    let ran = run_in(folder.path(), ["verify", "--jwks", "x.har", "x.har"]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
}
