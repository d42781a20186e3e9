//! The table of shapes: what the schemas of a document ask of values.

use std::sync::Arc;

use contrail_exchange::json::Kind;

use crate::schema::represent::{Tape, TapeNode};
use ahash::AHashMap;
use jsonschema::Validator;

use super::{constants::Constants, kinds::Kinds};
use crate::schema::{decision::Decision, formats, gaps::KnownValues, order::shorter_first, pattern::Matcher};

/// Up to here a name is looked for from the first to the last.
pub(super) const FEW: usize = 8;

/// The fast path's table: every set of schemas of a document that applies to a value together.
pub(in crate::schema) struct FastPath {
    /// By index; a shape may refer to itself.
    pub(super) shapes: Vec<Shape>,
}

/// What all schemas that apply to a value require of it together.
pub(super) enum Shape {
    /// One look decides nothing.
    Doubt,
    /// Anything goes, at any depth.
    Anything,
    /// Scalars of these types, whatever they are.
    Scalar(Kinds),
    /// Branches of which one or more have to hold.
    Choice(Choice),
    /// A member selects the shape.
    Select(Box<Select>),
    Plain(Box<Plain>),
}

/// The branches of `oneOf` or `anyOf`.
pub(super) struct Choice {
    pub(super) holding: Holding,
    /// Null is in doubt (`nullable`).
    pub(super) nullable: bool,
    /// At most [`Choice::MAX_BRANCHES`].
    pub(super) branches: Vec<Branch>,
    /// A member that selects a branch.
    pub(super) decision: Option<Arc<Decision>>,
}

impl Choice {
    /// Maximum branches: one bit for each of those that may hold.
    pub(super) const MAX_BRANCHES: usize = 128;
}

/// How many branches hold.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Holding {
    One,
    Any,
    /// One, but a keyword without a check decides which: several may seem to.
    Undecided,
}

/// A member whose value selects what is asked.
pub(super) struct Select {
    pub(super) property: Box<str>,
    pub(super) cases: AHashMap<Box<[u8]>, usize>,
    /// Where the member is absent.
    pub(super) otherwise: usize,
    /// The same for all values that select none.
    pub(super) has_default: bool,
    /// The cases are schemas that extend this one, and a value has to conform to none of them.
    pub(super) children: bool,
}

/// A branch of `oneOf` or `anyOf`.
pub(super) struct Branch {
    /// The types that it takes.
    pub(super) kinds: Kinds,
    /// The value itself is one of these.
    pub(super) values: Option<Arc<Constants>>,
    /// Members that an object has to have, and need not have in every other branch.
    pub(super) required: Vec<Box<str>>,
    /// What it asks together with the rest of its set.
    pub(super) shape: usize,
}

#[derive(Default)]
pub(super) struct Plain {
    pub(super) kinds: Kinds,
    /// Null is in doubt (`nullable`).
    pub(super) nullable: bool,
    /// Numbers are whole.
    pub(super) whole: bool,
    pub(super) least: Option<i64>,
    pub(super) most: Option<i64>,
    /// It is one of each of these.
    pub(super) allowed: Vec<Arc<Constants>>,
    pub(super) text: Text,
    pub(super) members: Members,
    pub(super) items: Items,
    /// Judges for single keywords.
    pub(super) asked: Vec<Arc<Validator<Tape>>>,
}

/// What is asked of a string.
#[derive(Default)]
pub(super) struct Text {
    /// In characters.
    pub(super) length: Count,
    /// Documented values of an open set; empty where there is none.
    pub(super) known: Vec<Arc<KnownValues>>,
    pub(super) checks: Vec<Arc<TextCheck>>,
}

/// A format or a pattern, with a look of ours that decides about usual texts; the judge is asked about every other.
pub(super) struct TextCheck {
    look: TextLook,
    judge: Arc<Validator<Tape>>,
}

enum TextLook {
    Format(formats::Look),
    Pattern(Option<Box<Matcher>>),
}

/// How many characters, members or items there may be.
#[derive(Default)]
pub(super) struct Count {
    pub(super) least: usize,
    pub(super) most: Option<usize>,
}

/// What is asked of an object.
#[derive(Default)]
pub(super) struct Members {
    pub(super) count: Count,
    /// In the order of the document.
    pub(super) named: Vec<NamedMember>,
    /// The same names, sorted [`shorter_first`], with their indices into `named`; empty where there are few.
    pub(super) sorted: Vec<(Box<str>, usize)>,
    /// The bits of all required members.
    pub(super) required: u64,
    pub(super) others: Others,
}

