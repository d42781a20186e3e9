//! An exchange with its verdict, before and after redaction.

use std::ops::Deref;

use contrail_exchange::{Body, Exchange, Headers, Packed, finding::Verdict};

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

    /// Gives every label of the exchange and its verdict another number.
    pub fn relabel(&mut self, number: &mut dyn FnMut(u32) -> u32) {
        self.0.exchange.relabel(number);
        self.0.verdict.findings.iter_mut().for_each(|finding| finding.relabel(number));
    }

    /// Takes the header values and bodies out of the exchange, so that it can be held for long.
    pub fn pack(&mut self, is_recorded: bool) -> Packed {
        Packed::of(&mut self.0.exchange, is_recorded)
    }

    /// Puts them back into the exchange that they are of.
    pub fn unpack(&mut self, packed: Packed) {
        packed.put_back(&mut self.0.exchange);
    }
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
