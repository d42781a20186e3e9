//! Reports: what the check said about many exchanges, for people (`text`, `html`) and for machines (`json`, `junit`).
//!
//! A [`Collector`] takes one exchange after the other and keeps counts and one sample per group, so its memory does not
//! grow with the recording; the JSON report, which lists every exchange, is spooled to an anonymous temporary file.
//!
//! A file whose producer strips `Authorization` cannot be told before its end. Until then both outcomes are kept per
//! entry ([`Collector::exchange`]'s `unauthenticated`), and [`Collector::end_of_file`] settles which one counts.
//!
//! Accepts [`Redacted`](crate::redact::Redacted) values only. Knows nothing of sockets, arguments or exit statuses.

pub mod audit;
mod collector;
pub mod diff;
mod exit;
mod facts;
pub mod html;
mod integrity;
pub mod json;
pub mod junit;
mod request;
mod run;
mod tally;
#[cfg(test)]
mod tests;
pub mod text;

pub use self::{
    collector::{Collector, Place, Title, Unauthenticated, Unremarkable},
    exit::{Exit, Reason},
    facts::{Facts, verdict_name},
    integrity::Integrity,
    request::{Kind, Request},
    run::{Denied, Difference, Miss, Missed, Near, Proof, Run, Unused},
    tally::{Group, Recorded, Sample, Tally},
};
