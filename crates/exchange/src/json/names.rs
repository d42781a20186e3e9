//! Detects duplicate member names.

use std::{borrow::Cow, collections::HashSet};

use super::{slot::Slot, strings::unescape};

/// Up to so many names are compared by a word that is made from each; the words of more are hashed.
const WORDS: usize = 32;

/// So many places of the table are tried for a word: names that were made to have one place are compared instead.
const PLACES: usize = 32;

/// The offset of the first name that repeats an earlier one of the object at `index`, escapes undone.
#[inline(never)]
pub(super) fn repeated(source: &[u8], tape: &[Slot], index: usize) -> Option<usize> {
    if differ(source, tape, index) { None } else { compare(source, tape, index) }
}

/// The slots of the names of the object at `index`.
fn names(tape: &[Slot], index: usize) -> impl Iterator<Item = Slot> {
    let mut at = index + 1;
    let end = tape[index].next as usize;
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let name = tape[at];
            at = tape[at + 1].next as usize;
            name
        })
    })
}

/// Whether the names differ for certain, by their ends.
fn differ(source: &[u8], tape: &[Slot], index: usize) -> bool {
    if tape[index].count() > WORDS {
        return many_differ(source, tape, index);
    }
    let mut words = [0; WORDS];
    // A bit for each word, which others may have, too.
    let mut seen: u64 = 0;
    for (count, name) in names(tape, index).enumerate() {
        let word = word(source, name);
        let bit = 1 << (spread(word) >> (u64::BITS - 6));
        if name.is_marked() || seen & bit != 0 && words[..count].contains(&word) {
            return false;
        }
        words[count] = word;
        seen |= bit;
    }
    true
}

fn many_differ(source: &[u8], tape: &[Slot], index: usize) -> bool {
    // No word is 0 here. At least half of the places stay free.
    let mut table: Vec<u64> = vec![0; (2 * tape[index].count()).next_power_of_two()];
    let (mask, shift) = (table.len() - 1, u64::BITS - table.len().trailing_zeros());
    'names: for name in names(tape, index) {
        let word = word(source, name).max(1);
        let place = usize::try_from(spread(word) >> shift).unwrap_or_default();
        if name.is_marked() {
            return false;
        }
        for place in place..place + PLACES {
            match &mut table[place & mask] {
                free @ 0 => {
                    *free = word;
                    continue 'names;
                }
                held if *held == word => return false,
                _ => {}
            }
        }
        return false;
    }
    true
}

/// Bits of which the first ones depend on all of a word (Fibonacci hashing).
#[inline]
fn spread(word: u64) -> u64 {
    word.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The same for equal names, and hardly ever for others.
#[inline]
fn word(source: &[u8], name: Slot) -> u64 {
    let (start, end) = (name.start as usize + 1, name.end as usize - 1);
    let length = end - start;
    let last = source[..end].last_chunk().map_or_else(|| padded(&source[..end]), |last| u64::from_le_bytes(*last));
    // What stands before a shorter name goes.
    let last = if length < 8 { last >> 8 >> (56 - 8 * length) } else { last };
    let first = source[start..end].first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
    first.rotate_left(5) ^ last ^ (length as u64).rotate_right(8)
}

/// Fewer than eight bytes as the last ones of a word.
#[cold]
fn padded(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |word, byte| word >> 8 | u64::from(*byte) << 56)
}

#[cold]
fn compare(source: &[u8], tape: &[Slot], index: usize) -> Option<usize> {
    let mut seen = HashSet::with_capacity(tape[index].count());
    let repeats = |slot: &Slot| !seen.insert(name(source, *slot));
    names(tape, index).find(repeats).map(|slot| slot.start as usize)
}

fn inner(source: &[u8], slot: Slot) -> &[u8] {
    &source[slot.start as usize + 1..slot.end as usize - 1]
}

fn name(source: &[u8], slot: Slot) -> Cow<'_, [u8]> {
    let inner = inner(source, slot);
    if slot.is_marked() { Cow::Owned(unescape(inner)) } else { Cow::Borrowed(inner) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::{parse::parse_with_duplicates, slot::small};

    /// An object of these names, and the first that repeats one.
    fn first_repeated(names: &[String]) -> Option<usize> {
        let members: Vec<String> = names.iter().map(|name| format!("\"{name}\":0")).collect();
        let source = format!("{{{}}}", members.join(","));
        let tape = parse_with_duplicates(source.as_bytes()).unwrap().tape;
        let offset = repeated(source.as_bytes(), &tape, 0)?;
        Some(source[..offset].matches(':').count())
    }

    #[test]
    fn names_that_have_one_place_in_the_table_are_compared() {
        let bits = (2 * 100_usize).next_power_of_two().trailing_zeros();
        let place = |name: &String| {
            let source = format!("\"{name}\"");
            let end = small(source.len());
            spread(word(source.as_bytes(), Slot { start: 0, end, next: 0, meta: 0 })) >> (u64::BITS - bits)
        };
        let mut names: Vec<String> =
            (0..).map(|n| format!("name {n}")).filter(|name| place(name) == 7).take(100).collect();
        assert_eq!(first_repeated(&names), None);
        names[99] = names[60].clone();
        assert_eq!(first_repeated(&names), Some(99));
    }

    proptest! {
        #[test]
        fn a_name_repeats_an_earlier_one_if_it_is_equal(names in prop::collection::vec("[ab]{0,12}|[a-z_]{8,20}", 2..80)) {
            let expected = (1..names.len()).find(|at| names[..*at].contains(&names[*at]));
            prop_assert_eq!(first_repeated(&names), expected);
        }
    }
}
