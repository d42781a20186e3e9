//! The parts of one operation as a person reads them: parameters, then the request's body, then each response, fields
//! below the body that has them.

use contrail_contract::below;

use super::{
    Coverage, Item, Part,
    shape::{Content, NodeNumber, OperationShape, PartNumber},
};

/// Maximum parts of one operation that are listed.
const MAX: usize = 5_000;
/// Maximum schemas that are looked at for them, and how deep.
const MAX_SCHEMAS: usize = 20_000;
const MAX_DEPTH: usize = 64;

/// A part of an operation, where it belongs.
#[derive(Debug, Clone)]
pub struct Outlined<'a> {
    /// Its kind.
    pub part: Part,
    /// The part, counted as coverage counts it: of a schema that several operations use, in all of them.
    pub item: Item<'a>,
    /// The message that it belongs to.
    pub section: Section<'a>,
    /// Levels below its section.
    pub depth: usize,
    /// Of what a body holds: the JSON pointer there, with `*` for items.
    pub at: Option<String>,
}

/// What of an operation a part belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section<'a> {
    /// Its parameters.
    Parameters,
    /// The body of its request.
    Request,
    /// The response of this status, as the document writes it.
    Response(&'a str),
}

impl Coverage {
    /// The parts of an operation; none if there is no such operation.
    #[must_use]
    pub fn outline(&self, operation: &str) -> Vec<Outlined<'_>> {
        let named = |shape: &&OperationShape| self.parts.parts[shape.part].name == operation;
        let Some(shape) = self.parts.operations.iter().flat_map(|one| one.values()).find(named) else {
            return Vec::new();
        };
        let mut outline =
            Outline { coverage: self, rows: Vec::new(), section: Section::Parameters, path: Vec::new(), schemas: 0 };
        let mut parameters: Vec<_> = shape.parameters.iter().collect();
        parameters.sort_by_key(|parameter| parameter.part);
        for parameter in parameters {
            outline.add(parameter.part, 0, None);
            outline.schema(parameter.schema, 1, None);
        }
        outline.section = Section::Request;
        outline.content(&shape.request, 0);
        let mut responses: Vec<_> = shape.responses.iter().collect();
        responses.sort_by_key(|(_, (part, _))| *part);
        for (status, (part, content)) in responses {
            outline.section = Section::Response(status);
            outline.add(*part, 0, None);
            outline.content(content, 1);
        }
        outline.rows
    }

    fn item(&self, number: PartNumber) -> Option<(Part, Item<'_>)> {
        let part = &self.parts.parts[number];
        let document = self.parts.document(part.document)?;
        Some((part.part, Item { document, at: &part.at, name: &part.name, times: self.times[number] }))
    }
}

/// The rows of an operation so far.
struct Outline<'a> {
    coverage: &'a Coverage,
    rows: Vec<Outlined<'a>>,
    section: Section<'a>,
    /// The schemas on the way to the one that is listed: one that leads to itself is listed once.
    path: Vec<NodeNumber>,
    /// Schemas that were looked at.
    schemas: usize,
}

impl<'a> Outline<'a> {
    fn add(&mut self, number: PartNumber, depth: usize, at: Option<&str>) {
        if self.rows.len() < MAX
            && let Some((part, item)) = self.coverage.item(number)
        {
            self.rows.push(Outlined { part, item, section: self.section, depth, at: at.map(str::to_owned) });
        }
    }

    fn content(&mut self, content: &[Content], depth: usize) {
        for one in content {
            self.add(one.part, depth, None);
            self.schema(one.schema, depth + 1, Some(""));
        }
    }

    /// What a schema lists; `at` is the place in the body, if it is one of a body.
    fn schema(&mut self, number: Option<NodeNumber>, depth: usize, at: Option<&str>) {
        let is_room = self.rows.len() < MAX && self.schemas < MAX_SCHEMAS && self.path.len() < MAX_DEPTH;
        let Some(number) = number.filter(|number| is_room && !self.path.contains(number)) else { return };
        self.schemas += 1;
        let coverage: &'a Coverage = self.coverage;
        let node = &coverage.parts.nodes[number];
        self.path.push(number);
        let mut values: Vec<PartNumber> = node.values.parts.values().flatten().copied().collect();
        values.extend(node.values.forms.iter().map(|(part, _)| *part));
        values.sort_unstable();
        for value in values {
            self.add(value, depth, at);
        }
        let mut properties: Vec<_> = node.properties.iter().collect();
        properties.sort_by_key(|(_, (part, _))| *part);
        for (name, (part, schema)) in properties {
            let place = at.map(|at| below(at, &[name]));
            self.add(*part, depth, place.as_deref());
            self.schema(*schema, depth + 1, place.as_deref());
        }
        for branch in &node.branches {
            branch.part.into_iter().for_each(|part| self.add(part, depth, at));
            self.schema(branch.schema, depth + usize::from(branch.part.is_some()), at);
        }
        let same = node.all_of.iter().map(|one| Some(*one));
        let conditional = node.condition.iter().flat_map(|condition| [condition.then, condition.otherwise]);
        same.chain(conditional).for_each(|one| self.schema(one, depth, at));
        let below = at.map(|at| format!("{at}/*"));
        let items = node.first_items.iter().copied().chain([node.items, node.additional]);
        let items = items.chain(node.patterns.iter().map(|(_, schema)| *schema));
        items.for_each(|one| self.schema(one, depth, below.as_deref()));
        self.path.pop();
    }
}
