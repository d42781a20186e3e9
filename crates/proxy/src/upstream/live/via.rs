//! Reaching the upstream through another proxy (`--upstream-proxy`, or the usual variables).

use std::{borrow::Cow, fmt, net::IpAddr, str::FromStr};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::upstream::{Origin, no_proxy::covers};

/// The option that names a proxy.
const OPTION: &str = "--upstream-proxy";

/// Maximum bytes of a proxy's answer to CONNECT.
const MAX_ANSWER: usize = 16 << 10;

/// A forward proxy between contrail and the upstream.
#[derive(Clone, PartialEq, Eq)]
pub struct Via {
    /// Its host, without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What it gets as `Proxy-Authorization`.
    authorization: Option<String>,
    /// The option or variable that names it.
    named_by: Cow<'static, str>,
}

impl fmt::Debug for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Via({self})")
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Why a text names no proxy; never repeats credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViaError;

impl fmt::Display for ViaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write the proxy as http://[USER:PASSWORD@]HOST:PORT")
    }
}

impl std::error::Error for ViaError {}

impl FromStr for Via {
    type Err = ViaError;

    fn from_str(text: &str) -> Result<Self, ViaError> {
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err(ViaError),
            None => text,
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (user_info, authority) = match authority.rsplit_once('@') {
            Some((user_info, authority)) => (Some(user_info), authority),
            None => (None, authority),
        };
        let origin: Origin = format!("http://{authority}").parse().map_err(|_| ViaError)?;
        let authorization = user_info.map(|user_info| {
            let plain: Vec<u8> = percent_decode_str(user_info).collect();
            let plain = if plain.contains(&b':') { plain } else { [&plain, &b":"[..]].concat() };
            format!("Basic {}", STANDARD.encode(plain))
        });
        let named_by = Cow::Borrowed(OPTION);
        Ok(Self { host: origin.host.to_string(), port: origin.port, authorization, named_by })
    }
}

impl Via {
    /// What the usual variables say about this upstream: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, in both
    /// spellings (upper-case `HTTP_PROXY` only outside CGI). Loopback is always reached directly.
    ///
    /// # Errors
    ///
    /// The variable that holds no proxy.
    pub fn from_environment(
        origin: &Origin,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, String> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let loopback = *origin.host == *"localhost"
            || origin.host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
        let direct = set("no_proxy").or_else(|| set("NO_PROXY")).unwrap_or_default();
        if loopback || direct.split([',', ' ']).any(|entry| covers(entry.trim(), &origin.host, origin.port)) {
            return Ok(None);
        }
        let names: &[&str] = if origin.https {
            &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        } else if variable("REQUEST_METHOD").is_some() {
            &["http_proxy", "all_proxy", "ALL_PROXY"]
        } else {
            &["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
        };
        let Some((name, value)) = names.iter().find_map(|name| set(name).map(|value| (name, value))) else {
            return Ok(None);
        };
        match value.parse::<Self>() {
            Ok(via) => Ok(Some(Self { named_by: Cow::Owned((*name).to_owned()), ..via })),
            Err(error) => Err(format!("{name}: {error}")),
        }
    }

    /// What plain requests through it carry.
    pub(super) fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// Says that it cannot be reached, and what to do.
    #[must_use]
    pub fn unreachable(&self, cause: &dyn fmt::Display) -> String {
        format!("cannot reach the upstream proxy {self}: {cause}; {}", self.advice())
    }

    /// What to do about a proxy that does not serve.
    pub(super) fn advice(&self) -> String {
        if self.named_by == OPTION {
            return format!("{OPTION} names it; `{OPTION} none` connects directly");
        }
        format!("{} names it; {OPTION} names another one, `{OPTION} none` connects directly", self.named_by)
    }

    /// Asks it for a tunnel to the upstream.
    ///
    /// # Errors
    ///
    /// Why there is none, in words that name the proxy.
    pub(super) async fn tunnel(&self, stream: &mut TcpStream, origin: &Origin) -> Result<(), String> {
        let target = format!("{}:{}", origin.bracketed_host(), origin.port);
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
        if let Some(authorization) = &self.authorization {
            request.push_str("Proxy-Authorization: ");
            request.push_str(authorization);
            request.push_str("\r\n");
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).await.map_err(|error| self.unreachable(&error))?;
        let mut answer = Vec::new();
        // Byte by byte: what comes after the head belongs to the tunnel.
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            let read = stream.read(&mut byte).await.map_err(|error| self.unreachable(&error))?;
            if read == 0 || answer.len() == MAX_ANSWER || !is_http(&answer) {
                let advice = self.advice();
                return Err(format!(
                    "the proxy {self} does not answer CONNECT with HTTP/1; is it an https or SOCKS proxy? {advice}"
                ));
            }
            answer.push(byte[0]);
        }
        let line = answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
        match line.split(|byte| *byte == b' ').nth(1).unwrap_or_default() {
            [b'2', b'0'..=b'9', b'0'..=b'9'] => Ok(()),
            status => {
                let status = String::from_utf8_lossy(status);
                let digits: String = status.chars().filter(char::is_ascii_digit).take(3).collect();
                Err(self.refused("the tunnel", &digits))
            }
        }
    }

