//! Finding known secrets in a text, in one pass.
//!
//! An [`Index`] is a [`NgramFilter`], which rules out nearly every text, and behind it a short list of
//! multi-pattern searches, each about twice as large as the next. A new secret adds a small one and merges those of
//! like size; each is compiled when the filter first lets a text through, so that a secret that never comes again costs
//! no compiling. A search never waits for a new secret: it works on a snapshot.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use aho_corasick::AhoCorasick;
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD},
};

use super::ngram_filter::{self, NgramFilter};
use crate::hex::hex;
use crate::redact::{
    find::steps::looked,
    kind::{self, MatchScope},
    label,
    mark::Id,
};

/// Secrets longer than this are found by a part of them.
pub(super) const ANCHOR: usize = 32;

/// The form in which a text holds a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::redact) enum Form {
    Raw,
    Base64,
    Hex,
}

impl Form {
    pub(in crate::redact) fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Base64 => "base64",
            Self::Hex => "hex",
        }
    }
}

/// What is searched for to find a secret.
#[derive(Debug, Clone)]
pub(in crate::redact) struct Pattern {
    secret: Id,
    form: Form,
    needle: Vec<u8>,
    /// For a part of a long secret: all of it, and where the part begins.
    whole: Option<(Arc<[u8]>, usize)>,
    spread: MatchScope,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::redact) struct KnownMatch {
    pub(in crate::redact) range: Range<usize>,
    pub(in crate::redact) secret: Id,
    pub(in crate::redact) form: Form,
}

/// Every spread secret, ready to be searched for.
#[derive(Debug, Default)]
pub(in crate::redact) struct Index {
    filter: NgramFilter,
    pub(in crate::redact) levels: Vec<Arc<Level>>,
    /// Whether some secret holds a blank, so that `+` in a query has to be read as one.
    pub(in crate::redact) blanks: bool,
    /// Whether some secret holds a quote, a backslash or a control character, which JSON writes as an escape.
    pub(in crate::redact) escaped: bool,
    /// Grows with every change.
    pub(in crate::redact) generation: u64,
    /// Every text is searched, even one that the filter rules out.
    thorough: bool,
}

/// Patterns that are searched for together.
#[derive(Debug)]
pub(in crate::redact) struct Level {
    patterns: Vec<Pattern>,
    /// Compiled at the first search.
    search: OnceLock<Option<AhoCorasick>>,
}

impl Level {
    /// `None` only beyond two billion states; what is then not found by value is still found by field.
    fn search(&self) -> Option<&AhoCorasick> {
        let compile = || AhoCorasick::new(self.patterns.iter().map(|pattern| &pattern.needle)).ok();
        self.search.get_or_init(compile).as_ref()
    }
}

/// Adds what finds this text of a secret; nothing for one that is replaced in its own field only.
pub(in crate::redact) fn patterns_of(text: &Arc<[u8]>, secret: Id, out: &mut Vec<Pattern>) {
    let spread = kind::match_scope(text);
    if spread == MatchScope::Field {
        return;
    }
    let mut anchors: Vec<(usize, &[u8])> = Vec::new();
    if text.len() <= ANCHOR + ANCHOR / 2 {
        anchors.push((0, text));
    } else {
        // The end distinguishes tokens, the beginning finds cut ones; a JWT's beginning is its algorithm, and known by
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
            if core.len() >= ngram_filter::MIN_NEEDLE && !cores.contains(&core) {
                cores.push(core);
            }
        }
    }
    cores
}

impl Index {
    /// An empty one that does without its filter.
    pub(in crate::redact) fn thorough() -> Self {
        Self { thorough: true, ..Self::default() }
    }

