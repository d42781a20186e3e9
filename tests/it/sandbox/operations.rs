//! What each operation answers, and what is refused.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use serde_json::json;

use super::{ACTION, CREDENTIAL, EVENT, GROUPS, POLICY, TEMPLATES};
use crate::support::tenant::{Live, START, presentation};

#[test]
fn every_policy_of_the_seed_is_read_back_as_it_stands_there() {
    let live = Live::start(&[]);
    let data: serde_json::Value = serde_json::from_str(contrail_sandbox::BUILT_IN_SEED).unwrap();
    let policies = data["rate_limit_policies"].as_array().unwrap();
    assert!(policies.len() >= 5);
    for policy in policies {
        let seen = live.call("GET", &format!("/rate-limit-policies/{}", policy["id"].as_str().unwrap()), "");
        assert_eq!((seen.status, &seen.json()), (200, policy));
    }
}

#[test]
fn the_templates_come_as_one_list() {
    let seen = Live::start(&[]).call("GET", TEMPLATES, "");
    assert_eq!(seen.status, 200);
    assert_eq!(seen.json()["connection_profile_templates"].as_array().unwrap().len(), 3);
}

#[test]
fn a_pager_that_encodes_each_token_sees_every_group_and_then_no_next() {
    let live = Live::start(&[]);
    let (mut groups, mut pages, mut query) = (0, 0, "take=50".to_owned());
    loop {
        let page = live.call("GET", &format!("{GROUPS}?{query}"), "").json();
        groups += page["groups"].as_array().unwrap().len();
        pages += 1;
        let Some(next) = page["next"].as_str() else { break };
        let encoded: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        assert!(encoded.contains("%2B") && encoded.contains("%2F") && encoded.contains("%3D"), "{next}");
        query = format!("from={encoded}&take=50");
    }
    assert_eq!((groups, pages), (240, 5));
}

#[test]
fn a_token_whose_plus_was_turned_into_a_space_is_refused() {
    let live = Live::start(&[]);
    let next = live.call("GET", GROUPS, "").json()["next"].as_str().unwrap().to_owned();
    assert_eq!(live.call("GET", &format!("{GROUPS}?from={next}"), "").status, 400);
}

#[test]
fn a_redelivery_is_accepted_without_a_body() {
    let seen = Live::start(&[]).call("POST", EVENT, "");
    assert_eq!((seen.status, seen.body.len(), seen.headers.contains("content-type")), (202, 0, false));
}

#[test]
fn a_patch_comes_back_and_stays() {
    let live = Live::start(&[]);
    let sent = json!({"name": "Night shift", "presentation": presentation("portrait", true)});
    for body in [sent.to_string(), "{}".to_owned()] {
        let seen = live.call("PATCH", CREDENTIAL, &body);
        assert_eq!(seen.status, 200);
        assert_eq!((&seen.json()["name"], &seen.json()["presentation"]), (&sent["name"], &sent["presentation"]));
    }
}

