//! The tenant driven as a value, at instants that the test names.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use contrail_proxy::upstream::{self, Upstream};
use http::Method;
use serde_json::{Value, json};

use super::*;

const NOW: u64 = 1_800_000_000;

struct Driver {
    tenant: Tenant,
    now: SystemTime,
}

impl Driver {
    fn new(misbehaviours: &[&str]) -> Self {
        let misbehaviours: Vec<_> = misbehaviours.iter().map(|text| text.parse().unwrap()).collect();
        let tenant = Tenant::new(Seed::built_in().unwrap(), &misbehaviours).unwrap();
        Self { tenant, now: SystemTime::UNIX_EPOCH + Duration::from_secs(NOW) }
    }

    fn send(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let method = method.parse().unwrap();
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let body = Bytes::from(body.to_owned());
        self.tenant.answer(&Ask { method: &method, target, headers: &headers, body: &body }, self.now)
    }

    fn token(&self, client: &str) -> String {
        let secret = self.tenant.client(client).unwrap().secret.clone().unwrap();
        let body = json!({
            "grant_type": "client_credentials", "client_id": client, "client_secret": secret,
            "audience": "/api/v2/", "organization": null,
        });
        let answer = self.send("POST", "/oauth/token", &[("content-type", "application/json")], &body.to_string());
        assert_eq!(answer.status, 200);
        value(&answer)["access_token"].as_str().unwrap().to_owned()
    }

    /// Sends with the token of the client that may do everything.
    fn call(&self, method: &str, path: &str, body: &str) -> Answer {
        self.call_as("sandbox-full", method, path, body)
    }

    fn call_as(&self, client: &str, method: &str, path: &str, body: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token(client));
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        self.send(method, &format!("/api/v2{path}"), &headers, body)
    }
}

