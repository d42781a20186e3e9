//! Redaction of exchanges, by example.

mod bodies;
mod coded;
mod credentials;
mod harmless;
mod linear;
mod notations;
mod page;
mod properties;
mod readings;
pub(crate) mod steps;

use std::sync::Arc;

use bytes::Bytes;
use contrail_exchange::{
    Body, Credential, Exchange, Headers, Presence, Request, Response, Target, Timings, Transport, Withheld,
    finding::{Finding, Rule, Verdict},
};
use http::{HeaderName, HeaderValue, Method, Version};

use super::*;

pub(super) fn headers(fields: &[(&str, &str)]) -> Headers {
    fields
        .iter()
        .map(|(name, value)| {
            (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap())
        })
        .collect()
}

pub(super) fn exchange(target: &str, request: (&[(&str, &str)], &str), response: (&[(&str, &str)], &str)) -> Exchange {
    Exchange {
        request: Request {
            method: Method::POST,
            target: Target::new("https", "tenant.example", target),
            version: Version::HTTP_11,
            headers: headers(request.0),
            body: Body::whole(request.1.as_bytes().to_vec()),
            credential: Credential::Missing,
        },
        response: Some(Response {
            status: 200,
            version: Version::HTTP_11,
            headers: headers(response.0),
            body: Body::whole(response.1.as_bytes().to_vec()),
        }),
        started: None,
        timings: Timings::default(),
        transport: Transport::default(),
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn redact(exchange: Exchange) -> Redacted<JudgedExchange> {
    Redactor::default().redact(JudgedExchange::new(exchange, Verdict::default()))
}

#[test]
fn an_exchange_that_is_held_keeps_no_buffer_that_it_was_read_into() {
    let buffer = Bytes::from(b"{\"n\":1}text/plain".repeat(1000));
    let mut exchange = exchange("/x", (&[], ""), (&[JSON], ""));
    let response = exchange.response.as_mut().unwrap();
    response.body = Body::whole(buffer.slice(..7));
    let value = HeaderValue::from_maybe_shared(buffer.slice(7..17)).unwrap();
    response.headers.append(HeaderName::from_static("x-type"), value);
    assert!(response.body.document().is_ok());
    let mut redacted = redact(exchange);
    assert!(!buffer.is_unique());
    let before = redacted.exchange.clone();
    let packed = redacted.pack(false);
    redacted.unpack(packed);
    let (before, after) = (before.response.unwrap(), redacted.exchange.response.as_ref().unwrap());
    assert_eq!((&before.headers, &before.body), (&after.headers, &after.body));
    drop(before);
    assert!(buffer.is_unique());
}

#[test]
fn a_secret_that_responses_keep_repeating_is_not_evicted() {
    let redactor = Redactor::default().with_bound(8);
    let target = |target: &str, key: &str| {
        let answer = r#"{"note":"zq0-7580-k3VbT9wXr2"}"#;
        let exchange = exchange(target, (&[("x-api-key", key)], ""), (&[JSON], answer));
        redactor.redact(JudgedExchange::new(exchange, Verdict::default())).exchange.request.target.to_string()
    };
    target("/x", "zq0-7580-k3VbT9wXr2");
    for n in 0..40 {
        target("/x", &format!("{n:02}-other-k3VbT9wXr2"));
    }
    let redacted = target("/x/zq0-7580-k3VbT9wXr2", "");
    assert!(!redacted.contains("zq0-7580-k3VbT9wXr2"), "{redacted}");
}

/// The request's header fields and body.
fn sent(redacted: &Redacted<JudgedExchange>) -> String {
    let request = &redacted.exchange.request;
    let fields: Vec<String> =
        request.headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    format!("{}\n{}", fields.join("\n"), String::from_utf8_lossy(&request.body.content))
}

fn body(text: &str) -> String {
    let redacted = redact(exchange("/x", (&[JSON], text), (&[], "")));
    String::from_utf8_lossy(&redacted.exchange.request.body.content).into_owned()
}

#[test]
fn a_forgotten_secret_is_recognised_by_its_place_and_a_busy_one_is_not_forgotten() {
    let redactor = Redactor::default().with_bound(4);
    let busy = "Bearer busy-credential-0001";
    let ask = |authorization: &str, note: &str| {
        let fields = [("authorization", authorization), ("x-note", note)];
        sent(&redactor.redact(JudgedExchange::new(exchange("/x", (&fields, ""), (&[], "")), Verdict::default())))
    };
    for n in 0..50 {
        let shown = ask(busy, "it was busy-credential-0001");
        assert_eq!(shown, "authorization: Bearer !token-1!\nx-note: it was !token-1!\n", "{n}");
        let other = ask(&format!("Bearer other-credential-{n:04}"), "");
        assert!(!other.contains("credential"), "{other}");
    }
    // Forgotten: only its header shows it, and from then on it is known again.
    assert!(ask(busy, "it was other-credential-0001").contains("other-credential-0001"));
    let again = ask("Bearer other-credential-0001", "it was other-credential-0001");
    assert!(!again.contains("credential"), "{again}");
    assert!(redactor.counters().forgotten > 40);
}

#[test]
fn a_label_is_no_secret_however_random_it_looks() {
    for text in [
        "my password is !password-96! ok",
        "token is !client-secret-12!",
        "--password !password-100!",
        "ENV API_TOKEN !api-key-100!",
        "authorization: Bearer !token-100000!",
    ] {
        assert_eq!(Redactor::default().scan(text.as_bytes()), [], "{text}");
        assert_eq!(&*Redactor::default().text(text), text);
    }
}

#[test]
fn an_exchange_without_secrets_is_not_touched() {
    let before = exchange(
        "/api/v2/x?from=a%2Bb&take=5",
        (&[JSON, ("user-agent", "sdk/1.0")], r#"{"name":"n","version":1.0,"presentation":{"given_name":true}}"#),
        (
            &[JSON, ("etag", "\"33a64df5\"")],
            r#"{"next":"cursor_0123456789abcdef","groups":[{"id":"grp_0123456789abcdef"}]}"#,
        ),
    );
    let redacted = redact(before.clone());
    assert_eq!(redacted.touched, Touched::default());
    assert_eq!(format!("{:?}", redacted.exchange), format!("{before:?}"));
}

#[test]
fn what_a_finding_shows_is_redacted_too() {
    let verdict = Verdict {
        findings: vec![
            Finding::new(Rule::RequestBody, "/password", "at least 12 characters, not `abc`".to_owned()).seen("abc"),
            Finding::new(Rule::ResponseBody, "/error", "a string").seen("no s3cr3t-value here"),
            Finding::new(Rule::QueryUndocumented, "s3cr3t-value", "no such parameter"),
            Finding::new(Rule::RequestBody, "/name", "another").seen("abc"),
        ],
        ..Verdict::default()
    };
    let exchange = exchange("/x", (&[JSON], r#"{"password":"abc","client_secret":"s3cr3t-value"}"#), (&[], ""));
    let redacted = Redactor::default().redact(JudgedExchange::new(exchange, verdict));
    let shown: Vec<String> =
        redacted.verdict.findings.iter().map(|finding| format!("{} {}", finding.at, finding.message())).collect();
    assert_eq!(
        shown,
        [
            "/password expected at least 12 characters, not `!password-1!`, saw `!password-1!`",
            "/error expected a string, saw `no !client-secret-2! here`",
            "!client-secret-2! expected no such parameter",
            "/name expected another, saw `abc`",
        ]
    );
}

struct Exactly26;

impl Shapes for Exactly26 {
    fn bounds(&self, _operation: &str, _response: bool, pointer: &str) -> Bounds {
        if pointer == "/token" { Bounds { min: Some(26), max: Some(26) } } else { Bounds::default() }
    }
}

#[test]
fn a_label_fits_the_bounds_of_its_place() {
    let redactor = Redactor::default().with_shapes(Arc::new(Exactly26));
    let exchange =
        exchange("/x", (&[JSON], r#"{"token":"abcdefghij0123456789","secret":"abcdefghij0123456789"}"#), (&[], ""));
    let verdict = Verdict { operation: Some("x".into()), ..Verdict::default() };
    let redacted = redactor.redact(JudgedExchange::new(exchange, verdict));
    assert_eq!(
        redacted.exchange.request.body.content,
        r#"{"token":"!token-1.................!","secret":"!token-1!"}"#
    );
}

#[test]
fn redaction_is_idempotent_with_the_same_memory_and_with_a_new_one() {
    let one = Redactor::default();
    let exchange = exchange(
        "/x?code=abc&q=s3cr3t-value",
        (
            &[JSON, ("cookie", "a=s3cr3t-value"), ("authorization", "Basic dXNlcjpodW50ZXIyMg==")],
            r#"{"password":123456,"pin":1,"token":"s3cr3t-value"}"#,
        ),
        (&[FORM], "token=s3cr3t-value&x=hunter22"),
    );
    let clean = one.redact(JudgedExchange::new(exchange, Verdict::default()));
    let text = format!("{:?}", clean.exchange);
    for memory in [one, Redactor::default()] {
        let twice = memory.redact(JudgedExchange::new(clean.exchange.clone(), Verdict::default()));
        assert_eq!(format!("{:?}", twice.exchange), text);
        assert_eq!(twice.touched, Touched::default());
        let next = memory.text("password=\"another-one\"");
        assert!(!text.contains(&next[10..next.len() - 1]), "{} is taken", *next);
    }
}

#[test]
fn a_label_that_took_the_end_of_what_it_stood_in_is_left_as_it_is() {
    let plain = ("content-type", "text/plain");
    for (credential, text) in [
        ("x", "see Bearer abcde-----BEGIN PRIVATE KEY-----fghijklmnop1"),
        ("t4711&username=", "client_secret=Zq8-planted-secret4711&username=a%40b.example"),
    ] {
        let fields = [plain, ("authorization", credential)];
        let once = redact(exchange("/x", (&fields, text), (&[], "")));
        let twice = redact(*once.exchange.clone());
        assert_eq!(sent(&twice), sent(&once));
        assert!(sent(&once).contains('!'), "{}", sent(&once));
    }
}

#[test]
fn what_redact_adds_is_applied() {
    let plan = Plan::new(&["pointer:/a/*/b", "header:X-Internal", "regex:ssn-(\\d+)", "personal"]).unwrap();
    let exchange = exchange(
        "/ssn-12345678/x",
        (
            &[JSON, ("x-internal", "host 7"), ("x-other", "ann@example.com")],
            r#"{"a":[{"b":{"c":"x","d":[7]}}],"note":"ssn-555","given_name":"Ann"}"#,
        ),
        (&[], ""),
    );
    let redactor = Redactor::new(plan);
    let redacted = redactor.redact(JudgedExchange::new(exchange, Verdict::default()));
    assert_eq!(
        sent(&redacted),
        "content-type: application/json\nx-internal: !custom-2!\nx-other: !email-3!\n\
         {\"a\":[{\"b\":{\"c\":\"!custom-6!\",\"d\":[7]}}],\"note\":\"ssn-!custom-4!\",\"given_name\":\"!person-5!\"}"
    );
    assert_eq!(&*redacted.exchange.request.target.path_and_query, "/ssn-!custom-1!/x");
}

#[test]
fn personal_data_is_counted_and_kept_unless_it_is_to_be_masked() {
    let redactor = Redactor::default();
    let text =
        r#"{"email":"ann@example.com","phone_number":"+4915112345678","again":"ann@example.com","given_name":true}"#;
    let redacted = redactor.redact(JudgedExchange::new(exchange("/x", (&[JSON], text), (&[], "")), Verdict::default()));
    assert_eq!(redacted.exchange.request.body.content, text);
    assert_eq!(redactor.counters().personal.into_iter().collect::<Vec<_>>(), [("email", 1), ("phone", 1)]);
}

#[test]
fn card_data_is_masked_under_personal_and_only_there() {
    let text = r#"{"card":{"number":"4242424242424242","cvc":"987","pan":4242424242424242},"note":"from DE89370400440532013000"}"#;
    let shown = |redactor: Redactor| {
        let exchange = exchange("/x", (&[JSON], text), (&[], ""));
        let redacted = redactor.redact(JudgedExchange::new(exchange, Verdict::default()));
        String::from_utf8_lossy(&redacted.exchange.request.body.content).into_owned()
    };
    assert_eq!(shown(Redactor::default()), text);
    assert_eq!(
        shown(Redactor::new(Plan::new(&["personal"]).unwrap())),
        r#"{"card":{"number":"!card-2!","cvc":"!card-3!","pan":2},"note":"from !card-1!"}"#
    );
}

#[test]
fn a_live_request_is_redacted_as_its_recording_was() {
    let recorded = Redactor::default();
    let exchange = exchange("/x?token=one&q=1", (&[JSON], r#"{"secret":"abc","n":1}"#), (&[], ""));
    let mut live = exchange.request.clone();
    live.target.path_and_query = "/x?token=two&q=1".into();
    let recorded = recorded.redact(JudgedExchange::new(exchange, Verdict::default()));
    let live = Redactor::default().request(&live);
    assert!(label::matches(&recorded.exchange.request.target.path_and_query, &live.target.path_and_query));
    assert_eq!(recorded.exchange.request.body.redacted, live.body.redacted);
}

#[test]
fn a_text_for_people_shows_no_secret() {
    let redactor = Redactor::default();
    assert_eq!(&*redactor.text("https://t/cb?code=SplxlOBeZQQYbYS6WxSbIA&x=1"), "https://t/cb?code=!code-1!&x=1");
    assert_eq!(&*redactor.text("no SplxlOBeZQQYbYS6WxSbIA"), "no !code-1!");
}

#[test]
fn a_scan_finds_every_form_and_shows_none() {
    let redactor = Redactor::default();
    let _ = redactor.text("client_secret=s3cr3t/value~1");
    for (text, form) in [
        ("a s3cr3t/value~1 b", "raw"),
        ("a czNjcjN0L3ZhbHVlfjE= b", "base64"),
        ("a 7333637233742f76616c75657e31 b", "hex"),
        ("a s3cr3t%2fvalue%7E1 b", "percent-encoded"),
        (r"a s3cr3t\/value~1 b", "escaped"),
        (r"a s\u0033cr3t/value~1 b", "escaped"),
    ] {
        let hits = redactor.scan(text.as_bytes());
        assert_eq!(hits, [Hit { offset: 2, kind: "client-secret", form, label: "!client-secret-1!".into() }], "{text}");
    }
    assert!(redactor.scan(b"nothing of the kind").is_empty());
}
