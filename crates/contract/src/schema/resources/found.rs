//! The resources and schemas of a document, found from its places and references.

use std::collections::{HashMap, HashSet};

use jsonschema::{Uri, uri};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::edit::{Edit, to_pointer};
use crate::{refs, schema::keywords};

/// One resource: the document, or a schema with `$id`.
struct Root {
    pointer: String,
    base: Uri<String>,
    /// `$anchor` and `$dynamicAnchor`, with the pointers of their schemas.
    anchors: HashMap<String, String>,
    /// `$dynamicAnchor` alone.
    dynamic: HashMap<String, String>,
}

/// The resources of a document.
#[derive(Default)]
pub(super) struct Resources {
    roots: Vec<Root>,
    /// Index into `roots`, by the resource's URI without a fragment.
    by_uri: HashMap<String, usize>,
    /// Index into `roots`, by the pointer of each schema that was found.
    root_of: HashMap<String, usize>,
    /// The schemas in the order in which they were found.
    found: Vec<String>,
    /// Schemas with a `$dynamicRef` that depends on the way to it: where it leads at first, and its anchor's name.
    pub(super) dynamic: HashMap<String, (String, String)>,
}

impl Resources {
    pub(super) fn add_root(&mut self, pointer: String, base: Uri<String>) -> usize {
        let index = self.roots.len();
        let address = base.as_str().split('#').next().unwrap_or_default().to_owned();
        self.by_uri.entry(address).or_insert(index);
        self.roots.push(Root { pointer, base, anchors: HashMap::new(), dynamic: HashMap::new() });
        index
    }

    /// Finds the resources and anchors of a schema and of those below it.
    pub(super) fn discover(&mut self, document: &Value, pointer: String, root: usize) {
        let mut todo = vec![(pointer, root)];
        while let Some((pointer, mut root)) = todo.pop() {
            if self.root_of.contains_key(&pointer) {
                continue;
            }
            let Some(schema) = refs::at(document, &pointer).and_then(Value::as_object) else { continue };
            let text = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
            if let Some(base) =
                text("$id").and_then(|id| uri::resolve_against(&self.roots[root].base.borrow(), id).ok())
            {
                root = self.add_root(pointer.clone(), base);
            }
            for keyword in ["$anchor", "$dynamicAnchor"] {
                if let Some(name) = text(keyword) {
                    let held = &mut self.roots[root];
                    held.anchors.entry(name.to_owned()).or_insert_with(|| pointer.clone());
                    if keyword == "$dynamicAnchor" {
                        held.dynamic.entry(name.to_owned()).or_insert_with(|| pointer.clone());
                    }
                }
            }
            todo.extend(keywords::subschemas(&pointer, schema).into_iter().rev().map(|below| (below, root)));
            self.root_of.insert(pointer.clone(), root);
            self.found.push(pointer);
        }
    }

    /// Changes that turn every reference of the schemas into a pointer.
    pub(super) fn edits(&mut self, document: &Value) -> Vec<(String, Edit)> {
        let mut edits = Vec::new();
        let mut next = 0;
        while let Some(at) = self.found.get(next).cloned() {
            next += 1;
            let Some(schema) = refs::at(document, &at).and_then(Value::as_object) else { continue };
            let root = self.root_of[&at];
            let mut edit = |edit| edits.push((at.clone(), edit));
            for keyword in ["$id", "$anchor", "$dynamicAnchor"] {
                if schema.contains_key(keyword) {
                    edit(Edit::Remove(keyword.to_owned()));
                }
            }
            for keyword in self.beyond_vocabulary(document, root, &at, schema) {
                edit(Edit::Remove(keyword));
            }
            let mut has_ref = schema.contains_key("$ref");
            if let Some(target) = schema.get("$ref").and_then(Value::as_str)
                && let Some(to) = self.lead(document, root, target)
            {
                edit(Edit::Set("$ref", to_pointer(&to)));
                self.discover_target(document, to);
            }
            let Some(target) = schema.get("$dynamicRef").and_then(Value::as_str) else { continue };
            let Some(to) = self.lead(document, root, target) else { continue };
            self.discover_target(document, to.clone());
            let name = target.split_once('#').map_or("", |(_, fragment)| fragment);
            let target_root = &self.roots[self.root_of.get(&to).copied().unwrap_or_default()];
            if target_root.dynamic.get(name) == Some(&to) {
                self.dynamic.insert(at.clone(), (to, name.to_owned()));
                continue;
            }
            // Without a dynamic anchor at its end it is a plain reference.
            edit(Edit::Remove("$dynamicRef".to_owned()));
            has_ref |= schema.contains_key("$ref");
            let to = to_pointer(&to);
            edit(if has_ref { Edit::Also(json!({ "$ref": to })) } else { Edit::Set("$ref", to) });
        }
        edits
    }

