//! The bounds of a proxy: sizes, counts and times.

use std::{ffi::OsString, net::SocketAddr, sync::Arc, time::Duration};

use clap::builder::Resettable;
use contrail_exchange::Target;
use contrail_proxy::{Audience, Settings, sessions::Sessions, upstream::live};

use super::{
    inspect::{InspectArgs, Page},
    listen::ListenerArgs,
    telemetry::TelemetryArgs,
    values::{positive, seconds, size, size_above_zero, whole, workers},
};
use crate::cli::open_files::connections_that_fit;

/// How the proxy listens and what it bounds
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Proxy")]
pub struct ProxyArgs {
    /// Where the proxy listens.
    #[command(flatten)]
    pub listeners: ListenerArgs,
    /// The live page.
    #[command(flatten)]
    pub inspect: InspectArgs,
    /// Where traces and metrics are sent.
    #[command(flatten)]
    pub telemetry: TelemetryArgs,
    /// Maximum size of a request body; 413 beyond. Responses have no limit
    #[arg(long, help_heading = "Limits", value_name = "BYTES", default_value = "64MiB", value_parser = size::<u64>)]
    pub max_body: u64,
    /// Maximum size of a body that is judged and recorded; the rest only passes through
    #[arg(long, help_heading = "Limits", value_name = "BYTES", default_value = "4MiB", value_parser = size::<usize>)]
    pub max_capture: usize,
    /// Memory for captured bodies in flight, in total; the first 64 KiB of each do not count. Beyond it, the recording
    /// cuts larger bodies
    #[arg(long, help_heading = "Limits", value_name = "BYTES", default_value = "256MiB", value_parser = size::<usize>)]
    pub max_captured: usize,
    /// Maximum number of connections; 503 beyond. Lowered with a warning if the open-file limit is too small
    #[arg(long, help_heading = "Limits", value_name = "N", default_value_t = 1024, value_parser = positive::<usize>)]
    pub max_connections: usize,
    /// Maximum number of header fields of a request; 431 beyond
    #[arg(long, help_heading = "Limits", value_name = "N", default_value_t = 100, value_parser = positive::<usize>)]
    pub max_headers: usize,
    /// Maximum number of header fields of an HTTP/1 response; 502 beyond. Over HTTP/2 the limit is 128 KiB
    #[arg(long, help_heading = "Limits", value_name = "N", default_value_t = 100, value_parser = positive::<usize>)]
    pub max_response_headers: usize,
    /// Maximum size of a request head; 431 beyond
    #[arg(long, help_heading = "Limits", value_name = "BYTES", default_value = "64KiB", value_parser = size_above_zero)]
    pub max_header_bytes: usize,
    /// Maximum length of a request target; 414 beyond
    #[arg(long, help_heading = "Limits", value_name = "BYTES", default_value = "16KiB", value_parser = size_above_zero)]
    pub max_target: usize,
    /// Maximum time to receive a request head; 408 beyond, once it began
    #[arg(long, help_heading = "Timeouts", value_name = "SECS", default_value = "30", value_parser = seconds)]
    pub header_timeout: Duration,
    /// Maximum silence of a client within a request body; 408 beyond
    #[arg(long, help_heading = "Timeouts", value_name = "SECS", default_value = "60", value_parser = seconds)]
    pub body_timeout: Duration,
    /// Minimum rate of a request body in bytes per second, on average after the first --body-timeout; 408 below, 0 for
    /// no minimum
    #[arg(long, help_heading = "Timeouts", value_name = "BYTES", default_value = "500", value_parser = size::<u64>)]
    pub body_rate: u64,
    /// Maximum time for which a client may stop reading a response; beyond it, contrail cuts its connection or HTTP/2
    /// stream
    #[arg(long, help_heading = "Timeouts", value_name = "SECS", default_value = "60", value_parser = seconds)]
    pub write_timeout: Duration,
    /// Maximum idle time of a connection between two requests
    #[arg(long, help_heading = "Timeouts", value_name = "SECS", default_value = "75", value_parser = seconds)]
    pub keep_alive: Duration,
    /// Maximum silence, both ways, of a tunnel or an upgraded connection (101)
    #[arg(long, help_heading = "Timeouts", value_name = "SECS", default_value = "600", value_parser = seconds)]
    pub tunnel_timeout: Duration,
    /// Maximum silence of the upstream, before or within a response; 504 beyond
    #[arg(long, help_heading = "Timeouts", value_name = "SECS", default_value = "60", value_parser = seconds)]
    pub upstream_timeout: Duration,
    /// Maximum time to connect to the upstream; 504 beyond
    #[arg(long, help_heading = "Timeouts", value_name = "SECS", default_value = "10", value_parser = seconds)]
    pub connect_timeout: Duration,
    /// Number of threads that serve connections, at most 64
    #[arg(long, help_heading = "Proxy", value_name = "N", default_value_t = 1, value_parser = workers)]
    pub workers: usize,
    /// Set the audience of every token request [default: replace only an audience that names contrail with the
    /// tenant's]
    #[arg(long, help_heading = "Upstream", value_name = "AUDIENCE", conflicts_with = "keep_audience")]
    pub audience: Option<String>,
    /// Leave the audience of token requests unchanged
    #[arg(long, help_heading = "Upstream")]
    pub keep_audience: bool,
    /// Maximum number of idle connections to the upstream that are kept for reuse
    #[arg(long, help_heading = "Limits", value_name = "N", default_value_t = 64, value_parser = whole::<usize>)]
    pub pool: usize,
    /// Maximum number of concurrent HTTP/2 streams per connection
    #[arg(long, help_heading = "Limits", value_name = "N", default_value_t = 128, value_parser = positive::<u32>)]
    pub max_streams: u32,
    /// Maximum number of requests in flight to the upstream; a further one waits up to --connect-timeout, then gets 503
    /// [default: --max-connections]
    #[arg(long, help_heading = "Limits", value_name = "N", value_parser = positive::<usize>)]
    pub max_upstream: Option<usize>,
    /// Time for exchanges in progress to finish after a signal or the command's end
    #[arg(long, help_heading = "Proxy", value_name = "SECS", default_value = "10", value_parser = seconds)]
    pub drain: Duration,
    /// See [`Settings::rewrite_links`].
    #[arg(skip)]
    pub rewrite_links: bool,
    /// See [`Settings::event_times`].
    #[arg(skip)]
    pub event_times: bool,
    /// Hosts that the command reaches without contrail in a replay.
    #[arg(skip)]
    pub direct: Vec<String>,
    /// The open page.
    #[arg(skip)]
    pub(in crate::cli) page: Option<Arc<Page>>,
    /// Who keeps the sessions.
    #[arg(skip)]
    pub(in crate::cli) sessions: Option<Arc<dyn Sessions>>,
    /// Where sessions are started and ended.
    #[arg(skip)]
    pub(in crate::cli) control: Option<SocketAddr>,
    /// Further variables that the command finds.
    #[arg(skip)]
    pub for_command: Vec<(&'static str, String)>,
    /// Command to run behind the proxy; its exit status takes precedence over contrail's own
    #[arg(last = true, value_name = "CMD", help_heading = Resettable::Reset)]
    pub command: Vec<OsString>,
}

impl ProxyArgs {
    /// Bounds of a live upstream.
    #[must_use]
    pub fn live_limits(&self) -> live::Limits {
        live::Limits {
            connect: self.connect_timeout,
            silence: self.upstream_timeout,
            kept: self.pool,
            fields: self.max_response_headers,
            ..live::Limits::default()
        }
    }

    pub(in crate::cli) fn settings(&self, upstreams: Vec<Target>) -> Settings {
        let max_connections = connections_that_fit(self.max_connections, self.max_upstream, self.pool, self.workers);
        Settings {
            max_body: self.max_body,
            max_capture: self.max_capture,
            max_captured: self.max_captured,
            max_connections,
            max_headers: self.max_headers,
            max_header_bytes: self.max_header_bytes,
            max_target: self.max_target,
            header_timeout: self.header_timeout,
            body_timeout: self.body_timeout,
            body_rate: self.body_rate,
            write_timeout: self.write_timeout,
            keep_alive: self.keep_alive,
            tunnel_timeout: self.tunnel_timeout,
            max_streams: self.max_streams,
            max_upstream: self.max_upstream.unwrap_or(max_connections),
            permit_timeout: self.connect_timeout,
            audience: match &self.audience {
                Some(audience) => Audience::Force(audience.clone()),
                None if self.keep_audience => Audience::Keep,
                None => Audience::Rewrite,
            },
            drain: self.drain,
            rewrite_links: self.rewrite_links,
            event_times: self.event_times,
            sessions: self.sessions.clone(),
            upstreams,
            ..Settings::default()
        }
    }
}
