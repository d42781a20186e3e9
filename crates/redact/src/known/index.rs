//! Finding known secrets in a text, as they are.
//!
//! An [`Index`] is a [`NgramFilter`], which rules out nearly every text and every place of the others, and behind it
//! a few sorted lists of secrets, each about twice as long as the next. What a text begins with at a place is the
//! secret that precedes it in the order, or a beginning of that one. A search never waits for a new secret: it works on
//! a snapshot.

use std::{ops::Range, sync::Arc};

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD},
};
use contrail_exchange::hex::hex;

use super::ngram_filter::{self, NgramFilter};
use crate::{
    find::steps::{is_thorough, looked},
    kind::{self, MatchScope},
    label,
    mark::Id,
    runs,
};

/// So many bytes at the beginning of a longer secret are found by themselves: what an error message cut is one, too.
pub(super) const PREFIX: usize = 32;

/// The form in which a text holds a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    Raw,
    Percent,
    Escaped,
    Base64,
    Hex,
}

impl Form {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Percent => "percent-encoded",
            Self::Escaped => "escaped",
            Self::Base64 => "base64",
            Self::Hex => "hex",
        }
    }
}

/// What is searched for to find a secret.
#[derive(Debug, Clone)]
pub(crate) struct Needle {
    text: Arc<[u8]>,
    secret: Id,
    form: Form,
    scope: MatchScope,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownMatch {
    pub(crate) range: Range<usize>,
    pub(crate) secret: Id,
    pub(crate) form: Form,
}

/// Every secret that is looked for by value.
#[derive(Debug, Default)]
pub(crate) struct Index {
    filter: NgramFilter,
    /// Each in the order of its texts.
    pub(super) levels: Vec<Arc<[Needle]>>,
    /// Whether some secret holds a blank, so that `+` may stand for one.
    pub(crate) blanks: bool,
    /// Whether some secret holds a quote, a backslash or a control character, which JSON writes as an escape.
    pub(crate) escaped: bool,
    /// Grows with every change.
    pub(crate) generation: u64,
}

/// Adds what finds this text of a secret; nothing for one that is replaced in its own field only.
pub(crate) fn needles_of(text: &Arc<[u8]>, secret: Id, out: &mut Vec<Needle>) {
    let scope = kind::match_scope(text);
    if scope == MatchScope::Field {
        return;
    }
    out.push(Needle { text: Arc::clone(text), secret, form: Form::Raw, scope });
    // Base64 and hex of what shows itself there is decoded.
    if runs::shows_itself(text) {
        return;
    }
    let mut add = |text: &[u8], form| out.push(Needle { text: text.into(), secret, form, scope: MatchScope::Anywhere });
    for core in base64_cores(text) {
        add(&core, Form::Base64);
    }
    let digits = hex(text);
    add(digits.as_bytes(), Form::Hex);
    let upper = digits.to_ascii_uppercase();
    if upper != digits {
        add(upper.as_bytes(), Form::Hex);
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
            if core.len() >= ngram_filter::MIN_NEEDLE && !cores.contains(&core) {
                cores.push(core);
            }
        }
    }
    cores
}

impl Index {
    /// The same with these needles.
    pub(crate) fn with(&self, mut needles: Vec<Needle>) -> Self {
        let mut filter = self.filter.clone();
        looked(self.levels.iter().map(|level| level.len()).sum());
        let held = self.levels.iter().flat_map(|level| &**level);
        filter.add(needles.iter().map(Needle::beginning), held.map(Needle::beginning));
        let blanks = self.blanks || needles.iter().any(|needle| needle.text.contains(&b' '));
        let is_escaped = |byte: &u8| *byte < b' ' || matches!(byte, b'"' | b'\\');
        let escaped = self.escaped || needles.iter().any(|needle| needle.text.iter().any(is_escaped));
        let mut levels = self.levels.clone();
        while levels.last().is_some_and(|last| last.len() <= 2 * needles.len()) {
            needles.extend(levels.pop().into_iter().flat_map(|last| last.to_vec()));
        }
        needles.sort_by(|one, other| one.text.cmp(&other.text));
        levels.push(needles.into());
        Self { filter, levels, blanks, escaped, generation: self.generation + 1 }
    }

