//! Exchanges as the pipeline gives them away: to a trace, and to the live page.

use std::{fmt, sync::Arc, time::Duration};

use contrail_contract::Contract;
use contrail_exchange::Packed;
use contrail_proxy::upstream::{AnswerMeta, Denied};
use contrail_redact::{JudgedExchange, Redacted};
use contrail_report::Miss;

/// An exchange that is over, judged and redacted.
#[derive(Debug, Clone, Copy)]
pub struct Traced<'a> {
    /// The exchange and its verdict.
    pub judged: &'a Redacted<JudgedExchange>,
    /// Facts about the answer.
    pub meta: &'a AnswerMeta,
    /// How long it took.
    pub took: Duration,
    /// The word for its verdict.
    pub conclusion: &'static str,
    /// The contract that judged it.
    pub contract: &'a Arc<Contract>,
}

/// Takes exchanges for a trace. Event loops call it, so it never waits.
pub trait Tracer: Send + Sync + fmt::Debug {
    /// Takes what it needs of an exchange.
    fn exchange(&self, traced: &Traced<'_>);
}

/// An exchange that is over and done with, for the live page.
#[derive(Debug)]
pub struct Viewed {
    /// The exchange and its verdict.
    pub judged: Redacted<JudgedExchange>,
    /// The header values and bodies of the exchange.
    pub packed: Packed,
    /// Its number in the run, from 0.
    pub entry: usize,
    /// How long it took.
    pub took: Duration,
    /// The word for its verdict.
    pub conclusion: &'static str,
    /// No recording answered it.
    pub miss: Option<Miss>,
    /// Things worth saying beside it.
    pub remarks: Vec<String>,
}

/// Takes exchanges for the live page. Event loops call it under the pipeline's lock, so it never waits.
pub trait Viewer: Send + Sync + fmt::Debug {
    /// Takes an exchange.
    fn exchange(&self, viewed: Viewed);

    /// A request was denied; nothing of it is a secret.
    fn denied(&self, denied: &Denied);
}