pub(super) struct NamedMember {
    pub(super) name: Box<str>,
    /// Its bit among the required members; 0 if it is none.
    pub(super) bit: u64,
    pub(super) shape: Others,
}

/// What becomes of a member without a name, or of an item.
#[derive(Default, Clone, Copy, PartialEq)]
pub(super) enum Others {
    /// It is a gap.
    #[default]
    Gap,
    /// It must not be.
    Closed,
    /// It is there on purpose, and nothing below it is looked at.
    Covered,
    /// As [`Shape::Scalar`].
    Scalar(Kinds),
    Shape(usize),
    /// A shape of a member whose name is not shown.
    Unnamed(usize),
}

/// What is asked of an array.
#[derive(Default)]
pub(super) struct Items {
    pub(super) count: Count,
    /// No two are equal.
    pub(super) unique: bool,
    pub(super) each: Others,
}

impl Plain {
    /// Restricts it to listed values.
    pub(super) fn allow(&mut self, constants: Arc<Constants>) {
        self.kinds.0 &= constants.kinds().0;
        self.allowed.push(constants);
    }

    /// Whether no scalar of its types breaks it, and it takes no others.
    pub(super) fn is_scalar(&self) -> bool {
        let takes = |kind| self.kinds.has(kind);
        self.asked.is_empty()
            && self.allowed.is_empty()
            && !self.nullable
            && self.text.known.is_empty()
            && !takes(Kind::Object)
            && !takes(Kind::Array)
            && (!takes(Kind::String) || self.text.asks_nothing())
            && (!takes(Kind::Number) || !(self.whole || self.has_bounds()))
    }

    pub(super) fn has_bounds(&self) -> bool {
        self.least.is_some() || self.most.is_some()
    }
}

impl Text {
    pub(super) fn asks_nothing(&self) -> bool {
        self.length.is_any() && self.known.is_empty() && self.checks.is_empty()
    }

    /// Whether a text conforms, but for its known values; `value` is the same for a judge.
    pub(super) fn takes(&self, text: &[u8], value: TapeNode<'_>) -> bool {
        self.fits(text) && self.checks.iter().all(|check| check.holds(text, value))
    }

    /// Whether it has as many characters as it may have; they are counted where the bytes do not decide.
    pub(super) fn fits(&self, text: &[u8]) -> bool {
        if self.length.fits(text.len().div_ceil(4)) && self.length.fits(text.len()) {
            return true;
        }
        self.length.fits(text.iter().filter(|byte| **byte & 0xC0 != 0x80).count())
    }
}

impl TextCheck {
    /// Of a `format` or a `pattern`, with the judge of it.
    pub(super) fn of(keyword: &str, text: &str, judge: Arc<Validator<Tape>>) -> Self {
        let look = match keyword {
            "pattern" => TextLook::Pattern(Matcher::of(text).map(Box::new)),
            _ => TextLook::Format(formats::look(text)),
        };
        Self { look, judge }
    }

    fn holds(&self, text: &[u8], value: TapeNode<'_>) -> bool {
        let decided = match &self.look {
            TextLook::Format(look) => look(text),
            TextLook::Pattern(matcher) => matcher.as_ref().map(|matcher| matcher.matches(text)),
        };
        decided.unwrap_or_else(|| self.judge.is_valid(value))
    }
}

impl Count {
    fn is_any(&self) -> bool {
        self.least == 0 && self.most.is_none()
    }

    pub(super) fn at_least(&mut self, count: usize) {
        self.least = self.least.max(count);
    }

    pub(super) fn fits(&self, count: usize) -> bool {
        count >= self.least && self.most.is_none_or(|most| count <= most)
    }
}

impl Members {
    pub(super) fn find(&self, name: &[u8], expected: usize) -> Option<usize> {
        let is_called = |named: &NamedMember| named.name.as_bytes() == name;
        if self.named.get(expected).is_some_and(is_called) {
            return Some(expected);
        }
        if self.sorted.is_empty() {
            return self.named.iter().position(is_called);
        }
        let at = self.sorted.binary_search_by(|(held, _)| shorter_first(held.as_bytes(), name)).ok()?;
        Some(self.sorted[at].1)
    }
}
