//! Receives exchanges from the proxy, and tells it of the tenant.

use std::panic::{AssertUnwindSafe, catch_unwind};

use contrail_exchange::{Exchange, Headers, Request, TenantFacts, finding::Verdict};
use contrail_proxy::{
    Committed, Completed, HoldPolicy, Observer,
    upstream::{Denied, Problem},
};
use contrail_redact::JudgedExchange;
use http::HeaderMap;

use super::{
    console,
    enforce::{self, HeldMessage},
    judge,
    run::Pipeline,
};

impl Observer for Pipeline {
    fn holds(&self) -> HoldPolicy {
        HoldPolicy { heads: self.durable, ..self.enforce.holds() }
    }

    fn shows_recorded(&self) -> bool {
        self.viewer.is_some()
    }

    fn refuses(&self, request: &Request) -> Option<Problem> {
        if !self.durable {
            return None;
        }
        let refusal = || self.lock().disk.refusal();
        refusal()?;
        self.look_again();
        let problem = refusal()?;
        // What is not recorded anyway does not wait for the journal.
        self.judge.includes(request).then_some(problem)
    }

    fn is_slow_to_admit(&self, exchange: &Exchange) -> bool {
        // A refusal waits for what is being judged in any batch.
        self.batches.each().any(|turn| self.defers(turn, exchange))
    }

    fn admit_request(&self, exchange: &mut Exchange) -> Result<(), Problem> {
        match self.judge.admit(exchange) {
            None => Ok(()),
            Some(Err(judge::Panicked)) => Err(enforce::unjudged(HeldMessage::Request)),
            Some(Ok(verdict)) if enforce::passes(&verdict, HeldMessage::Request) => Ok(()),
            Some(Ok(verdict)) => Err(self.refusal(exchange, verdict)),
        }
    }

    fn on_completed(&self, ended: Completed) -> Committed {
        self.record(ended)
    }

    fn on_informational(&self, headers: &HeaderMap) {
        // What fails here fails on the exchange too, and is reported there.
        let _ = catch_unwind(AssertUnwindSafe(|| self.redactor.recognise_headers(&Headers::from(headers))));
    }

    fn on_rejected(&self, status: u16, reason: &str) {
        if let Some(metrics) = &self.metrics {
            metrics.rejected(status);
        }
        let mut state = self.lock();
        let state = &mut *state;
        *state.counts.turned_away.entry(reason.to_owned()).or_default() += 1;
        console::turned_away(&mut state.line_batch, self.lines, status, reason);
        self.batches.here().wake();
    }

    fn on_denied(&self, denied: &Denied) {
        // Clients can put anything where a host belongs.
        let clean =
            |text: &str| catch_unwind(AssertUnwindSafe(|| self.redactor.text(text).into_inner())).unwrap_or_default();
        self.deny(&Denied { host: clean(&denied.host), advice: clean(&denied.advice), ..*denied });
    }
}

/// Those of the contract in force.
impl TenantFacts for Pipeline {
    fn is_token_path(&self, path: &str) -> bool {
        self.contract().is_token_path(path)
    }

    fn audience_path(&self, path: &str) -> Option<String> {
        self.contract().audience_path(path)
    }

    fn lists_code(&self, value: &str) -> bool {
        self.contract().lists_code(value)
    }
}

impl Pipeline {
    /// Counts and shows a request that was turned away because of its host.
    fn deny(&self, denied: &Denied) {
        if let Some(metrics) = &self.metrics {
            metrics.rejected(denied.status);
        }
        let mut state = self.lock();
        let state = &mut *state;
        *state.counts.turned_away.entry(denied.reason.to_owned()).or_default() += 1;
        state.collector.denied(&denied.host, denied.reason);
        if let Some(viewer) = &self.viewer {
            viewer.denied(denied);
        }
        console::denied(&mut state.line_batch, self.lines, denied);
        self.batches.here().wake();
    }

    /// Why a request that is held does not pass.
    fn refusal(&self, exchange: &Exchange, verdict: Verdict) -> Problem {
        self.process_batches();
        let redacted =
            catch_unwind(AssertUnwindSafe(|| self.redactor.redact(JudgedExchange::new(exchange.clone(), verdict))));
        redacted.map_or_else(
            |_| enforce::unjudged(HeldMessage::Request),
            |redacted| enforce::refusal(&redacted, HeldMessage::Request),
        )
    }
}
