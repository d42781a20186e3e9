//! Exchanges over the time of the run: how many there were, and what became of those that a filter selects.

use serde_json::{Value, json};

use super::{
    filter::FilterError,
    inspector::Inspector,
    lists::{Lists, Wanted},
    summary::{VERDICTS, rfc3339},
};

/// Maximum buckets.
const MAX_BUCKETS: usize = 240;

/// Buckets of one length, from the first exchange to the last.
#[derive(Debug, PartialEq)]
struct Timeline {
    start: i64,
    end: i64,
    /// Exchanges of each bucket.
    all: Vec<u32>,
    /// The selected ones, by verdict.
    matches: Vec<[u32; VERDICTS.len()]>,
}

impl Timeline {
    /// Counts exchanges: microseconds since the epoch, verdict.
    fn of(
        (start, end): (i64, i64),
        all: impl Iterator<Item = i64>,
        matches: impl Iterator<Item = (i64, u8)>,
        buckets: usize,
    ) -> Self {
        let buckets = buckets.clamp(1, MAX_BUCKETS);
        let span = i128::from(end) - i128::from(start) + 1;
        let index = |at: i64| {
            let index = (i128::from(at) - i128::from(start)) * buckets as i128 / span;
            usize::try_from(index).unwrap_or(0).min(buckets - 1)
        };
        let mut timeline = Self { start, end, all: vec![0; buckets], matches: vec![Default::default(); buckets] };
        all.for_each(|at| timeline.all[index(at)] += 1);
        matches.for_each(|(at, verdict)| timeline.matches[index(at)][usize::from(verdict)] += 1);
        timeline
    }
}

/// The timeline of a list. Without a `start` no exchange has a time.
pub(crate) fn value(
    inspector: &Inspector,
    lists: &Lists,
    wanted: &Wanted,
    buckets: usize,
) -> Result<Value, FilterError> {
    lists.with(inspector, wanted, |list, _| {
        let store = &*inspector.store();
        let selected = list.matches.iter().filter_map(|n| {
            let summary = store.summary(*n)?;
            summary.started.map(|at| (at, summary.verdict))
        });
        let started = store.summaries().filter_map(|summary| summary.started);
        let timeline = store.span().map(|span| Timeline::of(span, started, selected, buckets));
        let timed = timeline.as_ref().map_or(0, |timeline| timeline.all.iter().map(|count| u64::from(*count)).sum());
        let (since, until) = list.filter.time();
        json!({
            "start": timeline.as_ref().and_then(|timeline| rfc3339(timeline.start)),
            "end": timeline.as_ref().and_then(|timeline| rfc3339(timeline.end)),
            "since": since.and_then(rfc3339),
            "until": until.and_then(rfc3339),
            "untimed": u64::from(store.listed()) - timed,
            "all": timeline.as_ref().map_or(&[][..], |timeline| &timeline.all),
            "matches": timeline.as_ref().map_or(&[][..], |timeline| &timeline.matches),
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_exchange_is_in_the_one_bucket_that_holds_its_time(
            exchanges in prop::collection::vec((-5000_i64..5000, 0_u8..5, any::<bool>()), 0..60),
            buckets in 0_usize..300,
        ) {
            let all = exchanges.iter().map(|(at, ..)| *at);
            let selected = exchanges.iter().filter(|(.., is)| *is).map(|(at, verdict, _)| (*at, *verdict));
            let Some(span) = all.clone().min().zip(all.clone().max()) else {
                prop_assert!(exchanges.is_empty());
                return Ok(());
            };
            let timeline = Timeline::of(span, all.clone(), selected.clone(), buckets);
            let count = timeline.all.len();
            prop_assert_eq!(count, buckets.clamp(1, MAX_BUCKETS));
            // The naive way: a bucket holds what lies between its ends.
            let span = i128::from(timeline.end - timeline.start + 1);
            let holds = |bucket: usize, at: i64| {
                let after = i128::from(at - timeline.start) * count as i128;
                after >= bucket as i128 * span && after < (bucket as i128 + 1) * span
            };
            for bucket in 0..count {
                let there = all.clone().filter(|at| holds(bucket, *at)).count();
                prop_assert_eq!(timeline.all[bucket] as usize, there);
                for verdict in 0..5 {
                    let is = |(at, found): &(i64, u8)| *found == verdict && holds(bucket, *at);
                    let there = selected.clone().filter(is).count();
                    prop_assert_eq!(timeline.matches[bucket][usize::from(verdict)] as usize, there);
                }
            }
            prop_assert_eq!(timeline.all.iter().sum::<u32>() as usize, exchanges.len());
        }
    }

    #[test]
    fn the_longest_time_there_is_has_buckets() {
        let span = (i64::MIN, i64::MAX);
        let timeline = Timeline::of(span, [i64::MIN, i64::MAX].into_iter(), std::iter::empty(), 240);
        assert_eq!((timeline.all[0], timeline.all[239]), (1, 1));
    }
}
