//! Several documents as one, for `contract --export`.
//!
//! The first document that has an operation keeps it. What OpenAPI states once for a whole document (servers, security,
//! media types) moves to each operation. A component gets another name where an earlier document uses its name.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{ContractDocument, refs};
use crate::json::unescape_pointer;

/// What a document states once for all its operations.
const SHARED: [&str; 3] = ["servers", "security", "x-contrail-media-types"];
/// The keys of a path item that are no operations.
const OF_THE_ITEM: [&str; 4] = ["servers", "parameters", "summary", "description"];

/// Operations of methods that have no key of their own (OpenAPI 3.2).
const FURTHER: &str = "additionalOperations";

/// The union of documents, with the operations of all: of OpenAPI 3.2 where one of them is, else of 3.1.
pub(super) fn union(documents: &[ContractDocument]) -> Value {
    let joined = |text: fn(&ContractDocument) -> &str| documents.iter().map(text).collect::<Vec<_>>().join(" + ");
    let info = json!({"title": joined(ContractDocument::title), "version": joined(ContractDocument::version)});
    let mut members = Map::new();
    let (mut paths, mut components) = (Map::new(), Map::new());
    for document in documents {
        let mut document = Value::clone(document.resolved());
        rename(&mut document, &components);
        let Value::Object(mut document) = document else { continue };
        let own = document.shift_remove("paths");
        for (path, item) in object(own) {
            let items = document.get("components").and_then(|components| components.get("pathItems"));
            add_path(&mut paths, path, object(Some(resolved(item, items))), &document);
        }
        for (section, held) in object(document.shift_remove("components")) {
            // Anything else is an extension.
            if let Value::Object(section) = components.entry(section).or_insert_with(|| json!({})) {
                section.extend(object(Some(held)));
            }
        }
        document.retain(|key, _| key.starts_with("x-") && !SHARED.contains(&&**key));
        for (key, value) in document {
            members.entry(key).or_insert(value);
        }
    }
    let is_3_2 = |document: &ContractDocument| {
        document.document().get("openapi").and_then(Value::as_str).is_some_and(|version| version.starts_with("3.2"))
    };
    let version = if documents.iter().any(is_3_2) { "3.2.0" } else { "3.1.0" };
    let mut union = json!({"openapi": version, "info": info, "paths": paths, "components": components});
    if let Some(union) = union.as_object_mut() {
        union.extend(members);
    }
    union
}

fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

/// A path item that is a reference to one of the document's own, followed.
fn resolved(item: Value, items: Option<&Value>) -> Value {
    let name =
        item.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix("#/components/pathItems/"));
    name.and_then(|name| items?.get(name)).cloned().unwrap_or(item)
}

/// Adds the operations of a path that the union lacks, each with what the document and the path item state for all.
fn add_path(paths: &mut Map<String, Value>, path: String, mut item: Map<String, Value>, document: &Map<String, Value>) {
    let of_item: Vec<Option<Value>> = OF_THE_ITEM.iter().map(|key| item.shift_remove(*key)).collect();
    let held = paths.entry(path).or_insert_with(|| json!({}));
    let further = object(item.shift_remove(FURTHER)).into_iter().map(|entry| (true, entry));
    let all: Vec<_> = item.into_iter().map(|entry| (false, entry)).chain(further).collect();
    for (is_further, (method, mut operation)) in all {
        if let Some(operation) = operation.as_object_mut() {
            if let Some(servers) = &of_item[0] {
                operation.entry("servers").or_insert_with(|| servers.clone());
            }
            for key in SHARED {
                document.get(key).map(|shared| operation.entry(key).or_insert_with(|| shared.clone()));
            }
            if let Some(Value::Array(inherited)) = &of_item[1] {
                let own = operation.entry("parameters").or_insert_with(|| json!([]));
                let Some(own) = own.as_array_mut() else { continue };
                let missing = |parameter: &&Value| {
                    !own.iter().any(|own| ["name", "in"].iter().all(|key| own.get(key) == parameter.get(key)))
                };
                let inherited: Vec<Value> = inherited.iter().filter(missing).cloned().collect();
                own.splice(0..0, inherited);
            }
        }
        let mut held = held.as_object_mut();
        if is_further {
            held = held.and_then(|held| held.entry(FURTHER).or_insert_with(|| json!({})).as_object_mut());
        }
        held.map(|held| held.entry(method).or_insert(operation));
    }
}

