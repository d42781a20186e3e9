//! Metrics: the families of `/metrics`, as OTLP has them.

use std::time::SystemTime;

use contrail_proxy::metrics::{Durations, Family, Grain, Kind, Labels, Metrics, Value};
use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    common::v1::KeyValue,
    metrics::v1::{
        AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
        ScopeMetrics, Sum, metric::Data, number_data_point,
    },
    resource::v1::Resource,
};

use super::{
    routes::Routes,
    spans::nanos,
    values::{number, scope, text, whole},
};

const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// A request with all that is counted since the start.
pub(super) fn request(
    metrics: &Metrics,
    resource: &Resource,
    routes: &Routes,
    now: SystemTime,
) -> ExportMetricsServiceRequest {
    let between = (nanos(metrics.started), nanos(now));
    let families = metrics.families(Grain::Statuses).into_iter().filter(is_sent);
    let route = |operation: &str| routes.of_metric(metrics, operation);
    let all = families.filter_map(|family| metric(family, between, &route)).collect();
    let scoped = ScopeMetrics { scope: Some(scope()), metrics: all, schema_url: String::new() };
    let all =
        ResourceMetrics { resource: Some(resource.clone()), scope_metrics: vec![scoped], schema_url: String::new() };
    ExportMetricsServiceRequest { resource_metrics: vec![all] }
}

/// Whether a family is sent: the start of the process is that of every point.
pub(super) fn is_sent(family: &Family) -> bool {
    family.name != "process_start_time_seconds"
}

/// The path template of an operation.
type Route<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A family as a metric; `None` if it has no point.
fn metric(family: Family, between: (u64, u64), route: Route<'_>) -> Option<Metric> {
    let is_histogram = matches!(family.kind, Kind::Histogram | Kind::Summary);
    let (mut numbers, mut histograms) = (Vec::new(), Vec::new());
    for sample in family.samples {
        let attributes = attributes(sample.labels, family.kind, route);
        match sample.value {
            Value::Count(count) => {
                numbers.push(point(attributes, number_data_point::Value::AsInt(whole(count)), between));
            }
            Value::Number(number) => {
                numbers.push(point(attributes, number_data_point::Value::AsDouble(number), between));
            }
            Value::Durations(durations) => histograms.push(HistogramDataPoint {
                bucket_counts: durations.buckets.to_vec(),
                explicit_bounds: Durations::bounds().collect(),
                ..histogram(attributes, durations.buckets.iter().sum(), durations.sum.as_secs_f64(), between)
            }),
            Value::Total { sum, count } => histograms.push(histogram(attributes, count, sum.as_secs_f64(), between)),
        }
    }
    if numbers.is_empty() && histograms.is_empty() {
        return None;
    }
    let data = match family.kind {
        _ if is_histogram => {
            Data::Histogram(Histogram { data_points: histograms, aggregation_temporality: CUMULATIVE })
        }
        Kind::Gauge => Data::Gauge(Gauge { data_points: numbers }),
        kind => {
            let is_monotonic = kind == Kind::Counter;
            Data::Sum(Sum { data_points: numbers, aggregation_temporality: CUMULATIVE, is_monotonic })
        }
    };
    Some(Metric {
        name: name(family.name),
        description: family.help.to_owned(),
        unit: family.unit.to_owned(),
        data: Some(data),
        ..Metric::default()
    })
}

/// The name of a family: without its unit, and with dots where a namespace ends. Prometheus' rules for OTLP make of it
/// what `/metrics` shows.
pub(super) fn name(name: &str) -> String {
    let name = ["_seconds", "_bytes"].into_iter().find_map(|unit| name.strip_suffix(unit)).unwrap_or(name);
    match name.strip_prefix("contrail_") {
        Some(own) => format!("contrail.{own}"),
        None => name.replace('_', ".").replace("active.", "active_"),
    }
}

fn attributes(labels: Labels, kind: Kind, route: Route<'_>) -> Vec<KeyValue> {
    let mut all = Vec::with_capacity(labels.len() + 1);
    for (label, value) in labels {
        match label {
            "http.response.status_code" => all.extend(value.parse().ok().map(|status| number(label, status))),
            _ if label.contains('.') => all.push(text(label, value)),
            _ => {
                if label == "operation" && kind == Kind::Histogram {
                    all.extend(route(&value).map(|route| text("http.route", route)));
                }
                all.push(text(format!("contrail.{label}"), value));
            }
        }
    }
    all
}

fn point(attributes: Vec<KeyValue>, value: number_data_point::Value, (start, now): (u64, u64)) -> NumberDataPoint {
    NumberDataPoint {
        attributes,
        start_time_unix_nano: start,
        time_unix_nano: now,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

fn histogram(attributes: Vec<KeyValue>, count: u64, sum: f64, (start, now): (u64, u64)) -> HistogramDataPoint {
    HistogramDataPoint {
        attributes,
        start_time_unix_nano: start,
        time_unix_nano: now,
        count,
        sum: Some(sum),
        ..HistogramDataPoint::default()
    }
}
