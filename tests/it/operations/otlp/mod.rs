//! `--otlp`: traces and metrics for a receiver of OpenTelemetry's protocol.

mod receiver;

use std::{collections::BTreeSet, ffi::OsStr, fs, os::unix::ffi::OsStrExt as _, sync::Arc, time::Instant};

use nix::sys::signal::Signal;
use opentelemetry_proto::tonic::{
    collector::{
        metrics::v1::{ExportMetricsPartialSuccess, ExportMetricsServiceResponse},
        trace::v1::{ExportTracePartialSuccess, ExportTraceServiceResponse},
    },
    metrics::v1::{AggregationTemporality, metric::Data},
};
use prost::Message as _;
use serde_json::{Value, json};
use tokio_rustls::rustls::{ServerConfig, crypto::ring};

use self::receiver::{Receiver, Reply, attribute, sum};
use super::{ask, metered, signal, text};
use crate::{
    record::harness::{SECRET, TEMPLATES, Workspace, get, objects, token},
    support::{
        command::Ran,
        golden::{assert_error, assert_line},
        har,
        process::Running,
        wire::{Nobody, call},
    },
};

const POLICY: &str = "/api/v2/rate-limit-policies/an-id-of-more-than-26-characters";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// `watch` in front of the sandbox with this receiver.
fn watch(workspace: &Workspace, receiver: &Receiver, options: &[&str]) -> Running {
    workspace.start("watch", &[&["--otlp", &receiver.url()], options].concat())
}

fn lines<'r>(ran: &'r Ran, part: &str) -> Vec<&'r str> {
    ran.stderr.lines().filter(|line| line.contains(part)).collect()
}

#[test]
fn each_exchange_is_a_span_and_each_finding_an_event_as_the_lines_show_them() {
    let (workspace, receiver) = (Workspace::new(), Receiver::start());
    let running = watch(&workspace, &receiver, &["--format", "json"]);
    let token = token(running.address);
    get(running.address, TEMPLATES, &token);
    get(running.address, POLICY, &token);
    call(running.address, "GET", &format!("{TEMPLATES}?take=5&unknown=1"), &[], b"");
    call(running.address, "BREW", "/coffee", &[], b"");
    let ran = running.finish();
    let shown = objects(&ran, "method");
    let spans = receiver.spans();
    assert_eq!((spans.len(), shown.len()), (5, 5));
    for (span, line) in spans.iter().zip(&shown) {
        let of = |key: &str| attribute(&span.attributes, key);
        let query = of("url.query");
        let query = if query.is_empty() { query } else { format!("?{query}") };
        let url = format!("{}://{}{}{query}", of("url.scheme"), of("server.address"), of("url.path"));
        assert_eq!(url, line["url"].as_str().unwrap());
        assert_eq!(of("http.response.status_code"), line["status"].to_string());
        assert_eq!(of("contrail.verdict"), line["verdict"].as_str().unwrap());
        assert_eq!(of("contrail.operation"), line["operation"].as_str().unwrap_or("undocumented"));
        let events: Vec<Value> = span
            .events
            .iter()
            .map(|event| {
                let of = |key: &str| attribute(&event.attributes, key);
                json!({"rule": of("contrail.rule"), "kind": of("contrail.kind"), "at": of("contrail.at"),
                    "message": of("contrail.message")})
            })
            .collect();
        assert_eq!(Value::from(events), line["findings"]);
        let unchecked = line["unchecked"].as_array().unwrap().iter().map(|aspect| aspect.as_str().unwrap());
        assert_eq!(of("contrail.unchecked"), unchecked.collect::<Vec<_>>().join(","));
        let took = span.end_time_unix_nano - span.start_time_unix_nano;
        assert_eq!((took / 1_000_000, span.kind), (line["ms"].as_u64().unwrap(), 2));
        assert_eq!((span.trace_id.len(), span.span_id.len(), span.parent_span_id.len()), (16, 8, 0));
    }
    assert_eq!(spans[2].name, "GET /api/v2/rate-limit-policies/{id}");
    assert_eq!(attribute(&spans[2].attributes, "contrail.violations"), "1");
    assert_eq!(attribute(&spans[4].attributes, "http.request.method_original"), "BREW");
    let traces: BTreeSet<&[u8]> = spans.iter().map(|span| &*span.trace_id).collect();
    assert_eq!(traces.len(), 5);
    let summary = &objects(&ran, "summary")[0]["summary"];
    assert_eq!((&summary["spans_dropped"], &summary["spans_rejected"]), (&0.into(), &0.into()));
}

