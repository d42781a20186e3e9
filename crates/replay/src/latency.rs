//! How long recorded answers take (`--latency`).

use std::{collections::VecDeque, fmt, str::FromStr, sync::Arc, time::Duration};

use contrail_exchange::media;
use contrail_proxy::upstream::{self, AnswerFuture, Upstream, UpstreamKind};
use contrail_recording as recording;
use tokio::time::{Instant, sleep_until};

use super::pieces::{Divide, in_pieces};

/// When a recorded answer comes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Latency {
    /// At once, and it asks for no wait either.
    None,
    /// After the recorded time, multiplied.
    Recorded(f64),
    /// After this time.
    Fixed(Duration),
}

/// A word that is no latency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLatency;

impl fmt::Display for BadLatency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected `recorded`, a multiple of it such as `0.5x`, a time such as `250ms`, or `none`")
    }
}

impl std::error::Error for BadLatency {}

impl FromStr for Latency {
    type Err = BadLatency;

    fn from_str(text: &str) -> Result<Self, BadLatency> {
        /// Longest time, and largest factor.
        const MAX: f64 = 3_600_000.0;
        let number = |text: &str| text.parse().ok().filter(|number| (0.0..=MAX).contains(number)).ok_or(BadLatency);
        match text {
            "none" => Ok(Self::None),
            "recorded" => Ok(Self::Recorded(1.0)),
            _ => match (text.strip_suffix("ms"), text.strip_suffix('x')) {
                (Some(millis), _) => Ok(Self::Fixed(Duration::from_secs_f64(number(millis)? / 1000.0))),
                (None, Some(factor)) => number(factor).map(Self::Recorded),
                (None, None) => Err(BadLatency),
            },
        }
    }
}

/// An upstream whose recorded answers come in time.
#[derive(Debug)]
pub struct Paced {
    inner: Arc<dyn Upstream>,
    latency: Latency,
}

impl Paced {
    /// Answers as `inner` does; what is not recorded is not held up.
    pub fn new(inner: Arc<dyn Upstream>, latency: Latency) -> Self {
        Self { inner, latency }
    }
}

impl Upstream for Paced {
    fn answer(&self, request: upstream::Request) -> AnswerFuture<'_> {
        Box::pin(async move {
            let begun = Instant::now();
            let mut answer = self.inner.answer(request).await?;
            let Some(recorded) = answer.meta.recorded_time else { return Ok(answer) };
            if let (Latency::Recorded(factor), Some(times)) = (self.latency, answer.meta.event_times.take()) {
                let head = recorded.saturating_sub(Duration::from_millis(times.last().copied().unwrap_or_default()));
                let head = begun + scaled(head, factor);
                sleep_until(head).await;
                answer.response = answer.response.map(|body| in_pieces(body, events(head, factor, times)));
                return Ok(answer);
            }
            let time = match self.latency {
                Latency::None => {
                    recording::without_waits(answer.response.headers_mut());
                    return Ok(answer);
                }
                Latency::Recorded(factor) => scaled(recorded, factor),
                Latency::Fixed(time) => time,
            };
            sleep_until(begun + time).await;
            Ok(answer)
        })
    }

    fn reload_certificates(&self) -> Result<Vec<&'static str>, String> {
        self.inner.reload_certificates()
    }

    fn kind(&self) -> UpstreamKind {
        self.inner.kind()
    }
}

/// Times of other tools' files may be any number.
fn scaled(time: Duration, factor: f64) -> Duration {
    Duration::from_secs_f64((time.as_secs_f64() * factor).min(3600.0))
}

/// Divides the body of an event stream, which comes as one piece, at its events. What follows the last one comes with
/// that.
fn events(head: Instant, factor: f64, times: Box<[u64]>) -> impl Divide {
    move |mut data| {
        let ends: Vec<usize> = media::event_ends(&data).zip(&times).map(|(end, _)| end).collect();
        let (mut done, mut pieces) = (0, VecDeque::new());
        for (end, time) in ends.iter().zip(&times) {
            let is_last = end == ends.last().unwrap_or(end);
            let piece = if is_last { std::mem::take(&mut data) } else { data.split_to(end - done) };
            done = *end;
            pieces.push_back((piece, head + scaled(Duration::from_millis(*time), factor)));
        }
        if !data.is_empty() {
            pieces.push_back((data, head));
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_recorded_a_multiple_a_time_or_none() {
        let latency = |text: &str| text.parse::<Latency>();
        assert_eq!(latency("recorded"), Ok(Latency::Recorded(1.0)));
        assert_eq!(latency("0.5x"), Ok(Latency::Recorded(0.5)));
        assert_eq!(latency("250ms"), Ok(Latency::Fixed(Duration::from_millis(250))));
        assert_eq!(latency("none"), Ok(Latency::None));
        for bad in ["", "250", "x", "ms", "-1x", "nanx", "1e9ms"] {
            assert_eq!(latency(bad), Err(BadLatency), "{bad}");
        }
    }
}
