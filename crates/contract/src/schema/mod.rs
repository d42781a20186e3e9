//! Schemas: JSON Schema Draft 2020-12, by a walk along the graph of a document's schemas, and by a judge.
//!
//! The walk accepts what certainly conforms, and reports what no schema documents: delete a property from the document,
//! and its traffic turns from conforms to gap. Everything else is for the judge, the `jsonschema` crate with formats
//! asserted. Both read the tape of [`contrail_exchange::json`], so no value is copied and no number rounded.

mod adapt;
mod decision;
mod deep_stack;
mod discriminator;
mod errors;
mod formats;
mod graph;
mod inspect;
mod judge;
mod judged;
mod keywords;
mod order;
mod pattern;
mod represent;
mod resources;
mod set;
#[cfg(test)]
mod tests;
mod verdict;
mod violation;
pub mod work;

pub(super) use adapt::{Side, parts};
pub use deep_stack::with_deep_stack;
pub(super) use discriminator::Discriminators;
pub use formats::ASSERTED_FORMATS;
pub use graph::{Applicable, Gap, GapKind, KnownForm, NamePattern, NamePatterns, Types};
pub(super) use graph::{restricts_no_bytes, says_something};
pub(super) use keywords::{Holds, NULLABLE, holds};
pub use set::Schemas;
pub use verdict::{Schema, SchemaVerdict};
pub use violation::{Indeterminate, Open, SchemaViolation};
