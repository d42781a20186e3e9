//! Values of the most recent texts.

/// Values by text, for a few texts that come again and again: a connection sends the same token with every request.
///
/// Direct-mapped by the text's end, which is random where the text is a signed token; another text of the same place
/// takes it. Nothing is looked up but whole texts, compared byte by byte. Constant time is not needed: what is
/// gained by a hit is only the time that the answer takes here, and a text that ends like a token without being it
/// does not show where it differs, since so little of two tokens is equal and secret.
#[derive(Debug)]
pub struct Recent<V> {
    places: Vec<Option<(Box<[u8]>, V)>>,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self { places: std::iter::repeat_with(|| None).take(Self::MAX_TEXTS).collect() }
    }
}

impl<V> Recent<V> {
    /// How many texts are held at most. A power of two.
    pub const MAX_TEXTS: usize = 256;
    /// Longest text that is held, in bytes.
    pub const MAX_TEXT_BYTES: usize = 4096;

    /// The value of this text.
    pub fn get(&mut self, text: &[u8]) -> Option<&mut V> {
        let held = self.places.get_mut(Self::place(text)?)?.as_mut();
        held.filter(|(held, _)| **held == *text).map(|(_, value)| value)
    }

    /// Keeps a value; a text that is too short or too long is not kept.
    pub fn put(&mut self, text: &[u8], value: V) {
        if let Some(place) = Self::place(text).and_then(|at| self.places.get_mut(at))
            && text.len() <= Self::MAX_TEXT_BYTES
        {
            *place = Some((text.into(), value));
        }
    }

    fn place(text: &[u8]) -> Option<usize> {
        /// 2^64 divided by the golden ratio (Fibonacci hashing).
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let end = u64::from_le_bytes(*text.last_chunk()?);
        let hash = (end ^ text.len() as u64).wrapping_mul(SPREAD) >> (64 - Self::MAX_TEXTS.trailing_zeros());
        usize::try_from(hash).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_gives_its_own_value_and_no_other_text_does() {
        let mut recent = Recent::default();
        recent.put(b"Bearer one-12345678", 1);
        assert_eq!(recent.get(b"Bearer one-12345678"), Some(&mut 1));
        assert_eq!(recent.get(b"bearer one-12345678"), None);
        assert_eq!(recent.get(b"Bearer two-12345678"), None);
        recent.put(b"Bearer two-12345678", 2);
        assert_eq!(recent.get(b"Bearer one-12345678"), None, "it has lost its place");
        assert_eq!(recent.get(b"Bearer two-12345678"), Some(&mut 2));
    }

    #[test]
    fn short_and_long_texts_are_not_held() {
        let mut recent = Recent::default();
        for text in ["", "1234567", &"1".repeat(Recent::<()>::MAX_TEXT_BYTES + 1)] {
            recent.put(text.as_bytes(), ());
            assert_eq!(recent.get(text.as_bytes()), None);
        }
    }

    #[test]
    fn most_of_a_few_texts_have_a_place_of_their_own() {
        let mut recent = Recent::default();
        let texts: Vec<String> = (0..64_u64).map(|n| format!("Bearer x.y.{}", n * 0x9e37_79b9_7f4b)).collect();
        for text in &texts {
            recent.put(text.as_bytes(), ());
        }
        let held = texts.iter().filter(|text| recent.get(text.as_bytes()).is_some()).count();
        assert!(held > 48, "{held}");
    }
}
