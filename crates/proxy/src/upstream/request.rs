//! A request as an upstream gets it.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use contrail_exchange::Target;
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::BodyExt as _;

use super::{BodyError, RequestBody, live::ClientConnection};

/// A request on its way to an upstream.
#[derive(Debug)]
pub struct Request {
    /// Where it goes: the upstream's scheme and authority, the path and query byte for byte as the client sent them.
    pub target: Target,
    /// Method, version, headers (end-to-end ones only, Host of the upstream) and extensions.
    pub head: http::request::Parts,
    /// The body, as it streams in.
    pub body: RequestBody,
    /// Receives informational responses to it; without one they are dropped.
    pub on_informational: Option<Arc<dyn Inform>>,
    /// The connection that it came on.
    pub client: Option<Arc<ClientConnection>>,
    /// By which origin the client calls contrail, where it does not call the upstream.
    pub called: Option<ClientOrigin>,
}

/// The origin by which a client calls contrail itself.
#[derive(Debug, Clone)]
pub struct ClientOrigin {
    /// `http` or `https`.
    pub scheme: &'static str,
    /// Its `Host`.
    pub host: HeaderValue,
    /// The listeners of all upstreams, where there are several.
    pub listeners: Option<Arc<[ReverseListener]>>,
}

/// Where clients call contrail for one of several upstreams.
#[derive(Debug, Clone)]
pub struct ReverseListener {
    /// The upstream.
    pub upstream: Target,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// Its port.
    pub port: u16,
}

impl ClientOrigin {
    /// The same for a client whose paths begin with the name of its session.
    pub(crate) fn within(self, session: &str) -> Option<Self> {
        let host = [self.host.as_bytes(), b"/~", session.as_bytes()].concat();
        Some(Self { host: HeaderValue::from_bytes(&host).ok()?, ..self })
    }

    /// The origins by which this client calls contrail for each of several upstreams, on the host that it uses.
    pub fn of_upstreams(&self) -> impl Iterator<Item = (&Target, Self)> {
        let text = self.host.to_str().unwrap_or_default();
        let (authority, session) = text.find('/').map_or((text, ""), |at| text.split_at(at));
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        let host = authority.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(authority, |(host, _)| host);
        let listeners = self.listeners.iter().flat_map(|all| all.iter());
        listeners.filter(|listener| listener.scheme == self.scheme && !host.is_empty()).filter_map(move |listener| {
            let host = HeaderValue::from_str(&format!("{host}:{}{session}", listener.port)).ok()?;
            Some((&listener.upstream, Self { host, ..self.clone() }))
        })
    }

    /// `scheme://host`; `None` where the host is no text.
    #[must_use]
    pub fn origin(&self) -> Option<String> {
        Some(format!("{}://{}", self.scheme, self.host.to_str().ok()?))
    }
}

impl Request {
    /// Reads the body to its end; for upstreams that answer from memory.
    ///
    /// # Errors
    ///
    /// [`BodyError`] if the client broke off, or sent more than the proxy takes (it then answers 413 itself).
    pub async fn collect(self) -> Result<(Target, http::request::Parts, Bytes), BodyError> {
        let body = self.body.collect().await?.to_bytes();
        Ok((self.target, self.head, body))
    }
}

/// Hears of an upstream's interim answers (1xx, but 100 and 101), which come before its answer.
pub trait Inform: Send + Sync + fmt::Debug {
    /// One has come.
    fn inform(&self, status: StatusCode, headers: &HeaderMap);
}
