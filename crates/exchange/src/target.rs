//! The target of a request: never decoded, never normalised.

use std::{borrow::Cow, fmt, sync::Arc};

/// The name of the upstream that is named by its origin alone, among others that have names.
pub const TENANT_NAME: &str = "tenant";

/// What the host of an upstream ends in, in a recording: `billing.example`. No host of the Internet does (RFC 2606).
const NAMED_HOST: &str = ".example";

/// Whether an upstream can have this name: a small letter, then at most 30 small letters, digits and hyphens.
#[must_use]
pub fn is_upstream_name(name: &str) -> bool {
    let of_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= 31 && name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(of_name)
}

/// The host that stands for an upstream of this name in a recording.
#[must_use]
pub fn named_host(name: &str) -> String {
    [name, NAMED_HOST].concat()
}

/// The names and origins of upstreams, as journals state them: the values of `--upstream`, with commas between them. One
/// that has no name is [`TENANT_NAME`].
pub fn upstreams(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let all = text.split(", ").filter(|upstream| !upstream.is_empty());
    all.map(|upstream| upstream.split_once('=').unwrap_or((TENANT_NAME, upstream)))
}

/// A request target, byte for byte as it was sent, with the origin that it was sent to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// `http` or `https`; empty where a file names none.
    pub scheme: Arc<str>,
    /// Host and, if given, port.
    pub authority: Arc<str>,
    /// Raw path and raw query, for example `/api/v2/x?take=5`; `*` for an asterisk form.
    pub path_and_query: Arc<str>,
    /// The session that the request belongs to, with `--sessions`.
    pub session: Option<Arc<str>>,
    /// The name of the upstream that it was sent to, where that has one.
    pub upstream: Option<Arc<str>>,
}

impl Target {
    /// From its three parts.
    pub fn new(
        scheme: impl Into<Arc<str>>,
        authority: impl Into<Arc<str>>,
        path_and_query: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            scheme: scheme.into(),
            authority: authority.into(),
            path_and_query: path_and_query.into(),
            session: None,
            upstream: None,
        }
    }

    /// The same as a recording states it: sent to one of these [`upstreams`], or to one that the host names, as in
    /// `https://billing.example`.
    #[must_use]
    pub fn of_upstreams(mut self, stated: Option<&str>) -> Self {
        let name = match stated.filter(|stated| !stated.is_empty()) {
            Some(stated) if !stated.contains('=') => None,
            Some(stated) => {
                let origin = self.normal_origin();
                upstreams(stated).find(|(_, of)| *of == origin).map(|(name, _)| name.to_owned())
            }
            None => self.authority.strip_suffix(NAMED_HOST).filter(|_| &*self.scheme == "https").map(str::to_owned),
        };
        self.upstream = name.filter(|name| name != TENANT_NAME && is_upstream_name(name)).map(Arc::from);
        self
    }

    /// Path and query as people read them: behind the name of the upstream, if it has one.
    #[must_use]
    pub fn named_path(&self) -> Cow<'_, str> {
        match &self.upstream {
            Some(name) => format!("{name} {}", self.path_and_query).into(),
            None => Cow::Borrowed(&self.path_and_query),
        }
    }

    /// Host and port of what answers it in any recording: of `NAME.example`, where the upstream has a name.
    #[must_use]
    pub fn site(&self) -> String {
        match &self.upstream {
            Some(name) => format!("{name}{NAMED_HOST}:443"),
            None => self.host_and_port(),
        }
    }

    /// The raw path, without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.parts().0
    }

    /// The raw query, without the question mark; `None` if there is no question mark.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.parts().1
    }

    fn parts(&self) -> (&str, Option<&str>) {
        let text = &*self.path_and_query;
        match memchr::memchr(b'?', text.as_bytes()) {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        }
    }

    /// What follows the origin in the target's URI: nothing for an asterisk form (RFC 9112, section 3.3).
    #[must_use]
    pub fn after_origin(&self) -> &str {
        if &*self.path_and_query == "*" { "" } else { &self.path_and_query }
    }

    /// Host and port in lower case, the port named in any case.
    #[must_use]
    pub fn host_and_port(&self) -> String {
        let mut text = self.authority.to_ascii_lowercase();
        let after_address = text.rsplit(']').next().unwrap_or_default();
        if !after_address.contains(':') {
            text.push_str(if &*self.scheme == "http" { ":80" } else { ":443" });
        }
        text
    }

    /// Scheme and host in lower case, and the port unless it is the scheme's own: equal for one origin however it is
    /// spelled (RFC 9110, section 4.2.3).
    #[must_use]
    pub fn normal_origin(&self) -> String {
        format!("{}://{}", self.scheme.to_ascii_lowercase(), self.normal_host())
    }

    /// The same without the scheme.
    #[must_use]
    pub fn normal_host(&self) -> String {
        let authority = self.authority.to_ascii_lowercase();
        let own = if self.scheme.eq_ignore_ascii_case("http") { ":80" } else { ":443" };
        authority.strip_suffix(own).map(str::to_owned).unwrap_or(authority)
    }

    /// `scheme://authority`.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("{}://{}", self.scheme, self.authority)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.after_origin())
    }
}
