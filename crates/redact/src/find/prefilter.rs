//! A quick look at texts before they are read for secrets: it rules out most of them, and shows where the others may
//! hold one, and of which sort.
//!
//! The text is looked at two bytes at a time. Of every word that hints at a secret, two adjoining pairs of bytes are
//! held, once for the word at an even place and once for it at an odd one, each in one of a few groups:
//!
//! ```text
//! text       … a s s w o r d …        pairs   as  sw  or  d…
//! held                                first sw and second or share a group
//! ```
//!
//! Two adjoining pairs of one group are a reason to compare that group's words, letter for letter. Where words contain
//! another one, only that one is held, a stem, and they are compared where it stands.
//!
//! Groups of their own are for base64 and hex of a text, of which any four letters are of a few sorts: two such fours,
//! one right behind the other, are a reason to look at all the letters that stand together ([`runs`]).
//!
//! A model of how often pairs of bytes occur deals the words into the groups ([`super::windows`]).

use std::{
    ops::{BitOrAssign, ControlFlow, Range},
    sync::Arc,
};

use super::{
    steps::looked,
    windows::{Common, Window, frequency, rarest},
};
use crate::{label, runs, view};

/// What stands after a word that counts only before one of these.
pub(super) const ENDINGS: &[u8] = b"\"'=:\\<> %],;&\r\n";

/// What a place of a text may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Suspect<'f> {
    /// A stem, and maybe more of a word.
    Word(&'f Stem),
    /// What may hide anything: a coding or a label (`%41`, `&lt;`, `!token-1!`), or a run of letters that may be base64 or
    /// hex of a text. An escape (`\n`) is none: what it stands for is a part of no word, but for the `\u` of any
    /// character, which is a word itself.
    Coded,
}

/// What a text may hold, by a quick look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // each is a question of its own
pub(crate) struct Hints {
    /// A known shape.
    pub(crate) shape: bool,
    /// The name of a field that holds a secret.
    pub(crate) field: bool,
    /// Personal data.
    pub(crate) person: bool,
    /// Something else than it shows: a coding, a label, base64 or hex of a text.
    pub(crate) coded: bool,
}

impl Hints {
    pub(crate) const NONE: Self = Self { shape: false, field: false, person: false, coded: false };
    pub(crate) const SHAPE: Self = Self { shape: true, ..Self::NONE };
    pub(crate) const FIELD: Self = Self { field: true, ..Self::NONE };
    pub(crate) const PERSON: Self = Self { person: true, ..Self::NONE };
    pub(crate) const ALL: Self = Self { shape: true, field: true, person: true, coded: true };
}

impl BitOrAssign for Hints {
    fn bitor_assign(&mut self, other: Self) {
        self.shape |= other.shape;
        self.field |= other.field;
        self.person |= other.person;
        self.coded |= other.coded;
    }
}

/// A word to look for, in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// It counts only before one of [`ENDINGS`].
    pub(crate) ends: bool,
    /// It counts only where no word goes on: behind no letter, digit or `_`, but for those of an escape (`\n`).
    pub(crate) starts: bool,
    pub(crate) hints: Hints,
}

/// A word that contains no other one, with those that contain it.
#[derive(Debug)]
pub(crate) struct Stem {
    word: Word,
    longer: Vec<Longer>,
}

/// A word that contains a stem.
#[derive(Debug)]
struct Longer {
    word: Word,
    /// Where in it the stem begins, and what precedes that: a stem may have a hundred of these.
    before: usize,
    window: FoldedWindow,
}

/// A stem, and the pairs that stand for it.
#[derive(Debug)]
struct StemWindow {
    window: FoldedWindow,
    /// Where in the stem the pairs begin (−1: with the byte before it).
    from: isize,
    stem: Arc<Stem>,
}

/// The bytes of a window, [folded](fold), and which of them count.
#[derive(Debug, Clone, Copy)]
struct FoldedWindow {
    bytes: u32,
    mask: u32,
}

/// One bit for each group of words; the last are those of codings and of base64 and hex.
type Groups = u64;

