//! A glance at a text before it is read for secrets: of most texts it says that there is nothing to read.
//!
//! The text is looked at two bytes at a time. Of every word that hints at a secret, two adjoining pairs of bytes are
//! held, once for the word at an even place and once for it at an odd one, each in one of a few groups:
//!
//! ```text
//! text       … a s s w o r d …        pairs   as  sw  or  d…
//! held                                first[sw] and second[or] share a group
//! ```
//!
//! Two adjoining pairs of one group are a reason to compare that group's words, letter for letter. A yes may be wrong
//! (a word without what has to follow it), a no never is.

use super::hints::ENDINGS;

/// What a text may hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// A word that hints at a secret or at a person.
    pub(super) hint: bool,
    /// What a coding or a label begins with: `%`, `\`, `&`, `!`.
    pub(super) coded: bool,
}

/// A word to look for, in any case.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) text: String,
    /// It counts only before one of [`ENDINGS`].
    pub(super) ends: bool,
}

/// A word, and where in it the pairs begin that stand for it (−1: the byte before it).
#[derive(Debug)]
struct Held {
    word: Word,
    from: isize,
}

/// One bit for each group of words; the last is that of codings.
type Groups = u8;

const CODED: Groups = 1 << 7;

/// Four bytes of a word with what surrounds it; `None` is any byte.
type Window = [Option<u8>; 4];

/// See the module.
pub(super) struct Glance {
    first: Box<[Groups; PAIRS]>,
    second: Box<[Groups; PAIRS]>,
    held: [Vec<Held>; 7],
}

const PAIRS: usize = 1 << 16;

/// Bytes that are looked at together.
const BLOCK: usize = 16;

impl Glance {
    /// Looks for these words, and for codings.
    pub(super) fn new(words: Vec<Word>) -> Self {
        let mut glance = Self { first: Box::new([0; PAIRS]), second: Box::new([0; PAIRS]), held: Default::default() };
        for byte in *b"%\\&!" {
            for window in [[Some(byte), None, None, None], [None, Some(byte), None, None]] {
                glance.hold(window, CODED);
            }
        }
        // What is common in a group, as first and as second pair; a word joins the group that it makes least commoner.
        let mut common = [(0.0, 0.0); 7];
        for word in words {
            for parity in [0, 1] {
                let (from, window) = rarest(&word, parity);
                let (one, two) = (frequency(&window[..2]), frequency(&window[2..]));
                let grown = |(first, second): (f64, f64)| (first + one) * (second + two) - first * second;
                let group = (0..common.len()).min_by(|a, b| grown(common[*a]).total_cmp(&grown(common[*b])));
                let group = group.unwrap_or(0);
                common[group] = (common[group].0 + one, common[group].1 + two);
                glance.hold(window, 1 << group);
                glance.held[group].push(Held { word: word.clone(), from });
            }
        }
        glance
    }

    fn hold(&mut self, window: Window, group: Groups) {
        let both = |byte: Option<u8>| match byte {
            Some(byte) => vec![byte.to_ascii_lowercase(), byte.to_ascii_uppercase()],
            None => (0..=u8::MAX).collect(),
        };
        for (table, pair) in [(&mut self.first, &window[..2]), (&mut self.second, &window[2..])] {
            for one in both(pair[0]) {
                for two in both(pair[1]) {
                    table[usize::from(u16::from_le_bytes([one, two]))] |= group;
                }
            }
        }
    }

    /// What the text may hold.
    pub(super) fn at(&self, text: &[u8]) -> Seen {
        let mut seen = Seen::default();
        let mut wanted = Groups::MAX;
        let mut rest = text;
        while let Some(block) = rest.first_chunk() {
            let met = self.met(block) & wanted;
            if met != 0 {
                self.look_closer(text, text.len() - rest.len(), &mut seen);
                if seen.hint {
                    seen.coded |= has_coding(rest);
                    return seen;
                }
                wanted &= !(met & CODED);
            }
            rest = &rest[BLOCK..];
        }
        // The rest, with nothing after it.
        let mut last = [0; 2 * BLOCK + 2];
        last[..rest.len()].copy_from_slice(rest);
        for start in (0..rest.len()).step_by(BLOCK) {
            if let Some(block) = last[start..].first_chunk()
                && self.met(block) & wanted != 0
            {
                self.look_closer(text, text.len() - rest.len() + start, &mut seen);
            }
        }
        seen
    }

