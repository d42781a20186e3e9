//! Values made of JSON text in one pass, for files of any producer. Nothing is kept of the text.
//!
//! Lenient where a [`Document`](super::Document) is strict. Members that are not requested are skipped with its grammar
//! checked and no more, so that names may repeat there, and text need not be Unicode. A string that is asked for by
//! [`Reader::lossy`] need not be either.

mod error;
mod object;
mod quoted;
mod raw;
mod read;
mod reader;
#[cfg(test)]
mod tests;

pub use self::object::objects;
pub use self::{
    error::{LenientError, LenientFault},
    quoted::Quoted,
    raw::Raw,
    read::{Read, read, read_by},
    reader::Reader,
};
