//! `nats://HOST[:PORT]/STREAM`, and who asks.

use std::fmt;

use async_nats::ServerAddr;
use percent_encoding::percent_decode_str;

use crate::{FleetError, RemoteUrl};

/// A stream of a broker.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// Hosts with their ports, if any; several are servers of one cluster.
    pub(super) hosts: Vec<String>,
    /// From the URL.
    pub(super) credentials: Option<Credentials>,
    /// The name of the stream.
    pub(super) stream: String,
}

/// Who asks the broker.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Credentials {
    /// A token.
    Token(String),
    /// A user's name and password.
    User(String, String),
}

impl Address {
    /// Reads what a URL says: before the host there may be `USER:PASSWORD@` or `TOKEN@`, and several hosts of one cluster
    /// are separated by commas.
    pub(super) fn of(url: &RemoteUrl) -> Result<Self, FleetError> {
        let wrong = |what: &str| Err(FleetError(format!("{url}: {what}; write nats://HOST[:PORT]/STREAM")));
        // The name of a stream is a token of subjects.
        if !url.path().chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            return wrong("the name of a stream has letters, digits, `-` and `_` only");
        }
        let hosts: Vec<String> = url.host().split(',').map(str::to_owned).collect();
        if hosts.iter().any(|host| host.is_empty() || host.contains(char::is_whitespace)) {
            return wrong("a host has no name");
        }
        if let Some(host) = hosts.iter().find(|host| format!("nats://{host}").parse::<ServerAddr>().is_err()) {
            return wrong(&format!("`{host}` is no name or address with a port up to 65535"));
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let credentials = url.userinfo().map(|text| match text.split_once(':') {
            Some((user, password)) => Credentials::User(decoded(user), decoded(password)),
            None => Credentials::Token(decoded(text)),
        });
        Ok(Self { hosts, credentials, stream: url.path().to_owned() })
    }

    /// The servers as the library takes them.
    pub(super) fn servers(&self) -> impl Iterator<Item = String> {
        self.hosts.iter().map(|host| format!("nats://{host}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Result<Address, String> {
        Address::of(&url.parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_url_names_hosts_a_stream_and_who_asks() {
        let plain = address("nats://broker/TRAILS").unwrap();
        assert!(plain.hosts == ["broker"] && plain.credentials.is_none());
        let user = address("nats://a%40b:p%3Aw@one:4222,[::1]:4223/T-1_x/").unwrap();
        assert!(user.credentials == Some(Credentials::User("a@b".into(), "p:w".into())));
        assert_eq!(user.servers().collect::<Vec<_>>(), ["nats://one:4222", "nats://[::1]:4223"]);
        assert_eq!(user.stream, "T-1_x");
        assert!(address("nats://s3cret@h/T").unwrap().credentials == Some(Credentials::Token("s3cret".into())));
    }

    #[test]
    fn what_is_no_stream_is_refused_and_no_password_is_ever_shown() {
        for url in [
            "nats://user:s3cret@h/a.b",
            "nats://s3cret@h/a/b",
            "nats://h/T*",
            "nats://u:s3cret@a,/T",
            "nats://u:s3cret@127.0.0.1:99999/T",
            "nats://a,b:x/T",
            "nats://[::1/T",
        ] {
            let error = address(url).unwrap_err();
            assert!(error.ends_with("; write nats://HOST[:PORT]/STREAM") && !error.contains("s3cret"), "{error}");
        }
        let error = address("nats://a,127.0.0.1:99999/S").unwrap_err();
        let said =
            "nats://a,127.0.0.1:99999/S: `127.0.0.1:99999` is no name or address with a port up to 65535; write ";
        assert!(error.starts_with(said), "{error}");
        let address = address("nats://user:s3cret@h/T").unwrap();
        assert_eq!(format!("{address} {address:?} {:?}", address.credentials), "h h/T Some(…)");
    }
}
