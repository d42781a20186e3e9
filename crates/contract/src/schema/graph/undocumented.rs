//! What is undocumented about a value, and what is left open.

use std::borrow::Cow;

use contrail_exchange::json::{Document, Kind, Node, push_pointer};

use super::{
    applied::Applied,
    table::TextContent,
    types::Types,
    walk::{Outcome, Path, Walk},
};
use crate::{list::joined, schema::Open};

/// Bound on the nesting of JSON in a text.
const MAX_CONTENT_DEPTH: usize = 64;

/// Bound on the gaps reported of one value.
const MAX_GAPS: usize = 1000;

/// Bound on the places of one value that are reported as not judged.
const MAX_OPEN: usize = 100;

/// A place that no schema accounts for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// JSON pointer into the value.
    pub at: String,
    /// What is not documented.
    pub kind: GapKind,
}

/// What is not documented about a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GapKind {
    /// No schema documents this member of an object.
    Undocumented,
    /// No schema documents this item of an array.
    UndocumentedItem,
    /// It is one of the keys that exist but whose names are not shown.
    Unnamed {
        /// How many of them there are.
        limit: usize,
    },
    /// It is one key more than exist: a violation.
    BeyondUnnamed {
        /// How many of them there are.
        limit: usize,
    },
    /// Its value is none of the documented ones of an open set.
    Value {
        /// The documented ones, for reading.
        known: String,
    },
    /// It belongs to the other side of an exchange.
    OtherSide {
        /// What marks it: `readOnly` in a request, `writeOnly` in a response.
        keyword: &'static str,
    },
    /// It is a text whose content breaks what the document states about that: a violation.
    Content {
        /// What is expected, as a clause.
        expected: String,
    },
    /// The document states two things about it that disagree.
    Unclear {
        /// What is expected, as a clause.
        expected: String,
    },
}

impl Walk<'_> {
    pub(super) fn open(&self, at: String, why: impl Into<Cow<'static, str>>) {
        let mut open = self.open.borrow_mut();
        if open.len() < MAX_OPEN {
            open.push(Open { at, why: why.into() });
        }
    }

    pub(super) fn gap(&self, at: String, kind: GapKind) {
        let mut gaps = self.gaps.borrow_mut();
        if gaps.len() < MAX_GAPS {
            gaps.push(Gap { at, kind });
        } else if !self.is_full.replace(true) {
            self.open(String::new(), "it has more undocumented places than are listed");
        }
    }

    /// Reports on one value; gives the way to it if its members or items are reported on, too.
    pub(super) fn report<'p>(&self, found: &Applied<'_>, value: Node<'_>, at: &'p Path<'p>) -> Option<&'p Path<'p>> {
        let nodes = || found.nodes.iter().map(|index| &self.graph.nodes[*index]);
        let kind = value.kind();
        let is_broken = self.is_broken(found, at);
        if found.undecided {
            self.open(at.pointer(), "only what contrail does not check decides which of several variants it is");
        }
        if let Some(keyword) = nodes().find_map(|node| node.other_side) {
            self.gap(at.pointer(), GapKind::OtherSide { keyword });
            return None;
        }
        match kind {
            Kind::Object | Kind::Array => {
                if value.is_empty() {
                    return None;
                }
                let documents = self.documents(found, container_type(kind));
                if self.broken && !documents && !is_broken && nodes().any(|node| node.leads_to_broken) {
                    self.open(at.pointer(), "contrail cannot use all that the document states of parts of it");
                }
                if let Some((member, kind)) = &found.unclear {
                    let mut pointer = at.pointer();
                    if let GapKind::Value { .. } = kind {
                        push_pointer(&mut pointer, member);
                    }
                    self.gap(pointer, kind.clone());
                }
                documents.then_some(at)
            }
            Kind::String => {
                self.contents(&found.nodes, value, at);
                let known = || nodes().map(|node| &node.known).filter(|known| !known.is_empty());
                known().next()?;
                let text = value.as_str().unwrap_or_default();
                if !known().any(|known| known.matches(&text, self.is_origin)) {
                    let written = known().flat_map(|known| &known.written);
                    let known = joined(written.map(|written| format!("`{written}`")), ", ");
                    self.gap(at.pointer(), GapKind::Value { known });
                }
                None
            }
            Kind::Null => {
                if nodes().filter_map(|node| node.nullable).any(|rest| !(self.judge)(rest, value)) {
                    let expected = "another value: `nullable` allows null, and the rest of the schema excludes it";
                    self.gap(at.pointer(), GapKind::Unclear { expected: expected.to_owned() });
                }
                None
            }
            Kind::Boolean | Kind::Number => None,
        }
    }

    /// Reports what an unusable place of the schemas that apply to a value may restrict; whether there is one.
    fn is_broken(&self, found: &Applied<'_>, at: &Path<'_>) -> bool {
        if !self.broken {
            return false;
        }
        let broken = found.nodes.iter().filter_map(|index| self.graph.nodes[*index].broken.as_deref());
        broken.map(|why| self.open(at.pointer(), why.to_owned())).count() > 0
    }

    /// Reports on the content of a text.
    fn contents(&self, applicable: &[usize], value: Node<'_>, at: &Path<'_>) {
        for index in applicable {
            let schema = match &self.graph.nodes[*index].content {
                TextContent::Nothing => continue,
                TextContent::Unread => {
                    self.open(at.pointer(), "contrail does not read what this text holds");
                    continue;
                }
                TextContent::Json(schema) => schema,
            };
            let document = match Document::parse(value.as_str().unwrap_or_default().into_owned()) {
                Ok(document) if document.depth() <= MAX_CONTENT_DEPTH => document,
                Err(error) if !error.fault.is_limit() => {
                    self.gap(at.pointer(), GapKind::Content { expected: format!("well-formed JSON text: {error}") });
                    continue;
                }
                Ok(_) | Err(_) => {
                    self.open(at.pointer(), "the JSON in this text is beyond a limit of the parser");
                    continue;
                }
            };
            let Some(schema) = schema else { continue };
            let root = document.root();
            let below = self.graph.walk(schema.node, root, self.judge, self.is_origin, self.asks);
            if below.outcome != Outcome::Conforms && !(self.judge)(schema.judge, root) {
                let expected = "JSON text that conforms to its `contentSchema`".to_owned();
                self.gap(at.pointer(), GapKind::Content { expected });
                continue;
            }
            let at = at.pointer();
            self.open
                .borrow_mut()
                .extend(below.open.into_iter().map(|open| Open { at: at.clone() + &open.at, ..open }));
            self.gaps.borrow_mut().extend(below.gaps.into_iter().map(|gap| Gap { at: at.clone() + &gap.at, ..gap }));
        }
    }

    /// Whether the schemas document the content of such a container part by part. A value that no schema restricts has
    /// no gaps below, nor has one of a wrong type, nor one that a schema lists whole. Beside a schema that states
    /// something, one that states nothing frees nothing.
    fn documents(&self, found: &Applied<'_>, container: Types) -> bool {
        let nodes = || found.nodes.iter().map(|index| &self.graph.nodes[*index]);
        let free = found.freed || (nodes().any(|node| node.silent) && nodes().all(|node| node.silent || node.refers));
        !free && nodes().all(|node| node.documents(container))
    }
}

/// The type of a container.
pub(super) fn container_type(kind: Kind) -> Types {
    if kind == Kind::Object { Types::OBJECT } else { Types::ARRAY }
}
