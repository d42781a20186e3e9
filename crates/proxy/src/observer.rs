//! The interface through which the proxy reports exchanges.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use contrail_exchange::{Exchange, Request};
use http::{HeaderMap, StatusCode};
use tokio::sync::oneshot;

use crate::upstream::{AnswerMeta, Denied, Problem};

/// A completed exchange, for the observer.
#[derive(Debug)]
pub struct Completed {
    /// The exchange; bodies as they were on the wire, content coding included, the credential not yet read.
    pub exchange: Box<Exchange>,
    /// Facts about the answer that the message does not hold.
    pub meta: AnswerMeta,
    /// How long it took, from the request's head to the end.
    pub took: Duration,
    /// When it ended; from then on the client waits for the observer.
    pub ended: Instant,
    /// Its response is held until the observer has judged it ([`HoldPolicy::responses`]): it goes out only if
    /// [`Committed`] is no error.
    pub held: bool,
    /// No other exchange was in progress when it ended: nothing is gained by waiting for one that ends beside it.
    pub alone: bool,
    /// Its client calls contrail, and not the upstream: a link to the upstream leads it past contrail.
    pub calls_contrail: bool,
}

/// Which messages are held until the observer admits them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HoldPolicy {
    /// Requests, before the upstream sees anything of them.
    pub requests: bool,
    /// Responses, before the client sees anything of them.
    pub responses: bool,
    /// Heads of responses, until the first piece of a body of known length: an answer whose exchange cannot be recorded
    /// can then be replaced, and not only cut.
    pub heads: bool,
}

impl HoldPolicy {
    /// Whether any message is judged before it passes.
    #[must_use]
    pub const fn judge(self) -> bool {
        self.requests || self.responses
    }
}

/// Receives what the proxy sees. Its methods do not block, unless their description states it.
pub trait Observer: Send + Sync + fmt::Debug {
    /// Which messages it admits first; called once per exchange.
    fn holds(&self) -> HoldPolicy {
        HoldPolicy::default()
    }

    /// Whether it shows responses that are recorded already. Else their header fields are not kept.
    fn shows_recorded(&self) -> bool {
        false
    }

    /// Refuses a request before it is forwarded; the problem is what the client gets. The refusal is recorded as an
    /// exchange.
    fn refuses(&self, _request: &Request) -> Option<Problem> {
        None
    }

    /// Whether [`Self::admit_request`] would hold up other connections; then it runs on a thread of its own.
    fn is_slow_to_admit(&self, _exchange: &Exchange) -> bool {
        false
    }

    /// Whether a request (an exchange without a response) may go to the upstream. Its body's coding may be undone, and
    /// its credential be read.
    ///
    /// # Errors
    ///
    /// The answer that the client gets instead.
    fn admit_request(&self, _exchange: &mut Exchange) -> Result<(), Problem> {
        Ok(())
    }

    /// Takes a completed exchange. The end of its response waits for the future.
    fn on_completed(&self, ended: Completed) -> Committed;

    /// An informational response (1xx) passes. It is not recorded, but secrets in its header fields may come again.
    fn on_informational(&self, _headers: &HeaderMap) {}

    /// A request was rejected before it became an exchange. The reason holds nothing of the request.
    fn on_rejected(&self, _status: u16, _reason: &str) {}

    /// A request was rejected because of its host.
    fn on_denied(&self, denied: &Denied) {
        self.on_rejected(denied.status, denied.reason);
    }
}

/// Resolves when an exchange is recorded, or its loss is reported: then its response may end. An error
/// is what the client gets in its place, or, where the response has begun, why it is cut: it could not be recorded, or
/// was [held](Completed::held) and does not pass.
#[derive(Debug)]
pub struct Committed(CommitState);

#[derive(Debug)]
enum CommitState {
    Known(Result<(), Box<Problem>>),
    Waiting(oneshot::Receiver<Result<(), Problem>>),
}

impl Committed {
    /// Done already, or nothing to write.
    #[must_use]
    pub const fn now() -> Self {
        Self(CommitState::Known(Ok(())))
    }

    /// It will not be recorded, so its response may not end.
    #[must_use]
    pub fn refused(problem: Problem) -> Self {
        Self(CommitState::Known(Err(Box::new(problem))))
    }

    /// When the sender states it. A dropped sender recorded nothing.
    #[must_use]
    pub const fn when(receiver: oneshot::Receiver<Result<(), Problem>>) -> Self {
        Self(CommitState::Waiting(receiver))
    }
}

impl Future for Committed {
    type Output = Result<(), Problem>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Problem>> {
        let result = match &mut self.0 {
            CommitState::Known(result) => std::mem::replace(result, Ok(())).map_err(|problem| *problem),
            CommitState::Waiting(receiver) => ready!(Pin::new(receiver).poll(cx)).unwrap_or_else(|_| {
                let detail = "the recording ended before this exchange was in it";
                Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "recording-ended", detail))
            }),
        };
        self.0 = CommitState::Known(Ok(()));
        Poll::Ready(result)
    }
}
