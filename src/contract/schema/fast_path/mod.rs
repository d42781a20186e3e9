//! One look at a value that may settle it: it conforms, and nothing about it is undocumented.
//!
//! Compiled from the same schemas as the judge and the gap walker, for the keywords that documents mostly use. It never
//! says what is wrong. Whatever it does not know, or does not know for certain, is in doubt, and then the judge and the
//! gap walker are asked: a keyword, an escape in a name, a number that is no small integer, two branches that might both
//! hold. In debug builds every value that it settles is given to them all the same.

mod compile;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use jsonschema::Validator;

use super::{formats, gaps::Known};
use crate::json::{Kind, Node, Tape, TapeNode};

/// The fast path's table: every set of schemas of a document that applies to a value together.
pub(super) struct FastPath {
    /// By index; a shape may refer to itself.
    shapes: Vec<Shape>,
}

/// What is asked of a value by all schemas that speak of it together.
enum Shape {
    /// Nobody knows at a glance.
    Doubt,
    /// Anything goes, at any depth.
    Anything,
    /// Scalars of these types, whatever they are.
    Scalar(Kinds),
    /// Exactly one of these branches has to be possible.
    Choice(Vec<Branch>),
    /// A member selects the shape.
    Select(Box<Select>),
    Plain(Box<Plain>),
}

/// A member whose value selects what is asked.
struct Select {
    property: Box<str>,
    cases: Vec<(Box<str>, usize)>,
    /// Where the member is absent.
    otherwise: usize,
}

/// A branch of `oneOf` or `anyOf`.
struct Branch {
    /// The types that it takes.
    kinds: Kinds,
    /// Members that an object has to have.
    required: Vec<Box<str>>,
    /// Members that are one of a few texts where they are there.
    telling: Vec<(Box<str>, Vec<Box<str>>)>,
    /// What is asked where it is the only one that is possible.
    shape: usize,
}

#[derive(Default)]
struct Plain {
    kinds: Kinds,
    /// Numbers are whole.
    whole: bool,
    least: Option<i64>,
    most: Option<i64>,
    text: Text,
    members: Members,
    items: Items,
    /// Judges for single keywords.
    asked: Vec<Arc<Validator<Tape>>>,
}

/// JSON types, as a set of [`Kind`]s.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kinds(u8);

impl Kinds {
    const ALL: Self = Self(0b11_1111);

    fn of(kind: Kind) -> Self {
        Self(1 << kind as u8)
    }

    fn has(self, kind: Kind) -> bool {
        self.0 & Self::of(kind).0 != 0
    }
}

impl Default for Kinds {
    fn default() -> Self {
        Self::ALL
    }
}

/// What is asked of a string.
#[derive(Default)]
struct Text {
    shortest: usize,
    longest: Option<usize>,
    allowed: Option<Vec<Box<str>>>,
    /// Documented values of an open set; empty where there is none.
    known: Vec<Known>,
    formats: Vec<Format>,
}

/// A format with a reading of ours for its usual form; the judge is asked about every other.
struct Format {
    is_plain: fn(&[u8]) -> bool,
    judge: Arc<Validator<Tape>>,
}

/// What is asked of an object.
#[derive(Default)]
struct Members {
    fewest: usize,
    most: Option<usize>,
    /// In the order of the document.
    named: Vec<Named>,
    /// The same names, sorted, with their indices into `named`; empty where there are few.
    sorted: Vec<(Box<str>, usize)>,
    /// The bits of all required members.
    required: u64,
    others: Others,
}

struct Named {
    name: Box<str>,
    /// Its bit among the required members; 0 if it is none.
    bit: u64,
    shape: Others,
}

/// What becomes of a member without a name, or of an item.
#[derive(Default, Clone, Copy, PartialEq)]
enum Others {
    /// It is a gap, or must not be.
    #[default]
    Doubt,
    /// It is there on purpose, and nothing below it is looked at.
    Covered,
    /// As [`Shape::Scalar`].
    Scalar(Kinds),
    Shape(usize),
}

/// What is asked of an array.
#[derive(Default)]
struct Items {
    fewest: usize,
    most: Option<usize>,
    each: Others,
}

/// Up to here a name is looked for from the first to the last.
const FEW: usize = 8;

impl FastPath {
    /// Whether a value certainly conforms to a shape and has no gap. Recurses as deep as the value is.
    pub(super) fn certainly_conforms(&self, shape: usize, root: Node<'_>, is_origin: &dyn Fn(&str) -> bool) -> bool {
        Look { shapes: &self.shapes, is_origin }.shape(shape, root)
    }

