//! Request bodies on their way out, with the upstream's silence measured.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use crate::{
    io::clock::Clock,
    upstream::{BodyError, MessageBody},
};

/// How the sending of a request stands, so that only the upstream's silence counts and not the client's.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) done: AtomicBool,
    /// When the upstream last took something; paused while the client has nothing for it.
    pub(super) clock: Clock,
    /// Its body waits for leave at first. If not, its state is not checked.
    waits: bool,
    orders: Mutex<Orders>,
}

/// Orders for the sending of a body, and its waker.
#[derive(Debug, Default)]
struct Orders {
    stop: bool,
    leave: Leave,
    waker: Option<Waker>,
}

/// Whether a body whose client waits for 100 Continue may go out (RFC 9110, section 10.1.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Leave {
    /// It need not be given, or was.
    #[default]
    Given,
    /// The upstream has sent nothing yet, and has this long.
    Awaited(Duration),
    /// The upstream answered without the body.
    Denied,
}

impl Progress {
    /// The sending begins then; with `patience`, its body waits for [`Self::give_leave`] that long.
    pub(super) fn new(started: Instant, patience: Option<Duration>) -> Self {
        let orders = Orders { leave: patience.map_or(Leave::Given, Leave::Awaited), ..Orders::default() };
        Self {
            done: AtomicBool::new(false),
            clock: Clock::new(started),
            waits: patience.is_some(),
            orders: Mutex::new(orders),
        }
    }

    fn order(&self, change: impl FnOnce(&mut Orders)) {
        let waker = {
            let mut orders = self.orders();
            change(&mut orders);
            orders.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No more of the request is sent; the upstream's answer made its connection useless.
    pub(super) fn stop(&self) {
        self.order(|orders| orders.stop = true);
    }

    /// Whether its body waits for leave at first.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// The upstream wants the body.
    pub(super) fn give_leave(&self) {
        self.order(|orders| orders.leave = Leave::Given);
    }

    /// The answer is here: a body that still waits is not wanted.
    pub(super) fn answered(&self) {
        if !self.waits {
            return;
        }
        let mut orders = self.orders();
        if matches!(orders.leave, Leave::Awaited(_)) {
            orders.leave = Leave::Denied;
        }
    }

    /// The exchange is over: a body that was not wanted is given up.
    pub(super) fn over(&self) {
        if self.waits && self.orders().leave == Leave::Denied {
            self.stop();
        }
    }
}

/// A request body on its way out.
pub(super) struct Sending {
    pub(super) inner: MessageBody,
    pub(super) progress: Arc<Progress>,
    /// Runs while it waits for leave.
    patience: Option<Pin<Box<Sleep>>>,
}

impl Sending {
    pub(super) fn new(inner: MessageBody, progress: Arc<Progress>) -> Self {
        Self { inner, progress, patience: None }
    }

    /// Whether to stop or to wait; woken when that changes.
    fn ordered(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        let (stop, leave) = {
            let mut orders = self.progress.orders();
            orders.waker = Some(cx.waker().clone());
            (orders.stop, orders.leave)
        };
        match leave {
            _ if stop => return Poll::Ready(Err(BodyError::new("the upstream's answer ended its connection"))),
            Leave::Given => return Poll::Ready(Ok(())),
            Leave::Denied => return Poll::Pending,
            Leave::Awaited(patience) => {
                let patience = self.patience.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
                ready!(patience.as_mut().poll(cx));
            }
        }
        self.progress.orders().leave = Leave::Given;
        Poll::Ready(Ok(()))
    }
}

impl Body for Sending {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Err(error) = ready!(self.ordered(cx)) {
            return Poll::Ready(Some(Err(error)));
        }
        let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) else {
            self.progress.clock.pause();
            return Poll::Pending;
        };
        self.progress.clock.moved();
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
