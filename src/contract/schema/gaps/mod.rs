//! The gap walker: which properties and values no documented schema accounts for.
//!
//! Compiled from the same schema that the judge uses, it knows every place in the document that speaks of a value: its
//! own keywords, what `$ref` and `allOf` add, and those branches of `oneOf`, `anyOf` and `if` that hold for it. A member
//! that none of them names is a gap, unless one of them is free-form (`additionalProperties: true`, or a schema that
//! is silent) or closed (then the judge has called it a violation).

mod compile;

pub(super) use compile::{known, says_something};

use std::{borrow::Cow, cell::Cell, collections::HashSet, sync::Arc};

use jsonschema::Validator;
use serde_json::json;

use super::judge;
use crate::json::{Document, Entries, Items, Kind, Node, Tape, TapeNode, push_pointer};

/// Bound on the gaps reported of one value.
const MAX_GAPS: usize = 1000;

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
    /// No schema documents it.
    Undocumented,
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
    /// The document states two things about it that disagree.
    Unclear {
        /// What is expected, as a clause.
        expected: String,
    },
}

/// JSON types, as a set; empty where a schema names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Types(u8);

impl Types {
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    pub(super) const NUMBER: Self = Self(8);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);

    fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether a value may be of this type.
    fn allows(self, other: Self) -> bool {
        self.0 == 0 || self.has(other)
    }

    /// Whether an array is among them.
    #[must_use]
    pub fn array(self) -> bool {
        self.has(Self::ARRAY)
    }

    /// Whether an object is among them.
    #[must_use]
    pub fn object(self) -> bool {
        self.has(Self::OBJECT)
    }

    /// Whether a string is among them.
    #[must_use]
    pub fn string(self) -> bool {
        self.has(Self::STRING)
    }

    /// Whether a number that is not whole may be among them.
    #[must_use]
    pub fn number_or_unknown(self) -> bool {
        self.allows(Self::NUMBER)
    }

    /// Whether a scalar may be among them.
    #[must_use]
    pub fn scalar_or_unknown(self) -> bool {
        self.unknown() || self.has(Self(!(Self::ARRAY.0 | Self::OBJECT.0)))
    }

    /// Whether the schema names none.
    #[must_use]
    pub fn unknown(self) -> bool {
        self.0 == 0
    }

    /// Whether a text stands for a whole number wherever it is written as one.
    pub(super) fn is_integer(self) -> bool {
        (self.has(Self::INTEGER) || self.has(Self::NUMBER)) && !self.has(Self::STRING)
    }

    /// Whether a text stands for JSON text of a container: an object or an array is among them, and no string.
    #[must_use]
    pub fn is_container(self) -> bool {
        (self.has(Self::OBJECT) || self.has(Self::ARRAY)) && !self.has(Self::STRING)
    }

    /// Reads a text as one of the scalar types, as a document of one value; `None` where it stays a text.
    #[must_use]
    pub fn coerce(self, text: &str) -> Option<Document> {
        if self.has(Self::STRING) {
            return None;
        }
        let integer = || {
            let digits = text.strip_prefix('-').unwrap_or(text);
            digits == "0" || (!digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let document = Document::parse(text.as_bytes().to_vec()).ok()?;
        // White space is no part of a number.
        let whole = document.root().span() == (0..text.len());
        let fits = whole
            && match document.root().kind() {
                Kind::Number => self.has(Self::NUMBER) || (self.has(Self::INTEGER) && integer()),
                Kind::Boolean => self.has(Self::BOOLEAN),
                _ => false,
            };
        fits.then_some(document)
    }
}

/// The walker's table: every schema of a document that can be reached from the places in use.
pub(super) struct Coverage {
    entries: Vec<Entry>,
    /// JSON pointers of the branches of choices and conditions; the judge decides which hold.
    pub(super) branches: Vec<String>,
}

/// Whether a branch, given by its index in [`Coverage::branches`], holds for a value.
type Holds<'a> = &'a dyn Fn(usize, Node<'_>) -> bool;

/// What one schema object says about where things belong.
#[derive(Default)]
struct Entry {
    types: Types,
    /// It is silent, so that anything goes.
    silent: bool,
    properties: Vec<(Box<str>, usize)>,
    patterns: Vec<(Pattern, usize)>,
    additional: Additional,
    unnamed: Option<usize>,
    prefix: Vec<usize>,
    items: Option<usize>,
    known: Vec<Known>,
    /// `$ref`, `allOf`: hold always.
    always: Vec<usize>,
    /// `oneOf`, `anyOf`, and the schemas that extend this one: those that hold for the value.
    choices: Vec<Choice>,
    /// `if` with `then` and `else`.
    condition: Option<Condition>,
    /// `dependentSchemas`.
    dependent: Vec<(Box<str>, usize)>,
    /// All schemas that speak of a value to which this one leads, where that does not depend on the value.
    closure: Option<Vec<usize>>,
    /// Where null is a gap: the index in [`Coverage::branches`] of the schema without its `nullable`.
    nullable: Option<usize>,
    /// This schema, or one that it leads to for the same value, has a statement about values without content.
    looks_at_all: bool,
    /// It only leads to other schemas for the same value.
    refers: bool,
    reach: Reach,
}

/// What a schema reaches through the schemas that it leads to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reach {
    /// A circle of references, so that the judge recurses as deep as the value is.
    pub(super) circle: bool,
    /// A circle that passes a branch of a choice.
    pub(super) circle_of_choices: bool,
    /// A schema with an unusable place.
    pub(super) broken: bool,
}

impl Reach {
    fn add(&mut self, other: Self) {
        self.circle |= other.circle;
        self.circle_of_choices |= other.circle_of_choices;
        self.broken |= other.broken;
    }
}

impl Entry {
    fn branches(&self) -> impl Iterator<Item = &Branch> {
        let choices = self.choices.iter().flat_map(|choice| &choice.branches);
        choices.chain(self.condition.iter().map(|condition| &condition.test))
    }

    /// The schemas that this one leads to for the same value.
    fn same_value(&self) -> impl Iterator<Item = usize> {
        let condition =
            self.condition.iter().flat_map(|condition| condition.then.into_iter().chain(condition.otherwise));
        let branches = self.branches().map(|branch| branch.entry);
        let dependent = self.dependent.iter().map(|(_, schema)| *schema);
        self.always.iter().copied().chain(branches).chain(condition).chain(dependent)
    }

    /// The schemas that this one leads to.
    fn leads_to(&self) -> impl Iterator<Item = usize> {
        let additional = match self.additional {
            Additional::Schema(schema) => Some(schema),
            _ => None,
        };
        let properties = self.properties.iter().map(|(_, schema)| *schema);
        let patterns = self.patterns.iter().map(|(_, schema)| *schema);
        let items = self.prefix.iter().copied().chain(self.items);
        self.same_value().chain(properties).chain(patterns).chain(additional).chain(items)
    }
}

/// Schemas of which some apply.
struct Choice {
    branches: Vec<Branch>,
    /// By the value of a member.
    selection: Option<Selection>,
    /// The branches are schemas that extend this one; none has to hold.
    children: bool,
    /// Nobody can decide between the branches, so that several may hold.
    undecided: bool,
}

/// A member whose value selects a branch.
struct Selection {
    property: Box<str>,
    /// Values, each with an index into the branches.
    cases: Vec<(Box<str>, usize)>,
}

impl Selection {
    fn documented(&self) -> String {
        self.cases.iter().map(|(value, _)| format!("`{value}`")).collect::<Vec<_>>().join(", ")
    }
}

struct Branch {
    /// Its index in [`Coverage::branches`].
    judge: usize,
    entry: usize,
}

/// A pattern for the names of members.
#[derive(Clone)]
struct Pattern(Arc<Validator<Tape>>);

impl Pattern {
    fn compile(pattern: &str) -> Option<Self> {
        let validator = judge::asserting_formats().build(&json!({ "pattern": pattern })).ok()?;
        Some(Self(validator.into()))
    }

    fn matches(&self, name: &str) -> bool {
        self.0.is_valid(TapeNode::Text(name))
    }
}

struct Condition {
    test: Branch,
    then: Option<usize>,
    otherwise: Option<usize>,
}

/// What becomes of members without a name in `properties`.
#[derive(Default, Clone, Copy)]
enum Additional {
    /// The document is silent: a gap.
    #[default]
    Open,
    /// Free-form, on purpose.
    Free,
    /// There are none; the judge says so.
    Closed,
    /// They have this schema.
    Schema(usize),
}

/// A documented value of an open set: `{name}` stands for any text that is not empty, `{origin}` for an origin.
pub(super) struct Known {
    written: Box<str>,
    parts: Vec<Part>,
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(Box<str>),
    Any,
    Origin,
}

impl Known {
    pub(super) fn matches(&self, text: &str, is_origin: &dyn Fn(&str) -> bool) -> bool {
        matches(&self.parts, text, is_origin)
    }
}

fn matches(parts: &[Part], text: &str, is_origin: &dyn Fn(&str) -> bool) -> bool {
    match parts {
        [] => text.is_empty(),
        [Part::Text(literal), rest @ ..] => {
            text.strip_prefix(&**literal).is_some_and(|text| matches(rest, text, is_origin))
        }
        [Part::Origin, rest @ ..] => {
            let after_scheme = text.find("://").map_or(text.len(), |at| at + 3);
            let end = text[after_scheme..].find(['/', '?', '#']).map_or(text.len(), |at| after_scheme + at);
            is_origin(&text[..end]) && matches(rest, &text[end..], is_origin)
        }
        [Part::Any] => !text.is_empty(),
        [Part::Any, rest @ ..] => text.char_indices().skip(1).any(|(at, _)| matches(rest, &text[at..], is_origin)),
    }
}

/// Schemas that lead to one value: nearly always one, which costs no allocation.
#[derive(Default)]
enum Few {
    #[default]
    None,
    One(usize),
    Several(Vec<usize>),
}

impl Few {
    fn push(&mut self, index: usize) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(index),
            Self::One(first) => Self::Several(vec![first, index]),
            Self::Several(mut several) => {
                several.push(index);
                Self::Several(several)
            }
        };
    }

    fn as_slice(&self) -> &[usize] {
        match self {
            Self::None => &[],
            Self::One(index) => std::slice::from_ref(index),
            Self::Several(several) => several,
        }
    }
}

