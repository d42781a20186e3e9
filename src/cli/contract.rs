//! `contrail contract`: the contract in force.

use super::{Failure, Outcome};

/// Show the contract in force: operations, scopes, and every "not shown"
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(super) fn run(_args: &Args) -> Result<Outcome, Failure> {
    Err("not built yet".into())
}
