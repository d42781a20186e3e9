//! `contrail pack`, `contrail unpack`: one layout of a recording into the other.

use super::{Failure, Outcome};

/// Pack a recording (folder, journal) into one self-contained HAR file
#[derive(Debug, clap::Args)]
pub struct PackArgs {}

/// Unpack a recording into a folder with one file per body
#[derive(Debug, clap::Args)]
pub struct UnpackArgs {}

pub(super) fn run_pack(_args: &PackArgs) -> Result<Outcome, Failure> {
    Err("not built yet".into())
}

pub(super) fn run_unpack(_args: &UnpackArgs) -> Result<Outcome, Failure> {
    Err("not built yet".into())
}
