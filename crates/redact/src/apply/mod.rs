//! Replacing secrets with labels, in messages and in files.

mod exchange;
pub(super) mod file;
mod head;
pub(super) mod message;
mod recording;
mod redaction;
pub(super) mod renumber;
mod target;
mod verdict;
