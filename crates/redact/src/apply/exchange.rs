//! What a redactor gives to writers, console and reports: exchanges, requests, texts and pointers without their
//! secrets.

use std::borrow::Cow;

use contrail_exchange::{
    Headers, Request,
    finding::{Rule, Verdict},
};

use super::redaction::Redaction;
use crate::{JudgedExchange, Redacted, Redactor, find::detect::MAX_CODINGS, label};

impl Redactor {
    /// Takes the secrets out of an exchange and of its verdict. Idempotent: labels are recognised.
    #[must_use]
    pub fn redact(&self, mut judged: JudgedExchange) -> Redacted<JudgedExchange> {
        let operation = judged.verdict.operation.clone();
        let mut work = Redaction::new(self, operation.as_deref());
        let exchange = &mut judged.exchange;
        let transport = &mut exchange.transport;
        if let Some(failure) = &transport.incomplete {
            // Its secrets may be in the messages, too.
            self.detect_text(failure.as_bytes(), MAX_CODINGS - 1, &mut Vec::new());
        }
        work.messages(&mut exchange.request, exchange.response.as_mut());
        if let Some(failure) = &mut transport.incomplete {
            let clean = self.failure(failure).into_inner();
            if clean != *failure {
                replace_failure(&mut judged.verdict, failure, &clean);
                *failure = clean;
                work.touched.elsewhere = true;
            }
        }
        work.verdict(&mut judged.verdict);
        if let Some(audience) = &mut transport.original_audience {
            let index = self.memory().index();
            work.touched.elsewhere |= work.rewrite(&index, audience);
        }
        judged.touched.authorization |= work.touched.authorization;
        judged.touched.elsewhere |= work.touched.elsewhere;
        Redacted(judged)
    }

    /// Recognises the secrets of header fields that are recorded nowhere (an interim answer's).
    pub fn recognise_headers(&self, headers: &Headers) {
        Redaction::new(self, None).read_head(headers, true);
    }

    /// Takes secrets, known ones in any coding and others by shape and name, out of a text for people (an error, a
    /// URL).
    #[must_use]
    pub fn text(&self, text: &str) -> Redacted<String> {
        let new = Redaction::new(self, None).stated(text, false);
        Redacted(new.unwrap_or_else(|| text.to_owned()))
    }

    /// The same for a producer's text about an exchange that failed: of any length, and cut for reading once
    /// no secret is left that the cut could divide.
    #[must_use]
    pub fn failure(&self, text: &str) -> Redacted<String> {
        /// Maximum characters that are kept.
        const MAX_FAILURE: usize = 200;
        let mut clean = self.text(text).into_inner();
        if let Some((end, _)) = clean.char_indices().nth(MAX_FAILURE) {
            let divided = label::find(clean.as_bytes()).find(|(range, _)| range.start < end && end < range.end);
            clean.truncate(divided.map_or(end, |(range, _)| range.start));
        }
        Redacted(clean)
    }

    /// The same for a JSON pointer: each name on the way is a text of its own.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Redacted<String> {
        let mut text = pointer.to_owned();
        Redaction::new(self, None).derived(&mut text);
        Redacted(text)
    }

    /// The same plan on a live request before it is matched against a fixture, so redaction never breaks replay.
    #[must_use]
    pub fn request(&self, request: &Request) -> Redacted<Request> {
        let mut request = request.clone();
        Redaction::new(self, None).messages(&mut request, None);
        Redacted(request)
    }
}

/// Puts the redacted failure of an exchange into the finding that quotes it.
fn replace_failure(verdict: &mut Verdict, failure: &str, clean: &str) {
    for finding in &mut verdict.findings {
        if let (Rule::TransportIncomplete, Cow::Owned(expected)) = (finding.rule, &mut finding.expected) {
            *expected = expected.replace(failure, clean);
        }
    }
}
