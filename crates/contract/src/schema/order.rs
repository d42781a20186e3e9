//! The order of names and texts that are searched.

use std::cmp::Ordering;

/// By length, then by bytes: most steps of a search then compare two numbers.
pub(super) fn shorter_first(left: &[u8], right: &[u8]) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}
