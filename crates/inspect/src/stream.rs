//! Notices to a page: how many exchanges there are, and that the run has ended. `text/event-stream` (WHATWG HTML,
//! section 9.2), read with `fetch`, so that it carries the token.
//!
//! A notice that could not be written yet is replaced by the newer one: each page costs one message and its socket's
//! buffer. A connection ends after a minute, as every one of the listener does; the page opens the next.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame};
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep, sleep_until};

use super::{inspector::Inspector, summary::VERDICTS};

/// At most four notices per second.
const PAUSE: Duration = Duration::from_millis(250);
/// Where nothing happens, a page still learns that contrail is there.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// A stream ends before its connection does.
const LIFE: Duration = Duration::from_secs(55);
/// Maximum streams; the oldest moves to the newest page.
const MAX_STREAMS: usize = 4;

/// The streams that are open, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    open: Mutex<Vec<(u64, Arc<AtomicU64>)>>,
    next: AtomicU64,
}

/// The state of a stream that moved to another page.
const MOVED: u64 = 1;

/// The body of one stream.
pub(crate) struct Notices {
    inspector: Arc<Inspector>,
    streams: Arc<Streams>,
    id: u64,
    state: Arc<AtomicU64>,
    /// When the next notice may go out.
    timer: Pin<Box<Sleep>>,
    ends: Instant,
    /// The last notice, and when it went out.
    last: Option<(Value, Instant)>,
    reported_end: bool,
    is_over: bool,
}

impl Notices {
    pub(crate) fn open(inspector: Arc<Inspector>, streams: Arc<Streams>) -> Self {
        let id = streams.next.fetch_add(1, Ordering::Relaxed);
        let state = Arc::new(AtomicU64::new(0));
        let mut open = streams.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.push((id, Arc::clone(&state)));
        if open.len() > MAX_STREAMS {
            let (_, oldest) = open.remove(0);
            oldest.store(MOVED, Ordering::Relaxed);
        }
        drop(open);
        let now = Instant::now();
        Self {
            inspector,
            streams,
            id,
            state,
            timer: Box::pin(sleep_until(now)),
            ends: now + LIFE,
            last: None,
            reported_end: false,
            is_over: false,
        }
    }

    /// The next event, if there is one now.
    fn next(&mut self, now: Instant) -> Option<String> {
        if self.state.load(Ordering::Relaxed) == MOVED {
            self.is_over = true;
            return Some(event("moved", &json!({})));
        }
        let head = head(&self.inspector);
        let due = self.last.as_ref().is_none_or(|(last, at)| *last != head || now >= *at + HEARTBEAT);
        if due {
            let text = event("head", &head);
            self.last = Some((head, now));
            return Some(text);
        }
        if !self.reported_end
            && let Some(end) = &self.inspector.store().end
        {
            self.reported_end = true;
            return Some(event("end", &super::views::end(end)));
        }
        None
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        self.streams.open.lock().unwrap_or_else(PoisonError::into_inner).retain(|(id, _)| *id != self.id);
    }
}

impl Streams {
    /// How many pages listen.
    pub(crate) fn count(&self) -> usize {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// What a page has to know at every time.
fn head(inspector: &Inspector) -> Value {
    inspector.catch_up();
    let store = inspector.store();
    json!({
        "run": inspector.run,
        "n": store.first() + store.listed(),
        "first": store.first(),
        "counts": counts(&store.verdicts()),
        "reading": store.reading.map(|reading| json!({"read": reading.read, "of": reading.of})),
        "dropped": inspector.dropped(),
        "in_progress": inspector.in_progress(),
    })
}

/// Exchanges by verdict.
pub(crate) fn counts(counts: &[u64]) -> Value {
    VERDICTS.iter().zip(counts).map(|(name, count)| ((*name).to_owned(), Value::from(*count))).collect()
}

fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

impl Body for Notices {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        loop {
            if self.is_over {
                return Poll::Ready(None);
            }
            if self.timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            let now = Instant::now();
            if now >= self.ends {
                return Poll::Ready(None);
            }
            self.timer.as_mut().reset(now + PAUSE);
            if let Some(text) = self.next(now) {
                return Poll::Ready(Some(Ok(Frame::data(Bytes::from(text)))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_of_json() {
        assert_eq!(
            event("head", &json!({"n": 1, "text": "a\nb"})),
            "event: head\ndata: {\"n\":1,\"text\":\"a\\nb\"}\n\n"
        );
    }

    #[test]
    fn counts_are_named_by_verdict() {
        assert_eq!(counts(&[1, 2, 3, 4, 5]), json!({"conforms": 1, "gap": 2, "violates": 3, "miss": 4, "unjudged": 5}));
    }
}
