//! Bounds and addresses of a proxy.

use std::{sync::Arc, time::Duration};

use contrail_exchange::{Target, TenantFacts, UnknownTenant};

use super::{sessions::Sessions, workers::Workers};
use crate::upstream::own::OwnAddresses;

/// Bounds and addresses of a proxy. Sizes in bytes.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The upstreams, without a path: scheme, authority (the Host header that it gets), and name if it has one. Each has
    /// reverse listeners of its own, which name it by its place here.
    pub upstreams: Vec<Target>,
    /// Maximum bytes of a request body; 413 beyond.
    pub max_body: u64,
    /// Maximum captured bytes of each body.
    pub max_capture: usize,
    /// Maximum captured bytes of all bodies in progress; the first 64 KiB of each are free.
    pub max_captured: usize,
    /// Maximum connections at a time; 503 beyond.
    pub max_connections: usize,
    /// Maximum header fields of a request; 431 beyond.
    pub max_headers: usize,
    /// Maximum bytes of a request head; 431 beyond.
    pub max_header_bytes: usize,
    /// Maximum length of a request target, in bytes; 414 beyond.
    pub max_target: usize,
    /// Maximum time for a request head to arrive, from its first byte or the start of the connection.
    pub header_timeout: Duration,
    /// Maximum pause within a request body.
    pub body_timeout: Duration,
    /// Minimum average rate of a request body in bytes per second, after the first `body_timeout`; 0 for any.
    pub body_rate: u64,
    /// How long a client may stop reading a response.
    pub write_timeout: Duration,
    /// How long a connection may be idle between requests.
    pub keep_alive: Duration,
    /// Maximum silence, both ways, of a tunnel or of a connection after its protocol was switched.
    pub tunnel_timeout: Duration,
    /// Maximum HTTP/2 streams of one connection at a time.
    pub max_streams: u32,
    /// Maximum concurrent requests to the upstream; over HTTP/1 each has its own connection.
    pub max_upstream: usize,
    /// How long another request waits for a permit; 503 beyond.
    pub permit_timeout: Duration,
    /// What happens to the `audience` of a token request.
    pub audience: Audience,
    /// Clients that call contrail get links to itself in place of links to the upstreams.
    pub rewrite_links: bool,
    /// Notes when each event of an event stream comes.
    pub event_times: bool,
    /// The tenant's token endpoints and audiences.
    pub tenant: Arc<dyn TenantFacts>,
    /// contrail's own listeners.
    pub own: OwnAddresses,
    /// Who keeps the sessions, where requests have one.
    pub sessions: Option<Arc<dyn Sessions>>,
    /// The event loops that serve connections.
    pub workers: Workers,
    /// How long exchanges in progress may continue after a shutdown begins.
    pub drain: Duration,
}

impl Settings {
    /// The defaults, for this upstream.
    pub fn new(scheme: impl Into<Arc<str>>, authority: impl Into<Arc<str>>) -> Self {
        Self { upstreams: vec![Target::new(scheme, authority, "")], ..Self::default() }
    }
}

/// Without an upstream.
impl Default for Settings {
    fn default() -> Self {
        Self {
            upstreams: Vec::new(),
            max_body: 64 << 20,
            max_capture: 4 << 20,
            max_captured: 256 << 20,
            max_connections: 1024,
            max_headers: 100,
            max_header_bytes: 64 << 10,
            max_target: 16 << 10,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_mins(1),
            body_rate: 500,
            write_timeout: Duration::from_mins(1),
            keep_alive: Duration::from_secs(75),
            tunnel_timeout: Duration::from_mins(10),
            max_streams: 128,
            max_upstream: 1024,
            permit_timeout: Duration::from_secs(10),
            audience: Audience::default(),
            rewrite_links: false,
            event_times: false,
            tenant: Arc::new(UnknownTenant),
            own: OwnAddresses::default(),
            sessions: None,
            workers: Workers::default(),
            drain: Duration::from_secs(10),
        }
    }
}

/// What happens to the `audience` of a token request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Audience {
    /// One that names contrail's own address, or the request's Host, becomes the tenant's.
    #[default]
    Rewrite,
    /// Every one becomes this.
    Force(String),
    /// None is touched.
    Keep,
}
