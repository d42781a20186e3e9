//! Entries that are read a second time, one by one, so that a long recording need not stay in memory.
//!
//! A file may be written to while it is in use. Each entry is read again from the file that was opened first (whatever its
//! name names now), and counts only if it is what it was.

use std::{
    fs::File,
    hash::{BuildHasher as _, RandomState},
    os::unix::fs::FileExt as _,
    sync::{Mutex, PoisonError},
};

use super::{Entry, ReadError, ReadFault, read::Reader, texts::Standing};
use crate::exchange::Exchange;

/// A recording whose entries can be read again.
pub struct Shelf {
    file: File,
    reader: Mutex<Reader>,
}

/// Where an entry stands on its shelf, and what it was when it was first read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    standing: Standing,
    length: usize,
    digest: u64,
}

/// Tells entries that changed from those that did not. Keyed, so that nobody can prepare a change that is not told.
#[derive(Debug, Clone)]
pub(super) struct Digests {
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
    /// The digest of an entry: its text, and what of it stands in body files.
    pub(super) fn of(&self, text: &[u8], entry: &Entry, has_files: bool) -> u64 {
        let digest = self.mixed(self.seed, text);
        if !has_files {
            return digest;
        }
        let Exchange { request, response, .. } = &entry.exchange;
        let digest = self.mixed(digest, &request.body.content);
        self.mixed(digest, response.as_ref().map_or(&[], |response| &response.body.content))
    }

    /// Multiplies and folds word by word: entries are long, and this is done to each of them when it is first read.
    fn mixed(&self, seed: u64, bytes: &[u8]) -> u64 {
        let step = |state: u64, word: u64| {
            let wide = u128::from(state ^ word) * u128::from(self.factor);
            #[allow(clippy::cast_possible_truncation)] // both halves are taken
            let folded = wide as u64 ^ (wide >> 64) as u64;
            folded
        };
        let (words, rest) = bytes.as_chunks::<8>();
        let state =
            words.iter().fold(step(seed, bytes.len() as u64), |state, word| step(state, u64::from_le_bytes(*word)));
        rest.iter().fold(state, |state, byte| step(state, u64::from(*byte) + 1))
    }
}

impl Spot {
    pub(super) fn new(standing: Standing, length: usize, digest: u64) -> Self {
        Self { standing, length, digest }
    }
}

impl Shelf {
    pub(super) fn new(file: File, reader: Reader) -> Self {
        Self { file, reader: Mutex::new(reader) }
    }

    /// Reads an entry again.
    ///
    /// # Errors
    ///
    /// [`ReadFault::Changed`] if it is not what it was any more; others if it can no longer be read at all.
    pub fn entry(&self, spot: &Spot) -> Result<Entry, ReadError> {
        let mut text = vec![0; spot.length];
        let read = self.file.read_exact_at(&mut text, spot.standing.offset);
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        read.map_err(|_| reader.fail(ReadFault::Changed { index: spot.standing.index }))?;
        match reader.placed(&text, spot.standing) {
            Ok(Some((entry, found))) if found == *spot => Ok(entry),
            Ok(_) | Err(_) => Err(reader.fail(ReadFault::Changed { index: spot.standing.index })),
        }
    }
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelf").field("file", &self.file).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_a_byte_or_in_length_have_different_digests() {
        let digests = Digests::default();
        let of = |text: &[u8]| digests.mixed(digests.seed, text);
        let text = b"a text that is longer than a few words";
        assert_eq!(of(text), of(text));
        for at in 0..text.len() {
            let mut other = text.to_vec();
            other[at] ^= 1;
            assert_ne!(of(text), of(&other), "byte {at}");
            assert_ne!(of(text), of(&text[..at]), "cut at {at}");
        }
        assert_ne!(of(b""), of(b"\0"));
    }
}
