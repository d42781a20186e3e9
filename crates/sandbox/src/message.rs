//! Requests and answers of the sandbox ([`Ask`] and [`Answer`]), without a socket.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use contrail_exchange::json;
use contrail_proxy::upstream::{self, BodyError, MessageBody, Upstream};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use serde_json::Value;

const BROKEN_ON_PURPOSE: &str =
    "the sandbox broke the connection in the middle of the body (--misbehave transport.incomplete)";

/// One request, whole.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The method.
    pub method: &'a Method,
    /// Raw path and raw query, byte for byte.
    pub target: &'a str,
    /// Header fields.
    pub headers: &'a HeaderMap,
    /// All of the body.
    pub body: &'a Bytes,
}

impl<'a> Ask<'a> {
    /// The raw path.
    pub(super) fn path(&self) -> &'a str {
        self.target.split_once('?').map_or(self.target, |(path, _)| path)
    }

    /// The raw query, empty if there is none.
    pub(super) fn query(&self) -> &'a str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// The only value of a header; `None` if it is absent, repeated, or not visible ASCII.
    pub(super) fn header(&self, name: HeaderName) -> Option<&'a str> {
        let mut values = self.headers.get_all(name).iter();
        let first = values.next()?.to_str().ok()?;
        values.next().is_none().then_some(first)
    }
}

/// Answers requests from memory.
pub trait Answers: Send + Sync + fmt::Debug {
    /// Answers one request by its own clock.
    fn answer_now(&self, ask: &Ask<'_>) -> Answer;
}

/// Answers in this process: an upstream without a socket.
#[derive(Debug)]
pub struct InProcess<T>(pub T);

impl<T: Answers> Upstream for InProcess<T> {
    fn answer(&self, request: upstream::Request) -> upstream::AnswerFuture<'_> {
        Box::pin(async move {
            let (target, head, body) = request.collect().await?;
            let ask = Ask { method: &head.method, target: &target.path_and_query, headers: &head.headers, body: &body };
            Ok(self.0.answer_now(&ask).into_response().map(MessageBody::stream).into())
        })
    }

    fn kind(&self) -> upstream::UpstreamKind {
        upstream::UpstreamKind::Memory
    }
}

/// The tenant's answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Status code.
    pub status: StatusCode,
    /// Header fields, `content-length` not among them (it is the length of `body`).
    pub headers: HeaderMap,
    /// All of the body.
    pub body: Bytes,
    /// Only this many bytes of the body are sent before the connection breaks, although all of them are announced.
    pub cut_at: Option<usize>,
}

impl Answer {
    /// No body.
    #[must_use]
    pub fn empty(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Bytes::new(), cut_at: None }
    }

    /// A JSON body.
    #[must_use]
    pub fn json(status: StatusCode, body: &Value) -> Self {
        Self::text(status, body.to_string())
    }

    /// A JSON body that is text already.
    pub(super) fn text(status: StatusCode, body: impl Into<Bytes>) -> Self {
        let mut answer = Self::empty(status);
        answer.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        answer.body = body.into();
        answer
    }

    /// A refusal, in the shape that the sandbox picked (the document shows none).
    pub(super) fn refusal(status: StatusCode, message: &str) -> Self {
        let mut body = format!("{{\"statusCode\":{},\"error\":", status.as_u16());
        json::quote(status.canonical_reason().unwrap_or("Error"), &mut body);
        body.push_str(",\"message\":");
        json::quote(message, &mut body);
        body.push('}');
        Self::text(status, body)
    }

    /// The same with one more header.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<HeaderValue>) -> Self {
        self.headers.insert(HeaderName::from_static(name), value.into());
        self
    }

    /// As a response with a body that can be streamed (and that breaks where [`Answer::cut_at`] says so).
    #[must_use]
    pub fn into_response(self) -> Response<AnswerBody> {
        let length = self.body.len();
        let body = match self.cut_at {
            Some(at) => AnswerBody { data: Some(self.body.slice(..at.min(length))), fate: Fate::Flush },
            None => AnswerBody { data: (length > 0).then_some(self.body), fate: Fate::Whole },
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        response
    }
}

/// The body of an [`Answer`] on its way out.
#[derive(Debug)]
pub struct AnswerBody {
    data: Option<Bytes>,
    fate: Fate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Ends well.
    Whole,
    /// Breaks after one more turn, so that what was given is on the wire.
    Flush,
    /// Breaks now.
    Break,
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, BodyError>>> {
        if let Some(data) = self.data.take() {
            return Poll::Ready(Some(Ok(http_body::Frame::data(data))));
        }
        match self.fate {
            Fate::Whole => Poll::Ready(None),
            Fate::Flush => {
                self.fate = Fate::Break;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Fate::Break => {
                self.fate = Fate::Whole;
                Poll::Ready(Some(Err(BodyError::new(BROKEN_ON_PURPOSE))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_none() && self.fate == Fate::Whole
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match (&self.data, self.fate) {
            (Some(data), Fate::Whole) => http_body::SizeHint::with_exact(data.len() as u64),
            (None, Fate::Whole) => http_body::SizeHint::with_exact(0),
            _ => http_body::SizeHint::default(),
        }
    }
}
