//! Spans: one per exchange, an event per finding.

use std::time::{SystemTime, UNIX_EPOCH};

use contrail_exchange::finding::{UNDOCUMENTED, Unchecked};
use contrail_proxy::metrics::{INCOMPLETE, OTHER_METHOD, counted_method};
use http::Version;
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::KeyValue,
    resource::v1::Resource,
    trace::v1::{
        ResourceSpans, ScopeSpans, Span, Status,
        span::{Event, SpanKind},
        status::StatusCode,
    },
};

use super::{
    record::{self, Record},
    routes::Routes,
    values::{flag, list, number, scope, text},
};

/// The parent's flags are known, and the parent is another process' (`SpanFlags` of OTLP).
const REMOTE_PARENT: u32 = 0x300;

/// Gives ids that are random.
pub(super) trait Ids {
    /// Fills this with random bytes.
    fn fill(&mut self, bytes: &mut [u8]);
}

/// A request with these spans.
pub(super) fn request(
    records: &[Record],
    resource: &Resource,
    routes: &Routes,
    ids: &mut dyn Ids,
) -> ExportTraceServiceRequest {
    let spans = records.iter().map(|record| span(record, routes, ids)).collect();
    let scoped = ScopeSpans { scope: Some(scope()), spans, schema_url: String::new() };
    let all = ResourceSpans { resource: Some(resource.clone()), scope_spans: vec![scoped], schema_url: String::new() };
    ExportTraceServiceRequest { resource_spans: vec![all] }
}

fn span(record: &Record, routes: &Routes, ids: &mut dyn Ids) -> Span {
    let route = record.operation.as_ref().and_then(|operation| routes.of_span(&record.contract, operation));
    let end = nanos(record.started + record.took);
    let mut span_id = vec![0; 8];
    ids.fill(&mut span_id);
    let trace_id = match record.parent {
        Some(parent) => parent.trace.to_vec(),
        None => {
            let mut trace = vec![0; 16];
            ids.fill(&mut trace);
            trace
        }
    };
    let method = counted_method(&record.method);
    let shown = if method == OTHER_METHOD { "HTTP" } else { method };
    Span {
        trace_id,
        span_id,
        parent_span_id: record.parent.map(|parent| parent.span.to_vec()).unwrap_or_default(),
        flags: record.parent.map_or(0, |parent| u32::from(parent.flags) | REMOTE_PARENT),
        name: route.as_ref().map_or_else(|| shown.to_owned(), |route| format!("{shown} {route}")),
        kind: SpanKind::Server as i32,
        start_time_unix_nano: nanos(record.started),
        end_time_unix_nano: end,
        attributes: attributes(record, method, route),
        events: record.events.iter().map(|finding| event(finding, end)).collect(),
        dropped_events_count: record.more_events,
        status: Some(status(record)),
        ..Span::default()
    }
}

fn attributes(record: &Record, method: &'static str, route: Option<String>) -> Vec<KeyValue> {
    let target = &record.target;
    let mut all = vec![text("http.request.method", method)];
    if method == OTHER_METHOD {
        all.push(text("http.request.method_original", record::cut(record.method.as_str())));
    }
    all.extend(record.status.map(|status| number("http.response.status_code", status.into())));
    all.extend(route.map(|route| text("http.route", route)));
    all.push(text("url.scheme", &*target.scheme));
    all.push(text("url.path", target.path()));
    all.extend(target.query().map(|query| text("url.query", query)));
    let host = target.host_and_port();
    if let Some((host, port)) = host.rsplit_once(':') {
        all.push(text("server.address", host.trim_start_matches('[').trim_end_matches(']')));
        all.extend(port.parse().ok().map(|port| number("server.port", port)));
    }
    all.extend(version(record.version).map(|version| text("network.protocol.version", version)));
    all.extend(error_type(record).map(|error| text("error.type", error)));
    all.push(text("contrail.operation", record.operation.as_deref().unwrap_or(UNDOCUMENTED)));
    all.push(text("contrail.verdict", record.verdict));
    all.push(number("contrail.violations", record.violations.into()));
    all.push(number("contrail.gaps", record.gaps.into()));
    if record.unchecked.iter().next().is_some() {
        all.push(list("contrail.unchecked", record.unchecked.iter().map(Unchecked::name)));
    }
    all.extend(record.answered.as_deref().map(|reason| text("contrail.answer", reason)));
    all.extend(record.incomplete.as_deref().map(|reason| text("contrail.incomplete", reason)));
    all.extend(record.miss.map(|reason| text("contrail.miss", reason)));
    all.extend(record.retried.then(|| flag("contrail.retried", true)));
    all
}

fn event(finding: &record::Event, at: u64) -> Event {
    let attributes = vec![
        text("contrail.rule", finding.rule.id()),
        text("contrail.kind", finding.rule.kind().name()),
        text("contrail.at", &*finding.at),
        text("contrail.message", &*finding.message),
    ];
    Event { time_unix_nano: at, name: "contrail.finding".to_owned(), attributes, ..Event::default() }
}

/// What went wrong with the exchange as one of HTTP. A violation of the contract is no error of it.
fn error_type(record: &Record) -> Option<String> {
    match record.status {
        Some(status) if status >= 500 => Some(status.to_string()),
        Some(_) if record.incomplete.is_none() => None,
        _ => Some(INCOMPLETE.to_owned()),
    }
}

fn status(record: &Record) -> Status {
    let is_error = error_type(record).is_some();
    Status {
        message: record.incomplete.as_deref().filter(|_| is_error).unwrap_or_default().to_owned(),
        code: if is_error { StatusCode::Error } else { StatusCode::Unset } as i32,
    }
}

fn version(version: Version) -> Option<&'static str> {
    Some(match version {
        Version::HTTP_10 => "1.0",
        Version::HTTP_11 => "1.1",
        Version::HTTP_2 => "2",
        _ => return None,
    })
}

/// An instant as OTLP has it.
pub(super) fn nanos(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
