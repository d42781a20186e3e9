//! `contrail redact`: clean recordings that exist.

use super::{Failure, Outcome};

/// Clean recordings that exist
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(super) fn run(_args: &Args) -> Result<Outcome, Failure> {
    Err("not built yet".into())
}
