//! A document in several files: what relative references lead to becomes part of the document.
//!
//! A file is read once, and only from the folder of the document or one below it. An entry of `paths` or `components`
//! that is a reference into a file becomes what that names; anything else gets a name of its own under `components`.
//! Anchors are names within their own file: references to them become JSON pointers, and they go. A reference that leads
//! nowhere stays, with the reason.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    path::{Component, Path, PathBuf},
    rc::Rc,
};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::{
    document, refs,
    schema::{Holds, holds},
};
use crate::json::unescape_pointer;

/// Most files beside the document.
const MAX_FILES: usize = 1_000;
/// Most bytes of all these files.
const MAX_BYTES: u64 = 64 << 20;
/// Most JSON values that the document takes from them.
const MAX_VALUES: usize = 4_000_000;

const SCHEMAS: &str = "schemas";
const PATH_ITEMS: &str = "pathItems";

/// Why references lead nowhere, by their text.
pub(super) type Reasons = HashMap<String, String>;

/// Takes into the document of `file` what its references name in other files.
pub(super) fn join(file: &Path, document: &mut Value) -> Reasons {
    let folder = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (Ok(folder), Some(name)) = (folder.canonicalize(), file.file_name()) else { return Reasons::new() };
    let mut files = Files {
        root: folder.join(name),
        own: document.get("$self").and_then(Value::as_str).map(str::to_owned),
        folder,
        read: HashMap::new(),
        bytes: 0,
        values: 0,
        places: HashMap::new(),
        taken: HashSet::new(),
        queue: VecDeque::new(),
        reasons: Reasons::new(),
    };
    files.entries(document);
    let root = files.root.clone();
    visit(document, Kind::OTHER, false, &mut |reference, section, resource| {
        files.rewrite(reference, &root, section, resource);
    });
    while let Some(mut part) = files.queue.pop_front() {
        let kind = Kind { section: Some(part.section), names: false };
        visit(&mut part.value, kind, false, &mut |reference, section, resource| {
            files.rewrite(reference, &part.file, section, resource);
        });
        let mut forget = |schema: &mut Map<String, Value>| {
            for keyword in ["$anchor", "$dynamicAnchor"] {
                schema.shift_remove(keyword);
            }
            if let Some(Value::String(reference)) = schema.get_mut("$dynamicRef") {
                // It depends on the way to it, which leads through files: unusable, and no anchor of the document.
                *reference = files.seen_from_root(reference, &part.file);
            }
        };
        if part.section == SCHEMAS {
            schemas_of_file(&mut part.value, &mut forget);
        } else {
            refs::walk_mut(&mut part.value, &mut |object| {
                for keyword in ["schema", "itemSchema"] {
                    object.get_mut(keyword).into_iter().for_each(|schema| schemas_of_file(schema, &mut forget));
                }
            });
        }
        insert(document, &part.at, part.value);
    }
    files.reasons
}

/// A part of a file on its way into the document.
struct Part {
    /// JSON pointer of its place in the document.
    at: String,
    section: &'static str,
    file: PathBuf,
    value: Value,
}

/// A place in a file: the file, and a JSON pointer.
type Named = (PathBuf, String);