#[test]
fn a_span_continues_the_trace_of_its_request_and_the_upstream_gets_the_request_as_it_came() {
    let (workspace, receiver, tenant) = (Workspace::new(), Receiver::start(), Receiver::start());
    let running = workspace.start_at(tenant.address, "watch", &["--otlp", &receiver.url()]);
    let ask = |fields: &[(&str, &str)]| call(running.address, "GET", "/a", fields, b"");
    ask(&[("TraceParent", PARENT), ("tracestate", "vendor=1")]);
    ask(&[("traceparent", "00-0-1-01")]);
    running.finish();
    let seen = tenant.requests();
    assert_eq!((seen[0].header("traceparent"), seen[0].header("tracestate")), (Some(PARENT), Some("vendor=1")));
    assert_eq!((seen[1].header("traceparent"), seen[0].headers.len()), (Some("00-0-1-01"), seen[1].headers.len() + 1));
    let spans = receiver.spans();
    let trace = u128::from_str_radix(&PARENT[3..35], 16).unwrap();
    let span = u64::from_str_radix(&PARENT[36..52], 16).unwrap();
    assert_eq!((&*spans[0].trace_id, &*spans[0].parent_span_id), (&trace.to_be_bytes()[..], &span.to_be_bytes()[..]));
    assert_eq!(spans[0].flags, 0x301);
    assert!(spans[1].parent_span_id.is_empty() && spans[1].trace_id != spans[0].trace_id);
}

#[test]
fn metrics_are_those_of_the_page() {
    let (workspace, receiver) = (Workspace::new(), Receiver::start());
    let (running, page) = metered(watch(&workspace, &receiver, &["--metrics", "127.0.0.1:0", "--trail", "trail"]));
    let token = token(running.address);
    for _ in 0..3 {
        get(running.address, TEMPLATES, &token);
    }
    get(running.address, POLICY, &token);
    let shown = ask(page, "/metrics");
    running.finish();
    let metrics = receiver.metrics();
    // Every sample of the page but those of the buckets, of what is in use, and of what is sent.
    let mut compared = 0;
    for line in text(&shown).lines().filter(|line| line.starts_with("contrail_") && line.contains("_total")) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = name.trim_end_matches('}').split_once('{').unwrap_or((name, ""));
        let labels: Vec<(String, &str)> = labels
            .split(',')
            .filter_map(|label| label.split_once('='))
            .map(|(label, value)| {
                let label =
                    if label.starts_with("http_") { label.replacen('_', ".", 2) } else { format!("contrail.{label}") };
                (label, value.trim_matches('"'))
            })
            .collect();
        let labels: Vec<(&str, &str)> = labels.iter().map(|(label, value)| (&**label, *value)).collect();
        let name = name.trim_end_matches("_total").trim_end_matches("_bytes").replacen('_', ".", 1);
        if !name.starts_with("contrail.otlp") && value != "0" {
            assert_eq!(sum(&metrics, &name, &labels).to_string(), value, "{line}");
            compared += 1;
        }
    }
    assert!(compared > 8, "{}", text(&shown));
    let duration = metrics.iter().find(|metric| metric.name == "http.server.request.duration").unwrap();
    let Some(Data::Histogram(histogram)) = &duration.data else { panic!("{duration:?}") };
    assert_eq!((&*duration.unit, histogram.aggregation_temporality), ("s", AggregationTemporality::Cumulative as i32));
    let labels = [
        ("http.request.method", "GET"),
        ("http.response.status_code", "200"),
        ("http.route", TEMPLATES),
        ("url.scheme", "https"),
        ("contrail.operation", "getConnectionProfileTemplates"),
    ];
    let all = |attributes: &[_]| labels.iter().all(|(key, value)| attribute(attributes, key) == *value);
    let point = histogram.data_points.iter().find(|point| all(&point.attributes)).unwrap();
    assert_eq!((point.count, point.bucket_counts.iter().sum(), point.attributes.len()), (3, 3, labels.len()));
    assert_eq!((point.explicit_bounds.len(), point.bucket_counts.len(), point.explicit_bounds[0]), (14, 15, 0.005));
    assert!(point.start_time_unix_nano < point.time_unix_nano && point.sum.unwrap() > 0.0);
    assert_eq!(sum(&metrics, "contrail.otlp_spans", &[("contrail.outcome", "sent")]), 5);
    let connections = metrics.iter().find(|metric| metric.name == "contrail.connections_limit").unwrap();
    assert!(matches!(&connections.data, Some(Data::Sum(sum)) if !sum.is_monotonic), "{connections:?}");
}