/// Gives another name to each component whose name is in use, and rewrites what refers to it.
fn rename(document: &mut Value, taken: &Map<String, Value>) {
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

/// Keeps what the values of a discriminator select: the name of a schema, without a mapping.
fn discriminate(object: &mut Map<String, Value>, renamed: &HashMap<String, String>) {
    let branches = ["oneOf", "anyOf"].iter().filter_map(|key| object.get(*key)?.as_array()).flatten();
    let branches = branches.filter_map(|branch| refs::target(branch.get("$ref")?.as_str()?)).collect::<Vec<_>>();
    let Some(discriminator) = object.get_mut("discriminator").and_then(Value::as_object_mut) else { return };
    for target in discriminator.get_mut("mapping").and_then(Value::as_object_mut).into_iter().flatten() {
        let Value::String(target) = target.1 else { continue };
        match renamed_in("schemas", target, renamed) {
            Some(new) => target.clone_from(new),
            None => rewrite(target, renamed),
        }
    }
    // The branches still have the old names: an object is visited before what it holds.
    for (old, new) in renamed.iter().filter(|(old, _)| branches.contains(old)) {
        let reference = refs::below("/components/schemas", &[new]);
        if let Some(old) = old.strip_prefix("/components/schemas/") {
            let mapping = discriminator.entry("mapping").or_insert_with(|| json!({}));
            let Some(mapping) = mapping.as_object_mut() else { continue };
            mapping.entry(unescape_pointer(old).into_owned()).or_insert_with(|| refs::reference(&reference).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn union_of(documents: &[Value]) -> Value {
        let compiled = documents.iter().enumerate().map(|(index, document)| {
            ContractDocument::compile(format!("{index}.json"), document.clone(), &HashMap::new()).unwrap()
        });
        union(&compiled.collect::<Vec<_>>())
    }

    #[test]
    fn an_operation_of_an_earlier_document_stays_and_a_later_one_adds_the_rest() {
        let first = json!({"openapi": "3.1.0", "info": {"title": "A", "version": "1"}, "paths": {
            "/a": {"get": {"operationId": "first"}}}});
        let second = json!({"openapi": "3.1.0", "info": {"title": "B", "version": "2"},
            "servers": [{"url": "/v1"}], "paths": {
            "/a": {"parameters": [{"name": "q", "in": "query"}], "get": {"operationId": "second"},
                "post": {"operationId": "third"}}}});
        let union = union_of(&[first, second]);
        assert_eq!(union["info"], json!({"title": "A + B", "version": "1 + 2"}));
        assert_eq!(union["paths"]["/a"]["get"], json!({"operationId": "first"}));
        assert_eq!(
            union["paths"]["/a"]["post"],
            json!({"operationId": "third", "servers": [{"url": "/v1"}],
            "parameters": [{"name": "q", "in": "query"}]})
        );
    }

    #[test]
    fn a_component_whose_name_is_in_use_gets_another_one_and_keeps_its_references() {
        let document = |kind: &str| {
            json!({"openapi": "3.1.0", "info": {}, "paths": {(format!("/{kind}")): {"get": {
            "security": [{"s": ["x"]}], "responses": {"200": {"description": "", "content": {"application/json":
            {"schema": {"oneOf": [{"$ref": "#/components/schemas/A~1b"}], "discriminator": {"propertyName": "p"}}}}}}}}},
            "components": {"schemas": {"A/b": {"type": kind}, "C": {"$ref": "#/components/schemas/A~1b/type"}},
            "securitySchemes": {"s": {"type": kind}}}})
        };
        let union = union_of(&[document("string"), document("number")]);
        let schemas = &union["components"]["schemas"];
        assert_eq!((&schemas["A/b"]["type"], &schemas["A/b_2"]["type"]), (&json!("string"), &json!("number")));
        assert_eq!(schemas["C_2"]["$ref"], "#/components/schemas/A~1b_2/type");
        let get = &union["paths"]["/number"]["get"];
        assert_eq!(get["security"], json!([{"s_2": ["x"]}]));
        let choice = &get["responses"]["200"]["content"]["application/json"]["schema"];
        assert_eq!(choice["oneOf"], json!([{"$ref": "#/components/schemas/A~1b_2"}]));
        assert_eq!(choice["discriminator"]["mapping"], json!({"A/b": "#/components/schemas/A~1b_2"}));
    }
}
