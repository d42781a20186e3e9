//! Finds the secrets in an HTTP exchange and replaces each with a label, the same one wherever the secret occurs again.
//! A [`Redactor`] takes a [`JudgedExchange`] and returns a [`Redacted`] one, the only type that writers and reports
//! accept.
//!
//! `examples/redact_text.rs` is a whole program.
//!
//! A message is read in one way. A body is parsed by its media type, and header fields, URLs and cookies by their own
//! syntax. Whatever is text, at any depth, passes one reader of names and values. A run that can be base64, hex,
//! percent-encoding, JSON escapes or entities is decoded and read again, one inside the other up to four times. Names
//! select values, formats select tokens, and known secrets select themselves, in all messages from then on. A value
//! reaches to the end of its longest reading; a body whose secrets cannot be located is withheld, and of a cut body
//! nothing is kept.
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

use contrail_exchange::label::{self, Bounds};

pub use apply::file::{Cleaned, Sighting};
pub use counters::{Counters, Hit};
pub use find::steps::thoroughly;
pub use judged::{JudgedExchange, Redacted, Touched};
pub use plan::{Plan, PlanError};
pub use redactor::{Redactor, Shapes};

#[cfg(test)]
mod tests;
