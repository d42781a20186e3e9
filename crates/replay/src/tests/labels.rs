//! Requests that differ in what redaction replaced.

use super::*;

fn with(mut request: Request, fields: &[(&str, &str)]) -> Request {
    request.headers = headers(fields);
    request
}

fn me(name: &str, value: &str) -> Request {
    with(request("GET", "/me"), &[(name, value)])
}

#[test]
fn a_live_label_gets_the_answer_of_its_own_label_in_any_order() {
    for (field, scheme) in [("authorization", "Bearer "), ("cookie", "theme=dark; sid="), ("x-api-key", "")] {
        let me = |value: &str| me(field, &format!("{scheme}{value}"));
        let replay = replay([says(me("LABEL-1"), "alice"), says(me("LABEL-2"), "bob")]);
        for (value, who) in [("LABEL-2", "bob"), ("LABEL-1", "alice"), ("LABEL-2", "bob"), ("LABEL-2", "bob")] {
            assert_eq!(body(&replay, &me(value)), who, "{field}: {value}");
        }
        assert!(replay.proof().is_empty() && replay.unused().is_empty());
    }
}

#[test]
fn an_unknown_value_stays_with_the_label_that_it_was_taken_for_first() {
    let me = |value: &str| me("x-api-key", value);
    let at = |path: &str, value: &str| with(request("GET", path), &[("x-api-key", value)]);
    let replay = replay([
        says(at("/who", "LABEL-2"), "bob"),
        says(me("LABEL-1"), "alice"),
        says(me("LABEL-2"), "bob"),
        says(me("LABEL-1"), "alice again"),
    ]);
    assert_eq!(body(&replay, &at("/who", "key-b")), "bob");
    for (value, who) in [("key-b", "bob"), ("key-a", "alice"), ("key-b", "bob"), ("key-a", "alice again")] {
        assert_eq!(body(&replay, &me(value)), who, "{value}");
    }
    assert_eq!(body(&replay, &me("key-c")), "alice again", "a third one gets what there is");
}

#[test]
fn a_value_that_has_used_up_its_label_gets_what_no_other_value_has() {
    let post = |value: &str| with(json("/x", "{}"), &[("content-type", "application/json"), ("x-api-key", value)]);
    let replay =
        replay([says(post("LABEL-1"), "first run"), says(post("LABEL-2"), "other"), says(post("LABEL-3"), "appended")]);
    assert_eq!(body(&replay, &post("key")), "first run");
    assert_eq!(body(&replay, &post("LABEL-2")), "other");
    assert_eq!(body(&replay, &post("key")), "appended", "the same key has another label in an appended recording");
    assert_eq!(body(&replay, &post("key")), "miss: exhausted");
    assert_eq!(body(&replay, &post("LABEL-2")), "miss: exhausted", "a label is no other one");
}

