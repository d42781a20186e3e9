//! Detects duplicate member names.

use std::{borrow::Cow, collections::HashSet};

use super::{slot::Slot, strings::unescape};

/// Up to so many names are compared pair by pair by a word that is made from each; the words of more are sorted.
const WORDS: usize = 32;

/// Up to so many are compared pair by pair, which is cheaper than hashing.
const PAIRWISE: usize = 12;

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
        let mut words: Vec<u64> = names(tape, index).map(|name| word(inner(source, name))).collect();
        words.sort_unstable();
        return !names(tape, index).any(Slot::is_marked) && words.is_sorted_by(|one, two| one < two);
    }
    let mut words = [0; WORDS];
    for (count, name) in names(tape, index).enumerate() {
        let word = word(inner(source, name));
        if name.is_marked() || words[..count].contains(&word) {
            return false;
        }
        words[count] = word;
    }
    true
}

/// The same for equal names, and hardly ever for others.
fn word(name: &[u8]) -> u64 {
    let ends = |first, last| u64::from(u32::from_le_bytes(first)) | u64::from(u32::from_le_bytes(last)) << 32;
    let length = (name.len() as u64).rotate_right(8);
    match (name.first_chunk(), name.last_chunk(), name.first_chunk(), name.last_chunk()) {
        (Some(first), Some(last), ..) => u64::from_le_bytes(*first).rotate_left(5) ^ u64::from_le_bytes(*last) ^ length,
        (.., Some(first), Some(last)) => ends(*first, *last) ^ length,
        _ => name.iter().fold(length, |word, byte| word << 8 | u64::from(*byte)),
    }
}

#[cold]
fn compare(source: &[u8], tape: &[Slot], index: usize) -> Option<usize> {
    let names = names(tape, index).map(|slot| (name(source, slot), slot.start as usize));
    let count = tape[index].count();
    if count <= PAIRWISE {
        let mut seen: [Cow<'_, [u8]>; PAIRWISE] = [const { Cow::Borrowed(&[]) }; PAIRWISE];
        for (count, (name, offset)) in names.enumerate() {
            if seen[..count].contains(&name) {
                return Some(offset);
            }
            seen[count] = name;
        }
    } else {
        let mut seen = HashSet::with_capacity(count);
        for (name, offset) in names {
            if !seen.insert(name) {
                return Some(offset);
            }
        }
    }
    None
}

fn inner(source: &[u8], slot: Slot) -> &[u8] {
    &source[slot.start as usize + 1..slot.end as usize - 1]
}

fn name(source: &[u8], slot: Slot) -> Cow<'_, [u8]> {
    let inner = inner(source, slot);
    if slot.is_marked() {
        let text = std::str::from_utf8(inner).unwrap_or_default();
        Cow::Owned(unescape(text).into_bytes())
    } else {
        Cow::Borrowed(inner)
    }
}
