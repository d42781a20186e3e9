//! A filter before the search for known secrets: of nearly every text it says, at a fraction of its bytes, that no
//! needle is in it.
//!
//! Needles are sorted into classes by their length. Of a needle the grams (so many bytes) at its first `stride` offsets
//! are held, and a text is looked at every `stride` bytes. Wherever the needle stands, exactly one of the places looked
//! at lies on one of these grams, and a class's shortest needle is long enough to hold them all:
//!
//! ```text
//! needle             ···nnnnnnnnnnnnnnnnnnnnnnn·········
//! looked at      |               |               |          every 16 bytes
//! held gram                      nnnnnnnn                   here the one at offset 12
//! ```
//!
//! A gram is held as a fingerprint in an open-addressed table, whose hash is keyed so that secrets cannot be chosen
//! that collide. A yes may be wrong (a gram that a text has by accident); a no never is. Needles are added in place:
//! a reader with an older handle at worst gets a yes too many.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

/// Shortest needle that can be held.
pub(crate) const MIN_NEEDLE: usize = 6;

#[derive(Debug, Clone, Copy)]
struct Class {
    /// Its shortest needle.
    least: usize,
    /// Bytes of a gram.
    width: usize,
    stride: usize,
}

/// By falling length. Each holds `stride + width - 1 <= least`.
const CLASSES: [Class; 3] = [
    Class { least: 23, width: 8, stride: 16 },
    Class { least: 11, width: 8, stride: 4 },
    Class { least: MIN_NEEDLE, width: 5, stride: 2 },
];

/// Slots of an empty filter; the table grows with what it holds.
const SMALLEST: usize = 1 << 10;

/// See the module. Clones share their table.
#[derive(Debug, Clone)]
pub(crate) struct NgramFilter {
    /// Fingerprints; zero is an empty slot. A power of two, never more than a quarter of them taken.
    slots: Arc<[AtomicU32]>,
    key: u64,
    taken: usize,
    /// Classes that hold a needle.
    present: [bool; CLASSES.len()],
}

impl Default for NgramFilter {
    fn default() -> Self {
        Self::with_slots(SMALLEST, RandomState::new().hash_one(CLASSES.len()) | 1)
    }
}

impl NgramFilter {
    fn with_slots(slots: usize, key: u64) -> Self {
        let slots = std::iter::repeat_with(AtomicU32::default).take(slots).collect();
        Self { slots, key, taken: 0, present: [false; CLASSES.len()] }
    }

