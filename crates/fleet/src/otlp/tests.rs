use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use contrail_contract::Contract;
use contrail_exchange::{
    Target,
    finding::{Rule, Unchecked, UncheckedSet},
};
use contrail_proxy::metrics::{Grain, Metrics};
use http::{Method, Version};
use opentelemetry_proto::tonic::{
    common::v1::{KeyValue, any_value::Value},
    resource::v1::Resource,
    trace::v1::{Span, status::StatusCode},
};

use super::{
    parent::Parent,
    points,
    queue::{BATCH, Queue, Unqueued},
    record::{Event, Record},
    routes::Routes,
    spans::{self, Ids},
};

struct Counting(u8);

impl Ids for Counting {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0 += 1;
        bytes.fill(self.0);
    }
}

fn record() -> Record {
    Record {
        parent: None,
        started: UNIX_EPOCH + Duration::from_secs(1000),
        took: Duration::from_millis(250),
        method: Method::GET,
        target: Target::new("https", "Tenant.example", "/api/v2/rate-limit-policies/rlp_1?take=5"),
        version: Version::HTTP_2,
        status: Some(200),
        operation: Some("getRateLimitPolicy".into()),
        contract: Contract::built_in(),
        verdict: "conforms",
        events: Vec::new(),
        more_events: 0,
        violations: 0,
        gaps: 0,
        unchecked: UncheckedSet::default(),
        answered: None,
        incomplete: None,
        retried: false,
        miss: None,
    }
}

fn span(record: Record) -> Span {
    let request = spans::request(&[record], &Resource::default(), &Routes::default(), &mut Counting(0));
    request.resource_spans[0].scope_spans[0].spans[0].clone()
}

/// Attributes as texts.
fn shown(attributes: &[KeyValue]) -> BTreeMap<&str, String> {
    let text = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let pair = |pair: &'_ KeyValue| text(pair.value.as_ref().unwrap().value.as_ref().unwrap());
    attributes.iter().map(|one| (one.key.as_str(), pair(one))).collect()
}

#[test]
fn a_span_has_the_attributes_of_a_server_by_the_conventions() {
    let span = span(record());
    let expected = [
        ("contrail.gaps", "0"),
        ("contrail.operation", "getRateLimitPolicy"),
        ("contrail.verdict", "conforms"),
        ("contrail.violations", "0"),
        ("http.request.method", "GET"),
        ("http.response.status_code", "200"),
        ("http.route", "/api/v2/rate-limit-policies/{id}"),
        ("network.protocol.version", "2"),
        ("server.address", "tenant.example"),
        ("server.port", "443"),
        ("url.path", "/api/v2/rate-limit-policies/rlp_1"),
        ("url.query", "take=5"),
        ("url.scheme", "https"),
    ];
    assert_eq!(shown(&span.attributes).into_iter().collect::<Vec<_>>(), expected.map(|(key, text)| (key, text.into())));
    assert_eq!((&*span.name, span.kind), ("GET /api/v2/rate-limit-policies/{id}", 2));
    assert_eq!((span.start_time_unix_nano, span.end_time_unix_nano), (1_000_000_000_000, 1_000_250_000_000));
    assert_eq!((span.trace_id, span.span_id, span.parent_span_id), (vec![2; 16], vec![1; 8], vec![]));
    assert_eq!((span.flags, span.status.unwrap().code), (0, StatusCode::Unset as i32));
}

#[test]
fn a_span_of_a_request_with_a_parent_is_in_its_trace() {
    let parent = Parent { trace: [7; 16], span: [8; 8], flags: 1 };
    let span = span(Record { parent: Some(parent), ..record() });
    assert_eq!((span.trace_id, span.span_id, span.parent_span_id), (vec![7; 16], vec![1; 8], vec![8; 8]));
    assert_eq!(span.flags, 0x301);
}

