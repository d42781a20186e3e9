//! Header fields: ordered, repeats kept.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Header fields in the order in which they came; repeats stay apart (RFC 9110, section 5.3).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(HeaderName, HeaderValue)>);

impl Headers {
    /// No fields.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// No fields, with room for so many.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    /// Adds a field at the end.
    pub fn append(&mut self, name: HeaderName, value: HeaderValue) {
        self.0.push((name, value));
    }

    /// The first value of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&HeaderValue> {
        self.0.iter().find(|(held, _)| held.as_str().eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The first value of this name, if it is visible ASCII.
    #[must_use]
    pub fn get_str(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|value| value.to_str().ok())
    }

    /// Every value of this name, in order.
    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a HeaderValue> {
        self.0.iter().filter(move |(held, _)| held.as_str().eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Whether a field of this name is there.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// All fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// All fields, in order, with values that can be replaced.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&HeaderName, &mut HeaderValue)> {
        self.0.iter_mut().map(|(name, value)| (&*name, value))
    }

    /// Keeps the fields for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&HeaderName, &HeaderValue) -> bool) {
        self.0.retain(|(name, value)| keep(name, value));
    }

    /// How many fields.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&HeaderMap> for Headers {
    fn from(map: &HeaderMap) -> Self {
        Self(map.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
    }
}

impl FromIterator<(HeaderName, HeaderValue)> for Headers {
    fn from_iter<I: IntoIterator<Item = (HeaderName, HeaderValue)>>(fields: I) -> Self {
        Self(fields.into_iter().collect())
    }
}

/// Whether a field ends at each hop whatever `Connection` says (RFC 9110, section 7.6.1).
#[must_use]
pub fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "http2-settings"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-authentication-info"
            | "proxy-authorization"
            | "proxy-connection"
            | "te"
            | "transfer-encoding"
            | "upgrade"
    )
}
