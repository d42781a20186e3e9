//! A model of how often pairs of bytes occur: it picks the bytes of a word that a [prefilter](super::prefilter) looks for,
//! and says which words can share a group.
//!
//! A fixed hash of the pairs in its place costs `record` 104,000 more instructions per request, on 146,000: the groups of
//! common pairs match everywhere.

use std::collections::BTreeSet;

use super::prefilter::Word;

/// Four bytes of a word with what surrounds it; `None` is any byte.
pub(super) type Window = [Option<u8>; 4];
type Pair = [Option<u8>; 2];

/// The first and the second pairs of a group, and how often one of each occurs.
#[derive(Debug, Clone, Default)]
pub(super) struct Common([(BTreeSet<Pair>, f64); 2]);

impl Common {
    pub(super) fn with(&mut self, [a, b, c, d]: Window) {
        for ((pairs, often), pair) in self.0.iter_mut().zip([[a, b], [c, d]]) {
            if pairs.insert(pair) {
                *often += frequency(&pair);
            }
        }
    }

    /// How much oftener a first and a second pair come together by accident with this window than without it.
    pub(super) fn grown(&self, [a, b, c, d]: Window) -> f64 {
        let more = |(pairs, often): &(BTreeSet<Pair>, f64), pair: Pair| {
            if pairs.contains(&pair) { *often } else { often + frequency(&pair) }
        };
        let [first, second] = &self.0;
        more(first, [a, b]) * more(second, [c, d]) - first.1 * second.1
    }
}

/// The four bytes of a word that are matched least often by accident, beginning at an even or an odd place of it.
pub(super) fn rarest(word: &Word, parity: isize) -> (isize, Window) {
    let bytes = word.text.as_bytes();
    let window = |from: isize| -> Window {
        std::array::from_fn(|at| {
            let at = from.checked_add_unsigned(at).and_then(|at| usize::try_from(at).ok());
            at.and_then(|at| bytes.get(at).copied())
        })
    };
    let length = isize::try_from(bytes.len()).unwrap_or(isize::MAX);
    // An odd place has an even one before it.
    let starts = (-parity..length).step_by(2).map(|from| (from, window(from)));
    // The byte after the word may be missing, but no pair of them.
    let whole = starts.filter(|(from, _)| from + 4 <= length + 1 || *from <= 0);
    whole.min_by(|(_, one), (_, two)| frequency(one).total_cmp(&frequency(two))).unwrap_or((-parity, window(-parity)))
}

/// Roughly how often such bytes are matched, one after the other, in JSON and in English.
pub(super) fn frequency(bytes: &[Option<u8>]) -> f64 {
    const COMMON: &[u8] = b"e\"taoinsr _dlcu:mpfg,1h0by2v-/.k3w4x5678j9qz";
    let one = |byte: &Option<u8>| match byte {
        None => 1.0,
        Some(byte) => match COMMON.iter().position(|common| *common == byte.to_ascii_lowercase()) {
            Some(rank) => 0.09 / (1.0 + f64::from(u8::try_from(rank).unwrap_or(u8::MAX)) / 4.0),
            None => 0.002,
        },
    };
    bytes.iter().map(one).product()
}
