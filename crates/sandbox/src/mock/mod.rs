//! A mock of any contract: it answers with the document's examples, or with values made from its schemas.
//!
//! It refuses what the contract refuses, and gives only answers that the contract's own check lets pass. Equal settings
//! give equal answers. It holds no state: what one request sends, the next one does not find. The embedded tenant
//! ([`crate`]) answers for the built-in document, where the contract has it.

mod answers;
mod body;
mod call;
mod generate;
mod pattern;
mod request;
#[cfg(test)]
mod tests;
mod text;
mod token;

pub use self::{answers::Mock, request::Sample};
