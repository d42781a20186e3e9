//! A timer that is set for every request and nearly never goes off.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep};

/// Set later than it was, it is only noted when it is to go off: the one below goes off at its old time, and goes on.
#[derive(Debug)]
pub struct Timer {
    end: Instant,
    /// Set since it was last polled, to so long after the next time that it is.
    unpolled: Option<Duration>,
    sleep: Pin<Box<Sleep>>,
}

impl Timer {
    /// One that goes off after this time.
    pub fn new(time: Duration) -> Self {
        let sleep = Box::pin(tokio::time::sleep(time));
        Self { end: sleep.deadline(), unpolled: None, sleep }
    }

    /// Lets it go off this long after it is next polled: what is set again before that needs no look at the clock.
    pub fn set(&mut self, time: Duration) {
        self.unpolled = Some(time);
    }

    /// Lets it go off then.
    pub fn set_to(&mut self, end: Instant) {
        self.unpolled = None;
        self.end = end;
        if self.end < self.sleep.deadline() {
            self.sleep.as_mut().reset(self.end);
        }
    }

    /// Whether it went off; wakes the task when it does.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(time) = self.unpolled.take() {
            self.set_to(Instant::now() + time);
        }
        loop {
            ready!(self.sleep.as_mut().poll(cx));
            if self.end <= self.sleep.deadline() {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(self.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_goes_off_when_it_was_last_set_to_later_or_sooner() {
        let begun = Instant::now();
        let mut timer = Timer::new(Duration::from_secs(10));
        timer.set(Duration::from_secs(30));
        timer.set(Duration::from_secs(20));
        poll_fn(|cx| timer.poll(cx)).await;
        assert_eq!(begun.elapsed().as_secs(), 20);
        timer.set(Duration::from_secs(60));
        assert!(poll_fn(|cx| Poll::Ready(timer.poll(cx))).await.is_pending());
        timer.set(Duration::from_secs(5));
        poll_fn(|cx| timer.poll(cx)).await;
        assert_eq!(begun.elapsed().as_secs(), 25);
    }
}
