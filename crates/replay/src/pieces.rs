//! Bodies that come in pieces, each at its time.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use contrail_proxy::upstream::{BodyError, MessageBody};
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

/// Divides what comes of a body into pieces, each with the time at which it goes on.
pub(super) trait Divide: FnMut(Bytes) -> VecDeque<(Bytes, Instant)> + Send + Unpin + 'static {}

impl<D: FnMut(Bytes) -> VecDeque<(Bytes, Instant)> + Send + Unpin + 'static> Divide for D {}

struct Pieces<D> {
    inner: MessageBody,
    divide: D,
    /// The first one's time runs.
    rest: VecDeque<(Bytes, Instant)>,
    pause: Pin<Box<Sleep>>,
}

/// The body in pieces.
pub(super) fn in_pieces(inner: MessageBody, divide: impl Divide) -> MessageBody {
    let pause = Box::pin(sleep_until(Instant::now()));
    MessageBody::stream(Pieces { inner, divide, rest: VecDeque::new(), pause })
}

impl<D: Divide> Body for Pieces<D> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.inner).poll_frame(cx)).map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.rest = (self.divide)(data),
                Some(Ok(Err(frame))) => return Poll::Ready(Some(Ok(frame))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let Some((_, at)) = self.rest.front() else { return Poll::Ready(None) };
        let at = *at;
        if self.pause.deadline() != at {
            self.pause.as_mut().reset(at);
        }
        ready!(self.pause.as_mut().poll(cx));
        Poll::Ready(self.rest.pop_front().map(|(data, _)| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
