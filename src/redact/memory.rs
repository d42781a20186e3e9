//! A recording's memory: every secret with its label, and an index that finds them again in one pass.
//!
//! The index is a [`Sieve`], which says of nearly every text that nothing is in it, and behind it a short list of
//! multi-pattern searches, each about twice as large as the next. A new secret adds a small one and merges those of like
//! size; each is compiled when the sieve first lets a text through, so that a secret that never comes again costs no
//! compiling. A search never waits for a new secret: it works on a snapshot.
//!
//! A memory may have a bound. Beyond it, a quarter of the secrets is forgotten: those that were met last the longest
//! ago, and none that an exchange at work has met. Where a field, a header or its shape says so, such a value is
//! recognised anew.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::{BuildHasher as _, RandomState},
    ops::Range,
    sync::{Arc, OnceLock},
};

use aho_corasick::AhoCorasick;
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD},
};

use super::{
    kind::{self, Kind, Spread},
    label,
    sieve::{self, Sieve},
    view::View,
};
use crate::hex::hex;

/// Which secret; none is ever given to another one.
pub(super) type Id = u32;

/// Secrets longer than this are found by a part of them.
const ANCHOR: usize = 32;

/// What is known of one secret.
#[derive(Debug, Clone, Copy)]
pub(super) struct Secret {
    pub(super) kind: Kind,
    /// The number in its label.
    pub(super) number: u32,
    /// What it is made of was read already.
    opened: bool,
    /// When it was met last, by [`Memory::clock`].
    met: u64,
}

pub(super) struct Memory {
    secrets: HashMap<Id, Secret>,
    by_text: HashMap<Arc<[u8]>, Id>,
    /// The next secret's.
    next: Id,
    /// Most secrets that are known at a time, beside those that the exchanges at work met.
    most: usize,
    /// How many there have to be for some to be forgotten.
    full: usize,
    /// When each exchange at work began, by [`Memory::clock`].
    at_work: Vec<u64>,
    /// How many were forgotten.
    pub(super) forgotten: u64,
    /// Counts what is met.
    clock: u64,
    /// Highest label number given or met.
    highest: u32,
    index: Arc<Index>,
    pub(super) distinct: BTreeMap<&'static str, u64>,
    /// Hashes of the personal data met, by kind.
    people: BTreeMap<&'static str, HashSet<u64>>,
    hasher: RandomState,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            secrets: HashMap::new(),
            by_text: HashMap::new(),
            next: 0,
            most: usize::MAX,
            full: usize::MAX,
            at_work: Vec::new(),
            forgotten: 0,
            clock: 0,
            highest: 0,
            index: Arc::default(),
            distinct: BTreeMap::new(),
            people: BTreeMap::new(),
            hasher: RandomState::new(),
        }
    }
}

impl Memory {
    /// A memory whose index does without its sieve.
    pub(super) fn thorough() -> Self {
        Self { index: Arc::new(Index { thorough: true, ..Index::default() }), ..Self::default() }
    }

    /// Knows no more than so many secrets from here on.
    pub(super) fn bound(&mut self, most: usize) {
        self.most = most;
        self.full = most;
    }

    /// Work on an exchange begins. What it meets is not forgotten before its end, [`Self::done`] with what this gives.
    pub(super) fn begin(&mut self) -> u64 {
        self.at_work.push(self.clock);
        self.clock
    }

    /// Work that began then is done.
    pub(super) fn done(&mut self, began: u64) {
        if let Some(at) = self.at_work.iter().position(|other| *other == began) {
            self.at_work.swap_remove(at);
        }
        if self.secrets.len() > self.most {
            self.forget();
        }
    }