/// Groups of words.
const WORDS: usize = 57;
const CODED: Groups = 1 << WORDS;
const RUN: Groups = CODED << 1;
const RUNS: Groups = !(RUN - 1);

/// What a coding or a label begins with.
const CODINGS: &[u8] = b"%&!";

/// See the module.
pub(crate) struct Prefilter {
    /// The groups of every pair of bytes, as a first pair and as a second.
    tables: [Box<[Groups; PAIRS]>; 2],
    /// Stems whose pairs are looked for together.
    groups: [Vec<StemWindow>; WORDS],
}

const PAIRS: usize = 1 << 16;

/// Bytes that are looked at together.
const BLOCK: usize = 32;

/// How far a text was looked at.
#[derive(Default)]
struct Cursor {
    at: usize,
    /// The groups that have the last pair as a first one.
    first: Groups,
    /// What the last fourth place matched.
    run: Groups,
}

impl Prefilter {
    /// A filter for these words, and for codings.
    pub(crate) fn new(words: Vec<Word>) -> Self {
        let table = || vec![0; PAIRS].try_into().unwrap_or_else(|_| unreachable!("it has this length"));
        let mut filter = Self { tables: [table(), table()], groups: [const { Vec::new() }; WORDS] };
        for &byte in CODINGS {
            for window in [[Some(byte), None, None, None], [None, Some(byte), None, None]] {
                filter.hold(window, CODED);
            }
        }
        for (at, pairs) in runs::PAIRS.iter().enumerate() {
            for (nth, pair) in pairs.iter().enumerate() {
                let letters =
                    |position| (0..=u8::MAX).filter(|byte| runs::stands(*byte, position)).collect::<Vec<u8>>();
                filter.hold_pairs(nth, &letters(pair[0]), &letters(pair[1]), RUN << at);
            }
        }
        let parities = stems(words).into_iter().flat_map(|stem| [(Arc::clone(&stem), 0), (stem, 1)]);
        let window = |(stem, parity): (Arc<Stem>, isize)| {
            let (from, window) = rarest(&stem.word, parity);
            (window, StemWindow { window: FoldedWindow::new(window), from, stem })
        };
        let mut held: Vec<(Window, StemWindow)> = parities.map(window).collect();
        held.sort_by(|(one, _), (two, _)| frequency(two).total_cmp(&frequency(one)));
        // A stem joins the group in which a first and a second pair come together by accident least often with it.
        let mut common: [Common; WORDS] = std::array::from_fn(|_| Common::default());
        for (window, held) in held {
            let grown = common.iter().map(|common| common.grown(window)).enumerate();
            let group = grown.min_by(|(_, one), (_, two)| one.total_cmp(two)).map_or(0, |(group, _)| group);
            common[group].with(window);
            filter.hold(window, 1 << group);
            filter.groups[group].push(held);
        }
        filter
    }

    fn hold(&mut self, window: Window, group: Groups) {
        let both = |byte: Option<u8>| match byte {
            Some(byte) => vec![byte.to_ascii_lowercase(), byte.to_ascii_uppercase()],
            None => (0..=u8::MAX).collect(),
        };
        let [a, b, c, d] = window.map(both);
        self.hold_pairs(0, &a, &b, group);
        self.hold_pairs(1, &c, &d, group);
    }

    fn hold_pairs(&mut self, nth: usize, ones: &[u8], twos: &[u8], group: Groups) {
        for one in ones {
            for two in twos {
                self.tables[nth][usize::from(u16::from_le_bytes([*one, *two]))] |= group;
            }
        }
    }

    /// Passes on every place that may hold something, those of a block in any order, until `found` breaks off.
    pub(crate) fn scan<'f, B>(
        &'f self,
        text: &[u8],
        mut found: impl FnMut(Range<usize>, Suspect<'f>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        looked(text.len());
        let (mut cursor, mut seen) = (Cursor::default(), 0);
        while let Some(matched) = self.next(text, &mut cursor) {
            self.look_closer(matched, text, cursor.at - BLOCK, &mut seen, &mut found)?;
        }
        ControlFlow::Continue(())
    }

