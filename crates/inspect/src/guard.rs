//! Who gets an answer. Every request passes [`Guard::admit`] before anything else looks at it, and every answer carries
//! the same headers, refusals too.
//!
//! Against a page of another origin in the same browser, also by DNS rebinding: the `Host` has to be one that was
//! allowed before, and `Origin` and `Sec-Fetch-Site` this page's own. Against other users of the machine: a token of 256
//! bits, which stands in the fragment of the address (no request and no log holds it) and then in `Authorization`. A
//! cookie would be sent by other origins' requests, and does not distinguish ports.

use std::net::SocketAddr;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use ring::rand::{SecureRandom as _, SystemRandom};

/// What every answer carries.
const HEADERS: [(&str, &str); 10] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    (
        "permissions-policy",
        "accelerometer=(), autoplay=(), camera=(), display-capture=(), \
         encrypted-media=(), fullscreen=(), geolocation=(), gyroscope=(), hid=(), idle-detection=(), magnetometer=(), \
         microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-get=(), screen-wake-lock=(), \
         serial=(), usb=(), xr-spatial-tracking=(), clipboard-read=(), clipboard-write=(self)",
    ),
    ("cache-control", "no-store"),
    ("x-dns-prefetch-control", "off"),
];

/// What lets a person in.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    text: String,
    /// Its owner has it already, so it is not printed.
    pub is_given: bool,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Random text of 256 bits.
fn random() -> String {
    let mut bytes = [0; 32];
    // Without randomness nothing that follows would be safe.
    #[expect(clippy::expect_used, reason = "the system's generator does not fail once it has started")]
    SystemRandom::new().fill(&mut bytes).expect("the system gives random bytes");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A short random name.
pub(crate) fn random_name() -> String {
    random()[..12].to_owned()
}

impl Token {
    /// Minimum characters of one that is given.
    pub const MIN: usize = 22;

    /// A new one.
    #[must_use]
    pub fn new() -> Self {
        Self { text: random(), is_given: false }
    }

    /// The one that somebody chose.
    ///
    /// # Errors
    ///
    /// It is too short to be one, or no header could carry it.
    pub fn given(text: &str) -> Result<Self, String> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte));
        if text.len() < Self::MIN || !is_plain {
            return Err(format!(
                "a token has at least {} characters, letters, digits and `-._~+/=`; make one with `openssl rand -base64 32`",
                Self::MIN
            ));
        }
        Ok(Self { text: text.to_owned(), is_given: true })
    }

    /// Its text, for the address that is printed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Compares in a time that depends on lengths alone.
    fn is(&self, other: &[u8]) -> bool {
        let own = self.text.as_bytes();
        own.len() == other.len() && own.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    }
}

impl Default for Token {
    fn default() -> Self {
        Self::new()
    }
}

/// Decides who gets an answer.
#[derive(Debug)]
pub struct Guard {
    token: Token,
    /// Values of `Host` under which browsers call the page.
    hosts: Vec<String>,
}

/// Why a request gets no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: &'static str,
}

/// What a request that was admitted asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// The page itself, which holds no data.
    Shell,
    /// Data.
    Data,
}

const fn refusal(status: StatusCode, message: &'static str) -> Refusal {
    Refusal { status, message }
}

impl Guard {
    /// One for a listener at this address; `named` are further names under which browsers call it, each with a port or
    /// with the listener's.
    #[must_use]
    pub fn new(token: Token, address: SocketAddr, named: &[String]) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        if address.ip().is_loopback() || address.ip().is_unspecified() {
            hosts.push(format!("localhost:{port}"));
        }
        if address.ip().is_unspecified() {
            hosts.push(format!("127.0.0.1:{port}"));
        }
        for name in named {
            let has_port = name.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            hosts.push(if has_port { name.clone() } else { format!("{name}:{port}") });
            // A browser leaves the usual port out.
            hosts.extend(["80", "443"].iter().filter_map(|usual| {
                name.strip_suffix(usual).and_then(|name| name.strip_suffix(':')).map(str::to_owned)
            }));
        }
        for host in &mut hosts {
            host.make_ascii_lowercase();
        }
        Self { token, hosts }
    }

    /// Decides about a request. `is_shell` are the paths of the page itself.
    pub(crate) fn admit<B>(&self, request: &Request<B>, is_shell: impl Fn(&str) -> bool) -> Result<Admitted, Refusal> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Err(refusal(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD"));
        }
        let headers = request.headers();
        // A target with an authority is for a proxy.
        let host = one(headers, &header::HOST).filter(|_| request.uri().authority().is_none());
        if !host.is_some_and(|host| self.hosts.iter().any(|held| held.as_bytes() == host.to_ascii_lowercase())) {
            let message = "the page does not answer under this name; open the address that contrail printed, or allow the name \
                           with --inspect-host";
            return Err(refusal(StatusCode::MISDIRECTED_REQUEST, message));
        }
        let path = request.uri().path();
        let site = one(headers, &HeaderName::from_static("sec-fetch-site"));
        let navigates = path == "/" && one(headers, &HeaderName::from_static("sec-fetch-mode")) == Some(b"navigate");
        let is_own_site = match site {
            None => !headers.contains_key("sec-fetch-site"),
            Some(site) => navigates || matches!(site, b"same-origin" | b"none"),
        };
        let is_own_origin = match one(headers, &header::ORIGIN) {
            None => !headers.contains_key(header::ORIGIN),
            Some(origin) => {
                let host = host.unwrap_or_default();
                [&b"http://"[..], b"https://"].iter().any(|scheme| origin.strip_prefix(*scheme) == Some(host))
            }
        };
        if !is_own_site || !is_own_origin {
            return Err(refusal(StatusCode::FORBIDDEN, "another site asks; open the address that contrail printed"));
        }
        if is_shell(path) {
            return Ok(Admitted::Shell);
        }
        let token = one(headers, &header::AUTHORIZATION).and_then(|value| value.strip_prefix(b"Bearer "));
        match token {
            Some(token) if self.token.is(token) => Ok(Admitted::Data),
            Some(_) => Err(refusal(
                StatusCode::UNAUTHORIZED,
                "this is not the token of the page; open the address that contrail printed",
            )),
            None => Err(refusal(StatusCode::UNAUTHORIZED, "no token; open the address that contrail printed")),
        }
    }
}

