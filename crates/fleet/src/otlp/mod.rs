//! Traces and metrics in OpenTelemetry's protocol (OTLP 1.x over HTTP, protobuf).
//!
//! An event loop leaves a compact [`Record`](record::Record) of each redacted exchange in a bounded queue. Everything
//! else runs on a thread of its own: spans are built and sent in batches, metrics are those of
//! [`Metrics`](contrail_proxy::metrics::Metrics). While the receiver is gone, spans wait; beyond the queue's bound they are
//! dropped and counted.
//!
//! Attributes follow OpenTelemetry's conventions for HTTP; contrail's own begin with `contrail.`. `docs/fleet.md` lists
//! them.

mod client;
mod exporter;
mod parent;
mod points;
mod queue;
mod record;
mod routes;
mod spans;
#[cfg(test)]
mod tests;
mod values;
mod variables;

pub(super) use exporter::begin;
