//! One look at a value that may settle it: it conforms, and nothing about it is undocumented.
//!
//! Compiled from the same schemas as the judge and the gap walker, for the keywords that documents mostly use. It never
//! says what is wrong. Whatever it does not know, or does not know for certain, is in doubt, and then the judge and the
//! gap walker are asked: a keyword, a number that is no small integer. It also decides the branches of choices for the
//! gap walker, each once for a value. In debug builds every value is given to the judge all the same.

mod compile;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, cell::RefCell, sync::Arc};

use ahash::AHashMap;
use jsonschema::Validator;

use super::{formats, gaps::Known};
use crate::json::{Kind, Node, Tape, TapeNode};

/// The fast path's table: every set of schemas of a document that applies to a value together.
pub(super) struct FastPath {
    /// By index; a shape may refer to itself.
    shapes: Vec<Shape>,
}

/// The fast path's outcome for a value. Of several parts of a value the greatest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// It conforms, and nothing about it is undocumented.
    Conforms,
    /// It conforms. Something about it may be undocumented.
    Valid,
    /// Anything may be.
    Doubt,
    /// It does not conform.
    Violates,
}

impl Outcome {
    fn of(holds: bool) -> Self {
        if holds { Self::Conforms } else { Self::Violates }
    }
}

/// What is asked of a value by all schemas that speak of it together.
enum Shape {
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
struct Choice {
    holding: Holding,
    /// Null is in doubt (`nullable`).
    nullable: bool,
    branches: Vec<Branch>,
}

/// How many branches hold.
#[derive(Clone, Copy, PartialEq)]
enum Holding {
    One,
    Any,
    /// One, but a keyword without a check decides which: several may seem to.
    Undecided,
}

/// A member whose value selects what is asked.
struct Select {
    property: Box<str>,
    cases: Vec<(Box<str>, usize)>,
    /// Where the member is absent.
    otherwise: usize,
    /// The cases are schemas that extend this one, and a value has to conform to none of them.
    children: bool,
}

/// A branch of `oneOf` or `anyOf`.
struct Branch {
    /// The types that it takes.
    kinds: Kinds,
    /// Members that an object has to have.
    required: Vec<Box<str>>,
    /// Members that are one of a few texts where they are there.
    telling: Vec<(Box<str>, Vec<Box<str>>)>,
    /// What it asks together with the rest of its set.
    shape: usize,
}

#[derive(Default)]
struct Plain {
    kinds: Kinds,
    /// Null is in doubt (`nullable`).
    nullable: bool,
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
struct Items {
    fewest: usize,
    most: Option<usize>,
    each: Others,
}

/// Up to here a name is looked for from the first to the last.
const FEW: usize = 8;

impl FastPath {
    /// Looks at the values of one document.
    pub(super) fn look<'g>(&'g self, is_origin: &'g dyn Fn(&str) -> bool) -> Look<'g> {
        Look { shapes: &self.shapes, is_origin, decided: RefCell::default() }
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

/// Looks at the values of one document.
pub(super) struct Look<'g> {
    shapes: &'g [Shape],
    is_origin: &'g dyn Fn(&str) -> bool,
    /// Outcomes of choices, by shape and place of the value, so that no depth of choices multiplies the work.
    decided: RefCell<AHashMap<(usize, usize), Outcome>>,
}

impl Look<'_> {
    /// The fast path's outcome for a value. Recurses as deep as the value is.
    pub(super) fn outcome(&self, index: usize, value: Node<'_>) -> Outcome {
        match &self.shapes[index] {
            Shape::Doubt => Outcome::Doubt,
            Shape::Anything => Outcome::Conforms,
            Shape::Scalar(kinds) => Outcome::of(kinds.has(value.kind())),
            Shape::Choice(choice) => self.choice(index, choice, value),
            Shape::Select(select) => self.select(select, value),
            Shape::Plain(plain) => self.plain(plain, value),
        }
    }

    fn choice(&self, index: usize, choice: &Choice, value: Node<'_>) -> Outcome {
        let kind = value.kind();
        if choice.nullable && kind == Kind::Null {
            return Outcome::Doubt;
        }
        let mut likely = choice.branches.iter().filter(|branch| branch.is_likely(kind, value));
        let Some(first) = likely.next() else { return Outcome::Violates };
        let Some(second) = likely.next() else { return self.outcome(first.shape, value) };
        let key = (index, value.span().start);
        if let Some(decided) = self.decided.borrow().get(&key) {
            return *decided;
        }
        let branches = [first, second].into_iter().chain(likely);
        let decided = self.several(choice.holding, branches.filter(|branch| branch.has_required(value)), value);
        self.decided.borrow_mut().insert(key, decided);
        decided
    }

    fn several<'b>(&self, holding: Holding, branches: impl Iterator<Item = &'b Branch>, value: Node<'_>) -> Outcome {
        let (mut count, mut doubt, mut worst) = (0, false, Outcome::Conforms);
        for branch in branches {
            match self.outcome(branch.shape, value) {
                Outcome::Violates => {}
                Outcome::Doubt => doubt = true,
                held => {
                    count += 1;
                    worst = worst.max(held);
                }
            }
        }
        match (holding, count) {
            (Holding::One, 2..) => Outcome::Violates,
            (Holding::Any | Holding::Undecided, 1..) if doubt => Outcome::Valid,
            _ if doubt => Outcome::Doubt,
            (_, 0) => Outcome::Violates,
            (Holding::Undecided, 2..) => Outcome::Valid,
            _ => worst,
        }
    }

