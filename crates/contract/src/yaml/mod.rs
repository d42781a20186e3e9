//! YAML as JSON values, and back.

mod read;
mod write;

pub(crate) use read::read;
pub use read::{BINARY, read_verbatim};
pub use write::write;
