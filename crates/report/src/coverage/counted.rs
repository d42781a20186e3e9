//! How often each part of a contract was touched.

use std::sync::Arc;

use contrail_contract::ContractDocument;

use super::{ContractParts, Counts, Part, Touched};

/// The parts of a contract, each with how often it was touched.
#[derive(Debug, Clone)]
pub struct Coverage {
    pub(super) parts: Arc<ContractParts>,
    /// By the part's number.
    pub(super) times: Vec<u64>,
    exchanges: u64,
    undocumented: u64,
}

/// A part of a contract.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// Its document.
    pub document: &'a ContractDocument,
    /// Its JSON pointer there.
    pub at: &'a str,
    /// What people know it by.
    pub name: &'a str,
    /// In how many exchanges it occurred.
    pub times: u64,
}

impl Coverage {
    /// These parts, none of them touched.
    #[must_use]
    pub fn new(parts: Arc<ContractParts>) -> Self {
        let times = vec![0; parts.parts.len()];
        Self { parts, times, exchanges: 0, undocumented: 0 }
    }

    /// The parts, to find in an exchange.
    #[must_use]
    pub fn parts(&self) -> &Arc<ContractParts> {
        &self.parts
    }

    /// Counts an exchange that touches these.
    pub fn take(&mut self, touched: &Touched) {
        self.exchanges += 1;
        self.undocumented += u64::from(touched.is_undocumented);
        for part in &touched.parts {
            self.times[*part] += 1;
        }
    }

    /// How many exchanges were counted.
    #[must_use]
    pub fn exchanges(&self) -> u64 {
        self.exchanges
    }

    /// How many of them have no documented operation.
    #[must_use]
    pub fn undocumented(&self) -> u64 {
        self.undocumented
    }

    /// The parts of one kind, in the order of their pointers.
    pub fn each(&self, part: Part) -> impl Iterator<Item = Item<'_>> {
        let all = self.parts.in_order().map(|number| (&self.parts.parts[number], self.times[number]));
        all.filter(move |(listed, _)| listed.part == part).filter_map(|(listed, times)| {
            let document = self.parts.document(listed.document)?;
            Some(Item { document, at: &listed.at, name: &listed.name, times })
        })
    }

    /// The names of the parts of one kind that were never touched.
    pub fn untouched(&self, part: Part) -> impl Iterator<Item = &str> {
        self.each(part).filter(|item| item.times == 0).map(|item| item.name)
    }

    /// How many parts of one kind were touched.
    #[must_use]
    pub fn counts(&self, part: Part) -> Counts {
        let listed = self.parts.parts.iter().zip(&self.times).filter(|(listed, _)| listed.part == part);
        listed.fold(Counts::default(), |counts, (_, times)| Counts {
            touched: counts.touched + usize::from(*times > 0),
            of: counts.of + 1,
        })
    }
}
