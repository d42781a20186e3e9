//! JSON as it was written: one strict pass over the bytes gives a flat tape of spans ([`Document`]).
//!
//! Tokens are never re-serialised: numbers keep their digits, objects their order and (reported as an error) their
//! duplicates. The tape is what the judge walks, what redaction edits by span, what matching compares by value, and what
//! the pretty layout of fixtures is made from.
//!
//! Strict means RFC 8259 and I-JSON's (RFC 7493) ban on duplicate keys, byte-order marks, lone surrogates and invalid
//! UTF-8. Any number that the grammar allows is well-formed. Nesting beyond [`MAX_DEPTH`] and sources beyond
//! [`MAX_SOURCE`] are refusals of ours, not faults of the document.

mod by_value;
mod canonical;
mod compare;
mod document;
mod error;
mod layout;
mod mend;
mod names;
mod node;
mod parse;
mod pointer;
mod slot;
mod strings;
mod suspects;
pub mod write;

pub use by_value::ByValue;
pub use canonical::Number;
pub use compare::{Care, Change, changes};
pub use document::Document;
pub use error::{MAX_DEPTH, MAX_SOURCE, SyntaxError, SyntaxFault};
pub use layout::{compact, pretty};
pub use node::{Entries, Items, Members, Node};
pub use pointer::{pointer_tokens, push_pointer, unescape_pointer};
pub use slot::Kind;
pub use suspects::Suspects;
pub use write::{quote, reads_as_another_scalar, second, splice};

#[cfg(test)]
mod tests;
