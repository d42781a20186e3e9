//! What a schema asks of a value by itself, but for the schemas of its members and items.

use std::sync::Arc;

use contrail_exchange::json::{Kind, Node};
use jsonschema::Validator;

use super::{
    constants::{Constants, integer},
    types::Types,
    walk::{Outcome, plain_or_unescaped},
};
use crate::schema::{
    formats,
    pattern::Matcher,
    represent::{Tape, TapeNode},
};

/// What a schema asks of a value by itself.
#[derive(Default)]
pub(super) struct Asserts {
    pub(super) types: Types,
    /// It asks nothing more.
    pub(super) is_type: bool,
    pub(super) least: Option<i64>,
    pub(super) most: Option<i64>,
    /// It is one of each of these.
    pub(super) allowed: Vec<Constants>,
    /// In characters.
    pub(super) length: Count,
    pub(super) members: Count,
    pub(super) items: Count,
    /// No two items are equal.
    pub(super) unique: bool,
    /// Formats and patterns.
    pub(super) texts: Vec<Arc<Check>>,
    /// Keywords that the judge alone checks.
    pub(super) others: Vec<Arc<Check>>,
}

/// A single keyword, with a look of ours that decides about usual texts; the judge is asked about everything else.
pub(super) struct Check {
    look: Look,
    judge: Validator<Tape>,
}

enum Look {
    Nothing,
    Format(formats::Look),
    Pattern(Box<Matcher>),
}

/// How many characters, members or items there may be.
#[derive(Default)]
pub(super) struct Count {
    pub(super) least: usize,
    pub(super) most: Option<usize>,
}

impl Asserts {
    /// Finds out whether it asks for types alone.
    pub(super) fn seal(&mut self) {
        let counts = [&self.length, &self.members, &self.items];
        let numbers = self.least.is_none() && self.most.is_none() && !self.types.is_whole();
        let lists = self.allowed.is_empty() && self.texts.is_empty() && self.others.is_empty();
        self.is_type = lists && numbers && !self.unique && counts.into_iter().all(Count::is_any);
    }

    /// Whether it asks for scalars of some types, and for nothing more.
    pub(super) fn is_scalar(&self) -> bool {
        self.is_type && !self.types.takes(Kind::Object) && !self.types.takes(Kind::Array)
    }

    /// Whether a value is as asked.
    #[inline]
    pub(super) fn outcome(&self, value: Node<'_>) -> Outcome {
        if self.is_type { Outcome::of(self.types.takes(value.kind())) } else { self.all(value) }
    }

    fn all(&self, value: Node<'_>) -> Outcome {
        let kind = value.kind();
        let holds = self.types.takes(kind)
            && match kind {
                Kind::Null | Kind::Boolean => true,
                Kind::Number => match self.number(value) {
                    Some(holds) => holds,
                    None => return self.rest(value).max(Outcome::Doubt),
                },
                Kind::String => self.asks_no_text() || self.text(&plain_or_unescaped(value), TapeNode::Value(value)),
                Kind::Array => self.items.fits(value.len()) && !(self.unique && value.equal_items().is_some()),
                Kind::Object => self.members.fits(value.len()),
            };
        if holds { self.rest(value) } else { Outcome::Violates }
    }

    /// What is asked of values of any type.
    fn rest(&self, value: Node<'_>) -> Outcome {
        Outcome::of(
            self.allowed.iter().all(|allowed| allowed.has(value))
                && self.others.iter().all(|check| check.judge.is_valid(TapeNode::Value(value))),
        )
    }

    /// Whether a number is whole and within the bounds; `None` leaves it to the judge.
    fn number(&self, value: Node<'_>) -> Option<bool> {
        let is_bounded = self.least.is_some() || self.most.is_some();
        if !is_bounded && (!self.types.is_whole() || value.is_written_as_integer()) {
            return Some(true);
        }
        value.as_number().and_then(integer).map(|number| self.bounds(number))
    }

    fn bounds(&self, number: i64) -> bool {
        self.least.is_none_or(|least| number >= least) && self.most.is_none_or(|most| number <= most)
    }

    fn asks_no_text(&self) -> bool {
        self.length.is_any() && self.texts.is_empty()
    }

    /// `value` is the same for a judge.
    fn text(&self, text: &[u8], value: TapeNode<'_>) -> bool {
        // Characters are counted where the bytes do not decide.
        let fits = self.length.fits(text.len().div_ceil(4)) && self.length.fits(text.len())
            || self.length.fits(text.iter().filter(|byte| **byte & 0xC0 != 0x80).count());
        fits && self.texts.iter().all(|check| check.holds(text, value))
    }

    /// Whether a text outside of any document certainly is as asked.
    pub(super) fn takes_text(&self, text: &str) -> bool {
        self.types.takes(Kind::String)
            && self.allowed.iter().all(|allowed| allowed.has_text(text.as_bytes()))
            && self.text(text.as_bytes(), TapeNode::Text(text))
            && self.others.iter().all(|check| check.judge.is_valid(TapeNode::Text(text)))
    }

    /// Whether an integer, by its text, certainly is as asked.
    pub(super) fn takes_integer(&self, text: &str) -> bool {
        self.types.takes(Kind::Number)
            && self.allowed.is_empty()
            && self.others.is_empty()
            && integer(text).is_some_and(|number| self.bounds(number))
    }

    /// Whether a boolean certainly is as asked.
    pub(super) fn takes_booleans(&self) -> bool {
        self.types.takes(Kind::Boolean) && self.allowed.is_empty() && self.others.is_empty()
    }
}

impl Check {
    pub(super) fn of(keyword: &str, text: &str, judge: Validator<Tape>) -> Self {
        let look = match keyword {
            "pattern" => Matcher::of(text).map_or(Look::Nothing, |matcher| Look::Pattern(Box::new(matcher))),
            "format" => Look::Format(formats::look(text)),
            _ => Look::Nothing,
        };
        Self { look, judge }
    }

    fn holds(&self, text: &[u8], value: TapeNode<'_>) -> bool {
        let decided = match &self.look {
            Look::Nothing => None,
            Look::Format(look) => look(text),
            Look::Pattern(matcher) => Some(matcher.matches(text)),
        };
        decided.unwrap_or_else(|| self.judge.is_valid(value))
    }
}

impl Count {
    fn is_any(&self) -> bool {
        self.least == 0 && self.most.is_none()
    }

    fn fits(&self, count: usize) -> bool {
        count >= self.least && self.most.is_none_or(|most| count <= most)
    }
}
