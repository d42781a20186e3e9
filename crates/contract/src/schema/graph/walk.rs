//! The walk of a value along the graph: whether it conforms, and which places of it no schema documents.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    slice,
};

use ahash::AHashMap;
use contrail_exchange::json::{Kind, Node, push_pointer};

use super::{
    table::{Additional, Cursor, Graph, SchemaNode},
    undocumented::{Gap, GapKind, container_type},
};
use crate::schema::{Open, work};

/// Whether a value conforms. Of several parts of it the greatest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::schema) enum Outcome {
    Conforms,
    /// Only the judge knows.
    Doubt,
    Violates,
}

impl Outcome {
    pub(super) fn of(holds: bool) -> Self {
        if holds { Self::Conforms } else { Self::Violates }
    }
}

/// What a walk finds.
pub(in crate::schema) struct Walked {
    pub(in crate::schema) outcome: Outcome,
    pub(in crate::schema) gaps: Vec<Gap>,
    /// Where there may be more.
    pub(in crate::schema) open: Vec<Open>,
}

/// The judge: whether a branch, given by its index in [`Graph::branches`], holds for a value.
pub(in crate::schema) type Holds<'a> = &'a dyn Fn(usize, Node<'_>) -> bool;

/// The way from the root to a value; the pointer is built only for a finding.
pub(super) enum Path<'p> {
    Root,
    Member(&'p Path<'p>, Node<'p>),
    Item(&'p Path<'p>, usize),
}

impl Path<'_> {
    pub(super) fn pointer(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Member(outer, name) => {
                let mut pointer = outer.pointer();
                push_pointer(&mut pointer, &name.as_str().unwrap_or_default());
                pointer
            }
            Self::Item(outer, index) => format!("{}/{index}", outer.pointer()),
        }
    }
}

/// The schemas that lead to a value: mostly one.
#[derive(Default)]
struct Leading {
    first: Option<usize>,
    /// All, where there are several.
    several: Vec<usize>,
}

impl Leading {
    fn clear(&mut self) {
        self.first = None;
        self.several.clear();
    }

    fn add(&mut self, node: usize) {
        match self.first {
            None => self.first = Some(node),
            Some(first) if self.several.is_empty() => self.several.extend([first, node]),
            Some(_) => self.several.push(node),
        }
    }

    fn nodes(&self) -> &[usize] {
        if self.several.is_empty() { self.first.as_slice() } else { &self.several }
    }
}

/// One walk through a value. Where the way to a value is given, what is undocumented about it is reported; otherwise
/// only whether it conforms is found.
pub(super) struct Walk<'c> {
    pub(super) graph: &'c Graph,
    pub(super) judge: Holds<'c>,
    pub(super) is_origin: &'c dyn Fn(&str) -> bool,
    /// Every branch is left to the judge.
    pub(super) asks: bool,
    /// Some place that these schemas lead to is unusable.
    pub(super) broken: bool,
    /// Whether branches hold, by their nodes and places of the value, so that no depth of choices multiplies the work.
    pub(super) decided: RefCell<AHashMap<(usize, usize), Option<bool>>>,
    /// Something may be undecided in a value that conforms.
    pub(super) is_open: Cell<bool>,
    pub(super) gaps: RefCell<Vec<Gap>>,
    /// There are more gaps than are listed.
    pub(super) is_full: Cell<bool>,
    pub(super) open: RefCell<Vec<Open>>,
}

impl Graph {
    /// Walks a value along the schema with this index. With `asks`, the judge decides every branch.
    pub(in crate::schema) fn walk(
        &self,
        node: usize,
        root: Node<'_>,
        judge: Holds<'_>,
        is_origin: &dyn Fn(&str) -> bool,
        asks: bool,
    ) -> Walked {
        let walk = Walk::of(self, node, judge, is_origin, asks);
        let outcome = walk.visit(&[node], root, Some(&Path::Root));
        Walked { outcome, gaps: walk.gaps.into_inner(), open: walk.open.into_inner() }
    }

    /// Whether a value conforms, nothing about that left open; `None` where only the judge knows.
    pub(in crate::schema) fn accepts(&self, node: usize, value: Node<'_>) -> Option<bool> {
        let walk = Walk::of(self, node, &|_, _| true, &|_| false, false);
        match walk.visit(&[node], value, None) {
            Outcome::Conforms => (!walk.is_open.get() && !walk.broken).then_some(true),
            Outcome::Doubt => None,
            Outcome::Violates => Some(false),
        }
    }
}

