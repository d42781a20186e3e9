//! `--contract` and `--overlay`.

use std::{io::Write as _, path::PathBuf, sync::Arc};

use crate::{
    contract::{Contract, ContractError, UnusablePlace},
    report::Title,
    visible::visible,
};

/// Maximum number of a contract's warnings that a command prints at its start.
const MAX_WARNINGS: usize = 10;

/// Which contract is in force
#[derive(Debug, Clone, clap::Args)]
pub struct ContractArgs {
    /// OpenAPI 3.1 or 3.0 document, JSON or YAML [default: built-in tenant contract]
    #[arg(long, value_name = "FILE")]
    pub contract: Option<PathBuf>,
    /// OpenAPI Overlay 1.0 to apply to the contract; repeatable, in order
    #[arg(long, value_name = "FILE")]
    pub overlay: Vec<PathBuf>,
}

impl ContractArgs {
    /// Loads and compiles the contract, and prints its warnings (an overlay action that changes nothing).
    ///
    /// # Errors
    ///
    /// As [`Contract::load`].
    pub fn load(&self) -> Result<Arc<Contract>, ContractError> {
        if self.contract.is_none() && self.overlay.is_empty() {
            return Ok(Contract::built_in());
        }
        let contract = Contract::load(self.contract.as_deref(), &self.overlay)?;
        let warnings = contract.warnings();
        let mut stderr = std::io::stderr().lock();
        let unusable: Vec<&UnusablePlace> = contract.unusable_places().collect();
        if let [UnusablePlace { at, reason }, more @ ..] = &unusable[..] {
            let (at, reason) = (visible(at), visible(reason));
            let what = match more.len() {
                0 => "1 place of the contract is unusable".to_owned(),
                more => format!("{} places of the contract are unusable, first this", more + 1),
            };
            let _ = writeln!(
                stderr,
                "contrail: warning: {what}: `{at}`: {reason}; `contrail contract` shows what it means"
            );
        }
        for warning in warnings.iter().take(MAX_WARNINGS) {
            let _ = writeln!(stderr, "contrail: warning: {}", visible(warning));
        }
        if let Some(more) = warnings.len().checked_sub(MAX_WARNINGS).filter(|more| *more > 0) {
            let _ = writeln!(stderr, "contrail: {more} more warnings; `contrail contract` lists them");
        }
        Ok(contract)
    }
}

/// How reports identify a contract.
pub(in crate::cli) fn title(contract: &Contract) -> Title {
    Title {
        title: contract.title().to_owned(),
        version: contract.version().to_owned(),
        hash: contract.hash().to_owned(),
    }
}
