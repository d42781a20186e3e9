//! Replacing secrets with labels, in messages and in files.

pub(super) mod cleaned;
mod exchange;
mod file;
mod head;
mod labelled;
pub(super) mod message;
mod recording;
mod redaction;
pub(super) mod renumber;
mod target;
mod verdict;