struct Files {
    /// The document itself.
    root: PathBuf,
    /// `$self` (OpenAPI 3.2).
    own: Option<String>,
    /// Files outside of it are not read.
    folder: PathBuf,
    read: HashMap<PathBuf, Result<Rc<Value>, String>>,
    bytes: u64,
    values: usize,
    /// Places in the document of what has been taken from files.
    places: HashMap<(Named, &'static str), String>,
    /// Places in the document that are in use.
    taken: HashSet<String>,
    queue: VecDeque<Part>,
    reasons: Reasons,
}

impl Files {
    /// Notes the names that the document uses, and takes in entries that are references into files.
    fn entries(&mut self, document: &Value) {
        fn object(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
            value.and_then(Value::as_object).into_iter().flatten()
        }
        let mut entries = Vec::new();
        for key in ["paths", "webhooks"] {
            entries.extend(object(document.get(key)).map(|entry| (format!("/{key}"), PATH_ITEMS, entry)));
        }
        for (key, held) in object(document.get("components")) {
            let Some(section) = Kind::of(Kind::OTHER, key, held).section else { continue };
            let parent = refs::below("/components", &[key]);
            entries.extend(object(Some(held)).map(|entry| (parent.clone(), section, entry)));
        }
        let root = self.root.clone();
        for (parent, section, (name, entry)) in entries {
            let at = refs::below(&parent, &[name]);
            self.taken.insert(at.clone());
            let reference = entry
                .get("$ref")
                .and_then(Value::as_str)
                .filter(|_| entry.as_object().is_some_and(|held| held.len() == 1));
            if let Some(Ok(Some(named))) = reference.map(|reference| self.named(reference, &root))
                && named.0 != root
                && let Ok(named) = self.pointed(named)
                && !self.places.contains_key(&(named.clone(), section))
            {
                // What leads nowhere is visited once more.
                let _ = self.take(named, section, Some(at));
            }
        }
    }

    /// Lets a reference in `file` lead to a place in the document.
    fn rewrite(&mut self, reference: &mut String, file: &Path, section: &'static str, resource: bool) {
        let own = self.own.as_ref().filter(|_| !resource).and_then(|own| reference.strip_prefix(own.as_str()));
        if let Some(fragment) = own.filter(|rest| rest.is_empty() || rest.starts_with('#')) {
            *reference = if fragment.is_empty() { "#".to_owned() } else { fragment.to_owned() };
            return;
        }
        if reference.starts_with('#') && (resource || file == self.root) {
            return;
        }
        let at = match self.named(reference, file) {
            Ok(Some(named)) if resource => {
                // The reference starts from the `$id` around it; the file may have the `$id` that it names.
                let _ = self.take((named.0, String::new()), section, None);
                return;
            }
            // An anchor of the document itself is resolved with its schemas.
            Ok(Some(named)) if named.0 == self.root => Ok(named.1),
            Ok(Some(named)) => self.take(named, section, None),
            Ok(None) => return,
            Err(reason) => Err(reason),
        };
        match at {
            Ok(at) => *reference = refs::reference(&at),
            Err(_) if resource => {}
            Err(reason) => {
                if file != self.root {
                    *reference = self.seen_from_root(reference, file);
                }
                let reason = format!("it refers to `{reference}`: {reason}");
                self.reasons.insert(reference.clone(), reason);
            }
        }
    }

