//! Which of many exchanges shows something first: the one that started first, or without instants the one that was
//! read first.
//!
//! What was counted of one file is added to what was counted of the files before it. For that the earliest instant is
//! kept even where an exchange without one was read first, since that one may not be the first of the whole.

use std::{ops::Deref, time::SystemTime};

/// What is of an exchange.
pub trait Dated {
    /// When the exchange started.
    fn at(&self) -> Option<SystemTime>;
}

/// The first of what was taken so far, in the order of reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct First<T> {
    shown: T,
    /// The earliest with an instant; only where the one that is shown has none.
    dated: Option<Box<T>>,
}

impl<T: Dated> First<T> {
    pub(super) fn new(first: T) -> Self {
        Self { shown: first, dated: None }
    }

    /// Whether an exchange that is read next, and started then, counts before the others.
    fn wants(&self, started: Option<SystemTime>) -> bool {
        let Some(started) = started else { return false };
        let held = self.shown.at().or_else(|| self.dated.as_ref()?.at());
        held.is_none_or(|held| started < held)
    }

    /// Takes the next exchange, which started then.
    pub(super) fn take(&mut self, started: Option<SystemTime>, next: impl FnOnce() -> T) {
        if !self.wants(started) {
            return;
        }
        if self.shown.at().is_some() {
            self.shown = next();
        } else {
            self.dated = Some(Box::new(next()));
        }
    }

    /// Takes the first of exchanges that were read later.
    pub(super) fn merge(&mut self, later: Self) {
        let Self { shown, dated } = later;
        for next in dated.map(|dated| *dated).into_iter().chain([shown]) {
            self.take(next.at(), || next);
        }
    }

    /// All that is held.
    pub(super) fn each(&mut self) -> impl Iterator<Item = &mut T> {
        [&mut self.shown].into_iter().chain(self.dated.as_deref_mut())
    }
}

impl<T> Deref for First<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.shown
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A number, and seconds since the epoch.
    type One = (usize, Option<u64>);

    impl Dated for One {
        fn at(&self) -> Option<SystemTime> {
            self.1.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
        }
    }

    fn of(all: &[One]) -> Option<First<One>> {
        let (one, rest) = all.split_first()?;
        let mut first = First::new(*one);
        for next in rest {
            first.take(next.at(), || *next);
        }
        Some(first)
    }

    #[test]
    fn the_first_of_two_halves_is_the_first_of_the_whole_wherever_it_is_divided() {
        let instants = [None, Some(1), Some(2), Some(3)];
        for choice in 0..4_usize.pow(5) {
            let digits = (0..5).map(|at| choice / 4_usize.pow(at) % 4);
            let all: Vec<One> = (0..).zip(digits.map(|digit| instants[digit])).collect();
            for cut in 1..5 {
                let (mut begin, end) = (of(&all[..cut]).unwrap(), of(&all[cut..]).unwrap());
                begin.merge(end);
                assert_eq!(Some(begin), of(&all), "{all:?} divided at {cut}");
            }
        }
    }
}
