//! Replacing secrets with labels, in messages and in files.

pub(super) mod file;
pub(super) mod label;
pub(super) mod message;
pub(super) mod renumber;
pub(super) mod spans;
