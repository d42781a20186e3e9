//! The parts of a value that may be judged without each other, and which of them conform for certain.
//!
//! The judge looks at the others alone, some at a time. A part may be left out only where that changes nothing that
//! the judge reports of the rest: its errors, and the branches of choices that hold.

use std::ops::Range;

use super::{
    look::{Look, Outcome},
    table::{Branch, Choice, Items, Members, Others, Plain, Shape},
};
use crate::{
    contract::schema::decision::Decided,
    json::{Kind, Node},
};

/// A member or an item that the judge may leave out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::contract::schema) struct Part {
    pub(in crate::contract::schema) span: Range<usize>,
    /// It conforms, whatever the rest is.
    pub(in crate::contract::schema) certain: bool,
}

/// How the container around a value came to its shape.
#[derive(Clone, Copy, Default)]
struct Way {
    /// To this depth, some members or items of the value may have decided: all of them stay.
    by_parts: usize,
    /// So did those of a value around it, and the judge compares the errors of all branches.
    compared: bool,
}

impl Way {
    /// That of a part of the value.
    fn below(self) -> Self {
        Self { by_parts: self.by_parts.saturating_sub(1), ..self }
    }

    /// No choice led to it.
    fn is_direct(self) -> bool {
        self.by_parts == 0 && !self.compared
    }
}

