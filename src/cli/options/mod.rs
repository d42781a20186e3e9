//! Groups of options that several commands share.

pub mod contract;
mod format;
pub mod policy;
pub(super) mod values;

pub use self::{contract::ContractArgs, format::Format};
