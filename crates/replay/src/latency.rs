//! How long recorded answers take (`--latency`).

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use contrail_proxy::upstream::{self, AnswerFuture, Upstream, UpstreamKind};
use contrail_recording as recording;
use tokio::time::{Instant, sleep_until};

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
            let time = match self.latency {
                Latency::None => {
                    recording::without_waits(answer.response.headers_mut());
                    return Ok(answer);
                }
                // Times of other tools' files may be any number.
                Latency::Recorded(factor) => (recorded.as_secs_f64() * factor).min(3600.0),
                Latency::Fixed(time) => time.as_secs_f64(),
            };
            sleep_until(begun + Duration::from_secs_f64(time)).await;
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
