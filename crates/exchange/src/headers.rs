//! Header fields: ordered, repeats kept.

use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE};

/// Header fields in the order in which they came; repeats stay apart (RFC 9110, section 5.3).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers {
    fields: Vec<(HeaderName, HeaderValue)>,
    /// The `Content-Type` is what a file declares beside the body, and no field of the message.
    declared: bool,
}

impl Headers {
    /// No fields.
    #[must_use]
    pub const fn new() -> Self {
        Self { fields: Vec::new(), declared: false }
    }

    /// No fields, with room for so many.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Self { fields: Vec::with_capacity(count), declared: false }
    }

    /// Adds a field at the end.
    pub fn append(&mut self, name: HeaderName, value: HeaderValue) {
        self.fields.push((name, value));
    }

    /// Adds the `Content-Type` that a file declares beside the body where it lists no such field. Everybody reads it as
    /// one; only [`Headers::sent`] leaves it out.
    pub fn declare_type(&mut self, value: HeaderValue) {
        self.append(CONTENT_TYPE, value);
        self.declared = true;
    }

    /// Whether the `Content-Type` is only declared by a file.
    #[must_use]
    pub const fn only_declares_type(&self) -> bool {
        self.declared
    }

    /// The fields of the message, in order.
    pub fn sent(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.iter().filter(|(name, _)| !self.declared || *name != CONTENT_TYPE)
    }

    /// The first value of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&HeaderValue> {
        self.fields.iter().find(|(held, _)| held.as_str().eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The first value of this name, if it is visible ASCII.
    #[must_use]
    pub fn get_str(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|value| value.to_str().ok())
    }

    /// Every value of this name, in order.
    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a HeaderValue> {
        self.fields.iter().filter(move |(held, _)| held.as_str().eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Whether a field of this name is there.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// All fields, in order, with a type that a file only declares.
    pub fn iter(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.fields.iter().map(|(name, value)| (name, value))
    }

    /// All fields, in order, with values that can be replaced.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&HeaderName, &mut HeaderValue)> {
        self.fields.iter_mut().map(|(name, value)| (&*name, value))
    }

    /// Keeps the fields for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&HeaderName, &HeaderValue) -> bool) {
        self.fields.retain(|(name, value)| keep(name, value));
    }

    /// How many fields.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

impl From<&HeaderMap> for Headers {
    fn from(map: &HeaderMap) -> Self {
        map.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

impl FromIterator<(HeaderName, HeaderValue)> for Headers {
    fn from_iter<I: IntoIterator<Item = (HeaderName, HeaderValue)>>(fields: I) -> Self {
        Self { fields: fields.into_iter().collect(), declared: false }
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
