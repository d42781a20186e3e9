//! The token endpoint, by example.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;

use super::*;

fn token_request(body: &str) -> Request {
    with_body("POST", "/oauth/token", "application/x-www-form-urlencoded", body)
}

fn grant(client: &str) -> Request {
    token_request(&format!("grant_type=client_credentials&client_id={client}&client_secret=s"))
}

fn issued(replay: &Replay, request: &Request) -> (Value, Value, Vec<String>) {
    let served = ask(replay, request).unwrap();
    assert_eq!(served.answer.status, 200);
    let answer: Value = serde_json::from_slice(&served.answer.body.unwrap()).unwrap();
    let token = answer["access_token"].as_str().unwrap().to_owned();
    let parts: Vec<&str> = token.split('.').collect();
    assert_eq!(parts.len(), 3);
    assert_eq!(URL_SAFE_NO_PAD.decode(parts[2]).unwrap().len(), 64);
    let claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    (answer, claims, served.remarks)
}

#[test]
fn a_token_carries_the_scopes_recorded_for_the_requests_client_and_a_fresh_lifetime() {
    let body = r#"{"access_token":"LABEL-1","expires_in":"7200","token_type":"Bearer","extra":1}"#;
    let replay = replay([
        says(token_request("client_id=a&client_secret=LABEL-2"), body),
        says(by(request("GET", "/x"), "a", &["read:x", "read:y"]), "{}"),
        says(by(request("GET", "/x"), "b", &["read:z"]), "{}"),
    ]);
    let (answer, claims, remarks) = issued(&replay, &grant("a"));
    assert_eq!(answer["expires_in"], 7200);
    assert_eq!(answer["extra"], 1);
    assert_eq!(claims["scope"], "read:x read:y");
    assert_eq!((&claims["azp"], &claims["client_id"]), (&"a".into(), &"a".into()));
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 7200);
    assert_eq!(claims["iat"], 1_800_000_001_u64);
    assert!(remarks.is_empty(), "{remarks:?}");
    let unused: Vec<_> = replay.unused().into_iter().map(|(_, line)| line).collect();
    assert_eq!(unused, ["GET /x", "GET /x"], "the recorded token request counts as asked for");
}

#[test]
fn a_client_that_was_not_recorded_gets_the_union_of_scopes_with_a_remark() {
    let replay = replay([
        says(by(request("GET", "/x"), "a", &["read:x"]), "{}"),
        says(by(request("GET", "/x"), "b", &["read:z"]), "{}"),
    ]);
    let (answer, claims, remarks) = issued(&replay, &grant("stranger"));
    assert_eq!(claims["scope"], "read:x read:z");
    assert_eq!(answer["expires_in"], 86_400);
    assert_eq!(answer["token_type"], "Bearer");
    assert_eq!(
        remarks[0],
        "no scopes are recorded for client `stranger`; its token carries the union of all recorded scopes"
    );
}

