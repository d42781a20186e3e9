//! What each stage costs per exchange: reading JSON, the check, redaction, writing the entry, finding a recorded
//! answer.
//!
//! `cargo bench` runs all of them, `cargo bench -- check` those of a name. The exchanges are those of
//! `bench/NOTES.md`: a small answer, a page of 6 KB, and 1 KB each way, all of them conforming.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use contrail_contract::{CheckOptions, Contract};
use contrail_exchange::{
    Body, Credential, Exchange, Headers, Request, Response, Target, Timings, Transport, json::Document,
    token::TokenCache,
};
use contrail_pipeline::ContractShapes;
use contrail_recording::{Entry, JournalContext, encode};
use contrail_redact::{JudgedExchange, Plan, Redactor};
use contrail_replay::{Builder, Exhausted, Names, Replay, Settings};
use divan::{Bencher, black_box};
use http::{HeaderName, HeaderValue, Method, Version};

fn main() {
    divan::main();
}

/// The exchanges of the mix, by name.
const MIX: [&str; 3] = ["small", "page", "both-ways"];

fn headers(fields: &[(&'static str, &str)]) -> Headers {
    let value = |value: &str| HeaderValue::from_str(value).expect("a visible value");
    fields.iter().map(|(name, text)| (HeaderName::from_static(name), value(text))).collect()
}

fn token() -> String {
    let part = |json: &str| URL_SAFE_NO_PAD.encode(json);
    let claims = r#"{"iss":"https://tenant.example/","sub":"bench@clients","aud":"https://tenant.example/api/v2/","iat":1700000000,
        "exp":4102444800,"azp":"bench","scope":"read:rate_limit_policies read:connections update:actions"}"#;
    format!("Bearer {}.{}.{}", part(r#"{"alg":"RS256","typ":"JWT"}"#), part(claims), part(&"signature ".repeat(25)))
}

fn exchange(name: &str) -> Exchange {
    let group = |number| format!(r#"{{"id":"grp_{number:04}_abcdefghijklmnopqrstuvwxyz0123456789abcdefgh"}}"#);
    let attribute = |number| format!(r#""attribute_{number:02}":"some text of moderate length, number {number:02}""#);
    let payload = || format!("{{\"payload\":{{{}}}}}", (0..14).map(attribute).collect::<Vec<_>>().join(","));
    let (method, target, sent, answer) = match name {
        "small" => (
            Method::GET,
            "/api/v2/rate-limit-policies/rlp_0123456789abcdefghijkl",
            None,
            r#"{"id":"rlp_0123456789abcdefghijkl","resource":"oauth_authentication_api","consumer":"client","consumer_selector":"third_party_clients","configuration":{"action":"block","limit":120},"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z"}"#.to_owned(),
        ),
        "page" => (
            Method::GET,
            "/api/v2/connections/con_0123456789abcdef/directory-provisioning/synchronized-groups?take=100",
            None,
            format!("{{\"groups\":[{}],\"next\":\"abc\"}}", (0..100).map(group).collect::<Vec<_>>().join(",")),
        ),
        _ => (Method::POST, "/api/v2/actions/actions/act_0003/test", Some(payload()), payload()),
    };
    let authorization = token();
    let mut fields = vec![
        ("host", "tenant.example"),
        ("user-agent", "contrail-bench"),
        ("accept", "*/*"),
        ("authorization", authorization.as_str()),
    ];
    if sent.is_some() {
        fields.push(("content-type", "application/json"));
    }
    let answered = [
        ("content-type", "application/json; charset=utf-8"),
        ("x-ratelimit-limit", "100"),
        ("x-ratelimit-remaining", "99"),
        ("x-ratelimit-reset", "1893456000"),
        ("cache-control", "private, no-store"),
    ];
    let request = Request {
        method,
        target: Target::new("https", "tenant.example", target),
        version: Version::HTTP_11,
        headers: headers(&fields),
        body: sent.map(Body::whole).unwrap_or_default(),
        credential: Credential::Missing,
    };
    let response =
        Response { status: 200, version: Version::HTTP_11, headers: headers(&answered), body: Body::whole(answer) };
    let now = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000);
    let credential = TokenCache::new(Duration::ZERO, None).credential(&request.headers, now);
    Exchange {
        request: Request { credential, ..request },
        response: Some(response),
        started: Some(now),
        timings: Timings { send: Some(Duration::ZERO), ..Timings::default() },
        transport: Transport::default(),
    }
}

fn judged(exchange: Exchange) -> JudgedExchange {
    let verdict = Contract::built_in().check(&exchange, &CheckOptions::default());
    assert!(verdict.findings.is_empty(), "the mix conforms: {:?}", verdict.findings);
    JudgedExchange::new(exchange, verdict)
}

fn redactor() -> Redactor {
    Redactor::new(Plan::default()).with_shapes(Arc::new(ContractShapes::new(Contract::built_in())))
}

#[divan::bench(args = MIX)]
fn json(bencher: Bencher, name: &str) {
    let body: Bytes = exchange(name).response.expect("an answer").body.content;
    bencher.bench(|| Document::parse(black_box(body.clone())));
}

/// Reading the bodies is part of it.
#[divan::bench(args = MIX)]
fn check(bencher: Bencher, name: &str) {
    let contract = Contract::built_in();
    let options = CheckOptions::default();
    let exchange = exchange(name);
    bencher.with_inputs(|| exchange.clone()).bench_refs(|exchange| contract.check(exchange, &options));
}

/// The bodies are read already; the token is known.
#[divan::bench(args = MIX)]
fn redact(bencher: Bencher, name: &str) {
    let redactor = redactor();
    let judged = judged(exchange(name));
    drop(redactor.redact(judged.clone()));
    bencher.with_inputs(|| judged.clone()).bench_values(|judged| redactor.redact(judged));
}

#[divan::bench(args = MIX)]
fn write(bencher: Bencher, name: &str) {
    let redacted = redactor().redact(judged(exchange(name)));
    let context = JournalContext { upstream: "https://tenant.example".into(), contract: "0".repeat(64).into() };
    let mut batch = Vec::with_capacity(64 << 10);
    bencher.bench_local(|| {
        batch.clear();
        encode(&redacted, None, &context, black_box(&mut batch));
    });
}

/// A request that was recorded, among a thousand others.
#[divan::bench(args = MIX)]
fn find(bencher: Bencher, name: &str) {
    let replay = replay();
    let request = exchange(name).request;
    let now = SystemTime::now();
    bencher.bench(|| assert!(replay.answer(black_box(&request), &Request::clone, now).is_ok()));
}

fn replay() -> Replay {
    let contract = Contract::built_in();
    let settings = Settings {
        rules: contrail_recording::MatchRules::default(),
        names: Names::default(),
        exhausted: Some(Exhausted::Loop),
        operation_of: Arc::new(move |upstream, method, path| contract.operation_id_at(upstream, method, path)),
        tenant: Contract::built_in(),
        has_label: Arc::new(|_| false),
        redact: Arc::new(Request::clone),
        redact_failure: Arc::new(str::to_owned),
    };
    let mut builder = Builder::new(settings).expect("randomness for a key");
    builder.source("bench.har");
    let preparer = builder.preparer();
    let mut push = |index, exchange| {
        let entry = Entry { index, line: None, exchange, note: None };
        builder.push(preparer.prepare(entry, false));
    };
    for number in 0..1000 {
        let mut other = exchange("small");
        other.request.target = Target::new("https", "tenant.example", format!("/api/v2/rate-limit-policies/{number}"));
        push(number, other);
    }
    for (index, name) in MIX.into_iter().enumerate() {
        push(1000 + index, exchange(name));
    }
    builder.finish()
}
