//! Silence, measured: when something last moved.

use std::{
    future::poll_fn,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::time::Instant;

use super::timer::Timer;

/// When something last moved.
#[derive(Debug)]
pub struct Clock {
    started: Instant,
    /// Milliseconds after `started`, or [`PAUSED`].
    last: AtomicU64,
}

/// The measured side has nothing to move.
const PAUSED: u64 = u64::MAX;

impl Clock {
    /// Something moved then.
    pub fn new(started: Instant) -> Self {
        Self { started, last: AtomicU64::new(0) }
    }

    /// Something moved.
    pub fn moved(&self) {
        let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(PAUSED);
        self.last.store(millis, Ordering::Release);
    }

    /// Until something moves, silence is no fault of a peer.
    pub fn pause(&self) {
        self.last.store(PAUSED, Ordering::Release);
    }

    /// Resolves once nothing moved for this long, by this timer.
    pub async fn silent(&self, silence: Duration, timer: &mut Timer) {
        let mut end = self.started + silence;
        loop {
            timer.set_to(end);
            poll_fn(|cx| timer.poll(cx)).await;
            let moved = match self.last.load(Ordering::Acquire) {
                PAUSED => Instant::now(),
                millis => self.started + Duration::from_millis(millis),
            };
            if moved + silence <= end {
                return;
            }
            end = moved + silence;
        }
    }
}
