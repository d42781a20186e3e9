//! The clock of the machine that writes a trail, as its entries show it: they are in the order in which exchanges
//! ended, so an end long before the one of the entry before it means that the clock was set back.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::unrecorded::instant;
use crate::entry::decode::NO_INSTANT;

/// Exchanges that end at about the same time may be written in any order.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(10);

/// What the entries of a trail show of the clock, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clock {
    /// When the last exchange ended.
    last: Option<Timestamp>,
    /// Whether it went back.
    pub back: Option<ClockSteps>,
}

/// How often a clock went back, and its largest step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClockSteps {
    /// How often.
    pub times: u64,
    /// The end of the exchange before the largest step.
    #[serde(with = "instant")]
    pub from: Timestamp,
    /// The end of the exchange behind it.
    #[serde(with = "instant")]
    pub to: Timestamp,
}

impl ClockSteps {
    fn size(&self) -> SignedDuration {
        self.from.duration_since(self.to)
    }
}

impl Clock {
    /// Adds an entry, whose exchange ended then.
    pub(super) fn take(&mut self, end: Timestamp) {
        let end = Timestamp::from_millisecond(end.as_millisecond()).unwrap_or_default();
        let step = self.last.replace(end).map(|from| ClockSteps { times: 1, from, to: end });
        let Some(step) = step.filter(|step| step.size() > TOLERANCE) else { return };
        match &mut self.back {
            Some(back) => {
                let times = back.times + 1;
                if step.size() > back.size() {
                    *back = step;
                }
                back.times = times;
            }
            None => self.back = Some(step),
        }
    }
}

/// When the exchange of an entry ended, from the first two members of its line: start and duration.
pub(super) fn end_of(line: &[u8]) -> Option<Timestamp> {
    let line = line.strip_prefix(b"{\"startedDateTime\":\"")?;
    let (started, rest) = line.split_at(line.iter().position(|byte| *byte == b'"')?);
    let started = std::str::from_utf8(started).ok().filter(|started| *started != NO_INSTANT)?;
    let started: Timestamp = started.parse().ok()?;
    let time = rest.strip_prefix(b"\",\"time\":")?;
    let time = &time[..time.iter().position(|byte| *byte == b',')?];
    let millis: f64 = std::str::from_utf8(time).ok()?.parse().ok()?;
    // A negative one stands for an unknown duration.
    started.checked_add(SignedDuration::try_from_secs_f64(millis.max(0.0) / 1000.0).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_goes_back_is_counted() {
        let ends = [
            "2026-03-10T00:00:00Z",
            "2026-03-01T00:00:00Z",
            "2026-03-01T00:05:00Z",
            "2026-03-01T00:00:00Z",
            "2200-01-01T00:00:00Z",
            "1969-01-01T00:00:00Z",
            "2026-03-11T00:00:00Z",
        ];
        let clock = |ends: &[&str]| {
            let mut clock = Clock::default();
            for end in ends {
                clock.take(end.parse().unwrap());
            }
            clock
        };
        let all = clock(&ends);
        let back = all.back.clone().unwrap();
        assert_eq!(
            (back.times, back.from.to_string(), back.to.to_string()),
            (2, ends[4].to_owned(), ends[5].to_owned())
        );
        assert_eq!(clock(&ends[1..4]).back, None);
    }

    #[test]
    fn the_end_of_an_exchange_is_its_start_and_its_duration() {
        let end = |line: &str| end_of(line.as_bytes()).map(|end| end.to_string());
        let line = r#"{"startedDateTime":"2026-03-01T00:00:00.500Z","time":1500.25,"request":{}}"#;
        assert_eq!(end(line).as_deref(), Some("2026-03-01T00:00:02.00025Z"));
        let unknown = format!("{{\"startedDateTime\":\"{NO_INSTANT}\",\"time\":0,");
        for line in
            ["{1}", &unknown, r#"{"startedDateTime":"","time":0,"#, r#"{"startedDateTime":"2026-03-01T00:00:00Z""#]
        {
            assert_eq!(end(line), None, "{line}");
        }
    }
}
