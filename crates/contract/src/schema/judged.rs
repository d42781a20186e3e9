//! The document as the judge reads it: what OpenAPI states, in keywords of JSON Schema.
//!
//! The judge knows no `discriminator` and no `nullable`. A schema with one gets conditions and branches of the same
//! meaning, and what it held moves to a member of its own. Pointers from before are relocated.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use contrail_exchange::json::push_pointer;
use serde_json::{Map, Value, json};

use super::{
    decision::{Decision, Decisions},
    discriminator::{From, Selector},
    keywords::{self, Holds, NULLABLE},
};
use crate::refs::{self, below};

/// The schemas that change.
#[derive(Default, Clone)]
pub(super) struct Changes {
    /// Choices that a discriminator decides.
    pub(super) selectors: HashMap<String, Selector>,
    /// Choices that a member decides.
    pub(super) decisions: HashMap<String, Arc<Decision>>,
    /// `oneOf` lists of which several branches may hold, because nothing decides between them: pointers of the
    /// schemas.
    pub(super) undecided: HashSet<String>,
    /// Schemas with [`NULLABLE`].
    pub(super) nullable: HashSet<String>,
    /// Patterns of names that the judge reads in another form: pointers of their schemas.
    pub(super) renamed: HashMap<String, String>,
}

impl Changes {
    /// With the choices of `document` that a member decides, among `schemas`.
    pub(super) fn decided(&self, document: &Value, schemas: &[String]) -> Self {
        let mut changes = self.clone();
        let decisions = Decisions::of(document);
        let decided = schemas.iter().filter(|at| !self.selectors.contains_key(*at)).filter_map(|at| {
            let keywords = if self.undecided.contains(at) { &["oneOf"][..] } else { &["oneOf", "anyOf"] };
            Some((at.clone(), Arc::new(decisions.at(at, keywords)?)))
        });
        changes.decisions = decided.collect();
        changes
    }

    /// The keyword of a schema's choice that moves.
    fn moved(&self, pointer: &str) -> Option<&'static str> {
        match self.selectors.get(pointer).map(|selector| selector.from) {
            Some(From::Branches(keyword)) => Some(keyword),
            _ if self.undecided.contains(pointer) => Some("oneOf"),
            _ => self.decisions.get(pointer).map(|decision| decision.keyword),
        }
    }

    /// The branch of [`NULLABLE`] without null.
    pub(super) fn rest(pointer: &str) -> String {
        below(pointer, &[NULLABLE])
    }

    /// Where a pointer leads in the judge's document.
    pub(super) fn relocate(&self, pointer: &str) -> String {
        let mut original = String::new();
        let mut relocated = String::new();
        for token in pointer.split('/').skip(1) {
            if token != NULLABLE && self.nullable.contains(&original) {
                relocated.push('/');
                relocated.push_str(NULLABLE);
            }
            let is_moved = self.moved(&original) == Some(token);
            original.push('/');
            original.push_str(token);
            if let Some(form) = self.renamed.get(&original) {
                push_pointer(&mut relocated, form);
                continue;
            }
            relocated.push('/');
            if is_moved {
                relocated.push_str("x-contrail-");
            }
            relocated.push_str(token);
        }
        relocated
    }

    /// Makes the changes.
    pub(super) fn apply(&self, document: &mut Value) {
        let choices = self.selectors.keys().chain(self.decisions.keys()).chain(&self.undecided);
        let renamed = self.renamed.keys().filter_map(|at| at.rsplit_once('/')?.0.strip_suffix("/patternProperties"));
        let places = choices.chain(&self.nullable).map(String::as_str).chain(renamed);
        let mut places: Vec<&str> = places.collect::<HashSet<_>>().into_iter().collect();
        if places.is_empty() {
            return;
        }
        // A schema changes before the one around it, so that its pointer still leads to it.
        places.sort_unstable_by_key(|place| std::cmp::Reverse(place.len()));
        for at in places {
            let Some(Value::Object(schema)) = document.pointer_mut(at) else { continue };
            if let Some(Value::Object(patterns)) = schema.get_mut("patternProperties") {
                let held = std::mem::take(patterns).into_iter();
                patterns.extend(held.map(|(pattern, schema)| {
                    let form = self.renamed.get(&below(at, &["patternProperties", &pattern]));
                    (form.cloned().unwrap_or(pattern), schema)
                }));
            }
            if let Some(keyword) = self.moved(at) {
                self.choice(at, keyword, schema);
            }
            if self.nullable.contains(at) {
                let rest = std::mem::take(schema);
                let branches = json!([{"$ref": refs::reference(&Self::rest(at))}, {"type": "null"}]);
                schema.insert("anyOf".to_owned(), branches);
                schema.insert(NULLABLE.to_owned(), Value::Object(rest));
            }
        }
        self.rewrite(document);
    }

    fn choice(&self, at: &str, keyword: &'static str, schema: &mut Map<String, Value>) {
        let Some(branches) = schema.shift_remove(keyword) else { return };
        let count = branches.as_array().map_or(0, Vec::len);
        let to = |pointer: &str| json!({"$ref": refs::reference(pointer)});
        let all: Vec<Value> = (0..count).map(|index| to(&below(at, &[keyword, &index.to_string()]))).collect();
        let all = json!({ if self.undecided.contains(at) { "anyOf" } else { keyword }: all });
        let mut parts = Vec::new();
        if let Some(selector) = self.selectors.get(at) {
            let property = &selector.property;
            let guard = |values: Vec<&String>| json!({"type": "object", "required": [property], "properties": {property: {"enum": values}}});
            for case in &selector.cases {
                parts.push(json!({"if": guard(case.values.iter().collect()), "then": to(&case.schema)}));
            }
            let every = selector.cases.iter().flat_map(|case| &case.values).collect();
            let otherwise = selector.default.as_deref().map_or(all, to);
            parts.push(json!({"if": guard(every), "else": otherwise}));
        } else if let Some(decision) = self.decisions.get(at) {
            parts = decision.guarded(at, &all, to);
        } else {
            parts.push(all);
        }
        schema.insert(format!("x-contrail-{keyword}"), branches);
        match schema.entry("allOf").or_insert_with(|| json!([])) {
            Value::Array(held) => held.extend(parts),
            other => *other = Value::Array(parts),
        }
    }

    /// Lets references lead to where their targets are now.
    fn rewrite(&self, document: &mut Value) {
        /// Members of the document whose own members have any name.
        const NAMED: [&str; 6] = ["schemas", "parameters", "headers", "responses", "requestBodies", "callbacks"];
        let mut todo = vec![(document, false)];
        while let Some((value, has_names)) = todo.pop() {
            match value {
                Value::Object(members) => {
                    if let Some(Value::String(reference)) = members.get_mut("$ref")
                        && let Some(target) = refs::target(reference)
                    {
                        let relocated = self.relocate(&target);
                        if relocated != target {
                            *reference = refs::reference(&relocated);
                        }
                    }
                    // A value that looks like a reference is none.
                    let members =
                        members.iter_mut().filter(|(key, _)| has_names || !matches!(&***key, "const" | "enum"));
                    todo.extend(members.map(|(key, member)| {
                        let is_named = matches!(keywords::holds(key), Holds::Members) || NAMED.contains(&&**key);
                        (member, is_named && !has_names)
                    }));
                }
                Value::Array(items) => todo.extend(items.iter_mut().map(|item| (item, false))),
                _ => {}
            }
        }
    }
}
