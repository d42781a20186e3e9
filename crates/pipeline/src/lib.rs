//! Judges, redacts and writes what the proxy reports: capture → decode → credential → check → redact → journal,
//! console, counters. It is the only crate that knows all stages.
//!
//! A [`Pipeline`] is the proxy's observer. The exchanges that end in one turn of an event loop form a batch, which is
//! processed at the end of the turn ([`Pipeline::run`]): all are judged, then all are redacted, then their entries and
//! lines are written with one call each. Going stage by stage keeps each stage's code and data in the processor's
//! caches. Only then do the ends of their responses go out.
//!
//! Each event loop processes its own batch, up to encoded entries and lines. It numbers, counts and queues them under a
//! lock that is held for no more than that. One thread at a time writes what is queued, in that order; the others do
//! not wait for it.
//!
//! Under `--otlp`, a [`Tracer`] takes what it needs of an exchange once that is redacted. It never waits.
//!
//! A checker that panics costs one exchange its verdict, never the recording. A journal that cannot be written stops no
//! traffic: an alarm, the summary and the exit status report it.
//!
//! Under `--durable` the ends of responses also wait for the disk. A thread syncs what was written, once for all
//! exchanges written meanwhile; the event loop never waits for it. An exchange that cannot be written or synced is
//! refused: its response does not end, and new requests get 503 until an entry can be written again.

mod batches;
mod console;
mod counts;
mod disk;
mod enforce;
mod journal;
mod judge;
mod lines;
mod observer;
mod process;
mod run;
mod shapes;
#[cfg(test)]
mod tests;
mod tracer;
mod verdict_cache;
mod writing;

pub use self::{
    console::LineFormat,
    counts::{Counts, Queue},
    enforce::Enforce,
    journal::{Encode, Journal, SharedJournal, Sync},
    judge::{Attestation, Checker, Judge},
    lines::Console,
    run::{Outcome, Parts, Pipeline},
    shapes::ContractShapes,
    tracer::{Traced, Tracer, Viewed, Viewer},
    verdict_cache::VerdictCache,
};
