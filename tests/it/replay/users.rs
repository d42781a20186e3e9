//! Two users ask the same, and the replay has them in another order.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::*;
use crate::support::wire::Origin;

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// What a user sends, made of what the login gave.
type Credential = fn(user: &str, given: &str) -> (&'static str, String);

fn login(to: SocketAddr, user: &str) -> String {
    let body = format!(r#"{{"user":"{user}"}}"#);
    let answer = wire::call(to, "POST", "/login", &[JSON], body.as_bytes()).json();
    answer["api_key"].as_str().unwrap().to_owned()
}

fn who(to: SocketAddr, (field, value): &(&str, String)) -> Value {
    wire::call(to, "GET", "/me", &[(field, value)], b"").json()["who"].clone()
}

#[test]
fn two_users_get_their_own_answers_in_any_order() {
    let credentials: [Credential; 5] = [
        |_, given| ("Authorization", format!("Bearer {given}")),
        |_, given| ("Cookie", format!("lang=en; sid={given}")),
        |user, _| {
            ("Authorization", format!("Basic {}", if user == "alice" { "YWxpY2U6cHctMQ==" } else { "Ym9iOnB3LTI=" }))
        },
        |_, given| ("X-Api-Key", given.to_owned()),
        |user, _| {
            let claims = if user == "alice" {
                "eyJhenAiOiJhcHAiLCJzdWIiOiJhbGljZSJ9"
            } else {
                "eyJhenAiOiJhcHAiLCJzdWIiOiJib2IifQ"
            };
            ("Authorization", format!("Bearer eyJhbGciOiJSUzI1NiJ9.{claims}.c2lnbmF0dXJl"))
        },
    ];
    for credential in credentials {
        let workspace = Workspace::new();
        let origin = Origin::start();
        let answer = |body: &str| {
            let length = body.len();
            origin.will_answer(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            ));
        };
        for user in ["alice", "bob"] {
            answer(&format!(r#"{{"user":"{user}","api_key":"3f9c0a7b51d2{user}e8f64c1d"}}"#));
        }
        for user in ["alice", "bob"] {
            answer(&format!(r#"{{"who":"{user}"}}"#));
        }
        let upstream = format!("http://{}", origin.address);
        let record = ["record", "--listen", "127.0.0.1:0", "--upstream", &upstream, "--out", "fx"];
        let record = Running::start(workspace.path(), record);
        let users = ["alice", "bob"].map(|user| credential(user, &login(record.address, user)));
        assert_eq!(users.each_ref().map(|user| who(record.address, user)), ["alice", "bob"]);
        let ran = record.finish();
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(!ran.stderr.contains("in a secret only"), "{}", ran.stderr);

        let replay = workspace.replay(&["fx"]);
        let [alice, bob] = ["alice", "bob"].map(|user| credential(user, &login(replay.address, user)));
        for (user, name) in [(&bob, "bob"), (&alice, "alice"), (&alice, "alice"), (&bob, "bob")] {
            assert_eq!(who(replay.address, user), name, "{user:?}");
        }
        assert_eq!(replay.finish().status, 0);
    }
}

#[test]
fn a_recording_counts_the_requests_that_differ_in_a_secret_that_no_answer_gave() {
    let note = "requests that differ from another one in a secret only; replay answers them in recorded order: 2";
    for (answers, counts) in [(["alice", "bob"], true), (["anybody", "anybody"], false)] {
        let workspace = Workspace::new();
        let origin = Origin::start();
        for body in answers {
            let length = body.len();
            origin.will_answer(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"));
        }
        let upstream = format!("http://{}", origin.address);
        let record = ["record", "--listen", "127.0.0.1:0", "--upstream", &upstream, "--out", "fx"];
        let record = Running::start(workspace.path(), record);
        for key in ["3f9c0a7b51d2e8f64c1d", "a81b0c2d94e7f6053b2e"] {
            wire::call(record.address, "GET", "/me", &[("X-Api-Key", key)], b"");
        }
        let ran = record.finish();
        assert_eq!((ran.status, ran.stderr.contains(note)), (0, counts), "{}", ran.stderr);
    }
}

#[test]
fn users_of_two_fixtures_get_their_own_answers_though_their_labels_read_the_same() {
    let workspace = Workspace::new();
    for user in ["alice", "bob"] {
        let origin = Origin::start();
        let key = format!("3f9c0a7b51d2{user}e8f64c1d");
        for body in [format!(r#"{{"user":"{user}","api_key":"{key}"}}"#), format!(r#"{{"who":"{user}"}}"#)] {
            let length = body.len();
            origin.will_answer(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            ));
        }
        let upstream = format!("http://{}", origin.address);
        let out = format!("fixtures/{user}");
        let record = ["record", "--listen", "127.0.0.1:0", "--upstream", &upstream, "--out", &out];
        let record = Running::start(workspace.path(), record);
        assert_eq!(login(record.address, user), key);
        assert_eq!(who(record.address, &("X-Api-Key", key)), user);
        assert_eq!(record.finish().status, 0);
    }
    for fixtures in [&["fixtures/alice", "fixtures/bob"][..], &["fixtures/bob", "fixtures/alice"], &["fixtures"]] {
        let replay = workspace.replay(fixtures);
        let keys = ["bob", "alice"].map(|user| ("X-Api-Key", login(replay.address, user)));
        for _ in 0..2 {
            assert_eq!(keys.each_ref().map(|key| who(replay.address, key)), ["bob", "alice"], "{fixtures:?}");
        }
        assert_eq!(replay.finish().status, 0);
    }
}

#[test]
fn an_answer_that_was_recorded_with_a_credential_says_so_to_a_request_without_one() {
    let credentials = [("Authorization", "Bearer 3f9c0a7b51d2e8f64c1d"), ("X-Api-Key", "3f9c0a7b51d2e8f64c1d")];
    for (field, value) in credentials.into_iter().chain([("Cookie", "lang=en; sid=3f9c0a7b51d2e8f64c1d")]) {
        let workspace = Workspace::new();
        let origin = Origin::start();
        origin.will_answer(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"who\":\"bob\"}",
        );
        let upstream = format!("http://{}", origin.address);
        let record = ["record", "--listen", "127.0.0.1:0", "--upstream", &upstream, "--out", "fx"];
        let record = Running::start(workspace.path(), record);
        who(record.address, &(field, value.to_owned()));
        record.finish();
        let remark = "although it was recorded with a credential, and this request has none";
        for (fields, is_remarked) in [(&[(field, "any")][..], false), (&[("Accept", "*/*")], true)] {
            let fields = if field == "Cookie" && !is_remarked { &[(field, "sid=any")][..] } else { fields };
            let replay = workspace.replay(&["fx"]);
            assert_eq!(wire::call(replay.address, "GET", "/me", fields, b"").status(), 200);
            let ran = replay.finish();
            assert_eq!((ran.status, ran.stderr.contains(remark)), (0, is_remarked), "{field}: {}", ran.stderr);
        }
    }
}

#[test]
fn clients_whose_token_requests_differ_in_a_header_field_only_keep_their_tokens_apart() {
    for [alice, bob] in [
        [("Authorization", "Basic YWxpY2U6cHctMQ=="), ("Authorization", "Basic Ym9iOnB3LTE=")],
        [("X-User", "alice"), ("X-User", "bob")],
    ] {
        let workspace = Workspace::new();
        let origin = Origin::start();
        for body in [
            r#"{"access_token":"3f9c0a7b51d2e8f64c1d"}"#,
            r#"{"access_token":"a81b0c2d94e7f6053b2e"}"#,
            r#"{"who":"alice"}"#,
            r#"{"who":"bob"}"#,
        ] {
            let length = body.len();
            origin.will_answer(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            ));
        }
        let token = |to: SocketAddr, field: (&str, &str)| {
            let answer = wire::call(to, "POST", "/v1/token", &[field], b"").json();
            ("Authorization", format!("Bearer {}", answer["access_token"].as_str().unwrap()))
        };
        let upstream = format!("http://{}", origin.address);
        let record = ["record", "--listen", "127.0.0.1:0", "--upstream", &upstream, "--out", "fx"];
        let record = Running::start(workspace.path(), record);
        let users = [alice, bob].map(|field| token(record.address, field));
        assert_eq!(users.each_ref().map(|user| who(record.address, user)), ["alice", "bob"]);
        assert_eq!(record.finish().status, 0);

        let replay = workspace.replay(&["fx"]);
        let users = [bob, alice].map(|field| token(replay.address, field));
        assert_eq!(users.each_ref().map(|user| who(replay.address, user)), ["bob", "alice"], "{alice:?}");
        assert_eq!(replay.finish().status, 0);
    }
}

#[test]
fn a_token_that_no_contract_names_is_as_old_in_a_replay_as_it_was_when_it_was_recorded() {
    let (workspace, origin) = (Workspace::new(), Origin::start());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let encoded = |claims: Value| URL_SAFE_NO_PAD.encode(claims.to_string());
    let (head, users) = (encoded(json!({"alg": "RS256"})), ["alice", "bob"]);
    let tokens = users.map(|user| {
        let claims =
            json!({"iss": "https://vendor.test/", "azp": "app", "sub": user, "iat": now(), "exp": now() + 300});
        format!("{head}.{}.c2lnbmF0dXJl", encoded(claims))
    });
    let answers = tokens.iter().map(|token| json!({"session": {"token": token, "expires_at": now() + 3600}}));
    for body in answers.chain(users.map(|user| json!({"who": user}))).map(|body| body.to_string()) {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json";
        origin.will_answer(format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    }
    let session = |to: SocketAddr, user: &str| -> Value {
        let body = format!(r#"{{"user":"{user}"}}"#);
        wire::call(to, "POST", "/sessions", &[JSON], body.as_bytes()).json()["session"].clone()
    };
    let bearer = |session: &Value| ("Authorization", format!("Bearer {}", session["token"].as_str().unwrap()));
    let upstream = format!("vendor=http://{}", origin.address);
    let record = ["record", "--listen", "127.0.0.1:0", "--upstream", &upstream, "--contract", "none", "--out", "fx"];
    let record = Running::start(workspace.path(), record);
    let sessions = users.map(|user| session(record.address, user));
    assert_eq!(sessions.each_ref().map(|session| who(record.address, &bearer(session))), users);
    let ran = record.finish();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let fixture = workspace.path().join("fx");
    let bodies = fs::read_dir(&fixture).unwrap().map(|item| fs::read_to_string(item.unwrap().path()).unwrap());
    assert_eq!(bodies.filter(|body| body.contains("\"expires_at\": 4102448400")).count(), 2, "an hour after 2100");
    let replay = ["replay", "fx", "--listen", "127.0.0.1:0", "--contract", "none", "--deny", "unused"];
    let replay = Running::start(workspace.path(), replay);
    for user in ["bob", "alice"] {
        let before = now();
        let session = session(replay.address, user);
        let expiry = session["expires_at"].as_u64().unwrap();
        assert!((before + 3600..=now() + 3600).contains(&expiry), "{session}");
        let claims = session["token"].as_str().unwrap().split('.').nth(1).expect("a JWT");
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
        assert!((before..=now()).contains(&claims["iat"].as_u64().unwrap()), "{claims}");
        assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 300);
        assert_eq!((&claims["iss"], &claims["azp"]), (&json!("https://vendor.test/"), &json!("app")));
        assert_eq!(who(replay.address, &bearer(&session)), user);
    }
    assert_eq!(replay.finish().status, 0);
}