impl Look<'_> {
    /// The parts of a value by their beginnings, the outer ones first. Whatever may break a schema becomes a suspect.
    pub(in crate::contract::schema) fn parts(&self, index: usize, value: Node<'_>) -> Vec<Part> {
        let mut parts = Vec::new();
        self.settle(Others::Shape(index), value, Way::default(), &mut parts);
        // Mostly sorted: runs of items, each followed by its list.
        parts.sort_by_key(|part| (part.span.start, std::cmp::Reverse(part.span.end)));
        parts
    }

    /// Whether a value conforms for certain; if not, adds its parts.
    fn settle(&self, others: Others, value: Node<'_>, way: Way, parts: &mut Vec<Part>) -> bool {
        let shape = match others {
            Others::Shape(shape) | Others::Unnamed(shape) => &self.shapes[shape],
            _ => &Shape::Doubt,
        };
        match shape {
            Shape::Plain(plain) if plain.is_settled_by_parts(value.kind()) => {
                if let Others::Unnamed(_) = others {
                    self.suspect(value, Outcome::Valid);
                }
                let before = parts.len();
                let (settled, by_parts) = match value.kind() {
                    Kind::Array => self.settle_items(&plain.items, value, way, parts),
                    _ => self.settle_members(&plain.members, value, way, parts),
                };
                if settled || (way.compared && !by_parts) {
                    parts.truncate(before);
                }
                return settled;
            }
            _ if self.other(others, value) <= Outcome::Valid => return true,
            Shape::Select(select) if !select.children => {
                let selected = value.get(&select.property).and_then(Node::plain_text);
                if let Some(shape) = selected.and_then(|selected| select.case(selected)) {
                    let way = Way { by_parts: way.by_parts.max(1), ..way };
                    return self.settle(Others::Shape(shape), value, way, parts);
                }
            }
            // Its cases document more, and the judge asks for none of them.
            Shape::Select(select) => {
                self.settle(Others::Shape(select.otherwise), value, way, parts);
            }
            Shape::Choice(choice) => {
                if let (Decided::Branch(index), Some(decision)) = (choice.decided(value), &choice.decision) {
                    let way = Way { by_parts: way.by_parts.max(decision.path.len()), ..way };
                    return self.settle(Others::Shape(choice.branches[index].shape), value, way, parts);
                }
                // The gap walker looks at what any branch documents, so the whole value stays a suspect.
                // Without a part, further branches might hold, and the judge names those that do.
                let takes = choice.branches.iter().filter(|branch| branch.kinds.has(value.kind())).count();
                let is_of_two = way.is_direct() && takes == 2;
                if let Some(both) = self.both_by_parts(others, value).filter(|_| is_of_two) {
                    Self::leave_out_of(both, value, parts);
                } else if let Some(shape) = choice.only(value) {
                    let way = Way { by_parts: way.by_parts.max(1), compared: true };
                    self.settle(Others::Shape(shape), value, way, parts);
                }
            }
            _ => {}
        }
        if way.by_parts > 0 || !self.documents_no_part(others, value) {
            self.suspect(value, Outcome::Doubt);
        }
        false
    }

    /// Two branches of a choice that hold for a container by its parts, where only one may.
    fn both_by_parts(&self, others: Others, value: Node<'_>) -> Option<[&Plain; 2]> {
        let (Others::Shape(index) | Others::Unnamed(index)) = others else { return None };
        let plain = |shape: usize| match &self.shapes[shape] {
            Shape::Plain(plain) => plain.is_settled_by_parts(value.kind()).then_some(&**plain),
            _ => None,
        };
        let [first, second] = self.both(index, value)?;
        Some([plain(first)?, plain(second)?])
    }

    /// Adds the parts of a value without which both still hold.
    fn leave_out_of(both: [&Plain; 2], value: Node<'_>, parts: &mut Vec<Part>) {
        let part = |part: Node<'_>| Part { span: part.span(), certain: true };
        let is_required = |name: Node<'_>| both.iter().any(|plain| plain.members.about(name, &mut 0).1 != 0);
        parts.extend(value.items().map(part));
        let members = value.entries().filter(|(name, _)| !is_required(*name));
        parts.extend(members.map(|(_, member)| part(member)));
    }

    /// Whether nothing about a value that breaks this can be undocumented: no schema looks into a container of a type
    /// that it excludes.
    fn documents_no_part(&self, others: Others, value: Node<'_>) -> bool {
        let shape = match others {
            Others::Scalar(_) => return true,
            Others::Shape(shape) => &self.shapes[shape],
            _ => return false,
        };
        match (shape, value.kind()) {
            (Shape::Scalar(_), _) | (Shape::Plain(_), Kind::Boolean | Kind::Number) => true,
            (Shape::Plain(plain), Kind::Null) => !plain.nullable,
            (Shape::Plain(plain), Kind::String) => plain.text.known.is_empty(),
            (Shape::Plain(plain), container) => !plain.kinds.has(container),
            (Shape::Choice(choice), kind @ (Kind::Array | Kind::Object)) => {
                let is_plain = |shape: usize| matches!(self.shapes[shape], Shape::Plain(_) | Shape::Scalar(_));
                choice.branches.iter().all(|branch| !branch.kinds.has(kind) && is_plain(branch.shape))
            }
            _ => false,
        }
    }

    /// Whether a value may break it by being none of those that it lists.
    fn may_list(&self, others: Others) -> bool {
        let (Others::Shape(shape) | Others::Unnamed(shape)) = others else { return false };
        match &self.shapes[shape] {
            Shape::Anything | Shape::Scalar(_) => false,
            Shape::Plain(plain) => !plain.allowed.is_empty() || !plain.asked.is_empty(),
            Shape::Doubt | Shape::Choice(_) | Shape::Select(_) => true,
        }
    }

    /// Whether an array conforms, and whether it does but for its items.
    fn settle_items(&self, items: &Items, value: Node<'_>, way: Way, parts: &mut Vec<Part>) -> (bool, bool) {
        let equal = if items.unique { value.equal_items() } else { None };
        let fits = items.count.fits(value.len()) && equal.is_none();
        // Two that are equal stay, as a proof.
        let stays = |item: &Range<usize>| equal.as_ref().is_some_and(|equal| equal.contains(item));
        // The type decided for an array; an item does where the judge shows what it should be one of.
        let decides = way.by_parts > 0 && self.may_list(items.each);
        let mut all = true;
        for item in value.items() {
            let before = parts.len();
            let holds = self.settle(items.each, item, way.below(), parts);
            if items.unique {
                // Two that differ must not become equal.
                parts.truncate(before);
            }
            let part = Part { span: item.span(), certain: holds };
            parts.extend(Some(part).filter(|part| !decides && !stays(&part.span)));
            all &= holds;
        }
        (fits && all, fits)
    }

    /// Whether an object conforms, and whether it does but for its members.
    fn settle_members(&self, members: &Members, value: Node<'_>, way: Way, parts: &mut Vec<Part>) -> (bool, bool) {
        let (mut seen, mut expected, mut all) = (0, 0, true);
        for (name, member) in value.entries() {
            let (others, bit) = members.about(name, &mut expected);
            let holds = self.settle(others, member, way.below(), parts);
            // One that has to be there stays.
            let part = || Part { span: member.span(), certain: holds };
            parts.extend((bit == 0 && way.by_parts == 0).then(part));
            seen |= bit;
            all &= holds;
        }
        let fits = members.count.fits(value.len()) && seen == members.required;
        (fits && all, fits)
    }
}

impl Choice {
    /// The shape of the only branch that a container may conform to.
    fn only(&self, value: Node<'_>) -> Option<usize> {
        let kind = value.kind();
        let takes = |(index, branch): (usize, &Branch)| u128::from(branch.kinds.has(kind)) << index;
        let left = self.by_members(self.branches.iter().enumerate().map(takes).sum(), value);
        if !left.is_power_of_two() || !matches!(kind, Kind::Array | Kind::Object) {
            return None;
        }
        Some(self.branches[left.trailing_zeros() as usize].shape)
    }
}

impl Plain {
    /// Whether a container of this kind conforms where its parts do, with the count and the names that are asked for.
    fn is_settled_by_parts(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Array | Kind::Object)
            && self.kinds.has(kind)
            && self.asked.is_empty()
            && self.allowed.is_empty()
    }
}
