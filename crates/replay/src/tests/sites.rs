//! Whose recordings answer: the tenant is one site under all its names, every other recorded host another one.

use super::*;

fn at(host: &str, target: &str) -> Request {
    Request { target: Target::new("https", host, target), ..request("GET", target) }
}

fn token(host: &str) -> Request {
    let body = r#"{"grant_type":"client_credentials","client_id":"a","client_secret":"s"}"#;
    Request { target: Target::new("https", host, "/oauth/token"), ..json("/oauth/token", body) }
}

fn named(upstream: Option<&str>, intercepted: &[&str], entries: Vec<Entry>) -> Replay {
    replay_with(Settings { names: Names::new(upstream, intercepted.iter().copied()), ..settings() }, entries)
}

#[test]
fn a_recorded_host_answers_with_its_own_recordings_and_a_host_that_was_never_recorded_with_none() {
    let replay = replay([says(at("users.test", "/items"), "users"), says(at("orders.test", "/items"), "orders")]);
    assert_eq!(body(&replay, &at("orders.test", "/items")), "orders");
    assert_eq!(body(&replay, &at("USERS.test:443", "/items")), "users");
    let miss = ask(&replay, &at("evil.test", "/items")).unwrap_err();
    let host = &miss.nearest[0].differences;
    assert_eq!(host.len(), 1, "{miss:?}");
    assert_eq!((&*host[0].place, host[0].yours.as_deref()), ("host", Some("evil.test:443")));
    // The reverse listener has no host: which of the two it stands for is anybody's guess.
    let miss = ask(&replay, &request("GET", "/items")).unwrap_err();
    assert_eq!(miss.nearest[0].differences[0].option.as_deref(), Some("--upstream https://users.test:443"));
    assert!(replay.proof().is_empty());
    let one = self::replay([says(at("users.test", "/items"), "users"), says(at("orders.test", "/other"), "orders")]);
    assert_eq!(body(&one, &request("GET", "/items")), "users");
    assert_eq!(body(&one, &at("orders.test", "/items")), "miss: unknown");
}

#[test]
fn the_tenant_is_one_site_under_all_its_names() {
    let entries = || vec![says(at("tenant.example", "/x"), "tenant"), says(at("other.test", "/x"), "other")];
    let replay = named(Some("https://up.test"), &["https://more.test", "https://other.test"], entries());
    for host in ["tenant.example", "up.test", "more.test"] {
        assert_eq!(body(&replay, &at(host, "/x")), "tenant", "{host}");
    }
    assert_eq!(body(&replay, &at("other.test", "/x")), "other", "intercepted, with recordings of its own");
    let kept = named(Some("https://other.test"), &[], vec![says(at("other.test", "/x"), "kept")]);
    assert_eq!(body(&kept, &request("GET", "/x")), "kept", "--keep-host");
}

#[test]
fn one_host_that_nothing_names_may_be_the_tenant_and_no_second_one() {
    let replay = replay([says(request("GET", "/x"), "x"), says(request("GET", "/y"), "y")]);
    assert_eq!(body(&replay, &at("mine.test", "/none")), "miss: unknown");
    let served = ask(&replay, &at("mine.test", "/x")).unwrap();
    assert_eq!(served.remarks, ["mine.test:443 is taken for the tenant"]);
    assert!(ask(&replay, &at("mine.test", "/y")).unwrap().remarks.is_empty());
    let miss = ask(&replay, &at("evil.test", "/x")).unwrap_err();
    assert_eq!(miss.nearest[0].differences[0].option.as_deref(), Some("--intercept evil.test:443"));
}

#[test]
fn only_the_tenants_token_endpoint_issues_tokens() {
    let entries = || vec![says(request("GET", "/x"), "x"), says(at("other.test", "/y"), "y")];
    let replay = named(Some("https://up.test"), &[], entries());
    for (host, is_tenants) in
        [("tenant.example", true), ("up.test", true), ("other.test", false), ("login.test", false)]
    {
        assert_eq!(ask(&replay, &token(host)).is_ok(), is_tenants, "{host}");
    }
    // Recorded once, it is the tenant's under the name that its client uses.
    let replay = self::replay([says(token("tenant.example"), r#"{"access_token":"t"}"#)]);
    assert!(ask(&replay, &token("login.test")).is_ok());
    assert!(ask(&replay, &token("evil.test")).is_err());
}

#[test]
fn vendors_under_new_ports_miss_and_never_get_each_others_answers() {
    let at = |port: u16, target: &str| Request {
        target: Target::new("http", format!("127.0.0.1:{port}"), target),
        ..request("GET", target)
    };
    // Recorded with --upstream and --intercept: one of them is the tenant.
    let entries = || vec![says(request("GET", "/g"), "g"), says(at(40_002, "/s"), "s"), says(at(40_002, "/g"), "s/g")];
    let replay = named(None, &["https://127.0.0.1:50001"], entries());
    assert_eq!(body(&replay, &at(50_001, "/g")), "g");
    assert_eq!(body(&replay, &at(50_001, "/s")), "miss: unknown");
    let miss = ask(&replay, &at(50_002, "/g")).unwrap_err();
    assert!(miss.nearest.iter().flat_map(|near| &near.differences).all(|one| one.option.is_none()), "{miss:?}");
    // Nothing says which of the two is the tenant.
    let entries = || vec![says(at(40_001, "/g"), "g"), says(at(40_002, "/s"), "s")];
    for names in [&["https://127.0.0.1:50001"][..], &["https://127.0.0.1:50001", "https://127.0.0.1:50002"], &[]] {
        for upstream in [None, Some("http://127.0.0.1:50001")] {
            let replay = named(upstream, names, entries());
            for (port, target) in [(50_001, "/g"), (50_001, "/s"), (50_002, "/g"), (50_002, "/s")] {
                assert_eq!(body(&replay, &at(port, target)), "miss: unknown", "{names:?} {upstream:?} {port}{target}");
            }
            assert_eq!(body(&replay, &at(40_002, "/s")), "s");
        }
    }
    let one = named(None, &["https://127.0.0.1:50001"], vec![says(at(40_001, "/g"), "g")]);
    assert_eq!(body(&one, &at(50_001, "/g")), "g", "there is no other vendor");
}
