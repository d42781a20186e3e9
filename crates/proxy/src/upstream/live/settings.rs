//! How a live upstream is reached, and its bounds.

use std::{path::PathBuf, time::Duration};

use super::via::Via;
use crate::upstream::own::OwnAddresses;

/// Default maximum of header fields in an answer over HTTP/1; hyper's own bound.
pub(super) const MAX_HTTP1_FIELDS: usize = 100;

/// Bounds of a live upstream.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum time to connect, TLS handshake included.
    pub connect: Duration,
    /// Maximum silence: before the first byte of an answer, and between two pieces of it.
    pub silence: Duration,
    /// How long a connection is kept for another request.
    pub idle: Duration,
    /// How long a body whose client waits for 100 Continue waits for the upstream's. An upstream need not know of it,
    /// and a client that goes away meanwhile is not noticed.
    pub leave: Duration,
    /// Maximum connections that are kept.
    pub kept: usize,
    /// Maximum header fields of an answer over HTTP/1.
    pub fields: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_mins(1),
            idle: Duration::from_secs(30),
            leave: Duration::from_millis(250),
            kept: 64,
            fields: MAX_HTTP1_FIELDS,
        }
    }
}

/// How a live upstream is reached.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Certificate authorities (PEM) to trust besides the system's.
    pub roots: Option<PathBuf>,
    /// Certificate chain and private key (PEM) to show to it.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// A proxy on the way.
    pub via: Option<Via>,
    /// Whether HTTP/2 is spoken.
    pub http2: Http2,
    /// Where no connection may ever lead.
    pub own: OwnAddresses,
}

impl Access {
    /// The options that name files of certificates, and these files.
    pub(super) fn certificate_files(&self) -> impl Iterator<Item = (&'static str, &PathBuf)> {
        let own = self.identity.iter().flat_map(|(chain, key)| [("--upstream-cert", chain), ("--upstream-key", key)]);
        self.roots.iter().map(|roots| ("--upstream-ca", roots)).chain(own)
    }
}

/// Whether HTTP/2 is spoken to the upstream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Http2 {
    /// If the TLS handshake negotiates it
    #[default]
    Auto,
    /// Never
    Off,
    /// Always (prior knowledge, RFC 9113, section 3.3)
    Always,
}