    /// Remembers a secret; one that is known keeps its label. `None` for an empty text and for a label.
    pub(super) fn learn(&mut self, text: &[u8], kind: Kind) -> Option<Id> {
        if text.is_empty() || label::is_label_bytes(text) {
            return None;
        }
        if let Some(known) = self.known(text) {
            self.meet(known);
            return Some(known);
        }
        let aliases = aliases(text);
        // The same secret in another spelling has the same label.
        let id = aliases.iter().find_map(|alias| self.by_text.get(alias.as_slice()).copied());
        let id = match id {
            Some(known) => {
                self.meet(known);
                known
            }
            None => self.add(kind),
        };
        let mut patterns = Vec::new();
        for text in std::iter::once(text).chain(aliases.iter().map(Vec::as_slice)) {
            let text: Arc<[u8]> = text.into();
            if self.by_text.insert(Arc::clone(&text), id).is_none() {
                patterns_of(&text, id, &mut patterns);
            }
        }
        if !patterns.is_empty() {
            self.index = Arc::new(self.index.with(patterns));
        }
        Some(id)
    }

    fn add(&mut self, kind: Kind) -> Id {
        if self.secrets.len() >= self.full {
            self.forget();
        }
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        self.highest = self.highest.saturating_add(1);
        self.clock += 1;
        self.secrets.insert(id, Secret { kind, number: self.highest, opened: false, met: self.clock });
        if !kind.is_personal() {
            *self.distinct.entry(kind.name()).or_default() += 1;
        }
        id
    }

    /// Forgets secrets until there are three quarters of the most, or none but what exchanges at work met.
    fn forget(&mut self) {
        let mut met: Vec<u64> = self.secrets.values().map(|secret| secret.met).collect();
        let surplus = met.len().saturating_sub(self.most - self.most / 4);
        let (_, newest_forgotten, _) = met.select_nth_unstable(surplus);
        let newest_forgotten = self.at_work.iter().copied().fold(*newest_forgotten, u64::min);
        let before = self.secrets.len();
        self.secrets.retain(|_, secret| secret.met > newest_forgotten);
        let left = self.secrets.len();
        // Where little could be forgotten, the next look at all of them waits until there are some more.
        self.full = self.most.max(left + left / 4);
        if left == before {
            return;
        }
        self.forgotten += (before - left) as u64;
        self.by_text.retain(|_, id| self.secrets.contains_key(id));
        self.index = Arc::new(self.index.only(|id| self.secrets.contains_key(&id)));
    }

    /// The secret was met again; whether it is known still.
    pub(super) fn meet(&mut self, id: Id) -> bool {
        self.clock += 1;
        let secret = self.secrets.get_mut(&id);
        secret.map(|secret| secret.met = self.clock).is_some()
    }

    pub(super) fn known(&self, text: &[u8]) -> Option<Id> {
        self.by_text.get(text).copied()
    }

    /// The secret of this text, met again, if what it is made of was read already.
    pub(super) fn opened(&mut self, text: &[u8]) -> Option<Id> {
        let id = self.known(text).filter(|id| self.secret(*id).opened)?;
        self.meet(id);
        Some(id)
    }

    pub(super) fn set_opened(&mut self, id: Id) {
        if let Some(secret) = self.secrets.get_mut(&id) {
            secret.opened = true;
        }
    }

    pub(super) fn secret(&self, id: Id) -> Secret {
        // One that was forgotten while its exchange was on its way shares the last one's number.
        let forgotten = Secret { kind: Kind::Secret, number: self.highest.max(1), opened: false, met: 0 };
        self.secrets.get(&id).copied().unwrap_or(forgotten)
    }

    /// The label number has been met in a text; no other secret gets it.
    pub(super) fn reserve(&mut self, number: u32) {
        self.highest = self.highest.max(number);
    }

    /// The number is the label of one.
    pub(super) fn reserve_number(&mut self, text: &[u8]) {
        if let Some(number) = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()) {
            self.reserve(number);
        }
    }

    /// Counts a value that looks like personal data, once; up to a million of a kind.
    pub(super) fn count_person(&mut self, value: &[u8], kind: Kind) {
        const MOST: usize = 1_000_000;
        let hash = self.hasher.hash_one(value);
        let people = self.people.entry(kind.name()).or_default();
        if people.len() < MOST {
            people.insert(hash);
        }
    }

    pub(super) fn people(&self) -> BTreeMap<&'static str, u64> {
        self.people.iter().map(|(kind, values)| (*kind, values.len() as u64)).collect()
    }

    pub(super) fn index(&self) -> Arc<Index> {
        Arc::clone(&self.index)
    }
}

