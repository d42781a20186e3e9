//! The walker's table: what each schema says about where things belong, and what it leads to.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
    fmt,
    sync::{Arc, OnceLock},
};

use crate::schema::represent::{Tape, TapeNode};
use ahash::AHashMap;
use jsonschema::Validator;
use serde_json::json;

use super::{known::KnownValues, types::Types};
use crate::{
    list::joined,
    schema::{decision::Decision, judge, order::shorter_first, pattern},
};

/// The walker's table: every schema of a document that can be reached from the places in use.
pub(in crate::schema) struct Coverage {
    pub(super) entries: Vec<SchemaEntry>,
    /// JSON pointers of the branches of choices and conditions; the judge decides which hold.
    pub(in crate::schema) branches: Vec<String>,
}

/// What one schema object says about where things belong.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // facts that have nothing to do with each other
pub(super) struct SchemaEntry {
    pub(super) types: Types,
    /// It is silent, so that anything goes.
    pub(super) silent: bool,
    /// It lists whole values (`const`, `enum`), so that nothing below one is undocumented.
    pub(super) lists: bool,
    /// Sorted by name, [`shorter_first`].
    pub(super) properties: Vec<(Box<str>, usize)>,
    pub(super) patterns: Vec<(NamePattern, usize)>,
    pub(super) additional: Additional,
    pub(super) unnamed: Option<usize>,
    pub(super) prefix: Vec<usize>,
    pub(super) items: Option<usize>,
    /// `contains`: documents the items for which it holds.
    pub(super) contains: Option<Branch>,
    pub(super) known: KnownValues,
    /// `$ref`, `allOf`: hold always.
    pub(super) always: Vec<usize>,
    /// `oneOf`, `anyOf`, and the schemas that extend this one: those that hold for the value.
    pub(super) choices: Vec<Choice>,
    /// `if` with `then` and `else`.
    pub(super) condition: Option<Condition>,
    /// `dependentSchemas`.
    pub(super) dependent: Vec<(Box<str>, usize)>,
    /// All schemas that may apply to a value to which this one leads, unless there are too many.
    pub(super) closure: Option<Box<[usize]>>,
    /// Where null is a gap: the index in [`Coverage::branches`] of the schema without its `nullable`.
    pub(super) nullable: Option<usize>,
    /// What it states of the content of a text.
    pub(super) content: TextContent,
    /// The keyword by which the value belongs to the other side of an exchange.
    pub(super) other_side: Option<&'static str>,
    /// It restricts no text: any bytes conform.
    pub(super) takes_bytes: bool,
    /// What is wrong with a place of it that contrail cannot use.
    pub(super) broken: Option<Box<str>>,
    /// It only leads to other schemas for the same value.
    pub(super) refers: bool,
    /// A place that contrail cannot use is in it, or in a schema that it leads to.
    pub(super) leads_to_broken: bool,
}

impl SchemaEntry {
    pub(super) fn property(&self, name: &str) -> Option<usize> {
        let order = |(held, _): &(Box<str>, usize)| shorter_first(held.as_bytes(), name.as_bytes());
        let at = self.properties.binary_search_by(order).ok()?;
        Some(self.properties[at].1)
    }

    /// Whether it documents such a container part by part, where it says anything about it.
    pub(super) fn documents(&self, container: Types) -> bool {
        !self.lists && self.types.allows(container)
    }

    pub(super) fn branches(&self) -> impl Iterator<Item = &Branch> {
        let choices = self.choices.iter().flat_map(|choice| &choice.branches);
        choices.chain(self.condition.iter().map(|condition| &condition.test))
    }

    /// The schemas that this one leads to for the same value.
    pub(super) fn same_value(&self) -> impl Iterator<Item = usize> {
        let condition =
            self.condition.iter().flat_map(|condition| condition.then.into_iter().chain(condition.otherwise));
        let branches = self.branches().map(|branch| branch.entry);
        let dependent = self.dependent.iter().map(|(_, schema)| *schema);
        self.always.iter().copied().chain(branches).chain(condition).chain(dependent)
    }

