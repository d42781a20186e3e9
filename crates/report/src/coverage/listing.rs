//! Lists the parts of documents.

use std::{collections::HashMap, sync::Arc};

use ahash::AHashMap;
use contrail_contract::{
    ContractDocument, MediaRange, Operation, below, follow, model,
    schema::{KnownForm, NamePatterns, Schema, Schemas},
};
use contrail_exchange::json::unescape_pointer;
use serde_json::Value;

use super::{
    Part,
    shape::{
        Branch, Condition, Content, ListedValues, Node, NodeNumber, OperationShape, Parameter, PartNumber, PartPlace,
    },
};

/// Maximum parts up to which each operation has media types of its own in a body that several refer to.
const MAX_OWN: usize = 200_000;

/// The keyword with the values of an open set.
const KNOWN: &str = "x-contrail-known-values";

/// Keywords whose value is a list of schemas, some of which hold for the same value.
const CHOICES: [&str; 2] = ["oneOf", "anyOf"];

/// The parts of documents, so far.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) parts: Vec<PartPlace>,
    pub(super) nodes: Vec<Node>,
}

impl Listing {
    /// Adds a document; its operations.
    pub(super) fn document(&mut self, number: usize, document: &ContractDocument) -> HashMap<String, OperationShape> {
        let schemas = Schemas::new(&Arc::new(document.document().clone()));
        let (numbers, patterns, seen) = (HashMap::new(), NamePatterns::default(), HashMap::new());
        let held = document.document();
        let bodies = HashMap::new();
        let mut one = OneDocument { all: self, number, document: held, schemas, numbers, patterns, seen, bodies };
        let operations = document.model().operations.iter();
        operations.map(|operation| (operation.at.to_string(), one.operation(operation))).collect()
    }
}

/// Lists the parts of one document.
struct OneDocument<'a> {
    all: &'a mut Listing,
    number: usize,
    document: &'a Value,
    schemas: Arc<Schemas>,
    /// Of parts, by where an operation uses them: one place of the document may be several.
    numbers: HashMap<String, PartNumber>,
    patterns: NamePatterns,
    /// Schemas that are listed, by JSON pointer.
    seen: HashMap<String, NodeNumber>,
    /// Bodies that are counted together for all operations that refer to them, by JSON pointer.
    bodies: HashMap<String, Arc<[Content]>>,
}

