//! What many verdicts show: reports for people (`text`, `html`, `markdown`), CI systems (`junit`, `sarif`, `github`)
//! and other programs (`json`, `csv`). [`coverage`] counts which parts of a contract were touched, [`learn`] what
//! recordings show that the contract does not.
//!
//! A [`Collector`] takes one exchange after the other and keeps counts and one sample per group, so its memory does not
//! grow with the recording; the JSON report, which lists every exchange, is spooled to an anonymous temporary file.
//!
//! Accepts [`Redacted`](contrail_redact::Redacted) values only. Knows nothing of sockets, arguments or exit statuses.

pub mod audit;
mod baseline;
mod cases;
mod cited;
mod collector;
pub mod contracts;
pub mod coverage;
mod csv;
pub mod diff;
mod exemptions;
mod exit;
mod facts;
mod first;
mod github;
mod group;
mod html;
mod integrity;
mod json;
mod junit;
pub mod learn;
mod markdown;
mod page;
mod plain;
mod quote;
mod rendered;
mod reported;
mod request;
mod run;
mod sarif;
pub mod scan;
mod spool;
mod suppression;
mod tally;
#[cfg(test)]
mod tests;
mod text;
mod times;
mod touched;
mod xml;

pub use self::{
    baseline::{Baseline, BaselineEntry, Covered},
    cited::{Citation, Cited, ExchangeRef, LIVE},
    collector::Collector,
    exemptions::Exemptions,
    exit::{Exit, Reason, Unread},
    facts::{Facts, Title, verdict_name},
    first::{Dated, First},
    group::{Group, Sample, Unenforced, shape, without_indices},
    integrity::{Integrity, NotRecorded, TrailLink},
    quote::{About, Marks, Quote, laid_out, request_line},
    rendered::Screen,
    reported::Reported,
    request::{ReportFormat, Request},
    run::{Denied, Miss, Missed, Proof, Run, Stale, Unused},
    spool::WrittenFinding,
    suppression::{Suppressed, Suppression},
    tally::{CleanVerdict, Recorded, Tally},
};
