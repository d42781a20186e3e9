//! `$dynamicRef`: where it leads depends on the resources that were entered on the way to it.
//!
//! Each schema that reaches one is copied for every set of dynamic anchors with which it can be entered. In a copy,
//! every reference is plain. Documents use this for few schemas; the copies are bounded.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use serde_json::{Map, Value, json};

use super::{edit::to_pointer, found::Resources, resolved::Resolved};
use crate::{
    refs::{self, below},
    schema::keywords,
};

/// Bound on the copied schemas, those below others included.
const MAX_COPIES: usize = 20_000;

/// The member of the document that holds the copies.
const HOLDER: &str = "x-contrail-copies";

/// The outermost schema for each dynamic anchor that was passed.
type Scope = BTreeMap<String, String>;

/// Copies of the schemas that lead to a `$dynamicRef`.
pub(in crate::schema) struct Copies {
    /// The document with the copies; `None` where there are none.
    pub(in crate::schema) document: Option<Value>,
    /// The original of each copy.
    originals: Vec<String>,
    /// The copy of each place that has one.
    of_places: HashMap<String, String>,
}

impl Copies {
    /// For the schemas at `places`.
    pub(in crate::schema) fn of<'p>(resolved: &Resolved, places: impl IntoIterator<Item = &'p String>) -> Self {
        let Resolved { document, resources } = resolved;
        if !resources.has_dynamic() {
            return Self { document: None, originals: Vec::new(), of_places: HashMap::new() };
        }
        let mut copier = Copier {
            document,
            resources,
            reaching: resources.reaching_dynamic(document),
            known: HashMap::new(),
            todo: VecDeque::new(),
            originals: Vec::new(),
            left: MAX_COPIES,
        };
        let of_places = places.into_iter().map(|place| (place.clone(), copier.lead(place, &Scope::new())));
        let of_places = of_places.filter(|(place, copy)| place != copy).collect();
        let mut held = Vec::new();
        while let Some((pointer, scope)) = copier.todo.pop_front() {
            held.push(copier.copy(&pointer, &scope));
        }
        let mut copied = Value::clone(document);
        if let Some(members) = copied.as_object_mut() {
            members.insert(HOLDER.to_owned(), Value::Array(held));
        }
        Self { document: Some(copied), originals: copier.originals, of_places }
    }

    /// The schema that replaces another.
    pub(in crate::schema) fn of_place(&self, place: &str) -> String {
        self.of_places.get(place).map_or(place, String::as_str).to_owned()
    }

    /// Where a place stands in the document as it was.
    pub(in crate::schema) fn original(&self, pointer: &str) -> String {
        let copy = pointer.strip_prefix(&format!("/{HOLDER}/")).and_then(|rest| {
            let (index, rest) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
            let original = self.originals.get(index.parse::<usize>().ok()?)?;
            Some(format!("{original}{rest}"))
        });
        copy.unwrap_or_else(|| pointer.to_owned())
    }
}

struct Copier<'r> {
    document: &'r Value,
    resources: &'r Resources,
    reaching: HashSet<String>,
    known: HashMap<(String, Scope), String>,
    todo: VecDeque<(String, Scope)>,
    originals: Vec<String>,
    /// Schemas that may still be copied.
    left: usize,
}

impl Copier<'_> {
    /// The pointer of a schema as it is within a scope.
    fn lead(&mut self, pointer: &str, scope: &Scope) -> String {
        if !self.reaching.contains(pointer) {
            return pointer.to_owned();
        }
        let scope = self.enter(pointer, scope);
        let key = (pointer.to_owned(), scope.clone());
        if let Some(copy) = self.known.get(&key) {
            return copy.clone();
        }
        if self.left == 0 {
            // Its `$dynamicRef` stays, and is listed as unusable.
            return pointer.to_owned();
        }
        self.left -= 1;
        let copy = format!("/{HOLDER}/{}", self.originals.len());
        self.originals.push(pointer.to_owned());
        self.known.insert(key, copy.clone());
        self.todo.push_back((pointer.to_owned(), scope));
        copy
    }

    /// The scope within the resource of a schema.
    fn enter(&self, pointer: &str, scope: &Scope) -> Scope {
        let mut scope = scope.clone();
        for (name, schema) in self.resources.dynamic_anchors(pointer) {
            scope.entry(name.clone()).or_insert_with(|| schema.clone());
        }
        scope
    }

    fn copy(&mut self, pointer: &str, scope: &Scope) -> Value {
        let Some(value) = refs::at(self.document, pointer) else { return Value::Bool(true) };
        let Value::Object(schema) = value else { return value.clone() };
        self.left = self.left.saturating_sub(1);
        let scope = self.enter(pointer, scope);
        let mut copy = Map::new();
        let mut also = None;
        for (keyword, value) in schema {
            let copied = match (keywords::holds(keyword), value) {
                _ if keyword == "$defs" => continue,
                _ if keyword == "$ref" => match value.as_str().and_then(refs::target) {
                    Some(target) => to_pointer(&self.lead(&target, &scope)),
                    None => value.clone(),
                },
                _ if keyword == "$dynamicRef" => {
                    let Some((first, name)) = self.resources.dynamic.get(pointer) else {
                        copy.insert(keyword.clone(), value.clone());
                        continue;
                    };
                    let target = scope.get(name).unwrap_or(first).clone();
                    also = Some(to_pointer(&self.lead(&target, &scope)));
                    continue;
                }
                (keywords::Holds::One, Value::Object(_)) => self.copy(&below(pointer, &[keyword]), &scope),
                (keywords::Holds::List, Value::Array(schemas)) => (0..schemas.len())
                    .map(|index| self.copy(&below(pointer, &[keyword, &index.to_string()]), &scope))
                    .collect(),
                (keywords::Holds::Members, Value::Object(schemas)) => {
                    let copies =
                        schemas.keys().map(|name| (name.clone(), self.copy(&below(pointer, &[keyword, name]), &scope)));
                    Value::Object(copies.collect())
                }
                _ => value.clone(),
            };
            copy.insert(keyword.clone(), copied);
        }
        match also {
            Some(also) if copy.contains_key("$ref") => {
                if let Value::Array(parts) = copy.entry("allOf").or_insert_with(|| json!([])) {
                    parts.push(json!({ "$ref": also }));
                }
            }
            Some(also) => {
                copy.insert("$ref".to_owned(), also);
            }
            None => {}
        }
        Value::Object(copy)
    }
}
