//! The walk through a value and the table: which places of the value no schema documents.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    collections::HashSet,
};

use contrail_exchange::json::{Document, Entries, Items, Kind, Node, push_pointer};

use crate::schema::work;

use super::{
    members::MemberCoverage,
    table::{Branch, Choice, Coverage, TextContent},
    types::Types,
};
use crate::{
    list::joined,
    schema::{Open, decision::Decided},
};

/// Bound on the nesting of JSON in a text.
const MAX_CONTENT_DEPTH: usize = 64;

/// Bound on the gaps reported of one value.
const MAX_GAPS: usize = 1000;

/// Bound on the places of one value that are reported as not judged.
const MAX_OPEN: usize = 100;

/// Names that a search compares in a step.
const STEP_NAMES: usize = 8;

/// A place that no schema accounts for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// JSON pointer into the value.
    pub at: String,
    /// What is not documented.
    pub kind: GapKind,
}

/// What is not documented about a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GapKind {
    /// No schema documents this member of an object.
    Undocumented,
    /// No schema documents this item of an array.
    UndocumentedItem,
    /// It is one of the keys that exist but whose names are not shown.
    Unnamed {
        /// How many of them there are.
        limit: usize,
    },
    /// It is one key more than exist: a violation.
    BeyondUnnamed {
        /// How many of them there are.
        limit: usize,
    },
    /// Its value is none of the documented ones of an open set.
    Value {
        /// The documented ones, for reading.
        known: String,
    },
    /// It belongs to the other side of an exchange.
    OtherSide {
        /// What marks it: `readOnly` in a request, `writeOnly` in a response.
        keyword: &'static str,
    },
    /// It is a text whose content breaks what the document states about that: a violation.
    Content {
        /// What is expected, as a clause.
        expected: String,
    },
    /// The document states two things about it that disagree.
    Unclear {
        /// What is expected, as a clause.
        expected: String,
    },
}

/// Whether a branch, given by its index in [`Coverage::branches`], holds for a value.
pub(in crate::schema) type Holds<'a> = &'a dyn Fn(usize, Node<'_>) -> bool;

/// A container on the way from the root to the value that is looked at.
struct Frame<'a> {
    children: Children<'a>,
    /// The schemas that apply to it.
    applicable: Vec<usize>,
    /// How it is called in the container around it.
    step: Step<'a>,
    /// Keys without a shown name so far.
    unnamed: usize,
}

/// One step of the way from the root; the pointer is built only for a finding.
enum Step<'a> {
    Root,
    Member(Cow<'a, str>),
    Item(usize),
}

