//! `contrail record`: proxy, check, record.

use super::{Failure, Outcome};

/// Proxy, check and record
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(super) fn run(_args: &Args) -> Result<Outcome, Failure> {
    Err("not built yet".into())
}
