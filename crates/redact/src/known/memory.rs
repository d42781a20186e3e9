//! A recording's memory: every secret with its label, and the [`Index`] that finds them again.
//!
//! A memory may have a bound. Beyond it, a quarter of the secrets is forgotten: the least recently seen ones, and none
//! that an exchange at work has seen. Such a value is recognised again by its field, its header or its shape.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use ahash::{AHashSet, RandomState};
use contrail_exchange::{ByToken, token::Recent};
use http::HeaderValue;

use super::index::{Index, Needle, PREFIX, needles_of};
use crate::{Bounds, kind::Kind, label, mark::Id, view::View};

/// What is known of one secret.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Secret {
    pub(crate) kind: Kind,
    /// The number in its label.
    pub(crate) number: u32,
    /// A message held it.
    counted: bool,
    /// When it was last seen, by [`Memory::clock`].
    seen: u64,
}

impl Secret {
    /// What stands for it, as a number or as a text.
    pub(crate) fn label(self, as_number: bool, bounds: Bounds) -> String {
        if as_number { self.number.to_string() } else { label::text(self.kind, self.number, bounds) }
    }
}

#[derive(Default)]
pub(crate) struct Memory {
    secrets: HashMap<Id, Secret>,
    by_text: HashMap<Arc<[u8]>, Id>,
    /// The next secret's.
    next: Id,
    /// Maximum secrets that are known at a time, beside those that the exchanges at work have seen.
    most: Option<usize>,
    /// How many there have to be for some to be forgotten.
    full: Option<usize>,
    /// When each exchange at work began, by [`Memory::clock`].
    at_work: Vec<u64>,
    /// How many were forgotten.
    pub(crate) forgotten: u64,
    /// Counts secrets as they are seen.
    clock: u64,
    /// Highest label number, given here or found in a text.
    highest: u32,
    index: Arc<Index>,
    /// What the next search needs in addition: an index of many secrets takes long to extend one by one.
    pending: Vec<Needle>,
    /// How many distinct secrets messages held, by kind.
    pub(crate) distinct: BTreeMap<&'static str, u64>,
    /// Hashes of the personal data, by kind.
    people: BTreeMap<Kind, AHashSet<u64>>,
    hasher: RandomState,
    /// Tokens whose facts hold no known secret, with the generation of the index that was searched.
    pub(crate) clean: ByToken<u64>,
    /// The redacted forms of the most recent `Authorization` values, and the secret in each.
    pub(crate) authorizations: Recent<(HeaderValue, Id)>,
}

impl Memory {
    /// Knows no more than so many secrets from here on.
    pub(crate) fn bound(&mut self, most: usize) {
        (self.most, self.full) = (Some(most), Some(most));
    }

    /// Work on an exchange begins. What it finds is not forgotten before its end, [`Self::done`] with what this gives.
    pub(crate) fn begin(&mut self) -> u64 {
        self.at_work.push(self.clock);
        self.clock
    }

    /// Work that began then is done.
    pub(crate) fn done(&mut self, began: u64) {
        if let Some(at) = self.at_work.iter().position(|other| *other == began) {
            self.at_work.swap_remove(at);
        }
        if self.most.is_some_and(|most| self.secrets.len() > most) {
            self.forget();
        }
    }

    /// Remembers a secret that a message holds; one that is known keeps its label. `None` for an empty text and for a
    /// label.
    pub(crate) fn learn(&mut self, text: &[u8], kind: Kind) -> Option<Id> {
        let id = self.foresee(text, kind)?;
        self.see(id);
        Some(id)
    }

    /// Remembers a secret that no message has held yet; it counts as soon as one does.
    pub(crate) fn foresee(&mut self, text: &[u8], kind: Kind) -> Option<Id> {
        if text.is_empty() || label::is_label_bytes(text) {
            return None;
        }
        if let Some(known) = self.known(text) {
            return Some(known);
        }
        let aliases = aliases(text);
        // The same secret in another spelling has the same label.
        let id = aliases.iter().find_map(|alias| self.known(alias)).unwrap_or_else(|| self.add(kind));
        for text in std::iter::once(text).chain(aliases.iter().map(Vec::as_slice)) {
            let text: Arc<[u8]> = text.into();
            if self.by_text.insert(Arc::clone(&text), id).is_none() {
                needles_of(&text, id, &mut self.pending);
            }
        }
        Some(id)
    }

