//! What recorded traffic shows of what the contract does not: evidence, as actions of an OpenAPI Overlay.
//!
//! Exchanges are folded one by one into counts ([`Learner`]); [`Learned`] decides and writes. Only what the tenant
//! itself answered counts, and nothing that one exchange contradicts is stated. Memory does not grow with the number of
//! exchanges: every collection has a bound, beyond which the fact stays undecided.
//!
//! Knows nothing of files or sockets.

mod answers;
mod collector;
mod evidence;
mod learned;
mod places;
mod scopes;
mod shape;

pub use collector::Learner;
pub use learned::Learned;
