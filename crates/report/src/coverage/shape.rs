//! What a document describes, with the numbers of the parts that stand for it.

use std::{collections::HashMap, sync::Arc};

use ahash::AHashMap;
use contrail_contract::{
    MediaRange,
    schema::{KnownForm, NamePattern, Schema},
};
use contrail_exchange::json::ByValue;

use super::Part;

/// The number of a part among those of the contract.
pub(super) type PartNumber = usize;

/// The number of a schema among those of the contract.
pub(super) type NodeNumber = usize;

/// A part, and where the contract has it.
#[derive(Debug, Clone)]
pub(super) struct PartPlace {
    pub(super) part: Part,
    pub(super) name: String,
    pub(super) document: usize,
    pub(super) at: String,
}

/// An operation.
#[derive(Debug)]
pub(super) struct OperationShape {
    pub(super) part: PartNumber,
    pub(super) parameters: Vec<Parameter>,
    pub(super) request: Arc<[Content]>,
    /// By status, as the document writes it.
    pub(super) responses: HashMap<String, (PartNumber, Arc<[Content]>)>,
}

/// A parameter of an operation or of its path.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) part: PartNumber,
    pub(super) name: String,
    /// `path`, `query`, `header` or `cookie`.
    pub(super) place: String,
    /// What stands between the items of a list; `None` where each is a text of its own.
    pub(super) separator: Option<char>,
    pub(super) schema: Option<NodeNumber>,
}

/// A body of one media type; no range for a text that is no media type.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) part: PartNumber,
    pub(super) range: Option<MediaRange>,
    pub(super) schema: Option<NodeNumber>,
}

/// A schema, references followed.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) all_of: Vec<NodeNumber>,
    pub(super) branches: Vec<Branch>,
    /// What holds if the value conforms to the schema, and if not.
    pub(super) condition: Option<Box<Condition>>,
    pub(super) properties: AHashMap<String, (PartNumber, Option<NodeNumber>)>,
    pub(super) patterns: Vec<(NamePattern, Option<NodeNumber>)>,
    pub(super) additional: Option<NodeNumber>,
    pub(super) first_items: Vec<Option<NodeNumber>>,
    pub(super) items: Option<NodeNumber>,
    pub(super) values: ListedValues,
}

/// A branch of `oneOf` or `anyOf`.
#[derive(Debug)]
pub(super) struct Branch {
    /// None for the only one.
    pub(super) part: Option<PartNumber>,
    pub(super) judge: Schema,
    pub(super) schema: Option<NodeNumber>,
}

/// `if`, `then` and `else`.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) judge: Schema,
    pub(super) then: Option<NodeNumber>,
    pub(super) otherwise: Option<NodeNumber>,
}

/// The values that a schema lists.
#[derive(Debug, Default)]
pub(super) struct ListedValues {
    /// Those that stand for themselves.
    pub(super) parts: ByValue<Vec<PartNumber>>,
    /// All others: a known value may stand for many, as `client_id:{client_id}` does.
    pub(super) forms: Vec<(PartNumber, KnownForm)>,
}

impl ListedValues {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.forms.is_empty()
    }
}