#[test]
fn a_label_elsewhere_than_in_the_header_is_a_part_of_the_request() {
    let mut login = json("/x", r#"{"pin":"LABEL-5"}"#);
    login.body.redacted = vec!["/pin".to_owned()];
    let entries =
        || [says(request("GET", "/u/LABEL-1?t=LABEL-2"), "one"), says(request("GET", "/u/LABEL-3?t=LABEL-4"), "two")];
    let replay = replay(entries().into_iter().chain([says(login, "in")]));
    assert_eq!(body(&replay, &request("GET", "/u/LABEL-3?t=LABEL-4")), "two");
    assert_eq!(body(&replay, &request("GET", "/u/LABEL-1?t=LABEL-2")), "one");
    assert_eq!(body(&replay, &request("GET", "/u/%4CABEL-3?t=any")), "two", "one that is known decides for both");
    assert_eq!(body(&replay, &json("/x", r#"{"pin":"any"}"#)), "in");
    let miss = ask(&replay, &json("/x", r#"{"pin":"LABEL-6"}"#)).unwrap_err();
    assert_eq!(miss.reason, Reason::Unknown);
    let differences = &miss.nearest[0].differences;
    assert_eq!(differences.len(), 1);
    assert_eq!(differences[0].place, "body at `/pin`");
    assert_eq!(differences[0].yours.as_deref(), Some("LABEL-6"));
    assert_eq!(differences[0].fixture.as_deref(), Some("LABEL-5"));
    assert_eq!(differences[0].option, None, "ignored, it would give the answer to another secret");
    let ignore = ignoring(&["query:t"], entries());
    assert_eq!(body(&ignore, &request("GET", "/u/LABEL-1?t=LABEL-4")), "one");
}

#[test]
fn the_user_of_a_basic_credential_is_a_caller() {
    let get = |user: Option<&str>| {
        let mut request = request("GET", "/me");
        request.credential = Credential::OtherScheme { scheme: "Basic".into(), user: user.map(str::to_owned) };
        request
    };
    let replay = replay([says(get(Some("a")), "alice"), says(get(Some("b")), "bob")]);
    for (user, who) in [(Some("b"), "bob"), (Some("a"), "alice"), (Some("b"), "bob"), (None, "bob")] {
        assert_eq!(body(&replay, &get(user)), who);
    }
}

#[test]
fn users_of_one_client_are_callers_and_a_new_one_gets_what_no_other_has() {
    let get = |user: Option<&str>, token: &str| {
        let mut request = me("authorization", &format!("Bearer {token}"));
        request.credential = Credential::Token(Arc::new(TokenFacts {
            client: Some("app".to_owned()),
            user: user.map(str::to_owned),
            ..TokenFacts::default()
        }));
        request
    };
    let recorded = || [says(get(Some("a"), "LABEL-1"), "alice"), says(get(Some("b"), "LABEL-2"), "bob")];
    let replay = self::replay(recorded());
    assert!(replay.proof().is_empty());
    for (user, who) in [("b", "bob"), ("a", "alice"), ("b", "bob")] {
        assert_eq!(body(&replay, &get(Some(user), "any")), who);
    }
    let replay = self::replay(recorded());
    for (user, token, who) in [("x", "1", "alice"), ("y", "2", "bob"), ("x", "1", "alice"), ("y", "2", "bob")] {
        assert_eq!(body(&replay, &get(Some(user), token)), who, "a user of this run: {user}");
    }
    let old = self::replay([says(get(None, "LABEL-1"), "first"), says(get(None, "LABEL-1"), "second")]);
    for who in ["first", "second", "second"] {
        assert_eq!(body(&old, &get(Some("a"), "any")), who, "a fixture that knows no users");
    }
}

#[test]
fn an_opaque_token_is_not_taken_for_the_jwt_of_a_caller_that_is_known() {
    let jwt = |token: &str| by(me("authorization", &format!("Bearer {token}")), "app", &[]);
    let opaque = |token: &str| Request {
        credential: Credential::Malformed("no JWT".to_owned()),
        ..me("authorization", &format!("Bearer {token}"))
    };
    let recorded = || [says(jwt("LABEL-1"), "in"), says(opaque("LABEL-2"), "out"), says(jwt("LABEL-1"), "in")];
    let replay = self::replay(recorded());
    for (request, who) in [(jwt("a"), "in"), (opaque("b"), "out"), (jwt("a"), "in"), (opaque("b"), "out")] {
        assert_eq!(body(&replay, &request), who);
    }
    let replay = self::replay(recorded());
    for (token, who) in [("placeholder", "in"), ("b", "out"), ("placeholder", "in")] {
        assert_eq!(body(&replay, &opaque(token)), who, "a token of this run in place of the JWT");
    }
}

#[test]
fn what_another_tool_recorded_in_clear_is_compared_as_it_stands_there() {
    let me = |value: &str| me("authorization", value);
    let settings = Settings {
        redact: Arc::new(|request: &Request| with(request.clone(), &[("authorization", "Bearer LABEL-1")])),
        ..settings()
    };
    let mut builder = Builder::new(settings).unwrap();
    builder.source("a.har");
    for entry in [says(me("Bearer alice"), "alice"), says(me("Bearer bob"), "bob")] {
        let prepared = builder.preparer().prepare(entry, true);
        builder.push(prepared);
    }
    let replay = builder.finish();
    assert_eq!(body(&replay, &me("Bearer bob")), "bob");
    assert_eq!(body(&replay, &me("Bearer alice")), "alice");
    assert!(replay.proof().is_empty());
}

#[test]
fn a_header_field_or_a_cookie_that_tells_callers_apart_keeps_their_answers_apart() {
    let with = |name: &str, value: &str| Request { headers: headers(&[(name, value)]), ..request("POST", "/x") };
    for (rule, name, values) in [
        ("header:X-Team", "x-team", ["a", "b", "c", "d"]),
        ("cookie:team", "cookie", ["v=1; team=a", "v=2; team=b", "v=3; team=c", "team=d"]),
    ] {
        let entries = values[..2].iter().map(|value| says(with(name, value), value));
        let rules = MatchRules { caller: vec![rule.parse().unwrap()], ..MatchRules::default() };
        let replay = replay_with(Settings { rules, ..settings() }, entries);
        let [a, b, c, d] = values;
        assert_eq!(body(&replay, &with(name, b)), b);
        assert_eq!(body(&replay, &with(name, b)), "miss: exhausted", "never the other one's");
        assert_eq!(body(&replay, &with(name, a)), a);
        // Others get in recorded order what nobody else has.
        let entries = values[..2].iter().map(|value| says(with(name, value), value));
        let rules = MatchRules { caller: vec![rule.parse().unwrap()], ..MatchRules::default() };
        let replay = replay_with(Settings { rules, ..settings() }, entries);
        assert_eq!(body(&replay, &with(name, c)), a);
        assert_eq!(body(&replay, &with(name, d)), b);
    }
    assert!("basic".parse::<CallerRule>().is_err() && "cookie:".parse::<CallerRule>().is_err());
}
