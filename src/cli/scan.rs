//! `contrail scan`: look for secrets in recordings.

use super::{Failure, Outcome};

/// Look for secrets in recordings
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(super) fn run(_args: &Args) -> Result<Outcome, Failure> {
    Err("not built yet".into())
}