    /// The same without the needles of other secrets than these.
    pub(crate) fn only(&self, keep: impl Fn(Id) -> bool) -> Self {
        let held = self.levels.iter().flat_map(|level| &**level);
        let needles: Vec<Needle> = held.filter(|needle| keep(needle.secret)).cloned().collect();
        let empty = Self { generation: self.generation, ..Self::default() };
        if needles.is_empty() { Self { generation: self.generation + 1, ..empty } } else { empty.with(needles) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Whether anything in the text may be a secret; no false "no" for text without codings.
    pub(crate) fn touches(&self, text: &[u8]) -> bool {
        is_thorough() || self.filter.touches(text)
    }

    /// Every secret in the text as it stands (no coding undone); in a path, words are not replaced.
    ///
    /// Secrets that begin alike are compared with the text at each place that begins like them. Beyond so much of that
    /// the rest of the text is one secret.
    pub(crate) fn search(&self, text: &[u8], path: bool, out: &mut Vec<KnownMatch>) {
        /// Bytes that are compared for each byte of the text, and for any text.
        const COMPARED: usize = 128;
        const COMPARED_ANYWAY: usize = 1 << 14;
        if self.is_empty() || !self.touches(text) {
            return;
        }
        let mut labels: Option<Vec<Range<usize>>> = None;
        let is_thorough = is_thorough();
        let mut left = COMPARED_ANYWAY + COMPARED * text.len();
        // Where what was found ends, and what of it was grown.
        let (mut until, mut grown_until) = (0, 0);
        for at in 0..text.len() {
            if !is_thorough && !self.filter.begins(&text[at..]) {
                continue;
            }
            let found = self.levels.iter().filter_map(|level| begins(level, text, at, path, &mut left));
            let is_whole = |(needle, end): &(&Needle, usize)| at + needle.text.len() == *end;
            // The longest one, and any rather than the beginning of one.
            let found = found.max_by_key(|found| (is_whole(found), found.1));
            if left == 0 {
                let needle = found.map(|(needle, _)| needle).or(self.levels[0].first());
                let rest =
                    |needle: &Needle| KnownMatch { range: at..text.len(), secret: needle.secret, form: Form::Raw };
                out.extend(needle.map(rest));
                return;
            }
            let Some((needle, end)) = found else { continue };
            let is_cut = !is_whole(&(needle, end));
            // What begins inside of what was found last is no cut secret, and a run is grown once, whatever in it is
            // found again.
            if is_cut && at < until || needle.form != Form::Raw && end <= grown_until {
                continue;
            }
            let labels = labels.get_or_insert_with(|| label::find(text).map(|(range, _)| range).collect());
            let before = labels.partition_point(|label| label.start <= at);
            if before.checked_sub(1).is_some_and(|last| end <= labels[last].end) {
                continue;
            }
            let mut range = needle.form.grown(text, at..end);
            if is_cut {
                range.end += token_bytes(&text[end..]);
            }
            until = until.max(range.end);
            if needle.form != Form::Raw {
                grown_until = range.end;
            }
            out.push(KnownMatch { range, secret: needle.secret, form: needle.form });
        }
    }
}

/// The longest of these needles with which the text goes on at a place, and where it ends; or the beginning of one, and
/// where the text goes on otherwise.
fn begins<'n>(
    needles: &'n [Needle],
    text: &[u8],
    at: usize,
    path: bool,
    left: &mut usize,
) -> Option<(&'n Needle, usize)> {
    let (mut rest, mut cut) = (&text[at..], None);
    let (first, last) = (needles.first()?, needles.last()?);
    while *left > 0 {
        // Those before `low` do not come after the text in the order, those from there on do. What the first and the
        // last have in common with it, all between them have.
        let shared = first.common(rest, 0, left).min(last.common(rest, 0, left));
        let low = needles.partition_point(|needle| {
            let common = needle.common(rest, shared, left);
            needle.text.get(common).is_none_or(|byte| rest.get(common).is_some_and(|other| byte < other))
        });
        let mut beside = |at: Option<usize>| {
            let needle = needles.get(at?)?;
            Some((needle, needle.common(rest, shared, left)))
        };
        let (held, next) = (beside(low.checked_sub(1)), beside(Some(low)));
        cut = cut.or_else(|| held.into_iter().chain(next).max_by_key(|(_, common)| *common));
        let Some((held, common)) = held else { break };
        let is_whole = common == held.text.len();
        if is_whole && held.counts(text, at..at + common, path) {
            return Some((held, at + common));
        }
        // A shorter one, or none.
        rest = &rest[..common - usize::from(is_whole)];
    }
    let (cut, common) = cut?;
    (common >= PREFIX && cut.is_known_cut()).then_some((cut, at + common))
}

impl Needle {
    fn beginning(&self) -> &[u8] {
        &self.text[..self.text.len().min(PREFIX)]
    }

    /// How many bytes it has in common with a text, of which so many are known to be; the others are taken off those
    /// that may be compared.
    fn common(&self, text: &[u8], known: usize, left: &mut usize) -> usize {
        let (own, other) = (&self.text[known..], &text[known..]);
        let more = own.iter().zip(other).take_while(|(one, other)| one == other).count();
        // A line of the cache at a time.
        looked(more / 64 + 1);
        *left = left.saturating_sub(more + 1);
        known + more
    }

    /// Whether a beginning of it may be it: a JWT's is its algorithm, and an armoured key's its armour.
    fn is_known_cut(&self) -> bool {
        !self.text.starts_with(b"ey") && !self.text.starts_with(b"-----")
    }

    /// Whether it counts where it stands.
    fn counts(&self, text: &[u8], range: Range<usize>, path: bool) -> bool {
        let spoken = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
        let adjoined = spoken(range.end) || (range.start > 0 && spoken(range.start - 1));
        match self.scope {
            MatchScope::Field => false,
            MatchScope::Word => !adjoined && !path,
            MatchScope::Bounded => !adjoined,
            MatchScope::Anywhere => true,
        }
    }
}

impl Form {
    /// All of the letters that a secret in base64 or hex is a part of.
    fn grown(self, text: &[u8], range: Range<usize>) -> Range<usize> {
        let part: fn(&u8) -> bool = match self {
            Self::Base64 => |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'_' | b'='),
            Self::Hex => u8::is_ascii_hexdigit,
            Self::Raw | Self::Percent | Self::Escaped => return range,
        };
        let before = text[..range.start].iter().rev().take_while(|byte| part(byte)).count();
        let after = text[range.end..].iter().take_while(|byte| part(byte)).count();
        looked(before + after);
        range.start - before..range.end + after
    }
}

/// How many bytes of a token a text begins with.
fn token_bytes(text: &[u8]) -> usize {
    let is_token = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'-' | b'.' | b'_' | b'+' | b'=');
    let count = text.iter().take_while(is_token).count();
    looked(count);
    count
}
