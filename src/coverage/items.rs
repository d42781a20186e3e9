//! The parts of a contract, each with how often it was touched.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use serde_json::Value;

use super::{Counts, Part};
use crate::{
    contract::{
        Contract, ContractDocument, Operation, below, follow,
        schema::{Schema, Schemas},
    },
    json::unescape_pointer,
};

/// Keywords whose value is a list of schemas that hold for the same value.
pub(super) const CHOICES: [&str; 2] = ["oneOf", "anyOf"];

/// A part of a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Which kind.
    pub part: Part,
    /// What people know it by.
    pub name: String,
    /// In how many exchanges it occurred.
    pub times: u64,
}

/// All parts of a contract.
#[derive(Debug)]
pub struct Items {
    pub(super) contract: Arc<Contract>,
    /// By document and JSON pointer.
    pub(super) parts: BTreeMap<(usize, String), Item>,
    /// Branches of choices, by document and JSON pointer.
    pub(super) branches: HashMap<(usize, String), Schema>,
    /// Of each operation, by document and JSON pointer.
    pub(super) parameters: HashMap<(usize, String), Vec<Parameter>>,
    pub(super) exchanges: u64,
    pub(super) undocumented: u64,
}

impl Items {
    /// The parts of a contract, none of them touched.
    #[must_use]
    pub fn of(contract: &Arc<Contract>) -> Self {
        let mut items = Self {
            contract: Arc::clone(contract),
            parts: BTreeMap::new(),
            branches: HashMap::new(),
            parameters: HashMap::new(),
            exchanges: 0,
            undocumented: 0,
        };
        for (number, document) in contract.documents().iter().enumerate() {
            let schemas = Schemas::new(&Arc::new(document.document().clone()));
            let mut listing =
                Listing { items: &mut items, number, document: document.document(), schemas, seen: HashSet::new() };
            for operation in &document.model().operations {
                listing.operation(operation);
            }
        }
        items
    }

    /// How many exchanges were taken in.
    #[must_use]
    pub fn exchanges(&self) -> u64 {
        self.exchanges
    }

    /// How many of them have no documented operation.
    #[must_use]
    pub fn undocumented(&self) -> u64 {
        self.undocumented
    }

    /// The parts of one kind, each with its document's name and its JSON pointer, in the order of the pointers.
    pub fn each(&self, part: Part) -> impl Iterator<Item = (&ContractDocument, &str, &Item)> {
        let documents = self.contract.documents();
        self.parts
            .iter()
            .filter(move |(_, item)| item.part == part)
            .filter_map(|((number, at), item)| Some((documents.get(*number)?, at.as_str(), item)))
    }

    /// How many parts of one kind were touched.
    #[must_use]
    pub fn counts(&self, part: Part) -> Counts {
        self.each(part).fold(Counts::default(), |counts, (_, _, item)| Counts {
            touched: counts.touched + usize::from(item.times > 0),
            of: counts.of + 1,
        })
    }
}

/// Lists the parts of one document.
struct Listing<'a> {
    items: &'a mut Items,
    number: usize,
    document: &'a Value,
    schemas: Arc<Schemas>,
    /// Schemas that are listed.
    seen: HashSet<String>,
}

