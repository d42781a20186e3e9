//! How many bytes the searches look at, and that the number grows with a text and no faster.

use std::{cell::Cell, ops::Range};

use crate::kind::Kind;

thread_local! {
    static LOOKED: Cell<usize> = const { Cell::new(0) };
}

pub(crate) fn looked(bytes: usize) {
    LOOKED.with(|looked| looked.set(looked.get() + bytes));
}

/// The number of bytes that `search` looks at.
pub(crate) fn count(search: impl FnOnce()) -> usize {
    let before = LOOKED.with(Cell::get);
    search();
    LOOKED.with(Cell::get) - before
}

/// Fails if `search` looks at more than ten times the bytes in ten times the text. The text is `piece`, repeated.
pub(crate) fn holds_linear(piece: &str, search: impl Fn(&[u8])) {
    let steps = |length: usize| {
        let text = piece.repeat(length / piece.len());
        count(|| search(text.as_bytes()))
    };
    let (short, long) = (steps(10_000), steps(100_000));
    assert!(long <= short * 11 + 10_000, "{piece}: {short} bytes of 10 kB, {long} of 100 kB");
    assert!(long <= 100_000 * 600, "{piece}: {long} bytes of 100 kB");
}

/// The secrets that a search finds in a text.
pub(crate) fn found(text: &str, find: impl FnOnce(&[u8], &mut dyn FnMut(Range<usize>, Kind))) -> Vec<&str> {
    let mut out = Vec::new();
    find(text.as_bytes(), &mut |range, _| out.push(&text[range]));
    out
}
