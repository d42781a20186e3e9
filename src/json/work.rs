//! Bounds on the steps of judging. Time and memory grow with the steps, so a bound on them holds both, and the same
//! value ends at the same step on every machine.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

thread_local! {
    /// Steps left of the judging under way.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    /// Steps left of those that several judgements share.
    static SHARED: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// What a step beyond the bound unwinds with. The judge is a library that only unwinding can stop.
struct Exceeded;

/// Puts a count back, also where a panic passes.
struct Before(&'static std::thread::LocalKey<Cell<u64>>, u64);

impl Before {
    fn set(count: &'static std::thread::LocalKey<Cell<u64>>, steps: u64) -> Self {
        Self(count, count.replace(steps))
    }
}

impl Drop for Before {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

/// Bounds the steps of all judgements of `run` together.
pub(crate) fn share<T>(steps: u64, run: impl FnOnce() -> T) -> T {
    let _before = Before::set(&SHARED, steps);
    run()
}

/// The steps that a judgement may take which asks for so many.
pub(crate) fn granted(steps: u64) -> u64 {
    steps.min(SHARED.get())
}

/// Judges within a bound. Gives the steps, too; no result where there were too many.
pub(crate) fn bounded<T>(steps: u64, run: impl FnOnce() -> T) -> (Option<T>, u64) {
    let before = Before::set(&LEFT, steps);
    let result = catch_unwind(AssertUnwindSafe(run));
    let taken = steps - LEFT.get();
    drop(before);
    match result {
        Ok(result) => (Some(result), taken),
        Err(payload) if payload.is::<Exceeded>() => (None, taken),
        Err(payload) => resume_unwind(payload),
    }
}

/// The steps left of the judging under way.
pub(crate) fn left() -> u64 {
    LEFT.get()
}

/// Takes the steps of a judgement from those that are shared.
pub(crate) fn settle(steps: u64) {
    SHARED.set(SHARED.get().saturating_sub(steps));
}

/// Counts steps of the judging under way, and ends it beyond its bound.
#[inline]
pub(crate) fn take(steps: u64) {
    let is_within = LEFT.with(|left| {
        let before = left.get();
        left.set(before.saturating_sub(steps));
        steps <= before
    });
    if !is_within {
        exceeded();
    }
}

#[cold]
fn exceeded() {
    resume_unwind(Box::new(Exceeded));
}
