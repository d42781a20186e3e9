//! Compiles the schemas of a document into the table of the gap walker.

use std::collections::{HashMap, VecDeque};

use contrail_exchange::media;
use serde_json::{Map, Value};

use super::{
    known::KnownValues,
    table::{
        Additional, Branch, Choice, Condition, Coverage, NamePatterns, SchemaEntry, Selection, TextContent, possible,
    },
    types::Types,
};
use crate::{
    refs::{self, below},
    schema::{
        adapt::Side,
        discriminator::From,
        judged::Changes,
        keywords::{NULLABLE, OTHER_SIDE},
        order::shorter_first,
    },
};

/// Bound on the schemas that [`SchemaEntry::closure`] lists.
const MAX_CLOSURE: usize = 64;

struct Compiler<'c> {
    changes: &'c Changes,
    entries: Vec<SchemaEntry>,
    /// Index of each schema by its pointer, so that references may lead in circles.
    known: HashMap<String, usize>,
    /// Schemas that have an index and no entry yet.
    todo: VecDeque<String>,
    branches: Vec<String>,
    patterns: NamePatterns,
}

impl Coverage {
    /// For the schemas at `places` of `document`, with the index of each. `broken` are those with an unusable place.
    pub(in crate::schema) fn compile(
        document: &Value,
        places: &[String],
        broken: &HashMap<String, String>,
        changes: &Changes,
    ) -> (Self, Vec<usize>) {
        let mut compiler = Compiler {
            changes,
            entries: Vec::new(),
            known: HashMap::new(),
            todo: VecDeque::new(),
            branches: Vec::new(),
            patterns: NamePatterns::default(),
        };
        let roots = places.iter().map(|place| compiler.at(place.clone())).collect();
        while let Some(pointer) = compiler.todo.pop_front() {
            let mut entry = match refs::at(document, &pointer) {
                Some(Value::Object(schema)) => compiler.entry(&pointer, schema),
                Some(Value::Bool(false)) => SchemaEntry { additional: Additional::Closed, ..SchemaEntry::default() },
                Some(_) => SchemaEntry { silent: true, takes_bytes: true, ..SchemaEntry::default() },
                // The walker cannot follow this reference.
                None => SchemaEntry { silent: true, ..SchemaEntry::default() },
            };
            entry.broken = broken.get(&pointer).map(|why| why.as_str().into());
            entry.takes_bytes &= entry.broken.is_none() && matches!(entry.content, TextContent::Nothing);
            let index = compiler.at(pointer);
            compiler.entries[index] = entry;
        }
        let mut coverage = Self { entries: compiler.entries, branches: compiler.branches };
        coverage.prepare();
        (coverage, roots)
    }

    /// Works out what does not depend on the value.
    fn prepare(&mut self) {
        let mut sources = vec![Vec::new(); self.entries.len()];
        for (index, entry) in self.entries.iter().enumerate() {
            for target in entry.leads_to() {
                sources[target].push(index);
            }
        }
        let is_broken = |index: &usize| self.entries[*index].broken.is_some();
        let mut todo: Vec<usize> = (0..self.entries.len()).filter(is_broken).collect();
        while let Some(index) = todo.pop() {
            if !std::mem::replace(&mut self.entries[index].leads_to_broken, true) {
                todo.append(&mut sources[index]);
            }
        }
        for index in 0..self.entries.len() {
            let closure = possible(&self.entries, vec![index], MAX_CLOSURE);
            self.entries[index].closure = (closure.len() <= MAX_CLOSURE).then(|| closure.into());
        }
    }
}