    /// What the next block matches that matches anything, with the cursor behind it; `None` at the end of the text, which
    /// is looked at with nothing after it.
    #[inline(never)]
    fn next(&self, text: &[u8], cursor: &mut Cursor) -> Option<Groups> {
        let (mut at, mut first, mut run, mut end) = (cursor.at, cursor.first, cursor.run, [0; BLOCK]);
        while at < text.len() + 2 {
            let rest = text.get(at..).unwrap_or_default();
            let block = rest.first_chunk().unwrap_or_else(|| {
                end[..rest.len()].copy_from_slice(rest);
                &end
            });
            let matched;
            (matched, first, run) = self.matched(block, first, run);
            at += BLOCK;
            if matched != 0 {
                *cursor = Cursor { at, first, run };
                return Some(matched);
            }
        }
        None
    }

    /// The groups of which a block may hold a word, and those of runs that two fourth places match, the one at an even
    /// and the other at an odd one; then what its last pair is the first of, and what its last fourth place matches.
    /// `first` and `run` are those of the block before.
    #[inline]
    fn matched(&self, block: &[u8; BLOCK], mut first: Groups, mut run: Groups) -> (Groups, Groups, Groups) {
        let [firsts, seconds] = &self.tables;
        let (mut between, mut even, mut odd) = (0, 0, run & RUNS);
        for [a, b, c, d, e, f, g, h] in block.as_chunks().0 {
            let [one, two, three, four] = [[*a, *b], [*c, *d], [*e, *f], [*g, *h]].map(pair);
            between |= first & seconds[one] | firsts[two] & seconds[three];
            even |= firsts[one] & seconds[two];
            run = firsts[three] & seconds[four];
            odd |= run;
            first = firsts[four];
        }
        ((between | even | odd) & !RUNS | even & odd & RUNS, first, run)
    }

    #[inline(never)]
    fn look_closer<'f, B>(
        &'f self,
        matched: Groups,
        text: &[u8],
        start: usize,
        seen: &mut usize,
        found: &mut impl FnMut(Range<usize>, Suspect<'f>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let (is_last, end) = (start + BLOCK >= text.len() + 2, text.len().min(start + BLOCK));
        if matched & RUNS != 0 && *seen < end {
            *seen = runs::around(text, start.saturating_sub(4)..end, *seen, |run| found(run, Suspect::Coded))?;
        }
        if matched & !RUNS == 0 {
            return ControlFlow::Continue(());
        }
        // The pair before the block may be the first one.
        let start = start.saturating_sub(2);
        let (pairs, rest) = text[start..end].as_chunks();
        let behind = [rest.first().map(|byte| [*byte, 0]), is_last.then_some([0, 0])];
        let (mut first, mut before) = (0, 0);
        for (nth, two) in pairs.iter().copied().chain(behind.into_iter().flatten()).map(pair).enumerate() {
            let matched = first & self.tables[1][two] & !RUNS;
            if matched != 0 {
                self.compare(matched, fold(before | two << 16), text, start + 2 * nth - 2, found)?;
            }
            (first, before) = (self.tables[0][two], two);
        }
        ControlFlow::Continue(())
    }

    /// Passes on what stands in a text where these groups were matched.
    #[inline(never)]
    fn compare<'f, B>(
        &'f self,
        mut matched: Groups,
        folded: u32,
        text: &[u8],
        at: usize,
        found: &mut impl FnMut(Range<usize>, Suspect<'f>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        if matched & CODED != 0 {
            for at in (at..text.len()).take(2).filter(|at| is_coding(&text[*at..])) {
                found(at..at + 1, Suspect::Coded)?;
            }
            matched &= !CODED;
        }
        while let Some(group) = self.groups.get(matched.trailing_zeros() as usize) {
            for held in group.iter().filter(|held| held.window.is(folded)) {
                if let Some(range) = held.found(text, at) {
                    found(range, Suspect::Word(&held.stem))?;
                }
            }
            matched &= matched - 1;
        }
        ControlFlow::Continue(())
    }
}

