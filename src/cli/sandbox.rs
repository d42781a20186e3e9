//! `contrail sandbox`: the embedded tenant.

use super::{Failure, Outcome};

/// The embedded tenant, on its own
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(super) fn run(_args: &Args) -> Result<Outcome, Failure> {
    Err("not built yet".into())
}
