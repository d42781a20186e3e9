//! Collects the parts of a contract that one exchange touches.

use std::{borrow::Cow, collections::BTreeSet};

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::{
    Items,
    items::{CHOICES, Parameter, keys, resolved},
};
use crate::{
    contract::{MediaRange, Operation, below, model::response_keys, schema::is_known_value},
    exchange::{Body, Exchange, Headers, Pointer, is_at_or_below, is_redacted, media},
    json::{Document, Kind, Node, push_pointer},
    redact::{JudgedExchange, Redacted},
};

/// Maximum nesting that is followed.
const MAX_DEPTH: usize = 64;

impl Items {
    /// Takes in an exchange. What contrail answered itself touches nothing.
    pub fn exchange(&mut self, judged: &Redacted<JudgedExchange>) {
        self.exchanges += 1;
        let exchange = &*judged.exchange;
        if exchange.transport.answered_by_contrail.is_some() {
            return;
        }
        let contract = std::sync::Arc::clone(&self.contract);
        let target = &exchange.request.target;
        let Some((document, matched)) = contract.locate(exchange.request.method.as_str(), target.path()) else {
            self.undocumented += 1;
            return;
        };
        let number = contract.documents().iter().position(|one| std::ptr::eq(one, document)).unwrap_or_default();
        let mut touched = Touched { items: self, number, document: document.document(), keys: BTreeSet::new() };
        touched.operation(matched.operation, &matched.raw, exchange);
        let keys = touched.keys;
        for key in keys {
            if let Some(item) = self.parts.get_mut(&(number, key)) {
                item.times += 1;
            }
        }
    }
}

/// What an exchange touches, by JSON pointer.
struct Touched<'a> {
    items: &'a Items,
    number: usize,
    document: &'a Value,
    keys: BTreeSet<String>,
}

