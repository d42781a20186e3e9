//! The places of a document that are worth a closer look, so that a reader passes by the rest.

use std::ops::Range;

/// Places that a quick look found; beginnings and ends ascend. `None` is everywhere.
#[derive(Debug, Clone, Copy)]
pub struct Suspects<'a>(Option<&'a [Range<usize>]>);

impl<'a> Suspects<'a> {
    /// Every place.
    pub const EVERYWHERE: Self = Self(None);

    /// Of places in any order.
    pub fn of(places: &'a mut [Range<usize>]) -> Self {
        places.sort_unstable_by_key(|place| place.start);
        let mut last = 0;
        // A longer one may begin before another one and end after it.
        for place in places.iter_mut() {
            place.end = place.end.max(last);
            last = place.end;
        }
        Self(Some(places))
    }

    /// Whether there is no place.
    pub fn is_empty(self) -> bool {
        self.0.is_some_and(<[_]>::is_empty)
    }

    /// Those that reach into a range.
    #[must_use]
    pub fn within(self, range: &Range<usize>) -> Self {
        Self(self.0.map(|places| {
            let places = &places[places.partition_point(|place| place.end <= range.start)..];
            &places[..places.partition_point(|place| place.start < range.end)]
        }))
    }

    /// The same without those that end before a place.
    #[inline]
    #[must_use]
    pub fn after(self, start: usize) -> Self {
        let Some(mut places) = self.0 else { return self };
        while let [first, rest @ ..] = places
            && first.end <= start
        {
            places = rest;
        }
        Self(Some(places))
    }

    /// Whether the first of them begins before a place.
    #[inline]
    pub fn begin_before(self, end: usize) -> bool {
        self.0.is_none_or(|places| places.first().is_some_and(|place| place.start < end))
    }

    /// Whether one of them reaches into a range.
    #[inline]
    pub fn touch(self, range: &Range<usize>) -> bool {
        let Some(places) = self.0 else { return true };
        let first = places.partition_point(|place| place.end <= range.start);
        places.get(first).is_some_and(|place| place.start < range.end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_range_is_touched_if_a_place_reaches_into_it(
            places in proptest::collection::vec((0..60_usize, 1..9_usize), 0..12),
            start in 0..60_usize,
            length in 0..9_usize,
        ) {
            let mut places: Vec<_> = places.into_iter().map(|(start, length)| start..start + length).collect();
            let range = start..start + length;
            let reaches = places.iter().any(|place| place.start < range.end && range.start < place.end);
            let around = start.saturating_sub(10)..start + length + 10;
            let suspects = Suspects::of(&mut places);
            // A place inside of a longer one counts as reaching to the end of that.
            prop_assert!(!reaches || suspects.touch(&range) && suspects.within(&around).touch(&range));
            prop_assert_eq!(suspects.after(start).begin_before(range.end), suspects.touch(&range));
        }
    }

    #[test]
    fn what_lies_beside_a_place_is_not_touched() {
        let mut places = [20..25, 4..8];
        let suspects = Suspects::of(&mut places);
        for (range, touched) in
            [(0..4, false), (0..5, true), (7..9, true), (8..20, false), (24..90, true), (25..90, false)]
        {
            assert_eq!(suspects.touch(&range), touched, "{range:?}");
        }
    }
}
