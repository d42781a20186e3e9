//! The options of `contract`.

use std::path::PathBuf;

use crate::cli::{ContractArgs, Format};

/// Show the contract: operations, scopes, and what it does not specify
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub(super) contract: ContractArgs,
    /// Write the effective OpenAPI document instead, to FILE (JSON for .json, otherwise YAML) or standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    #[allow(clippy::option_option)]
    pub(super) export: Option<Option<PathBuf>>,
    /// Check the contract itself: print broken places, actions of overlays without effect, what the contract does not
    /// show and what contrail cannot judge; exit status 1 if anything is broken or without effect
    #[arg(long, conflicts_with = "export")]
    pub(super) check: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: Format,
}