impl<'c> Walk<'c> {
    fn of(graph: &'c Graph, node: usize, judge: Holds<'c>, is_origin: &'c dyn Fn(&str) -> bool, asks: bool) -> Self {
        let broken = graph.nodes[node].leads_to_broken;
        let (decided, is_open, gaps, is_full, open) = Default::default();
        Self { graph, judge, is_origin, asks, broken, decided, is_open, gaps, is_full, open }
    }

    /// Whether a value conforms to all schemas that these lead to. Recurses as deep as the value is.
    pub(super) fn visit(&self, leading: &[usize], value: Node<'_>, at: Option<&Path<'_>>) -> Outcome {
        let nodes = &self.graph.nodes;
        if let [only] = leading
            && let Some(alone) = nodes[*only].alone
        {
            return self.alone(alone, value, at);
        }
        let found = self.applicable(leading, value, at.is_some());
        let kind = value.kind();
        let mut outcome = found.outcome;
        let mut doubt = false;
        if kind == Kind::Null && found.nodes.iter().any(|index| nodes[*index].nullable.is_some()) {
            outcome = Outcome::Doubt;
        } else {
            for node in found.nodes.iter().map(|index| &nodes[*index]) {
                doubt |= node.doubt;
                outcome = outcome.max(node.asserts.outcome(value));
            }
        }
        if doubt {
            outcome = outcome.max(Outcome::Doubt);
        }
        let at = match at {
            Some(at) => self.report(&found, value, at),
            None if outcome != Outcome::Conforms => return outcome,
            None => None,
        };
        let below = match kind {
            Kind::Object => self.members(&found.nodes, value, at),
            Kind::Array => self.items(&found.nodes, value, at),
            _ => Outcome::Conforms,
        };
        // What is in doubt may say which schemas members and items have.
        if doubt { outcome } else { outcome.max(below) }
    }

    /// The same where one schema leads to the value, as mostly.
    #[inline]
    fn led_by(&self, schema: usize, value: Node<'_>, at: Option<&Path<'_>>) -> Outcome {
        let node = &self.graph.nodes[schema];
        match (node.scalar, node.alone) {
            (Some(types), _) => Outcome::of(types.takes(value.kind())),
            (None, Some(alone)) => self.alone(alone, value, at),
            (None, None) => self.visit(slice::from_ref(&schema), value, at),
        }
    }

    /// The same where one plain schema applies.
    fn alone(&self, index: usize, value: Node<'_>, at: Option<&Path<'_>>) -> Outcome {
        let node = &self.graph.nodes[index];
        let outcome = node.asserts.outcome(value);
        let kind = value.kind();
        if node.silent || !matches!(kind, Kind::Array | Kind::Object) || at.is_none() && outcome != Outcome::Conforms {
            return outcome;
        }
        // A container of another type than it has to be is documented by nothing.
        let at = at.filter(|_| !node.lists && (outcome == Outcome::Conforms || node.documents(container_type(kind))));
        let below = match kind {
            Kind::Object => self.members_alone(node, value, at),
            _ => self.items(&[index], value, at),
        };
        outcome.max(below)
    }

    fn members_alone(&self, node: &SchemaNode, value: Node<'_>, at: Option<&Path<'_>>) -> Outcome {
        if node.properties.is_empty() && matches!(node.additional, Additional::Free) {
            return Outcome::Conforms;
        }
        let mut cursor = Cursor::default();
        let mut outcome = Outcome::Conforms;
        for (name, member) in value.entries() {
            let schema = match (node.named(&plain_or_unescaped(name), &mut cursor), node.additional) {
                (Some(schema), _) | (None, Additional::Schema(schema)) => schema,
                (None, Additional::Free) => continue,
                (None, Additional::Closed) => {
                    outcome = Outcome::Violates;
                    continue;
                }
                (None, Additional::Open) => {
                    if let Some(at) = at {
                        self.gap(Path::Member(at, name).pointer(), GapKind::Undocumented);
                    }
                    continue;
                }
            };
            let found = self.led_by(schema, member, at.map(|at| Path::Member(at, name)).as_ref());
            outcome = outcome.max(found);
            if at.is_none() && outcome == Outcome::Violates {
                return outcome;
            }
        }
        if cursor.seen == node.required { outcome } else { Outcome::Violates }
    }

