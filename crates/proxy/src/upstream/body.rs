//! Message bodies between proxy and upstream.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, combinators::UnsyncBoxBody};

/// Why a body ended before it was whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyError(pub String);

impl BodyError {
    /// With the reason in words.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BodyError {}

/// A request body: what the client sends, as it comes.
pub type RequestBody = MessageBody;

/// The message of an answer.
pub type Response = http::Response<ResponseBody>;

/// A response body: what the upstream sends, as it comes.
pub type ResponseBody = MessageBody;

/// Bytes in memory, or a stream of them.
#[derive(Default)]
pub enum MessageBody {
    /// Nothing (any more).
    #[default]
    Empty,
    /// All of it, in memory.
    Full(Bytes),
    /// As it comes.
    Stream(UnsyncBoxBody<Bytes, BodyError>),
}

impl MessageBody {
    /// A stream; an empty one costs no allocation.
    pub fn stream<B>(body: B) -> Self
    where
        B: Body<Data = Bytes, Error = BodyError> + Send + 'static,
    {
        if body.is_end_stream() { Self::Empty } else { Self::Stream(body.boxed_unsync()) }
    }
}

impl From<Bytes> for MessageBody {
    fn from(bytes: Bytes) -> Self {
        if bytes.is_empty() { Self::Empty } else { Self::Full(bytes) }
    }
}

impl From<Vec<u8>> for MessageBody {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<String> for MessageBody {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl fmt::Debug for MessageBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Full(bytes) => write!(f, "Full({} bytes)", bytes.len()),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

impl Body for MessageBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut *self {
            Self::Empty => Poll::Ready(None),
            Self::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = Self::Empty;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Self::Stream(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Full(_) => false,
            Self::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(body) => body.size_hint(),
        }
    }
}
