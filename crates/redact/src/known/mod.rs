//! Secrets that were recognised once, and the search for them wherever they come again.

pub(super) mod index;
pub(super) mod marking;
pub(super) mod memory;
mod ngram_filter;
pub(super) mod search;
