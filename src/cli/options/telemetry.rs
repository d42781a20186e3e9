//! Where traces and metrics are sent.

use std::path::PathBuf;

use contrail_fleet::{self as fleet, Receiver, ReceiverUrl};

use super::values::size;
use crate::cli::messages::lacking;

/// Where traces and metrics are sent
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Telemetry")]
pub struct TelemetryArgs {
    /// Send traces and metrics to this receiver of OpenTelemetry's protocol (OTLP over HTTP), such as
    /// `http://localhost:4318`; needs the feature `fleet`
    #[arg(long, value_name = "URL")]
    pub otlp: Option<ReceiverUrl>,
    /// Maximum size of spans that wait for it, at least 1KiB; beyond it, spans are dropped
    #[arg(long, value_name = "BYTES", default_value = "16MiB", value_parser = queue)]
    pub otlp_queue: usize,
}

/// What a span of an exchange without findings takes, with room to spare.
const MIN_QUEUE: usize = 1 << 10;

fn queue(text: &str) -> Result<usize, String> {
    let bytes = size(text)?;
    if bytes < MIN_QUEUE { Err("expected at least 1KiB: less may hold no span at all".to_owned()) } else { Ok(bytes) }
}

impl TelemetryArgs {
    /// What is wrong with an option that was `typed` and lacks another one, if one was.
    pub(in crate::cli) fn lacking(&self, typed: &dyn Fn(&str) -> bool) -> Option<String> {
        match &self.otlp {
            None => typed("otlp-queue").then(|| lacking("otlp-queue", "--otlp URL")),
            Some(url) if !fleet::IS_BUILT => Some(format!("`--otlp {url}` {}", fleet::NOT_BUILT)),
            Some(_) => None,
        }
    }

    /// The receiver, if there is one; it is trusted by the same authorities as the upstream.
    pub(in crate::cli) fn receiver(&self, roots: Option<PathBuf>) -> Option<Receiver> {
        let url = self.otlp.clone()?;
        Some(Receiver { url, roots, queue: self.otlp_queue })
    }
}
