//! Waiting for something that hardly ever happens, beside something that goes on all the time.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

/// A future that is asked again only once it was woken, however often its task runs for other things.
pub(in crate::proxy) struct Rarely<F> {
    future: Pin<Box<F>>,
    bell: Option<Arc<Bell>>,
}

/// What the future wakes.
struct Bell {
    task: Waker,
    rung: AtomicBool,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

impl<F: Future> Rarely<F> {
    pub(in crate::proxy) fn new(future: F) -> Self {
        Self { future: Box::pin(future), bell: None }
    }
}

impl<F: Future> Future for Rarely<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        let bell = match &this.bell {
            Some(bell) if bell.task.will_wake(cx.waker()) => {
                if !bell.rung.swap(false, Ordering::AcqRel) {
                    return Poll::Pending;
                }
                bell
            }
            _ => this.bell.insert(Arc::new(Bell { task: cx.waker().clone(), rung: AtomicBool::new(false) })),
        };
        this.future.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(bell))))
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, future::poll_fn, time::Duration};

    use tokio::{sync::Notify, time::timeout};

    use super::*;

    #[tokio::test]
    async fn it_is_asked_when_it_was_woken_and_not_otherwise() {
        let (happens, asked) = (Notify::new(), Cell::new(0));
        let mut waiting = Box::pin(happens.notified());
        let mut rarely = Rarely::new(poll_fn(|cx| {
            asked.set(asked.get() + 1);
            waiting.as_mut().poll(cx)
        }));
        for _ in 0..3 {
            assert!(poll_fn(|cx| Poll::Ready(Pin::new(&mut rarely).poll(cx))).await.is_pending());
        }
        assert_eq!(asked.get(), 1);
        happens.notify_one();
        timeout(Duration::from_secs(60), rarely).await.unwrap();
        assert_eq!(asked.get(), 2);
    }
}