    fn select(&self, select: &Select, value: Node<'_>) -> Outcome {
        let otherwise = || self.outcome(select.otherwise, value);
        let Some(told) = value.get(&select.property) else { return otherwise() };
        let Some(told) = told.plain_text() else { return Outcome::Doubt };
        let case = select.cases.iter().find(|(held, _)| held.as_bytes() == told);
        match case.map(|(_, shape)| self.outcome(*shape, value)) {
            Some(outcome) if !select.children || outcome <= Outcome::Valid => outcome,
            _ => otherwise().max(Outcome::Valid),
        }
    }

    fn plain(&self, plain: &Plain, value: Node<'_>) -> Outcome {
        let kind = value.kind();
        if plain.nullable && kind == Kind::Null {
            return Outcome::Doubt;
        }
        if !plain.kinds.has(kind) {
            return Outcome::Violates;
        }
        let outcome = match kind {
            Kind::Null | Kind::Boolean => Outcome::Conforms,
            Kind::Number => plain.number(value),
            Kind::String => self.text(&plain.text, value),
            Kind::Array => self.items(&plain.items, value),
            Kind::Object => self.members(&plain.members, value),
        };
        if plain.asked.iter().all(|judge| judge.is_valid(TapeNode::Value(value))) { outcome } else { Outcome::Violates }
    }

    fn text(&self, text: &Text, value: Node<'_>) -> Outcome {
        if text.asks_nothing() {
            return Outcome::Conforms;
        }
        let held = plain_or_unescaped(value);
        if !text.takes(&held, TapeNode::Value(value)) {
            return Outcome::Violates;
        }
        let is_known = text.known.is_empty()
            || value.as_str().is_some_and(|held| text.known.iter().any(|known| known.matches(&held, self.is_origin)));
        if is_known { Outcome::Conforms } else { Outcome::Valid }
    }

    fn items(&self, items: &Items, value: Node<'_>) -> Outcome {
        let count = value.len();
        if count < items.fewest || items.most.is_some_and(|most| count > most) {
            return Outcome::Violates;
        }
        let mut worst = Outcome::Conforms;
        match items.each {
            Others::Covered => {}
            Others::Scalar(kinds) => return Outcome::of(value.items().all(|item| kinds.has(item.kind()))),
            each => {
                for item in value.items() {
                    worst = worst.max(self.other(each, item));
                    if worst == Outcome::Violates {
                        break;
                    }
                }
            }
        }
        worst
    }

    fn members(&self, members: &Members, value: Node<'_>) -> Outcome {
        let count = value.len();
        if count < members.fewest || members.most.is_some_and(|most| count > most) {
            return Outcome::Violates;
        }
        let mut seen = 0;
        // Members mostly come in the order in which they are documented.
        let mut expected = 0;
        let mut worst = Outcome::Conforms;
        for (name, member) in value.entries() {
            let others = match members.find(&plain_or_unescaped(name), expected) {
                None => members.others,
                Some(index) => {
                    let named = &members.named[index];
                    expected = index + 1;
                    seen |= named.bit;
                    named.shape
                }
            };
            worst = worst.max(self.other(others, member));
            if worst == Outcome::Violates {
                return worst;
            }
        }
        if seen == members.required { worst } else { Outcome::Violates }
    }

    #[inline]
    fn other(&self, others: Others, value: Node<'_>) -> Outcome {
        match others {
            Others::Gap => Outcome::Valid,
            Others::Closed => Outcome::Violates,
            Others::Covered => Outcome::Conforms,
            Others::Scalar(kinds) => Outcome::of(kinds.has(value.kind())),
            Others::Shape(shape) => self.outcome(shape, value),
            Others::Unnamed(shape) => self.outcome(shape, value).max(Outcome::Valid),
        }
    }
}

/// A string's value.
#[inline]
fn plain_or_unescaped(value: Node<'_>) -> Cow<'_, [u8]> {
    match value.plain_text() {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(value.as_str().unwrap_or_default().into_owned().into_bytes()),
    }
}

impl Branch {
    /// False only where the value breaks the branch for certain, by its type or by a member that decides.
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

    fn has_required(&self, value: Node<'_>) -> bool {
        value.kind() != Kind::Object || self.required.iter().all(|name| value.get(name).is_some())
    }
}

impl Plain {
    /// Whether no scalar of its types breaks it, and it takes no others.
    fn is_scalar(&self) -> bool {
        let takes = |kind| self.kinds.has(kind);
        self.asked.is_empty()
            && !self.nullable
            && !takes(Kind::Object)
            && !takes(Kind::Array)
            && (!takes(Kind::String) || self.text.asks_nothing())
            && (!takes(Kind::Number) || self.takes_any_number())
    }

    fn takes_any_number(&self) -> bool {
        !self.whole && self.least.is_none() && self.most.is_none()
    }

    fn number(&self, value: Node<'_>) -> Outcome {
        if self.takes_any_number() {
            return Outcome::Conforms;
        }
        let number = value.as_number().and_then(small);
        number.map_or(Outcome::Doubt, |number| Outcome::of(self.bounds(number)))
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

    /// Whether a text conforms, but for its known values; `value` is the same for a judge.
    fn takes(&self, text: &[u8], value: TapeNode<'_>) -> bool {
        self.fits(text)
            && self.allowed.as_ref().is_none_or(|allowed| is_among(allowed, text))
            && self.formats.iter().all(|format| (format.is_plain)(text) || format.judge.is_valid(value))
    }

    /// Whether it has as many characters as it may have; they are counted where the bytes do not decide.
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
