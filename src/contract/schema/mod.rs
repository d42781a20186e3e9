//! Schemas: JSON Schema Draft 2020-12 as the judge, and the gap walker that reports what no schema documents.
//!
//! The judge is the `jsonschema` crate with formats asserted. It walks the tape of [`crate::json`], so no value is
//! copied and no number rounded. The gap walker is compiled from the same schemas: delete a property from the
//! document, and its traffic turns from conforms to gap. The fast path settles most values before both.

mod errors;
mod fast_path;
mod formats;
mod gaps;
mod inspect;
mod judge;
mod pattern;
mod set;
#[cfg(test)]
mod tests;
mod verdict;

pub use errors::SchemaViolation;
pub use gaps::{Gap, GapKind, Types};
pub use inspect::UnusablePlace;
pub use set::Schemas;
pub use verdict::{Indeterminate, Judged, Schema};
