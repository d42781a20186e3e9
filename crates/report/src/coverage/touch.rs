//! Collects the parts of a contract that one exchange touches.

use std::{borrow::Cow, ops::Range};

use contrail_contract::{
    below,
    model::response_keys,
    most_specific,
    schema::{Schema, work},
};
use contrail_exchange::{
    Body, Exchange, Headers, Pointer, is_at_or_below, is_redacted,
    json::{Document, Kind, Node, push_pointer},
    media,
};
use contrail_redact::{JudgedExchange, Redacted};
use percent_encoding::percent_decode_str;

use super::{
    ContractParts,
    shape::{Content, ListedValues, Node as SchemaNode, NodeNumber, OperationShape, Parameter, PartNumber},
};

/// Maximum nesting that is followed.
const MAX_DEPTH: usize = 64;

/// Bound on the steps for one exchange, and what each byte of its bodies adds.
const MAX_STEPS: u64 = 1 << 22;
const STEPS_PER_BYTE: u64 = 32;
/// Steps that a look at a branch counts at least.
const LOOK_STEPS: u64 = 8;
/// Schemas that a search compares in a step, and bytes of a value.
const STEP_SCHEMAS: usize = 8;
const STEP_BYTES: usize = 64;

/// The parts that an exchange touches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    pub(super) is_undocumented: bool,
    /// Each once.
    pub(super) parts: Vec<PartNumber>,
}

impl ContractParts {
    /// The parts that an exchange touches. What contrail answered itself touches nothing.
    #[must_use]
    pub fn touched_by(&self, exchange: &Exchange) -> Touched {
        if exchange.transport.answered_by_contrail.is_some() {
            return Touched::default();
        }
        let Some((document, matched)) = self.contract.judges(&exchange.request) else {
            return Touched { is_undocumented: true, parts: Vec::new() };
        };
        let number = self.contract.documents().iter().position(|one| std::ptr::eq(one, document));
        let operations = number.and_then(|number| self.operations.get(number));
        let seen = vec![0; self.parts.len().div_ceil(BITS)];
        let mut touch = Touch { nodes: &self.nodes, parts: Vec::new(), seen, schemas: Vec::new() };
        if let Some(operation) = operations.and_then(|operations| operations.get(&*matched.operation.at)) {
            let response = exchange.response.as_ref().map_or(0, |response| response.body.content.len());
            let bytes = exchange.request.body.content.len() + response;
            let steps = MAX_STEPS + bytes as u64 * STEPS_PER_BYTE;
            // Beyond the bound, what was found so far counts.
            let touch = || touch.operation(operation, &matched.raw, exchange, document.model().takes_suffixes());
            let _ = work::share(steps, || work::bounded(steps, touch));
        }
        Touched { is_undocumented: false, parts: touch.parts }
    }

    /// The parts that an exchange touches without its secrets, where `before` is what it touched with them.
    #[must_use]
    pub fn touched_by_redacted(&self, before: Touched, redacted: &Redacted<JudgedExchange>) -> Touched {
        if redacted.touched.elsewhere { self.touched_by(&redacted.exchange) } else { before }
    }
}

/// Bits of a word of [`Touch::seen`].
const BITS: usize = u64::BITS as usize;

/// The parts so far.
struct Touch<'a> {
    nodes: &'a [SchemaNode],
    /// Each once.
    parts: Vec<PartNumber>,
    /// A bit for each part of the contract: whether it is among them.
    seen: Vec<u64>,
    /// The schemas of the values that are open, those of the innermost value last.
    schemas: Vec<NodeNumber>,
}

