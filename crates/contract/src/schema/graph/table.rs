//! The nodes of the graph: what each schema asks, what it says about where things belong, and what it leads to.

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

use super::{asserts::Asserts, known::KnownValues, types::Types};
use crate::{
    list::joined,
    schema::{decision::Decision, judge, order::shorter_first, pattern},
};

/// Up to here a name is looked for from the first to the last.
const FEW: usize = 8;

/// Every schema of a document that can be reached from the places in use.
pub(in crate::schema) struct Graph {
    pub(super) nodes: Vec<SchemaNode>,
    /// JSON pointers of the branches of choices and conditions; the judge decides which hold.
    pub(in crate::schema) branches: Vec<String>,
}

/// What one schema states.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // facts that have nothing to do with each other
pub(super) struct SchemaNode {
    pub(super) asserts: Asserts,
    /// It states what the walk does not check.
    pub(super) doubt: bool,
    /// It is silent, so that anything goes.
    pub(super) silent: bool,
    /// It lists whole values (`const`, `enum`), so that nothing below one is undocumented.
    pub(super) lists: bool,
    /// In the order of the document: those of `properties`, then others that are required.
    pub(super) properties: Vec<Property>,
    /// Their names, sorted [`shorter_first`], with their indices; empty where there are few.
    pub(super) sorted: Vec<(Box<str>, usize)>,
    /// The bits of all required members.
    pub(super) required: u64,
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
    /// Those of them that say anything, where all of them apply to any value.
    pub(super) fixed: Option<Box<[usize]>>,
    /// The only one of them, if that is plain.
    pub(super) alone: Option<usize>,
    /// Scalars of these types conform, and nothing else does.
    pub(super) scalar: Option<Types>,
    /// Where null is a gap: the index in [`Graph::branches`] of the schema without its `nullable`.
    pub(super) nullable: Option<usize>,
    /// What it states of the content of a text.
    pub(super) content: TextContent,
    /// The keyword by which the value belongs to the other side of an exchange.
    pub(super) other_side: Option<&'static str>,
    /// It restricts no text: any bytes conform.
    pub(super) takes_bytes: bool,
    /// What is wrong with a place of it that contrail cannot use.
    pub(super) broken: Option<Box<str>>,
    /// Its keywords only lead to other schemas for the same value.
    pub(super) refers: bool,
    /// It states nothing but what those do.
    pub(super) is_bridge: bool,
    /// A place that contrail cannot use is in it, or in a schema that it leads to.
    pub(super) leads_to_broken: bool,
}

impl SchemaNode {
    /// The index of a property. `expected` is where it probably is.
    #[inline]
    fn find(&self, name: &[u8], expected: usize) -> Option<usize> {
        let is_called = |property: &Property| property.name.as_bytes() == name;
        if self.properties.get(expected).is_some_and(is_called) {
            return Some(expected);
        }
        if self.sorted.is_empty() {
            return self.properties.iter().position(is_called);
        }
        let at = self.sorted.binary_search_by(|(held, _)| shorter_first(held.as_bytes(), name)).ok()?;
        Some(self.sorted[at].1)
    }

    /// The schema of a member, in the course of an object's members.
    #[inline]
    pub(super) fn named(&self, name: &[u8], cursor: &mut Cursor) -> Option<usize> {
        let index = self.find(name, cursor.expected)?;
        let property = &self.properties[index];
        cursor.expected = index + 1;
        cursor.seen |= property.bit;
        property.schema
    }

    /// The schema of the member of this name.
    fn property(&self, name: &str) -> Option<usize> {
        self.properties[self.find(name.as_bytes(), 0)?].schema
    }

    /// Sorts the names of its properties, where they are many.
    pub(super) fn sort(&mut self) {
        if self.properties.len() > FEW {
            self.sorted = self.properties.iter().map(|property| property.name.clone()).zip(0..).collect();
            self.sorted.sort_unstable_by(|(left, _), (right, _)| shorter_first(left.as_bytes(), right.as_bytes()));
        }
    }

