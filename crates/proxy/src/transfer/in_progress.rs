//! The capture of an exchange, from its request's head to its end.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Instant, SystemTime},
};

use bytes::Bytes;
use contrail_exchange::{Body, Exchange, Headers, Request, Response, Timings, Transport};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    event_times::EventTimes,
    links::Links,
    request_body::{SharedRequest, lock},
};
use crate::upstream::AnswerMeta;
use crate::{
    Committed, Completed, Proxy,
    capture::BodyCapture,
    wire::{
        stall,
        state::{ConnectionState, InFlight},
    },
};

/// An exchange in progress. However it ends, a drop included, the observer hears of it once.
#[allow(clippy::struct_excessive_bools)] // independent facts
pub(crate) struct InProgress {
    proxy: Arc<Proxy>,
    /// What is known so far: the heads, and when it began.
    begun: Option<Box<Exchange>>,
    request: SharedRequest,
    copy: BodyCapture,
    /// What the upstream said about its answer.
    pub(crate) meta: AnswerMeta,
    original_audience: Option<String>,
    /// Whether its response is held until it is judged.
    pub(crate) held: bool,
    clock: Instant,
    head_at: Option<Instant>,
    in_flight: InFlight,
    /// Its client ended it.
    client_left: bool,
    /// See [`Completed::calls_contrail`].
    pub(crate) calls_contrail: bool,
    /// What rewrites the links of its response.
    pub(super) links: Option<Box<Links>>,
    /// The session that its client's path names.
    pub(crate) session_in_path: Option<Arc<str>>,
    /// Its response has trailer fields.
    trailers: bool,
    /// When the pieces of its event stream came.
    event_times: Option<Box<EventTimes>>,
    /// Its place among the requests that are with the upstream.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
}

