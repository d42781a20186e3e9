//! Bodies on their way out and in, with the upstream's silence measured and the connection given back at the end.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker, ready},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Sleep;

use super::{pool::Lease, reason};
use crate::upstream::{BodyError, MessageBody};

/// How the sending of a request stands, so that only the upstream's silence counts and not the client's.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) done: AtomicBool,
    waits_for_client: AtomicBool,
    started: Instant,
    /// Milliseconds after `started` at which the upstream last took something.
    last: AtomicU64,
    stop: Mutex<Stop>,
}

/// Whether the sending is to stop, and who waits for it.
#[derive(Debug, Default)]
struct Stop {
    asked: bool,
    waker: Option<Waker>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            done: AtomicBool::new(false),
            waits_for_client: AtomicBool::new(false),
            started: Instant::now(),
            last: AtomicU64::new(0),
            stop: Mutex::default(),
        }
    }

    fn moved(&self) {
        let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(millis, Ordering::Release);
    }

    /// No more of the request is sent; the upstream's answer made its connection useless.
    pub(super) fn stop(&self) {
        let waker = {
            let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
            stop.asked = true;
            stop.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether to stop; if not, `cx` is woken for it.
    fn stops(&self, cx: &Context<'_>) -> bool {
        let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        stop.waker = Some(cx.waker().clone());
        stop.asked
    }

    pub(super) async fn stalled(&self, silence: Duration) {
        loop {
            let since = if self.waits_for_client.load(Ordering::Acquire) {
                Instant::now()
            } else {
                self.started + Duration::from_millis(self.last.load(Ordering::Acquire))
            };
            let left = silence.saturating_sub(since.elapsed());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }
}

/// A request body on its way out.
pub(super) struct Sending {
    pub(super) inner: MessageBody,
    pub(super) progress: Arc<Progress>,
}

impl Body for Sending {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.progress.stops(cx) {
            return Poll::Ready(Some(Err(BodyError::new("the upstream's answer ended its connection"))));
        }
        let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) else {
            self.progress.waits_for_client.store(true, Ordering::Release);
            return Poll::Pending;
        };
        self.progress.moved();
        self.progress.waits_for_client.store(false, Ordering::Release);
        if !matches!(frame, Some(Err(_))) && (frame.is_none() || self.inner.is_end_stream()) {
            self.progress.done.store(true, Ordering::Release);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        let ended = self.inner.is_end_stream();
        if ended {
            self.progress.done.store(true, Ordering::Release);
        }
        ended
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// A response body on its way in; gives its connection back at the end.
pub(super) struct Receiving {
    pub(super) inner: Incoming,
    pub(super) lease: Option<Lease>,
    pub(super) timer: Option<Pin<Box<Sleep>>>,
}

impl Receiving {
    fn end(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.give_back();
        }
    }
}

impl Body for Receiving {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) else {
            let Some(lease) = &this.lease else { return Poll::Pending };
            let silence = lease.limits.silence;
            let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(silence)));
            ready!(std::future::Future::poll(timer.as_mut(), cx));
            this.lease = None;
            let reason =
                format!("the upstream fell silent for {} s in the middle of its response", silence.as_secs_f32());
            return Poll::Ready(Some(Err(BodyError(reason))));
        };
        this.timer = None;
        Poll::Ready(match frame {
            None => {
                this.end();
                None
            }
            Some(Ok(frame)) => {
                if this.inner.is_end_stream() {
                    this.end();
                }
                Some(Ok(frame))
            }
            Some(Err(error)) => {
                this.lease = None;
                let reset = reason::is_reset(&error);
                let what = if reset { "ended the stream" } else { "closed the connection" };
                Some(Err(BodyError(format!("the upstream {what} in the middle of its response"))))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
