//! What the proxy reports, and to whom.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use http::{HeaderMap, StatusCode};
use tokio::sync::oneshot;

use crate::{
    exchange::{Exchange, Request},
    upstream::{Denied, Notes, Problem},
};

/// An exchange that is over, as the observer gets it.
#[derive(Debug)]
pub struct Ended {
    /// The exchange; bodies as they were on the wire, content coding included, the credential not yet read.
    pub exchange: Box<Exchange>,
    /// What the upstream said about its answer.
    pub notes: Notes,
    /// How long it took, from the request's head to the end.
    pub took: Duration,
    /// Its response is held until the observer has judged it ([`Holds::responses`]): it goes out only if [`Written`] is no
    /// error.
    pub held: bool,
    /// No other exchange was in progress when it ended: nothing is gained by waiting for one that ends beside it.
    pub alone: bool,
}

/// Which messages are held until the observer admits them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holds {
    /// Requests, before the upstream sees anything of them.
    pub requests: bool,
    /// Responses, before the client sees anything of them.
    pub responses: bool,
    /// Heads of responses, until the first piece of a body of known length: an answer whose exchange cannot be recorded
    /// can then be replaced, and not only cut.
    pub heads: bool,
}

impl Holds {
    /// Whether any message is judged before it passes.
    #[must_use]
    pub const fn judge(self) -> bool {
        self.requests || self.responses
    }
}

/// Whoever listens to what the proxy sees. None of its methods may block.
pub trait Observer: Send + Sync + fmt::Debug {
    /// Which messages it wants to admit first; asked once per exchange.
    fn holds(&self) -> Holds {
        Holds::default()
    }

    /// Why this request is not taken at present, if so; what the client gets. The refusal is an exchange of its own.
    fn refuses(&self, _request: &Request) -> Option<Problem> {
        None
    }

    /// Whether a request (an exchange without a response) may go to the upstream. Its body's coding may be undone, and its
    /// credential be read.
    ///
    /// # Errors
    ///
    /// The answer that the client gets instead.
    fn admit_request(&self, _exchange: &mut Exchange) -> Result<(), Problem> {
        Ok(())
    }

    /// Takes an exchange that is over. The end of its response waits for the future.
    fn ended(&self, ended: Ended) -> Written;

    /// Hears of the header fields of an interim answer (1xx) that is passed on. They are recorded nowhere, but what they hold
    /// may come again.
    fn informed(&self, _headers: &HeaderMap) {}

    /// Hears of a request that was turned away before it could become an exchange. The reason holds nothing of it.
    fn turned_away(&self, _status: u16, _reason: &str) {}

    /// Hears of a request that was turned away because of the host that it asked for.
    fn denied(&self, denied: &Denied) {
        self.turned_away(denied.status, denied.reason);
    }
}

/// Resolves when an exchange is recorded (or could not be, and that has been said): then its response may end. An error
/// is what the client gets in its place, or, where the response has begun, why it is cut: it could not be recorded, or was
/// [held](Ended::held) and does not pass.
#[derive(Debug)]
pub struct Written(State);

#[derive(Debug)]
enum State {
    Known(Result<(), Box<Problem>>),
    Waiting(oneshot::Receiver<Result<(), Problem>>),
}

impl Written {
    /// Already done, or nothing to write.
    #[must_use]
    pub const fn now() -> Self {
        Self(State::Known(Ok(())))
    }

    /// It will not be recorded, so its response may not end.
    #[must_use]
    pub fn refused(problem: Problem) -> Self {
        Self(State::Known(Err(Box::new(problem))))
    }

    /// As the sender says. One that is gone recorded nothing.
    #[must_use]
    pub const fn when(receiver: oneshot::Receiver<Result<(), Problem>>) -> Self {
        Self(State::Waiting(receiver))
    }
}

impl Future for Written {
    type Output = Result<(), Problem>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Problem>> {
        let result = match &mut self.0 {
            State::Known(result) => std::mem::replace(result, Ok(())).map_err(|problem| *problem),
            State::Waiting(receiver) => ready!(Pin::new(receiver).poll(cx)).unwrap_or_else(|_| {
                let detail = "the recording ended before this exchange was in it";
                Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "recording-ended", detail))
            }),
        };
        self.0 = State::Known(Ok(()));
        Poll::Ready(result)
    }
}