/// Other spellings under which the same secret may come again.
fn aliases(text: &[u8]) -> Vec<Vec<u8>> {
    let mut aliases = Vec::new();
    if let Some(view) = View::percent(text, false) {
        aliases.push(view.text);
    }
    if text.contains(&b'\\') {
        aliases.extend(View::unescape(text).map(|view| view.text));
    }
    if text.starts_with(b"-----BEGIN ") {
        // A key is as good without its armour and line breaks.
        let lines = text.split(|byte| matches!(byte, b'\r' | b'\n'));
        let lines: Vec<&[u8]> = lines.filter(|line| !line.starts_with(b"-----") && !line.contains(&b':')).collect();
        aliases.push(lines.concat());
        aliases.extend(lines.iter().rev().filter(|line| line.len() >= ANCHOR).take(2).map(|line| line.to_vec()));
    }
    aliases.retain(|alias| !alias.is_empty() && alias != text);
    aliases
}

/// In which form a secret was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    Raw,
    Base64,
    Hex,
}

impl Form {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Base64 => "base64",
            Self::Hex => "hex",
        }
    }
}

#[derive(Debug, Clone)]
struct Pattern {
    secret: Id,
    form: Form,
    needle: Vec<u8>,
    /// For a part of a long secret: all of it, and where the part begins.
    whole: Option<(Arc<[u8]>, usize)>,
    spread: Spread,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    pub(super) secret: Id,
    pub(super) form: Form,
}

/// Every spread secret, ready to be searched for.
#[derive(Debug, Default)]
pub(super) struct Index {
    sieve: Sieve,
    levels: Vec<Arc<Level>>,
    /// Whether some secret holds a blank, so that `+` in a query has to be read as one.
    pub(super) blanks: bool,
    /// Grows with every change.
    pub(super) generation: u64,
    /// Every text is searched, whatever the sieve says of it.
    thorough: bool,
}

#[derive(Debug)]
struct Level {
    patterns: Vec<Pattern>,
    /// Compiled when first asked for.
    search: OnceLock<Option<AhoCorasick>>,
}

impl Level {
    /// `None` only beyond two billion states; what is then not found by value is still found by field.
    fn search(&self) -> Option<&AhoCorasick> {
        let compile = || AhoCorasick::new(self.patterns.iter().map(|pattern| &pattern.needle)).ok();
        self.search.get_or_init(compile).as_ref()
    }
}

fn patterns_of(text: &Arc<[u8]>, secret: Id, out: &mut Vec<Pattern>) {
    let spread = kind::spread(text);
    if spread == Spread::Field {
        return;
    }
    let mut anchors: Vec<(usize, &[u8])> = Vec::new();
    if text.len() <= ANCHOR + ANCHOR / 2 {
        anchors.push((0, text));
    } else {
        // The end tells tokens apart, the beginning finds cut ones; a JWT's beginning is its algorithm, and known by
        // its shape. An armoured key is found by its aliases.
        let end = text.len() - ANCHOR;
        anchors.push((end, &text[end..]));
        if !text.starts_with(b"ey") && !text.starts_with(b"-----") {
            anchors.push((0, &text[..ANCHOR]));
        }
    }
    for (at, anchor) in anchors {
        let whole = (anchor.len() < text.len()).then(|| (Arc::clone(text), at));
        out.push(Pattern { secret, form: Form::Raw, needle: anchor.to_vec(), whole, spread });
        for needle in base64_cores(anchor) {
            out.push(Pattern { secret, form: Form::Base64, needle, whole: None, spread });
        }
        let lower = hex(anchor).into_bytes();
        let upper = lower.to_ascii_uppercase();
        if upper != lower {
            out.push(Pattern { secret, form: Form::Hex, needle: upper, whole: None, spread });
        }
        out.push(Pattern { secret, form: Form::Hex, needle: lower, whole: None, spread });
    }
}

