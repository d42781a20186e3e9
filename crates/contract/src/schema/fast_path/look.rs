//! The look at a value, by the shapes of the table.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    sync::Arc,
};

use contrail_exchange::json::{Kind, Node};

use crate::schema::{
    represent::{Tape, TapeNode},
    work,
};
use ahash::AHashMap;
use jsonschema::Validator;

use super::{
    constants::{Constants, integer},
    table::{Branch, Choice, FastPath, Holding, Items, Members, Others, Plain, Select, Shape, Text},
};
use crate::schema::decision::Decided;

/// The fast path's outcome for a value. Of several parts of a value the greatest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::schema) enum Outcome {
    /// It conforms, and nothing about it is undocumented.
    Conforms,
    /// It conforms. Something about it may be undocumented, or left open.
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

impl FastPath {
    /// Looks at the values of one document.
    pub(in crate::schema) fn look<'g>(&'g self, is_origin: &'g dyn Fn(&str) -> bool) -> Look<'g> {
        Look { shapes: &self.shapes, is_origin, decided: RefCell::default(), is_open: Cell::default() }
    }

    /// Whether a text outside of any document certainly conforms; known values are not compared.
    pub(in crate::schema) fn text_certainly_conforms(&self, shape: usize, text: &str) -> bool {
        match &self.shapes[shape] {
            Shape::Anything => true,
            Shape::Scalar(kinds) => kinds.has(Kind::String),
            Shape::Plain(plain) => {
                let judges = |judge: &Arc<Validator<Tape>>| judge.is_valid(TapeNode::Text(text));
                plain.kinds.has(Kind::String)
                    && plain.allowed.iter().all(|allowed| allowed.has_text(text.as_bytes()))
                    && plain.text.takes(text.as_bytes(), TapeNode::Text(text))
                    && plain.asked.iter().all(judges)
            }
            Shape::Doubt | Shape::Choice(_) | Shape::Select(_) => false,
        }
    }

    /// Whether the text of a parameter stands for an integer that certainly conforms.
    pub(in crate::schema) fn integer_certainly_conforms(&self, shape: usize, text: &str) -> bool {
        match &self.shapes[shape] {
            Shape::Plain(plain) if !plain.kinds.has(Kind::String) && plain.kinds.has(Kind::Number) => {
                plain.asked.is_empty()
                    && plain.allowed.is_empty()
                    && integer(text).is_some_and(|number| plain.bounds(number))
            }
            _ => false,
        }
    }

    /// The same for a boolean.
    pub(in crate::schema) fn boolean_certainly_conforms(&self, shape: usize, text: &str) -> bool {
        matches!(text, "true" | "false")
            && matches!(&self.shapes[shape], Shape::Scalar(kinds) if kinds.has(Kind::Boolean))
    }
}

/// Looks at the values of one document.
pub(in crate::schema) struct Look<'g> {
    shapes: &'g [Shape],
    is_origin: &'g dyn Fn(&str) -> bool,
    /// What became of choices, by shape and place of the value, so that no depth of choices multiplies the work.
    decided: RefCell<AHashMap<(usize, usize), Outcome>>,
    /// Something may be undecided in a value that is [`Outcome::Valid`].
    is_open: Cell<bool>,
}