    /// The schemas that this one leads to.
    pub(super) fn leads_to(&self) -> impl Iterator<Item = usize> {
        let additional = match self.additional {
            Additional::Schema(schema) => Some(schema),
            _ => None,
        };
        let properties = self.properties.iter().map(|(_, schema)| *schema);
        let patterns = self.patterns.iter().map(|(_, schema)| *schema);
        let contains = self.contains.iter().map(|contains| contains.entry);
        let items = self.prefix.iter().copied().chain(self.items).chain(contains);
        let content = match &self.content {
            TextContent::Json(Some(schema)) => Some(schema.entry),
            _ => None,
        };
        self.same_value().chain(properties).chain(patterns).chain(additional).chain(items).chain(content)
    }
}

/// What a schema states of the content of a text: `contentMediaType`, `contentSchema`, `contentEncoding`.
#[derive(Default)]
pub(super) enum TextContent {
    #[default]
    Nothing,
    /// It is JSON text, of this schema.
    Json(Option<Branch>),
    /// Something that contrail does not read.
    Unread,
}

/// Schemas of which some apply.
pub(super) struct Choice {
    pub(super) branches: Vec<Branch>,
    /// By the value of a member.
    pub(super) selection: Option<Selection>,
    /// By a member for which every branch lists other values.
    pub(super) decision: Option<Arc<Decision>>,
    /// The branches are schemas that extend this one; none has to hold.
    pub(super) children: bool,
    /// Nothing decides between the branches, so several may hold.
    pub(super) undecided: bool,
}

/// A member whose value selects a branch.
pub(super) struct Selection {
    pub(super) property: Box<str>,
    /// Values, in the order of the document.
    values: Vec<Box<str>>,
    /// By value, an index into the branches.
    cases: AHashMap<Box<str>, usize>,
    /// The index of the branch of all other values.
    pub(super) default: Option<usize>,
    /// The values for reading, once they were asked for.
    documented: OnceLock<String>,
}

impl Selection {
    pub(super) fn of(property: &str) -> Self {
        Self {
            property: property.into(),
            values: Vec::new(),
            cases: AHashMap::new(),
            default: None,
            documented: OnceLock::new(),
        }
    }

    /// Lets a value select a branch, unless it selects one already.
    pub(super) fn add(&mut self, value: &str, branch: usize) {
        self.cases.entry(value.into()).or_insert_with(|| {
            self.values.push(value.into());
            branch
        });
    }

    /// The index of the branch that a value selects.
    pub(super) fn case(&self, value: &str) -> Option<usize> {
        self.cases.get(value).copied()
    }

    pub(super) fn documented(&self) -> &str {
        self.documented.get_or_init(|| joined(self.values.iter().map(|value| format!("`{value}`")), ", "))
    }
}

pub(super) struct Branch {
    /// Its index in [`Coverage::branches`].
    pub(super) judge: usize,
    pub(super) entry: usize,
}

/// A pattern for the names of members (`patternProperties`).
#[derive(Debug, Clone)]
pub struct NamePattern(Arc<Validator<Tape>>);

impl NamePattern {
    /// Whether a member of this name has the schema of the pattern.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_valid(TapeNode::Text(name))
    }
}

/// The patterns of a document: one judge for each, however often it occurs.
#[derive(Debug, Default)]
pub struct NamePatterns(HashMap<String, Option<NamePattern>>);

impl NamePatterns {
    /// The judge of a pattern; `None` for one that is unusable.
    pub fn compiled(&mut self, pattern: &str) -> Option<NamePattern> {
        if let Some(held) = self.0.get(pattern) {
            return held.clone();
        }
        let form = pattern::usable(pattern);
        let validator = form.and_then(|form| judge::asserting_formats().build(&json!({ "pattern": form })).ok());
        let judge = validator.map(|validator| NamePattern(validator.into()));
        self.0.insert(pattern.to_owned(), judge.clone());
        judge
    }
}

pub(super) struct Condition {
    pub(super) test: Branch,
    pub(super) then: Option<usize>,
    pub(super) otherwise: Option<usize>,
}

