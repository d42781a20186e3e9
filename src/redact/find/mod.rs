//! Where an exchange holds secrets: by field, by header, by shape.

pub(super) mod body;
pub(super) mod detect;
pub(super) mod header;
pub(super) mod hints;
pub(super) mod kind;
pub(super) mod nearly;
pub(super) mod prefilter;
pub(super) mod shapes;
pub(super) mod walk;
