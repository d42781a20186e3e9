//! From the schemas of a document to the nodes of the graph.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use contrail_exchange::media;
use serde_json::{Map, Value, json};

use super::{
    asserts::{Asserts, Check},
    constants::Constants,
    known::KnownValues,
    table::{
        Additional, Branch, Choice, Condition, Graph, NamePatterns, Property, SchemaNode, Selection, TextContent,
        possible,
    },
    types::Types,
};
use crate::{
    refs::{self, below},
    schema::{
        adapt::Side,
        discriminator::From,
        judge,
        judged::Changes,
        keywords::{NULLABLE, OTHER_SIDE},
    },
};

/// Bound on the schemas that [`SchemaNode::closure`] lists.
const MAX_CLOSURE: usize = 64;

/// Bound on the schemas that are followed from a branch to find out whether it leads back to its choice.
const MAX_CIRCLE: usize = 1024;

/// Bound on the members that a schema may require: one bit for each.
const MAX_REQUIRED: usize = 64;

struct Compiler<'c> {
    changes: &'c Changes,
    nodes: Vec<SchemaNode>,
    /// Index of each schema by its pointer, so that references may lead in circles.
    known: HashMap<String, usize>,
    /// Schemas that have an index and no node yet.
    todo: VecDeque<String>,
    branches: Vec<String>,
    patterns: NamePatterns,
    /// Schemas with an unusable place, and why.
    broken: &'c HashMap<String, String>,
    /// Checks of single keywords, by their text; `None` where the keyword asserts nothing or is unusable.
    checks: HashMap<String, Option<Arc<Check>>>,
}

/// A schema states something that the walk does not check.
struct Unknown;

impl Graph {
    /// For the schemas at `places` of `document`, with the index of each. `broken` are those with an unusable place.
    pub(in crate::schema) fn compile(
        document: &Value,
        places: &[String],
        broken: &HashMap<String, String>,
        changes: &Changes,
    ) -> (Self, Vec<usize>) {
        let mut compiler = Compiler {
            changes,
            nodes: Vec::new(),
            known: HashMap::new(),
            todo: VecDeque::new(),
            branches: Vec::new(),
            patterns: NamePatterns::default(),
            broken,
            checks: HashMap::new(),
        };
        let roots = places.iter().map(|place| compiler.at(place.clone())).collect();
        while let Some(pointer) = compiler.todo.pop_front() {
            let mut node = match refs::at(document, &pointer) {
                Some(Value::Object(schema)) => compiler.node(&pointer, schema),
                Some(Value::Bool(false)) => {
                    SchemaNode { additional: Additional::Free, doubt: true, ..SchemaNode::default() }
                }
                Some(_) => SchemaNode { silent: true, takes_bytes: true, ..SchemaNode::default() },
                // The walk cannot follow this reference.
                None => SchemaNode { silent: true, doubt: true, ..SchemaNode::default() },
            };
            node.broken = broken.get(&pointer).map(|why| why.as_str().into());
            node.takes_bytes &= node.broken.is_none() && matches!(node.content, TextContent::Nothing);
            let index = compiler.at(pointer);
            compiler.nodes[index] = node;
        }
        let mut graph = Self { nodes: compiler.nodes, branches: compiler.branches };
        graph.prepare();
        (graph, roots)
    }

