//! Coverage: which parts of a contract exchanges touch, and which they never do.
//!
//! The parts are those of the document ([`ContractParts`]): they have its names and pointers, so no value of the
//! traffic is ever shown, and memory is bounded by the document. A part is touched if it occurs in an exchange,
//! whatever the verdict. What cannot be decided (a redacted value, a branch that cannot be judged) counts as not
//! touched. Threads find what exchanges touch ([`Touched`]), and one counts it ([`Coverage`]).
//!
//! Knows nothing of files or sockets.

mod counted;
mod listing;
mod outline;
mod part;
mod parts;
mod report;
mod shape;
#[cfg(test)]
mod tests;
mod touch;

pub use self::{
    counted::{Coverage, Item},
    outline::{Outlined, Section},
    part::{Counts, Minimum, Part},
    parts::ContractParts,
    report::Covered,
    touch::Touched,
};
