//! Values made of JSON text in one pass, for files of any producer: a `serde` format that keeps nothing of the text.
//!
//! Lenient where a [`Document`](super::Document) is strict. Members that are not requested are skipped with its grammar
//! checked and no more, so that names may repeat there, and text need not be Unicode. A string that is asked for as
//! bytes need not be either (half of a surrogate pair is given the three bytes that it would have in UTF-8); where it
//! is, it comes as text.

mod error;
mod escapes;
mod object;
mod raw;
mod reader;
#[cfg(test)]
mod tests;

pub use self::{error::LenientError, object::object, raw::Raw, reader::read};