    /// Whether a text outside of any document certainly conforms; known values are not compared.
    pub(super) fn text_certainly_conforms(&self, shape: usize, text: &str) -> bool {
        match &self.shapes[shape] {
            Shape::Anything => true,
            Shape::Scalar(kinds) => kinds.has(Kind::String),
            Shape::Plain(plain) => {
                let judges = |judge: &Arc<Validator<Tape>>| judge.is_valid(TapeNode::Text(text));
                plain.kinds.has(Kind::String)
                    && plain.text.takes(text.as_bytes(), TapeNode::Text(text))
                    && plain.asked.iter().all(judges)
            }
            Shape::Doubt | Shape::Choice(_) | Shape::Select(_) => false,
        }
    }

    /// Whether the text of a parameter stands for an integer that certainly conforms.
    pub(super) fn integer_certainly_conforms(&self, shape: usize, text: &str) -> bool {
        match &self.shapes[shape] {
            Shape::Plain(plain) if !plain.kinds.has(Kind::String) && plain.kinds.has(Kind::Number) => {
                plain.asked.is_empty() && small(text).is_some_and(|number| plain.bounds(number))
            }
            _ => false,
        }
    }
}

/// One look, on its way.
struct Look<'g> {
    shapes: &'g [Shape],
    is_origin: &'g dyn Fn(&str) -> bool,
}

impl Look<'_> {
    fn shape(&self, index: usize, value: Node<'_>) -> bool {
        match &self.shapes[index] {
            Shape::Doubt => false,
            Shape::Anything => true,
            Shape::Scalar(kinds) => kinds.has(value.kind()),
            Shape::Choice(branches) => {
                let kind = value.kind();
                let only = only(branches.iter().filter(|branch| branch.is_likely(kind, value)))
                    .or_else(|| only(branches.iter().filter(|branch| branch.is_possible(kind, value))));
                only.is_some_and(|branch| self.shape(branch.shape, value))
            }
            Shape::Select(select) => match value.get(&select.property) {
                None => self.shape(select.otherwise, value),
                Some(told) => told.plain_text().is_some_and(|told| {
                    let case = select.cases.iter().find(|(held, _)| held.as_bytes() == told);
                    case.is_some_and(|(_, shape)| self.shape(*shape, value))
                }),
            },
            Shape::Plain(plain) => self.plain(plain, value),
        }
    }

    fn plain(&self, plain: &Plain, value: Node<'_>) -> bool {
        let kind = value.kind();
        plain.kinds.has(kind)
            && match kind {
                Kind::Null | Kind::Boolean => true,
                Kind::Number => plain.number(value),
                Kind::String => self.text(&plain.text, value),
                Kind::Array => self.items(&plain.items, value),
                Kind::Object => self.members(&plain.members, value),
            }
            && plain.asked.iter().all(|judge| judge.is_valid(TapeNode::Value(value)))
    }

    fn text(&self, text: &Text, value: Node<'_>) -> bool {
        if text.asks_nothing() {
            return true;
        }
        let Some(bytes) = value.plain_text() else { return false };
        text.takes(bytes, TapeNode::Value(value))
            && (text.known.is_empty()
                || value
                    .as_str()
                    .is_some_and(|held| text.known.iter().any(|known| known.matches(&held, self.is_origin))))
    }

    fn items(&self, items: &Items, value: Node<'_>) -> bool {
        let count = value.len();
        if count < items.fewest || items.most.is_some_and(|most| count > most) {
            return false;
        }
        match items.each {
            _ if count == 0 => true,
            Others::Doubt => false,
            Others::Covered => true,
            Others::Scalar(kinds) => value.items().all(|item| kinds.has(item.kind())),
            Others::Shape(shape) => value.items().all(|item| self.shape(shape, item)),
        }
    }

    fn members(&self, members: &Members, value: Node<'_>) -> bool {
        let count = value.len();
        if count < members.fewest || members.most.is_some_and(|most| count > most) {
            return false;
        }
        let mut seen = 0;
        // Members mostly come in the order in which they are documented.
        let mut expected = 0;
        for (name, member) in value.entries() {
            let Some(name) = name.plain_text() else { return false };
            let others = match members.find(name, expected) {
                None => members.others,
                Some(index) => {
                    let named = &members.named[index];
                    expected = index + 1;
                    seen |= named.bit;
                    named.shape
                }
            };
            let settled = match others {
                Others::Doubt => false,
                Others::Covered => true,
                Others::Scalar(kinds) => kinds.has(member.kind()),
                Others::Shape(shape) => self.shape(shape, member),
            };
            if !settled {
                return false;
            }
        }
        seen == members.required
    }
}