    /// The pointer to what a reference from within a resource names.
    fn lead(&self, document: &Value, root: usize, target: &str) -> Option<String> {
        let resolved = uri::resolve_against(&self.roots[root].base.borrow(), target).ok()?;
        let (address, fragment) = resolved.as_str().split_once('#').unwrap_or((resolved.as_str(), ""));
        let resource = &self.roots[*self.by_uri.get(address)?];
        let fragment = percent_decode_str(fragment).decode_utf8().ok()?;
        let pointer = if fragment.is_empty() || fragment.starts_with('/') {
            format!("{}{fragment}", resource.pointer)
        } else {
            resource.anchors.get(&*fragment)?.clone()
        };
        refs::at(document, &pointer).map(|_| pointer)
    }

    /// A reference may lead to a place where schemas do not stand otherwise.
    fn discover_target(&mut self, document: &Value, pointer: String) {
        if pointer.is_empty() || self.root_of.contains_key(&pointer) {
            return;
        }
        let mut around = pointer.as_str();
        let root = loop {
            let Some((parent, _)) = around.rsplit_once('/') else { break 0 };
            if let Some(root) = self.root_of.get(parent) {
                break *root;
            }
            around = parent;
        };
        self.discover(document, pointer, root);
    }

    /// Keywords of a schema whose vocabularies its own meta-schema, a resource of the document, does not use.
    fn beyond_vocabulary(&self, document: &Value, root: usize, at: &str, schema: &Map<String, Value>) -> Vec<String> {
        let resource = refs::at(document, &self.roots[root].pointer);
        let meta = |schema: &Value| {
            let named = schema.get("$schema")?.as_str()?;
            let resource = &self.roots[*self.by_uri.get(named.trim_end_matches('#'))?];
            refs::at(document, &resource.pointer)?.get("$vocabulary")?.as_object()
        };
        let Some(used) = resource.and_then(meta) else { return Vec::new() };
        let unused = |keyword: &&String| {
            keywords::vocabulary(keyword)
                .is_some_and(|name| !used.contains_key(&format!("https://json-schema.org/draft/2020-12/vocab/{name}")))
        };
        let mut beyond: Vec<String> = schema.keys().filter(unused).cloned().collect();
        if at == self.roots[root].pointer && schema.contains_key("$schema") {
            beyond.push("$schema".to_owned());
        }
        beyond
    }

    /// Whether any reference depends on the way to it.
    pub(super) fn has_dynamic(&self) -> bool {
        !self.dynamic.is_empty()
    }

    /// Names of the schemas' own anchors that a value under them may meet.
    pub(super) fn dynamic_anchors(&self, pointer: &str) -> impl Iterator<Item = (&String, &String)> {
        let root = self.root_of.get(pointer).map(|root| &self.roots[*root]);
        root.into_iter().flat_map(|root| &root.dynamic)
    }

    /// All schemas that a dynamic anchor of this name marks.
    pub(super) fn marked<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r String> {
        self.roots.iter().filter_map(move |root| root.dynamic.get(name))
    }

    /// Schemas from which one with a reference that depends on the way is reached.
    pub(super) fn reaching_dynamic(&self, document: &Value) -> HashSet<String> {
        let mut sources: HashMap<String, Vec<&String>> = HashMap::new();
        for at in &self.found {
            let Some(schema) = refs::at(document, at).and_then(Value::as_object) else { continue };
            for target in keywords::targets(at, schema) {
                sources.entry(target).or_default().push(at);
            }
            if let Some((_, name)) = self.dynamic.get(at) {
                for target in self.marked(name) {
                    sources.entry(target.clone()).or_default().push(at);
                }
            }
        }
        let mut reaching: HashSet<String> = self.dynamic.keys().cloned().collect();
        let mut todo: Vec<String> = self.dynamic.keys().cloned().collect();
        while let Some(at) = todo.pop() {
            for source in sources.get(&at).into_iter().flatten() {
                if reaching.insert((*source).clone()) {
                    todo.push((*source).clone());
                }
            }
        }
        reaching
    }
}