    fn add(&mut self, kind: Kind) -> Id {
        if self.full.is_some_and(|full| self.secrets.len() >= full) {
            self.forget();
        }
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        self.highest = self.highest.saturating_add(1);
        self.clock += 1;
        self.secrets.insert(id, Secret { kind, number: self.highest, counted: false, seen: self.clock });
        id
    }

    /// Forgets secrets until there are three quarters of the most, or only those that exchanges at work have seen.
    fn forget(&mut self) {
        let Some(most) = self.most else { return };
        let mut seen: Vec<u64> = self.secrets.values().map(|secret| secret.seen).collect();
        let surplus = seen.len().saturating_sub(most - most / 4);
        let (_, newest_forgotten, _) = seen.select_nth_unstable(surplus);
        let newest_forgotten = self.at_work.iter().copied().fold(*newest_forgotten, u64::min);
        let before = self.secrets.len();
        self.secrets.retain(|_, secret| secret.seen > newest_forgotten);
        let left = self.secrets.len();
        // Where little could be forgotten, the next look at all of them waits until there are some more.
        self.full = Some(most.max(left + left / 4));
        if left == before {
            return;
        }
        self.forgotten += (before - left) as u64;
        self.by_text.retain(|_, id| self.secrets.contains_key(id));
        let index = self.index();
        self.index = Arc::new(index.only(|id| self.secrets.contains_key(&id)));
    }

    /// Notes that the secret was seen again. Whether it is still known.
    pub(crate) fn see(&mut self, id: Id) -> bool {
        self.clock += 1;
        let Some(secret) = self.secrets.get_mut(&id) else { return false };
        secret.seen = self.clock;
        if !std::mem::replace(&mut secret.counted, true) && !secret.kind.is_personal() {
            *self.distinct.entry(secret.kind.name()).or_default() += 1;
        }
        true
    }

    pub(crate) fn known(&self, text: &[u8]) -> Option<Id> {
        self.by_text.get(text).copied()
    }

    pub(crate) fn secret(&self, id: Id) -> Secret {
        // One that was forgotten while its exchange was on its way shares the last one's number.
        let forgotten = Secret { kind: Kind::Secret, number: self.highest.max(1), counted: false, seen: 0 };
        self.secrets.get(&id).copied().unwrap_or(forgotten)
    }

    /// Reserves a label number that a text holds; no other secret gets it.
    pub(crate) fn reserve(&mut self, number: u32) {
        self.highest = self.highest.max(number);
    }

    /// Counts a value that looks like personal data, once; up to a million of a kind.
    pub(crate) fn count_person(&mut self, value: &[u8], kind: Kind) {
        const MAX_PEOPLE: usize = 1_000_000;
        let hash = self.hasher.hash_one(value);
        let people = self.people.entry(kind).or_default();
        if people.len() < MAX_PEOPLE {
            people.insert(hash);
        }
    }