impl Compiler<'_> {
    /// The index of the schema at a pointer.
    fn at(&mut self, pointer: String) -> usize {
        let next = self.entries.len();
        let index = *self.known.entry(pointer.clone()).or_insert(next);
        if index == next {
            self.entries.push(SchemaEntry::default());
            self.todo.push_back(pointer);
        }
        index
    }

    fn entry(&mut self, pointer: &str, schema: &Map<String, Value>) -> SchemaEntry {
        let mut entry = SchemaEntry {
            types: types(schema.get("type")),
            silent: !schema.keys().any(|keyword| says_something(keyword)),
            lists: schema.contains_key("const") || schema.contains_key("enum"),
            takes_bytes: schema.iter().all(|(keyword, value)| restricts_no_bytes(keyword, value)),
            refers: schema.keys().filter(|keyword| says_something(keyword)).all(|keyword| refers(keyword)),
            unnamed: schema.get("x-contrail-unnamed-keys").and_then(unnamed),
            known: KnownValues::of(schema.get("x-contrail-known-values")),
            other_side: schema.get(OTHER_SIDE).and_then(Value::as_str).and_then(other_side),
            ..SchemaEntry::default()
        };
        let names = |keyword: &str| schema.get(keyword).and_then(Value::as_object).into_iter().flat_map(Map::keys);
        let items = |keyword: &str| 0..schema.get(keyword).and_then(Value::as_array).map_or(0, Vec::len);
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            entry.always.push(self.at(refs::target(target).unwrap_or_else(|| "?".to_owned())));
        }
        for index in items("allOf") {
            entry.always.push(self.at(below(pointer, &["allOf", &index.to_string()])));
        }
        for keyword in ["oneOf", "anyOf"] {
            let branches: Vec<_> =
                items(keyword).map(|index| self.branch(below(pointer, &[keyword, &index.to_string()]))).collect();
            if !branches.is_empty() {
                let selector = self.changes.selectors.get(pointer);
                let selector = selector.filter(|selector| selector.from == From::Branches(keyword));
                let selection = selector.map(|selector| {
                    let mut selection = Selection::of(&selector.property);
                    let index = |branch: &str| branch.rsplit_once('/')?.1.parse().ok();
                    for case in &selector.cases {
                        let Some(index) = index(&case.schema) else { continue };
                        case.values.iter().for_each(|value| selection.add(value, index));
                    }
                    selection.default = selector.default.as_deref().and_then(index);
                    selection
                });
                let undecided = keyword == "oneOf" && self.changes.undecided.contains(pointer);
                let decision = self.changes.decisions.get(pointer).filter(|held| held.keyword == keyword).cloned();
                entry.choices.push(Choice { branches, selection, decision, children: false, undecided });
            }
        }
        if let Some(selector) = self.changes.selectors.get(pointer).filter(|selector| selector.from == From::Children) {
            let mut selection = Selection::of(&selector.property);
            let mut branches = Vec::new();
            for (index, case) in selector.cases.iter().enumerate() {
                case.values.iter().for_each(|value| selection.add(value, index));
                branches.push(self.branch(case.schema.clone()));
            }
            let (selection, decision) = (Some(selection), None);
            entry.choices.push(Choice { branches, selection, decision, children: true, undecided: false });
        }
        if schema.get(NULLABLE) == Some(&Value::Bool(true)) {
            entry.nullable = Some(self.branches.len());
            self.branches.push(Changes::rest(pointer));
        }
        entry.content = self.content(pointer, schema);
        if schema.contains_key("if") {
            let mut one = |keyword| schema.contains_key(keyword).then(|| self.at(below(pointer, &[keyword])));
            let (then, otherwise) = (one("then"), one("else"));
            entry.condition = Some(Condition { test: self.branch(below(pointer, &["if"])), then, otherwise });
        }
        for name in names("dependentSchemas") {
            entry.dependent.push((name.as_str().into(), self.at(below(pointer, &["dependentSchemas", name]))));
        }
        for name in names("properties") {
            entry.properties.push((name.as_str().into(), self.at(below(pointer, &["properties", name]))));
        }
        entry.properties.sort_unstable_by(|(left, _), (right, _)| shorter_first(left.as_bytes(), right.as_bytes()));
        for pattern in names("patternProperties") {
            let schema = self.at(below(pointer, &["patternProperties", pattern]));
            if let Some(pattern) = self.patterns.compiled(pattern) {
                entry.patterns.push((pattern, schema));
            }
        }
        for keyword in ["additionalProperties", "unevaluatedProperties"] {
            entry.additional = match schema.get(keyword) {
                None => continue,
                Some(Value::Bool(false)) => Additional::Closed,
                Some(Value::Bool(true)) => Additional::Free,
                Some(Value::Object(schema)) if schema.is_empty() => Additional::Free,
                Some(_) => Additional::Schema(self.at(below(pointer, &[keyword]))),
            };
            break;
        }
        for index in items("prefixItems") {
            entry.prefix.push(self.at(below(pointer, &["prefixItems", &index.to_string()])));
        }
        if schema.contains_key("contains") {
            entry.contains = Some(self.branch(below(pointer, &["contains"])));
        }
        for keyword in ["items", "unevaluatedItems"] {
            if schema.contains_key(keyword) {
                entry.items = Some(self.at(below(pointer, &[keyword])));
                break;
            }
        }
        entry
    }

    fn content(&mut self, pointer: &str, schema: &Map<String, Value>) -> TextContent {
        let is_json = |media_type: &Value| {
            media_type.as_str().is_some_and(|named| media::is_json(&media::essence(named.as_bytes())))
        };
        let has_schema = schema.contains_key("contentSchema");
        let is_coded = schema.contains_key("contentEncoding");
        if schema.get("contentMediaType").is_some_and(is_json) && !is_coded {
            TextContent::Json(has_schema.then(|| self.branch(below(pointer, &["contentSchema"]))))
        } else if has_schema || is_coded {
            TextContent::Unread
        } else {
            TextContent::Nothing
        }
    }

    fn branch(&mut self, pointer: String) -> Branch {
        let judge = self.branches.len();
        self.branches.push(pointer.clone());
        Branch { judge, entry: self.at(pointer) }
    }
}

