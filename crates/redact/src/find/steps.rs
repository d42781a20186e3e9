//! How many bytes the searches look at. Tests hold that the number grows with a text and no faster.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static LOOKED: Cell<usize> = const { Cell::new(0) };
}

/// Counts bytes that a search looks at, in tests.
pub(crate) fn looked(bytes: usize) {
    #[cfg(test)]
    LOOKED.with(|looked| looked.set(looked.get() + bytes));
    let _ = bytes;
}

/// The number of bytes that `search` looks at.
#[cfg(test)]
pub(crate) fn count(search: impl FnOnce()) -> usize {
    let before = LOOKED.with(Cell::get);
    search();
    LOOKED.with(Cell::get) - before
}

/// Fails if `search` looks at more than ten times the bytes in ten times the text. The text is `piece`, repeated.
#[cfg(test)]
pub(crate) fn holds_linear(piece: &str, search: impl Fn(&[u8])) {
    let steps = |length: usize| {
        let text = piece.repeat(length / piece.len());
        count(|| search(text.as_bytes()))
    };
    let (short, long) = (steps(10_000), steps(100_000));
    assert!(long <= short * 11 + 10_000, "{piece}: {short} bytes of 10 kB, {long} of 100 kB");
    assert!(long <= 100_000 * 600, "{piece}: {long} bytes of 100 kB");
}
