//! The parts of a contract, and what is needed to find them in an exchange.

use std::{collections::HashMap, panic::resume_unwind, sync::Arc};

use contrail_contract::{Contract, ContractDocument, schema::with_deep_stack};

use super::{
    listing::Listing,
    shape::{Node, OperationShape, PartPlace},
};

/// The parts of a contract.
#[derive(Debug)]
pub struct ContractParts {
    pub(super) contract: Arc<Contract>,
    pub(super) parts: Vec<PartPlace>,
    /// Of each document, by the operation's JSON pointer.
    pub(super) operations: Vec<HashMap<String, OperationShape>>,
    pub(super) nodes: Vec<Node>,
}

impl ContractParts {
    /// Lists them.
    #[must_use]
    pub fn of(contract: &Arc<Contract>) -> Arc<Self> {
        let list = || {
            let (mut listing, documents) = (Listing::default(), (0..).zip(contract.documents()));
            let operations = documents.map(|(number, document)| listing.document(number, document)).collect();
            (listing, operations)
        };
        let (listing, operations) =
            with_deep_stack("contrail-parts", list).unwrap_or_else(|panic| resume_unwind(panic));
        let Listing { parts, nodes, .. } = listing;
        Arc::new(Self { contract: Arc::clone(contract), parts, operations, nodes })
    }

    /// Their numbers, in the order of their pointers.
    pub(super) fn in_order(&self) -> impl Iterator<Item = usize> {
        let mut places: Vec<_> =
            (0..).zip(&self.parts).map(|(number, part)| (part.document, &*part.at, number)).collect();
        places.sort_unstable();
        places.into_iter().map(|(_, _, number)| number)
    }

    pub(super) fn document(&self, number: usize) -> Option<&ContractDocument> {
        self.contract.documents().get(number)
    }
}
