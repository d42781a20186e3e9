//! Recordings being taken in, before they answer.

use std::sync::Arc;

use contrail_exchange::{TenantFacts, token::NoKey};
use contrail_recording::{Entry, MatchRules};

use super::{
    Names, OperationOf, Prepared, RedactFailure, RedactRequest, index::Index, prepared::Rules, recordings::Replay,
    sequence::Exhausted, token_endpoint::TokenEndpoint,
};

/// How recordings are served.
#[derive(Clone)]
pub struct Settings {
    /// How requests are compared.
    pub rules: MatchRules,
    /// What the tenant is called.
    pub names: Names,
    /// What happens when every recorded answer was given; by default safe methods repeat the last, others miss.
    pub exhausted: Option<Exhausted>,
    /// The documented operation of a method and path, for rules that hold for one operation.
    pub operation_of: OperationOf,
    /// The tenant's token endpoints.
    pub tenant: Arc<dyn TenantFacts>,
    /// Whether a label of redaction stands anywhere in a text.
    pub has_label: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Takes secrets out of a request; the same request comes out the same each time.
    pub redact: RedactRequest,
    /// Takes secrets out of what another tool states about an exchange that failed.
    pub redact_failure: RedactFailure,
}

/// Recordings being taken in.
pub struct Builder {
    index: Index,
    tokens: TokenEndpoint,
    exhausted: Option<Exhausted>,
}

impl Builder {
    /// No recording yet.
    ///
    /// # Errors
    ///
    /// [`NoKey`] if the system gives no randomness for the key that signs replayed tokens.
    pub fn new(settings: Settings) -> Result<Self, NoKey> {
        let exhausted = settings.exhausted;
        Ok(Self { index: Index::new(Rules::new(settings)), tokens: TokenEndpoint::new()?, exhausted })
    }

    /// Starts a recording of this name; its entries follow. Recordings are served in the order in which they were
    /// started; one that is started twice counts twice.
    pub fn source(&mut self, name: &str) {
        self.index.source(name);
    }

    /// What works entries out before they are pushed, on any thread.
    pub fn preparer(&self) -> Preparer {
        Preparer(Arc::clone(&self.index.rules))
    }

    /// Takes in an entry of the recording started last.
    pub fn push(&mut self, mut prepared: Prepared) {
        let number = u32::try_from(self.index.held.len()).unwrap_or(u32::MAX);
        self.tokens.learn(number, std::mem::take(&mut prepared.learned));
        self.index.push(prepared);
    }

    /// Ready to answer.
    #[must_use]
    pub fn finish(mut self) -> Replay {
        self.index.complete();
        self.tokens.complete();
        Replay::new(self.index, self.tokens, self.exhausted)
    }
}

/// Works entries out; see [`Builder::preparer`].
#[derive(Clone)]
pub struct Preparer(Arc<Rules>);

impl Preparer {
    /// Works an entry out. `redact` says that its request counts as redaction makes it (another tool's file, a rule
    /// that was added since): requests are compared with that, and misses show that.
    #[must_use]
    pub fn prepare(&self, entry: Entry, redact: bool) -> Prepared {
        self.0.prepare(entry, redact)
    }
}
