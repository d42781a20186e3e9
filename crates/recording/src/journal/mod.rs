//! The journal: one entry per line, append-only, the only thing that the proxy writes.
//!
//! A killed process loses at most the torn last line; the next start drops it. One process at a time: the file (of a
//! trail, the folder) is locked as long as the journal is open.

pub(super) mod account;
mod batch;
pub(super) mod chain;
pub(super) mod check;
pub(super) mod clock;
pub(super) mod destination;
mod doubt;
mod file;
mod fixture;
pub(super) mod heads;
pub(super) mod lines;
mod pending;
pub(super) mod segments;
pub(super) mod set_aside;
#[cfg(test)]
mod tests;
pub(super) mod trail;
pub(super) mod unrecorded;
mod writer;

pub use account::Leftover;
pub use batch::{Encoder, EntryBatch};
pub use file::Unsynced;
pub use writer::Journal;