    /// Adds needles; `held` are those that are there already, for when the table has to grow.
    pub(crate) fn add<'n>(
        &mut self,
        new: impl Iterator<Item = &'n [u8]> + Clone,
        held: impl Iterator<Item = &'n [u8]>,
    ) {
        let more: usize = new.clone().map(|needle| class(needle).map_or(0, |at| CLASSES[at].stride)).sum();
        if (self.taken + more) * 4 > self.slots.len() {
            let slots = ((self.taken + more) * 8).next_power_of_two();
            *self = Self::with_slots(slots, self.key);
            held.for_each(|needle| self.insert(needle));
        }
        new.for_each(|needle| self.insert(needle));
    }

    fn insert(&mut self, needle: &[u8]) {
        let Some(at) = class(needle) else { return };
        let Class { width, stride, .. } = CLASSES[at];
        self.present[at] = true;
        for offset in 0..stride {
            self.hold(self.hash(gram(&needle[offset..offset + width])));
        }
    }

    /// Whether a needle may stand at the beginning of the text.
    #[inline]
    pub(crate) fn begins(&self, text: &[u8]) -> bool {
        let [long, middle, short] = self.present;
        (long || middle) && text.first_chunk::<8>().is_some_and(|first| self.holds(gram(first)))
            || short && text.first_chunk::<5>().is_some_and(|first| self.holds(gram(first)))
    }

    fn hold(&mut self, (slot, fingerprint): (usize, u32)) {
        for at in (slot..self.slots.len()).chain(0..slot) {
            match self.slots[at].load(Ordering::Relaxed) {
                0 => {
                    self.slots[at].store(fingerprint, Ordering::Relaxed);
                    self.taken += 1;
                    return;
                }
                held if held == fingerprint => return,
                _ => {}
            }
        }
    }

    /// Whether a needle may stand in the text.
    pub(crate) fn touches(&self, text: &[u8]) -> bool {
        let [long, middle, short] = self.present;
        long && self.any::<8, 16>(text) || middle && self.any::<8, 4>(text) || short && self.any::<5, 2>(text)
    }

    fn any<const WIDTH: usize, const STRIDE: usize>(&self, text: &[u8]) -> bool {
        let mut rest = text;
        while let Some(first) = rest.first_chunk::<WIDTH>() {
            let gram = gram(first);
            // Nearly every place ends at an empty slot.
            let is_empty = |slot: &AtomicU32| slot.load(Ordering::Relaxed) == 0;
            if !self.slots.get(self.hash(gram).0).is_some_and(is_empty) && self.holds(gram) {
                return true;
            }
            rest = rest.get(STRIDE..).unwrap_or_default();
        }
        false
    }

    #[cold]
    fn holds(&self, gram: u64) -> bool {
        let (mut slot, fingerprint) = self.hash(gram);
        loop {
            match self.slots.get(slot).map_or(0, |slot| slot.load(Ordering::Relaxed)) {
                0 => return false,
                held if held == fingerprint => return true,
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// The slot at which a gram's place begins, and its fingerprint.
    #[inline]
    fn hash(&self, gram: u64) -> (usize, u32) {
        let product = u128::from(gram) * u128::from(self.key);
        #[allow(clippy::cast_possible_truncation)] // both halves of the product, folded
        let folded = product as u64 ^ (product >> 64) as u64;
        #[allow(clippy::cast_possible_truncation)]
        let fingerprint = (folded >> 32) as u32 | 1;
        #[allow(clippy::cast_possible_truncation)]
        let slot = folded as usize & (self.slots.len() - 1);
        (slot, fingerprint)
    }
}

fn class(needle: &[u8]) -> Option<usize> {
    CLASSES.iter().position(|class| needle.len() >= class.least)
}

/// Five bytes or eight as a number.
#[inline]
fn gram(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk(), bytes.first_chunk()) {
        (Some(eight), _) => u64::from_le_bytes(*eight),
        (None, Some(four)) => {
            u64::from(u32::from_le_bytes(*four))
                | bytes[4..].iter().fold(5, |rest, byte| rest << 8 | u64::from(*byte)) << 32
        }
        (None, None) => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filter(needles: &[&[u8]]) -> NgramFilter {
        let mut filter = NgramFilter::default();
        for (at, needle) in needles.iter().enumerate() {
            filter.add(std::iter::once(*needle), needles[..at].iter().copied());
        }
        filter
    }

    #[test]
    fn the_grams_of_a_classs_shortest_needle_lie_inside_it() {
        for Class { least, width, stride } in CLASSES {
            assert!(stride + width - 1 <= least && width <= 8);
        }
        assert!(CLASSES.is_sorted_by_key(|class| std::cmp::Reverse(class.least)));
    }

    #[test]
    fn a_needle_of_every_length_is_seen_at_every_place() {
        let letters: Vec<u8> = (0..120_u8).map(|n| n.wrapping_mul(37) ^ 0x55).collect();
        for length in MIN_NEEDLE..100 {
            let needle = &letters[..length];
            let filter = filter(&[needle]);
            for before in 0..50 {
                for after in [0, 1, 7, 40] {
                    let text = [&vec![b'.'; before], needle, &vec![b'.'; after]].concat();
                    assert!(filter.touches(&text), "{length} bytes after {before}");
                }
            }
            assert!(!filter.touches(&[b'.'; 300]));
        }
    }

    #[test]
    fn thousands_of_needles_are_held_and_other_text_is_not_taken_for_them() {
        let needles: Vec<String> = (0..3000).map(|n| format!("needle-{n:05}-{:x}", n * 7919)).collect();
        let needles: Vec<&[u8]> = needles.iter().map(String::as_bytes).collect();
        let filter = filter(&needles);
        assert!(needles.iter().all(|needle| filter.touches(needle)));
        assert!(filter.taken * 4 <= filter.slots.len());
        let wrong = (0..2000).filter(|n| filter.touches(format!("an innocent text, the {n}th of its kind").as_bytes()));
        assert_eq!(wrong.count(), 0);
    }

    proptest! {
        #[test]
        fn no_needle_is_missed(
            needles in proptest::collection::vec(proptest::collection::vec(0..4_u8, MIN_NEEDLE..60), 1..20),
            before in proptest::collection::vec(0..4_u8, 0..40),
            after in proptest::collection::vec(0..4_u8, 0..40),
        ) {
            let needles: Vec<&[u8]> = needles.iter().map(Vec::as_slice).collect();
            let filter = filter(&needles);
            for needle in needles {
                prop_assert!(filter.touches(&[&before, needle, &after].concat()));
            }
        }
    }
}