fn value(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

const POLICY: &str = "/rate-limit-policies/rlp_Default000000000000000";
const TEMPLATE: &str = "/verifiable-credentials/verification/templates/vct_DrivingLicence00000000";
const GROUPS: &str = "/connections/con_Directory/directory-provisioning/synchronized-groups";
const EVENT: &str = "/event-streams/est_Orders0000000000000000/redeliver/evt_EndpointIsBack00000000";

#[test]
fn pages_of_groups_end_with_every_group_seen_once() {
    let driver = Driver::new(&[]);
    let mut seen = Vec::new();
    let mut from = String::new();
    loop {
        let page = value(&driver.call("GET", &format!("{GROUPS}?take=100&from={from}"), ""));
        seen.extend(page["groups"].as_array().unwrap().iter().map(|group| group["id"].as_str().unwrap().to_owned()));
        let Some(next) = page.get("next") else { break };
        let next = next.as_str().unwrap();
        assert!(next.contains(['+']) && next.contains('/') && next.contains('='), "{next}");
        from = next.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    }
    let all: Vec<String> = (1..=240).map(|n| format!("grp_{n:06}")).collect();
    assert_eq!(seen, all);
}

#[test]
fn a_page_may_also_start_from_the_id_of_a_group() {
    let page = value(&Driver::new(&[]).call("GET", &format!("{GROUPS}?from=grp_000239"), ""));
    assert_eq!(page, json!({"groups": [{"id": "grp_000239"}, {"id": "grp_000240"}]}));
}

#[test]
fn a_page_holds_50_groups_unless_take_says_otherwise() {
    let driver = Driver::new(&[]);
    for (query, expected) in [("", 50), ("?q=undocumented", 50), ("?take=1", 1), ("?take=100", 100)] {
        let page = value(&driver.call("GET", &format!("{GROUPS}{query}"), ""));
        assert_eq!(page["groups"].as_array().unwrap().len(), expected, "{query}");
    }
}

#[test]
fn a_take_outside_1_to_100_and_an_unknown_from_are_refused() {
    let driver = Driver::new(&[]);
    for query in ["take=0", "take=101", "take=-1", "take=5.0", "take=", "take=5&take=5", "from=nobody", "from=%ff"] {
        assert_eq!(driver.call("GET", &format!("{GROUPS}?{query}"), "").status, 400, "{query}");
    }
}

#[test]
fn an_event_that_has_arrived_is_no_failed_event_any_more() {
    let driver = Driver::new(&[]);
    let first = driver.call("POST", EVENT, "");
    assert_eq!((first.status.as_u16(), first.body.len()), (202, 0));
    assert_eq!(driver.call("POST", EVENT, "").status, 404);
    let lasting = EVENT.replace("evt_EndpointIsBack00000000", "evt_EndpointStaysDown00000");
    for _ in 0..3 {
        assert_eq!(driver.call("POST", &lasting, "").status, 202);
    }
}

#[test]
fn a_patch_changes_what_was_sent_and_the_clock_is_the_seeds() {
    let driver = Driver::new(&[]);
    let first = value(&driver.call("PATCH", TEMPLATE, r#"{"name": "Grüße", "version": 3.0, "colour": "red"}"#));
    assert_eq!(first["name"], "Grüße");
    assert_eq!(first["updated_at"], "2026-01-15T09:30:00Z");
    assert_eq!(first["created_at"], "2026-01-12T08:15:00Z");
    assert_eq!((first.get("version"), first.get("colour")), (None, None));
    let nothing = value(&driver.call("PATCH", TEMPLATE, "{}"));
    assert_eq!(nothing, first);
    let second = value(&driver.call("PATCH", TEMPLATE, r#"{"type": "other"}"#));
    assert_eq!(second["updated_at"], "2026-01-15T09:30:01Z");
    assert_eq!((&second["name"], &second["type"]), (&first["name"], &json!("other")));
}

#[test]
fn a_patch_may_be_a_form_with_json_in_a_field() {
    let driver = Driver::new(&[]);
    let bearer = format!("Bearer {}", driver.token("sandbox-full"));
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/x-www-form-urlencoded")];
    let body = "name=a+b%26c&version=2&presentation=%7B%22org.iso.18013.5.1.mDL%22%3A%7B%22org.iso.18013.5.1%22%3A%7B%22portrait%22%3Atrue%7D%7D%7D";
    let patched = value(&driver.send("PATCH", &format!("/api/v2{TEMPLATE}"), &headers, body));
    assert_eq!(patched["name"], "a b&c");
    assert_eq!(patched["presentation"]["org.iso.18013.5.1.mDL"]["org.iso.18013.5.1"], json!({"portrait": true}));
}

#[test]
fn each_limit_of_a_patch_holds_at_its_bound_and_is_refused_beyond() {
    let driver = Driver::new(&[]);
    let of = |length| "é".repeat(length);
    let good = [
        json!({"name": of(255)}),
        json!({"type": "x"}),
        json!({"dialect": "simplified/1x0"}),
        json!({"well_known_trusted_issuers": "aamva"}),
        json!({"version": -7}),
        json!({"presentation": {"org.iso.18013.5.1.mDL": {"org.iso.18013.5.1": {}}}}),
    ];
    let bad = [
        json!({"name": ""}),
        json!({"name": of(256)}),
        json!({"name": null}),
        json!({"type": of(256)}),
        json!({"dialect": "simplified/10"}),
        json!({"dialect": "simplified/1.0 "}),
        json!({"dialect": "simplified/1\n0"}),
        json!({"well_known_trusted_issuers": "AAMVA"}),
        json!({"version": 1.5}),
        json!({"version": "1"}),
        json!({"presentation": {}}),
        json!({"presentation": {"org.example": {"org.iso.18013.5.1": {}}}}),
        json!({"presentation": {"org.iso.18013.5.1.mDL": {"org.example": {}}}}),
        json!({"presentation": {"org.iso.18013.5.1.mDL": {"org.iso.18013.5.1": {}}, "x": {}}}),
        json!({"presentation": {"org.iso.18013.5.1.mDL": {"org.iso.18013.5.1": {"portrait": "yes"}}}}),
        json!({"presentation": {"org.iso.18013.5.1.mDL": {"org.iso.18013.5.1": {"shoe_size": true}}}}),
        json!({"presentation": {"org.iso.18013.5.1.mDL": {"org.iso.18013.5.1": {}, "x": {}}}}),
        json!([]),
    ];
    for (bodies, expected) in [(&good[..], 200), (&bad[..], 400)] {
        for body in bodies {
            assert_eq!(driver.call("PATCH", TEMPLATE, &body.to_string()).status, expected, "{body}");
        }
    }
    for body in ["", "{", "{\"name\":\"a\",\"name\":\"b\"}", "\u{feff}{}"] {
        assert_eq!(driver.call("PATCH", TEMPLATE, body).status, 400, "{body:?}");
    }
}

#[test]
fn an_action_leaves_every_digit_of_what_it_does_not_set() {
    let deep = format!("{}{}", "[".repeat(1500), "]".repeat(1500));
    let sent = format!(r#"{{"payload": {{"n": 1e400, "enriched": false, "tiny": 1.00, "deep": {deep}}}}}"#);
    let answer = Driver::new(&[]).call("POST", "/actions/actions/act_Enrich/test", &sent);
    let expected = format!(r#"{{"payload":{{"n":1e400,"tiny":1.00,"deep":{deep},"enriched":true}}}}"#);
    assert_eq!(std::str::from_utf8(&answer.body).unwrap(), expected);
}

#[test]
fn an_odd_id_reaches_its_action_in_any_encoding() {
    let driver = Driver::new(&[]);
    for id in ["act%7Cteam%2Fdeploy%201", "act|team%2fdeploy%201"] {
        let answer = driver.call("POST", &format!("/actions/actions/{id}/test"), "{}");
        assert_eq!(value(&answer), json!({"payload": {"path": "odd ids pass raw"}}));
    }
    assert_eq!(driver.call("POST", "/actions/actions/act|team%252Fdeploy%201/test", "{}").status, 404);
}

#[test]
fn each_refusal_of_the_document_has_its_status() {
    let driver = Driver::new(&[]);
    let path = format!("/api/v2{POLICY}");
    let full = driver.token("sandbox-full");
    let (signed, _) = full.rsplit_once('.').unwrap();
    let forged = format!("{signed}.{}", "A".repeat(86));
    assert_eq!(driver.send("GET", &path, &[], "").status, 401, "no token");
    for value in ["", "Bearer", "Basic QTpC", "Bearer nonsense"] {
        assert_eq!(driver.send("GET", &path, &[("authorization", value)], "").status, 401, "{value}");
    }
    assert_eq!(driver.send("GET", &path, &[("authorization", &format!("Bearer {forged}"))], "").status, 401);
    assert_eq!(driver.call_as("sandbox-expired", "GET", POLICY, "").status, 401);
    assert_eq!(driver.call_as("sandbox-local", "GET", POLICY, "").status, 401);
    assert_eq!(driver.call_as("sandbox-narrow", "GET", POLICY, "").status, 403);
    assert_eq!(driver.call_as("sandbox-undeclared", "GET", POLICY, "").status, 200);
    assert_eq!(driver.call("GET", "/rate-limit-policies/rlp_Nobody", "").status, 404);
    assert_eq!(driver.call("GET", &format!("/rate-limit-policies/{}", "x".repeat(27)), "").status, 404);
}

#[test]
fn a_client_beyond_its_limit_gets_429_with_three_headers_until_the_reset() {
    let mut driver = Driver::new(&[]);
    for _ in 0..5 {
        assert_eq!(driver.call_as("sandbox-throttled", "GET", POLICY, "").status, 200);
    }
    let refused = driver.call_as("sandbox-throttled", "GET", POLICY, "");
    assert_eq!(refused.status, 429);
    let header = |name| refused.headers.get(name).and_then(|value| value.to_str().ok()).unwrap().to_owned();
    assert_eq!(header("x-ratelimit-limit"), "5");
    assert_eq!(header("x-ratelimit-remaining"), "0");
    assert_eq!(header("x-ratelimit-reset"), (NOW + 10).to_string());
    assert_eq!(driver.call("GET", POLICY, "").status, 200, "another client has its own limit");
    driver.now += Duration::from_secs(10);
    assert_eq!(driver.call_as("sandbox-throttled", "GET", POLICY, "").status, 200);
}

#[test]
fn two_tenants_of_one_seed_answer_alike_byte_for_byte() {
    let run = || {
        let driver = Driver::new(&[]);
        let mut pages = Vec::new();
        for (method, path, body) in [
            ("GET", POLICY, ""),
            ("GET", "/connection-profiles/templates", ""),
            ("GET", GROUPS, ""),
            ("POST", EVENT, ""),
            ("PATCH", TEMPLATE, r#"{"name": "n"}"#),
            ("PATCH", TEMPLATE, r#"{"name": "m"}"#),
            ("POST", "/actions/actions/act_Enrich/test", r#"{"payload": {"a": 1}}"#),
        ] {
            let answer = driver.call(method, path, body);
            pages.push((answer.status, format!("{:?}", answer.headers), answer.body));
        }
        pages
    };
    assert_eq!(run(), run());
}

#[test]
fn what_is_no_documented_operation_is_404_for_everybody() {
    let driver = Driver::new(&[]);
    for (method, path) in [("DELETE", POLICY), ("HEAD", POLICY), ("GET", "/users"), ("GET", "/rate-limit-policies/")] {
        assert_eq!(driver.send(method, &format!("/api/v2{path}"), &[], "").status, 404, "{method} {path}");
    }
}

#[test]
fn the_token_endpoint_refuses_as_rfc_6749_says() {
    let driver = Driver::new(&[]);
    let secret = driver.tenant.clients[0].secret.clone().unwrap();
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let good = format!("grant_type=client_credentials&client_id=sandbox-full&client_secret={secret}&audience=/api/v2/");
    assert_eq!(driver.send("POST", "/oauth/token/", &form, &good).status, 200);
    for (body, status, error) in [
        (good.replace("client_credentials", "password"), 400, "unsupported_grant_type"),
        (good.replace("grant_type", "grand_type"), 400, "invalid_request"),
        (format!("{good}&audience=/api/v2/"), 400, "invalid_request"),
        (good.replace("sandbox-full", "nobody"), 401, "invalid_client"),
        (good.replace(&secret, "guess"), 401, "invalid_client"),
        (good.replace("/api/v2/", "https://elsewhere.example/api/v2/"), 403, "access_denied"),
    ] {
        let answer = driver.send("POST", "/oauth/token/", &form, &body);
        assert_eq!((answer.status.as_u16(), &value(&answer)["error"]), (status, &json!(error)));
    }
}

#[test]
fn a_scope_parameter_narrows_the_token() {
    let driver = Driver::new(&[]);
    let secret = driver.tenant.clients[0].secret.clone().unwrap();
    let body = format!(
        "grant_type=client_credentials&client_id=sandbox-full&client_secret={secret}&audience=/api/v2/\
         &scope=create%3Aactions+read%3Aroles"
    );
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let answer = value(&driver.send("POST", "/oauth/token/", &form, &body));
    assert_eq!(answer["scope"], "create:actions");
    assert_eq!(answer["expires_in"], 86_400);
}

impl Answers for &Tenant {
    fn answer_now(&self, ask: &Ask<'_>) -> Answer {
        (**self).answer_now(ask)
    }
}

/// Asks the tenant as the proxy asks an upstream; status, and the body if it came whole.
fn in_process(driver: &Driver, method: &str, target: &str) -> (u16, Result<Bytes, String>) {
    use http_body_util::BodyExt as _;

    let bearer = format!("Bearer {}", driver.token("sandbox-full"));
    let (head, ()) = http::Request::builder()
        .method(method)
        .uri(target)
        .header("authorization", bearer)
        .body(())
        .unwrap()
        .into_parts();
    let target = contrail_exchange::Target::new("https", "tenant.example", target);
    let body = Bytes::new().into();
    let request = upstream::Request { target, head, body, on_informational: None, client: None, called: None };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let response = Upstream::answer(&InProcess(&driver.tenant), request).await.unwrap().response;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await;
        (status, body.map(http_body_util::Collected::to_bytes).map_err(|error| error.to_string()))
    })
}

#[test]
fn the_tenant_is_an_upstream_without_a_socket() {
    let mut driver = Driver::new(&[]);
    let now = driver.now;
    driver.tenant = driver.tenant.with_clock(Arc::new(move || now));
    let honest = driver.call("GET", POLICY, "");
    assert_eq!(in_process(&driver, "GET", &format!("/api/v2{POLICY}")), (200, Ok(honest.body)));
    assert_eq!(in_process(&driver, "POST", &format!("/api/v2{EVENT}")), (202, Ok(Bytes::new())));
}

#[test]
fn a_body_that_breaks_off_is_an_error_without_a_socket_too() {
    let mut driver = Driver::new(&["transport.incomplete"]);
    let now = driver.now;
    driver.tenant = driver.tenant.with_clock(Arc::new(move || now));
    let (status, body) = in_process(&driver, "GET", &format!("/api/v2{POLICY}"));
    assert_eq!(status, 200);
    assert_eq!(
        body.unwrap_err(),
        "the sandbox broke the connection in the middle of the body (--misbehave transport.incomplete)"
    );
}

proptest::proptest! {
    #[test]
    fn whatever_is_sent_gets_an_answer_and_never_a_panic(
        method in "GET|POST|PATCH|HEAD|[A-Z]{1,5}",
        start in "(/api/v2)?/(rate-limit-policies|connection-profiles/templates|oauth/token/?|actions/actions)",
        rest in "[ -~é]{0,40}",
        media in "application/json|application/x-www-form-urlencoded|[ -~]{0,30}",
        body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
        json in "[\\[\\]{}\":,0-9eE.a-z+-]{0,60}",
        authorization in "(Bearer|Basic)? ?[A-Za-z0-9+/=_.-]{0,60}",
    ) {
        let driver = Driver::new(&[]);
        let bearer = format!("Bearer {}", driver.token("sandbox-full"));
        let method: Method = method.parse().unwrap();
        for (authorization, body) in [(authorization.as_str(), body), (bearer.as_str(), json.into_bytes())] {
            let body = Bytes::from(body);
            let headers = [("authorization", authorization), ("content-type", media.as_str())]
                .into_iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                .collect();
            for target in [
                format!("{start}/{rest}"),
                format!("/api/v2{TEMPLATE}?{rest}"),
                format!("/api/v2{GROUPS}?{rest}"),
                format!("/api/v2/actions/actions/act_Enrich/test?{rest}"),
            ] {
                for method in [&method, &Method::GET, &Method::POST, &Method::PATCH] {
                    let answer = driver.tenant.answer(&Ask { method, target: &target, headers: &headers, body: &body }, driver.now);
                    proptest::prop_assert!(matches!(answer.status.as_u16(), 200 | 202 | 400 | 401 | 403 | 404 | 415));
                }
            }
        }
    }
}
