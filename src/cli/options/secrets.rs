//! How many secrets are remembered.

use std::sync::Arc;

use contrail_contract::Contract;
use contrail_redact::Redactor;

use super::{contract::plan, values::positive};
use crate::cli::Failure;

/// How many secrets are remembered
#[derive(Debug, Clone, clap::Args)]
pub struct SecretArgs {
    /// Maximum number of known secrets; beyond it, the least recently seen are evicted, and their later copies are
    /// found only by field, header or format
    #[arg(long, help_heading = "Redaction", value_name = "N", default_value_t = 10_000, value_parser = positive)]
    pub max_secrets: usize,
}

impl SecretArgs {
    /// The redactor of a command that reads recordings.
    ///
    /// # Errors
    ///
    /// As [`plan`], without a rule.
    pub fn redactor(&self, contract: &Arc<Contract>) -> Result<Redactor, Failure> {
        Ok(Redactor::new(plan(contract, &[])?).with_bound(self.max_secrets))
    }
}
