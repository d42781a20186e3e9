//! What brings traces and metrics to a receiver of OpenTelemetry's protocol (`--otlp`).

use std::{
    error::Error,
    fmt,
    path::PathBuf,
    str::FromStr,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use contrail_pipeline::Tracer;
use contrail_proxy::{metrics::Metrics, upstream::Origin};

use super::FleetError;

/// The URL of a receiver: its origin, and what precedes `/v1/traces` and `/v1/metrics` there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverUrl {
    /// The receiver's origin.
    pub origin: Origin,
    /// The path without a slash at its end; empty for none.
    pub base: String,
}

/// Why a text is no URL of a receiver. Never repeats credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceiverUrlError {
    /// It is no URL of http or https with a host.
    Url,
    /// Credentials belong in the environment.
    Credentials,
    /// It has a query or a fragment.
    Query,
}

impl fmt::Display for ReceiverUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Url => "expected a URL such as http://localhost:4318 or https://HOST/PATH",
            Self::Credentials => "credentials do not belong in it; OTEL_EXPORTER_OTLP_HEADERS takes them",
            Self::Query => "a query or a fragment does not belong in it",
        })
    }
}

impl Error for ReceiverUrlError {}

impl FromStr for ReceiverUrl {
    type Err = ReceiverUrlError;

    fn from_str(text: &str) -> Result<Self, ReceiverUrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(ReceiverUrlError::Url)?;
        if rest.contains('@') {
            return Err(ReceiverUrlError::Credentials);
        }
        if rest.contains(['?', '#']) {
            return Err(ReceiverUrlError::Query);
        }
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let origin = format!("{scheme}://{authority}").parse().map_err(|_| ReceiverUrlError::Url)?;
        let base = path.trim_end_matches('/').to_owned();
        let usable = format!("{base}/v1/traces").parse::<http::uri::PathAndQuery>();
        usable.map_err(|_| ReceiverUrlError::Url)?;
        Ok(Self { origin, base })
    }
}

impl fmt::Display for ReceiverUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.base)
    }
}

/// A receiver, and what waits for it.
#[derive(Debug, Clone)]
pub struct Receiver {
    /// Where it is.
    pub url: ReceiverUrl,
    /// Certificate authorities (PEM) to trust besides the system's.
    pub roots: Option<PathBuf>,
    /// Maximum bytes of spans that wait.
    pub queue: usize,
}

/// Sends traces and metrics to a receiver.
pub(super) trait Export: Tracer {
    /// Sends what is left, for at most `patience`, and until `asked`.
    fn end(&self, patience: Duration, asked: &AtomicBool);
}

/// Sends traces and metrics to a receiver until it is [ended](Self::end).
#[derive(Debug, Clone)]
pub struct Telemetry(Arc<dyn Export>);

impl Telemetry {
    /// Begins; nothing is sent yet, and the receiver need not be there.
    ///
    /// # Errors
    ///
    /// A certificate or a variable of OpenTelemetry cannot be used.
    pub fn begin(receiver: &Receiver, metrics: Arc<Metrics>) -> Result<Self, FleetError> {
        begin(receiver, metrics).map(Self)
    }

    /// What takes the exchanges.
    #[must_use]
    pub fn tracer(&self) -> Arc<dyn Tracer> {
        Arc::clone(&self.0) as _
    }

    /// Sends what is left, for at most `patience`, and until `asked` is true. No exchange is taken any more.
    pub fn end(&self, patience: Duration, asked: &AtomicBool) {
        self.0.end(patience, asked);
    }
}

#[cfg(feature = "fleet")]
fn begin(receiver: &Receiver, metrics: Arc<Metrics>) -> Result<Arc<dyn Export>, FleetError> {
    super::otlp::begin(receiver, metrics)
}

#[cfg(not(feature = "fleet"))]
fn begin(receiver: &Receiver, _: Arc<Metrics>) -> Result<Arc<dyn Export>, FleetError> {
    Err(FleetError(format!("`--otlp {}` {}", receiver.url, super::NOT_BUILT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<String, ReceiverUrlError> {
        text.parse().map(|url: ReceiverUrl| url.to_string())
    }

    #[test]
    fn the_path_of_a_url_is_what_precedes_that_of_a_signal() {
        assert_eq!(parsed("http://Collector:4318").unwrap(), "http://collector:4318");
        assert_eq!(parsed("https://host/").unwrap(), "https://host");
        assert_eq!(parsed("https://host:443/a/b//").unwrap(), "https://host/a/b");
        assert_eq!(parsed("http://[::1]:4318/x").unwrap(), "http://[::1]:4318/x");
    }

    #[test]
    fn what_is_no_url_of_a_receiver_is_refused_without_its_credentials() {
        for (text, error) in [
            ("localhost:4318", ReceiverUrlError::Url),
            ("grpc://localhost:4317", ReceiverUrlError::Url),
            ("http://", ReceiverUrlError::Url),
            ("http://host/a b", ReceiverUrlError::Url),
            ("http://user:hunter2@host", ReceiverUrlError::Credentials),
            ("https://host/?key=hunter2", ReceiverUrlError::Query),
        ] {
            assert_eq!(parsed(text), Err(error), "{text}");
            assert!(!error.to_string().contains("hunter2"));
        }
    }
}