#[test]
fn each_finding_is_an_event_and_what_has_none_is_counted() {
    let finding = Event { rule: Rule::AuthMissing, at: "/a".to_owned(), message: "expected a token".to_owned() };
    let mut unchecked = UncheckedSet::default();
    unchecked.insert(Unchecked::Auth);
    let span = span(Record {
        verdict: "violates",
        events: vec![finding],
        more_events: 3,
        violations: 4,
        unchecked,
        ..record()
    });
    let event = &span.events[0];
    let expected = [
        ("contrail.at", "/a"),
        ("contrail.kind", "violation"),
        ("contrail.message", "expected a token"),
        ("contrail.rule", "auth.missing"),
    ];
    assert_eq!((&*event.name, event.time_unix_nano), ("contrail.finding", span.end_time_unix_nano));
    assert_eq!(
        shown(&event.attributes).into_iter().collect::<Vec<_>>(),
        expected.map(|(key, text)| (key, text.into()))
    );
    assert_eq!((span.events.len(), span.dropped_events_count), (1, 3));
    let attributes = shown(&span.attributes);
    assert_eq!((&*attributes["contrail.violations"], attributes["contrail.unchecked"].contains("auth")), ("4", true));
    // The exchange itself went well.
    assert_eq!((span.status.unwrap().code, attributes.get("error.type")), (0, None));
}

#[test]
fn a_failure_of_the_server_or_of_the_transport_is_an_error() {
    let cause = Some("the connection was reset".into());
    for (status, incomplete, expected) in [
        (Some(503), None, Some("503")),
        (Some(599), cause.clone(), Some("599")),
        (Some(200), cause.clone(), Some("incomplete")),
        (None, cause.clone(), Some("incomplete")),
        (None, None, Some("incomplete")),
        (Some(404), None, None),
    ] {
        let span = span(Record { status, incomplete: incomplete.clone(), ..record() });
        let attributes = shown(&span.attributes);
        assert_eq!(attributes.get("error.type").map(String::as_str), expected, "{status:?}");
        assert_eq!(attributes.contains_key("http.response.status_code"), status.is_some());
        let said = span.status.unwrap();
        assert_eq!(
            (said.code == StatusCode::Error as i32, &*said.message),
            (expected.is_some(), incomplete.as_deref().unwrap_or_default())
        );
    }
}

#[test]
fn an_unusual_request_has_names_of_few_values() {
    let method = Method::from_bytes(b"BREW").unwrap();
    let span = span(Record {
        method,
        operation: None,
        target: Target::new("http", "[::1]:8080", "*"),
        answered: Some("upstream".into()),
        miss: Some("unknown"),
        retried: true,
        ..record()
    });
    let attributes = shown(&span.attributes);
    let of = |key: &str| &*attributes[key];
    assert_eq!(span.name, "HTTP");
    assert_eq!((of("http.request.method"), of("http.request.method_original")), ("_OTHER", "BREW"));
    assert_eq!((of("contrail.operation"), attributes.get("http.route")), ("undocumented", None));
    assert_eq!((of("server.address"), of("server.port"), of("url.path")), ("::1", "8080", "*"));
    assert_eq!((of("contrail.answer"), of("contrail.miss")), ("upstream", "unknown"));
    assert_eq!((attributes.contains_key("contrail.retried"), attributes.get("url.query")), (true, None));
}

#[test]
fn names_of_metrics_are_what_prometheus_makes_the_page_s_names_of() {
    let all = Metrics::new(None).families(Grain::Statuses);
    for family in &all {
        // Prometheus' translation: other characters become `_`, and the unit is appended.
        let unit = match family.unit {
            "s" => "_seconds",
            "By" => "_bytes",
            _ => "",
        };
        assert_eq!(points::name(family.name).replace('.', "_") + unit, family.name);
    }
    let of = |name: &str| points::name(name);
    assert_eq!(of("http_server_request_duration_seconds"), "http.server.request.duration");
    assert_eq!(of("http_server_active_requests"), "http.server.active_requests");
    assert_eq!(of("contrail_captured_bytes"), "contrail.captured");
}

