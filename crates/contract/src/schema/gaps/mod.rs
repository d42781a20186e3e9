//! The gap walker: which properties and values no documented schema accounts for.
//!
//! Compiled from the same schema that the judge uses, it knows every place in the document that describes a value: its
//! own keywords, what `$ref` and `allOf` add, and those branches of `oneOf`, `anyOf` and `if` that hold for it. A
//! member that none of them names is a gap, unless one of them is free-form (`additionalProperties: true`, or a schema
//! that is silent) or closed (then the judge has called it a violation).

mod compile;
mod known;
mod members;
mod table;
mod types;
mod walk;

pub(crate) use compile::restricts_no_bytes;
pub(super) use compile::says_something;
pub use known::KnownForm;
pub(super) use known::KnownValues;
pub(super) use table::Coverage;
pub use table::{Applicable, NamePattern, NamePatterns};
pub use types::Types;
pub use walk::{Gap, GapKind};
