//! A request with its response, how long the phases took, and how the transport ended.

use std::time::{Duration, SystemTime};

use super::{Body, Credential, Headers, Presence, Target, media};

/// One request with its response.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What the client sent (and, where contrail changed it on the way, what the tenant got).
    pub request: Request,
    /// What came back; `None` if no response head ever arrived.
    pub response: Option<Response>,
    /// The instant at which the request head had arrived; `None` in a fixture, which holds no run-time.
    pub started: Option<SystemTime>,
    /// How long the phases took.
    pub timings: Timings,
    /// How the transport ended.
    pub transport: Transport,
}

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method, as sent (case-sensitive).
    pub method: http::Method,
    /// Scheme, authority, raw path and raw query.
    pub target: Target,
    /// The protocol version.
    pub version: http::Version,
    /// Header fields in order, repeats kept.
    pub headers: Headers,
    /// The body, content coding removed where that was possible.
    pub body: Body,
    /// What the `Authorization` header says, decoded once; in a fixture the token's public facts.
    pub credential: Credential,
}

/// A response.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The protocol version.
    pub version: http::Version,
    /// Header fields in order, repeats kept.
    pub headers: Headers,
    /// The body, content coding removed where that was possible.
    pub body: Body,
}

impl Response {
    /// Its client left before its end. Of a sequence (`text/event-stream`, lines of JSON) the whole items that came are
    /// its body from here on; of any other body a part is here.
    pub fn left(&mut self) {
        let Self { headers, body, .. } = self;
        if !body.is_whole() {
            return;
        }
        let essence = headers.get("content-type").map(|value| media::essence(value.as_bytes())).unwrap_or_default();
        let is_coded = headers.contains("content-encoding");
        match media::whole_items(&essence, &body.content).filter(|end| *end > 0 && !is_coded) {
            Some(end) => body.content.truncate(end),
            None => body.presence = Presence::Truncated { kept: body.content.len() as u64, total: None },
        }
    }
}

/// Whether a response has no body by definition (RFC 9110, section 6.4.1).
#[must_use]
pub fn is_bodiless(method: &http::Method, status: u16) -> bool {
    *method == http::Method::HEAD || matches!(status, 100..=199 | 204 | 304)
}

/// The method, if it is one that everybody knows: those of RFC 9110, section 9, and PATCH. Any other is a text that the
/// client made up.
#[must_use]
pub fn known_method(method: &http::Method) -> Option<&'static str> {
    use http::Method;
    Some(match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::CONNECT => "CONNECT",
        Method::TRACE => "TRACE",
        _ => return None,
    })
}

/// How long the phases of an exchange took; `None` where it was not measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// From the start to the request's first byte upstream, where another tool measured it: a queue, a name, a
    /// connection.
    pub before: Option<Duration>,
    /// From the request's first byte upstream to its last.
    pub send: Option<Duration>,
    /// From the request's last byte to the response's first.
    pub wait: Option<Duration>,
    /// From the response's first byte to its last.
    pub receive: Option<Duration>,
}

impl Timings {
    /// The sum of what is known from the request's first byte upstream on.
    #[must_use]
    pub fn total(&self) -> Duration {
        [self.send, self.wait, self.receive].into_iter().flatten().sum()
    }
}

/// How the transport ended, and what contrail did on the way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent facts
pub struct Transport {
    /// Why the exchange is not whole; `None` when it is. `transport.incomplete` comes from here.
    pub incomplete: Option<String>,
    /// The client left before the end; nobody is to blame for what did not come.
    pub client_left: bool,
    /// The client had closed its side before the answer began. It may have left; it may have read on.
    pub client_closed: bool,
    /// The response ended with trailer fields, which are not recorded.
    pub trailers: bool,
    /// Milliseconds from the response's head to the end of each whole event of an event stream, where they are kept.
    pub event_times: Option<Box<[u64]>>,
    /// The request was sent again on a fresh connection after a kept-alive one turned out closed.
    pub retried: bool,
    /// The `audience` that the client sent, where contrail rewrote it to the tenant's.
    pub original_audience: Option<String>,
    /// contrail answered itself (a value of the `Contrail-Answer` header); the tenant did not say this.
    pub answered_by_contrail: Option<String>,
    /// The status that the client got in place of this response, which `--enforce` held back.
    pub given: Option<u16>,
}

impl Transport {
    /// Why the client got an answer of contrail's own, whether or not the tenant answered.
    #[must_use]
    pub fn answered(&self) -> Option<&str> {
        self.answered_by_contrail.as_deref().or(self.given.map(|_| "enforce"))
    }

    /// Why the exchange is not whole, whichever side broke it off.
    #[must_use]
    pub fn unfinished(&self) -> Option<&str> {
        let left = self.client_left.then_some("the client went away before the exchange was over");
        self.incomplete.as_deref().or(left)
    }
}
