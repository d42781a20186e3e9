//! Files that a running proxy reads again.

use std::{fs, path::Path};

/// Why a file is not read again, if so: a pipe in its place would hold the thread that reads, and with it every later
/// signal, until somebody writes to it.
#[must_use]
pub fn irregular(file: &Path) -> Option<&'static str> {
    fs::metadata(file).is_ok_and(|there| !there.is_file()).then_some("it is no regular file; put one in its place")
}
