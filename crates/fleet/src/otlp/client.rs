//! Requests to the receiver, by the client that asks tenants, and what its answers mean.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use contrail_exchange::{self as exchange, Body, Headers, Target, media};
use contrail_proxy::upstream::{
    Request, Upstream as _,
    live::{Access, Limits, Live, Via},
    own::OwnAddresses,
};
use contrail_recording::wait_until;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Version, header};
use http_body_util::{BodyExt as _, Collected, Limited};
use tokio::time::timeout;

use crate::{FleetError, Receiver, ReceiverUrl};

/// How long a request may take, connection included; the default of OTLP exporters.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum bytes of an answer that are read.
const MAX_ANSWER: usize = 64 << 10;

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Traces,
    Metrics,
}

impl Signal {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Metrics => "metrics",
        }
    }
}

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SendOutcome {
    /// The receiver took it, and answered this.
    Taken(Bytes),
    /// It will never take it.
    Refused(StatusCode),
    /// A success with a body of another type, such as a page to log in: this is no receiver.
    Foreign(StatusCode),
    /// It may take it later, and says when, or not.
    Failed { cause: String, after: Option<Duration> },
}

/// The client of one receiver.
#[derive(Debug)]
pub(super) struct Client {
    live: Live,
    url: ReceiverUrl,
    headers: HeaderMap,
}

impl Client {
    /// One that sends these headers with every request. Nothing is connected yet.
    pub(super) fn new(receiver: &Receiver, mut headers: HeaderMap) -> Result<Self, FleetError> {
        let Receiver { url, roots, .. } = receiver;
        let wrong = |error: String| FleetError(format!("--otlp {url}: {error}"));
        let via = Via::from_environment(&url.origin, |name| std::env::var(name).ok()).map_err(wrong)?;
        let access = Access { roots: roots.clone(), via, own: OwnAddresses::default(), ..Access::default() };
        let limits = Limits { connect: PATIENCE, silence: PATIENCE, kept: 1, ..Limits::default() };
        let live = Live::new(url.origin.clone(), access, limits).map_err(|error| wrong(error.to_string()))?;
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        let agent = concat!("contrail/", env!("CARGO_PKG_VERSION"));
        headers.entry(header::USER_AGENT).or_insert(HeaderValue::from_static(agent));
        let host = HeaderValue::try_from(&*url.origin.authority).map_err(|error| wrong(error.to_string()))?;
        headers.insert(header::HOST, host);
        Ok(Self { live, url: url.clone(), headers })
    }

    pub(super) fn url(&self) -> &ReceiverUrl {
        &self.url
    }

    /// Sends a message of protobuf.
    pub(super) async fn post(&self, signal: Signal, body: Bytes) -> SendOutcome {
        let failed = |cause| SendOutcome::Failed { cause, after: None };
        let Some(request) = self.request(signal, body) else { return failed("its path is malformed".to_owned()) };
        let asked = async {
            let answer = self.live.answer(request).await.map_err(|failure| failed(failure.cause))?;
            let (head, body) = answer.response.into_parts();
            let body = Limited::new(body, MAX_ANSWER).collect().await;
            // One that is too long or broken off has the same status all the same.
            Ok((head, body.map(Collected::to_bytes).unwrap_or_default()))
        };
        match timeout(PATIENCE, asked).await {
            Err(_) => failed(format!("{} did not answer within {} s", self.url, PATIENCE.as_secs())),
            Ok(Err(failed)) => failed,
            Ok(Ok((head, body))) => self.meaning(&head, body),
        }
    }

    fn request(&self, signal: Signal, body: Bytes) -> Option<Request> {
        let path = format!("{}/v1/{}", self.url.base, signal.name());
        let (mut head, ()) = http::Request::builder().method(Method::POST).uri(&path).body(()).ok()?.into_parts();
        head.headers = self.headers.clone();
        head.headers.insert(header::CONTENT_LENGTH, body.len().into());
        let origin = &self.url.origin;
        let target = Target::new(origin.scheme(), &*origin.authority, path);
        Some(Request { target, head, body: body.into(), on_informational: None, client: None, called: None })
    }

    /// What an answer means (OTLP 1.x, "OTLP/HTTP Response"). Of its body, nothing is ever shown: it may quote what
    /// came with the request.
    fn meaning(&self, head: &http::response::Parts, body: Bytes) -> SendOutcome {
        match head.status.as_u16() {
            200..=299 if is_foreign(&head.headers) => SendOutcome::Foreign(head.status),
            200..=299 => SendOutcome::Taken(body),
            429 | 502 | 503 | 504 => {
                let cause = format!("{} answers {}", self.url, head.status);
                SendOutcome::Failed { cause, after: asks_to_wait(&head.headers, SystemTime::now()) }
            }
            _ => SendOutcome::Refused(head.status),
        }
    }
}

/// Whether an answer states another type than protobuf. One to protobuf is protobuf, too (OTLP 1.x, "OTLP/HTTP
/// Response"); receivers that answer nothing often state no type.
fn is_foreign(headers: &HeaderMap) -> bool {
    const PROTOBUF: [&str; 3] = ["application/x-protobuf", "application/protobuf", "application/vnd.google.protobuf"];
    headers.get(header::CONTENT_TYPE).is_some_and(|value| !PROTOBUF.contains(&&*media::essence(value.as_bytes())))
}

/// How long an answer asks to wait (RFC 9110, section 10.2.3).
fn asks_to_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    if let Some(seconds) = seconds {
        return Some(Duration::from_secs(seconds));
    }
    let response = exchange::Response {
        status: 503,
        version: Version::HTTP_11,
        headers: Headers::from(headers),
        body: Body::default(),
    };
    wait_until(&response, now)?.duration_since(now).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_another_type_than_protobuf_is_foreign() {
        let foreign = |value: &'static str| {
            is_foreign(&HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(value))]))
        };
        assert!(!is_foreign(&HeaderMap::new()));
        let own = ["application/x-protobuf", "Application/X-Protobuf; charset=utf-8", "application/protobuf"];
        assert_eq!(own.map(foreign), [false; 3]);
        let others = ["text/html; charset=utf-8", "application/json", "", "application/x-protobuf-json"];
        assert_eq!(others.map(foreign), [true; 4]);
    }

    #[test]
    fn a_receiver_asks_to_wait_for_seconds_or_until_an_instant() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_763_822_000_900);
        let wait = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, HeaderValue::from_str(value).unwrap());
            asks_to_wait(&headers, now)
        };
        assert_eq!(wait("2"), Some(Duration::from_secs(2)));
        assert_eq!(wait("Sat, 22 Nov 2025 14:33:50 GMT"), Some(Duration::from_millis(29_100)));
        assert_eq!((wait("soon"), asks_to_wait(&HeaderMap::new(), now)), (None, None));
    }
}
