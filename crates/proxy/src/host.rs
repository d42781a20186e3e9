//! Hosts with ports, as clients name them.

use std::{fmt, net::Ipv6Addr};

/// Longest host with its port, in bytes; a name of DNS has at most 253.
const MAX_AUTHORITY: usize = 300;

/// A host with its port, as the client of a forward proxy names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// Lower case, without brackets and without a trailing dot.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl HostPort {
    /// From an authority; `port` where it names none.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn parse(authority: &str, port: Option<u16>) -> Result<Self, &'static str> {
        if authority.len() > MAX_AUTHORITY {
            return Err("it is longer than 300 bytes");
        }
        if authority.contains('@') {
            return Err("it holds user information");
        }
        let parsed: http::uri::Authority = authority.parse().map_err(|_| "it is not a host and port")?;
        let digits = authority.rsplit_once(':').map(|(_, digits)| digits).filter(|_| !authority.ends_with(']'));
        let port = match (digits, port) {
            (None, Some(port)) => port,
            (None, None) => return Err("it names no port"),
            (Some(digits), _) if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                digits.parse().ok().filter(|port| *port > 0).ok_or("its port is not from 1 to 65535")?
            }
            _ => return Err("its port is not a number"),
        };
        let host = parsed.host();
        let host = match host.strip_prefix('[').map(|host| host.trim_end_matches(']')) {
            Some(address) if address.parse::<Ipv6Addr>().is_err() => return Err("brackets hold no IPv6 address"),
            Some(address) => address,
            None => host,
        };
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if host.is_empty() || host.ends_with('.') {
            return Err("it names no host");
        }
        Ok(Self { host, port })
    }

    /// As it stands in a Host header for this scheme.
    #[must_use]
    pub fn authority(&self, scheme: &str) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (scheme, self.port) {
            ("https", 443) | ("http", 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.authority(""))
    }
}

/// Whether this is a host, perhaps with a port, and nothing else. A comma is legal in a name that no host has, and the
/// mark of two Hosts that somebody joined.
pub(crate) fn is_authority(authority: &[u8]) -> bool {
    let (host, port) = match memchr::memrchr(b':', authority) {
        Some(colon) => (&authority[..colon], Some(&authority[colon + 1..])),
        None => (authority, None),
    };
    // Nearly all of them are plain names or IPv4 addresses.
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if !host.is_empty() && host.iter().all(is_plain) {
        return port.is_none_or(is_port);
    }
    if authority.is_empty() || authority.iter().any(|byte| matches!(byte, b'@' | b',')) {
        return false;
    }
    let Ok(authority) = http::uri::Authority::try_from(authority) else { return false };
    let port = authority.as_str().get(authority.host().len()..).unwrap_or_default();
    !authority.host().is_empty() && is_port(port.strip_prefix(':').unwrap_or(port).as_bytes())
}

/// Whether this is a port as it stands in an authority; it may be empty there (RFC 3986, section 3.2.3).
fn is_port(text: &[u8]) -> bool {
    const MAX_PORT: u32 = u16::MAX as u32;
    let number = |port: u32, digit: &u8| (port * 10 + u32::from(digit - b'0')).min(MAX_PORT + 1);
    text.iter().all(u8::is_ascii_digit) && text.iter().fold(0, number) <= MAX_PORT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(authority: &str) -> Result<(String, u16), &'static str> {
        HostPort::parse(authority, None).map(|target| (target.host, target.port))
    }

    #[test]
    fn a_connect_target_is_a_host_and_a_port_whatever_its_spelling() {
        assert_eq!(parsed("Tenant.Example:443"), Ok(("tenant.example".into(), 443)));
        assert_eq!(parsed("tenant.example.:443"), Ok(("tenant.example".into(), 443)));
        assert_eq!(parsed("[::1]:8443"), Ok(("::1".into(), 8443)));
    }

    #[test]
    fn a_malformed_target_is_refused_with_a_reason() {
        for wrong in [
            "tenant.example",
            "tenant.example:",
            "tenant.example:0",
            "tenant.example:65536",
            "[::1]",
            "a@b:443",
            ".:443",
            "tenant.example..:443",
            ":443",
            "tenant.example:+44",
            "[tenant.example]:443",
            "[127.0.0.1]:443",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_default_port_of_a_scheme_is_not_written() {
        let target = HostPort { host: "tenant.example".into(), port: 443 };
        assert_eq!(target.authority("https"), "tenant.example");
        assert_eq!(target.authority("http"), "tenant.example:443");
        assert_eq!(HostPort { host: "::1".into(), port: 80 }.authority("http"), "[::1]");
    }
}