impl Touched<'_> {
    fn operation(&mut self, operation: &Operation, raw: &[(&str, &str)], exchange: &Exchange) {
        self.keys.insert(operation.at.to_string());
        let items = self.items;
        for parameter in items.parameters.get(&(self.number, operation.at.to_string())).into_iter().flatten() {
            self.parameter(parameter, raw, exchange);
        }
        let request = &exchange.request;
        self.message(&below(&operation.at, &["requestBody"]), &request.headers, &request.body);
        let Some(response) = exchange.response.as_ref().filter(|response| response.status != 0) else { return };
        let responses = below(&operation.at, &["responses"]);
        let keys = response_keys(response.status);
        let listed = keys.iter().map(|name| below(&responses, &[name]));
        if let Some(at) = listed.into_iter().find(|at| self.document.pointer(at).is_some()) {
            self.message(&at, &response.headers, &response.body);
            self.keys.insert(at);
        }
    }

    fn parameter(&mut self, Parameter { key, at, name, place }: &Parameter, raw: &[(&str, &str)], exchange: &Exchange) {
        let request = &exchange.request;
        let values: Vec<Cow<'_, str>> = match &**place {
            "path" => {
                let own = raw.iter().filter(|(held, _)| *held == *name);
                own.map(|(_, value)| percent_decode_str(value).decode_utf8_lossy()).collect()
            }
            "query" => {
                let query = request.target.query().unwrap_or_default();
                let fields = media::fields(query.as_bytes());
                // An array's or an object's members have names of their own.
                let is_own = |held: &str| {
                    held.strip_prefix(&**name).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
                };
                fields
                    .filter(|field| is_own(&decoded(&query.as_bytes()[field.name.clone()])))
                    .map(|field| decoded(&query.as_bytes()[field.value]).into())
                    .collect()
            }
            "header" => request.headers.get_all(name).map(|value| String::from_utf8_lossy(value.as_bytes())).collect(),
            "cookie" => {
                let cookies =
                    request.headers.get_all("cookie").flat_map(|value| value.as_bytes().split(|byte| *byte == b';'));
                let pairs = cookies.map(|pair| String::from_utf8_lossy(pair.trim_ascii()));
                pairs.filter(|pair| pair.split('=').next() == Some(name)).collect()
            }
            _ => Vec::new(),
        };
        if values.is_empty() {
            return;
        }
        self.keys.insert(key.clone());
        for value in values {
            self.text(&below(at, &["schema"]), &value, 0);
        }
    }

    /// A parameter's value: which values of its enumeration it is.
    fn text(&mut self, schema: &str, text: &str, depth: usize) {
        let Some(at) = resolved(self.document, schema).filter(|_| depth < MAX_DEPTH) else { return };
        let is = |value: &Value| match value {
            Value::String(held) => held == text,
            other => serde_json::to_string(other).is_ok_and(|shown| shown == text),
        };
        self.value(&at, &is, Some(text));
        let node = self.document.pointer(&at);
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let branches = node.and_then(|node| node.get(keyword)).and_then(Value::as_array).map_or(0, Vec::len);
            for index in 0..branches {
                self.text(&below(&at, &[keyword, &index.to_string()]), text, depth + 1);
            }
        }
    }

    /// A message that the document describes at this place.
    fn message(&mut self, at: &str, headers: &Headers, body: &Body) {
        let Some(described) = resolved(self.document, at) else { return };
        let Some(content_type) = headers.get("content-type").filter(|_| !body.is_absent()) else { return };
        let essence = media::essence(content_type.as_bytes());
        let documented = keys(self.document, &below(&described, &["content"]));
        let ranked = documented
            .iter()
            .filter_map(|name| Some((MediaRange::parse(name)?.rank(&essence, content_type.as_bytes())?, name)));
        let Some((_, name)) = ranked.max_by_key(|(rank, _)| *rank) else { return };
        self.keys.insert(below(at, &["content", name]));
        if !body.is_whole() || body.malformed {
            return;
        }
        let schema = below(&described, &["content", name, "schema"]);
        if essence == media::FORM {
            self.form(&schema, body);
        } else if media::is_json(&essence)
            && let Ok(document) = body.document()
        {
            self.node(&[schema], document.root(), &body.redacted, &mut String::new(), 0);
        }
    }

    fn form(&mut self, schema: &str, body: &Body) {
        let schemas = self.expand(&[schema.to_owned()], None);
        for field in media::fields(&body.content) {
            let name = decoded(&body.content[field.name]);
            let members = self.members(&schemas, &name);
            if !is_redacted(&body.redacted, &below("", &[&name])) {
                for schema in &members {
                    self.text(schema, &decoded(&body.content[field.value.clone()]), 0);
                }
            }
        }
    }

    /// A value that these schemas describe, at a place of its body.
    fn node(&mut self, schemas: &[String], value: Node<'_>, redacted: &[Pointer], at: &mut String, depth: usize) {
        if depth == MAX_DEPTH || is_redacted(redacted, at) {
            return;
        }
        let has_labels = redacted.iter().any(|place| is_at_or_below(place, at));
        let schemas = self.expand(schemas, (!has_labels).then_some(value));
        if !has_labels {
            let held = value.to_value();
            for schema in &schemas {
                self.value(schema, &|value| equal(value, &held), held.as_str());
            }
        }
        let length = at.len();
        match value.kind() {
            Kind::Object => {
                for (name, member) in value.members() {
                    let next = self.members(&schemas, &name);
                    push_pointer(at, &name);
                    self.node(&next, member, redacted, at, depth + 1);
                    at.truncate(length);
                }
            }
            Kind::Array => {
                let items: Vec<String> = schemas.iter().map(|schema| below(schema, &["items"])).collect();
                for (index, item) in value.items().enumerate() {
                    push_pointer(at, &index.to_string());
                    self.node(&items, item, redacted, at, depth + 1);
                    at.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// The schemas of a member, which is touched where the document names it.
    fn members(&mut self, schemas: &[String], name: &str) -> Vec<String> {
        let mut next = Vec::new();
        for schema in schemas {
            let property = below(schema, &["properties", name]);
            if self.document.pointer(&property).is_some() {
                self.keys.insert(property.clone());
                next.push(property);
            } else {
                next.push(below(schema, &["additionalProperties"]));
            }
        }
        next
    }

    /// The schemas that hold for a value, references followed: of a choice, the branches that accept it. Without the
    /// value (what a label stands for could decide another branch), no branch counts.
    fn expand(&mut self, schemas: &[String], value: Option<Node<'_>>) -> Vec<String> {
        let (mut open, mut all) = (schemas.to_vec(), Vec::new());
        let mut own: Option<Document> = None;
        while let Some(at) = open.pop() {
            let Some(at) = resolved(self.document, &at).filter(|at| !all.contains(at)) else { continue };
            let Some(node) = self.document.pointer(&at).and_then(Value::as_object) else { continue };
            let count = |keyword: &str| node.get(keyword).and_then(Value::as_array).map_or(0, Vec::len);
            open.extend((0..count("allOf")).map(|index| below(&at, &["allOf", &index.to_string()])));
            for keyword in CHOICES {
                for index in 0..count(keyword) {
                    let branch = below(&at, &[keyword, &index.to_string()]);
                    let Some(schema) = self.items.branches.get(&(self.number, branch.clone())) else { continue };
                    let Some(value) = value else { continue };
                    if own.is_none() {
                        own = Document::parse(value.raw().to_owned()).ok();
                    }
                    let judged = own.as_ref().and_then(|own| schema.judge_in_full(own, &|_| true).ok());
                    if judged.is_some_and(|judged| judged.violations.is_empty() && !judged.partial) {
                        self.keys.insert(branch.clone());
                        open.push(branch);
                    }
                }
            }
            all.push(at);
        }
        all
    }

    /// The values that a schema lists and that are this one.
    fn value(&mut self, schema: &str, is: &dyn Fn(&Value) -> bool, text: Option<&str>) {
        let Some(node) = self.document.pointer(schema).and_then(Value::as_object) else { return };
        // A known value may stand for many, as `client_id:{client_id}` does.
        let is_known =
            |value: &Value| value.as_str().zip(text).is_some_and(|(written, text)| is_known_value(written, text));
        for (keyword, is) in [("enum", is), ("x-contrail-known-values", &is_known)] {
            let listed = node.get(keyword).and_then(Value::as_array).into_iter().flatten().enumerate();
            for (index, _) in listed.filter(|(_, value)| is(value)) {
                self.keys.insert(below(schema, &[keyword, &index.to_string()]));
            }
        }
        if node.get("const").is_some_and(is) {
            self.keys.insert(below(schema, &["const"]));
        }
    }
}

/// Whether two values are the same for JSON Schema, for which `1.0` is `1`.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64().is_some() && a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

/// A name or a value of a query or a form.
fn decoded(text: &[u8]) -> String {
    String::from_utf8_lossy(&media::decoded(text)).into_owned()
}
