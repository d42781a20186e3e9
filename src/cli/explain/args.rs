//! The options of `explain`.

use crate::cli::{ContractArgs, Format};

/// Explain a rule: its meaning, its source in the contract or an RFC, and what to do
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Rule (`request.body`) or name from `unchecked` (`required-scope`) [default: list all]
    #[arg(value_name = "RULE")]
    pub(super) rule: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) contract: ContractArgs,
}
