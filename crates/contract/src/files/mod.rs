//! A document in several files: what relative references lead to becomes part of the document.
//!
//! A file is read once, and only from the folder of the document or one below it. An entry of `paths` or `components`
//! that is a reference into a file becomes what that names; anything else gets a name of its own under `components`.
//! Anchors are names within their own file: references to them become JSON pointers, and they go. A reference that
//! leads nowhere stays, with the reason.

mod join;
mod references;
#[cfg(test)]
mod tests;

pub(super) use self::join::{Reasons, join};