    /// The place that a reference in `file` names; `None` for one that stays as it is.
    fn named(&self, reference: &str, file: &Path) -> Result<Option<Named>, String> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let is_absolute =
            address.starts_with("//") || address.split('/').next().is_some_and(|first| first.contains(':'));
        if refs::is_meta_schema(reference) {
            return Ok(None);
        }
        if is_absolute {
            return Err("contrail fetches nothing".to_owned());
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8().map(String::from);
        let (Ok(address), Ok(fragment)) = (decoded(address), decoded(fragment)) else {
            return Err("its percent-encoding is broken".to_owned());
        };
        if address.is_empty() {
            return Ok(Some((file.to_owned(), fragment)));
        }
        let path = file.parent().unwrap_or(&self.folder).join(&address);
        if path == self.root {
            return Ok(Some((path, fragment)));
        }
        let path = path.canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => format!("cannot read the file: {error}"),
        })?;
        if !path.starts_with(&self.folder) {
            return Err("the file is outside the folder of the contract".to_owned());
        }
        Ok(Some((path, fragment)))
    }

    /// The same place by its JSON pointer, where an anchor names it.
    fn pointed(&mut self, (file, fragment): Named) -> Result<Named, String> {
        if fragment.is_empty() || fragment.starts_with('/') {
            return Ok((file, fragment));
        }
        let pointer = anchor(&*self.load(&file)?, &fragment);
        let pointer = pointer.ok_or_else(|| format!("`{}` has no anchor `{fragment}`", self.shown(&file)))?;
        Ok((file, pointer))
    }

    /// Takes a part of a file into the document, once; gives its place there.
    fn take(&mut self, named: Named, section: &'static str, at: Option<String>) -> Result<String, String> {
        let named = self.pointed(named)?;
        if let Some(at) = self.places.get(&(named.clone(), section)) {
            return Ok(at.clone());
        }
        let whole = self.load(&named.0)?;
        let shown = self.shown(&named.0);
        let value = refs::at(&whole, &named.1).ok_or_else(|| format!("`{shown}` has nothing at `{}`", named.1))?;
        self.values += count(value);
        if self.values > MAX_VALUES {
            return Err(format!("the files of the contract hold more than {MAX_VALUES} values"));
        }
        let at = at.unwrap_or_else(|| self.free(&named, section));
        self.places.insert((named.clone(), section), at.clone());
        self.queue.push_back(Part { at: at.clone(), section, file: named.0, value: value.clone() });
        Ok(at)
    }

    /// A free place under `components`, named after the place in the file, or after the file.
    fn free(&mut self, (file, pointer): &Named, section: &str) -> String {
        let token = pointer
            .rsplit('/')
            .next()
            .map(|token| unescape_pointer(token).into_owned())
            .filter(|name| !name.is_empty());
        let stem = || file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let plain = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
        let name: String = token
            .unwrap_or_else(stem)
            .chars()
            .map(|character| if ".-".contains(character) { character } else { plain(character) })
            .collect();
        let name = match name.trim_matches('_') {
            "" => "part",
            name => name,
        };
        let names = std::iter::once(name.to_owned()).chain((2_usize..).map(|number| format!("{name}_{number}")));
        let mut places = names.map(|name| refs::below("/components", &[section, &name]));
        places.find(|at| self.taken.insert(at.clone())).unwrap_or_default()
    }

    fn load(&mut self, file: &Path) -> Result<Rc<Value>, String> {
        if let Some(read) = self.read.get(file) {
            return read.clone();
        }
        let read = self.read_now(file).map(Rc::new);
        self.read.insert(file.to_owned(), read.clone());
        read
    }

    fn read_now(&mut self, file: &Path) -> Result<Value, String> {
        let shown = self.shown(file);
        if self.read.len() >= MAX_FILES {
            return Err(format!("the contract has more than {MAX_FILES} files"));
        }
        let metadata = file.metadata().map_err(|error| format!("cannot read `{shown}`: {error}"))?;
        if !metadata.is_file() {
            return Err(format!("`{shown}` is no regular file"));
        }
        self.bytes += metadata.len();
        if self.bytes > MAX_BYTES {
            return Err(format!("the files of the contract hold more than {MAX_BYTES} bytes"));
        }
        document::read_as(file, Path::new(&shown)).map_err(|error| error.to_string())
    }

    /// A file's name for messages, from the folder of the document.
    fn shown(&self, file: &Path) -> String {
        file.strip_prefix(&self.folder).unwrap_or(file).display().to_string()
    }

    /// The text of a reference in `file` as the document itself would write it.
    fn seen_from_root(&self, reference: &str, file: &Path) -> String {
        let folder = file.parent().and_then(|parent| parent.strip_prefix(&self.folder).ok()).unwrap_or(Path::new(""));
        let (address, fragment) = reference.split_once('#').map_or((reference, None), |(a, b)| (a, Some(b)));
        if address.split('/').next().is_some_and(|first| first.contains(':')) {
            return reference.to_owned();
        }
        let whole = if address.is_empty() { PathBuf::from(self.shown(file)) } else { folder.join(address) };
        let mut plain = PathBuf::new();
        for component in whole.components() {
            match component {
                Component::CurDir => {}
                Component::ParentDir if plain.file_name().is_some() => drop(plain.pop()),
                other => plain.push(other),
            }
        }
        let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
        format!("{}{fragment}", plain.display())
    }
}

