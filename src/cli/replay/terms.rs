//! The contract, the redactor and the token cache of a replay, made while its recordings are read.

use std::{
    error::Error,
    fmt,
    sync::{Arc, OnceLock},
};

use contrail_contract::Contract;
use contrail_exchange::{TenantFacts, token::TokenCache};
use contrail_redact::Redactor;

use crate::cli::{Failure, options::judge::JudgeArgs};

/// What exchanges are judged and redacted by.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub(super) contract: Arc<Contract>,
    pub(super) redactor: Arc<Redactor>,
    pub(super) tokens: Arc<TokenCache>,
}

/// [`Terms`], made once by the thread that needs them first; others wait.
pub(super) struct Pending {
    pub(super) args: JudgeArgs,
    pub(super) made: OnceLock<Result<Terms, Arc<dyn Error + Send + Sync>>>,
}

impl Pending {
    pub(super) fn get(&self) -> Result<&Terms, Failure> {
        let make = || -> Result<Terms, Failure> {
            let contract = self.args.contract.load_to_serve()?;
            let redactor = self.args.redactor(&contract)?;
            Ok(Terms { contract, redactor, tokens: self.args.tokens()? })
        };
        let made = self.made.get_or_init(|| make().map_err(Arc::from));
        made.as_ref().map_err(|failure| Arc::clone(failure).into())
    }
}

impl TenantFacts for Pending {
    fn is_token_path(&self, path: &str) -> bool {
        self.get().is_ok_and(|terms| terms.contract.is_token_path(path))
    }

    fn audience_path(&self, path: &str) -> Option<String> {
        self.get().ok()?.contract.audience_path(path)
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}
