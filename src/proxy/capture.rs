//! The capture of an exchange: bodies stream through while a bounded copy is kept, and the end of the response is held
//! until the observer has written the exchange down.

use std::{
    error::Error as _,
    future::{Future as _, poll_fn},
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    task::{Context, Poll, ready},
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::{sync::OwnedSemaphorePermit, time::Sleep};

use super::{
    Admitted, Ended, Proxy, Settings, Written,
    connection::{InFlight, State},
    copy::Copy,
    hop, stall,
    strict::ChunkFault,
};
use crate::{
    exchange::{Body, Exchange, Headers, Request, Response, Timings, Transport},
    upstream::{BodyError, MessageBody, Notes, Problem},
};

/// How a request body stands; shared by its stream and the [`Recording`].
#[derive(Debug)]
pub(super) struct RequestState {
    pub(super) copy: Copy,
    /// It came to its end.
    pub(super) whole: bool,
    /// More than `max_body` bytes came.
    pub(super) too_large: bool,
    /// The client fell silent in the middle of it, or sent it too slowly.
    pub(super) too_slow: bool,
    ended_at: Option<Instant>,
}

/// See [`RequestState`]. The lock is held for a few instructions, never across an await.
pub(super) type SharedRequest = Arc<Mutex<RequestState>>;

pub(super) fn lock(state: &SharedRequest) -> MutexGuard<'_, RequestState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn request_state(copy: Copy) -> SharedRequest {
    Arc::new(Mutex::new(RequestState { copy, whole: false, too_large: false, too_slow: false, ended_at: None }))
}