    /// What it did, in words, and what to do about it.
    pub(super) fn refused(&self, what: &str, status: &str) -> String {
        let hint = match status {
            // Written out as a URL, redaction would take it for a secret.
            "407" if self.authorization.is_some() => {
                format!("it does not accept the name and the password in {}", self.named_by)
            }
            "407" => {
                format!(
                    "it requires a name and a password; write `USER:PASSWORD@` before its host in {}",
                    self.named_by
                )
            }
            _ => self.advice(),
        };
        format!("the proxy {self} refused {what} with {status}; {hint}")
    }
}

/// Whether an answer begins as one of HTTP/1 does, as far as it came.
fn is_http(answer: &[u8]) -> bool {
    answer.iter().zip(b"HTTP/1.").all(|(byte, expected)| byte == expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(origin: &str, variables: &[(&str, &str)]) -> Result<Option<String>, String> {
        let origin: Origin = origin.parse().unwrap();
        let variable =
            |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
        Via::from_environment(&origin, variable).map(|via| via.map(|via| via.to_string()))
    }

    #[test]
    fn the_variable_of_the_upstreams_scheme_is_taken_unless_no_proxy_covers_it() {
        let both = [("HTTPS_PROXY", "http://one:3128"), ("http_proxy", "two:80")];
        assert_eq!(chosen("https://tenant.example", &both), Ok(Some("one:3128".into())));
        assert_eq!(chosen("http://tenant.example", &both), Ok(Some("two:80".into())));
        let mut direct = both.to_vec();
        direct.push(("no_proxy", "other.example, .example"));
        assert_eq!(chosen("https://tenant.example", &direct), Ok(None));
        assert_eq!(chosen("https://127.0.0.1:9000", &both), Ok(None));
        let within = [both[0], ("NO_PROXY", "10.0.0.0/8")];
        assert_eq!(chosen("https://10.1.2.3", &within), Ok(None));
    }

    #[test]
    fn a_refused_proxy_is_shown_without_its_password() {
        let error = chosen("https://tenant.example", &[("ALL_PROXY", "socks5://user:hunter2@one")]).unwrap_err();
        assert!(error.starts_with("ALL_PROXY: ") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn credentials_are_decoded_before_they_are_sent() {
        let via: Via = "http://me:p%40ss@proxy:3128".parse().unwrap();
        assert_eq!(via.authorization(), Some(format!("Basic {}", STANDARD.encode("me:p@ss")).as_str()));
        assert_eq!(format!("{via:?}"), "Via(proxy:3128)");
    }
}
