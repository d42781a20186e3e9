//! The local certificate authority: made at first use, kept per user, able to speak only for the hosts it was made for.
//!
//! One authority per set of hosts, each in a folder of its own below `--ca-dir`: `ca.pem` (to be trusted by clients),
//! `ca-key.pem` (never leaves the folder) and `authority.json` (hosts, expiry).

mod certificates;
mod error;
mod files;
mod issue;
mod location;
#[cfg(test)]
mod tests;
mod trust_store;

pub use self::{
    certificates::pem,
    error::AuthorityError,
    files::default_folder,
    issue::{Authority, Rotated, server_config},
    trust_store::trust_store,
};
