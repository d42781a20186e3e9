//! Selects the upstream of a request, and prepares the head for it.

use std::{borrow::Cow, sync::Arc};

use contrail_exchange::Target;
use http::{
    HeaderValue, Version,
    header::{self, InvalidHeaderValue},
};

use super::hop;
use crate::upstream::ClientOrigin;

/// Where requests go, and what the Host header says there.
#[derive(Debug, Clone)]
pub(crate) struct Destination {
    pub(super) scheme: Arc<str>,
    pub(super) authority: Arc<str>,
    pub(super) host: HeaderValue,
    /// The scheme by which the client calls contrail itself, where it does.
    pub(super) client_scheme: Option<&'static str>,
    /// The session that the client's user name for the proxy names.
    pub(super) session: Option<Arc<str>>,
    /// The name of the upstream, if it has one.
    pub(super) upstream: Option<Arc<str>>,
}

impl Destination {
    /// An upstream of the proxy.
    pub(crate) fn upstream(upstream: &Target) -> Result<Self, InvalidHeaderValue> {
        Ok(Self {
            scheme: Arc::clone(&upstream.scheme),
            authority: Arc::clone(&upstream.authority),
            host: HeaderValue::from_str(&upstream.authority)?,
            client_scheme: None,
            session: None,
            upstream: upstream.upstream.clone(),
        })
    }

    /// The same for a client that calls contrail itself by this scheme.
    pub(crate) fn called_by(self, scheme: &'static str) -> Self {
        Self { client_scheme: Some(scheme), ..self }
    }

    /// Another origin.
    pub(crate) fn new(scheme: &str, authority: String) -> Self {
        let host = HeaderValue::from_str(&authority).unwrap_or(HeaderValue::from_static(""));
        let (scheme, authority) = (scheme.into(), authority.into());
        Self { scheme, authority, host, client_scheme: None, session: None, upstream: None }
    }

    /// The same for a client that shows this user name.
    pub(crate) fn of_user(self, session: Option<Arc<str>>) -> Self {
        Self { session, ..self }
    }
}

/// Path and query as they were sent; an absolute target without a path has the path `/` (RFC 9112, section 3.2.1).
pub(super) fn raw_target(uri: &http::Uri) -> Cow<'_, str> {
    match uri.path_and_query().map(http::uri::PathAndQuery::as_str) {
        None | Some("") => Cow::Borrowed("/"),
        Some(target) if target.starts_with('?') => Cow::Owned(format!("/{target}")),
        Some(target) => Cow::Borrowed(target),
    }
}

/// The head as the upstream gets it.
pub(super) fn forwarded(mut head: http::request::Parts, host: &HeaderValue) -> http::request::Parts {
    let left = hop::forwards_left(&head.method, &head.headers);
    head.headers = hop::request(head.headers, host);
    if let Some(left) = left {
        head.headers.insert(header::MAX_FORWARDS, HeaderValue::from(left.saturating_sub(1)));
    }
    if head.version == Version::HTTP_2 {
        hop::join_cookies(&mut head.headers);
    }
    if head.uri.scheme().is_some() || head.uri.authority().is_some() {
        head.uri = match raw_target(&head.uri) {
            Cow::Owned(target) => target.parse().unwrap_or_default(),
            Cow::Borrowed(_) => head.uri.path_and_query().cloned().map_or_else(http::Uri::default, http::Uri::from),
        };
    }
    head
}

/// By which origin the client calls contrail.
pub(super) fn client_origin(scheme: &'static str, head: &http::request::Parts) -> Option<ClientOrigin> {
    let host = match head.uri.authority() {
        Some(authority) => HeaderValue::from_str(authority.as_str()).ok()?,
        None => head.headers.get(header::HOST)?.clone(),
    };
    Some(ClientOrigin { scheme, host, listeners: None })
}

/// The Host that the client named, empty if it named none.
pub(super) fn client_host(head: &http::request::Parts) -> String {
    match (head.uri.authority(), head.headers.get(header::HOST).map(HeaderValue::to_str)) {
        (Some(authority), _) => authority.to_string(),
        (None, Some(Ok(host))) => host.to_owned(),
        (None, _) => String::new(),
    }
}
