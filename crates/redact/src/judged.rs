//! An exchange with its verdict, before and after redaction.

use std::{mem, ops::Deref};

use bytes::Bytes;
use contrail_exchange::{Body, Exchange, Headers, finding::Verdict};
use http::HeaderValue;

/// A value from which the secrets are gone. Nothing outside this room can make one.
#[derive(Debug, Clone)]
pub struct Redacted<T>(pub(super) T);

impl<T> Deref for Redacted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Redacted<T> {
    /// The value, no longer proven clean by its type.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl Redacted<JudgedExchange> {
    /// Gives the response the header fields and the body of a recording from which contrail took the secrets.
    pub fn set_recorded(&mut self, (headers, body): (Headers, Body)) {
        if let Some(response) = &mut self.0.exchange.response {
            (response.headers, response.body) = (headers, body);
        }
    }

    /// Gives the request bytes of its own, and the response unless it `is_recorded`, so that the exchange can be held for
    /// long: what came from a socket are slices of the buffers of up to 128 KiB that it was read into.
    pub fn detach(&mut self, is_recorded: bool) {
        let Exchange { request, response, .. } = &mut *self.0.exchange;
        detach(&mut request.headers, &mut request.body);
        if let Some(response) = response.as_mut().filter(|_| !is_recorded) {
            detach(&mut response.headers, &mut response.body);
        }
    }
}

fn detach(headers: &mut Headers, body: &mut Body) {
    let mut values = Vec::with_capacity(headers.iter().map(|(_, value)| value.len()).sum());
    headers.iter().for_each(|(_, value)| values.extend_from_slice(value.as_bytes()));
    let mut values = Bytes::from(values);
    for (_, value) in headers.iter_mut() {
        // What a reader let through that no value may hold stays where it is.
        if let Ok(own) = HeaderValue::from_maybe_shared(values.split_to(value.len())) {
            *value = own;
        }
    }
    body.content = Bytes::copy_from_slice(&body.content);
    mem::take(&mut body.read);
}

/// An exchange with its verdict.
#[derive(Debug, Clone)]
pub struct JudgedExchange {
    /// The exchange, boxed since it goes through many hands.
    pub exchange: Box<Exchange>,
    /// The verdict.
    pub verdict: Verdict,
    /// What redaction replaced; nothing before it.
    pub touched: Touched,
}

impl JudgedExchange {
    /// An exchange and its verdict, not yet redacted.
    #[must_use]
    pub fn new(exchange: impl Into<Box<Exchange>>, verdict: Verdict) -> Self {
        Self { exchange: exchange.into(), verdict, touched: Touched::default() }
    }
}

/// Where redaction changed an exchange. A check of the redacted exchange can differ from the live verdict only if
/// `elsewhere` says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Touched {
    /// The value of `Authorization` (its facts stay in the request's credential).
    pub authorization: bool,
    /// Anything else: another header, the target, a body (withheld and dropped ones too), a finding.
    pub elsewhere: bool,
}
