//! Schema resources: `$id`, `$anchor`, `$dynamicAnchor`, and the references that start from them.
//!
//! The graph and the judge read one kind of reference: a JSON pointer into the document. Here every other kind becomes
//! one, and the keywords that name resources go. A reference that leads nowhere stays as it is.

mod dialect;
mod dynamic;
mod edit;
mod found;
mod resolved;
#[cfg(test)]
mod tests;

pub(super) use self::{dialect::is_dialect, dynamic::Copies, resolved::Resolved};
