//! `discriminator`: which schema the value of a member selects.
//!
//! Beside `oneOf` or `anyOf`, it selects one of the listed branches. In a parent that others extend by `allOf`, it
//! names the child that documents the value.

use std::collections::{HashMap, HashSet};

use contrail_exchange::json::unescape_pointer;
use serde_json::{Map, Value};

use crate::refs::{self, below};

const COMPONENTS: &str = "/components/schemas";

/// Bound on the schemas that one branch stands for.
const MAX_BRANCHES: usize = 256;

/// What a discriminator selects from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// The branches of this keyword.
    Branches(&'static str),
    /// The schemas that extend the one with the discriminator.
    Children,
}

/// A discriminator, read.
#[derive(Debug, Clone)]
pub(super) struct Selector {
    pub(super) property: String,
    pub(super) from: From,
    pub(super) cases: Vec<Case>,
    /// JSON pointer of the branch of all other values (OpenAPI 3.2.0, `defaultMapping`).
    pub(super) default: Option<String>,
}

/// Values of the member, and what they select.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) values: Vec<String>,
    /// JSON pointer of the branch, or of the child.
    pub(super) schema: String,
}

/// Whether two schemas are selected by one value.
fn has_shared_value(cases: &[Case]) -> bool {
    let mut values = HashSet::new();
    !cases.iter().flat_map(|case| &case.values).all(|value| values.insert(value))
}

/// The components that extend others by `allOf`.
pub(crate) struct Discriminators<'d> {
    document: &'d Value,
    children: HashMap<String, Vec<String>>,
}