impl InProgress {
    pub(crate) fn new(proxy: Arc<Proxy>, request: Request, state: SharedRequest, in_flight: InFlight) -> Self {
        let copy = proxy.body_capture();
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
            meta: AnswerMeta::default(),
            original_audience: None,
            held: false,
            clock: Instant::now(),
            head_at: None,
            in_flight,
            client_left: false,
            calls_contrail: false,
            links: None,
            session_in_path: None,
            trailers: false,
            event_times: None,
            permit: None,
        }
    }

    /// Its client's connection.
    pub(crate) fn connection(&self) -> &Arc<ConnectionState> {
        self.in_flight.state()
    }

    /// The request as it is recorded so far.
    pub(crate) fn recorded(&mut self) -> Option<&mut Request> {
        self.begun.as_mut().map(|begun| &mut begun.request)
    }

    pub(crate) fn request(&self) -> &SharedRequest {
        &self.request
    }

    /// The request's body was rewritten, since its audience was this; the rewritten request is what is recorded.
    pub(crate) fn rewritten(&mut self, headers: &http::HeaderMap, body: &Bytes, original_audience: String) {
        self.original_audience = Some(original_audience);
        if let Some(begun) = &mut self.begun {
            begun.request.headers = Headers::from(headers);
        }
        let mut state = lock(&self.request);
        state.copy = self.proxy.body_capture();
        state.copy.push(body);
    }

    /// Notes the response's head.
    pub(crate) fn head(&mut self, status: u16, version: http::Version, headers: &http::HeaderMap) {
        let now = Instant::now();
        self.head_at = Some(now);
        if self.proxy.settings.event_times {
            self.event_times = EventTimes::of(now, headers).map(Box::new);
        }
        let unseen = self.meta.response_redacted && !self.proxy.observer.shows_recorded();
        let headers = if unseen { Headers::new() } else { Headers::from(headers) };
        if let Some(begun) = &mut self.begun {
            begun.response = Some(Response { status, version, headers, body: Body::default() });
        }
    }

    pub(crate) fn push(&mut self, data: &Bytes) {
        self.copy.push(data);
        if let Some(times) = &mut self.event_times {
            times.note(self.copy.total());
        }
    }

    /// Its response ends with trailer fields.
    pub(crate) fn has_trailers(&mut self) {
        self.trailers = true;
    }

    pub(crate) fn copy(&self) -> &BodyCapture {
        &self.copy
    }

    /// The kept part of the response's body.
    pub(crate) fn content(&mut self) -> Bytes {
        self.copy.content()
    }

    /// The exchange so far with its request's body, for admission; the copy stays.
    pub(crate) fn with_request(&mut self) -> Option<&mut Exchange> {
        let exchange = self.begun.as_deref_mut()?;
        let mut state = lock(&self.request);
        let whole = state.whole;
        exchange.request.body = state.copy.take(whole);
        state.copy.put_back(&exchange.request.body);
        drop(state);
        Some(exchange)
    }

    /// The exchange is over; `incomplete` says why it is not whole. Later calls, and the drop, do nothing.
    pub(crate) fn end(&mut self, mut incomplete: Option<String>) -> Committed {
        let Some(mut exchange) = self.begun.take() else { return Committed::now() };
        self.permit = None; // it is with the upstream no longer
        let is_whole = incomplete.is_none();
        let ended = Instant::now();
        let closed = self.connection().client_closed();
        // It waited no longer than until it left.
        let now = closed.filter(|_| self.client_left).unwrap_or(ended);
        let (sent_at, broke_off) = {
            let mut state = lock(&self.request);
            let whole = state.whole;
            // What its admission read is read once.
            let read = std::mem::take(&mut exchange.request.body.read);
            exchange.request.body = Body { read, ..state.copy.take(whole) };
            let broke_off = state.broke_off && incomplete.take().is_some();
            (state.ended_at, broke_off)
        };
        if let Some(response) = &mut exchange.response {
            response.body = self.copy.take(is_whole);
            if self.client_left {
                response.left();
            }
            exchange.transport.event_times = self.event_times.take().and_then(|times| times.of_events(&response.body));
        }
        let sent_at = sent_at.unwrap_or(self.clock);
        let mut meta = std::mem::take(&mut self.meta);
        if self.original_audience.is_some() {
            meta.remarks.push("the audience was contrail's own address and became the tenant's".to_owned());
        }
        if let Some(closed) = closed.filter(|_| !self.client_left) {
            let after = closed.saturating_duration_since(self.clock).as_millis();
            meta.remarks.push(format!("the client had closed its side after {after} ms"));
        }
        exchange.timings = Timings {
            before: None,
            send: Some(sent_at.saturating_duration_since(self.clock)),
            wait: self.head_at.map(|head| head.saturating_duration_since(sent_at)),
            receive: self.head_at.map(|head| now.saturating_duration_since(head)),
        };
        let replaced = exchange.response.is_some() && meta.answered_by_contrail.is_none();
        let given = meta.given_status.filter(|_| replaced).map(|status| status.as_u16());
        exchange.transport = Transport {
            incomplete,
            client_left: self.client_left || broke_off,
            client_closed: closed.is_some_and(|closed| self.head_at.is_some_and(|head| closed < head)),
            trailers: self.trailers,
            event_times: exchange.transport.event_times.take(),
            retried: meta.retried,
            original_audience: self.original_audience.take(),
            answered_by_contrail: meta.answered_by_contrail.map(str::to_owned),
            given,
        };
        let took = now.saturating_duration_since(self.clock);
        let alone = self.proxy.exchanges.fetch_sub(1, Ordering::AcqRel) == 1;
        let Self { held, calls_contrail, .. } = *self;
        self.proxy.observer.on_completed(Completed { exchange, meta, took, ended, held, alone, calls_contrail })
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        if self.begun.is_some() {
            let cut = self.proxy.cut.get().copied();
            let reason = if self.in_flight.stalled() { Some(stall::REASON) } else { cut };
            self.client_left = reason.is_none();
            drop(self.end(reason.map(str::to_owned)));
        }
    }
}
