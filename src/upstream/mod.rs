//! Where answers come from: `live` (a tenant over http or https), `replay` (a recording), `sandbox` (the embedded
//! tenant). The proxy cannot tell them apart: each is an [`Upstream`].
//!
//! A request arrives here as the tenant is to see it: raw target, hop-by-hop headers gone, Host set. What an upstream
//! knows about its answer beyond the message (a retry, a miss) is in [`AnswerMeta`] beside it.

use std::{
    fmt,
    future::Future,
    hash::{Hash, Hasher},
    pin::Pin,
    sync::Arc,
};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;

use crate::exchange::{self, Target};

mod body;
pub mod live;
pub(crate) mod no_proxy;
mod origin;
pub mod own;
pub(crate) mod private_key;
mod problem;
pub mod routes;

pub use body::{BodyError, MessageBody, RequestBody, ResponseBody};
pub use origin::{Origin, OriginError, masked};
pub use problem::{CONTRAIL_ANSWER, Problem};

/// A request on its way to an upstream.
#[derive(Debug)]
pub struct Request {
    /// Where it goes: the upstream's scheme and authority, the path and query byte for byte as the client sent them.
    pub target: Target,
    /// Method, version, headers (end-to-end ones only, Host of the upstream) and extensions.
    pub head: http::request::Parts,
    /// The body, as it streams in.
    pub body: RequestBody,
    /// Who hears of interim answers to it; without one they go nowhere.
    pub informed: Option<Arc<dyn Inform>>,
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

/// The message of an answer.
pub type Response = http::Response<ResponseBody>;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// The message. Its body may still be streaming.
    pub response: Response,
    /// What the upstream says about it.
    pub notes: AnswerMeta,
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Self { response, notes: AnswerMeta::default() }
    }
}

/// What an upstream gives back, in time.
pub type AnswerFuture<'a> = Pin<Box<dyn Future<Output = Result<Answer, Failure>> + Send + 'a>>;

/// Answers requests.
pub trait Upstream: Send + Sync + fmt::Debug {
    /// Answers one request.
    ///
    /// # Errors
    ///
    /// [`Failure`] if no response head came; the proxy then answers 502 or 504 itself.
    fn answer(&self, request: Request) -> AnswerFuture<'_>;

    /// Answers a request without a body at once, from memory. Its body may be decoded and its credential read for that.
    fn answer_from_memory(&self, _request: &mut exchange::Request) -> Option<Answer> {
        None
    }

    /// What kind it is.
    fn kind(&self) -> Kind {
        Kind::Live
    }
}

/// Kinds of upstreams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It sends requests to a network. The proxy keeps the spelling of header names (HTTP/1), listens for informational
    /// responses, and bounds the requests that are with it.
    Live,
    /// It answers all requests from memory.
    Memory,
}

/// Hears of an upstream's interim answers (1xx, but 100 and 101), which come before its answer.
pub trait Inform: Send + Sync + fmt::Debug {
    /// One has come.
    fn inform(&self, status: StatusCode, headers: &HeaderMap);
}

/// Marks requests of the same bytes, `Content-Type` included and no other header. Equal only to its own clones.
#[derive(Debug, Clone, Default)]
pub struct RequestKey(Arc<()>);

impl PartialEq for RequestKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for RequestKey {}

impl Hash for RequestKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// Facts about an answer that the message does not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent facts
pub struct AnswerMeta {
    /// The request was sent again on a fresh connection after a kept-alive one turned out closed.
    pub retried: bool,
    /// contrail made this answer up (a replay miss): the value of its `Contrail-Answer` header.
    pub answered_by_contrail: Option<&'static str>,
    /// The status that contrail gave the client where the upstream gave none, so that nothing of it is recorded.
    pub given_status: Option<StatusCode>,
    /// No recorded answer fits, and what there is to say of it; counts towards exit status 3.
    pub miss: Option<Arc<crate::replay::Miss>>,
    /// It was denied because of its host, and is no exchange with the tenant.
    pub denied: Option<Box<Denied>>,
    /// The response is not this exchange's own (a recorded one, judged once elsewhere): judge the request only.
    pub response_judged_elsewhere: bool,
    /// The response is one of contrail's own recordings, from which secrets are gone: nothing is to be looked for in it.
    pub response_redacted: bool,
    /// The request has the same bytes as every other one with this key.
    pub same_request: Option<RequestKey>,
    /// Things worth saying beside the exchange's line (for example that a redacted place took part in a match).
    /// Never a secret.
    pub remarks: Vec<String>,
}

/// A request that was turned away because of the host that it asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// What the client got; 0 if it got no answer.
    pub status: u16,
    /// The value of `Contrail-Answer`, or what went wrong.
    pub reason: &'static str,
    /// The host and port, as the client named them.
    pub host: String,
    /// What would open it, or why nothing does.
    pub advice: String,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// The cause in words, naming the upstream.
    pub cause: String,
    /// Whether it was tried twice.
    pub retried: bool,
}

/// See [`Failure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Name resolution, connection or TLS handshake failed.
    Unreachable,
    /// It did not connect or answer in time.
    Timeout,
    /// It closed the connection, or what it sent is no HTTP response.
    Broken,
    /// As many requests are with it as may be.
    Busy,
    /// The request's body broke off (the client went away, or sent too much), so it was never whole.
    RequestAborted,
}

impl Failure {
    /// A failure of this kind.
    pub fn new(kind: FailureKind, cause: impl Into<String>) -> Self {
        Self { kind, cause: cause.into(), retried: false }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl std::error::Error for Failure {}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Self {
        Self::new(FailureKind::RequestAborted, error.to_string())
    }
}