    /// Whether it says nothing beside what it leads to for the same value.
    pub(super) fn only_leads(&self) -> bool {
        self.refers && !self.silent && !self.doubt && !self.leads_to_broken && self.nullable.is_none() && !self.lists
    }

    /// Whether it states nothing beside what it asks by itself, of named members, of all others and of all items.
    pub(super) fn is_plain(&self) -> bool {
        let scalars = matches!(self.content, TextContent::Nothing) && self.known.is_empty() && self.nullable.is_none();
        let members = self.patterns.is_empty() && self.unnamed.is_none();
        let items = self.prefix.is_empty() && self.contains.is_none();
        scalars && members && items && !self.doubt && !self.leads_to_broken && self.other_side.is_none()
    }

    /// Whether it says the same of every member.
    pub(super) fn names_no_member(&self) -> bool {
        self.properties.is_empty() && self.patterns.is_empty() && self.unnamed.is_none()
    }

    /// Whether it documents such a container part by part, where it says anything about it.
    pub(super) fn documents(&self, container: Types) -> bool {
        !self.lists && self.asserts.types.allows(container)
    }

    pub(super) fn branches(&self) -> impl Iterator<Item = &Branch> {
        let choices = self.choices.iter().flat_map(|choice| &choice.branches);
        choices.chain(self.condition.iter().map(|condition| &condition.test))
    }

    /// The schemas that this one leads to for the same value.
    pub(super) fn same_value(&self) -> impl Iterator<Item = usize> {
        let condition =
            self.condition.iter().flat_map(|condition| condition.then.into_iter().chain(condition.otherwise));
        let branches = self.branches().map(|branch| branch.node);
        let dependent = self.dependent.iter().map(|(_, schema)| *schema);
        self.always.iter().copied().chain(branches).chain(condition).chain(dependent)
    }

    /// The schemas that this one leads to.
    pub(super) fn leads_to(&self) -> impl Iterator<Item = usize> {
        let additional = match self.additional {
            Additional::Schema(schema) => Some(schema),
            _ => None,
        };
        let properties = self.properties.iter().filter_map(|property| property.schema);
        let patterns = self.patterns.iter().map(|(_, schema)| *schema);
        let contains = self.contains.iter().map(|contains| contains.node);
        let items = self.prefix.iter().copied().chain(self.items).chain(contains);
        let content = match &self.content {
            TextContent::Json(Some(schema)) => Some(schema.node),
            _ => None,
        };
        self.same_value().chain(properties).chain(patterns).chain(additional).chain(items).chain(content)
    }
}

/// How far one schema has come in an object's members.
#[derive(Default, Clone, Copy)]
pub(super) struct Cursor {
    /// Members mostly come in the order in which they are documented: the index of the next one.
    pub(super) expected: usize,
    /// The bits of required members.
    pub(super) seen: u64,
}

/// A member that a schema names.
pub(super) struct Property {
    pub(super) name: Box<str>,
    /// Its bit among the required members; 0 if it is none.
    pub(super) bit: u64,
    /// `None` where it is required alone.
    pub(super) schema: Option<usize>,
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
    /// One branch has to hold, and not more.
    pub(super) one: bool,
    pub(super) branches: Vec<Branch>,
    /// By the value of a member.
    pub(super) selection: Option<Selection>,
    /// By a member for which every branch lists other values.
    pub(super) decision: Option<Arc<Decision>>,
    /// The branches are schemas that extend this one; none has to hold.
    pub(super) children: bool,
    /// A keyword without a check decides between the branches, so several may hold.
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
    /// Its index in [`Graph::branches`].
    pub(super) judge: usize,
    pub(super) node: usize,
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

impl Graph {
    /// Whether a text outside of any document certainly conforms; known values are not compared.
    pub(in crate::schema) fn takes_text(&self, node: usize, text: &str) -> bool {
        self.asks_only(node, |asserts| asserts.takes_text(text))
    }

    /// The same for the text of an integer.
    pub(in crate::schema) fn takes_integer(&self, node: usize, text: &str) -> bool {
        self.asks_only(node, |asserts| asserts.takes_integer(text))
    }