impl OneDocument<'_> {
    /// A part's number; the first one at a place stays.
    fn add(&mut self, at: String, part: Part, name: String) -> PartNumber {
        self.add_used(at.clone(), at, part, name)
    }

    /// The same of a part that the document has elsewhere than where it is used.
    fn add_used(&mut self, used: String, at: String, part: Part, name: String) -> PartNumber {
        let parts = &mut self.all.parts;
        let document = self.number;
        *self.numbers.entry(used).or_insert_with(|| {
            parts.push(PartPlace { part, name, document, at });
            parts.len() - 1
        })
    }

    fn operation(&mut self, operation: &Operation) -> OperationShape {
        let id = &operation.id;
        let part = self.add(operation.at.to_string(), Part::Operations, id.to_string());
        let parameters = described(self.document, operation).into_iter().map(|described| {
            let Described { at, name, place } = described;
            let used = below(&operation.at, &["parameters", &place, &name]);
            let part = self.add_used(used, at.clone(), Part::Parameters, format!("{id}: {place} {name}"));
            let schema = self.schema(&below(&at, &["schema"]), &name);
            let is_it = |parameter: &&model::Parameter| *parameter.name == *name && parameter.place.name() == place;
            let separator =
                operation.parameters.iter().map(|held| &**held).find(is_it).and_then(model::Parameter::separator);
            Parameter { part, name, place, separator, schema }
        });
        let parameters = parameters.collect();
        let request = self.content(&below(&operation.at, &["requestBody"]), &format!("{id}: request"));
        let listed = below(&operation.at, &["responses"]);
        let responses = keys(self.document, &listed).into_iter().map(|status| {
            let at = below(&listed, &[&status]);
            let part = self.add(at.clone(), Part::Statuses, format!("{id}: {status}"));
            let content = self.content(&at, &format!("{id}: {status}"));
            (status, (part, content))
        });
        let responses = responses.collect();
        OperationShape { part, parameters, request, responses }
    }

    /// The media types of a request body or a response, which may be a reference.
    fn content(&mut self, at: &str, name: &str) -> Arc<[Content]> {
        let Some(described) = resolved(self.document, at) else { return Arc::default() };
        let is_shared = self.all.parts.len() >= MAX_OWN && described != at;
        if let Some(known) = self.bodies.get(&described).filter(|_| is_shared) {
            return Arc::clone(known);
        }
        let media_types = keys(self.document, &below(&described, &["content"])).into_iter().map(|media_type| {
            let place = below(&described, &["content", &media_type]);
            let schema = self.schema(&below(&place, &["schema"]), name);
            let used = if is_shared { place.clone() } else { below(at, &["content", &media_type]) };
            let part = self.add_used(used, place, Part::MediaTypes, format!("{name} {media_type}"));
            Content { part, range: MediaRange::parse(&media_type), schema }
        });
        let content: Arc<[Content]> = media_types.collect();
        if is_shared {
            self.bodies.insert(described, Arc::clone(&content));
        }
        content
    }

    /// A schema with its parts; `name` is what people know it by where it is no component.
    fn schema(&mut self, at: &str, name: &str) -> Option<NodeNumber> {
        let document = self.document;
        let at = resolved(document, at)?;
        let node = document.pointer(&at).and_then(Value::as_object)?;
        if let Some(seen) = self.seen.get(&at) {
            return Some(*seen);
        }
        // It may lead to itself.
        let number = self.all.nodes.len();
        self.all.nodes.push(Node::default());
        self.seen.insert(at.clone(), number);
        let name = component_name(&at).unwrap_or_else(|| name.to_owned());
        let count = |keyword: &str| node.get(keyword).and_then(Value::as_array).map_or(0, Vec::len);
        let values = self.values(&at, &name, node);
        let mut branches = Vec::new();
        for keyword in CHOICES {
            for index in 0..count(keyword) {
                let place = below(&at, &[keyword, &index.to_string()]);
                let target = resolved(document, &place).unwrap_or_default();
                let shown = component_name(&target).unwrap_or_else(|| format!("{keyword} {index}"));
                let judge = self.judge(&place);
                let part =
                    (count(keyword) > 1).then(|| self.add(place.clone(), Part::Variants, format!("{name}: {shown}")));
                branches.push(Branch { part, judge, schema: self.schema(&place, &name) });
            }
        }
        let mut properties = AHashMap::new();
        for field in keys(document, &below(&at, &["properties"])) {
            let place = below(&at, &["properties", &field]);
            let name = format!("{name}.{field}");
            let part = self.add(place.clone(), Part::Fields, name.clone());
            let schema = self.schema(&place, &name);
            properties.insert(field, (part, schema));
        }
        let mut one = |keyword: &str| self.schema(&below(&at, &[keyword]), &name);
        let (items, additional) = (one("items"), one("additionalProperties"));
        let (then, otherwise) = (one("then"), one("else"));
        let has_condition = node.contains_key("if") && (then.is_some() || otherwise.is_some());
        let condition = has_condition.then(|| {
            let judge = self.judge(&below(&at, &["if"]));
            Box::new(Condition { judge, then, otherwise })
        });
        let mut patterns = Vec::new();
        for pattern in keys(document, &below(&at, &["patternProperties"])) {
            let schema = self.schema(&below(&at, &["patternProperties", &pattern]), &name);
            patterns.extend(self.patterns.compiled(&pattern).map(|judge| (judge, schema)));
        }
        let mut each = |keyword: &str| -> Vec<Option<NodeNumber>> {
            let places = (0..count(keyword)).map(|index| below(&at, &[keyword, &index.to_string()]));
            places.map(|place| self.schema(&place, &name)).collect()
        };
        let (all_of, first_items) = (each("allOf").into_iter().flatten().collect(), each("prefixItems"));
        self.all.nodes[number] =
            Node { all_of, branches, condition, properties, patterns, additional, first_items, items, values };
        Some(number)
    }

    fn judge(&self, place: &str) -> Schema {
        self.schemas.at(place)
    }

    /// The values that a schema lists.
    fn values(&mut self, at: &str, name: &str, node: &serde_json::Map<String, Value>) -> ListedValues {
        let mut values = ListedValues::default();
        let list = |keyword: &str| node.get(keyword).and_then(Value::as_array).into_iter().flatten().enumerate();
        let known = list(KNOWN).map(|(index, value)| (below(at, &[KNOWN, &index.to_string()]), value));
        let listed = list("enum").map(|(index, value)| (below(at, &["enum", &index.to_string()]), value));
        let only = node.get("const").map(|value| (below(at, &["const"]), value));
        for (is_known, (place, value)) in listed.chain(only).map(|one| (false, one)).chain(known.map(|one| (true, one)))
        {
            let part = self.add(place, Part::EnumValues, format!("{name} = {value}"));
            match value.as_str().filter(|_| is_known).and_then(KnownForm::of) {
                Some(form) => values.forms.push((part, form)),
                None => values.parts.entry(value).into_iter().for_each(|parts| parts.push(part)),
            }
        }
        values
    }
}

/// Where a document describes a parameter.
struct Described {
    at: String,
    name: String,
    place: String,
}

/// The parameters of an operation and of its path.
fn described(document: &Value, operation: &Operation) -> Vec<Described> {
    let mut found: Vec<Described> = Vec::new();
    for (at, parameter) in operation.followed_parameters(document) {
        let text = |key: &str| parameter.get(key).and_then(Value::as_str).map(str::to_owned);
        let (Some(name), Some(place)) = (text("name"), text("in")) else { continue };
        // The operation's own stands for the path's.
        if !found.iter().any(|other| other.name == name && other.place == place) {
            found.push(Described { at, name, place });
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
fn resolved(document: &Value, at: &str) -> Option<String> {
    let node = document.pointer(at)?;
    follow(document, at, node).ok().map(|(at, _)| at)
}

fn keys(document: &Value, at: &str) -> Vec<String> {
    document.pointer(at).and_then(Value::as_object).into_iter().flat_map(|object| object.keys().cloned()).collect()
}