    /// Whether the members of an object conform to all that these schemas state of them.
    fn members(&self, applicable: &[usize], value: Node<'_>, at: Option<&Path<'_>>) -> Outcome {
        let nodes = || applicable.iter().map(|index| &self.graph.nodes[*index]);
        if nodes().all(SchemaNode::names_no_member) {
            let is = |node: &SchemaNode, free: bool| match node.additional {
                Additional::Free => true,
                Additional::Open => !free,
                Additional::Closed | Additional::Schema(_) => false,
            };
            if nodes().all(|node| is(node, false)) && (at.is_none() || nodes().any(|node| is(node, true))) {
                return Outcome::Conforms;
            }
        }
        if !work::take((applicable.len() * value.len()) as u64) {
            return Outcome::Doubt;
        }
        let (mut one, mut several);
        let cursors = if let [_] = applicable {
            one = [Cursor::default()];
            &mut one[..]
        } else {
            several = vec![Cursor::default(); applicable.len()];
            &mut several[..]
        };
        let mut leading = Leading::default();
        let mut keys = 0;
        let mut outcome = Outcome::Conforms;
        for (name, member) in value.entries() {
            leading.clear();
            let text = plain_or_unescaped(name);
            let (mut covered, mut unnamed) = (false, None);
            for (node, cursor) in nodes().zip(cursors.iter_mut()) {
                let named = node.named(&text, cursor);
                let mut is_named = named.is_some();
                if let Some(schema) = named {
                    leading.add(schema);
                }
                if !node.patterns.is_empty() {
                    let name = name.as_str().unwrap_or_default();
                    for (_, schema) in node.patterns.iter().filter(|(pattern, _)| pattern.matches(&name)) {
                        leading.add(*schema);
                        is_named = true;
                    }
                }
                if is_named {
                    covered = true;
                    continue;
                }
                unnamed = node.unnamed.or(unnamed);
                match node.additional {
                    Additional::Open => continue,
                    Additional::Free => {}
                    Additional::Closed => outcome = Outcome::Violates,
                    Additional::Schema(schema) => leading.add(schema),
                }
                covered |= node.unnamed.is_none();
            }
            let path = at.map(|at| Path::Member(at, name));
            if let Some(path) = path.as_ref().filter(|_| !covered) {
                if let Some(limit) = unnamed {
                    keys += 1;
                    let kind = if keys > limit { GapKind::BeyondUnnamed { limit } } else { GapKind::Unnamed { limit } };
                    self.gap(path.pointer(), kind);
                } else {
                    self.gap(path.pointer(), GapKind::Undocumented);
                    continue;
                }
            }
            if leading.first.is_some() || path.is_some() && !covered {
                outcome = outcome.max(self.visit(leading.nodes(), member, path.as_ref()));
            }
            if at.is_none() && outcome == Outcome::Violates {
                return outcome;
            }
        }
        let has_required = nodes().zip(cursors).all(|(node, cursor)| node.required == cursor.seen);
        if has_required { outcome } else { Outcome::Violates }
    }

    /// Whether the items of an array conform to all that these schemas state of them.
    fn items(&self, applicable: &[usize], value: Node<'_>, at: Option<&Path<'_>>) -> Outcome {
        let nodes = || applicable.iter().map(|index| &self.graph.nodes[*index]);
        if !work::take((applicable.len() * value.len()) as u64) {
            return Outcome::Doubt;
        }
        let is_same = nodes().all(|node| node.prefix.is_empty() && node.contains.is_none());
        let mut leading = Leading::default();
        let mut outcome = Outcome::Conforms;
        for (index, item) in value.items().enumerate() {
            if index == 0 || !is_same {
                leading.clear();
                for node in nodes() {
                    if let Some(schema) = node.prefix.get(index).copied().or(node.items) {
                        leading.add(schema);
                    }
                    if let Some(contains) = node.contains.as_ref().filter(|_| at.is_some())
                        && self.asked(contains, item)
                    {
                        leading.add(contains.node);
                    }
                }
            }
            let path = at.map(|at| Path::Item(at, index));
            let found = match (leading.nodes(), &path) {
                ([only], path) => self.led_by(*only, item, path.as_ref()),
                ([], None) => return outcome,
                ([], Some(path)) => {
                    self.gap(path.pointer(), GapKind::UndocumentedItem);
                    continue;
                }
                (several, path) => self.visit(several, item, path.as_ref()),
            };
            outcome = outcome.max(found);
            if at.is_none() && outcome == Outcome::Violates {
                return outcome;
            }
        }
        outcome
    }
}

/// A string's value.
#[inline]
pub(super) fn plain_or_unescaped(value: Node<'_>) -> Cow<'_, [u8]> {
    match value.plain_text() {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(value.as_str().unwrap_or_default().into_owned().into_bytes()),
    }
}