#[test]
fn no_secret_leaves_in_a_span_a_metric_or_a_log() {
    let (workspace, receiver) = (Workspace::new(), Receiver::start());
    let variable = "export OTEL_EXPORTER_OTLP_HEADERS='api-key=hunter2%3D'";
    let options = ["watch", "--upstream", "sandbox", "--seed", "seed.json", "--listen", "127.0.0.1:0", "--verbose"];
    let url = receiver.url();
    let running = Running::limited(variable, workspace.path(), options.iter().chain(&["--otlp", &url]));
    let token = token(running.address);
    get(running.address, &format!("/api/v2/users/{token}?client_secret={SECRET}&x={SECRET}"), &token);
    let headers = [("X-Api-Key", "planted-api-key-0123456789"), ("Authorization", "Bearer planted.token.value")];
    call(running.address, "GET", &format!("{TEMPLATES}?api_key=planted-api-key-0123456789"), &headers, b"");
    let ran = running.finish();
    let requests = receiver.requests();
    assert!(requests.len() >= 2 && receiver.spans().len() == 3);
    let signature = token.rsplit('.').next().unwrap();
    for request in &requests {
        assert_eq!(request.header("api-key"), Some("hunter2="));
        for secret in [&*token, signature, SECRET, "planted-api-key-0123456789", "planted.token.value", "hunter2"] {
            let found = request.body.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!found, "{secret} in {}", request.start);
        }
    }
    assert!(!ran.stderr.contains("hunter2") && !ran.stderr.contains(SECRET), "{}", ran.stderr);
    assert!(attribute(&receiver.spans()[1].attributes, "url.path").starts_with("/api/v2/users/"));
}

#[test]
fn a_receiver_that_is_gone_stops_no_traffic_and_is_logged_once() {
    let (workspace, nobody) = (Workspace::new(), Nobody::new());
    let url = format!("http://{}", nobody.address);
    let running = workspace.start("watch", &["--otlp", &url, "--drain", "500ms", "--format", "json"]);
    for _ in 0..3 {
        assert_eq!(call(running.address, "GET", TEMPLATES, &[], b"").status(), 401);
    }
    let ran = running.finish();
    let logged = lines(&ran, "telemetry");
    assert_eq!(logged.len(), 1, "{}", ran.stderr);
    let said = format!("telemetry cannot be sent: cannot reach {url}: Connection refused");
    assert!(logged[0].contains(&said), "{}", logged[0]);
    let summary = &objects(&ran, "summary")[0]["summary"];
    // Findings decide the exit status, lost telemetry does not.
    assert_eq!((&summary["spans_dropped"], ran.status), (&3.into(), 1), "{summary}");
}

