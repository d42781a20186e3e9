//! Keyed digests of texts: short, fast, and different in every process, so that collisions cannot be prepared.

/// Computes digests under one random key. Copies share the key.
#[derive(Debug, Clone, Default)]
pub struct Digests(ahash::RandomState);

impl Digests {
    /// The digest of a text.
    pub fn of(&self, text: &[u8]) -> u64 {
        self.0.hash_one(text)
    }

    /// The digest of a sequence of texts: `digest` is that of those before `text`.
    pub fn and(&self, digest: u64, text: &[u8]) -> u64 {
        self.0.hash_one((digest, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_a_byte_or_in_length_have_different_digests() {
        let digests = Digests::default();
        let text = b"a text that is longer than a few words";
        assert_eq!(digests.of(text), digests.clone().of(text));
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
