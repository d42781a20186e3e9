//! Bounds on the steps of judging. Time and memory grow with the steps, so a bound on them holds both, and the same
//! value ends at the same step on every machine.
//!
//! The judge is a library that nothing stops: beyond the bound, its values have no content, so that it soon comes to an
//! end, and what it says then counts for nothing.

use std::cell::Cell;

thread_local! {
    /// Steps left of the judging under way; none once it is over.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    /// Steps left of those that several judgements share.
    static SHARED: Cell<u64> = const { Cell::new(u64::MAX) };
}

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
pub fn share<T>(steps: u64, run: impl FnOnce() -> T) -> T {
    let _before = Before::set(&SHARED, steps);
    run()
}

/// The steps that a judgement may take which asks for so many.
pub fn granted(steps: u64) -> u64 {
    steps.min(SHARED.get())
}

/// Judges within a bound. Gives the steps, too; no result where there were too many.
pub fn bounded<T>(steps: u64, run: impl FnOnce() -> T) -> (Option<T>, u64) {
    let _before = Before::set(&LEFT, steps);
    let result = run();
    let left = LEFT.get();
    ((left > 0).then_some(result), steps - left)
}

/// The steps left of the judging under way.
pub fn left() -> u64 {
    LEFT.get()
}

/// Takes the steps of a judgement from those that are shared.
pub fn settle(steps: u64) {
    SHARED.set(SHARED.get().saturating_sub(steps));
}

/// Counts steps of the judging under way; whether any are left.
#[inline]
pub fn take(steps: u64) -> bool {
    LEFT.with(|left| {
        left.set(left.get().saturating_sub(steps));
        left.get() > 0
    })
}