/// The JSON pointer of the value that `last` leads to from the innermost open container.
fn pointer(open: &[Frame<'_>], last: &Step<'_>) -> String {
    let mut pointer = String::new();
    for step in open.iter().map(|frame| &frame.step).chain([last]) {
        match step {
            Step::Root => {}
            Step::Member(name) => push_pointer(&mut pointer, name),
            Step::Item(index) => push_pointer(&mut pointer, &index.to_string()),
        }
    }
    pointer
}

/// The type of a container.
fn container_type(kind: Kind) -> Types {
    if kind == Kind::Object { Types::OBJECT } else { Types::ARRAY }
}

enum Children<'a> {
    Members(Entries<'a>),
    Items(std::iter::Enumerate<Items<'a>>),
}

/// Schemas that apply to one value.
struct AppliedSchemas<'s> {
    applicable: Vec<usize>,
    /// A branch without any statement holds, which frees the content.
    freed: bool,
    /// A member of the value, and what is not documented about it.
    unclear: Option<(&'s str, GapKind)>,
}

/// One walk through a value.
struct Walk<'c> {
    coverage: &'c Coverage,
    holds: Holds<'c>,
    is_origin: &'c dyn Fn(&str) -> bool,
    /// Some place that these schemas lead to is unusable.
    broken: bool,
    /// A choice about the value that was looked at last came out in a way that only an aspect without a check could
    /// decide.
    undecided: Cell<bool>,
    /// Where there may be more.
    open: RefCell<Vec<Open>>,
}

impl Coverage {
    /// The gaps of a value under the schema with this index, and where there may be more.
    pub(in crate::schema) fn walk(
        &self,
        entry: usize,
        root: Node<'_>,
        holds: Holds<'_>,
        is_origin: &dyn Fn(&str) -> bool,
    ) -> (Vec<Gap>, Vec<Open>) {
        let broken = self.entries[entry].leads_to_broken;
        let (undecided, open) = (Cell::new(false), RefCell::default());
        let walk = Walk { coverage: self, holds, is_origin, broken, undecided, open };
        let gaps = walk.walk(entry, root);
        (gaps, walk.open.into_inner())
    }
}

impl<'c> Walk<'c> {
    fn open(&self, at: String, why: impl Into<Cow<'static, str>>) {
        let mut open = self.open.borrow_mut();
        if open.len() < MAX_OPEN {
            open.push(Open { at, why: why.into() });
        }
    }

    fn walk(&self, entry: usize, root: Node<'_>) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let mut open: Vec<Frame<'_>> = Vec::new();
        open.extend(self.enter(root, &[entry], Step::Root, &open, &mut gaps));
        while let Some(frame) = open.last_mut().filter(|_| work::left() > 0) {
            if gaps.len() >= MAX_GAPS {
                self.open(String::new(), "it has more undocumented places than are listed");
                break;
            }
            let next = match &mut frame.children {
                Children::Members(members) => members.next().map(|(name, value)| {
                    let name = name.as_str().unwrap_or_default();
                    let covered = self.coverage.member_of(&frame.applicable, &name);
                    (Step::Member(name), value, covered)
                }),
                Children::Items(items) => items.next().map(|(index, item)| {
                    let covered = self.item_of(&frame.applicable, index, item);
                    (Step::Item(index), item, covered)
                }),
            };
            let Some((step, child, covered)) = next else {
                open.pop();
                continue;
            };
            let schemas = match covered {
                MemberCoverage::Covered => continue,
                MemberCoverage::Nothing => {
                    let is_item = matches!(step, Step::Item(_));
                    let kind = if is_item { GapKind::UndocumentedItem } else { GapKind::Undocumented };
                    gaps.push(Gap { at: pointer(&open, &step), kind });
                    continue;
                }
                MemberCoverage::Unnamed(limit, schemas) => {
                    frame.unnamed += 1;
                    let kind = if frame.unnamed > limit {
                        GapKind::BeyondUnnamed { limit }
                    } else {
                        GapKind::Unnamed { limit }
                    };
                    gaps.push(Gap { at: pointer(&open, &step), kind });
                    schemas
                }
                MemberCoverage::Schemas(schemas) => schemas,
            };
            let frame = self.enter(child, &schemas, step, &open, &mut gaps);
            open.extend(frame);
        }
        gaps
    }

    /// Reports on one value; a container with content to visit gives a frame.
    fn enter<'a>(
        &self,
        value: Node<'a>,
        leading: &[usize],
        step: Step<'a>,
        open: &[Frame<'_>],
        gaps: &mut Vec<Gap>,
    ) -> Option<Frame<'a>> {
        let entries = &self.coverage.entries;
        let kind = value.kind();
        let is_container = matches!(kind, Kind::Object | Kind::Array) && !value.is_empty();
        let found = self.applicable(leading, value);
        let is_broken = self.is_broken(&found, || pointer(open, &step));
        if self.undecided.take() {
            self.open(
                pointer(open, &step),
                "only what contrail does not check decides which of several variants it is",
            );
        }
        if let Some(keyword) = found.applicable.iter().find_map(|index| entries[*index].other_side) {
            gaps.push(Gap { at: pointer(open, &step), kind: GapKind::OtherSide { keyword } });
            return None;
        }
        match kind {
            Kind::Object | Kind::Array if !is_container => None,
            Kind::Object | Kind::Array => {
                let children = match kind {
                    Kind::Object => Children::Members(value.entries()),
                    _ => Children::Items(value.items().enumerate()),
                };
                let documents = self.documents(&found, container_type(kind));
                if self.broken && !documents && !is_broken {
                    let mut reach = found.applicable.iter().map(|index| entries[*index].leads_to_broken);
                    if reach.any(|broken| broken) {
                        self.open(
                            pointer(open, &step),
                            "contrail cannot use all that the document states of parts of it",
                        );
                    }
                }
                if let Some((member, kind)) = found.unclear {
                    let mut at = pointer(open, &step);
                    if let GapKind::Value { .. } = kind {
                        push_pointer(&mut at, member);
                    }
                    gaps.push(Gap { at, kind });
                }
                documents.then_some(Frame { children, applicable: found.applicable, step, unnamed: 0 })
            }
            Kind::String => {
                self.contents(&found.applicable, value, || pointer(open, &step), gaps);
                let known =
                    || found.applicable.iter().map(|index| &entries[*index].known).filter(|known| !known.is_empty());
                known().next()?;
                let text = value.as_str().unwrap_or_default();
                if !known().any(|known| known.matches(&text, self.is_origin)) {
                    let written = known().flat_map(|known| &known.written);
                    let known = joined(written.map(|written| format!("`{written}`")), ", ");
                    gaps.push(Gap { at: pointer(open, &step), kind: GapKind::Value { known } });
                }
                None
            }
            Kind::Null => {
                let mut nullable = found.applicable.iter().filter_map(|index| entries[*index].nullable);
                if nullable.any(|rest| !(self.holds)(rest, value)) {
                    let expected = "another value: `nullable` allows null, and the rest of the schema excludes it";
                    let kind = GapKind::Unclear { expected: expected.to_owned() };
                    gaps.push(Gap { at: pointer(open, &step), kind });
                }
                None
            }
            Kind::Boolean | Kind::Number => None,
        }
    }

    /// Reports what an unusable place of the schemas that apply to a value may restrict; whether there is one.
    fn is_broken(&self, found: &AppliedSchemas<'_>, at: impl Fn() -> String) -> bool {
        if !self.broken {
            return false;
        }
        let broken = found.applicable.iter().filter_map(|index| self.coverage.entries[*index].broken.as_deref());
        broken.map(|why| self.open(at(), why.to_owned())).count() > 0
    }

    /// Reports on the content of a text.
    fn contents(&self, applicable: &[usize], value: Node<'_>, at: impl Fn() -> String, gaps: &mut Vec<Gap>) {
        for index in applicable {
            let schema = match &self.coverage.entries[*index].content {
                TextContent::Nothing => continue,
                TextContent::Unread => {
                    self.open(at(), "contrail does not read what this text holds");
                    continue;
                }
                TextContent::Json(schema) => schema,
            };
            let document = match Document::parse(value.as_str().unwrap_or_default().into_owned()) {
                Ok(document) if document.depth() <= MAX_CONTENT_DEPTH => document,
                Err(error) if !error.fault.is_limit() => {
                    let expected = format!("well-formed JSON text: {error}");
                    gaps.push(Gap { at: at(), kind: GapKind::Content { expected } });
                    continue;
                }
                Ok(_) | Err(_) => {
                    self.open(at(), "the JSON in this text is beyond a limit of the parser");
                    continue;
                }
            };
            let Some(schema) = schema else { continue };
            if !(self.holds)(schema.judge, document.root()) {
                let expected = "JSON text that conforms to its `contentSchema`".to_owned();
                gaps.push(Gap { at: at(), kind: GapKind::Content { expected } });
                continue;
            }
            let (below, open) = self.coverage.walk(schema.entry, document.root(), self.holds, self.is_origin);
            self.open.borrow_mut().extend(open.into_iter().map(|open| Open { at: at() + &open.at, ..open }));
            gaps.extend(below.into_iter().map(|gap| Gap { at: at() + &gap.at, ..gap }));
        }
    }

    /// Whether the schemas document the content of such a container part by part. A value that no schema restricts has
    /// no gaps below, nor has one of a wrong type, nor one that a schema lists whole. Beside a schema that states
    /// something, one that states nothing frees nothing.
    fn documents(&self, found: &AppliedSchemas<'_>, container: Types) -> bool {
        let entries = || found.applicable.iter().map(|index| &self.coverage.entries[*index]);
        let free =
            found.freed || (entries().any(|entry| entry.silent) && entries().all(|entry| entry.silent || entry.refers));
        !free && entries().all(|entry| entry.documents(container))
    }

    /// All schemas that apply to a value, given those that lead to it.
    fn applicable(&self, from: &[usize], value: Node<'_>) -> AppliedSchemas<'c> {
        let entries = &self.coverage.entries;
        let (mut applicable, mut seen) = (Vec::new(), HashSet::new());
        let mut todo: Vec<usize> = from.iter().rev().copied().collect();
        let mut freed = false;
        let mut unclear = None;
        while let Some(index) = todo.pop() {
            if !work::take(1) {
                break;
            }
            if !seen.insert(index) {
                continue;
            }
            applicable.push(index);
            let entry = &entries[index];
            todo.extend(&entry.always);
            for choice in &entry.choices {
                let before = todo.len();
                unclear = unclear.or(self.choose(choice, value, &seen, &mut todo));
                freed |= todo[before..].iter().any(|branch| entries[*branch].silent);
            }
            if let Some(condition) = &entry.condition {
                if (self.holds)(condition.test.judge, value) {
                    todo.push(condition.test.entry);
                    todo.extend(condition.then);
                } else {
                    todo.extend(condition.otherwise);
                }
            }
            work::take((entry.dependent.len() * (1 + value.len() / STEP_NAMES)) as u64);
            todo.extend(
                entry.dependent.iter().filter(|(name, _)| value.get(name).is_some()).map(|(_, schema)| *schema),
            );
        }
        AppliedSchemas { applicable, freed, unclear }
    }

    fn item_of(&self, applicable: &[usize], index: usize, item: Node<'_>) -> MemberCoverage {
        work::take(applicable.len() as u64);
        let mut schemas = Vec::new();
        for entry in applicable.iter().map(|entry| &self.coverage.entries[*entry]) {
            if let Some(schema) = entry.prefix.get(index).copied().or(entry.items) {
                schemas.push(schema);
            }
            if let Some(contains) = entry.contains.as_ref().filter(|contains| (self.holds)(contains.judge, item)) {
                schemas.push(contains.entry);
            }
        }
        if schemas.is_empty() { MemberCoverage::Nothing } else { MemberCoverage::Schemas(schemas) }
    }

    /// The branches of a choice that apply to a value; `seen` are schemas that do. Gives the member that selects none of
    /// them.
    fn choose(
        &self,
        choice: &'c Choice,
        value: Node<'_>,
        seen: &HashSet<usize>,
        todo: &mut Vec<usize>,
    ) -> Option<(&'c str, GapKind)> {
        let mut unclear = None;
        let default = choice.selection.as_ref().and_then(|selection| selection.default);
        if let Some(selection) = &choice.selection
            && let Some(selector) = value.get(&selection.property)
        {
            let property = &*selection.property;
            let text = (selector.kind() == Kind::String).then(|| selector.as_str()).flatten().unwrap_or_default();
            match selection.case(&text) {
                Some(index) => {
                    let branch = &choice.branches[index];
                    if seen.contains(&branch.entry) {
                        return None;
                    }
                    if !choice.children || (self.holds)(branch.judge, value) {
                        todo.push(branch.entry);
                        return None;
                    }
                    let expected = format!("a value of the schema that its `{property}` names");
                    return Some((property, GapKind::Unclear { expected }));
                }
                None => unclear = Some((property, GapKind::Value { known: selection.documented().to_owned() })),
            }
        }
        if let Some(default) = default {
            todo.push(choice.branches[default].entry);
            return None;
        }
        if choice.children {
            return unclear;
        }
        // The one that a member selects applies, as under a discriminator: the judge reads no other.
        let decided = choice.decision.as_ref().map_or(Decided::Open, |decision| decision.by(value));
        if let Decided::Branch(index) = decided {
            todo.push(choice.branches[index].entry);
            return unclear;
        }
        let before = todo.len();
        let holds = |branch: &&Branch| (self.holds)(branch.judge, value);
        if decided == Decided::Open {
            let holding = choice.branches.iter().filter(holds);
            todo.extend(holding.map(|branch| branch.entry));
        }
        if choice.undecided && todo.len() > before + 1 {
            self.undecided.set(true);
        }
        if todo.len() == before {
            // No branch holds, which is a violation; what any of them documents is no gap.
            todo.extend(choice.branches.iter().map(|branch| branch.entry));
            return None;
        }
        unclear
    }
}
