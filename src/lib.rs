//! contrail: a contract and a trail.
//!
//! A proxy between API clients and a real tenant. It checks every exchange against the tenant's documentation, records
//! the traffic as fixtures, and replays them. This package holds the commands; the crates under `crates/` hold the
//! rest, in the order in which an exchange flows:
//!
//! ```text
//! client ──► proxy ──► upstream (live tenant | replay | sandbox)
//!              │ capture (bounded copy)
//!              ▼
//!           Exchange ──► contract::check ──► Verdict ──► redact ──► recording (journal, fixture), console, report
//! ```
//!
//! `docs/architecture.md` lists what each owns.

pub mod cli;
pub mod config;