    /// The groups of which a block may hold a word.
    #[inline]
    fn met(&self, block: &[u8; BLOCK + 2]) -> Groups {
        let pair = |at: usize| usize::from(u16::from_le_bytes([block[at], block[at + 1]]));
        (0..BLOCK).step_by(2).fold(0, |met, at| met | self.first[pair(at)] & self.second[pair(at + 2)])
    }

    #[cold]
    fn look_closer(&self, text: &[u8], start: usize, seen: &mut Seen) {
        let byte = |at: usize| text.get(at).copied().unwrap_or(0);
        let pair = |at: usize| usize::from(u16::from_le_bytes([byte(at), byte(at + 1)]));
        for at in (start..start + BLOCK).step_by(2) {
            let met = self.first[pair(at)] & self.second[pair(at + 2)];
            seen.coded |= met & CODED != 0;
            seen.hint |= self
                .held
                .iter()
                .enumerate()
                .any(|(group, held)| met & 1 << group != 0 && held.iter().any(|held| held.stands(text, at)));
        }
    }
}

fn has_coding(text: &[u8]) -> bool {
    memchr::memchr3(b'%', b'\\', b'&', text).is_some() || memchr::memchr(b'!', text).is_some()
}

impl Held {
    /// Whether the word stands where its pairs were met.
    fn stands(&self, text: &[u8], at: usize) -> bool {
        let Some(start) = at.checked_add_signed(-self.from) else { return false };
        let end = start + self.word.text.len();
        text.get(start..end).is_some_and(|part| part.eq_ignore_ascii_case(self.word.text.as_bytes()))
            && (!self.word.ends || text.get(end).is_some_and(|next| ENDINGS.contains(next)))
    }
}

/// The four bytes of a word that are met least often by accident, beginning at an even or an odd place of it.
fn rarest(word: &Word, parity: isize) -> (isize, Window) {
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

/// Roughly how often such bytes are met, one after the other, in JSON and in English.
fn frequency(bytes: &[Option<u8>]) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn glance(words: &[&str]) -> Glance {
        let word = |text: &&str| Word { text: text.trim_end_matches('=').to_owned(), ends: text.ends_with('=') };
        Glance::new(words.iter().map(word).collect())
    }

    const WORDS: &[&str] = &["@", "\"+", "key", "pin=", "mail", "token", "secret", "given_name", "pass="];

    #[test]
    fn a_word_is_seen_at_every_place_of_a_text_and_in_any_case() {
        let glance = glance(WORDS);
        for word in WORDS {
            for word in [word.to_ascii_uppercase(), (*word).to_owned()] {
                for before in 0..40 {
                    for after in 0..40 {
                        let text = format!("{}{word}{}", ".".repeat(before), ",".repeat(after));
                        assert_eq!(glance.at(text.as_bytes()), Seen { hint: true, coded: false }, "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_word_that_needs_an_end_is_none_without_it() {
        let glance = glance(WORDS);
        for text in ["pins are shipping", "a passport, bypassed", "pin", "pass", "tokes are secre", "giv_name"] {
            assert_eq!(glance.at(text.as_bytes()), Seen::default(), "{text}");
        }
        assert!(glance.at(b"a shipping:pin]").hint);
    }

    #[test]
    fn a_coding_is_seen_at_every_place_with_a_hint_and_without() {
        let glance = glance(WORDS);
        for coding in ["%", "\\", "&", "!"] {
            for hint in ["", "secret"] {
                for before in 0..40 {
                    for after in 0..40 {
                        let text = format!("{}{coding}{}", ".".repeat(before), ",".repeat(after));
                        for text in [format!("{hint}{text}"), format!("{text}{hint}")] {
                            let seen = Seen { coded: true, hint: !hint.is_empty() };
                            assert_eq!(glance.at(text.as_bytes()), seen, "{text}");
                        }
                    }
                }
            }
        }
    }
}