    /// Works out what does not depend on the value.
    fn prepare(&mut self) {
        let mut sources = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for target in node.leads_to() {
                sources[target].push(index);
            }
        }
        let is_broken = |index: &usize| self.nodes[*index].broken.is_some();
        let mut todo: Vec<usize> = (0..self.nodes.len()).filter(is_broken).collect();
        while let Some(index) = todo.pop() {
            if !std::mem::replace(&mut self.nodes[index].leads_to_broken, true) {
                todo.append(&mut sources[index]);
            }
        }
        let leads_back: Vec<bool> = (0..self.nodes.len()).map(|index| self.leads_back(index)).collect();
        for (node, leads_back) in self.nodes.iter_mut().zip(leads_back) {
            node.doubt |= leads_back;
            node.is_bridge = node.only_leads();
        }
        for index in 0..self.nodes.len() {
            let closure = possible(&self.nodes, vec![index], MAX_CLOSURE);
            if closure.len() <= MAX_CLOSURE {
                let mut nodes = closure.iter().map(|index| &self.nodes[*index]);
                let is_fixed = nodes.all(|node| node.branches().next().is_none() && node.dependent.is_empty());
                let says = closure.iter().copied().filter(|index| !self.nodes[*index].is_bridge);
                self.nodes[index].fixed = is_fixed.then(|| says.collect());
                self.nodes[index].closure = Some(closure.into());
            }
        }
        for index in 0..self.nodes.len() {
            self.nodes[index].alone = match self.nodes[index].fixed.as_deref() {
                Some(&[only]) => Some(only).filter(|only| self.nodes[*only].is_plain()),
                _ => None,
            };
            let alone = self.nodes[index].alone.map(|alone| &self.nodes[alone].asserts);
            self.nodes[index].scalar = alone.filter(|alone| alone.is_scalar()).map(|alone| alone.types);
        }
    }

    /// Whether a branch of a schema leads back to it: that never ends, and no specification defines what it means.
    fn leads_back(&self, index: usize) -> bool {
        let leads = |branch: &Branch| {
            let closure = possible(&self.nodes, vec![branch.node], MAX_CIRCLE);
            closure.len() > MAX_CIRCLE || closure.contains(&index)
        };
        let choices = self.nodes[index].choices.iter().filter(|choice| !choice.children);
        choices.flat_map(|choice| &choice.branches).any(leads)
    }
}

