//! Values of the most recent texts.

use ahash::AHashMap;

/// Values by text, for texts that come again and again: a connection sends the same token with every request.
///
/// Two generations: a text that is found in the older one moves to the newer; when that is full, it becomes the older.
#[derive(Debug)]
pub struct Recent<V> {
    newer: AHashMap<Box<[u8]>, V>,
    older: AHashMap<Box<[u8]>, V>,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self { newer: AHashMap::new(), older: AHashMap::new() }
    }
}

impl<V> Recent<V> {
    /// Maximum texts of one generation.
    pub const MAX_TEXTS: usize = 2048;
    /// Longest text that is held, in bytes.
    pub const MAX_TEXT_BYTES: usize = 8192;

    /// The value of this text.
    pub fn get(&mut self, text: &[u8]) -> Option<&mut V> {
        if !self.older.is_empty()
            && let Some((text, value)) = self.older.remove_entry(text)
        {
            self.insert(text, value);
        }
        self.newer.get_mut(text)
    }

    /// Keeps a value; a text that is too long is not kept.
    pub fn put(&mut self, text: &[u8], value: V) {
        if text.len() <= Self::MAX_TEXT_BYTES {
            self.insert(text.into(), value);
        }
    }

    fn insert(&mut self, text: Box<[u8]>, value: V) {
        if self.newer.len() >= Self::MAX_TEXTS {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(text, value);
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
        recent.put(&[b'1'; Recent::<u8>::MAX_TEXT_BYTES + 1], 2);
        assert_eq!(recent.get(&[b'1'; Recent::<u8>::MAX_TEXT_BYTES + 1]), None, "it is too long");
    }

    #[test]
    fn what_is_asked_for_stays_and_no_more_than_two_generations_are_held() {
        let mut recent = Recent::default();
        recent.put(b"kept", 7);
        for n in 0..3 * Recent::<usize>::MAX_TEXTS {
            recent.put(n.to_string().as_bytes(), n);
            assert_eq!(recent.get(b"kept"), Some(&mut 7));
        }
        assert_eq!(recent.get(b"0"), None);
        assert!(recent.newer.len() + recent.older.len() <= 2 * Recent::<usize>::MAX_TEXTS);
    }
}