/// The value of a header field that comes once.
fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h [u8]> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none()).map(HeaderValue::as_bytes)
}

/// Adds what every answer carries.
pub(crate) fn harden(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdefghijklmnopqrstuv";

    fn guard() -> Guard {
        Guard::new(Token::given(TOKEN).unwrap(), "127.0.0.1:8999".parse().unwrap(), &["box.example:443".to_owned()])
    }

    fn request(path: &str, fields: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().uri(path);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    fn admit(path: &str, fields: &[(&str, &str)]) -> Result<Admitted, u16> {
        guard().admit(&request(path, fields), |path| path == "/").map_err(|refusal| refusal.status.as_u16())
    }

    #[test]
    fn only_a_host_that_was_allowed_before_gets_an_answer() {
        let token = ("authorization", concat!("Bearer ", "0123456789abcdefghijklmnopqrstuv"));
        for host in ["127.0.0.1:8999", "localhost:8999", "LocalHost:8999", "box.example:443", "box.example"] {
            assert_eq!(admit("/api/run", &[("host", host), token]), Ok(Admitted::Data), "{host}");
        }
        for host in [
            "",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost",
            "localhost.:8999",
            "localhost:08999",
            "evil.example:8999",
            "127.0.0.1:8999.evil.example",
            "user@127.0.0.1:8999",
            "[::1]:8999",
            "127.0.0.1:8999 ",
            "127.1:8999",
            "2130706433:8999",
            "0.0.0.0:8999",
            "box.example:8999",
            "127.0.0.1:8999,127.0.0.1:8999",
            "localhost:8999/",
            "http://localhost:8999",
            "LOCALHOST:8998",
            "*",
        ] {
            assert_eq!(admit("/", &[("host", host)]), Err(421), "{host}");
        }
        assert_eq!(admit("/", &[]), Err(421));
        assert_eq!(admit("/", &[("host", "localhost:8999"), ("host", "localhost:8999")]), Err(421));
        assert_eq!(admit("http://localhost:8999/", &[("host", "localhost:8999")]), Err(421));
    }

    #[test]
    fn data_needs_the_token_and_the_page_itself_does_not() {
        let host = ("host", "127.0.0.1:8999");
        assert_eq!(admit("/", &[host]), Ok(Admitted::Shell));
        for token in [
            "",
            "Bearer",
            "Bearer ",
            "bearer 0123456789abcdefghijklmnopqrstuv",
            "Bearer 0123456789abcdefghijklmnopqrstu",
            "Bearer 0123456789abcdefghijklmnopqrstuvw",
            "Basic 0123456789abcdefghijklmnopqrstuv",
            "Bearer 0123456789abcdefghijklmnopqrstuV",
        ] {
            assert_eq!(admit("/api/run", &[host, ("authorization", token)]), Err(401), "{token}");
        }
        let good = ("authorization", "Bearer 0123456789abcdefghijklmnopqrstuv");
        assert_eq!(admit("/api/run", &[host, good, good]), Err(401), "which of the two counts is anybody's guess");
        assert_eq!(admit("/api/run", &[host]), Err(401));
    }

    #[test]
    fn another_site_gets_nothing_but_may_link_to_the_page() {
        let host = ("host", "127.0.0.1:8999");
        let good = ("authorization", "Bearer 0123456789abcdefghijklmnopqrstuv");
        for fields in [
            [("origin", "http://evil.example"), ("x", "")],
            [("origin", "null"), ("x", "")],
            [("origin", "http://localhost:8999"), ("x", "")],
            [("sec-fetch-site", "cross-site"), ("x", "")],
            [("sec-fetch-site", "same-site"), ("x", "")],
            [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")],
            [("origin", "http://127.0.0.1:8999"), ("sec-fetch-site", "cross-site")],
        ] {
            assert_eq!(admit("/api/run", &[host, good, fields[0], fields[1]]), Err(403), "{fields:?}");
        }
        let own = [("origin", "http://127.0.0.1:8999"), ("sec-fetch-site", "same-origin")];
        assert_eq!(admit("/api/run", &[host, good, own[0], own[1]]), Ok(Admitted::Data));
        let link = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        assert_eq!(admit("/", &[host, link[0], link[1]]), Ok(Admitted::Shell));
        assert_eq!(admit("/", &[host, link[0], ("sec-fetch-mode", "no-cors")]), Err(403));
    }

    #[test]
    fn nothing_is_changed_by_a_request() {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"] {
            let mut request = request("/", &[("host", "127.0.0.1:8999")]);
            *request.method_mut() = method.parse().unwrap();
            assert_eq!(guard().admit(&request, |_| true).unwrap_err().status, 405, "{method}");
        }
    }

    #[test]
    fn a_token_that_is_given_is_long_enough_and_fits_a_header() {
        assert!(Token::given("short").is_err());
        assert!(Token::given("has a space, and is long enough").is_err());
        assert_eq!(Token::given(TOKEN).unwrap().text(), TOKEN);
        assert_ne!(Token::new(), Token::new());
    }
}