#[test]
fn the_token_endpoint_takes_forms_json_and_basic_credentials_with_and_without_the_slash() {
    let replay = replay([says(by(request("GET", "/x"), "a b", &["read:x"]), "{}")]);
    let form = token_request("grant_type=client_credentials&client_id=a+b&audience=urn:x");
    assert_eq!(issued(&replay, &form).1["aud"], "urn:x");
    let json = json("/oauth/token/", r#"{"client_id":"a b","client_secret":"s","organization":null}"#);
    assert_eq!(issued(&replay, &json).1["azp"], "a b");
    let mut basic = token_request("grant_type=client_credentials");
    basic.headers.append(http::header::AUTHORIZATION, HeaderValue::from_static("Basic YSUyMGI6cw=="));
    assert_eq!(issued(&replay, &basic).1["scope"], "read:x");
    assert_eq!(body(&replay, &request("GET", "/oauth/token")), "miss: unknown");
}

#[test]
fn the_token_endpoint_never_runs_out() {
    let replay = replay([says(grant("a"), r#"{"access_token":"LABEL-1"}"#)]);
    for _ in 0..5 {
        issued(&replay, &grant("a"));
    }
}

#[test]
fn a_client_that_was_only_ever_refused_is_refused_as_recorded() {
    let replay = replay([answers(grant("bad"), 401, &[], r#"{"error":"access_denied"}"#), says(grant("a"), "{}")]);
    assert_eq!(ask(&replay, &grant("bad")).unwrap().answer.status, 401);
    assert_eq!(ask(&replay, &grant("a")).unwrap().answer.status, 200);
}

#[test]
fn a_request_without_a_client_id_stands_for_every_recorded_grant_since_its_token_carries_all_their_scopes() {
    for form in ["grant_type=client_credentials&client_id=&client_secret=s", "grant_type=client_credentials"] {
        let replay = replay([
            says(grant("a"), r#"{"access_token":"LABEL-1"}"#),
            answers(grant("bad"), 401, &[], r#"{"error":"access_denied"}"#),
            says(by(request("GET", "/x"), "a", &["read:x"]), "{}"),
            says(by(request("GET", "/x"), "b", &["read:z"]), "{}"),
        ]);
        let (_, claims, remarks) = issued(&replay, &token_request(form));
        assert_eq!((&claims["scope"], &claims["azp"]), (&"read:x read:z".into(), &Value::Null));
        assert_eq!(
            remarks[0],
            "the token request names no client (`client_id` is missing or empty); its token carries the union of all \
             recorded scopes"
        );
        let unused: Vec<_> = replay.unused().into_iter().map(|(_, line)| line).collect();
        assert_eq!(unused, ["POST /oauth/token", "GET /x", "GET /x"], "only the refused one was not asked for");
    }
}

#[test]
fn an_empty_client_id_gives_way_to_the_one_of_basic_credentials_and_to_its_own_recording() {
    let scope = r#"{"access_token":"LABEL-1","scope":"read:x"}"#;
    let empty = || token_request("grant_type=client_credentials&client_id=&client_secret=s");
    let replay = replay([
        says(empty(), scope),
        says(by(request("GET", "/x"), "a", &["read:x"]), "{}"),
        says(by(request("GET", "/x"), "b", &["read:z"]), "{}"),
    ]);
    let (_, claims, remarks) = issued(&replay, &empty());
    assert_eq!((claims["scope"].as_str(), remarks), (Some("read:x"), Vec::new()));
    let mut basic = empty();
    basic.headers.append(http::header::AUTHORIZATION, HeaderValue::from_static("Basic Yjpz"));
    assert_eq!(issued(&replay, &basic).1["scope"], "read:z");
}

#[test]
fn opaque_tokens_are_issued_as_recorded_each_to_its_own_user_without_end() {
    let login = |user: &str| token_request(&format!("grant_type=password&client_id=app&username={user}"));
    let me = |token: &str| {
        let mut request = request("GET", "/me");
        request.headers = headers(&[("authorization", &format!("Bearer {token}"))]);
        request.credential = Credential::Malformed("it is no JWT".to_owned());
        request
    };
    let granted = |user: &str| format!(r#"{{"access_token":"LABEL-{user}","user":"{user}"}}"#);
    let replay = replay([
        says(login("alice"), &granted("alice")),
        says(login("bob"), &granted("bob")),
        answers(login("mallory"), 401, &[], r#"{"error":"invalid_grant"}"#),
        says(me("LABEL-alice"), "alice"),
        says(me("LABEL-bob"), "bob"),
    ]);
    for user in ["bob", "alice", "bob"] {
        assert_eq!(body(&replay, &login(user)), granted(user));
        assert_eq!(body(&replay, &me(&format!("LABEL-{user}"))), user);
    }
    assert_eq!(ask(&replay, &login("mallory")).unwrap().answer.status, 401);
    assert_eq!(body(&replay, &login("nobody")), "miss: unknown");
}

#[test]
fn the_users_of_one_client_get_tokens_of_their_own_and_their_own_answers() {
    let login = |user: &str| token_request(&format!("grant_type=password&client_id=app&username={user}"));
    let me = |token: &str, facts: TokenFacts| {
        let mut request = request("GET", "/me");
        request.headers = headers(&[("authorization", &format!("Bearer {token}"))]);
        request.credential = Credential::Token(Arc::new(facts));
        request
    };
    // With `sub` alone, a user is a client.
    for client in [Some("app"), None] {
        let recorded = |user: &str, scope: &str| TokenFacts {
            client: Some(client.unwrap_or(user).to_owned()),
            user: client.map(|_| contrail_exchange::token::user_digest(user.as_bytes())),
            scopes: Some(vec![scope.to_owned()]),
            ..TokenFacts::default()
        };
        let granted = |user: &str| format!(r#"{{"access_token":"LABEL-{user}","expires_in":60,"user":"{user}"}}"#);
        let replay = replay([
            says(login("alice"), &granted("alice")),
            says(login("bob"), &granted("bob")),
            answers(login("mallory"), 401, &[], r#"{"error":"invalid_grant"}"#),
            says(me("LABEL-alice", recorded("alice", "read:a")), "alice"),
            says(me("LABEL-bob", recorded("bob", "read:b")), "bob"),
        ]);
        for (user, scope) in [("bob", "read:b"), ("alice", "read:a"), ("bob", "read:b")] {
            let (answer, claims, remarks) = issued(&replay, &login(user));
            assert_eq!((&answer["user"], &claims["scope"]), (&user.into(), &scope.into()));
            assert!(remarks.is_empty(), "{remarks:?}");
            let token = answer["access_token"].as_str().unwrap();
            let mut request = request("GET", "/me");
            request.headers = headers(&[("authorization", &format!("Bearer {token}"))]);
            request.credential = contrail_exchange::token::decode(&request.headers, None, Duration::ZERO, None);
            assert_eq!(body(&replay, &request), user);
        }
        assert_eq!(ask(&replay, &login("mallory")).unwrap().answer.status, 401);
        assert_eq!(body(&replay, &login("nobody")), "miss: unknown");
    }
}