#[test]
fn an_action_gives_the_payload_as_it_results() {
    let seen = Live::start(&[]).call("POST", ACTION, r#"{"payload": {"order": 7}}"#);
    assert_eq!((seen.status, seen.json()), (200, json!({"payload": {"order": 7, "enriched": true}})));
}

#[test]
fn a_token_expires_by_the_tenants_clock() {
    let live = Live::start(&[]);
    assert_eq!(live.call("GET", POLICY, "").status, 200);
    live.pass(86_399);
    assert_eq!(live.call("GET", POLICY, "").status, 200);
    live.pass(1);
    assert_eq!(live.call("GET", POLICY, "").status, 401);
}

#[test]
fn a_token_of_another_tenants_key_is_forged() {
    let (ours, other) = (Live::start(&[]), Live::start(&[]));
    let bearer = format!("Bearer {}", other.token("sandbox-full"));
    let seen = ours.send("GET", &format!("/api/v2{POLICY}"), &[("authorization", &bearer)], "");
    assert_eq!((seen.status, &seen.json()["message"]), (401, &json!("JWT signature validation failed")));
    assert_eq!(seen.headers.get_str("www-authenticate"), Some("Bearer realm=\"tenant\""));
}

#[test]
fn the_published_key_verifies_the_tokens() {
    let live = Live::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jwks.json");
    std::fs::write(&file, live.send("GET", "/.well-known/jwks.json", &[], "").body).unwrap();
    let keys = contrail_exchange::token::Jwks::read(&file).unwrap();
    let seen = live.call("GET", POLICY, "");
    let credential =
        contrail_exchange::token::decode(&seen.sent.0, Some(seen.at), std::time::Duration::ZERO, Some(&keys));
    let facts = credential.facts().unwrap();
    assert_eq!(facts.signature, contrail_exchange::SignatureCheck::Good);
    assert_eq!(facts.client.as_deref(), Some("sandbox-full"));
    assert_eq!(facts.issuer.as_deref(), Some("https://tenant.example/"));
    assert_eq!(facts.lifetime, Some(86_400));
}

#[test]
fn a_throttled_client_gets_429_with_three_headers_on_any_operation_until_the_reset() {
    let live = Live::start(&[]);
    for path in [POLICY, TEMPLATES, GROUPS, POLICY, TEMPLATES] {
        assert_eq!(live.call_as("sandbox-throttled", "GET", path, "").status, 200);
    }
    for path in [POLICY, TEMPLATES, GROUPS] {
        let seen = live.call_as("sandbox-throttled", "GET", path, "");
        assert_eq!(seen.status, 429);
        assert_eq!(seen.headers.get_str("x-ratelimit-limit"), Some("5"));
        assert_eq!(seen.headers.get_str("x-ratelimit-remaining"), Some("0"));
        assert_eq!(seen.headers.get_str("x-ratelimit-reset"), Some((START + 10).to_string().as_str()));
    }
    live.pass(10);
    assert_eq!(live.call_as("sandbox-throttled", "GET", POLICY, "").status, 200);
}

#[test]
fn each_scope_is_required_on_its_own_operation() {
    let data = contrail_sandbox::BUILT_IN_SEED;
    let mut data: serde_json::Value = serde_json::from_str(data).unwrap();
    let all = data["clients"][0]["scopes"].as_array().unwrap().clone();
    let lacking = all.iter().map(|lacked| {
        let scopes: Vec<_> = all.iter().filter(|scope| *scope != lacked).collect();
        json!({"id": lacked, "secret": "s", "scopes": scopes})
    });
    data["clients"] = lacking.collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seed.json");
    std::fs::write(&file, data.to_string()).unwrap();
    let live = Live::with_seed(contrail_sandbox::Seed::load(&file).unwrap(), &[]);
    let operations = [
        ("GET", POLICY, ""),
        ("GET", TEMPLATES, ""),
        ("GET", GROUPS, ""),
        ("POST", EVENT, ""),
        ("PATCH", CREDENTIAL, "{}"),
        ("POST", ACTION, "{}"),
    ];
    for (place, lacked) in all.iter().enumerate() {
        for (asked, (method, path, body)) in operations.iter().enumerate() {
            let seen = live.call_as(lacked.as_str().unwrap(), method, path, body);
            assert_eq!(seen.status == 403, asked == place, "{method} {path} without {lacked}: {}", seen.status);
        }
    }
}

#[test]
fn bodies_that_are_no_json_object_or_form_are_refused_by_their_kind() {
    let live = Live::start(&[]);
    let bearer = format!("Bearer {}", live.token("sandbox-full"));
    for (media, body, status) in [
        ("application/json", "[]", 400),
        ("application/json", "{\"payload\": []}", 400),
        ("application/json", "{\"payload\": {}, \"payload\": {}}", 400),
        ("application/json; charset=utf-8", "{}", 200),
        ("APPLICATION/JSON", "{}", 200),
        ("application/x-www-form-urlencoded", "payload=%7B%22a%22%3A1%7D", 200),
        ("application/x-www-form-urlencoded", "payload=1", 400),
        ("application/x-www-form-urlencoded", "payload=%", 400),
        ("text/plain", "{}", 415),
    ] {
        for path in [ACTION, CREDENTIAL] {
            if path == CREDENTIAL && body.contains("payload") {
                continue;
            }
            let headers = [("authorization", bearer.as_str()), ("content-type", media)];
            let method = if path == ACTION { "POST" } else { "PATCH" };
            let seen = live.send(method, &format!("/api/v2{path}"), &headers, body);
            assert_eq!(seen.status, status, "{method} {media} {body}");
        }
    }
}

#[test]
fn tokens_are_given_at_both_paths_for_forms_and_json() {
    let live = Live::start(&[]);
    let secret = live.secret("sandbox-narrow").to_owned();
    let json = json!({
        "grant_type": "client_credentials", "client_id": "sandbox-narrow", "client_secret": secret,
        "audience": format!("https://{}/api/v2/", live.address), "organization": null,
    });
    let form =
        format!("grant_type=client_credentials&client_id=sandbox-narrow&client_secret={secret}&audience=/api/v2/");
    for path in ["/oauth/token", "/oauth/token/"] {
        for (media, body) in [("application/json", &json.to_string()), ("application/x-www-form-urlencoded", &form)] {
            let seen = live.send("POST", path, &[("content-type", media)], body);
            assert_eq!((seen.status, &seen.json()["token_type"]), (200, &json!("Bearer")), "{path} {media}");
            assert_eq!(seen.json()["expires_in"], 86_400);
            assert_eq!(seen.headers.get_str("cache-control"), Some("no-store"));
        }
    }
}

#[test]
fn one_connection_serves_one_request_after_another() {
    let live = Live::start(&[]);
    let mut stream = TcpStream::connect(live.address).unwrap();
    for _ in 0..2 {
        write!(stream, "GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut said = Vec::new();
        while !said.ends_with(b"}") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            said.push(byte[0]);
        }
        assert!(said.starts_with(b"HTTP/1.1 404 "));
    }
}

#[test]
fn an_answer_that_breaks_off_sends_half_and_closes() {
    let live = Live::start(&["transport.incomplete"]);
    let seen = live.call("GET", POLICY, "");
    let honest = Live::start(&[]).call("GET", POLICY, "");
    assert!(!seen.whole && honest.whole);
    assert_eq!(seen.body, honest.body[..honest.body.len() / 2]);
}

#[test]
fn a_rate_of_a_quarter_spoils_every_fourth_answer() {
    let live = Live::start(&["status.success=0.25"]);
    let said: Vec<u16> = (0..8).map(|_| live.call("GET", POLICY, "").status).collect();
    assert_eq!(said, [200, 200, 200, 201, 200, 200, 200, 201]);
}
