//! The parts of a value that may be undocumented, so that the gap walker passes by all others.

use std::ops::Range;

use crate::json::Node;

/// Parts of a value, by where they stand in the source.
#[derive(Debug, Default)]
pub(super) struct Suspects(Vec<Range<usize>>);

impl Suspects {
    /// Adds a part.
    pub(super) fn add(&mut self, value: Node<'_>) {
        self.0.push(value.span());
    }

    /// Puts them in the order of the source; what stands inside another one goes.
    pub(super) fn sort(&mut self) {
        self.0.sort_unstable_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        let mut end = 0;
        self.0.retain(|span| {
            let is_outside = span.start >= end;
            end = end.max(span.end);
            is_outside
        });
    }

    /// Whether a value holds one of them, or is part of one.
    pub(super) fn concern(&self, value: Node<'_>) -> bool {
        let span = value.span();
        let next = self.0.partition_point(|suspect| suspect.end <= span.start);
        self.0.get(next).is_some_and(|suspect| suspect.start < span.end)
    }
}