    /// The same for one of a boolean.
    pub(in crate::schema) fn takes_boolean(&self, node: usize, text: &str) -> bool {
        matches!(text, "true" | "false") && self.asks_only(node, Asserts::takes_booleans)
    }

    fn asks_only(&self, node: usize, holds: impl Fn(&Asserts) -> bool) -> bool {
        let fixed = self.nodes[node].fixed.as_deref().filter(|_| !self.nodes[node].leads_to_broken);
        fixed.is_some_and(|fixed| {
            fixed.iter().map(|index| &self.nodes[*index]).all(|node| !node.doubt && holds(&node.asserts))
        })
    }

    /// The schemas that may apply to a value under one of these.
    pub(in crate::schema) fn applicable(&self, node: usize) -> Applicable<'_> {
        Applicable::to(&self.nodes, [node].into_iter())
    }
}

/// The schemas that may apply to a value, whatever it is; none where nothing describes it.
#[derive(Default)]
pub struct Applicable<'c> {
    nodes: &'c [SchemaNode],
    schemas: Cow<'c, [usize]>,
}

impl fmt::Debug for Applicable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Applicable").field("schemas", &self.schemas).finish_non_exhaustive()
    }
}

impl<'c> Applicable<'c> {
    fn to(nodes: &'c [SchemaNode], mut from: impl Iterator<Item = usize>) -> Self {
        let (first, second) = (from.next(), from.next());
        let schemas = match (first, second) {
            (None, _) => Cow::default(),
            (Some(only), None) if let Some(closure) = &nodes[only].closure => Cow::Borrowed(&closure[..]),
            _ => possible(nodes, first.into_iter().chain(second).chain(from).collect(), usize::MAX).into(),
        };
        Self { nodes, schemas }
    }

    /// The types that the value may have.
    #[must_use]
    pub fn types(&self) -> Types {
        self.schemas.iter().map(|index| &self.nodes[*index]).fold(Types::default(), |mut types, node| {
            types.add(node.asserts.types);
            if node.asserts.types.string() && !node.lists {
                types.add(Types::UNLISTED_STRING);
            }
            types
        })
    }

    /// Whether any bytes conform, whatever they stand for.
    #[must_use]
    pub fn takes_bytes(&self) -> bool {
        self.schemas.iter().all(|index| self.nodes[*index].takes_bytes)
    }

    /// Those of its items, where it is an array.
    #[must_use]
    pub fn item(&self) -> Self {
        let items = |index: &usize| self.nodes[*index].prefix.iter().copied().chain(self.nodes[*index].items);
        Self::to(self.nodes, self.schemas.iter().flat_map(items))
    }

    /// Those of the member of this name, where it is an object.
    #[must_use]
    pub fn member(&self, name: &str) -> Self {
        let (mut first, mut others) = (None, Vec::new());
        let mut add = |schema| match first {
            None => first = Some(schema),
            Some(_) => others.push(schema),
        };
        for node in self.schemas.iter().map(|index| &self.nodes[*index]) {
            let property = node.property(name);
            let patterns = node.patterns.iter().filter(|(held, _)| held.matches(name)).map(|(_, schema)| *schema);
            let mut patterns = patterns.peekable();
            match node.additional {
                Additional::Schema(schema) if property.is_none() && patterns.peek().is_none() => add(schema),
                _ => property.into_iter().chain(patterns).for_each(&mut add),
            }
        }
        Self::to(self.nodes, first.into_iter().chain(others))
    }
}

/// The schemas that may apply to a value to which these do, cut off beyond a number of them.
pub(super) fn possible(nodes: &[SchemaNode], from: Vec<usize>, limit: usize) -> Vec<usize> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    let mut todo = VecDeque::from(from);
    while let Some(index) = todo.pop_front().filter(|_| found.len() <= limit) {
        if seen.insert(index) {
            found.push(index);
            todo.extend(nodes[index].same_value());
        }
    }
    found
}
