//! Counters of `--otlp`: what became of the spans.

use std::sync::atomic::AtomicU64;

/// Counters of `--otlp`.
#[derive(Debug, Default)]
pub struct TelemetryMetrics {
    /// Spans that the receiver took.
    pub sent: AtomicU64,
    /// Spans for which there was no room, or no time at the end.
    pub dropped: AtomicU64,
    /// How many of them were larger than all the room there is.
    pub too_large: AtomicU64,
    /// Spans that the receiver refused.
    pub rejected: AtomicU64,
    /// Requests that failed.
    pub failures: AtomicU64,
}
