//! contrail: a contract and a trail.
//!
//! A proxy between API clients and a real tenant. It checks every exchange against the tenant's documentation, records
//! the traffic as fixtures, and replays them. The modules stand in the order in which an exchange flows:
//!
//! ```text
//! client ──► proxy ──► upstream (live tenant | replay | sandbox)
//!              │ capture (bounded copy)
//!              ▼
//!           Exchange ──► contract::check ──► Verdict ──► redact ──► recording (journal, fixture), console, report
//! ```
//!
//! Imports point one way: `cli`, `config`, `fleet`, `pipeline`, `proxy`, `metrics`, `learn`, `mock`, `replay` and `sandbox`, `upstream`,
//! `report`, `coverage`, `recording`, `contract`, `redact`, `token`, `finding`, `exchange`, `json`, `io`, each to those
//! after it. `contract` never sees a socket, `recording` never sees a contract, `proxy` never sees either; the embedded
//! sandbox imports nothing from `contract`, so that the two can disagree. `docs/architecture.md` lists what each owns.

pub mod cli;
pub mod config;
