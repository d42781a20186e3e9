//! An answer, and who gives it.

use std::{
    fmt,
    future::Future,
    hash::{Hash, Hasher},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use contrail_exchange as exchange;
use http::StatusCode;

use super::{ClientOrigin, Failure, Miss, Request, Response};

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// The message. Its body may still be streaming.
    pub response: Response,
    /// What the upstream says about it.
    pub meta: AnswerMeta,
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Self { response, meta: AnswerMeta::default() }
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

    /// Answers a request without a body at once, from memory, as [`Request::called`] has it. Its body may be decoded and
    /// its credential read for that.
    fn answer_from_memory(&self, _request: &mut exchange::Request, _called: Option<&ClientOrigin>) -> Option<Answer> {
        None
    }

    /// Reads the files of its certificates again: new connections use what is in them now. The options that name them;
    /// none if there are none.
    ///
    /// # Errors
    ///
    /// What is wrong with one of them; what was read before stays in force.
    fn reload_certificates(&self) -> Result<Vec<&'static str>, String> {
        Ok(Vec::new())
    }

    /// What kind it is.
    fn kind(&self) -> UpstreamKind {
        UpstreamKind::Live
    }
}

/// Kinds of upstreams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamKind {
    /// It sends requests to a network. The proxy keeps the spelling of header names (HTTP/1), listens for informational
    /// responses, and bounds the requests that are with it.
    Live,
    /// It answers all requests from memory.
    Memory,
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
    /// The answer goes out when the client has closed its side.
    pub after_close: bool,
    /// The client gets no byte of the message, on purpose.
    pub no_answer: Option<NoAnswer>,
    /// No recorded answer fits, and the reasons; counts towards exit status 3.
    pub miss: Option<Arc<Miss>>,
    /// It was denied because of its host, and is no exchange with the tenant.
    pub denied: Option<Box<Denied>>,
    /// The response is not this exchange's own (a recorded one, judged once elsewhere): judge the request only.
    pub response_judged_elsewhere: bool,
    /// How long the answer took when it was recorded, if it is a recorded one.
    pub recorded_time: Option<Duration>,
    /// Milliseconds from its head to the end of each of its events, if it is a recorded event stream that has them.
    pub event_times: Option<Box<[u64]>>,
    /// The response is one of contrail's own recordings, from which secrets are gone: nothing is to be looked for in
    /// it.
    pub response_redacted: bool,
    /// The request has the same bytes as every other one with this key.
    pub same_request: Option<RequestKey>,
    /// Things worth saying beside the exchange's line (for example that a redacted place took part in a match).
    /// Never a secret.
    pub remarks: Vec<String>,
}

/// What a client gets in place of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// The end of its connection, or HTTP/2 stream.
    Cut,
    /// Nothing, until it leaves.
    Silence,
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