/// A request body on its way to the upstream.
pub(super) struct Tee {
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
    pub(super) fn new(inner: Incoming, state: SharedRequest, settings: &Settings) -> Self {
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
                lock(&self.state).too_large |= fault == Some(ChunkFault::TooLarge);
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

/// What the look at a chunked body's framing said, if that is why it ended.
fn chunk_fault(error: &hyper::Error) -> Option<ChunkFault> {
    let io = error.source()?.downcast_ref::<io::Error>()?;
    io.get_ref()?.downcast_ref::<ChunkFault>().copied()
}

/// An exchange in progress. However it ends, a drop included, the observer hears of it once.
pub(super) struct Recording {
    proxy: Arc<Proxy>,
    /// What is known so far: the heads, and when it began.
    begun: Option<Box<Exchange>>,
    request: SharedRequest,
    copy: Copy,
    /// What the upstream said about its answer.
    pub(super) notes: Notes,
    original_audience: Option<String>,
    /// What the observer made of the whole exchange when it admitted it.
    pub(super) admitted: Admitted,
    clock: Instant,
    head_at: Option<Instant>,
    in_flight: InFlight,
    /// Its place among the requests that are with the upstream.
    pub(super) turn: Option<OwnedSemaphorePermit>,
}

impl Recording {
    pub(super) fn new(proxy: Arc<Proxy>, request: Request, state: SharedRequest, in_flight: InFlight) -> Self {
        let copy = proxy.copy();
        proxy.exchanges.fetch_add(1, Ordering::AcqRel);
        let begun = Exchange {
            request,
            response: None,
            started: Some(SystemTime::now()),
            timings: Timings::default(),
            transport: Transport::default(),
        };
        Self {
            proxy,
            begun: Some(Box::new(begun)),
            request: state,
            copy,
            notes: Notes::default(),
            original_audience: None,
            admitted: None,
            clock: Instant::now(),
            head_at: None,
            in_flight,
            turn: None,
        }
    }

    /// Its client's connection.
    pub(super) fn connection(&self) -> &Arc<State> {
        self.in_flight.state()
    }

    pub(super) fn request(&self) -> &SharedRequest {
        &self.request
    }

    /// The request's body was rewritten, since its audience was this; the rewritten request is what is recorded.
    pub(super) fn rewritten(&mut self, headers: &http::HeaderMap, body: &Bytes, original_audience: String) {
        self.original_audience = Some(original_audience);
        if let Some(begun) = &mut self.begun {
            begun.request.headers = Headers::from(headers);
        }
        let mut state = lock(&self.request);
        state.copy = self.proxy.copy();
        state.copy.push(body);
    }

    /// Notes the response's head.
    pub(super) fn head(&mut self, status: u16, version: http::Version, headers: &http::HeaderMap) {
        self.head_at = Some(Instant::now());
        if let Some(begun) = &mut self.begun {
            begun.response = Some(Response { status, version, headers: Headers::from(headers), body: Body::default() });
        }
    }

    pub(super) fn push(&mut self, data: &Bytes) {
        self.copy.push(data);
    }

    pub(super) fn copy(&self) -> &Copy {
        &self.copy
    }

    /// The exchange as it would be if it ended now, for admission; the copies stay.
    pub(super) fn snapshot(&mut self) -> Option<Box<Exchange>> {
        let mut exchange = self.begun.clone()?;
        {
            let mut state = lock(&self.request);
            let whole = state.whole;
            exchange.request.body = state.copy.take(whole);
            state.copy.put_back(&exchange.request.body);
        }
        if let Some(response) = &mut exchange.response {
            response.body = self.copy.take(true);
            self.copy.put_back(&response.body);
        }
        exchange.transport.retried = self.notes.retried;
        Some(exchange)
    }

    /// The exchange is over; `incomplete` says why it is not whole. Later calls, and the drop, do nothing.
    pub(super) fn end(&mut self, incomplete: Option<String>) -> Written {
        let Some(mut exchange) = self.begun.take() else { return Written::now() };
        let now = Instant::now();
        let sent_at = {
            let mut state = lock(&self.request);
            let whole = state.whole;
            exchange.request.body = state.copy.take(whole);
            state.ended_at
        };
        if let Some(response) = &mut exchange.response {
            response.body = self.copy.take(incomplete.is_none());
        }
        let sent_at = sent_at.unwrap_or(self.clock);
        let mut notes = std::mem::take(&mut self.notes);
        if self.original_audience.is_some() {
            notes.remarks.push("the audience was contrail's own address and became the tenant's".to_owned());
        }
        exchange.timings = Timings {
            send: Some(sent_at.saturating_duration_since(self.clock)),
            wait: self.head_at.map(|head| head.saturating_duration_since(sent_at)),
            receive: self.head_at.map(|head| now.saturating_duration_since(head)),
        };
        exchange.transport = Transport {
            incomplete,
            retried: notes.retried,
            original_audience: self.original_audience.take(),
            answered_by_contrail: notes.answered_by_contrail.map(str::to_owned),
        };
        let took = now.saturating_duration_since(self.clock);
        let alone = self.proxy.exchanges.fetch_sub(1, Ordering::AcqRel) == 1;
        self.proxy.observer.ended(Ended { exchange, notes, took, admitted: self.admitted.take(), alone })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.begun.is_some() {
            let gone = "the client went away before the exchange was over";
            let reason = if self.in_flight.stalled() { stall::REASON } else { gone };
            drop(self.end(Some(reason.to_owned())));
        }
    }
}

/// A response body on its way to the client: everything but the end goes straight through.
pub(super) struct Gate {
    inner: MessageBody,
    remaining: Option<u64>,
    recording: Option<Box<Recording>>,
    stage: Stage,
    /// A frame that was taken before the head went out.
    ahead: Option<Result<Frame<Bytes>, BodyError>>,
    /// The exchange could not be recorded.
    refused: Option<Box<Problem>>,
    /// In HTTP/2, what is left of the upstream's last piece: it is handed over in small ones, so that a client that takes
    /// nothing is noticed until the end.
    rest: Option<Bytes>,
}

/// Most bytes that are handed over at a time in HTTP/2.
const HTTP2_PIECE: usize = 16 << 10;

enum Stage {
    Streaming,
    /// The end is here and waits until the exchange is written.
    Holding {
        written: Written,
        last: Option<Result<Frame<Bytes>, BodyError>>,
    },
    /// It broke off: what came before is flushed first, then the connection is cut.
    Cutting {
        error: BodyError,
        flushed: bool,
    },
    Done,
}

impl Gate {
    /// `length` is the message's Content-Length, if it has one.
    pub(super) fn new(inner: MessageBody, length: Option<u64>, recording: Box<Recording>) -> Self {
        let stage = Stage::Streaming;
        Self { remaining: length, recording: Some(recording), stage, ..Self::open(inner) }
    }

    /// Looks at the begin of the body before the head goes out. If all of it is there already, waits until the exchange
    /// is recorded, so that head and end go out in one write. Waits for the upstream only if the `patient` ask for the
    /// first piece.
    ///
    /// # Errors
    ///
    /// The exchange cannot be recorded: what the client gets instead.
    pub(super) async fn begin(&mut self, patient: bool) -> Result<(), Problem> {
        poll_fn(|cx| {
            let polled = self.poll_piece(cx);
            if let Some(problem) = self.refused.take() {
                return Poll::Ready(Err(*problem));
            }
            match polled {
                Poll::Ready(frame) => self.ahead = frame,
                Poll::Pending => match &mut self.stage {
                    // What came before is the head.
                    Stage::Cutting { flushed, .. } => *flushed = false,
                    Stage::Holding { .. } => return Poll::Pending,
                    _ if patient => return Poll::Pending,
                    _ => {}
                },
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// A body that is already recorded, or of no exchange at all.
    pub(super) fn open(inner: MessageBody) -> Self {
        let stage = if inner.is_end_stream() { Stage::Done } else { Stage::Streaming };
        let rest = stall::in_stream().then(Bytes::new);
        Self { inner, remaining: None, recording: None, stage, ahead: None, refused: None, rest }
    }

    /// The next piece from the upstream; in HTTP/2, of a size that a client takes at a time.
    fn poll_inner(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let inner = Pin::new(&mut self.inner);
        let Some(rest) = &mut self.rest else { return inner.poll_frame(cx) };
        let left = std::mem::take(rest);
        let frame = if left.is_empty() { ready!(inner.poll_frame(cx)) } else { Some(Ok(Frame::data(left))) };
        Poll::Ready(frame.map(|frame| match frame?.into_data() {
            Ok(mut data) => {
                let piece = data.split_to(data.len().min(HTTP2_PIECE));
                *rest = data;
                Ok(Frame::data(piece))
            }
            Err(frame) => Ok(frame),
        }))
    }

    fn inner_ended(&self) -> bool {
        self.rest.as_ref().is_none_or(Bytes::is_empty) && self.inner.is_end_stream()
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(ahead) = self.ahead.take() {
            return Poll::Ready(Some(ahead));
        }
        loop {
            match &mut self.stage {
                Stage::Done => return Poll::Ready(None),
                Stage::Holding { written, last } => {
                    let recorded = ready!(Pin::new(written).poll(cx));
                    let last = match recorded {
                        Ok(()) => last.take(),
                        Err(problem) => {
                            let error = BodyError(problem.detail.clone());
                            self.refused = Some(Box::new(problem));
                            Some(Err(error))
                        }
                    };
                    if let Some(Err(error)) = last {
                        self.stage = Stage::Cutting { error, flushed: false };
                        continue;
                    }
                    self.stage = Stage::Done;
                    return Poll::Ready(last);
                }
                Stage::Cutting { flushed, .. } if !*flushed => {
                    *flushed = true;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Stage::Cutting { error, .. } => {
                    let error = error.clone();
                    self.stage = Stage::Done;
                    return Poll::Ready(Some(Err(error)));
                }
                Stage::Streaming => {}
            }
            match ready!(self.poll_inner(cx)) {
                None => {
                    let missing = self.remaining.filter(|remaining| *remaining > 0);
                    let reason = missing.map(|missing| format!("the response ended {missing} bytes short"));
                    let last = reason.clone().map(|reason| Err(BodyError(reason)));
                    self.hold(reason, last);
                }
                Some(Err(error)) => self.hold(Some(error.0.clone()), Some(Err(error))),
                Some(Ok(mut frame)) => {
                    if let Some(trailers) = frame.trailers_mut() {
                        hop::trailers(trailers);
                    }
                    let Some(data) = frame.data_ref() else {
                        self.hold(None, Some(Ok(frame)));
                        continue;
                    };
                    if let Some(recording) = &mut self.recording {
                        recording.push(data);
                    }
                    if let Some(remaining) = &mut self.remaining {
                        *remaining = remaining.saturating_sub(data.len() as u64);
                    }
                    if self.remaining == Some(0) || self.inner_ended() {
                        self.hold(None, Some(Ok(frame)));
                        continue;
                    }
                    return Poll::Ready(Some(Ok(frame)));
                }
            }
        }
    }

    fn hold(&mut self, incomplete: Option<String>, last: Option<Result<Frame<Bytes>, BodyError>>) {
        let written = match self.recording.take() {
            Some(mut recording) => recording.end(incomplete),
            None => Written::now(),
        };
        self.stage = Stage::Holding { written, last };
    }
}

impl http_body::Body for Gate {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let in_stream = self.rest.is_some();
        if in_stream {
            stall::asked_for_more();
        }
        let piece = ready!(self.poll_piece(cx));
        if in_stream {
            stall::handed_over();
        }
        Poll::Ready(piece)
    }

    fn is_end_stream(&self) -> bool {
        self.ahead.is_none() && matches!(self.stage, Stage::Done)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.stage {
            _ if self.ahead.is_some() => SizeHint::default(),
            Stage::Streaming => match self.remaining {
                Some(remaining) => SizeHint::with_exact(remaining),
                None => self.inner.size_hint(),
            },
            _ => SizeHint::default(),
        }
    }
}
