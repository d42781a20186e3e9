//! Request bodies on their way to the upstream: they stream through while a bounded copy is kept.

use std::{
    error::Error as _,
    future::Future as _,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Sleep;

use super::hop;
use crate::upstream::BodyError;
use crate::{Settings, capture::BodyCapture, wire::chunk::ChunkFault};

/// The state of a request body, shared by its stream and the exchange in progress.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // each is seen by another side, in any combination
pub(crate) struct RequestState {
    pub(crate) copy: BodyCapture,
    /// It ended.
    pub(crate) whole: bool,
    /// More than `max_body` bytes came.
    pub(crate) too_large: bool,
    /// The client fell silent in the middle of it, or sent it too slowly.
    pub(crate) too_slow: bool,
    /// The client broke off in the middle of it.
    pub(crate) broke_off: bool,
    pub(crate) ended_at: Option<Instant>,
}

/// See [`RequestState`]. The lock is held for a few instructions, never across an await.
pub(crate) type SharedRequest = Arc<Mutex<RequestState>>;

pub(crate) fn lock(state: &SharedRequest) -> MutexGuard<'_, RequestState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn request_state(copy: BodyCapture) -> SharedRequest {
    let (whole, too_large, too_slow, broke_off) = (false, false, false, false);
    Arc::new(Mutex::new(RequestState { copy, whole, too_large, too_slow, broke_off, ended_at: None }))
}

/// A request body on its way to the upstream.
pub(crate) struct Tee {
    inner: Incoming,
    state: SharedRequest,
    max_body: u64,
    pace: Pace,
    /// Runs while the client is waited for.
    timer: Option<Pin<Box<Sleep>>>,
    done: bool,
}

/// How slowly a client may send its body. Only the time in which it is waited for counts, not the upstream's.
struct Pace {
    silence: Duration,
    /// Bytes per second, on the average beyond the first `silence`; 0 for any.
    rate: u64,
    waited: Duration,
    waiting_since: Option<Instant>,
}

impl Pace {
    /// The client is waited for, after so many bytes: for how long.
    fn patience(&mut self, received: u64) -> Duration {
        self.waiting_since = Some(Instant::now());
        let earned = received.checked_mul(1000).and_then(|thousands| thousands.checked_div(self.rate));
        let left = |millis| (self.silence + Duration::from_millis(millis)).saturating_sub(self.waited);
        earned.map_or(self.silence, |millis| left(millis).min(self.silence))
    }

    /// Something came.
    fn moved(&mut self) {
        if let Some(since) = self.waiting_since.take() {
            self.waited += since.elapsed();
        }
    }

    /// Why it was given up.
    fn reason(&self) -> &'static str {
        if self.waiting_since.is_some_and(|since| since.elapsed() >= self.silence) {
            "the client fell silent in the middle of the request body"
        } else {
            "the client sent its request body more slowly than --body-rate"
        }
    }
}

impl Tee {
    pub(crate) fn new(inner: Incoming, state: SharedRequest, settings: &Settings) -> Self {
        let done = inner.is_end_stream();
        if done {
            lock(&state).whole = true;
        }
        let pace = Pace {
            silence: settings.body_timeout,
            rate: settings.body_rate,
            waited: Duration::ZERO,
            waiting_since: None,
        };
        Self { inner, state, max_body: settings.max_body, pace, timer: None, done }
    }

    fn end(&mut self) {
        self.done = true;
        let mut state = lock(&self.state);
        state.whole = true;
        state.ended_at = Some(Instant::now());
    }
}

impl http_body::Body for Tee {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.done {
            return Poll::Ready(None);
        }
        let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) else {
            let Self { timer, pace, state, .. } = &mut *self;
            let timer = timer.get_or_insert_with(|| {
                let received = lock(state).copy.total();
                Box::pin(tokio::time::sleep(pace.patience(received)))
            });
            ready!(timer.as_mut().poll(cx));
            self.done = true;
            lock(&self.state).too_slow = true;
            return Poll::Ready(Some(Err(BodyError::new(self.pace.reason()))));
        };
        self.timer = None;
        self.pace.moved();
        match frame {
            None => {
                self.end();
                Poll::Ready(None)
            }
            Some(Err(error)) => {
                self.done = true;
                let fault = chunk_fault(&error);
                let mut state = lock(&self.state);
                state.too_large |= fault == Some(ChunkFault::TooLarge);
                state.broke_off = fault.is_none();
                drop(state);
                let reason = fault.map(|fault| fault.to_string());
                let reason =
                    reason.unwrap_or_else(|| "the client broke off in the middle of the request body".to_owned());
                Poll::Ready(Some(Err(BodyError(reason))))
            }
            Some(Ok(mut frame)) => {
                if let Some(trailers) = frame.trailers_mut() {
                    hop::trailers(trailers);
                }
                if let Some(data) = frame.data_ref() {
                    let mut state = lock(&self.state);
                    state.copy.push(data);
                    if state.copy.total() > self.max_body {
                        state.too_large = true;
                        drop(state);
                        self.done = true;
                        return Poll::Ready(Some(Err(BodyError::new("the request body is larger than --max-body"))));
                    }
                }
                if self.inner.is_end_stream() {
                    self.end();
                }
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.done
    }

    fn size_hint(&self) -> SizeHint {
        if self.done { SizeHint::with_exact(0) } else { self.inner.size_hint() }
    }
}

/// The fault of a chunked body's framing, if that is why it ended.
fn chunk_fault(error: &hyper::Error) -> Option<ChunkFault> {
    let io = error.source()?.downcast_ref::<io::Error>()?;
    io.get_ref()?.downcast_ref::<ChunkFault>().copied()
}