#[test]
fn a_further_signal_ends_the_wait_for_a_receiver_that_does_not_answer() {
    let (workspace, receiver) = (Workspace::new(), Receiver::start());
    receiver.falls_silent();
    let running = watch(&workspace, &receiver, &["--drain", "60"]);
    signal(&running, Signal::SIGTERM);
    // The last metrics are sent once nothing else is in progress.
    while receiver.requests().is_empty() {
        std::thread::yield_now();
    }
    let asked = Instant::now();
    signal(&running, Signal::SIGTERM);
    let ran = running.wait();
    assert!(asked.elapsed().as_secs() < 30, "{:?}", asked.elapsed());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

#[test]
fn what_a_receiver_cannot_take_yet_is_sent_again_once_it_can() {
    std::thread::scope(|scope| {
        for status in [429, 502, 503, 504] {
            scope.spawn(move || answered_first_with(status));
        }
    });
}

fn answered_first_with(status: u16) {
    let (workspace, receiver) = (Workspace::new(), Receiver::start());
    receiver.will_answer(Reply(status, "", b"unavailable".to_vec()));
    receiver.will_answer(Reply(status, "Retry-After: 1\r\n", Vec::new()));
    let running = watch(&workspace, &receiver, &[]);
    call(running.address, "GET", TEMPLATES, &[], b"");
    receiver.waits_for(2);
    let asked = Instant::now();
    receiver.waits_for(3);
    assert!(asked.elapsed().as_millis() >= 900, "{:?}", asked.elapsed());
    let ran = running.finish();
    // The same bytes until they are taken.
    let traces = receiver.traces();
    assert!(traces.len() == 3 && traces[0].body == traces[1].body && traces[1].body == traces[2].body);
    let metrics = receiver.metrics();
    let outcome = |outcome| sum(&metrics, "contrail.otlp_spans", &[("contrail.outcome", outcome)]);
    assert_eq!((outcome("sent"), outcome("dropped"), sum(&metrics, "contrail.otlp_failures", &[])), (1, 0, 2));
    let logged = lines(&ran, "telemetry");
    assert_eq!(logged.len(), 2, "{}", ran.stderr);
    assert!(logged[0].contains(&format!("{} answers {status}", receiver.url())), "{}", logged[0]);
    assert!(logged[1].contains("again; 0 spans dropped so far"), "{}", logged[1]);
    assert!(!ran.stderr.contains("unavailable"), "{}", ran.stderr);
}

#[test]
fn what_a_receiver_refuses_is_counted_and_not_sent_again() {
    let (workspace, receiver) = (Workspace::new(), Receiver::start());
    receiver.will_answer(Reply(400, "", b"it quotes hunter2".to_vec()));
    let running = watch(&workspace, &receiver, &["--format", "json"]);
    call(running.address, "GET", TEMPLATES, &[], b"");
    receiver.waits_for(1);
    call(running.address, "GET", POLICY, &[], b"");
    let ran = running.finish();
    assert_eq!(receiver.spans().len(), 2);
    assert_eq!(objects(&ran, "summary")[0]["summary"]["spans_rejected"], 1);
    let logged = lines(&ran, &receiver.url());
    assert_eq!(logged.len(), 2, "{}", ran.stderr);
    assert!(logged[0].contains("refuses traces with 400"), "{}", logged[0]);
    assert!(logged[1].contains("takes traces again") && !ran.stderr.contains("hunter2"), "{}", ran.stderr);
}

#[test]
fn a_page_in_place_of_a_receiver_s_answer_is_a_rejection_and_logged_once() {
    let (workspace, receiver) = (Workspace::new(), Receiver::start());
    for _ in 0..2 {
        receiver.will_answer(Reply(200, "Content-Type: text/html\r\n", b"<html>hunter2</html>".to_vec()));
    }
    receiver.will_answer(Reply(200, "Content-Type: application/x-protobuf\r\n", Vec::new()));
    let running = watch(&workspace, &receiver, &["--format", "json"]);
    for requests in 1..=2 {
        call(running.address, "GET", TEMPLATES, &[], b"");
        receiver.waits_for(requests);
    }
    call(running.address, "GET", POLICY, &[], b"");
    let ran = running.finish();
    assert_eq!(receiver.spans().len(), 3);
    assert_eq!(objects(&ran, "summary")[0]["summary"]["spans_rejected"], 2);
    let logged = lines(&ran, &receiver.url());
    assert_eq!(logged.len(), 2, "{}", ran.stderr);
    assert!(logged[0].contains("answers traces with 200 OK and another Content-Type than"), "{}", logged[0]);
    assert!(logged[1].contains("takes traces again") && !ran.stderr.contains("hunter2"), "{}", ran.stderr);
}

#[test]
fn a_partial_success_is_counted_and_logged_once_without_the_receiver_s_words() {
    let (workspace, receiver) = (Workspace::new(), Receiver::start());
    let message = || "hunter2".to_owned();
    let traces = ExportTraceServiceResponse {
        partial_success: Some(ExportTracePartialSuccess { rejected_spans: 1, error_message: message() }),
    };
    let metrics = ExportMetricsServiceResponse {
        partial_success: Some(ExportMetricsPartialSuccess { rejected_data_points: 7, error_message: message() }),
    };
    receiver.will_answer(Reply(200, "", traces.encode_to_vec()));
    receiver.will_answer(Reply(200, "", traces.encode_to_vec()));
    receiver.will_answer_metrics(Reply(200, "", metrics.encode_to_vec()));
    let running = watch(&workspace, &receiver, &[]);
    call(running.address, "GET", TEMPLATES, &[], b"");
    receiver.waits_for(1);
    call(running.address, "GET", TEMPLATES, &[], b"");
    receiver.waits_for(2);
    let ran = running.finish();
    let logged = lines(&ran, "rejected");
    assert_eq!(logged.len(), 3, "{}", ran.stderr);
    assert_eq!(lines(&ran, "rejected 1 span of a request").len(), 1, "{}", ran.stderr);
    assert_eq!(lines(&ran, "rejected 7 data points of a request").len(), 1, "{}", ran.stderr);
    assert_line(&ran.stderr, "2 spans rejected by the receiver of --otlp");
    assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
}

#[test]
fn beyond_the_queue_spans_are_dropped_and_counted_and_no_exchange_waits() {
    let (workspace, receiver) = (Workspace::new(), Receiver::start());
    receiver.falls_silent();
    let options = ["--otlp-queue", "2KiB", "--metrics", "127.0.0.1:0", "--drain", "500ms"];
    let (running, page) = metered(watch(&workspace, &receiver, &options));
    for _ in 0..40 {
        assert_eq!(call(running.address, "GET", TEMPLATES, &[], b"").status(), 401);
    }
    let dropped = super::sum(page, "contrail_otlp_spans_total{outcome=\"dropped\"}");
    assert!((30..40).contains(&dropped), "{dropped}");
    let ran = running.finish();
    // At the end, those that wait are dropped, too.
    assert_line(&ran.stderr, "40 spans dropped, because the receiver of --otlp did not take them in time");
    assert!(ran.stderr.contains("40 exchanges"), "{}", ran.stderr);
}

#[test]
fn a_span_that_is_larger_than_the_queue_is_dropped_and_the_summary_says_so() {
    let (workspace, receiver) = (Workspace::new(), Receiver::start());
    let running = watch(&workspace, &receiver, &["--otlp-queue", "1KiB"]);
    call(running.address, "GET", TEMPLATES, &[], b"");
    receiver.waits_for(1);
    call(running.address, "GET", &format!("{TEMPLATES}?n={}", "1".repeat(1024)), &[], b"");
    let ran = running.finish();
    assert_line(&ran.stderr, "1 span dropped, because it is larger than --otlp-queue");
    assert!(!ran.stderr.contains("in time"), "{}", ran.stderr);
}

#[test]
fn a_method_that_is_a_secret_is_in_no_span_and_a_long_one_is_cut() {
    let (workspace, receiver) = (Workspace::new(), Receiver::start());
    let running = watch(&workspace, &receiver, &[]);
    let (token, long) = ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl", "BREW".repeat(1000));
    for method in [token, &long] {
        call(running.address, method, TEMPLATES, &[], b"");
    }
    running.finish();
    let spans = receiver.spans();
    let original = |at: usize| attribute(&spans[at].attributes, "http.request.method_original");
    assert_eq!((original(0), original(1)), ("!token-1!".to_owned(), "BREW".repeat(256)));
    assert!(
        receiver.requests().iter().all(|request| !request.body.windows(8).any(|part| part == &token.as_bytes()[..8]))
    );
}

#[test]
fn a_url_s_path_and_the_variables_of_opentelemetry_are_heeded() {
    let (workspace, receiver) = (Workspace::new(), Receiver::start());
    let variables = "export OTEL_SERVICE_NAME=gateway OTEL_RESOURCE_ATTRIBUTES='deployment.environment.name=a%20b'";
    let url = format!("{}/base/", receiver.url());
    let options = ["watch", "--upstream", "sandbox", "--listen", "127.0.0.1:0", "--otlp", &url];
    let running = Running::limited(variables, workspace.path(), options);
    call(running.address, "GET", TEMPLATES, &[], b"");
    running.finish();
    let requests = receiver.requests();
    let starts: BTreeSet<&str> = requests.iter().map(|request| &*request.start).collect();
    assert_eq!(starts, BTreeSet::from(["POST /base/v1/traces HTTP/1.1", "POST /base/v1/metrics HTTP/1.1"]));
    for request in &requests {
        assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
        assert!(request.header("user-agent").unwrap().starts_with("contrail/"), "{request:?}");
        for part in ["service.name", "gateway", "deployment.environment.name", "a b", "service.instance.id"] {
            assert!(request.body.windows(part.len()).any(|window| window == part.as_bytes()), "{part}");
        }
    }
}

#[test]
fn a_receiver_of_https_is_trusted_by_the_authorities_of_the_upstream() {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.serialize_der().try_into().unwrap())
        .unwrap();
    let (workspace, receiver) = (Workspace::new(), Receiver::with_tls(config));
    fs::write(workspace.path().join("ca.pem"), certificate.pem()).unwrap();
    let url = format!("https://localhost:{}", receiver.address.port());
    let running = workspace.start("watch", &["--otlp", &url, "--upstream-ca", "ca.pem"]);
    call(running.address, "GET", TEMPLATES, &[], b"");
    let ran = running.finish();
    assert_eq!(receiver.spans().len(), 1, "{}", ran.stderr);
    assert!(!ran.stderr.contains("no effect"), "{}", ran.stderr);
    let running = workspace.start("watch", &["--otlp", &url, "--drain", "300ms"]);
    let ran = running.finish();
    assert!(ran.stderr.contains("signed by an authority that is not trusted"), "{}", ran.stderr);
}