/// What stands at a place, by the keywords that lead there.
#[derive(Clone, Copy)]
struct Kind {
    /// The section of `components` that holds such objects; `None` for what has none.
    section: Option<&'static str>,
    /// The members are such objects, under names that the author chose.
    names: bool,
}

impl Kind {
    const OTHER: Self = Self { section: None, names: false };

    /// What a member of such an object is.
    fn of(self, key: &str, member: &Value) -> Self {
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
fn visit(value: &mut Value, kind: Kind, resource: bool, found: &mut impl FnMut(&mut String, &'static str, bool)) {
    match value {
        Value::Array(items) => {
            for item in items {
                visit(item, Kind { names: false, ..kind }, resource, found);
            }
        }
        Value::Object(members) if kind.names => {
            for member in members.values_mut() {
                visit(member, Kind { names: false, ..kind }, resource, found);
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
fn schemas_of_file(value: &mut Value, found: &mut impl FnMut(&mut Map<String, Value>)) {
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

/// The JSON pointer of the schema in a file that an anchor names. A schema below it with a `$id` has anchors of its own.
fn anchor(file: &Value, name: &str) -> Option<String> {
    let mut todo = vec![(String::new(), file)];
    while let Some((at, value)) = todo.pop() {
        let below = |token: &str| refs::below(&at, &[token]);
        match value {
            Value::Object(members) => {
                let is = |keyword: &str| members.get(keyword).is_some_and(|held| held == name);
                if is("$anchor") || is("$dynamicAnchor") {
                    return Some(at);
                }
                let is_own = |held: &Value| !held.get("$id").is_some_and(Value::is_string);
                let inner = members.iter().rev().filter(|(key, held)| is_own(held) && !refs::is_opaque(key));
                todo.extend(inner.map(|(key, held)| (below(key), held)));
            }
            Value::Array(items) => {
                todo.extend(items.iter().enumerate().rev().map(|(index, held)| (below(&index.to_string()), held)));
            }
            _ => {}
        }
    }
    None
}

/// Puts a part in its place; what leads there is made where it is missing.
fn insert(document: &mut Value, at: &str, part: Value) {
    let Some((parent, name)) = at.rsplit_once('/') else { return };
    let mut held = document;
    for token in parent.split('/').skip(1) {
        let Some(members) = held.as_object_mut() else { return };
        held = members.entry(unescape_pointer(token).into_owned()).or_insert_with(|| json!(Map::new()));
    }
    if let Some(members) = held.as_object_mut() {
        members.insert(unescape_pointer(name).into_owned(), part);
    }
}

/// How many values there are in a value.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0_usize,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Joins the files of a folder, of which the first is the document; gives it with the reasons, in order.
    fn joined(files: &[(&str, &str)]) -> (Value, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let file = folder.path().join(files[0].0);
        let mut document = document::read(&file).unwrap();
        let mut reasons: Vec<String> = join(&file, &mut document).into_values().collect();
        reasons.sort_unstable();
        (document, reasons)
    }

    #[test]
    fn entries_of_paths_and_components_become_what_they_refer_to_and_the_rest_gets_names() {
        let (document, reasons) = joined(&[
            (
                "api.yaml",
                "paths: {/a: {$ref: a.yaml}}\ncomponents: {schemas: {B: {$ref: s.json#/B}, C: {$ref: s.json#/B}, D: {}}}\n",
            ),
            ("a.yaml", "get: {parameters: [{schema: {$ref: s.json#/B}}, {$ref: s.json#/D}]}\n"),
            ("s.json", r##"{"B": {"items": {"$ref": "#/D"}, "enum": [{"$ref": "#/D"}]}, "D": {"type": "string"}}"##),
        ]);
        assert_eq!(reasons, [""; 0]);
        assert_eq!(
            document,
            json!({
                "paths": {"/a": {"get": {"parameters":
                    [{"schema": {"$ref": "#/components/schemas/B"}}, {"$ref": "#/components/parameters/D"}]}}},
                "components": {
                    "schemas": {
                        "B": {"items": {"$ref": "#/components/schemas/D_2"}, "enum": [{"$ref": "#/D"}]},
                        "C": {"$ref": "#/components/schemas/B"},
                        "D": {},
                        "D_2": {"type": "string"},
                    },
                    "parameters": {"D": {"type": "string"}},
                },
            })
        );
    }

    #[test]
    fn files_that_refer_to_each_other_in_a_circle_end() {
        let (document, reasons) = joined(&[
            ("api.yaml", "components: {schemas: {A: {$ref: a.yaml}}}\n"),
            ("a.yaml", "properties: {b: {$ref: b/b.yaml}}\n"),
            ("b/b.yaml", "properties: {a: {$ref: ../a.yaml}, again: {$ref: ../api.yaml#/components/schemas/A}}\n"),
        ]);
        assert_eq!(reasons, [""; 0]);
        let a = json!({"$ref": "#/components/schemas/A"});
        assert_eq!(
            document["components"]["schemas"],
            json!({"A": {"properties": {"b": {"$ref": "#/components/schemas/b"}}}, "b": {"properties": {"a": a, "again": a}}})
        );
    }

    #[test]
    fn a_discriminator_names_schemas_of_files() {
        let (document, reasons) = joined(&[
            ("api.yaml", "components: {schemas: {Pet: {$ref: pet.yaml}}}\n"),
            (
                "pet.yaml",
                "oneOf: [{$ref: cat.yaml}]\ndiscriminator: {propertyName: kind, mapping: {c: cat.yaml, d: Dog}}\n",
            ),
            ("cat.yaml", "type: object\n"),
        ]);
        assert_eq!(reasons, [""; 0]);
        let pet = &document["components"]["schemas"]["Pet"];
        assert_eq!(pet["discriminator"]["mapping"], json!({"c": "#/components/schemas/cat", "d": "Dog"}));
    }

    #[test]
    fn an_anchor_names_a_schema_of_its_own_file() {
        let (document, reasons) = joined(&[
            (
                "api.yaml",
                "components: {schemas: {A: {$ref: 's.yaml#a'}, B: {$ref: 's.yaml#b'}, C: {$anchor: a, type: object}, \
                 D: {$ref: '#a'}, E: {$ref: s.yaml#/A}}}\n",
            ),
            (
                "s.yaml",
                "A: {$anchor: a, properties: {b: {$ref: '#b'}, c: {$ref: 'api.yaml#a'}}}\n\
                 N: {$id: 'https://s.example/n', not: {$anchor: b, type: 'null'}}\n\
                 B: {items: {$dynamicAnchor: b, items: {$dynamicRef: '#b'}}}\n",
            ),
        ]);
        assert_eq!(reasons, [""; 0]);
        assert_eq!(
            document["components"]["schemas"],
            json!({
                "A": {"properties": {"b": {"$ref": "#/components/schemas/B"}, "c": {"$ref": "#a"}}},
                "B": {"items": {"$dynamicRef": "s.yaml#b"}},
                "C": {"$anchor": "a", "type": "object"},
                "D": {"$ref": "#a"},
                "E": {"$ref": "#/components/schemas/A"},
            })
        );
    }

    #[test]
    fn a_reference_that_leads_nowhere_stays_with_its_reason() {
        let outside = tempfile::NamedTempFile::new().unwrap();
        let name = outside.path().file_name().unwrap().to_str().unwrap();
        let nested = format!("items: [{{$ref: ../../{name}}}, {{$ref: gone.yaml}}, {{$ref: '#/nothing'}}]\n");
        let text = "components: {schemas: {A: {$ref: 'https://a.example/s.json'}, B: {$ref: gone.yaml#/a}, C: {$ref: bad.yaml}, \
                    D: {$ref: sub}, E: {$ref: 'sub/s.yaml#anchor'}, F: {$ref: sub/s.yaml}, G: {$ref: '%ff.yaml'}}}\n";
        let (document, reasons) = joined(&[("api.yaml", text), ("bad.yaml", "a: [\n"), ("sub/s.yaml", &nested)]);
        let expected = [
            "it refers to `%ff.yaml`: its percent-encoding is broken".to_owned(),
            format!("it refers to `../{name}`: the file is outside the folder of the contract"),
            "it refers to `bad.yaml`: `bad.yaml` is not valid YAML: ".to_owned(),
            "it refers to `gone.yaml#/a`: there is no such file".to_owned(),
            "it refers to `https://a.example/s.json`: contrail fetches nothing".to_owned(),
            "it refers to `sub/gone.yaml`: there is no such file".to_owned(),
            "it refers to `sub/s.yaml#/nothing`: `sub/s.yaml` has nothing at `/nothing`".to_owned(),
            "it refers to `sub/s.yaml#anchor`: `sub/s.yaml` has no anchor `anchor`".to_owned(),
            "it refers to `sub`: `sub` is no regular file".to_owned(),
        ];
        assert_eq!(reasons.len(), expected.len(), "{reasons:#?}");
        for (reason, expected) in reasons.iter().zip(&expected) {
            assert!(reason.starts_with(expected.as_str()), "{reason}\n{expected}");
        }
        assert_eq!(document["components"]["schemas"]["B"], json!({"$ref": "gone.yaml#/a"}));
    }

    #[test]
    fn references_beyond_a_bound_are_bad_places() {
        let names: Vec<String> = (0..1_002).map(|number| format!("s{number}.yaml")).collect();
        let entries = names.iter().enumerate().map(|(number, name)| format!("S{number}: {{$ref: {name}}}"));
        let many = format!("components: {{schemas: {{{}}}}}\n", entries.collect::<Vec<_>>().join(", "));
        let files = names.iter().map(|name| (name.as_str(), "type: object\n"));
        let (document, reasons) = joined(&[("api.yaml", many.as_str())].into_iter().chain(files).collect::<Vec<_>>());
        let reason = |name: &str, what: &str| format!("it refers to `{name}`: {what}");
        let of_files = "the contract has more than 1000 files";
        assert_eq!(reasons, [reason("s1000.yaml", of_files), reason("s1001.yaml", of_files)]);
        assert_eq!(document["components"]["schemas"]["S999"], json!({"type": "object"}));

        let zeros = format!("[{}0]", "0,".repeat(3_999_999));
        let text = "components: {schemas: {A: {$ref: many.json}, B: {$ref: s.yaml}}}\n";
        let (_, reasons) = joined(&[("api.yaml", text), ("many.json", &zeros), ("s.yaml", "type: object\n")]);
        let of_values = "the files of the contract hold more than 4000000 values";
        assert_eq!(reasons, [reason("many.json", of_values), reason("s.yaml", of_values)]);

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("api.yaml");
        fs::write(&file, "components: {schemas: {A: {$ref: large.yaml}}}\n").unwrap();
        fs::File::create(folder.path().join("large.yaml")).unwrap().set_len((64 << 20) + 1).unwrap();
        let reasons = join(&file, &mut document::read(&file).unwrap());
        let of_bytes = reason("large.yaml", "the files of the contract hold more than 67108864 bytes");
        assert_eq!(reasons.into_values().collect::<Vec<_>>(), [of_bytes]);
    }

    #[test]
    fn a_schema_with_an_id_keeps_its_references_and_brings_the_files_along() {
        let (document, reasons) = joined(&[
            ("api.yaml", "components: {schemas: {A: {$ref: a.json}}}\n"),
            (
                "a.json",
                r##"{"$id": "https://s.example/a.json", "items": {"$ref": "b.json"}, "not": {"$ref": "#/items"}}"##,
            ),
            ("b.json", r#"{"$id": "https://s.example/b.json", "items": {"$ref": "elsewhere.json"}}"#),
        ]);
        assert_eq!(reasons, [""; 0]);
        assert_eq!(
            document["components"]["schemas"],
            json!({
                "A": {"$id": "https://s.example/a.json", "items": {"$ref": "b.json"}, "not": {"$ref": "#/items"}},
                "b": {"$id": "https://s.example/b.json", "items": {"$ref": "elsewhere.json"}},
            })
        );
    }
}