impl Listing<'_> {
    fn add(&mut self, at: String, part: Part, name: String) {
        self.items.parts.entry((self.number, at)).or_insert(Item { part, name, times: 0 });
    }

    fn operation(&mut self, operation: &Operation) {
        let id = &operation.id;
        self.add(operation.at.to_string(), Part::Operations, id.to_string());
        let parameters = parameters(self.document, operation);
        for Parameter { key, at, name, place } in &parameters {
            self.add(key.clone(), Part::Parameters, format!("{id}: {place} {name}"));
            self.schema(&below(at, &["schema"]), name);
        }
        self.items.parameters.insert((self.number, operation.at.to_string()), parameters);
        let body = below(&operation.at, &["requestBody"]);
        self.content(&body, &format!("{id}: request"));
        let responses = below(&operation.at, &["responses"]);
        for status in keys(self.document, &responses) {
            let at = below(&responses, &[&status]);
            self.add(at.clone(), Part::Statuses, format!("{id}: {status}"));
            self.content(&at, &format!("{id}: {status}"));
        }
    }

    /// The media types of a request body or a response, which may be a reference.
    fn content(&mut self, at: &str, name: &str) {
        let Some(described) = resolved(self.document, at) else { return };
        for media_type in keys(self.document, &below(&described, &["content"])) {
            self.add(below(at, &["content", &media_type]), Part::MediaTypes, format!("{name} {media_type}"));
            self.schema(&below(&described, &["content", &media_type, "schema"]), name);
        }
    }

    /// The parts of a schema; `name` is what people know it by where it is no component.
    fn schema(&mut self, at: &str, name: &str) {
        let Some(at) = resolved(self.document, at) else { return };
        let Some(node) = self.document.pointer(&at).and_then(Value::as_object) else { return };
        if !self.seen.insert(at.clone()) {
            return;
        }
        let name = component_name(&at).unwrap_or_else(|| name.to_owned());
        for keyword in ["enum", "x-contrail-known-values"] {
            for (index, value) in node.get(keyword).and_then(Value::as_array).into_iter().flatten().enumerate() {
                let place = below(&at, &[keyword, &index.to_string()]);
                self.add(place, Part::EnumValues, format!("{name} = {value}"));
            }
        }
        if let Some(value) = node.get("const") {
            self.add(below(&at, &["const"]), Part::EnumValues, format!("{name} = {value}"));
        }
        for keyword in CHOICES {
            let branches = node.get(keyword).and_then(Value::as_array).map_or(0, Vec::len);
            for index in 0..branches {
                let place = below(&at, &[keyword, &index.to_string()]);
                let schema = self.schemas.at(&place);
                self.items.branches.insert((self.number, place.clone()), schema);
                if branches > 1 {
                    let target = resolved(self.document, &place).unwrap_or_default();
                    let shown = component_name(&target).unwrap_or_else(|| format!("{keyword} {index}"));
                    self.add(place.clone(), Part::Variants, format!("{name}: {shown}"));
                }
                self.schema(&place, &name);
            }
        }
        for field in keys(self.document, &below(&at, &["properties"])) {
            let place = below(&at, &["properties", &field]);
            let name = format!("{name}.{field}");
            self.add(place.clone(), Part::Fields, name.clone());
            self.schema(&place, &name);
        }
        for keyword in ["items", "additionalProperties", "then", "else"] {
            self.schema(&below(&at, &[keyword]), &name);
        }
        for pattern in keys(self.document, &below(&at, &["patternProperties"])) {
            self.schema(&below(&at, &["patternProperties", &pattern]), &name);
        }
        for keyword in ["allOf", "prefixItems"] {
            for index in 0..node.get(keyword).and_then(Value::as_array).map_or(0, Vec::len) {
                self.schema(&below(&at, &[keyword, &index.to_string()]), &name);
            }
        }
    }
}

/// A parameter of an operation or of its path.
#[derive(Debug)]
pub(super) struct Parameter {
    /// What stands for it among the items: an operation's own, wherever the document describes it.
    pub(super) key: String,
    /// JSON pointer of its description.
    pub(super) at: String,
    pub(super) name: String,
    /// `path`, `query`, `header` or `cookie`.
    pub(super) place: String,
}

fn parameters(document: &Value, operation: &Operation) -> Vec<Parameter> {
    let path = operation.at.rsplit_once('/').map(|(path, _)| path).unwrap_or_default();
    let mut found: Vec<Parameter> = Vec::new();
    for owner in [&*operation.at, path] {
        let list = below(owner, &["parameters"]);
        let count = document.pointer(&list).and_then(Value::as_array).map_or(0, Vec::len);
        for at in (0..count).filter_map(|index| resolved(document, &below(&list, &[&index.to_string()]))) {
            let text = |key: &str| document.pointer(&below(&at, &[key])).and_then(Value::as_str).map(str::to_owned);
            let (Some(name), Some(place)) = (text("name"), text("in")) else { continue };
            // The operation's own stands for the path's.
            if !found.iter().any(|other| other.name == name && other.place == place) {
                let key = below(&operation.at, &["parameters", &place, &name]);
                found.push(Parameter { key, at, name, place });
            }
        }
    }
    found
}

/// The name of the component that a JSON pointer leads to.
fn component_name(at: &str) -> Option<String> {
    let name = at.strip_prefix("/components/schemas/").filter(|name| !name.contains('/'))?;
    Some(unescape_pointer(name).into_owned())
}

/// The place of what a JSON pointer leads to, references followed.
pub(super) fn resolved(document: &Value, at: &str) -> Option<String> {
    let node = document.pointer(at)?;
    follow(document, at, node).ok().map(|(at, _)| at)
}

pub(super) fn keys(document: &Value, at: &str) -> Vec<String> {
    document.pointer(at).and_then(Value::as_object).into_iter().flat_map(|object| object.keys().cloned()).collect()
}
