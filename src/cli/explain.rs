//! `contrail explain`: what a rule means.

use super::{Failure, Outcome};

/// What a rule means, where the document says it, and what to do
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(super) fn run(_args: &Args) -> Result<Outcome, Failure> {
    Err("not built yet".into())
}
