//! Replacing secrets with labels, in messages and in files.

mod exchange;
pub(super) mod file;
mod head;
mod message;
mod recording;
mod redaction;
mod target;
mod verdict;
