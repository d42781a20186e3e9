//! `nats://HOST[:PORT]/STREAM`, and who asks.

use std::fmt;

/// A stream of a broker.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Hosts with their ports, if any; several are servers of one cluster.
    pub hosts: Vec<String>,
    /// The connection has to be one of TLS (`tls://`). Without it, it is where the server wants that.
    pub tls: bool,
    /// From the URL.
    pub credentials: Option<Credentials>,
    /// The name of the stream.
    pub stream: String,
}

/// Who asks the broker.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A token.
    Token(String),
    /// A user's name and password.
    User(String, String),
}

impl Address {
    pub(super) fn servers(&self) -> impl Iterator<Item = String> {
        let scheme = if self.tls { "tls" } else { "nats" };
        self.hosts.iter().map(move |host| format!("{scheme}://{host}"))
    }
}

/// The hosts; credentials are never shown.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hosts.join(","))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}/{}", self.stream)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
