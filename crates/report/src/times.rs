//! When exchanges were and how long they took, counted in memory that does not grow with them. The counts do not depend on
//! the order in which exchanges are read.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use contrail_exchange::{Exchange, finding::Conclusion, plural::plural};
use jiff::Timestamp;
use serde::Serialize;

/// Maximum different durations that are counted exactly.
const MAX_EXACT: usize = 1000;
/// Bits of a duration that count beyond them: percentiles are low by less than one in a hundred.
const BITS: u32 = 8;
/// Maximum bars of a timeline.
const MAX_BARS: i64 = 240;
/// Widths of bars in milliseconds. Each is a multiple of the one before.
const WIDTHS: [i64; 14] = [
    1,
    10,
    100,
    SECOND,
    10 * SECOND,
    30 * SECOND,
    MINUTE,
    5 * MINUTE,
    30 * MINUTE,
    HOUR,
    6 * HOUR,
    DAY,
    7 * DAY,
    28 * DAY,
];
const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// When an exchange started and how long it took, as far as that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) started: Option<SystemTime>,
    pub(super) took: Duration,
}

impl Times {
    pub(super) fn of(exchange: &Exchange) -> Self {
        Self { started: exchange.started, took: exchange.timings.total() }
    }
}

/// How long exchanges took.
#[derive(Debug, Clone, Default)]
pub(super) struct Durations {
    /// By microseconds.
    counts: BTreeMap<u64, u64>,
    count: u64,
    max: u64,
    is_rounded: bool,
}

/// The durations of an operation, in milliseconds.
#[derive(Debug, Serialize)]
pub(super) struct Took<'a> {
    pub(super) operation: Option<&'a str>,
    pub(super) exchanges: u64,
    pub(super) p50: f64,
    pub(super) p95: f64,
    pub(super) max: f64,
}

impl Durations {
    /// Takes a duration, unless none was measured.
    pub(super) fn take(&mut self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if micros == 0 {
            return;
        }
        self.count += 1;
        self.max = self.max.max(micros);
        *self.counts.entry(if self.is_rounded { rounded(micros) } else { micros }).or_default() += 1;
        if !self.is_rounded && self.counts.len() > MAX_EXACT {
            self.is_rounded = true;
            for (micros, count) in std::mem::take(&mut self.counts) {
                *self.counts.entry(rounded(micros)).or_default() += count;
            }
        }
    }

    /// What they are of this operation; `None` if none was measured.
    pub(super) fn of<'a>(&self, operation: Option<&'a str>) -> Option<Took<'a>> {
        let last = self.count.checked_sub(1)?;
        let at = |percent: u64| {
            let mut rank = last * percent / 100;
            let found = self.counts.iter().find(|(_, count)| {
                let is_here = rank < **count;
                rank = rank.saturating_sub(**count);
                is_here
            });
            found.map(|(micros, _)| millis(*micros))
        };
        Some(Took { operation, exchanges: self.count, p50: at(50)?, p95: at(95)?, max: millis(self.max) })
    }
}

fn rounded(micros: u64) -> u64 {
    let low = (u64::BITS - micros.leading_zeros()).saturating_sub(BITS);
    micros >> low << low
}

#[allow(clippy::cast_precision_loss)] // of durations beyond 285 years
fn millis(micros: u64) -> f64 {
    micros as f64 / 1000.0
}

/// `9.1 ms`, `120 ms`, `12.3 s`.
pub(super) fn in_words(millis: f64) -> String {
    match millis {
        millis if millis < 10.0 => format!("{millis:.1} ms"),
        millis if millis < 10_000.0 => format!("{millis:.0} ms"),
        millis => format!("{:.1} s", millis / 1000.0),
    }
}

/// Exchanges by the time of their start.
#[derive(Debug, Clone)]
pub(super) struct Timeline {
    width: i64,
    bars: BTreeMap<i64, Bar>,
}

/// Exchanges that started in one span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) all: u64,
    pub(super) gap: u64,
    /// They violate the contract, or no recording answered.
    pub(super) wrong: u64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { width: WIDTHS[0], bars: BTreeMap::new() }
    }
}