/// What base64 makes of `text` whatever stands before and after it: for each of the three alignments, the characters
/// that depend on nothing else, in both alphabets.
fn base64_cores(text: &[u8]) -> Vec<Vec<u8>> {
    let mut cores: Vec<Vec<u8>> = Vec::with_capacity(6);
    for before in 0..3 {
        let padded = [&[0; 2][..before], text].concat();
        // Characters whose six bits all lie inside the text.
        let first = (before * 8).div_ceil(6);
        let end = padded.len() * 8 / 6;
        for encoded in [BASE64_STANDARD_NO_PAD.encode(&padded), BASE64_URL_SAFE_NO_PAD.encode(&padded)] {
            let core = encoded.as_bytes()[first..end].to_vec();
            if core.len() >= sieve::SHORTEST && !cores.contains(&core) {
                cores.push(core);
            }
        }
    }
    cores
}

impl Index {
    fn with(&self, mut patterns: Vec<Pattern>) -> Self {
        let mut sieve = self.sieve.clone();
        let held = self.levels.iter().flat_map(|level| &level.patterns);
        sieve.add(patterns.iter().map(Pattern::bytes), held.map(Pattern::bytes));
        let mut levels = self.levels.clone();
        while levels.last().is_some_and(|last| last.patterns.len() <= 2 * patterns.len()) {
            if let Some(last) = levels.pop() {
                patterns.splice(0..0, last.patterns.iter().cloned());
            }
        }
        let blanks = self.blanks || patterns.iter().any(|pattern| pattern.needle.contains(&b' '));
        levels.push(Arc::new(Level { patterns, search: OnceLock::new() }));
        Self { sieve, levels, blanks, generation: self.generation + 1, thorough: self.thorough }
    }

    /// The same without the patterns of other secrets than these.
    fn only(&self, keep: impl Fn(Id) -> bool) -> Self {
        let patterns: Vec<Pattern> = self
            .levels
            .iter()
            .flat_map(|level| &level.patterns)
            .filter(|pattern| keep(pattern.secret))
            .cloned()
            .collect();
        let empty = Self { generation: self.generation, thorough: self.thorough, ..Self::default() };
        if patterns.is_empty() { Self { generation: self.generation + 1, ..empty } } else { empty.with(patterns) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Whether anything in the text may be a secret; no false "no" for text without codings.
    pub(super) fn touches(&self, text: &[u8]) -> bool {
        self.thorough || self.sieve.touches(text)
    }

    /// Every secret in the text as it stands (no coding undone). `path` says that the text is a path or holds one: a
    /// base64 text then ends at a slash, and words are not replaced.
    pub(super) fn search(&self, text: &[u8], path: bool, out: &mut Vec<Found>) {
        if !self.touches(text) {
            return;
        }
        let mut labels: Option<Vec<Range<usize>>> = None;
        for level in &self.levels {
            let Some(search) = level.search() else { continue };
            // In a text that repeats itself the same part of it is hit again and again; it is grown once.
            let mut grown = [0..0, 0..0, 0..0];
            for hit in search.find_overlapping_iter(text) {
                let pattern = &level.patterns[hit.pattern().as_usize()];
                let labels = labels.get_or_insert_with(|| label::find(text).map(|(range, _)| range).collect());
                if labels.iter().any(|label| label.start <= hit.start() && hit.end() <= label.end) {
                    continue;
                }
                let known = &mut grown[pattern.form as usize];
                match pattern.range(text, hit.start()..hit.end(), path) {
                    Some(Reach::Exact(range)) => out.push(Found { range, secret: pattern.secret, form: pattern.form }),
                    Some(Reach::Grown(_)) if known.start <= hit.start() && hit.end() <= known.end => {}
                    Some(Reach::Grown(part)) => {
                        let range = grow(text, hit.start()..hit.end(), part);
                        known.clone_from(&range);
                        out.push(Found { range, secret: pattern.secret, form: pattern.form });
                    }
                    None => {}
                }
            }
        }
    }
}

/// How far a secret reaches around a hit.
enum Reach {
    /// So far.
    Exact(Range<usize>),
    /// As far as there are such bytes.
    Grown(fn(u8) -> bool),
}

impl Pattern {
    fn bytes(&self) -> &[u8] {
        &self.needle
    }

    /// How far the secret reaches around a hit; `None` if the hit does not count.
    fn range(&self, text: &[u8], hit: Range<usize>, path: bool) -> Option<Reach> {
        match self.form {
            Form::Raw => {
                let spoken = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
                let adjoined = spoken(hit.end) || (hit.start > 0 && spoken(hit.start - 1));
                match self.spread {
                    Spread::Field => return None,
                    Spread::Word if adjoined || path => return None,
                    Spread::Bounded if adjoined => return None,
                    _ => {}
                }
                let Some((whole, at)) = &self.whole else { return Some(Reach::Exact(hit)) };
                let start = hit.start.checked_sub(*at);
                let whole = start
                    .map(|start| start..start + whole.len())
                    .filter(|range| text.get(range.clone()) == Some(&**whole));
                Some(whole.map_or(Reach::Grown(is_token_byte), Reach::Exact))
            }
            Form::Base64 if path && !text[hit].contains(&b'/') => Some(Reach::Grown(is_base64_but_slash)),
            Form::Base64 => Some(Reach::Grown(|byte| is_base64_but_slash(byte) || byte == b'/')),
            Form::Hex => Some(Reach::Grown(|byte| byte.is_ascii_hexdigit())),
        }
    }
}

fn is_base64_but_slash(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'_' | b'=')
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'+' | b'=')
}

