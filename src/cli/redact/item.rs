//! A file that `contrail redact` cleans.

use std::path::PathBuf;

use crate::cli::scan::Content;

/// A file to clean.
pub(super) struct Item {
    pub(super) path: PathBuf,
    pub(super) content: Content,
    pub(super) target: Destination,
}

/// Where a cleaned file goes.
pub(super) enum Destination {
    /// It is only searched, or belongs to no copy.
    Nowhere,
    Output,
    File(PathBuf),
}
