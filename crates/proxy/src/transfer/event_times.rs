//! When the events of a stream come (`record --keep-timings`).

use std::time::Instant;

use contrail_exchange::{Body, media};
use http::{HeaderMap, header};

/// Maximum pieces whose time is noted; a stream of more has no times.
const MAX_PIECES: usize = 16_384;

/// When the pieces of an event stream came.
pub(super) struct EventTimes {
    head_at: Instant,
    /// How many bytes there were after each piece, and how many milliseconds since the head.
    pieces: Vec<(u64, u64)>,
}

impl EventTimes {
    /// Of an answer whose head came then; `None` if it is no event stream, or a compressed one.
    pub(super) fn of(head_at: Instant, headers: &HeaderMap) -> Option<Self> {
        let essence = media::essence(headers.get(header::CONTENT_TYPE)?.as_bytes());
        let is_plain = essence == media::EVENT_STREAM && !headers.contains_key(header::CONTENT_ENCODING);
        is_plain.then(|| Self { head_at, pieces: Vec::new() })
    }

    /// Another piece has come; there are so many bytes with it.
    pub(super) fn note(&mut self, total: u64) {
        if self.pieces.len() <= MAX_PIECES {
            let after = self.head_at.elapsed().as_millis();
            self.pieces.push((total, u64::try_from(after).unwrap_or(u64::MAX)));
        }
    }

    /// When each whole event of the body was there.
    pub(super) fn of_events(self, body: &Body) -> Option<Box<[u64]>> {
        let mut pieces = self.pieces.iter().peekable();
        let time = |end: usize| {
            while pieces.next_if(|(total, _)| *total < end as u64).is_some() {}
            pieces.peek().map(|(_, after)| *after)
        };
        let is_noted = body.is_whole() && self.pieces.len() <= MAX_PIECES;
        let times: Vec<u64> = is_noted.then(|| media::event_ends(&body.content).map_while(time).collect())?;
        (!times.is_empty()).then(|| times.into())
    }
}
