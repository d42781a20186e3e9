//! Quick digests that nobody outside this process can foresee, so that nobody can prepare two texts with the same one.

use std::hash::{BuildHasher as _, RandomState};

/// Makes digests. Its copies make the same ones, others do not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Digests {
    seed: u64,
    factor: u64,
}

impl Default for Digests {
    fn default() -> Self {
        let random = RandomState::new();
        Self { seed: random.hash_one(1), factor: random.hash_one(2) | 1 }
    }
}

impl Digests {
    /// The digest of a text.
    pub(crate) fn of(self, text: &[u8]) -> u64 {
        self.and(self.seed, text)
    }

    /// The digest of several texts: that of those before it, and `text`.
    ///
    /// Multiplies and folds word by word: this is done to each entry of a recording when it is read.
    pub(crate) fn and(self, digest: u64, text: &[u8]) -> u64 {
        let step = |state: u64, word: u64| {
            let wide = u128::from(state ^ word) * u128::from(self.factor);
            #[allow(clippy::cast_possible_truncation)] // both halves are taken
            let folded = wide as u64 ^ (wide >> 64) as u64;
            folded
        };
        let (words, rest) = text.as_chunks::<8>();
        let state =
            words.iter().fold(step(digest, text.len() as u64), |state, word| step(state, u64::from_le_bytes(*word)));
        if rest.is_empty() {
            return state;
        }
        // The length has said how much of it is there.
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        step(state, u64::from_le_bytes(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_a_byte_or_in_length_have_different_digests() {
        let digests = Digests::default();
        let text = b"a text that is longer than a few words";
        assert_eq!(digests.of(text), digests.of(text));
        for at in 0..text.len() {
            let mut other = text.to_vec();
            other[at] ^= 1;
            assert_ne!(digests.of(text), digests.of(&other), "byte {at}");
            assert_ne!(digests.of(text), digests.of(&text[..at]), "cut at {at}");
        }
        assert_ne!(digests.of(b""), digests.of(b"\0"));
        assert_ne!(digests.of(b"a"), Digests::default().of(b"a"));
    }
}
