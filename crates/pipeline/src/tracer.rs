//! Traces as the pipeline gives them away.

use std::{fmt, sync::Arc, time::Duration};

use contrail_contract::Contract;
use contrail_proxy::upstream::AnswerMeta;
use contrail_redact::{JudgedExchange, Redacted};

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
