//! Finds the secrets in an HTTP exchange and replaces each with a label, the same one wherever the secret occurs again. A
//! [`Redactor`] takes a [`JudgedExchange`] and returns a [`Redacted`] one, the only type that writers and reports accept.
//!
//! `examples/redact_text.rs` is a whole program.
//!
//! Structural, never a pattern over a finished line. An exchange is read twice: first every secret is recognised, by
//! the field that it stands in (headers, form fields, JSON members, query parameters), by its shape, and by the rules
//! that `--redact` adds; then every known secret is replaced wherever it stands, by value and in any coding. A body
//! that is not what its media type says is searched as text and kept; one whose secrets cannot be located is withheld;
//! of a cut body nothing is kept.
//!
//! ```text
//! detect  (kind, shapes, plan)  ──► memory: secret ──► label ──► index
//!                                                                │
//! spread  (view: percent, JSON escapes, entities) ◄──────────────┘ ──► marks ──► labels spliced in
//! ```
//!
//! Labels ([`label`]) are stable within a recording, keep the JSON type, fit the schema's bounds, and never show the
//! secret's length. Redaction is idempotent: labels are recognised.
//!
//! Knows nothing of contracts, sockets or files.

mod apply;
mod bounds;
mod counters;
mod find;
mod judged;
mod kind;
mod known;
mod mark;
mod plan;
mod redactor;
mod runs;
mod view;

pub use apply::{
    cleaned::{Cleaned, Sighting},
    renumber::Renumbering,
};
pub use bounds::Shapes;
pub use contrail_exchange::label::{self, Bounds, has_label, is_label, label_number, labels, matches, unnumbered};
pub use counters::{Counters, Hit};
pub use judged::{JudgedExchange, Redacted, Touched};
pub use plan::{Plan, PlanError};
pub use redactor::Redactor;

#[cfg(test)]
mod tests;