/// The range, extended both ways over the bytes that `part` accepts; never into a label.
fn grow(text: &[u8], range: Range<usize>, part: impl Fn(u8) -> bool) -> Range<usize> {
    let before = text[..range.start].iter().rev().take_while(|byte| part(**byte)).count();
    let after = text[range.end..].iter().take_while(|byte| part(**byte)).count();
    range.start - before..range.end + after
}

/// Undoes base64 of either alphabet, with padding or without.
pub(super) fn base64(encoded: &[u8]) -> Option<Vec<u8>> {
    BASE64_STANDARD
        .decode(encoded)
        .or_else(|_| BASE64_STANDARD_NO_PAD.decode(encoded))
        .or_else(|_| BASE64_URL_SAFE_NO_PAD.decode(encoded))
        .or_else(|_| BASE64_URL_SAFE.decode(encoded))
        .ok()
}

/// User and password of a Basic credential.
pub(super) fn basic(encoded: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let text = base64(encoded)?;
    let colon = memchr::memchr(b':', &text)?;
    Some((text[..colon].to_vec(), text[colon + 1..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(memory: &Memory, text: &str) -> Vec<String> {
        let mut out = Vec::new();
        memory.index().search(text.as_bytes(), false, &mut out);
        let mut out: Vec<String> = out.into_iter().map(|found| text[found.range].to_owned()).collect();
        out.dedup();
        out
    }

    #[test]
    fn a_secret_is_found_raw_and_in_base64_of_every_alignment_and_in_hex() {
        let mut memory = Memory::default();
        memory.learn(b"s3cr3t?value>~", Kind::Secret).unwrap();
        for before in ["", "a", "ab", "abc"] {
            for after in ["", "z", "yz"] {
                let text = format!("{before}s3cr3t?value>~{after}");
                for encoded in [BASE64_STANDARD.encode(&text), BASE64_URL_SAFE_NO_PAD.encode(&text)] {
                    assert_eq!(found(&memory, &format!("({encoded})")), [encoded]);
                }
                let hex = hex(text.as_bytes());
                assert_eq!(found(&memory, &format!("x{hex}")), [hex]);
                assert_eq!(found(&memory, &text), ["s3cr3t?value>~"]);
            }
        }
        assert!(found(&memory, "s3cr3t-value").is_empty());
    }

    #[test]
    fn a_secret_that_repeats_itself_is_found_once_where_only_a_part_of_it_stands() {
        let mut memory = Memory::default();
        memory.learn("Bwc7".repeat(100).as_bytes(), Kind::Secret).unwrap();
        let text = format!("({})", "Bwc7".repeat(60));
        let mut out = Vec::new();
        memory.index().search(text.as_bytes(), false, &mut out);
        let raw: Vec<_> = out.into_iter().filter(|found| found.form == Form::Raw).map(|found| found.range).collect();
        assert_eq!(raw.len(), 1);
        assert_eq!(raw[0], 1..text.len() - 1);
    }

    #[test]
    fn a_long_secret_is_found_whole_and_by_its_beginning_and_end() {
        let secret: String =
            (0..100_u8).map(|n| char::from(b'a' + n.wrapping_mul(7) % 26)).collect::<String>() + "0123";
        let mut memory = Memory::default();
        memory.learn(secret.as_bytes(), Kind::Secret).unwrap();
        assert!(found(&memory, &format!("<{secret}>")).iter().all(|part| *part == secret));
        assert_eq!(found(&memory, &format!("<{}>", &secret[..50])), [&secret[..50]]);
        assert_eq!(found(&memory, &format!("<{}>", &secret[50..])), [&secret[50..]]);
    }

    #[test]
    fn the_same_secret_keeps_its_label_under_every_spelling() {
        let mut memory = Memory::default();
        let one = memory.learn(b"s3cr3t/value", Kind::Secret);
        assert_eq!(memory.learn(b"s3cr3t%2Fvalue", Kind::Cookie), one);
        assert_ne!(memory.learn(b"s3cr3t/other", Kind::Secret), one);
        assert_eq!(memory.learn(b"!token-7!", Kind::Secret), None);
    }

    #[test]
    fn a_bounded_memory_forgets_what_was_met_last_the_longest_ago_and_gives_no_number_again() {
        let mut memory = Memory::default();
        memory.bound(8);
        let secret = |n: usize| format!("secret-number-{n:05}");
        let learn = |memory: &mut Memory, n| memory.learn(secret(n).as_bytes(), Kind::Secret).unwrap();
        let first = learn(&mut memory, 0);
        let mut numbers = HashSet::from([memory.secret(first).number]);
        for n in 1..100 {
            assert_eq!(learn(&mut memory, 0), first, "it comes with every other");
            let id = learn(&mut memory, n);
            assert!(numbers.insert(memory.secret(id).number), "{n}");
            assert!(memory.secrets.len() <= 8 && memory.by_text.len() <= 8);
            for known in [0, n] {
                assert_eq!(found(&memory, &secret(known)).len(), 1, "{known} after {n}");
            }
        }
        assert!(memory.forgotten >= 92 && found(&memory, &secret(1)).is_empty());
        let again = learn(&mut memory, 1);
        assert!(numbers.insert(memory.secret(again).number) && found(&memory, &secret(1)).len() == 1);
        assert_eq!(memory.distinct["secret"], 101, "one that was forgotten counts again");
    }

    #[test]
    fn what_an_exchange_at_work_met_is_forgotten_only_when_it_is_done() {
        let mut memory = Memory::default();
        memory.bound(8);
        let secret = |n: usize| format!("secret-number-{n:05}");
        let learn = |memory: &mut Memory, n: usize| memory.learn(secret(n).as_bytes(), Kind::Secret).unwrap();
        learn(&mut memory, 0);
        let first = memory.begin();
        (1..50).for_each(|n| _ = learn(&mut memory, n));
        let second = memory.begin();
        (50..100).for_each(|n| _ = learn(&mut memory, n));
        memory.done(first);
        assert!(found(&memory, &secret(49)).is_empty());
        assert!((50..100).all(|n| found(&memory, &secret(n)).len() == 1));
        memory.done(second);
        assert!(memory.secrets.len() <= 8 && memory.by_text.len() <= 8, "{}", memory.secrets.len());
        assert_eq!(memory.forgotten, 100 - memory.secrets.len() as u64);
    }

    #[test]
    fn a_label_is_not_searched_for_secrets() {
        let mut memory = Memory::default();
        memory.learn(b"oken-1!x", Kind::Secret).unwrap();
        memory.learn(b"api-key-1", Kind::Secret).unwrap();
        assert!(found(&memory, "!api-key-1! and !api-key-17!").is_empty());
        assert_eq!(found(&memory, "api-key-1"), ["api-key-1"]);
    }

    #[test]
    fn thousands_of_secrets_are_all_found_again_by_few_searches() {
        let mut memory = Memory::default();
        for n in 0..2000 {
            memory.learn(format!("secret-number-{n:05}").as_bytes(), Kind::Secret).unwrap();
        }
        assert!(memory.index().levels.len() < 12, "{}", memory.index().levels.len());
        for n in [0, 999, 1999] {
            assert_eq!(found(&memory, &format!("a secret-number-{n:05} b")).len(), 1);
        }
    }
}
