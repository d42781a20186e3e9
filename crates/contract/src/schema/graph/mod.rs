//! The graph of a document's schemas, and the walk of a value along it.
//!
//! A node is a schema with what it asks of a value by itself; its edges lead to the schemas of members and items, and to
//! others for the same value (`$ref`, `allOf`, those branches of `oneOf`, `anyOf` and `if` that hold for it). One walk
//! tells whether the value certainly conforms, certainly does not, or is for the judge to decide, and which parts of it no
//! schema documents: a member that no schema names is a gap, unless one of them is free-form (`additionalProperties:
//! true`, or a schema that is silent) or closed (then it is a violation).

mod applied;
mod asserts;
mod compile;
mod constants;
mod known;
mod table;
#[cfg(test)]
mod tests;
mod types;
mod undocumented;
mod walk;

pub(crate) use compile::{restricts_no_bytes, says_something};
pub use known::KnownForm;
pub(super) use table::Graph;
pub use table::{Applicable, NamePattern, NamePatterns};
pub use types::Types;
pub use undocumented::{Gap, GapKind};
pub(super) use walk::Outcome;
