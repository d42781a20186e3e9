//! The joining of files: what references name in them is copied into the document.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    path::{Component, Path, PathBuf},
    rc::Rc,
};

use contrail_exchange::json::unescape_pointer;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::references::{ObjectKind, PATH_ITEMS, SCHEMAS, schemas_of_file, visit};
use crate::{document, refs};

/// Maximum files beside the document.
const MAX_FILES: usize = 1_000;
/// Maximum bytes of all these files.
const MAX_BYTES: u64 = 64 << 20;
/// Most JSON values that the document takes from them.
const MAX_VALUES: usize = 4_000_000;

/// Why references lead nowhere, by their text.
pub(crate) type Reasons = HashMap<String, String>;

/// Takes into the document of `file` what its references name in other files.
pub(crate) fn join(file: &Path, document: &mut Value) -> Reasons {
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
    visit(document, ObjectKind::OTHER, false, &mut |reference, section, resource| {
        files.rewrite(reference, &root, section, resource);
    });
    while let Some(mut part) = files.queue.pop_front() {
        let kind = ObjectKind { section: Some(part.section), names: false };
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
type Place = (PathBuf, String);

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
    places: HashMap<(Place, &'static str), String>,
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
            let Some(section) = ObjectKind::of(ObjectKind::OTHER, key, held).section else { continue };
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
    fn named(&self, reference: &str, file: &Path) -> Result<Option<Place>, String> {
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
    fn pointed(&mut self, (file, fragment): Place) -> Result<Place, String> {
        if fragment.is_empty() || fragment.starts_with('/') {
            return Ok((file, fragment));
        }
        let pointer = anchor(&*self.load(&file)?, &fragment);
        let pointer = pointer.ok_or_else(|| format!("`{}` has no anchor `{fragment}`", self.shown(&file)))?;
        Ok((file, pointer))
    }

    /// Takes a part of a file into the document, once; gives its place there.
    fn take(&mut self, named: Place, section: &'static str, at: Option<String>) -> Result<String, String> {
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
    fn free(&mut self, (file, pointer): &Place, section: &str) -> String {
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
            return Err(format!("`{shown}` is not a regular file"));
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

/// The JSON pointer of the schema in a file that an anchor names. A schema below it with a `$id` has anchors of its
/// own.
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
