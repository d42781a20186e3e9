//! Response bodies on their way to the client: they stream through, and their end is held until the observer has
//! written the exchange down.

use std::{
    future::{Future as _, poll_fn},
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{HeaderMap, header};
use http_body::{Body as _, Frame, SizeHint};

use super::{hop, in_progress::InProgress, links::Links};
use crate::upstream::{BodyError, MessageBody, Problem};
use crate::{Committed, wire::stall};

/// A response body on its way to the client: everything but the end goes straight through.
pub(crate) struct Gate {
    inner: MessageBody,
    remaining: Option<u64>,
    /// Kept until the end may go out: until then the exchange is in progress on its connection.
    in_progress: Option<Box<InProgress>>,
    stage: Stage,
    /// A frame that is here and did not go out yet: the last one, or one that was taken before the head went out.
    next: Option<Result<Frame<Bytes>, BodyError>>,
    /// The exchange could not be recorded.
    refused: Option<Box<Problem>>,
    /// In HTTP/2, what is left of the upstream's last piece: it is handed over in small ones, so that a client that
    /// takes nothing is noticed until the end.
    rest: Option<Bytes>,
    /// Rewrites the links in it on their way out.
    links: Option<Box<Links>>,
}

/// A message's `Content-Length`.
pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Maximum bytes handed to HTTP/2 at a time.
const HTTP2_PIECE: usize = 16 << 10;

enum Stage {
    Streaming,
    /// The end is here and waits until the exchange is written.
    Holding(Committed),
    /// It broke off: what came before is flushed first, then the connection is cut.
    Cutting {
        error: BodyError,
        flushed: bool,
    },
    Done,
}

impl Gate {
    /// `length` is the message's Content-Length, if it has one.
    pub(crate) fn new(inner: MessageBody, length: Option<u64>, in_progress: Box<InProgress>) -> Self {
        let stage = Stage::Streaming;
        Self { remaining: length, in_progress: Some(in_progress), stage, ..Self::open(inner) }
    }

    /// The same, its links rewritten.
    pub(super) fn rewriting(self, links: Option<Box<Links>>) -> Self {
        Self { links, ..self }
    }

    /// The body of a message that has none; `incomplete` says what is wrong with that.
    pub(crate) fn ended(mut in_progress: Box<InProgress>, incomplete: Option<String>) -> Self {
        let stage = Stage::Holding(in_progress.end(incomplete));
        Self { in_progress: Some(in_progress), stage, ..Self::open(MessageBody::Empty) }
    }

    /// Polls the first piece of the body before the head goes out. If that is all of it, waits until the exchange
    /// is recorded, so that head and end go out in one write. Waits for the upstream only if the `patient` ask for the
    /// first piece of a body of known length.
    ///
    /// # Errors
    ///
    /// The exchange cannot be recorded: what the client gets instead.
    pub(crate) async fn begin(&mut self, patient: bool) -> Result<(), Problem> {
        poll_fn(|cx| {
            let polled = self.poll_piece(cx);
            if let Some(problem) = self.refused.take() {
                return Poll::Ready(Err(*problem));
            }
            match polled {
                Poll::Ready(frame) => self.next = frame,
                Poll::Pending => match &mut self.stage {
                    // What came before is the head.
                    Stage::Cutting { flushed, .. } => *flushed = false,
                    Stage::Holding(_) => return Poll::Pending,
                    _ if patient && self.remaining.is_some() => return Poll::Pending,
                    _ => {}
                },
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// A body that is already recorded, or of no exchange at all.
    pub(crate) fn open(inner: MessageBody) -> Self {
        let stage = if inner.is_end_stream() { Stage::Done } else { Stage::Streaming };
        let rest = stall::in_stream().then(Bytes::new);
        Self { inner, remaining: None, in_progress: None, stage, next: None, refused: None, rest, links: None }
    }

    /// A body that fails before its message's head goes out.
    pub(super) fn cut() -> Self {
        let error = BodyError::new("contrail cut the connection on purpose");
        Self { stage: Stage::Cutting { error, flushed: true }, ..Self::open(MessageBody::Empty) }
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
        loop {
            match &mut self.stage {
                Stage::Holding(written) => {
                    if let Err(problem) = ready!(Pin::new(written).poll(cx)) {
                        self.next = Some(Err(BodyError(problem.detail.clone())));
                        self.refused = Some(Box::new(problem));
                    }
                    self.in_progress = None;
                    self.stage = match self.next.take() {
                        Some(Err(error)) => Stage::Cutting { error, flushed: false },
                        next => {
                            self.next = next;
                            Stage::Done
                        }
                    };
                    continue;
                }
                _ if self.next.is_some() => return Poll::Ready(self.next.take()),
                Stage::Done => return Poll::Ready(None),
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
                        if let Some(in_progress) = self.in_progress.as_mut().filter(|_| !trailers.is_empty()) {
                            in_progress.has_trailers();
                        }
                    }
                    let Some(data) = frame.data_ref() else {
                        self.hold(None, Some(Ok(frame)));
                        continue;
                    };
                    if let Some(in_progress) = &mut self.in_progress {
                        in_progress.push(data);
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

    /// A piece with its links rewritten; before the end, what was held back for that.
    fn rewritten(&mut self, piece: Option<Result<Frame<Bytes>, BodyError>>) -> Option<Result<Frame<Bytes>, BodyError>> {
        let Some(links) = &mut self.links else { return piece };
        match piece {
            Some(Ok(frame)) if frame.is_data() => Some(Ok(frame.map_data(|data| links.piece(&data)))),
            Some(Err(error)) => Some(Err(error)),
            end if links.holds_back() => {
                self.next = end;
                Some(Ok(Frame::data(links.rest())))
            }
            end => end,
        }
    }

    fn hold(&mut self, incomplete: Option<String>, last: Option<Result<Frame<Bytes>, BodyError>>) {
        let written = match &mut self.in_progress {
            Some(in_progress) => in_progress.end(incomplete),
            None => Committed::now(),
        };
        self.stage = Stage::Holding(written);
        self.next = last;
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
        Poll::Ready(if self.links.is_some() { self.rewritten(piece) } else { piece })
    }

    fn is_end_stream(&self) -> bool {
        let holds_back = self.links.as_ref().is_some_and(|links| links.holds_back());
        self.next.is_none() && !holds_back && matches!(self.stage, Stage::Done)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.stage {
            _ if self.links.is_some() || self.next.is_some() => SizeHint::default(),
            Stage::Streaming => match self.remaining {
                Some(remaining) => SizeHint::with_exact(remaining),
                None => self.inner.size_hint(),
            },
            _ => SizeHint::default(),
        }
    }
}