/// What becomes of members without a name in `properties`.
#[derive(Default, Clone, Copy)]
pub(super) enum Additional {
    /// The document is silent: a gap.
    #[default]
    Open,
    /// Free-form, on purpose.
    Free,
    /// The schema allows none; the judge reports each as a violation.
    Closed,
    /// They have this schema.
    Schema(usize),
}

impl Coverage {
    /// Whether the schema with this index reaches one with an unusable place.
    pub(in crate::schema) fn leads_to_broken(&self, entry: usize) -> bool {
        self.entries[entry].leads_to_broken
    }

    /// By branch, whether it reaches a schema with an unusable place.
    pub(in crate::schema) fn broken_branches(&self) -> Vec<bool> {
        let mut broken = vec![false; self.branches.len()];
        for branch in self.entries.iter().flat_map(SchemaEntry::branches) {
            broken[branch.judge] = self.entries[branch.entry].leads_to_broken;
        }
        broken
    }
}

impl Coverage {
    /// The schemas that may apply to a value under one of these.
    pub(in crate::schema) fn applicable(&self, entry: usize) -> Applicable<'_> {
        Applicable::to(&self.entries, [entry].into_iter())
    }
}

/// The schemas that may apply to a value, whatever it is; none where nothing describes it.
#[derive(Default)]
pub struct Applicable<'c> {
    entries: &'c [SchemaEntry],
    schemas: Cow<'c, [usize]>,
}

impl fmt::Debug for Applicable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Applicable").field("schemas", &self.schemas).finish_non_exhaustive()
    }
}

impl<'c> Applicable<'c> {
    fn to(entries: &'c [SchemaEntry], mut from: impl Iterator<Item = usize>) -> Self {
        let (first, second) = (from.next(), from.next());
        let schemas = match (first, second) {
            (None, _) => Cow::default(),
            (Some(only), None) if let Some(closure) = &entries[only].closure => Cow::Borrowed(&closure[..]),
            _ => possible(entries, first.into_iter().chain(second).chain(from).collect(), usize::MAX).into(),
        };
        Self { entries, schemas }
    }

    /// The types that the value may have.
    #[must_use]
    pub fn types(&self) -> Types {
        self.schemas.iter().map(|index| &self.entries[*index]).fold(Types::default(), |mut types, entry| {
            types.add(entry.types);
            if entry.types.string() && !entry.lists {
                types.add(Types::UNLISTED_STRING);
            }
            types
        })
    }

    /// Whether any bytes conform, whatever they stand for.
    #[must_use]
    pub fn takes_bytes(&self) -> bool {
        self.schemas.iter().all(|index| self.entries[*index].takes_bytes)
    }

    /// Those of its items, where it is an array.
    #[must_use]
    pub fn item(&self) -> Self {
        let items = |index: &usize| self.entries[*index].prefix.iter().copied().chain(self.entries[*index].items);
        Self::to(self.entries, self.schemas.iter().flat_map(items))
    }

    /// Those of the member of this name, where it is an object.
    #[must_use]
    pub fn member(&self, name: &str) -> Self {
        let (mut first, mut others) = (None, Vec::new());
        let mut add = |schema| match first {
            None => first = Some(schema),
            Some(_) => others.push(schema),
        };
        for entry in self.schemas.iter().map(|index| &self.entries[*index]) {
            let property = entry.property(name);
            let patterns = entry.patterns.iter().filter(|(held, _)| held.matches(name)).map(|(_, schema)| *schema);
            let mut patterns = patterns.peekable();
            match entry.additional {
                Additional::Schema(schema) if property.is_none() && patterns.peek().is_none() => add(schema),
                _ => property.into_iter().chain(patterns).for_each(&mut add),
            }
        }
        Self::to(self.entries, first.into_iter().chain(others))
    }
}

/// The schemas that may apply to a value to which these do, cut off beyond a number of them.
pub(super) fn possible(entries: &[SchemaEntry], from: Vec<usize>, limit: usize) -> Vec<usize> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    let mut todo = VecDeque::from(from);
    while let Some(index) = todo.pop_front().filter(|_| found.len() <= limit) {
        if seen.insert(index) {
            found.push(index);
            todo.extend(entries[index].same_value());
        }
    }
    found
}
