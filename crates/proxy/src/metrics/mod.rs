//! Metrics of a running server, its health and its readiness, on a listener of their own (`--metrics`).
//!
//! Each event loop counts its exchanges apart ([`Exchanges`]). They are added up into [families](Family) when somebody
//! asks, the page or telemetry (`--otlp`), so that no exchange waits for another thread's. Everything else is an atomic
//! or a question to the [`Subject`].
//!
//! Names follow OpenTelemetry's conventions for HTTP where these have one, as Prometheus spells them. No label holds
//! what a client or an upstream chose: operations are those of the contract, all other labels are words of contrail.
//!
//! Knows nothing of contracts or of the proxy.

mod exchanges;
mod families;
mod family;
mod health;
mod journal;
mod listener;
mod page;
mod registry;
mod telemetry;
mod text;

pub use self::{
    exchanges::{Durations, Exchanges, OTHER_METHOD, Observed, counted_method},
    families::INCOMPLETE,
    family::{Family, Grain, Kind, Labels, Sample, Value},
    health::Phase,
    journal::JournalMetrics,
    listener::serve,
    registry::{Gauges, Metrics, Subject},
    telemetry::TelemetryMetrics,
    text::TextFormat,
};