/// The place of a pair in the tables.
#[inline]
fn pair(bytes: [u8; 2]) -> usize {
    u16::from_le_bytes(bytes).into()
}

/// The words that contain no other one, each with those that contain it.
pub(super) fn stems(mut words: Vec<Word>) -> Vec<Arc<Stem>> {
    words.sort_by_key(|word| (word.text.len(), word.ends, word.starts));
    let mut stems: Vec<Stem> = Vec::new();
    for word in words {
        let inside = |stem: &Stem| word.text.find(&stem.word.text).filter(|_| !stem.word.ends && !stem.word.starts);
        match stems.iter_mut().find_map(|stem| Some((inside(stem)?, stem))) {
            Some((before, stem)) => {
                let bytes = word.text.as_bytes();
                let preceding = |at: usize| Some(bytes[(before + at).checked_sub(4)?]);
                let window = FoldedWindow::new(std::array::from_fn(preceding));
                stem.longer.push(Longer { word, before, window });
            }
            None => stems.push(Stem { word, longer: Vec::new() }),
        }
    }
    stems.into_iter().map(Arc::new).collect()
}

/// Whether a text begins with a coding that hides what it stands for, or with a label.
fn is_coding(text: &[u8]) -> bool {
    view::is_coded(text) || label::begins(text)
}

/// Bytes that differ in the case of a letter, and a few others, become equal.
#[allow(clippy::cast_possible_truncation)] // four bytes are meant
fn fold(bytes: usize) -> u32 {
    bytes as u32 | 0x2020_2020
}

impl FoldedWindow {
    fn new(window: Window) -> Self {
        let bytes = u32::from_le_bytes(window.map(Option::unwrap_or_default));
        let mask = u32::from_le_bytes(window.map(|byte| byte.map_or(0, |_| u8::MAX)));
        Self { bytes: fold(bytes as usize) & mask, mask }
    }

    #[inline]
    fn is(self, folded: u32) -> bool {
        folded & self.mask == self.bytes
    }
}

impl StemWindow {
    /// Where the stem stands, if its pairs were matched at `at`.
    fn found(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        let start = at.checked_add_signed(-self.from)?;
        let word = &self.stem.word;
        word.stands(text, start).then(|| start..start + word.text.len())
    }
}

impl Word {
    pub(super) fn stands(&self, text: &[u8], start: usize) -> bool {
        let end = start + self.text.len();
        text.get(start..end).is_some_and(|found| found.eq_ignore_ascii_case(self.text.as_bytes()))
            && (!self.ends || text.get(end).is_some_and(|next| ENDINGS.contains(next)))
            && (!self.starts || !goes_on(&text[..start]))
    }
}

/// Whether a text ends within a word.
fn goes_on(text: &[u8]) -> bool {
    match text {
        [.., b'\\', _] | [] => false,
        [.., last] => last.is_ascii_alphanumeric() || *last == b'_',
    }
}

