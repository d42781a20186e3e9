//! `contrail watch`: proxy and check.

use super::{Failure, Outcome};

/// Proxy and check; with --trail, keep the audit journal
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(super) fn run(_args: &Args) -> Result<Outcome, Failure> {
    Err("not built yet".into())
}
