//! One look at a value that may settle it: it conforms, and nothing about it is undocumented.
//!
//! Compiled from the same schemas as the judge and the gap walker, for the keywords that documents mostly use. It never
//! says what is wrong. Whatever it does not know, or does not know for certain, is in doubt, and then the judge and the
//! gap walker are asked: a keyword, a number that is no integer of 64 bits. It also decides the branches of choices for
//! the gap walker, each once for a value.

mod compile;
mod constants;
mod kinds;
mod look;
mod table;
#[cfg(test)]
mod tests;

pub(super) use self::{
    look::{Look, Outcome},
    table::FastPath,
};
