//! Finds the references of a document, and what they name.

use serde_json::{Map, Value};

use crate::{
    refs,
    schema::{Holds, holds},
};

pub(super) const SCHEMAS: &str = "schemas";
pub(super) const PATH_ITEMS: &str = "pathItems";

/// What stands at a place, by the keywords that lead there.
#[derive(Clone, Copy)]
pub(super) struct ObjectKind {
    /// The section of `components` that holds such objects; `None` for what has none.
    pub(super) section: Option<&'static str>,
    /// The members are such objects, under names that the author chose.
    pub(super) names: bool,
}

impl ObjectKind {
    pub(super) const OTHER: Self = Self { section: None, names: false };

    /// What a member of such an object is.
    pub(super) fn of(self, key: &str, member: &Value) -> Self {
        let named = |section| Self { section: Some(section), names: member.is_object() };
        let one = |section| Self { section: Some(section), names: false };
        match (self.section, key) {
            (Some(SCHEMAS), "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions")
            | (None, "schemas") => named(SCHEMAS),
            (Some(SCHEMAS), _) | (_, "schema" | "itemSchema") => one(SCHEMAS),
            // The keys of a callback are expressions.
            (Some("callbacks"), _) => one(PATH_ITEMS),
            (_, "paths" | "webhooks" | "pathItems") => named(PATH_ITEMS),
            (_, "parameters") => named("parameters"),
            (_, "responses") => named("responses"),
            (_, "headers") => named("headers"),
            (_, "requestBody") => one("requestBodies"),
            (_, "requestBodies") => named("requestBodies"),
            (_, "callbacks") => named("callbacks"),
            (_, "links") => named("links"),
            (_, "examples") => named("examples"),
            (_, "securitySchemes") => named("securitySchemes"),
            (_, "content" | "mediaTypes") => named("mediaTypes"),
            (_, "encoding" | "additionalOperations") => Self { section: None, names: true },
            _ => Self::OTHER,
        }
    }
}

/// Visits each reference that is one by its place, with the section of what it names, and whether a `$id` around it is
/// its base.
pub(super) fn visit(
    value: &mut Value,
    kind: ObjectKind,
    resource: bool,
    found: &mut impl FnMut(&mut String, &'static str, bool),
) {
    match value {
        Value::Array(items) => {
            for item in items {
                visit(item, ObjectKind { names: false, ..kind }, resource, found);
            }
        }
        Value::Object(members) if kind.names => {
            for member in members.values_mut() {
                visit(member, ObjectKind { names: false, ..kind }, resource, found);
            }
        }
        Value::Object(members) => {
            let is_schema = kind.section == Some(SCHEMAS);
            let resource = resource || is_schema && members.get("$id").is_some_and(Value::is_string);
            if let (Some(section), Some(Value::String(reference))) = (kind.section, members.get_mut("$ref")) {
                found(reference, section, resource);
            }
            for (key, member) in members.iter_mut() {
                match &**key {
                    "discriminator" if is_schema => mapped(member, resource, found),
                    "examples" if !is_schema && member.is_object() => {
                        visit(member, kind.of(key, member), resource, found);
                    }
                    key if refs::is_opaque(key) => {}
                    key => {
                        let kind = kind.of(key, member);
                        visit(member, kind, resource, found);
                    }
                }
            }
        }
        _ => {}
    }
}

/// The references of a discriminator; anything else in it is a component's name.
fn mapped(discriminator: &mut Value, resource: bool, found: &mut impl FnMut(&mut String, &'static str, bool)) {
    let is_reference = |text: &str| {
        text.contains(['#', '/']) || [".json", ".yaml", ".yml"].iter().any(|extension| text.ends_with(extension))
    };
    let Some(discriminator) = discriminator.as_object_mut() else { return };
    for (key, held) in discriminator {
        let targets = match held {
            Value::Object(mapping) if key == "mapping" => mapping.values_mut().collect(),
            held if key == "defaultMapping" => vec![held],
            _ => continue,
        };
        for target in targets {
            if let Value::String(target) = target
                && is_reference(target)
            {
                found(target, SCHEMAS, resource);
            }
        }
    }
}

/// Visits the schemas of a value that have no `$id` and stand in none that has one.
pub(super) fn schemas_of_file(value: &mut Value, found: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(schema) = value else { return };
    if schema.get("$id").is_some_and(Value::is_string) {
        return;
    }
    found(schema);
    for (keyword, held) in schema.iter_mut() {
        match (holds(keyword), held) {
            (Holds::One, held) => schemas_of_file(held, found),
            (Holds::List, Value::Array(schemas)) => schemas.iter_mut().for_each(|one| schemas_of_file(one, found)),
            (Holds::Members, Value::Object(schemas)) => {
                schemas.values_mut().for_each(|one| schemas_of_file(one, found));
            }
            _ => {}
        }
    }
}
