//! An OpenAPI judge for anyone: [`Contract::check`] compares an HTTP exchange with OpenAPI documents and returns a
//! verdict. What violates a document, where the document is silent, and what was not checked are listed apart.
//!
//! `examples/check_exchange.rs` is a whole program.
//!
//! `document` (read, overlay) → `refs` → `compile` ([`Contract`]) → `route`, `schema`, `params` → `check`.
//! The check is pure: `(&Contract, &Exchange, &CheckOptions) -> Verdict`. It never sees a socket or a file.

pub mod check;
pub mod compare;
mod compile;
mod contract_document;
mod contradictions;
mod document;
mod documents;
mod error;
pub mod examples;
mod files;
mod list;
mod media_type;
pub mod model;
mod nearest;
mod never_judged;
mod options;
pub mod outline;
mod overlay;
mod params;
mod passage;
pub mod refs;
mod route;
pub mod schema;
pub mod schemas_at;
mod stated;
mod tenant;
mod unusable;
mod upgrade;
mod yaml;

pub use check::{Demand, sequence_items};
pub use compile::NotImplemented;
pub use contract_document::{BUILT_IN, ContractDocument, upstream_of};
pub use documents::Contract;
pub use error::ContractError;
pub use media_type::{MediaRange, most_specific};
pub use model::Operation;
pub use model::Security;
pub use options::CheckOptions;
pub use passage::{Passage, Subject};
pub use refs::{FRAGMENT, below, follow, reference, target};
pub use route::{encoded_path, has_no_request};
pub use unusable::UnusablePlace;
pub use yaml::{BINARY as YAML_BINARY, read_verbatim as yaml_verbatim, write as yaml_text};