#[test]
fn record_and_replay_send_telemetry_too() {
    let (workspace, receiver) = (Workspace::new(), Receiver::start());
    let running = workspace.start("record", &["--out", "b.har", "--otlp", &receiver.url()]);
    let token = token(running.address);
    get(running.address, TEMPLATES, &token);
    running.finish();
    assert_eq!(receiver.spans().len(), 2);
    assert_eq!(sum(&receiver.metrics(), "contrail.journal_entries", &[]), 2);
    fs::write(workspace.path().join("a.har"), har::har(&[har::conforming()])).unwrap();
    let url = receiver.url();
    let replay = ["replay", "a.har", "--listen", "127.0.0.1:0", "--otlp", &url];
    let running = Running::start(workspace.path(), replay);
    call(running.address, "GET", "/api/v2/rate-limit-policies/rlp_other", &[], b"");
    assert_eq!(running.finish().status, 3);
    let spans = receiver.spans();
    let of = |key: &str| attribute(&spans[2].attributes, key);
    assert_eq!(
        (of("contrail.verdict"), of("contrail.miss"), of("http.response.status_code")),
        ("miss".into(), "unknown".into(), "421".into())
    );
}

#[test]
fn malformed_headers_are_refused_before_anything_listens() {
    let workspace = Workspace::new();
    for (value, said) in [
        (&b"hunter2"[..], "expected NAME=VALUE, percent-encoded and separated by commas"),
        (b"Transfer-Encoding=hunter2", "contrail sets `transfer-encoding` itself or never sends it; leave it out"),
        (b"api-key=hunter2\xff", "its value is not UTF-8; correct it"),
    ] {
        let mut command = crate::support::command::contrail();
        command.current_dir(workspace.path()).env("OTEL_EXPORTER_OTLP_HEADERS", OsStr::from_bytes(value));
        let arguments = ["watch", "--upstream", "sandbox", "--otlp", "http://localhost:4318", "--", "true"];
        let ran = command.args(arguments).output().unwrap().into();
        assert_error(&ran, 2, &format!("contrail: OTEL_EXPORTER_OTLP_HEADERS: {said}"));
    }
}