impl Stem {
    /// What it hints at where it stands in a text, with all that the words around it do.
    pub(crate) fn hints(&self, text: &[u8], start: usize) -> Hints {
        let mut hints = self.word.hints;
        let (mut four, preceding) = ([0; 4], &text[start.saturating_sub(4)..start]);
        four[4 - preceding.len()..].copy_from_slice(preceding);
        let folded = fold(u32::from_le_bytes(four) as usize);
        for Longer { word, before, window } in &self.longer {
            if window.is(folded) && start.checked_sub(*before).is_some_and(|start| word.stands(text, start)) {
                hints |= word.hints;
            }
        }
        hints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(words: &[&str]) -> Prefilter {
        let word = |text: &&str| Word {
            text: text.trim_end_matches('=').to_owned(),
            ends: text.ends_with('='),
            starts: false,
            hints: Hints::FIELD,
        };
        Prefilter::new(words.iter().map(word).collect())
    }

    const WORDS: &[&str] = &["@", "\"+", "key", "pin=", "mail", "token", "secret", "given_name", "pass="];

    const FIELD: Option<Hints> = Some(Hints::FIELD);

    /// All places, sorted, with the hints of words.
    fn places(filter: &Prefilter, text: &str) -> Vec<(Range<usize>, Option<Hints>)> {
        let mut places = Vec::new();
        let end = filter.scan(text.as_bytes(), |place, suspect| {
            let hints = match suspect {
                Suspect::Word(stem) => Some(stem.hints(text.as_bytes(), place.start)),
                Suspect::Coded => None,
            };
            places.push((place, hints));
            ControlFlow::<()>::Continue(())
        });
        assert!(end.is_continue());
        places.sort_by_key(|(place, _)| place.start);
        places
    }

    #[test]
    fn a_word_is_found_at_every_place_of_a_text_and_in_any_case() {
        let filter = filter(WORDS);
        for word in WORDS {
            for word in [word.to_ascii_uppercase(), (*word).to_owned()] {
                let length = word.trim_end_matches('=').len();
                for before in 0..40 {
                    for after in 0..40 {
                        let text = format!("{}{word}{}", ".".repeat(before), ",".repeat(after));
                        assert_eq!(places(&filter, &text), [(before..before + length, FIELD)], "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_word_that_needs_an_end_is_none_without_it() {
        let filter = filter(WORDS);
        for text in ["pins are shipping", "a passport, bypassed", "pin", "pass", "tokes are secre", "giv_name"] {
            assert_eq!(places(&filter, text), [], "{text}");
        }
        assert_eq!(places(&filter, "a shipping:pin]"), [(11..14, FIELD)]);
    }

    #[test]
    fn a_word_that_needs_a_start_is_none_within_another() {
        let word = Word { text: "sk-".to_owned(), ends: false, starts: true, hints: Hints::SHAPE };
        let filter = Prefilter::new(vec![word]);
        for text in ["task-", "a_sk-", "0sk-"] {
            assert_eq!(places(&filter, text), [], "{text}");
        }
        for text in ["SK-", " sk-", "\"sk-", "-sk-", "/sk-", "\\nsk-"] {
            assert_eq!(places(&filter, text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_word_that_contains_another_one_hints_where_all_of_it_stands() {
        let word = |text: &str, hints| Word { text: text.to_owned(), ends: false, starts: false, hints };
        let words = vec![word("apikey", Hints::FIELD), word("api", Hints::default()), word("rapid", Hints::PERSON)];
        let filter = Prefilter::new(words);
        let none = Some(Hints::default());
        for (text, hints) in [("api", none), ("my apikeys", FIELD), ("rapid", Some(Hints::PERSON)), ("rapi", none)] {
            assert_eq!(places(&filter, text).iter().map(|place| place.1).collect::<Vec<_>>(), [hints], "{text}");
        }
    }

    #[test]
    fn a_coding_is_found_at_every_place_with_a_hint_and_without() {
        let filter = filter(WORDS);
        for coding in ["%4f", "&amp;", "&#65;", "!cookie-1!", "!7!"] {
            for hint in ["", "secret"] {
                for before in 0..40 {
                    for after in 0..40 {
                        let text = format!("{}{coding}{}", ".".repeat(before), ",".repeat(after));
                        let end = before + coding.len() + after;
                        let mut expected = vec![(before..before + 1, None)];
                        if !hint.is_empty() {
                            expected.push((end..end + hint.len(), FIELD));
                        }
                        assert_eq!(places(&filter, &format!("{text}{hint}")), expected, "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_begins_like_a_coding_is_none() {
        for text in ["50% of it", "%4", "R&D; Q&A", "a &nope; b", "no!", "wow!! !cookie!", "C:\\temp \n \""] {
            assert_eq!(places(&filter(WORDS), text), [], "{text}");
        }
    }

    #[test]
    fn a_search_ends_where_its_reader_breaks_off() {
        let end = filter(WORDS).scan(b"a token, a secret", |place, _| ControlFlow::Break(place));
        assert_eq!(end, ControlFlow::Break(2..7));
    }
}
