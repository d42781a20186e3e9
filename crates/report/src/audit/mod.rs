//! The audit: who called what, with which scopes, and which of those the documentation requires.
//!
//! A scope counts as unneeded only as far as the documentation shows it: where it does not show which scope an
//! operation needs, a scope that a caller holds may be needed there, and the report states that. Every line cites the
//! first exchange that it rests on. Two audits of the same files are the same bytes, so no report of one holds its own
//! date.

mod caller;
mod client;
mod collected;
mod hours;
mod least;
mod tables;
mod waits;

pub(super) use self::client::caller_name;
pub use self::{
    client::{client_of, name_of},
    collected::{About, Audit},
};