/// The keyword that marks members of the other side, by its name.
fn other_side(name: &str) -> Option<&'static str> {
    Side::BOTH.map(Side::optional).into_iter().find(|keyword| *keyword == name)
}

/// Whether a keyword only leads to other schemas for the same value.
fn refers(keyword: &str) -> bool {
    matches!(keyword, "$ref" | "allOf" | "anyOf" | "oneOf" | "if" | "then" | "else" | "discriminator")
}

/// Whether any bytes conform to a keyword: it says nothing of a string, or only leads to other schemas.
pub(crate) fn restricts_no_bytes(keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" => types(Some(value)).string(),
        "format" => value == "binary",
        "$ref" | "allOf" | "contentMediaType" | NULLABLE => true,
        other => !says_something(other),
    }
}

/// Whether a keyword says anything about a value, beyond describing it to a reader.
pub(in crate::schema) fn says_something(keyword: &str) -> bool {
    let describes = matches!(
        keyword,
        "title"
            | "description"
            | "default"
            | "example"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "externalDocs"
            | "xml"
            | "$comment"
            | "$schema"
            | "$id"
            | "$anchor"
            | "$defs"
    );
    !describes
        && (!keyword.starts_with("x-")
            || matches!(keyword, "x-contrail-known-values" | "x-contrail-unnamed-keys" | OTHER_SIDE))
}

fn types(keyword: Option<&Value>) -> Types {
    let mut types = Types::default();
    let names = match keyword {
        Some(Value::Array(names)) => names.iter().collect(),
        Some(name) => vec![name],
        None => Vec::new(),
    };
    for name in names {
        types.add(match name.as_str() {
            Some("null") => Types::NULL,
            Some("boolean") => Types::BOOLEAN,
            Some("integer") => Types::INTEGER,
            Some("number") => Types::NUMBER,
            Some("string") => Types::STRING,
            Some("array") => Types::ARRAY,
            Some("object") => Types::OBJECT,
            _ => Types::default(),
        });
    }
    types
}

fn unnamed(count: &Value) -> Option<usize> {
    count.as_u64().and_then(|count| usize::try_from(count).ok())
}