impl Compiler<'_> {
    /// The index of the schema at a pointer.
    fn at(&mut self, pointer: String) -> usize {
        let next = self.nodes.len();
        let index = *self.known.entry(pointer.clone()).or_insert(next);
        if index == next {
            self.nodes.push(SchemaNode::default());
            self.todo.push_back(pointer);
        }
        index
    }

    fn node(&mut self, pointer: &str, schema: &Map<String, Value>) -> SchemaNode {
        let mut node = SchemaNode {
            silent: !schema.keys().any(|keyword| says_something(keyword)),
            lists: schema.contains_key("const") || schema.contains_key("enum"),
            takes_bytes: schema.iter().all(|(keyword, value)| restricts_no_bytes(keyword, value)),
            refers: schema.keys().filter(|keyword| says_something(keyword)).all(|keyword| refers(keyword)),
            unnamed: schema.get("x-contrail-unnamed-keys").and_then(unnamed),
            known: KnownValues::of(schema.get("x-contrail-known-values")),
            other_side: schema.get(OTHER_SIDE).and_then(Value::as_str).and_then(other_side),
            ..SchemaNode::default()
        };
        let names = |keyword: &str| schema.get(keyword).and_then(Value::as_object).into_iter().flat_map(Map::keys);
        let items = |keyword: &str| 0..schema.get(keyword).and_then(Value::as_array).map_or(0, Vec::len);
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            node.always.push(self.at(refs::target(target).unwrap_or_else(|| "?".to_owned())));
        }
        for index in items("allOf") {
            node.always.push(self.at(below(pointer, &["allOf", &index.to_string()])));
        }
        for keyword in ["oneOf", "anyOf"] {
            if let Some(listed) = self.listed(pointer, schema, keyword) {
                node.asserts.allowed.push(listed);
                node.lists = true;
                continue;
            }
            let pointers = items(keyword).map(|index| below(pointer, &[keyword, &index.to_string()]));
            let branches: Vec<_> = pointers.map(|pointer| self.branch(pointer)).collect();
            node.choices.extend((!branches.is_empty()).then(|| self.choice(pointer, keyword, branches)));
        }
        node.choices.extend(self.children(pointer));
        if schema.get(NULLABLE) == Some(&Value::Bool(true)) {
            node.nullable = Some(self.branches.len());
            self.branches.push(Changes::rest(pointer));
        }
        node.content = self.content(pointer, schema);
        if schema.contains_key("if") {
            let mut one = |keyword| schema.contains_key(keyword).then(|| self.at(below(pointer, &[keyword])));
            let (then, otherwise) = (one("then"), one("else"));
            node.condition = Some(Condition { test: self.branch(below(pointer, &["if"])), then, otherwise });
        }
        for name in names("dependentSchemas") {
            node.dependent.push((name.as_str().into(), self.at(below(pointer, &["dependentSchemas", name]))));
        }
        for (keyword, value) in schema {
            node.doubt |= self.assert(keyword, value, &mut node.asserts).is_err();
        }
        node.asserts.seal();
        self.properties(pointer, schema, &mut node);
        for pattern in names("patternProperties") {
            let schema = self.at(below(pointer, &["patternProperties", pattern]));
            if let Some(pattern) = self.patterns.compiled(pattern) {
                node.patterns.push((pattern, schema));
            }
        }
        for keyword in ["additionalProperties", "unevaluatedProperties"] {
            node.additional = match schema.get(keyword) {
                None => continue,
                Some(Value::Bool(false)) if keyword == "additionalProperties" => Additional::Closed,
                Some(Value::Bool(_)) => Additional::Free,
                Some(Value::Object(schema)) if schema.is_empty() => Additional::Free,
                Some(_) => Additional::Schema(self.at(below(pointer, &[keyword]))),
            };
            break;
        }
        for index in items("prefixItems") {
            node.prefix.push(self.at(below(pointer, &["prefixItems", &index.to_string()])));
        }
        if schema.contains_key("contains") {
            node.contains = Some(self.branch(below(pointer, &["contains"])));
        }
        for keyword in ["items", "unevaluatedItems"] {
            if schema.contains_key(keyword) {
                node.items = Some(self.at(below(pointer, &[keyword])));
                break;
            }
        }
        node
    }

    fn choice(&self, pointer: &str, keyword: &str, branches: Vec<Branch>) -> Choice {
        let selector = self.changes.selectors.get(pointer);
        let selector = selector.filter(|selector| matches!(selector.from, From::Branches(held) if held == keyword));
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
        let one = keyword == "oneOf" && !undecided;
        Choice { one, branches, selection, decision, children: false, undecided }
    }

    /// The schemas that extend one with a discriminator.
    fn children(&mut self, pointer: &str) -> Option<Choice> {
        let selector = self.changes.selectors.get(pointer).filter(|selector| selector.from == From::Children)?;
        let mut selection = Selection::of(&selector.property);
        let mut branches = Vec::new();
        for (index, case) in selector.cases.iter().enumerate() {
            case.values.iter().for_each(|value| selection.add(value, index));
            branches.push(self.branch(case.schema.clone()));
        }
        let (one, decision, undecided) = (false, None, false);
        Some(Choice { one, branches, selection: Some(selection), decision, children: true, undecided })
    }

    /// The values that a choice lists, if it is one of values.
    fn listed(&self, pointer: &str, schema: &Map<String, Value>, keyword: &str) -> Option<Constants> {
        let branches = schema.get(keyword)?.as_array()?;
        let is_broken = |index: usize| self.broken.contains_key(&below(pointer, &[keyword, &index.to_string()]));
        let decides = self.changes.selectors.contains_key(pointer) || self.changes.undecided.contains(pointer);
        if decides || (0..branches.len()).any(is_broken) { None } else { Constants::of_choice(keyword, branches) }
    }

    /// Takes over what one keyword asks by itself.
    fn assert(&mut self, keyword: &str, value: &Value, asserts: &mut Asserts) -> Result<(), Unknown> {
        let length = || value.as_u64().and_then(|length| usize::try_from(length).ok()).ok_or(Unknown);
        let limit = |beyond: i64| value.as_i64().and_then(|limit| limit.checked_add(beyond)).ok_or(Unknown);
        match keyword {
            "type" => asserts.types = types(Some(value)),
            "minimum" => raise(&mut asserts.least, limit(0)?),
            "exclusiveMinimum" => raise(&mut asserts.least, limit(1)?),
            "maximum" => lower(&mut asserts.most, limit(0)?),
            "exclusiveMaximum" => lower(&mut asserts.most, limit(-1)?),
            "minLength" => asserts.length.least = length()?,
            "maxLength" => asserts.length.most = Some(length()?),
            "minItems" => asserts.items.least = length()?,
            "maxItems" => asserts.items.most = Some(length()?),
            "minProperties" => asserts.members.least = length()?,
            "maxProperties" => asserts.members.most = Some(length()?),
            "uniqueItems" => asserts.unique = value.as_bool().ok_or(Unknown)?,
            "enum" | "const" => asserts.allowed.push(Constants::of(keyword, value).ok_or(Unknown)?),
            // A format that the judge does not know asserts nothing.
            "format" => asserts.texts.extend(self.check(keyword, value)),
            "pattern" => asserts.texts.push(self.check(keyword, value).ok_or(Unknown)?),
            "multipleOf" | "dependentRequired" => asserts.others.push(self.check(keyword, value).ok_or(Unknown)?),
            // Edges of the graph, and what describes: read elsewhere.
            "$ref"
            | "allOf"
            | "oneOf"
            | "anyOf"
            | "properties"
            | "required"
            | "additionalProperties"
            | "items"
            | "discriminator"
            | "x-contrail-known-values"
            | "x-contrail-unnamed-keys"
            | OTHER_SIDE => {}
            other if says_something(other) => return Err(Unknown),
            _ => {}
        }
        Ok(())
    }

    /// The check of a keyword that has the judge's help.
    fn check(&mut self, keyword: &str, value: &Value) -> Option<Arc<Check>> {
        let schema = json!({ keyword: value });
        let held = self.checks.entry(schema.to_string()).or_insert_with(|| {
            // An unknown format asserts nothing: its build fails here.
            let judge = judge::asserting_formats().should_ignore_unknown_formats(false).build(&schema).ok()?;
            Some(Arc::new(Check::of(keyword, value.as_str().unwrap_or_default(), judge)))
        });
        held.clone()
    }

    fn properties(&mut self, pointer: &str, schema: &Map<String, Value>, node: &mut SchemaNode) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let mut required: Vec<&str> = required.filter_map(Value::as_str).collect();
        required.sort_unstable();
        required.dedup();
        node.doubt |= required.len() > MAX_REQUIRED;
        required.truncate(MAX_REQUIRED);
        let described = properties.into_iter().flat_map(Map::keys).map(|name| (name.as_str(), true));
        let undescribed = required.iter().filter(|name| properties.is_none_or(|held| !held.contains_key(**name)));
        for (name, is_described) in described.chain(undescribed.map(|name| (*name, false))) {
            let bit = required.binary_search(&name).map_or(0, |index| 1 << index);
            let schema = is_described.then(|| self.at(below(pointer, &["properties", name])));
            node.required |= bit;
            node.properties.push(Property { name: name.into(), bit, schema });
        }
        node.sort();
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
        Branch { judge, node: self.at(pointer) }
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
pub(crate) fn says_something(keyword: &str) -> bool {
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

fn raise(least: &mut Option<i64>, limit: i64) {
    *least = Some(least.map_or(limit, |held| held.max(limit)));
}

fn lower(most: &mut Option<i64>, limit: i64) {
    *most = Some(most.map_or(limit, |held| held.min(limit)));
}

fn unnamed(count: &Value) -> Option<usize> {
    count.as_u64().and_then(|count| usize::try_from(count).ok())
}
