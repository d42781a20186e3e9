//! `--contract` and `--overlay`.

use std::{
    fmt,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use contrail_contract::{BUILT_IN, Contract, ContractError, UnusablePlace, model::ParameterIn};
use contrail_exchange::visible::visible;
use contrail_redact::{Plan, PlanError};
use contrail_report::Title;

use crate::cli::messages::quoted;

/// Maximum number of a contract's warnings that a command prints at its start.
const MAX_WARNINGS: usize = 10;

/// Which contract is in force
#[derive(Debug, Clone, clap::Args)]
pub struct ContractArgs {
    /// OpenAPI 3.0 to 3.2 document, JSON or YAML, `built-in` for the built-in tenant contract, the default, or `none` to
    /// judge nothing; repeatable: the first document that has an exchange's operation judges it. `NAME=FILE` is for the
    /// upstream of this name alone
    #[arg(long, value_name = "FILE")]
    pub contract: Vec<PathBuf>,
    /// OpenAPI Overlay 1.0 or 1.1 to apply to the contract; repeatable, in order
    #[arg(long, value_name = "FILE")]
    pub overlay: Vec<PathBuf>,
}

impl ContractArgs {
    /// Loads and compiles the contract, and prints its warnings: unusable places, an overlay action that changes
    /// nothing.
    ///
    /// # Errors
    ///
    /// As [`Contract::load`].
    pub fn load(&self) -> Result<Arc<Contract>, ContractError> {
        let contract = self.load_quietly()?;
        warn_of_unusable_places(&contract);
        warn(&contract);
        Ok(contract)
    }

    /// [`Self::load`] for a proxy, which listens before it searches the unusable places ([`warn_of_unusable_places`]).
    ///
    /// # Errors
    ///
    /// As [`Contract::load`].
    pub fn load_to_serve(&self) -> Result<Arc<Contract>, ContractError> {
        let contract = self.load_quietly()?;
        warn(&contract);
        Ok(contract)
    }

    /// Whether this is the built-in contract as it is.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.overlay.is_empty() && self.contract.iter().all(|file| file == Path::new(BUILT_IN))
    }

    /// The options as they end a command line, each behind a space.
    pub(in crate::cli) fn command_line(&self) -> String {
        let contracts = self.contract.iter().map(|file| [" --contract ".to_owned(), quoted(file)]);
        contracts.chain(self.overlay.iter().map(|file| [" --overlay ".to_owned(), quoted(file)])).flatten().collect()
    }

    /// [`Self::load`] without the warnings.
    ///
    /// # Errors
    ///
    /// As [`Contract::load`].
    pub fn load_quietly(&self) -> Result<Arc<Contract>, ContractError> {
        if self.is_built_in() {
            return Ok(Contract::built_in());
        }
        Contract::load(&self.contract, &self.overlay)
    }
}

/// The options as they were given.
impl fmt::Display for ContractArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let contracts = self.contract.iter().map(|file| ("--contract", file));
        for (at, (option, file)) in contracts.chain(self.overlay.iter().map(|file| ("--overlay", file))).enumerate() {
            write!(f, "{}{option} {}", if at == 0 { "" } else { " " }, file.display())?;
        }
        Ok(())
    }
}

/// Prints a line for each document with places that contrail cannot judge by.
pub(in crate::cli) fn warn_of_unusable_places(contract: &Contract) {
    for document in contract.documents() {
        let unusable: Vec<&UnusablePlace> = document.unusable_places().collect();
        if let [UnusablePlace { at, reason }, more @ ..] = &unusable[..] {
            let (at, reason) = (visible(at), visible(reason));
            let what = match more.len() {
                0 => "1 place of the contract is unusable".to_owned(),
                more => format!("{} places of the contract are unusable, first this", more + 1),
            };
            let file = visible(document.name());
            let _ = writeln!(
                std::io::stderr(),
                "contrail: warning: `{file}`: {what}: `{at}`: {reason}; `contrail contract --check` lists them"
            );
        }
    }
}

/// Prints the warnings about overlays and scopes.
pub(in crate::cli) fn warn(contract: &Contract) {
    let mut stderr = std::io::stderr().lock();
    let warnings = contract.warnings();
    for warning in warnings.iter().take(MAX_WARNINGS) {
        let _ = writeln!(stderr, "contrail: warning: {}", visible(warning));
    }
    if let Some(more) = warnings.len().checked_sub(MAX_WARNINGS).filter(|more| *more > 0) {
        let _ = writeln!(stderr, "contrail: {more} more warnings; `contrail contract --check` lists them");
    }
}

/// The plan of redaction under a contract: its API keys are secrets, beside what `--redact` names, and the codes that
/// it lists are none.
///
/// # Errors
///
/// As [`Plan::new`].
pub(in crate::cli) fn plan(contract: &Arc<Contract>, rules: &[String]) -> Result<Plan, PlanError> {
    Ok(with_facts(Plan::new(rules)?, contract))
}

/// The plan with the facts of a further contract.
pub(in crate::cli) fn with_facts(plan: Plan, contract: &Arc<Contract>) -> Plan {
    let named = |wanted| contract.api_keys().filter(move |(place, _)| *place == wanted).map(|(_, name)| name);
    plan.with_api_keys(named(ParameterIn::Header), named(ParameterIn::Query)).with_tenant(Arc::clone(contract) as _)
}

/// How reports identify a contract.
pub(in crate::cli) fn title(contract: &Contract) -> Title {
    Title {
        title: contract.title(),
        version: contract.version(),
        hash: contract.hash().to_owned(),
        operations: contract.operations().map(|operation| Arc::clone(&operation.id)).collect(),
    }
}