impl<'d> Discriminators<'d> {
    pub(crate) fn of(document: &'d Value) -> Self {
        let mut children: HashMap<String, Vec<String>> = HashMap::new();
        for (name, schema) in refs::at(document, COMPONENTS).and_then(Value::as_object).into_iter().flatten() {
            for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
                if let Some(parent) = part.get("$ref").and_then(Value::as_str).and_then(refs::target) {
                    children.entry(parent).or_default().push(below(COMPONENTS, &[name]));
                }
            }
        }
        Self { document, children }
    }

    /// The discriminator of a schema; `None` where it has none, or one that selects nothing.
    pub(super) fn at(&self, pointer: &str, schema: &Map<String, Value>) -> Option<Selector> {
        let held = schema.get("discriminator")?;
        let property = held.get("propertyName")?.as_str()?.to_owned();
        let choice = ["oneOf", "anyOf"].into_iter().find(|keyword| schema.contains_key(*keyword));
        // Each candidate with the schema that names refer to.
        let candidates: Vec<(String, String)> = match choice {
            Some(keyword) => {
                let branches = schema.get(keyword)?.as_array()?.iter().enumerate();
                let named = branches.filter_map(|(index, branch)| {
                    let target = refs::target(branch.get("$ref")?.as_str()?)?;
                    Some((below(pointer, &[keyword, &index.to_string()]), target))
                });
                named.collect()
            }
            None => match self.descendants(pointer) {
                none if none.is_empty() => Vec::new(),
                // The schema itself is one of those that the member can name.
                further => further.into_iter().chain([pointer.to_owned()]).map(|one| (one.clone(), one)).collect(),
            },
        };
        let mapping = held.get("mapping").and_then(Value::as_object);
        let mapping: Vec<(&String, String)> = mapping
            .into_iter()
            .flatten()
            .filter_map(|(value, target)| Some((value, self.mapped(target.as_str()?)?)))
            .collect();
        let default = held.get("defaultMapping").filter(|_| choice.is_some()).and_then(|target| {
            let target = self.mapped(target.as_str()?)?;
            candidates.iter().find(|(_, held)| *held == target).map(|(schema, _)| schema.clone())
        });
        let listed: HashSet<&String> = candidates.iter().map(|(_, target)| target).collect();
        // By the schema that they name, values with their places in the mapping.
        let mut naming: HashMap<&String, Vec<(usize, &String)>> = HashMap::new();
        for (index, (value, mapped)) in mapping.iter().enumerate() {
            naming.entry(mapped).or_default().push((index, value));
        }
        let mapped_names: HashSet<&String> = mapping.iter().map(|(value, _)| *value).collect();
        let case = |(schema, target): &(String, String), by_name: bool| {
            // A branch that is a choice of its own stands for the branches of that.
            let within = self.branches(target);
            let names = |named: &&String| *named == target || !listed.contains(*named);
            let named = within.iter().filter(names).filter_map(|named| naming.get(named));
            let mut explicit: Vec<_> = named.flatten().collect();
            explicit.sort_unstable();
            let name = target.strip_prefix(COMPONENTS).map(|name| unescape_pointer(&name[1..]).into_owned());
            // A name that the mapping gives to another schema is that one's.
            let name = name.filter(|name| !mapped_names.contains(name));
            let mut values: Vec<String> = explicit.into_iter().map(|(_, value)| (*value).clone()).collect();
            let others = within.iter().filter(|within| *within != pointer && !by_name);
            let fixed = others.flat_map(|within| self.fixed(within, &property));
            // A value that the mapping gives to another schema is that one's, too.
            let fixed: Vec<String> = fixed.filter(|value| !mapped_names.contains(value)).collect();
            if fixed.is_empty() {
                values.extend(name);
            }
            for value in fixed {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            Case { values, schema: schema.clone() }
        };
        let cases = |by_name| -> Vec<Case> {
            let cases = candidates.iter().map(|candidate| case(candidate, by_name));
            cases.filter(|case| !case.values.is_empty()).collect()
        };
        let cases = match cases(false) {
            // A value that two branches allow selects neither.
            shared if has_shared_value(&shared) && default.is_none() => return None,
            shared if has_shared_value(&shared) => cases(true),
            apart => apart,
        };
        let from = choice.map_or(From::Children, From::Branches);
        (!cases.is_empty()).then_some(Selector { property, from, cases, default })
    }

    /// The values to which a schema restricts the member itself, by `const` or `enum`: its name is none then.
    fn fixed(&self, pointer: &str, property: &str) -> Vec<String> {
        let Some(schema) = refs::at(self.document, pointer) else { return Vec::new() };
        let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
        let members = [schema].into_iter().chain(parts).filter_map(|part| part.get("properties")?.get(property));
        let resolved = members.filter_map(|member| match member.get("$ref").and_then(Value::as_str) {
            Some(target) => refs::at(self.document, &refs::target(target)?),
            None => Some(member),
        });
        let values = resolved.filter_map(|member| match (member.get("const"), member.get("enum")) {
            (Some(value), _) => Some(std::slice::from_ref(value)),
            (None, listed) => listed?.as_array().map(Vec::as_slice),
        });
        values.flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Whether a schema has a default that selects none of its branches.
    pub(crate) fn has_unread_default(&self, pointer: &str, schema: &Map<String, Value>) -> bool {
        let has_default = schema.get("discriminator").is_some_and(|held| held.get("defaultMapping").is_some());
        has_default && self.at(pointer, schema).is_none_or(|selector| selector.default.is_none())
    }

    /// The schema that a value of `mapping` names: a component's name, or a reference.
    fn mapped(&self, target: &str) -> Option<String> {
        let component = below(COMPONENTS, &[target]);
        if refs::at(self.document, &component).is_some() { Some(component) } else { refs::target(target) }
    }

    /// The schemas that the choices of a schema refer to, directly or by way of others.
    fn branches(&self, pointer: &str) -> Vec<String> {
        let mut found = vec![pointer.to_owned()];
        let mut next = 0;
        while let Some(at) = found.get(next).filter(|_| found.len() < MAX_BRANCHES) {
            let schema = refs::at(self.document, at);
            let choices = ["oneOf", "anyOf"].into_iter().filter_map(|keyword| schema?.get(keyword)?.as_array());
            let targets = choices.flatten().filter_map(|branch| refs::target(branch.get("$ref")?.as_str()?));
            let further = targets.filter(|target| !found.contains(target)).take(MAX_BRANCHES - found.len());
            let further: Vec<String> = further.collect();
            found.extend(further);
            next += 1;
        }
        found
    }

    /// All components that extend a schema, directly or by way of others.
    pub(crate) fn descendants(&self, pointer: &str) -> Vec<String> {
        let mut found: Vec<String> = self.children.get(pointer).cloned().unwrap_or_default();
        let mut seen: HashSet<&str> = self.children.get(pointer).into_iter().flatten().map(String::as_str).collect();
        let mut next = 0;
        while let Some(more) = found.get(next).map(|child| self.children.get(child)) {
            next += 1;
            for child in more.into_iter().flatten() {
                if child != pointer && seen.insert(child) {
                    found.push(child.clone());
                }
            }
        }
        found
    }
}
