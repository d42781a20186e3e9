//! What refers by name: components, their references and discriminators, and dynamic anchors.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::{
    contract::{
        files::{ObjectKind, visit},
        refs,
        schema::Discriminators,
    },
    json::unescape_pointer,
};

/// Copies into `components` what references name elsewhere: the union may have something else there.
pub(super) fn lift(document: &mut Value) {
    let outside =
        |reference: &str| refs::target(reference).filter(|at| !at.is_empty() && !at.starts_with("/components/"));
    let mut any = false;
    visit(document, ObjectKind::OTHER, false, &mut |reference, _, _| any |= outside(reference).is_some());
    if !any {
        return;
    }
    let whole = document.clone();
    let mut places: HashMap<(String, &str), String> = HashMap::new();
    let mut taken: HashSet<String> = HashSet::new();
    let mut queue: Vec<(String, &str, String)> = Vec::new();
    let mut rewrite = |reference: &mut String, section: &'static str, resource: bool, queue: &mut Vec<_>| {
        let Some(at) = outside(reference).filter(|at| !resource && refs::at(&whole, at).is_some()) else { return };
        let place = places.entry((at.clone(), section)).or_insert_with(|| {
            let last = at.rsplit('/').next().unwrap_or_default();
            let last: String = last.chars().filter(char::is_ascii_alphanumeric).collect();
            let place = |number| refs::below("/components", &[section, &format!("{last}_{number}")]);
            let free = |place: &String| refs::at(&whole, place).is_none() && taken.insert(place.clone());
            let place = (1..usize::MAX).map(place).find(free).unwrap_or_default();
            queue.push((at, section, place.clone()));
            place
        });
        *reference = refs::reference(place);
    };
    visit(document, ObjectKind::OTHER, false, &mut |reference, section, resource| {
        rewrite(reference, section, resource, &mut queue);
    });
    while let Some((at, section, place)) = queue.pop() {
        let Some(mut value) = refs::at(&whole, &at).cloned() else { continue };
        let kind = ObjectKind { section: Some(section), names: false };
        visit(&mut value, kind, false, &mut |reference, section, resource| {
            rewrite(reference, section, resource, &mut queue);
        });
        let held = document.as_object_mut().and_then(|document| {
            let components = document.entry("components").or_insert_with(|| json!({})).as_object_mut()?;
            components.entry(section).or_insert_with(|| json!({})).as_object_mut()
        });
        if let (Some(held), Some((_, name))) = (held, place.rsplit_once('/')) {
            held.insert(name.to_owned(), value);
        }
    }
}

/// Turns each `$dynamicRef` into a `$ref` where all ways to it lead to one place: without other resources than the
/// document, whose anchor it names. Gives the places of the others. `original` has the anchors.
pub(super) fn settle(original: &Value, document: &mut Value) -> Vec<String> {
    let mut references: Vec<(String, String)> = Vec::new();
    refs::walk(document, &mut |at, object| {
        let target = object.get("$dynamicRef").and_then(Value::as_str);
        references.extend(target.map(|target| (at.to_owned(), target.to_owned())));
    });
    if references.is_empty() {
        return Vec::new();
    }
    let mut anchors: HashMap<String, Vec<String>> = HashMap::new();
    let mut has_resources = false;
    refs::walk(original, &mut |at, object| {
        has_resources |= object.get("$id").is_some_and(Value::is_string);
        if let Some(name) = object.get("$dynamicAnchor").and_then(Value::as_str) {
            anchors.entry(format!("#{name}")).or_default().push(at.to_owned());
        }
    });
    let mut left = Vec::new();
    for (at, target) in references {
        let schema = document.pointer_mut(&at).and_then(Value::as_object_mut);
        match (schema, anchors.get(&target).map(Vec::as_slice)) {
            (Some(schema), Some([place])) if !has_resources && !schema.contains_key("$ref") => {
                schema.shift_remove("$dynamicRef");
                schema.insert("$ref".to_owned(), refs::reference(place).into());
            }
            _ => left.push(at),
        }
    }
    left
}