    /// The same with these patterns.
    pub(in crate::redact) fn with(&self, mut patterns: Vec<Pattern>) -> Self {
        let mut filter = self.filter.clone();
        looked(self.levels.iter().map(|level| level.patterns.len()).sum());
        let held = self.levels.iter().flat_map(|level| &level.patterns);
        filter.add(patterns.iter().map(Pattern::bytes), held.map(Pattern::bytes));
        let mut levels = self.levels.clone();
        while levels.last().is_some_and(|last| last.patterns.len() <= 2 * patterns.len()) {
            if let Some(last) = levels.pop() {
                patterns.splice(0..0, last.patterns.iter().cloned());
            }
        }
        let blanks = self.blanks || patterns.iter().any(|pattern| pattern.needle.contains(&b' '));
        let is_escaped = |byte: &u8| *byte < b' ' || matches!(byte, b'"' | b'\\');
        let escaped = self.escaped || patterns.iter().any(|pattern| pattern.needle.iter().any(is_escaped));
        levels.push(Arc::new(Level { patterns, search: OnceLock::new() }));
        Self { filter, levels, blanks, escaped, generation: self.generation + 1, thorough: self.thorough }
    }

    /// The same without the patterns of other secrets than these.
    pub(in crate::redact) fn only(&self, keep: impl Fn(Id) -> bool) -> Self {
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

    pub(in crate::redact) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Whether anything in the text may be a secret; no false "no" for text without codings.
    pub(in crate::redact) fn touches(&self, text: &[u8]) -> bool {
        self.thorough || self.filter.touches(text)
    }

    /// Every secret in the text as it stands (no coding undone). `path` says that the text is a path or holds one: a
    /// base64 text then ends at a slash, and words are not replaced.
    pub(in crate::redact) fn search(&self, text: &[u8], path: bool, out: &mut Vec<KnownMatch>) {
        if !self.touches(text) {
            return;
        }
        let mut labels: Option<Vec<Range<usize>>> = None;
        for level in &self.levels {
            let Some(search) = level.search() else { continue };
            // In a text that repeats itself the same part of it is hit again and again; it is grown once.
            let mut grown = [0..0, 0..0, 0..0];
            for hit in search.find_overlapping_iter(text) {
                looked(hit.range().len());
                let pattern = &level.patterns[hit.pattern().as_usize()];
                let labels = labels.get_or_insert_with(|| label::find(text).map(|(range, _)| range).collect());
                let before = labels.partition_point(|label| label.start <= hit.start());
                if before.checked_sub(1).is_some_and(|last| hit.end() <= labels[last].end) {
                    continue;
                }
                let known = &mut grown[pattern.form as usize];
                match pattern.range(text, hit.start()..hit.end(), path) {
                    Some(Extent::Exact(range)) => {
                        out.push(KnownMatch { range, secret: pattern.secret, form: pattern.form });
                    }
                    Some(Extent::Grown(_)) if known.start <= hit.start() && hit.end() <= known.end => {}
                    Some(Extent::Grown(part)) => {
                        let range = grow(text, hit.start()..hit.end(), part);
                        known.clone_from(&range);
                        out.push(KnownMatch { range, secret: pattern.secret, form: pattern.form });
                    }
                    None => {}
                }
            }
        }
    }
}

/// How far a secret reaches around a hit.
enum Extent {
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
    fn range(&self, text: &[u8], hit: Range<usize>, path: bool) -> Option<Extent> {
        match self.form {
            Form::Raw => {
                let spoken = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
                let adjoined = spoken(hit.end) || (hit.start > 0 && spoken(hit.start - 1));
                match self.spread {
                    MatchScope::Field => return None,
                    MatchScope::Word if adjoined || path => return None,
                    MatchScope::Bounded if adjoined => return None,
                    _ => {}
                }
                let Some((whole, at)) = &self.whole else { return Some(Extent::Exact(hit)) };
                let start = hit.start.checked_sub(*at);
                let whole = start
                    .map(|start| start..start + whole.len())
                    .filter(|range| text.get(range.clone()) == Some(&**whole));
                Some(whole.map_or(Extent::Grown(is_token_byte), Extent::Exact))
            }
            Form::Base64 if path && !text[hit].contains(&b'/') => Some(Extent::Grown(is_base64_but_slash)),
            Form::Base64 => Some(Extent::Grown(|byte| is_base64_but_slash(byte) || byte == b'/')),
            Form::Hex => Some(Extent::Grown(|byte| byte.is_ascii_hexdigit())),
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
