//! Output of the searches by name.

use std::ops::Range;

use crate::kind::Kind;

/// Takes a secret's place, and what its name states about it.
pub(crate) type Emit<'e> = dyn FnMut(Range<usize>, Kind) + 'e;

/// The secrets that a search finds in a text.
#[cfg(test)]
pub(super) fn found(text: &str, find: impl FnOnce(&[u8], &mut Emit<'_>)) -> Vec<&str> {
    let mut out = Vec::new();
    find(text.as_bytes(), &mut |range, _| out.push(&text[range]));
    out
}
