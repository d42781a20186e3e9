//! An origin: scheme, host and port, and nothing else (RFC 6454).

use std::{borrow::Cow, fmt, net::IpAddr, str::FromStr, sync::Arc};

/// `http://host:port` or `https://host:port`; the port may be left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Whether to speak TLS.
    pub https: bool,
    /// The host: a name, an IPv4 address, or an IPv6 address without brackets.
    pub host: Arc<str>,
    /// The port, the scheme's own if none was given.
    pub port: u16,
    /// Host and port as in a Host header: without the scheme's own port.
    pub authority: Arc<str>,
}

impl Origin {
    /// The host as it stands in front of a port: an IPv6 address in brackets.
    #[must_use]
    pub fn bracketed_host(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.to_string() }
    }

    /// Whether it is on this machine, where `NO_PROXY` usually leads around a proxy.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let address = self.host.parse::<IpAddr>();
        self.host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|ip| ip.is_loopback())
    }

    /// `http` or `https`.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.https { "https" } else { "http" }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme(), self.authority)
    }
}

/// Why a text is no origin, and what to write instead. Never repeats credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginError(String);

impl fmt::Display for OriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OriginError {}

impl FromStr for Origin {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Self, OriginError> {
        let wrong = |what: &str| OriginError(format!("{what}; write it as https://tenant.example"));
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("an upstream is an origin with a scheme"))?;
        let https = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(wrong("an upstream's scheme is http or https")),
        };
        let (authority, path) = rest.find(['/', '?', '#']).map_or((rest, ""), |at| rest.split_at(at));
        if rest.contains('@') {
            return Err(wrong("an upstream takes no user name and no password"));
        }
        if !matches!(path, "" | "/") {
            let origin = format!("{scheme}://{authority}");
            let path = path.split(['?', '#']).next().filter(|path| !path.is_empty()).unwrap_or("/");
            return Err(OriginError(format!(
                "an upstream is an origin, without a path: write {origin} and let clients ask for `{path}…` themselves"
            )));
        }
        let parsed: http::uri::Authority = authority.parse().map_err(|_| wrong("the upstream names no valid host"))?;
        let host = parsed.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(wrong("the upstream names no host"));
        }
        let own = if https { 443 } else { 80 };
        let port = match parsed.port() {
            None => own,
            Some(port) => port.as_u16(),
        };
        // `port()` is `None` for a number beyond 65535, too.
        if port == 0 || parsed.port().is_none() && authority.len() > parsed.host().len() {
            return Err(wrong("the upstream's port is a number from 1 to 65535"));
        }
        let host_text = parsed.host().to_ascii_lowercase();
        let authority = if port == own { host_text } else { format!("{host_text}:{port}") };
        Ok(Self { https, host: host.to_ascii_lowercase().into(), port, authority: authority.into() })
    }
}

/// An address for a message: without user name and password, and without a query.
#[must_use]
pub fn masked(address: &str) -> Cow<'_, str> {
    let (scheme, rest) = address.split_at(address.find("://").map_or(0, |at| at + 3));
    let (mask, rest) = rest.rsplit_once('@').map_or(("", rest), |(_, rest)| ("***@", rest));
    let (rest, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    if mask.is_empty() && query.is_empty() {
        return Cow::Borrowed(address);
    }
    let query = query.get(..1).map(|mark| format!("{mark}***")).unwrap_or_default();
    Cow::Owned(format!("{scheme}{mask}{rest}{query}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, u16, String) {
        let origin: Origin = text.parse().unwrap();
        (origin.host.to_string(), origin.port, origin.to_string())
    }

    #[test]
    fn an_origin_is_a_scheme_a_host_and_a_port() {
        assert_eq!(parsed("https://Tenant.example"), ("tenant.example".into(), 443, "https://tenant.example".into()));
        assert_eq!(parsed("https://tenant.example:443/").2, "https://tenant.example");
        assert_eq!(parsed("http://127.0.0.1:8081"), ("127.0.0.1".into(), 8081, "http://127.0.0.1:8081".into()));
        assert_eq!(parsed("http://[::1]:81"), ("::1".into(), 81, "http://[::1]:81".into()));
    }

    #[test]
    fn a_path_is_refused_with_the_origin_to_write_instead() {
        let error = "https://tenant.example/api/v2".parse::<Origin>().unwrap_err().to_string();
        assert_eq!(
            error,
            "an upstream is an origin, without a path: write https://tenant.example and let clients ask for \
             `/api/v2…` themselves"
        );
    }

    #[test]
    fn what_is_no_origin_is_refused_without_repeating_a_password() {
        for text in ["tenant.example", "ftp://a", "https://", "http://h:0", "http://h:", "http://h:99999", "http://a b"]
        {
            assert!(text.parse::<Origin>().is_err(), "{text}");
        }
        let error = "https://user:hunter2@tenant.example".parse::<Origin>().unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
        for text in ["https://user:hun/ter2@tenant.example", "https://tenant.example/a?key=ter2", "https://h?key=ter2"]
        {
            let error = text.parse::<Origin>().unwrap_err().to_string();
            assert!(!error.contains("ter2") && !error.contains("user:"), "{error}");
        }
    }

    #[test]
    fn a_masked_address_holds_neither_credentials_nor_a_query() {
        for (address, expected) in [
            ("https://ci:SECRET@host/a", "https://***@host/a"),
            ("https://ci:SEC/R@ET@host", "https://***@host"),
            ("ci:SECRET@host:1", "***@host:1"),
            ("https://host/a?key=SECRET#x", "https://host/a?***"),
            ("https://host#SECRET", "https://host#***"),
            ("127.0.0.1:8080", "127.0.0.1:8080"),
        ] {
            assert_eq!(masked(address), expected);
        }
    }
}