/// The only one that there is.
fn only<T>(mut those: impl Iterator<Item = T>) -> Option<T> {
    those.next().filter(|_| those.next().is_none())
}

impl Branch {
    /// False only where the value breaks the branch for certain, by its type or by a member that tells.
    fn is_likely(&self, kind: Kind, value: Node<'_>) -> bool {
        let tells = |(name, values): &(Box<str>, Vec<Box<str>>)| {
            let is_called = |held: Node<'_>| held.plain_text().is_some_and(|held| held == name.as_bytes());
            let mut called = value.entries().filter(|(held, _)| is_called(*held));
            called.next().is_none_or(|(_, told)| match told.plain_text() {
                Some(text) => is_among(values, text),
                // With escapes, nobody knows; what is no string is none of these texts.
                None => told.kind() == Kind::String,
            })
        };
        self.kinds.has(kind) && (kind != Kind::Object || self.telling.iter().all(tells))
    }

    /// The same, and by a member that is missing.
    fn is_possible(&self, kind: Kind, value: Node<'_>) -> bool {
        self.is_likely(kind, value)
            && (kind != Kind::Object || self.required.iter().all(|name| value.get(name).is_some()))
    }
}

impl Plain {
    /// Whether no scalar of its types breaks it, and it takes no others.
    fn is_scalar(&self) -> bool {
        let takes = |kind| self.kinds.has(kind);
        self.asked.is_empty()
            && !takes(Kind::Object)
            && !takes(Kind::Array)
            && (!takes(Kind::String) || self.text.asks_nothing())
            && (!takes(Kind::Number) || self.takes_any_number())
    }

    fn takes_any_number(&self) -> bool {
        !self.whole && self.least.is_none() && self.most.is_none()
    }

    fn number(&self, value: Node<'_>) -> bool {
        self.takes_any_number() || value.as_number().and_then(small).is_some_and(|number| self.bounds(number))
    }

    fn bounds(&self, number: i64) -> bool {
        self.least.is_none_or(|least| number >= least) && self.most.is_none_or(|most| number <= most)
    }
}

impl Text {
    fn asks_nothing(&self) -> bool {
        self.shortest == 0
            && self.longest.is_none()
            && self.allowed.is_none()
            && self.known.is_empty()
            && self.formats.is_empty()
    }

    /// Whether a text without escapes conforms, but for its known values; `value` is the same for a judge.
    fn takes(&self, text: &[u8], value: TapeNode<'_>) -> bool {
        self.fits(text)
            && self.allowed.as_ref().is_none_or(|allowed| is_among(allowed, text))
            && self.formats.iter().all(|format| (format.is_plain)(text) || format.judge.is_valid(value))
    }

    /// Whether it has as many characters as it may have; they are counted where the bytes do not tell.
    fn fits(&self, text: &[u8]) -> bool {
        let (least, most) = (text.len().div_ceil(4), text.len());
        if least >= self.shortest && self.longest.is_none_or(|longest| most <= longest) {
            return true;
        }
        let characters = text.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        characters >= self.shortest && self.longest.is_none_or(|longest| characters <= longest)
    }
}

impl Members {
    fn find(&self, name: &[u8], expected: usize) -> Option<usize> {
        let is_called = |named: &Named| named.name.as_bytes() == name;
        if self.named.get(expected).is_some_and(is_called) {
            return Some(expected);
        }
        if self.sorted.is_empty() {
            return self.named.iter().position(is_called);
        }
        let at = self.sorted.binary_search_by(|(held, _)| held.as_bytes().cmp(name)).ok()?;
        Some(self.sorted[at].1)
    }
}

fn is_among(texts: &[Box<str>], text: &[u8]) -> bool {
    texts.iter().any(|held| held.as_bytes() == text)
}

/// The integer that a number's text is, if it is written as one, plainly, and small.
fn small(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    if !matches!(digits, [b'0'] | [b'1'..=b'9', ..]) || digits.len() > 15 {
        return None;
    }
    let digit = |value, byte: &u8| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte & 15));
    let value = digits.iter().try_fold(0, digit)?;
    Some(if digits.len() < text.len() { -value } else { value })
}
