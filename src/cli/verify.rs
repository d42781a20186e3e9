//! `contrail verify`: check recordings against the contract, offline.

use super::{Failure, Outcome};

/// Check recordings against the contract
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(super) fn run(_args: &Args) -> Result<Outcome, Failure> {
    Err("not built yet".into())
}
