//! `contrail demo`: sandbox, recording proxy, client, verify, replay, report.

use super::{Failure, Outcome};

/// The whole line in one go, no network
#[derive(Debug, clap::Args)]
pub struct Args {}

pub(super) fn run(_args: &Args) -> Result<Outcome, Failure> {
    Err("not built yet".into())
}