#[test]
fn a_queue_takes_no_more_than_its_bound_and_gives_whole_batches() {
    let weight = record().weight();
    let queue = Queue::new(weight * 3);
    let no_room = Err(Unqueued::NoRoom);
    assert_eq!([(); 4].map(|()| queue.push(record())), [Ok(()), Ok(()), Ok(()), no_room]);
    let (batch, taken) = queue.take();
    assert_eq!((batch.len(), taken, queue.push(record())), (3, weight * 3, no_room));
    queue.settle(taken);
    assert_eq!(queue.push(record()), Ok(()));
    assert_eq!((queue.close(), queue.push(record())), (1, no_room));
    assert_eq!(Queue::new(weight - 1).push(record()), Err(Unqueued::TooLarge));
    let queue = Queue::new(usize::MAX);
    for _ in 0..=BATCH {
        queue.push(record()).unwrap();
    }
    assert_eq!((queue.take().0.len(), queue.take().0.len(), queue.take().0.len()), (BATCH, 1, 0));
}

#[test]
fn what_is_being_sent_at_the_end_is_not_forgotten() {
    let queue = Queue::new(usize::MAX);
    queue.push(record()).unwrap();
    queue.push(record()).unwrap();
    drop(queue.take());
    queue.push(record()).unwrap();
    assert_eq!((queue.close(), queue.close()), (3, 0));
}

#[test]
fn a_route_is_that_of_the_contract_that_judged() {
    let routes = Routes::default();
    let (built_in, id): (_, Arc<str>) = (Contract::built_in(), "getRateLimitPolicy".into());
    let document = serde_json::json!({"openapi": "3.1.0", "info": {"title": "x", "version": "1"},
        "servers": [{"url": "/a"}, {"url": "/b"}],
        "paths": {"/other/{id}": {"get": {"operationId": "getRateLimitPolicy"}}}});
    let other = Arc::new(Contract::from_document(document).unwrap());
    for _ in 0..2 {
        assert_eq!(routes.of_span(&built_in, &id).as_deref(), Some("/api/v2/rate-limit-policies/{id}"));
        // Below which base path is not known from the operation.
        assert_eq!(routes.of_span(&other, &id).as_deref(), Some("/other/{id}"));
        assert_eq!(routes.of_span(&built_in, &"unknown".into()), None);
    }
}

/// The names in the tables of the page whose first column has this title.
fn documented(title: &str) -> BTreeSet<&'static str> {
    let page = include_str!("../../../../docs/fleet.md");
    let table = page.split(&format!("| {title} |")).nth(1).unwrap_or_else(|| panic!("no table of `{title}`"));
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)).collect()
}

#[test]
fn the_page_lists_every_attribute_of_a_span_and_none_that_is_not_there() {
    let mut unchecked = UncheckedSet::default();
    unchecked.insert(Unchecked::Auth);
    let span = span(Record {
        method: Method::from_bytes(b"BREW").unwrap(),
        status: Some(502),
        events: vec![Event { rule: Rule::AuthMissing, at: String::new(), message: String::new() }],
        unchecked,
        answered: Some("upstream".into()),
        incomplete: Some("broken".into()),
        miss: Some("unknown"),
        retried: true,
        ..record()
    });
    let keys = |attributes: &[KeyValue]| attributes.iter().map(|pair| pair.key.clone()).collect::<BTreeSet<_>>();
    let listed = |title| documented(title).into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(keys(&span.attributes), listed("attribute of a span"));
    assert_eq!(keys(&span.events[0].attributes), listed("attribute of an event"));
}

#[test]
fn the_page_lists_every_metric_with_its_unit_and_none_that_is_not_there() {
    let families = Metrics::new(None).families(Grain::Statuses);
    let sent = families
        .iter()
        .filter(|family| points::is_sent(family))
        .map(|family| format!("{} `{}`", points::name(family.name), family.unit));
    // Only a contract that is in force is shown.
    let mut sent: BTreeSet<String> = sent.collect();
    sent.insert("contrail.contract_info `1`".to_owned());
    let page = include_str!("../../../../docs/fleet.md");
    let rows = page.split("| OTLP metric |").nth(1).unwrap().lines().skip(2).take_while(|line| line.starts_with('|'));
    let listed = rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        format!("{} {}", cells[1].trim_matches('`'), cells[3])
    });
    assert_eq!(listed.collect::<BTreeSet<_>>(), sent);
}