/// Writes into the mappings of discriminators what values select renamed schemas: their names, without a mapping.
fn spell_out(document: &mut Value, renamed: &HashMap<String, String>) {
    let discriminators = Discriminators::of(document);
    let mut selected: Vec<(String, Vec<String>)> = Vec::new();
    refs::walk(document, &mut |at, object| {
        if object.get("discriminator").is_some_and(Value::is_object) {
            let branches = ["oneOf", "anyOf"].iter().find_map(|key| object.get(*key)?.as_array());
            let mut schemas = match branches {
                Some(branches) => {
                    let target = |branch: &Value| refs::target(branch.get("$ref")?.as_str()?);
                    branches.iter().filter_map(target).collect()
                }
                None => discriminators.descendants(at),
            };
            schemas.retain(|schema| renamed.contains_key(schema));
            selected.push((refs::below(at, &["discriminator"]), schemas));
        }
    });
    for (at, schemas) in selected {
        let Some(discriminator) = document.pointer_mut(&at).and_then(Value::as_object_mut) else { continue };
        for schema in schemas {
            let Some(name) = schema.strip_prefix("/components/schemas/") else { continue };
            let Some(mapping) = discriminator.entry("mapping").or_insert_with(|| json!({})).as_object_mut() else {
                continue;
            };
            mapping.entry(unescape_pointer(name).into_owned()).or_insert_with(|| refs::reference(&schema).into());
        }
    }
}

/// Gives another name to each component whose name is in use, and rewrites what refers to it.
pub(super) fn rename(document: &mut Value, taken: &Map<String, Value>) {
    let mut renamed: HashMap<String, String> = HashMap::new();
    for (section, held) in document.get("components").and_then(Value::as_object).into_iter().flatten() {
        let taken = |name: &str| taken.get(section).and_then(|section| section.get(name)).is_some();
        for name in held.as_object().into_iter().flat_map(Map::keys).filter(|name| taken(name)) {
            let free = (2..).map(|number| format!("{name}_{number}"));
            let free = free.into_iter().find(|free| !taken(free) && held.get(free).is_none());
            renamed.extend(free.map(|free| (refs::below("/components", &[section, name]), free)));
        }
    }
    if renamed.is_empty() {
        return;
    }
    spell_out(document, &renamed);
    refs::walk_mut(document, &mut |object| {
        if let Some(Value::String(reference)) = object.get_mut("$ref") {
            rewrite(reference, &renamed);
        }
        for requirement in object.get_mut("security").and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(requirement) = requirement.as_object_mut() else { continue };
            let names = std::mem::take(requirement).into_iter();
            let scheme = |name: String| renamed_in("securitySchemes", &name, &renamed).cloned().unwrap_or(name);
            *requirement = names.map(|(name, scopes)| (scheme(name), scopes)).collect();
        }
        discriminate(object, &renamed);
    });
    for (section, held) in document.get_mut("components").and_then(Value::as_object_mut).into_iter().flatten() {
        let Some(held) = held.as_object_mut() else { continue };
        let names = std::mem::take(held).into_iter();
        let new = |name: String| renamed_in(section, &name, &renamed).cloned().unwrap_or(name);
        *held = names.map(|(name, component)| (new(name), component)).collect();
    }
}

fn renamed_in<'r>(section: &str, name: &str, renamed: &'r HashMap<String, String>) -> Option<&'r String> {
    renamed.get(&refs::below("/components", &[section, name]))
}

/// Rewrites a reference to a renamed component, or to a place in one.
fn rewrite(reference: &mut String, renamed: &HashMap<String, String>) {
    let Some(pointer) = refs::target(reference) else { return };
    let ends = pointer.match_indices('/').map(|(at, _)| at).skip(3).chain([pointer.len()]).next();
    let (component, rest) = pointer.split_at(ends.unwrap_or(pointer.len()));
    let Some((section, new)) = renamed.get(component).and_then(|new| Some((component.rsplit_once('/')?.0, new))) else {
        return;
    };
    *reference = refs::reference(&format!("{}{rest}", refs::below(section, &[new])));
}

/// Rewrites the mapping of a discriminator.
fn discriminate(object: &mut Map<String, Value>, renamed: &HashMap<String, String>) {
    let Some(discriminator) = object.get_mut("discriminator").and_then(Value::as_object_mut) else { return };
    for target in discriminator.get_mut("mapping").and_then(Value::as_object_mut).into_iter().flatten() {
        let Value::String(target) = target.1 else { continue };
        match renamed_in("schemas", target, renamed) {
            Some(new) => target.clone_from(new),
            None => rewrite(target, renamed),
        }
    }
}
