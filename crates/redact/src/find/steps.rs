//! What tests see of the searches, and what they turn off.

use std::cell::Cell;

thread_local! {
    static IS_THOROUGH: Cell<bool> = const { Cell::new(false) };
}

/// What `work` gives without the quick looks that spare most texts from being read: the same, in its time. For tests
/// that compare the two.
pub fn thoroughly<T>(work: impl FnOnce() -> T) -> T {
    IS_THOROUGH.set(true);
    let done = work();
    IS_THOROUGH.set(false);
    done
}

#[inline]
pub(crate) fn is_thorough() -> bool {
    IS_THOROUGH.get()
}

/// Counts bytes that a search looks at: tests hold that the number grows with a text and no faster.
#[inline]
pub(crate) fn looked(bytes: usize) {
    #[cfg(test)]
    crate::tests::steps::looked(bytes);
    let _ = bytes;
}