impl Look<'_> {
    /// Whether nothing is undecided in the values looked at, as far as they conform.
    pub(in crate::schema) fn is_decided(&self) -> bool {
        !self.is_open.get()
    }

    /// The fast path's outcome for a value. Recurses as deep as the value is.
    pub(in crate::schema) fn outcome(&self, index: usize, value: Node<'_>) -> Outcome {
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
        match choice.decided(value) {
            Decided::Branch(index) => {
                return self.several(choice.holding, [&choice.branches[index]].into_iter(), value);
            }
            Decided::Nothing => return Outcome::Violates,
            Decided::Open => {}
        }
        let likely = choice.likely(kind, value);
        if !work::take(u64::from(likely.count_ones())) {
            return Outcome::Doubt;
        }
        let branches =
            choice.branches.iter().enumerate().filter(|(index, _)| likely >> index & 1 == 1).map(|(_, branch)| branch);
        if likely.count_ones() < 2 || !matches!(kind, Kind::Array | Kind::Object) {
            return self.several(choice.holding, branches, value);
        }
        let key = (index, value.span().start);
        if let Some(outcome) = self.decided.borrow().get(&key) {
            return *outcome;
        }
        let outcome = self.several(choice.holding, branches, value);
        self.decided.borrow_mut().insert(key, outcome);
        outcome
    }

    fn several<'b>(&self, holding: Holding, branches: impl Iterator<Item = &'b Branch>, value: Node<'_>) -> Outcome {
        let (mut count, mut doubt, mut worst) = (0, false, Outcome::Conforms);
        for branch in branches {
            match self.outcome(branch.shape, value) {
                Outcome::Violates => {}
                Outcome::Doubt => doubt = true,
                _ if holding == Holding::One && count > 0 => return Outcome::Violates,
                held => {
                    count += 1;
                    worst = worst.max(held);
                }
            }
        }
        if doubt || holding == Holding::Undecided && count > 1 {
            self.is_open.set(true);
        }
        match (holding, count) {
            (Holding::Any | Holding::Undecided, 1..) if doubt => Outcome::Valid,
            _ if doubt => Outcome::Doubt,
            (_, 0) => Outcome::Violates,
            (Holding::Undecided, 2..) => Outcome::Valid,
            _ => worst,
        }
    }

    fn select(&self, select: &Select, value: Node<'_>) -> Outcome {
        let otherwise = || self.outcome(select.otherwise, value);
        let Some(selector) = value.get(&select.property) else { return otherwise() };
        let text = (selector.kind() == Kind::String).then(|| plain_or_unescaped(selector));
        let selected = text.and_then(|text| select.case(&text));
        match selected.map(|shape| self.outcome(shape, value)) {
            Some(outcome) if !select.children || outcome <= Outcome::Valid => outcome,
            None if select.has_default => otherwise(),
            _ => {
                self.is_open.set(true);
                otherwise().max(Outcome::Valid)
            }
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
        if !plain.allowed.iter().all(|allowed| allowed.has(value)) {
            return Outcome::Violates;
        }
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
        if !items.count.fits(value.len()) || items.unique && value.equal_items().is_some() {
            return Outcome::Violates;
        }
        self.each(items.each, value.items())
    }

    /// Items, or members whose names do not matter.
    fn each<'a>(&self, others: Others, mut values: impl Iterator<Item = Node<'a>>) -> Outcome {
        match others {
            Others::Covered => Outcome::Conforms,
            Others::Scalar(kinds) => Outcome::of(values.all(|value| kinds.has(value.kind()))),
            others => {
                let mut worst = Outcome::Conforms;
                for value in values {
                    worst = worst.max(self.other(others, value));
                    if worst == Outcome::Violates {
                        break;
                    }
                }
                worst
            }
        }
    }

    fn members(&self, members: &Members, value: Node<'_>) -> Outcome {
        if !members.count.fits(value.len()) {
            return Outcome::Violates;
        }
        if members.named.is_empty() {
            return self.each(members.others, value.entries().map(|(_, member)| member));
        }
        let mut seen = 0;
        // Members mostly come in the order in which they are documented.
        let mut expected = 0;
        let mut worst = Outcome::Conforms;
        for (name, member) in value.entries() {
            let (others, bit) = members.about(name, &mut expected);
            seen |= bit;
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

impl Select {
    /// The shape that a value of the member selects.
    fn case(&self, selector: &[u8]) -> Option<usize> {
        self.cases.get(selector).copied()
    }
}

impl Members {
    /// What is asked of the member of this name, and its bit among the required ones. `expected` is where the name
    /// probably is, and becomes where the next one is.
    #[inline]
    fn about(&self, name: Node<'_>, expected: &mut usize) -> (Others, u64) {
        match self.find(&plain_or_unescaped(name), *expected) {
            None => (self.others, 0),
            Some(index) => {
                let named = &self.named[index];
                *expected = index + 1;
                (named.shape, named.bit)
            }
        }
    }
}

impl Choice {
    /// What a member of a value selects.
    fn decided(&self, value: Node<'_>) -> Decided {
        self.decision.as_ref().map_or(Decided::Open, |decision| decision.by(value))
    }

    /// The branches, a bit for each, that a value does not break for certain: by its type, by what it is, by a member
    /// that decides, or by one that is not there.
    fn likely(&self, kind: Kind, value: Node<'_>) -> u128 {
        let may_be = |constants: &Arc<Constants>| constants.has(value);
        let mut likely: u128 = 0;
        for (index, branch) in self.branches.iter().enumerate() {
            let holds = branch.kinds.has(kind) && branch.values.as_ref().is_none_or(may_be);
            likely |= u128::from(holds) << index;
        }
        if kind != Kind::Object {
            return likely;
        }
        if likely.count_ones() < 2 {
            return likely;
        }
        for (index, branch) in self.branches.iter().enumerate() {
            let has_all = likely >> index & 1 == 0 || branch.required.iter().all(|name| value.get(name).is_some());
            likely &= !(u128::from(!has_all) << index);
        }
        likely
    }
}

impl Plain {
    fn number(&self, value: Node<'_>) -> Outcome {
        if !self.has_bounds() && (!self.whole || value.is_written_as_integer()) {
            return Outcome::Conforms;
        }
        let number = value.as_number().and_then(integer);
        number.map_or(Outcome::Doubt, |number| Outcome::of(self.bounds(number)))
    }

    fn bounds(&self, number: i64) -> bool {
        self.least.is_none_or(|least| number >= least) && self.most.is_none_or(|most| number <= most)
    }
}
