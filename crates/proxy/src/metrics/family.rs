//! Families of metrics: what the page shows, and what telemetry sends.

use std::{borrow::Cow, time::Duration};

use super::exchanges::Durations;

/// What the values of a family are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number that only grows.
    Counter,
    /// A number of things at present; those of several servers add up.
    Level,
    /// A fact at present.
    Gauge,
    /// Durations in buckets.
    Histogram,
    /// The sum of durations, and their number.
    Summary,
}

/// A family of metrics.
#[derive(Debug, Clone)]
pub struct Family {
    /// The name, as Prometheus spells it, without the suffix of a counter.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// Their unit, as UCUM spells it.
    pub unit: &'static str,
    /// What it counts or measures.
    pub help: &'static str,
    /// Its samples.
    pub samples: Vec<Sample>,
}

/// Labels of a sample: names of OpenTelemetry, with dots, or contrail's own, without.
pub type Labels = Vec<(&'static str, Cow<'static, str>)>;

/// A sample of a family.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Its labels, in order.
    pub labels: Labels,
    /// Its value.
    pub value: Value,
}

/// The value of a sample.
#[derive(Debug, Clone)]
pub enum Value {
    /// Of a counter, a level or a gauge.
    Count(u64),
    /// Of a gauge that is no whole number.
    Number(f64),
    /// Of a histogram.
    Durations(Box<Durations>),
    /// Of a summary.
    Total {
        /// The sum.
        sum: Duration,
        /// The number.
        count: u64,
    },
}

/// What durations are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// By the class of the status.
    Classes,
    /// By the attributes that OpenTelemetry's conventions for HTTP have.
    Statuses,
}

impl Family {
    /// A family without samples.
    pub(super) fn new(name: &'static str, kind: Kind, unit: &'static str, help: &'static str) -> Self {
        Self { name, kind, unit, help, samples: Vec::new() }
    }

    /// The same with this sample.
    pub(super) fn with(mut self, labels: Labels, value: Value) -> Self {
        self.samples.push(Sample { labels, value });
        self
    }

    /// The same with this number as its only sample.
    pub(super) fn count(self, count: u64) -> Self {
        self.with(Labels::new(), Value::Count(count))
    }
}