impl Timeline {
    pub(super) fn take(&mut self, started: Option<SystemTime>, conclusion: Conclusion, is_miss: bool) {
        let Some(started) = started.and_then(|started| Timestamp::try_from(started).ok()) else { return };
        let bar = self.bars.entry(started.as_millisecond().div_euclid(self.width)).or_default();
        bar.all += 1;
        match conclusion {
            _ if is_miss => bar.wrong += 1,
            Conclusion::Violates => bar.wrong += 1,
            Conclusion::Gap => bar.gap += 1,
            Conclusion::Conforms | Conclusion::Unjudged => {}
        }
        while self.span().is_some_and(|(first, last)| last - first >= MAX_BARS) {
            let width = WIDTHS.into_iter().find(|width| *width > self.width).unwrap_or(self.width * 10);
            for (at, bar) in std::mem::take(&mut self.bars) {
                let Bar { all, gap, wrong } = self.bars.entry(at.div_euclid(width / self.width)).or_default();
                (*all, *gap, *wrong) = (*all + bar.all, *gap + bar.gap, *wrong + bar.wrong);
            }
            self.width = width;
        }
    }

    /// The first and the last bar.
    pub(super) fn span(&self) -> Option<(i64, i64)> {
        Some((*self.bars.first_key_value()?.0, *self.bars.last_key_value()?.0))
    }

    pub(super) fn bars(&self) -> impl Iterator<Item = (i64, Bar)> {
        self.bars.iter().map(|(at, bar)| (*at, *bar))
    }

    /// The instant at which a bar begins.
    pub(super) fn instant(&self, at: i64) -> String {
        let instant = Timestamp::from_millisecond(at * self.width);
        let digits = if self.width < SECOND { 3 } else { 0 };
        instant.map(|instant| format!("{instant:.digits$}")).unwrap_or_default()
    }

    /// `10 seconds`: the width of a bar.
    pub(super) fn width(&self) -> String {
        let units = [(DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (SECOND, "second"), (1, "millisecond")];
        let (unit, name) = units.into_iter().find(|(unit, _)| self.width % unit == 0).unwrap_or((1, "millisecond"));
        plural((self.width / unit).unsigned_abs(), name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact_until_there_are_many_and_then_low_by_less_than_one_in_a_hundred() {
        let of = |micros: &mut dyn Iterator<Item = u64>| {
            let mut durations = Durations::default();
            micros.for_each(|micros| durations.take(Duration::from_micros(micros)));
            assert!(durations.counts.len() <= 3000);
            durations.of(None).map(|took| (took.exchanges, took.p50, took.p95, took.max))
        };
        assert_eq!(of(&mut std::iter::once(0)), None);
        assert_eq!(of(&mut (1..=100).rev().map(|at| at * 1001)), Some((100, 50.05, 95.095, 100.1)));
        let many = of(&mut (1..=1_000_000)).unwrap();
        assert_eq!((many.0, many.3), (1_000_000, 1000.0));
        assert!((495.0..=500.0).contains(&many.1) && (940.5..=950.0).contains(&many.2), "{many:?}");
        assert_eq!(of(&mut (1..=1_000_000).rev()), Some(many));
    }

    #[test]
    fn a_timeline_holds_few_bars_in_any_order_and_loses_no_exchange() {
        for (step, width) in [(1, "10 seconds"), (60, "5 minutes"), (86_400, "7 days"), (40_000_000, "2800 days")] {
            let started = |at: u64| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(at * step));
            let of = |order: &mut dyn Iterator<Item = u64>| {
                let mut timeline = Timeline::default();
                order.for_each(|at| timeline.take(started(at), Conclusion::Violates, at % 2 == 0));
                assert_eq!(timeline.bars().map(|(_, bar)| bar.wrong).sum::<u64>(), 1000);
                (timeline.width(), timeline.bars().collect::<Vec<_>>())
            };
            let (found, bars) = of(&mut (0..1000));
            assert_eq!(found, width);
            assert_eq!(of(&mut (0..1000).rev()), (found, bars));
        }
    }
}