impl Touch<'_> {
    fn operation(&mut self, operation: &OperationShape, raw: &[(&str, &str)], exchange: &Exchange, suffixes: bool) {
        self.part(operation.part);
        let request = &exchange.request;
        let query = request.target.query().unwrap_or_default().as_bytes();
        let query: Vec<_> =
            media::fields(query).map(|field| (decoded(&query[field.name]), &query[field.value])).collect();
        for parameter in &operation.parameters {
            self.parameter(parameter, raw, &query, exchange);
        }
        self.message(&operation.request, &request.headers, &request.body, false);
        let Some(response) = exchange.response.as_ref().filter(|response| response.status != 0) else { return };
        let keys = response_keys(response.status);
        if let Some((part, content)) = keys.iter().find_map(|key| operation.responses.get(key)) {
            self.part(*part);
            self.message(content, &response.headers, &response.body, suffixes);
        }
    }

    /// The names of the query are decoded.
    fn parameter(
        &mut self,
        parameter: &Parameter,
        raw: &[(&str, &str)],
        query: &[(Cow<'_, str>, &[u8])],
        exchange: &Exchange,
    ) {
        let Parameter { part, name, place, separator, schema } = parameter;
        let request = &exchange.request;
        let values: Vec<Cow<'_, str>> = match &**place {
            "path" => {
                let own = raw.iter().rfind(|(held, _)| *held == *name);
                own.iter().map(|(_, value)| percent_decode_str(value).decode_utf8_lossy()).collect()
            }
            "query" => {
                // An array's or an object's members have names of their own.
                let is_own = |held: &str| {
                    held.strip_prefix(&**name).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
                };
                query.iter().filter(|(name, _)| is_own(name)).map(|(_, value)| decoded(value)).collect()
            }
            "header" => request.headers.get_all(name).map(|value| String::from_utf8_lossy(value.as_bytes())).collect(),
            "cookie" => {
                let cookies =
                    request.headers.get_all("cookie").flat_map(|value| value.as_bytes().split(|byte| *byte == b';'));
                let own =
                    cookies.filter_map(|pair| pair.trim_ascii().strip_prefix(name.as_bytes())?.strip_prefix(b"="));
                own.map(String::from_utf8_lossy).collect()
            }
            _ => Vec::new(),
        };
        if values.is_empty() {
            return;
        }
        self.part(*part);
        let texts: Vec<&str> = values.iter().map(|value| &**value).collect();
        match separator {
            Some(separator) => {
                let items: Vec<&str> = texts.iter().flat_map(|text| text.split(*separator)).map(str::trim).collect();
                self.texts(*schema, &texts, &items, 0);
            }
            None => self.texts(*schema, &texts, &texts, 0),
        }
    }

    /// The texts of a value, and the same as items of a list: which listed values they are.
    fn texts(&mut self, schema: Option<NodeNumber>, texts: &[&str], items: &[&str], depth: usize) {
        let nodes = self.nodes;
        let Some(node) = schema.and_then(|schema| nodes.get(schema)).filter(|_| depth < MAX_DEPTH) else { return };
        if !work::take(1) {
            return;
        }
        for text in texts {
            self.text(node, text);
        }
        let branches = node.branches.iter().filter_map(|branch| branch.schema);
        for schema in node.all_of.iter().copied().chain(branches) {
            self.texts(Some(schema), texts, items, depth + 1);
        }
        if node.items.is_some() || !node.first_items.is_empty() {
            for (index, item) in items.iter().enumerate() {
                let schema = node.first_items.get(index).copied().unwrap_or(node.items);
                self.texts(schema, std::slice::from_ref(item), &[], depth + 1);
            }
        }
    }

    fn text(&mut self, node: &SchemaNode, text: &str) {
        if node.values.is_empty() {
            return;
        }
        work::take(1 + (text.len() / STEP_BYTES) as u64);
        self.parts(node.values.parts.get_text(text));
        if let Ok(scalar) = Document::parse(text.to_owned()) {
            self.parts(node.values.parts.get(scalar.root()));
        }
        self.forms(&node.values, text);
    }

    /// A message that the document describes so; with `suffixes`, any `+json` type is `application/json`.
    fn message(&mut self, documented: &[Content], headers: &Headers, body: &Body, suffixes: bool) {
        if documented.is_empty() || body.is_absent() {
            return;
        }
        let Some(content_type) = headers.get("content-type") else { return };
        let essence = media::essence(content_type.as_bytes());
        let ranges = documented.iter().filter_map(|content| Some((content.range.as_ref()?, content)));
        let found = most_specific(ranges, &essence, content_type.as_bytes(), suffixes);
        let Some(Content { part, schema, .. }) = found else { return };
        self.part(*part);
        let Some(schema) = schema.filter(|_| body.is_whole() && !body.malformed) else { return };
        self.schemas.clear();
        self.schemas.push(schema);
        if essence == media::FORM {
            self.form(body);
        } else if media::is_json(&essence)
            && let Ok(document) = body.document()
        {
            self.node(0, document.root(), &body.redacted, &mut String::new(), 0);
        }
    }

    fn form(&mut self, body: &Body) {
        self.expand(0, None);
        let own = self.schemas.len();
        for field in media::fields(&body.content).take_while(|_| work::left() > 0) {
            let name = decoded(&body.content[field.name]);
            self.member(0..own, &name);
            let is_redacted = || !body.redacted.is_empty() && is_redacted(&body.redacted, &below("", &[&name]));
            if self.schemas.len() > own && !is_redacted() {
                let text = decoded(&body.content[field.value]);
                for at in own..self.schemas.len() {
                    self.texts(Some(self.schemas[at]), &[&*text], &[&*text], 0);
                }
            }
            self.schemas.truncate(own);
        }
    }

    /// A value at a place of its body, described by the schemas from `first` on, which are taken off.
    fn node(&mut self, first: usize, value: Node<'_>, redacted: &[Pointer], at: &mut String, depth: usize) {
        if first < self.schemas.len() && depth < MAX_DEPTH && work::left() > 0 && !is_redacted(redacted, at) {
            self.described(first, value, redacted, at, depth);
        }
        self.schemas.truncate(first);
    }

    fn described(&mut self, first: usize, value: Node<'_>, redacted: &[Pointer], at: &mut String, depth: usize) {
        let has_labels = redacted.iter().any(|place| is_at_or_below(place, at));
        self.expand(first, (!has_labels).then_some(value));
        let own = first..self.schemas.len();
        let nodes = self.nodes;
        if !has_labels {
            for schema in own.clone() {
                let values = &nodes[self.schemas[schema]].values;
                if !values.is_empty() {
                    work::take(1 + (value.span().len() / STEP_BYTES) as u64);
                    self.parts(values.parts.get(value));
                    if let Some(text) = value.as_str() {
                        self.forms(values, &text);
                    }
                }
            }
        }
        // Only what was replaced is looked up by its place.
        let length = at.len();
        let step = |at: &mut String, name: &str| {
            if !redacted.is_empty() {
                push_pointer(at, name);
            }
        };
        match value.kind() {
            Kind::Object => {
                for (name, member) in value.members().take_while(|_| work::left() > 0) {
                    self.member(own.clone(), &name);
                    step(at, &name);
                    self.node(own.end, member, redacted, at, depth + 1);
                    at.truncate(length);
                }
            }
            Kind::Array => {
                for (index, item) in value.items().enumerate().take_while(|_| work::left() > 0) {
                    for schema in own.clone() {
                        let SchemaNode { first_items, items, .. } = &nodes[self.schemas[schema]];
                        self.add(own.end, first_items.get(index).copied().unwrap_or(*items));
                    }
                    step(at, &index.to_string());
                    self.node(own.end, item, redacted, at, depth + 1);
                    at.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// Adds the schemas of a member, which is touched where the document names it, to those of its object.
    fn member(&mut self, object: Range<usize>, name: &str) {
        let nodes = self.nodes;
        for schema in object.clone() {
            work::take(1);
            let SchemaNode { properties, patterns, additional, .. } = &nodes[self.schemas[schema]];
            let property = properties.get(name);
            if let Some((part, schema)) = property {
                self.part(*part);
                self.add(object.end, *schema);
            }
            let mut is_additional = property.is_none();
            for (_, schema) in patterns.iter().filter(|(pattern, _)| pattern.matches(name)) {
                self.add(object.end, *schema);
                is_additional = false;
            }
            if is_additional {
                self.add(object.end, *additional);
            }
        }
    }

    /// Adds to the schemas from `first` on those that hold for the value, too: of a choice, the branches that accept
    /// it. Without the value (what a label stands for could decide another branch), no branch counts.
    fn expand(&mut self, first: usize, value: Option<Node<'_>>) {
        let mut own: Option<Document> = None;
        let nodes = self.nodes;
        let mut accepts = |judge: &Schema| {
            let Some(value) = value else { return false };
            if !work::take(LOOK_STEPS) {
                return false;
            }
            if let Some(accepts) = judge.accepts_at_a_look(value) {
                return accepts;
            }
            if own.is_none() {
                own = Document::parse(value.raw().to_owned()).ok();
            }
            let judged = own.as_ref().and_then(|own| judge.judge(own, &|_| true).ok());
            judged.is_some_and(|judged| judged.violations.is_empty() && !judged.is_partial())
        };
        let mut next = first;
        while let Some(number) = self.schemas.get(next).copied().filter(|_| work::left() > 0) {
            next += 1;
            let SchemaNode { all_of, branches, condition, .. } = &nodes[number];
            for schema in all_of {
                self.add(first, Some(*schema));
            }
            for branch in branches {
                work::take(1);
                if accepts(&branch.judge) {
                    if let Some(part) = branch.part {
                        self.part(part);
                    }
                    self.add(first, branch.schema);
                }
            }
            if let Some(condition) = condition.as_deref().filter(|_| value.is_some()) {
                let holding = if accepts(&condition.judge) { condition.then } else { condition.otherwise };
                self.add(first, holding);
            }
        }
    }

    fn part(&mut self, part: PartNumber) {
        let (word, bit) = (&mut self.seen[part / BITS], 1 << (part % BITS));
        if *word & bit == 0 {
            *word |= bit;
            self.parts.push(part);
        }
    }

    /// Adds a schema, if there is one, to those from `first` on, once.
    fn add(&mut self, first: usize, schema: Option<NodeNumber>) {
        work::take(1 + ((self.schemas.len() - first) / STEP_SCHEMAS) as u64);
        let schema = schema.filter(|schema| !self.schemas[first..].contains(schema));
        self.schemas.extend(schema);
    }

    fn parts(&mut self, parts: Option<&Vec<PartNumber>>) {
        parts.into_iter().flatten().for_each(|part| self.part(*part));
    }

    /// The known values that stand for a text.
    fn forms(&mut self, values: &ListedValues, text: &str) {
        for (part, form) in &values.forms {
            if form.matches(text, &|_| true) {
                self.part(*part);
            }
        }
    }
}

/// A name or a value of a query or a form.
fn decoded(text: &[u8]) -> Cow<'_, str> {
    match media::decoded(text) {
        Cow::Borrowed(text) => String::from_utf8_lossy(text),
        Cow::Owned(text) => String::from_utf8_lossy(&text).into_owned().into(),
    }
}
