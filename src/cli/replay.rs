//! `contrail replay`: serve recordings.

use super::{Failure, Outcome};

/// Serve recordings; opens no socket to anywhere
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(super) fn run(_args: &Args) -> Result<Outcome, Failure> {
    Err("not built yet".into())
}
