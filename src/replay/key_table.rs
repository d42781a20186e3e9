//! Numbers by keys that are hashes already: no further hash, and a table of four bytes for each.

use hashbrown::HashTable;

use super::mask::Key;

/// Keys, numbered from 0 in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct KeyTable {
    keys: Vec<Key>,
    numbers: HashTable<u32>,
}

impl KeyTable {
    /// The number of a key that came before.
    pub(super) fn get(&self, key: &Key) -> Option<u32> {
        self.numbers.find(hash(key), |number| self.keys[*number as usize] == *key).copied()
    }

    /// The number of a key, and whether it is new.
    pub(super) fn number(&mut self, key: Key) -> (u32, bool) {
        if let Some(number) = self.get(&key) {
            return (number, false);
        }
        let number = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        self.keys.push(key);
        self.numbers.insert_unique(hash(&key), number, |number| hash(&self.keys[*number as usize]));
        (number, true)
    }
}

/// Keys are keyed hashes, so any part of them is one.
fn hash(key: &Key) -> u64 {
    key.first_chunk().map_or(0, |half| u64::from_ne_bytes(*half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_with_an_equal_half_are_kept_apart() {
        let mut table = KeyTable::default();
        let key = |low: u8| {
            let mut key = [9; 16];
            key[15] = low;
            key
        };
        for low in 0..200 {
            assert_eq!(table.get(&key(low)), None);
            assert_eq!(table.number(key(low)), (u32::from(low), true));
        }
        for low in 0..200 {
            assert_eq!(table.number(key(low)), (u32::from(low), false));
            assert_eq!(table.get(&key(low)), Some(u32::from(low)));
        }
    }
}