/// Schemas that speak of one value: those that lead to it, and what they refer to.
type Applicable<'s> = Cow<'s, [usize]>;

/// A container on the way from the root to the value that is looked at.
struct Frame<'s, 'a> {
    children: Children<'a>,
    applicable: Applicable<'s>,
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
fn pointer(open: &[Frame<'_, '_>], last: &Step<'_>) -> String {
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

enum Children<'a> {
    Members(Entries<'a>),
    Items(std::iter::Enumerate<Items<'a>>),
}

/// What the schemas of a container say about one child.
enum Says {
    /// These schemas speak of it.
    Schemas(Few),
    /// It is covered, and nothing below is looked at.
    Covered,
    /// It is one of the keys whose names are not shown.
    Unnamed(usize, Few),
    /// Nothing.
    Nothing,
}

/// Schemas that apply to one value.
struct Found<'s> {
    applicable: Applicable<'s>,
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
    /// A choice came out in a way that only an aspect without a check could decide.
    undecided: Cell<bool>,
}

impl Coverage {
    /// What the schema with this index reaches.
    pub(super) fn reach(&self, entry: usize) -> Reach {
        self.entries[entry].reach
    }

    /// By branch, whether it reaches a schema with an unusable place.
    pub(super) fn broken_branches(&self) -> Vec<bool> {
        let mut broken = vec![false; self.branches.len()];
        for branch in self.entries.iter().flat_map(Entry::branches) {
            broken[branch.judge] = self.entries[branch.entry].reach.broken;
        }
        broken
    }

    /// The gaps of a value under the schema with this index, and whether a choice is undecided.
    pub(super) fn walk(
        &self,
        entry: usize,
        root: Node<'_>,
        holds: Holds<'_>,
        is_origin: &dyn Fn(&str) -> bool,
    ) -> (Vec<Gap>, bool) {
        let walk = Walk { coverage: self, holds, is_origin, undecided: Cell::new(false) };
        let gaps = walk.walk(entry, root);
        (gaps, walk.undecided.get())
    }
}

impl<'c> Walk<'c> {
    fn walk(&self, entry: usize, root: Node<'_>) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let mut open: Vec<Frame<'_, '_>> = Vec::new();
        open.extend(self.enter(root, &[entry], Step::Root, &open, &mut gaps));
        while let Some(frame) = open.last_mut() {
            if gaps.len() >= MAX_GAPS {
                break;
            }
            let next = match &mut frame.children {
                Children::Members(members) => members.next().map(|(name, value)| {
                    let name = name.as_str().unwrap_or_default();
                    let says = self.coverage.member_of(&frame.applicable, &name);
                    (Step::Member(name), value, says)
                }),
                Children::Items(items) => items
                    .next()
                    .map(|(index, item)| (Step::Item(index), item, self.coverage.item_of(&frame.applicable, index))),
            };
            let Some((step, child, says)) = next else {
                open.pop();
                continue;
            };
            let schemas = match says {
                Says::Covered => continue,
                Says::Nothing => {
                    gaps.push(Gap { at: pointer(&open, &step), kind: GapKind::Undocumented });
                    continue;
                }
                Says::Unnamed(limit, schemas) => {
                    frame.unnamed += 1;
                    let kind = if frame.unnamed > limit {
                        GapKind::BeyondUnnamed { limit }
                    } else {
                        GapKind::Unnamed { limit }
                    };
                    gaps.push(Gap { at: pointer(&open, &step), kind });
                    schemas
                }
                Says::Schemas(schemas) => schemas,
            };
            let frame = self.enter(child, schemas.as_slice(), step, &open, &mut gaps);
            open.extend(frame);
        }
        gaps
    }

    /// Reports on one value; a container with content to visit gives a frame.
    fn enter<'a>(
        &self,
        value: Node<'a>,
        schemas: &[usize],
        step: Step<'a>,
        open: &[Frame<'_, '_>],
        gaps: &mut Vec<Gap>,
    ) -> Option<Frame<'c, 'a>> {
        let entries = &self.coverage.entries;
        let looks = schemas.iter().any(|index| entries[*index].looks_at_all);
        let kind = value.kind();
        let is_container = matches!(kind, Kind::Object | Kind::Array) && !value.is_empty();
        if !looks && !is_container {
            return None;
        }
        let found = self.applicable(schemas, value);
        match kind {
            Kind::Object | Kind::Array if !is_container => None,
            Kind::Object | Kind::Array => {
                let (children, container) = match kind {
                    Kind::Object => (Children::Members(value.entries()), Types::OBJECT),
                    _ => (Children::Items(value.items().enumerate()), Types::ARRAY),
                };
                let documents = self.documents(&found, container);
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
                let mut known = found.applicable.iter().flat_map(|index| &entries[*index].known).peekable();
                known.peek()?;
                let text = value.as_str().unwrap_or_default();
                if !known.clone().any(|known| known.matches(&text, self.is_origin)) {
                    let known = known.map(|known| format!("`{}`", known.written)).collect::<Vec<_>>().join(", ");
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

    /// Whether the schemas document the content of such a container. A value that no schema restricts has no gaps below,
    /// nor has one of a wrong type. Beside a schema that states something, one that states nothing frees nothing.
    fn documents(&self, found: &Found<'_>, container: Types) -> bool {
        let entries = || found.applicable.iter().map(|index| &self.coverage.entries[*index]);
        let free =
            found.freed || (entries().any(|entry| entry.silent) && entries().all(|entry| entry.silent || entry.refers));
        !free && entries().all(|entry| entry.types.allows(container))
    }

    /// All schemas that apply to a value, given those that lead to it.
    fn applicable(&self, from: &[usize], value: Node<'_>) -> Found<'c> {
        let entries = &self.coverage.entries;
        if let [only] = from
            && let Some(always) = &entries[*only].closure
        {
            return Found { applicable: Cow::Borrowed(always), freed: false, unclear: None };
        }
        let mut found = Vec::with_capacity(from.len() + 2);
        let mut freed = false;
        let mut unclear = None;
        let mut todo: Vec<usize> = from.iter().rev().copied().collect();
        while let Some(index) = todo.pop() {
            if found.contains(&index) {
                continue;
            }
            found.push(index);
            let entry = &entries[index];
            todo.extend(&entry.always);
            for choice in &entry.choices {
                let before = todo.len();
                unclear = unclear.or(self.choose(choice, value, &found, &mut todo));
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
            todo.extend(
                entry.dependent.iter().filter(|(name, _)| value.get(name).is_some()).map(|(_, schema)| *schema),
            );
        }
        Found { applicable: Cow::Owned(found), freed, unclear }
    }

    /// The branches of a choice that apply to a value. Gives the member that selects none of them.
    fn choose(
        &self,
        choice: &'c Choice,
        value: Node<'_>,
        found: &[usize],
        todo: &mut Vec<usize>,
    ) -> Option<(&'c str, GapKind)> {
        let mut unclear = None;
        if let Some(selection) = &choice.selection
            && let Some(told) = value.get(&selection.property)
        {
            let property = &*selection.property;
            let text = (told.kind() == Kind::String).then(|| told.as_str()).flatten().unwrap_or_default();
            match selection.cases.iter().find(|(held, _)| **held == *text) {
                Some((_, index)) => {
                    let branch = &choice.branches[*index];
                    if found.contains(&branch.entry) {
                        return None;
                    }
                    if !choice.children || (self.holds)(branch.judge, value) {
                        todo.push(branch.entry);
                        return None;
                    }
                    let expected = format!("what the schema documents that its `{property}` names");
                    return Some((property, GapKind::Unclear { expected }));
                }
                None => unclear = Some((property, GapKind::Value { known: selection.documented() })),
            }
        }
        if choice.children {
            return unclear;
        }
        let before = todo.len();
        let holding = choice.branches.iter().filter(|branch| (self.holds)(branch.judge, value));
        todo.extend(holding.map(|branch| branch.entry));
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

impl Coverage {
    fn member_of(&self, applicable: &[usize], name: &str) -> Says {
        let mut schemas = Few::default();
        let mut covered = false;
        let mut unnamed = None;
        for index in applicable {
            let entry = &self.entries[*index];
            let mut named = false;
            for (_, schema) in entry.properties.iter().filter(|(held, _)| **held == *name) {
                schemas.push(*schema);
                named = true;
            }
            for (_, schema) in entry.patterns.iter().filter(|(pattern, _)| pattern.matches(name)) {
                schemas.push(*schema);
                named = true;
            }
            if named {
                covered = true;
                continue;
            }
            if let Some(limit) = entry.unnamed {
                unnamed = Some(limit);
            }
            match entry.additional {
                Additional::Open => {}
                Additional::Free | Additional::Closed => covered |= entry.unnamed.is_none(),
                Additional::Schema(schema) => {
                    schemas.push(schema);
                    covered |= entry.unnamed.is_none();
                }
            }
        }
        match (covered, unnamed) {
            (true, _) if schemas.as_slice().is_empty() => Says::Covered,
            (true, _) => Says::Schemas(schemas),
            (false, Some(limit)) => Says::Unnamed(limit, schemas),
            (false, None) => Says::Nothing,
        }
    }

    fn item_of(&self, applicable: &[usize], index: usize) -> Says {
        let mut schemas = Few::default();
        for entry in applicable.iter().map(|entry| &self.entries[*entry]) {
            if let Some(schema) = entry.prefix.get(index).copied().or(entry.items) {
                schemas.push(schema);
            }
        }
        if schemas.as_slice().is_empty() { Says::Nothing } else { Says::Schemas(schemas) }
    }

    /// Every schema that might apply to a value, whatever it is.
    fn possible(&self, from: &[usize]) -> Vec<usize> {
        self.possible_up_to(from, usize::MAX)
    }

    /// The same, cut off beyond a number of schemas.
    fn possible_up_to(&self, from: &[usize], limit: usize) -> Vec<usize> {
        let mut seen: HashSet<usize> = from.iter().copied().collect();
        let mut found = from.to_vec();
        let mut next = 0;
        while let Some(index) = found.get(next).copied().filter(|_| found.len() <= limit) {
            next += 1;
            found.extend(self.entries[index].same_value().filter(|target| seen.insert(*target)));
        }
        found
    }

    /// The types that a value under these schemas may have.
    pub(super) fn types_of(&self, from: &[usize]) -> Types {
        self.possible(from).into_iter().fold(Types::default(), |mut types, index| {
            types.add(self.entries[index].types);
            types
        })
    }

    /// The types that items may have, where a value under this schema is an array.
    pub(super) fn item_types(&self, entry: usize) -> Types {
        let items: Vec<usize> =
            self.possible(&[entry]).into_iter().filter_map(|index| self.entries[index].items).collect();
        self.types_of(&items)
    }

    /// The types that the member of this name may have, where a value under this schema is an object.
    pub(super) fn member_types(&self, entry: usize, name: &str) -> Types {
        let schemas: Vec<usize> = self
            .possible(&[entry])
            .into_iter()
            .filter_map(|index| {
                let entry = &self.entries[index];
                let named = entry.properties.iter().find(|(held, _)| **held == *name).map(|(_, schema)| *schema);
                named.or(match entry.additional {
                    Additional::Schema(schema) => Some(schema),
                    _ => None,
                })
            })
            .collect();
        self.types_of(&schemas)
    }
}