    pub(crate) fn people(&self) -> BTreeMap<&'static str, u64> {
        self.people.iter().map(|(kind, values)| (kind.name(), values.len() as u64)).collect()
    }

    pub(crate) fn index(&mut self) -> Arc<Index> {
        if !self.pending.is_empty() {
            self.index = Arc::new(self.index.with(std::mem::take(&mut self.pending)));
        }
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
        aliases.extend(lines.iter().rev().filter(|line| line.len() >= PREFIX).take(2).map(|line| line.to_vec()));
    }
    // A secret that was read from a file brings its line end along.
    let trimmed: Vec<_> =
        aliases.iter().map(Vec::as_slice).chain([text]).map(|text| text.trim_ascii().to_vec()).collect();
    aliases.extend(trimmed);
    aliases.retain(|alias| !alias.is_empty() && alias != text);
    aliases
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use base64::{
        Engine as _,
        prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
    };

    use super::*;
    use crate::known::{index::Form, search};
    use contrail_exchange::hex::hex;

    fn found(memory: &mut Memory, text: &str) -> Vec<String> {
        let mut out = Vec::new();
        out.extend(search::all(&memory.index(), text.as_bytes(), false));
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
                    assert_eq!(found(&mut memory, &format!("({encoded})")), [encoded]);
                }
                let hex = hex(text.as_bytes());
                assert_eq!(found(&mut memory, &format!("x{hex}")), [hex]);
                assert_eq!(found(&mut memory, &text), ["s3cr3t?value>~"]);
            }
        }
        assert!(found(&mut memory, "s3cr3t-value").is_empty());
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
    fn a_long_secret_is_found_whole_and_by_its_beginning() {
        let secret: String =
            (0..100_u8).map(|n| char::from(b'a' + n.wrapping_mul(7) % 26)).collect::<String>() + "0123";
        let mut memory = Memory::default();
        memory.learn(secret.as_bytes(), Kind::Secret).unwrap();
        assert!(found(&mut memory, &format!("<{secret}>")).iter().all(|part| *part == secret));
        assert_eq!(found(&mut memory, &format!("<{}>", &secret[..50])), [&secret[..50]]);
        assert!(found(&mut memory, &format!("<{}>", &secret[50..])).is_empty());
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
    fn white_space_around_a_secret_is_no_part_of_it_where_it_comes_again() {
        for text in ["s3cr3t-value\n", " \ts3cr3t-value", "s3cr3t-value\\n", "s3cr3t-value%0A"] {
            let mut memory = Memory::default();
            memory.learn(text.as_bytes(), Kind::Secret).unwrap();
            assert_eq!(found(&mut memory, "say s3cr3t-value!"), ["s3cr3t-value"], "{text:?}");
        }
    }

    #[test]
    fn a_bounded_memory_forgets_the_least_recently_seen_and_reuses_no_number() {
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
                assert_eq!(found(&mut memory, &secret(known)).len(), 1, "{known} after {n}");
            }
        }
        assert!(memory.forgotten >= 92 && found(&mut memory, &secret(1)).is_empty());
        let again = learn(&mut memory, 1);
        assert!(numbers.insert(memory.secret(again).number) && found(&mut memory, &secret(1)).len() == 1);
        assert_eq!(memory.distinct["secret"], 101, "one that was forgotten counts again");
    }

    #[test]
    fn secrets_of_an_exchange_in_progress_are_kept_until_its_end() {
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
        assert!(found(&mut memory, &secret(49)).is_empty());
        assert!((50..100).all(|n| found(&mut memory, &secret(n)).len() == 1));
        memory.done(second);
        assert!(memory.secrets.len() <= 8 && memory.by_text.len() <= 8, "{}", memory.secrets.len());
        assert_eq!(memory.forgotten, 100 - memory.secrets.len() as u64);
    }

    #[test]
    fn a_label_is_not_searched_for_secrets() {
        let mut memory = Memory::default();
        memory.learn(b"oken-1!x", Kind::Secret).unwrap();
        memory.learn(b"api-key-1", Kind::Secret).unwrap();
        assert!(found(&mut memory, "!api-key-1! and !api-key-17!").is_empty());
        assert_eq!(found(&mut memory, "api-key-1"), ["api-key-1"]);
    }

    #[test]
    fn thousands_of_secrets_are_all_found_again_by_few_searches() {
        let mut memory = Memory::default();
        for n in 0..2000 {
            memory.learn(format!("secret-number-{n:05}").as_bytes(), Kind::Secret).unwrap();
            memory.index();
        }
        assert!(memory.index().levels.len() < 12, "{}", memory.index().levels.len());
        for n in [0, 999, 1999] {
            assert_eq!(found(&mut memory, &format!("a secret-number-{n:05} b")).len(), 1);
        }
    }
}
