//! Schemas: JSON Schema Draft 2020-12 as the judge, and the gap walker that reports what no schema documents.
//!
//! The judge is the `jsonschema` crate with formats asserted. It walks the tape of [`contrail_exchange::json`], so no
//! value is copied and no number rounded. The gap walker is compiled from the same schemas: delete a property from the
//! document, and its traffic turns from conforms to gap. The fast path decides most values before both.

mod adapt;
mod decision;
mod deep_stack;
mod discriminator;
mod errors;
mod fast_path;
mod formats;
mod gaps;
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
pub(super) use gaps::restricts_no_bytes;
pub use gaps::{Applicable, Gap, GapKind, KnownForm, NamePattern, NamePatterns, Types};
pub(super) use keywords::{Holds, NULLABLE, holds};
pub use set::Schemas;
pub use verdict::{Schema, SchemaVerdict};
pub use violation::{Indeterminate, Open, SchemaViolation};
