//! What changed between two contracts, in the parts that the check uses, and whether it breaks a client.
//!
//! A change breaks if a request that conformed need not conform any more, or if an answer need not be what the old
//! contract allowed. Where two schemas differ in a way that is not understood here, the change is listed as unclear and
//! never judged. Kinds of changes have the names that oasdiff gives them, where it has one.

mod bound;
mod change;
mod messages;
mod operations;
mod same;
mod schema;

pub use self::{
    change::{Change, Impact},
    operations::compare,
};
