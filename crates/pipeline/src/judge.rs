//! Judging an exchange: decoding, credential, check, redaction, attestation.

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::SystemTime,
};

use contrail_contract::{CheckOptions, Contract};
use contrail_exchange::{
    Credential, DecodeLimits, Exchange, Request, Transport,
    finding::{Rule, Verdict},
    token::TokenCache,
};
use contrail_proxy::upstream::AnswerMeta;
use contrail_recording::{Attested, attest};
use contrail_redact::{JudgedExchange, Redacted, Redactor};

use super::verdict_cache::VerdictCache;

/// The check panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Panicked;

/// What a file cannot show of a verdict, and under which contract that holds.
#[derive(Debug, Clone, Default)]
pub struct Attestation {
    /// See [`Attested`].
    pub attested: Option<Attested>,
}

/// What checks an exchange: [`Contract::check`], but for tests.
pub type Checker = fn(&Contract, &Exchange, &CheckOptions) -> Verdict;

/// Judges exchanges. Compiled once, shared by all of them.
#[derive(Debug)]
pub struct Judge {
    /// The contract in force.
    pub contract: Arc<Contract>,
    /// What checks by it.
    pub checker: Checker,
    /// Which parts are judged, and how.
    pub options: CheckOptions,
    /// Tokens that were decoded already.
    pub tokens: Arc<TokenCache>,
    /// Bounds for undoing content codings.
    pub decode: DecodeLimits,
    /// Operations to judge and record; empty for all.
    pub only: Vec<String>,
    /// Raw paths not to judge or record; a trailing `*` stands for anything.
    pub exclude: Vec<String>,
    /// Verdicts on requests that were answered from memory.
    pub verdicts: VerdictCache,
}

impl Judge {
    /// Whether an exchange of this request is one to judge and record.
    pub(super) fn includes(&self, request: &Request) -> bool {
        let path = request.target.path();
        let excluded = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => path.starts_with(start),
            None => path == pattern,
        };
        if self.exclude.iter().any(excluded) {
            return false;
        }
        self.only.is_empty()
            || self.contract.operation_of(request).is_some_and(|id| self.only.iter().any(|only| **only == *id))
    }

    /// Undoes content codings and reads the credential.
    fn prepare(&self, exchange: &mut Exchange) {
        let Exchange { request, response, started, .. } = exchange;
        request.body = std::mem::take(&mut request.body).decode(&request.headers, self.decode);
        // Who had to know before has read it.
        if request.credential == Credential::Missing {
            request.credential = self.tokens.credential(&request.headers, started.unwrap_or_else(SystemTime::now));
        }
        if let Some(response) = response {
            response.body = std::mem::take(&mut response.body).decode(&response.headers, self.decode);
        }
    }

    /// The options for an exchange with these facts about its answer.
    pub(super) fn options(&self, meta: &AnswerMeta) -> Cow<'_, CheckOptions> {
        self.options_with(self.options.response && !meta.response_judged_elsewhere)
    }

    fn options_with(&self, response: bool) -> Cow<'_, CheckOptions> {
        if response == self.options.response {
            return Cow::Borrowed(&self.options);
        }
        Cow::Owned(CheckOptions { response, ..self.options.clone() })
    }

    /// The verdict, and whether the checker panicked instead of giving one.
    fn check(&self, exchange: &Exchange, options: &CheckOptions) -> (Verdict, bool) {
        if let Ok(verdict) = catch_unwind(AssertUnwindSafe(|| (self.checker)(&self.contract, exchange, options))) {
            return (verdict, false);
        }
        tracing::error!("the check panicked; the exchange is recorded and nothing about it is checked");
        (Verdict::unjudged("the check failed; please report it"), true)
    }

    /// Judges an exchange that is over, and reports whether the checker panicked instead.
    pub(super) fn judge(&self, mut exchange: Box<Exchange>, meta: &AnswerMeta) -> (JudgedExchange, bool) {
        self.prepare(&mut exchange);
        let (verdict, panicked) = self.verdict(&exchange, meta);
        (JudgedExchange::new(exchange, verdict), panicked)
    }

    /// As [`Self::check`], once for requests of the same bytes where neither their credentials nor their responses are
    /// judged.
    fn verdict(&self, exchange: &Exchange, meta: &AnswerMeta) -> (Verdict, bool) {
        let options = self.options(meta);
        let is_alike = options.request && !options.auth && !options.response && exchange.request.body.is_whole();
        let key = meta.same_request.as_ref().filter(|_| is_alike && exchange.transport == Transport::default());
        let (Some(key), Some(response)) = (key, &exchange.response) else {
            return self.check(exchange, &options);
        };
        if let Some(verdict) = self.verdicts.get(key, response.status) {
            debug_assert_eq!(verdict, self.check(exchange, &options).0);
            return (verdict, false);
        }
        let (verdict, panicked) = self.check(exchange, &options);
        if !panicked {
            self.verdicts.add(key, response.status, &verdict);
        }
        (verdict, panicked)
    }

    /// Judges a request that is held; `None` if it passes unjudged because it is outside `--only` or inside
    /// `--exclude`.
    pub(super) fn admit(&self, exchange: &mut Exchange) -> Option<Result<Verdict, Panicked>> {
        if !self.includes(&exchange.request) {
            return None;
        }
        self.prepare(exchange);
        let (verdict, panicked) = self.check(exchange, &self.options_with(false));
        Some(if panicked { Err(Panicked) } else { Ok(verdict) })
    }

    /// Takes the secrets out of an exchange, and works out what a check of its entry would not show any more, if it
    /// gets one. `None` if redaction panicked: then nothing of the exchange may be written or shown.
    pub(super) fn redact(
        &self,
        redactor: &Redactor,
        judged: JudgedExchange,
        meta: &AnswerMeta,
        is_recorded: bool,
    ) -> Option<(Redacted<JudgedExchange>, Attestation)> {
        let redacted = catch_unwind(AssertUnwindSafe(|| redactor.redact(judged))).ok()?;
        // A label shows neither a scheme that redaction does not know nor that the credentials were malformed.
        let hides = match &redacted.exchange.request.credential {
            Credential::OtherScheme { scheme, .. } if scheme.is_empty() => redacted.touched.authorization,
            _ => redacted.verdict.findings.iter().any(|finding| finding.rule == Rule::AuthMalformed),
        };
        if !is_recorded || !(redacted.touched.elsewhere || hides) {
            return Some((redacted, Attestation::default()));
        }
        let options = self.options(meta);
        let (recomputed, _) = self.check(&redacted.exchange, &options);
        let attested = attest(&redacted.verdict, &recomputed, self.contract.hash());
        Some((redacted, Attestation { attested }))
    }
}
