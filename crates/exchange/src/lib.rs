//! What an HTTP exchange is ([`Exchange`]: request, response, timing, how the transport ended), and what a check may
//! report of it ([`finding`]). The same value comes from a live proxy and from a recording, so everything that works
//! live works on files too.
//!
//! Beside them: [`json`] (values with exact numbers and spans), [`token`] (bearer tokens), [`media`] (media types,
//! forms, multipart bodies), [`label`] (what replaces a secret). Bodies are reference-counted slices.
//!
//! Units: [`SystemTime`](std::time::SystemTime) and [`Duration`](std::time::Duration) in memory; sizes in bytes.
//! Knows nothing of contracts, sockets or files.

mod body;
mod by_token;
mod credential;
pub mod finding;
pub mod graphql;
mod headers;
pub mod hex;
mod inflate;
pub mod json;
pub mod label;
pub mod media;
mod near;
mod packed;
mod pair;
pub mod plural;
mod relabel;
pub mod shell;
pub mod suggest;
mod target;
mod tenant;
pub mod token;
pub mod visible;

pub use body::{Body, DecodeLimits, Pointer, Presence, Withheld, is_at_or_below, is_redacted};
pub use by_token::ByToken;
pub use credential::{Credential, SignatureCheck, TokenFacts, TokenTime};
pub use headers::{Headers, is_hop_by_hop};
pub use near::{Difference, Near};
pub use packed::Packed;
pub use pair::{Exchange, Request, Response, Timings, Transport, is_bodiless, known_method};
pub use target::{TENANT_NAME, Target, is_upstream_name, named_host, upstreams};
pub use tenant::{TenantFacts, UnknownTenant};
