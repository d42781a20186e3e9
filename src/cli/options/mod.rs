//! Groups of options that several commands share.

pub mod contract;
pub mod filter;
mod format;
pub mod judge;
pub mod limits;
pub mod listen;
mod network;
mod output;
pub mod policy;
mod secrets;
mod selection;
pub mod telemetry;
pub mod trail;
pub mod upstream;
pub(super) mod values;

pub(super) use self::network::Network;
pub use self::{
    contract::ContractArgs, format::Format, output::OutputArgs, secrets::SecretArgs, selection::SelectionArgs,
};
