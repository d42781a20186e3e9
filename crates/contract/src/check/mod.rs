//! The check itself: pure code from a [`Model`] and an [`Exchange`] to a [`Verdict`].
//!
//! `request` → `security` → `response` → `relations`, in the order in which findings are listed. A part of a body that
//! is not whole or was redacted is never judged; what was not judged is listed as unchecked.

mod body;
mod parameters;
mod relations;
mod request;
mod response;
mod security;
mod sequence;
mod state;

use std::sync::Arc;

use contrail_exchange::{
    Body, Exchange,
    finding::{Blame, Finding, Kind, Rule, Unchecked, UncheckedSet, Verdict},
};

use self::state::Check;
pub use self::{security::Demand, sequence::sequence_items};
use super::{
    CheckOptions,
    model::{Matched, Model},
    schema::work,
};

/// Bound on the steps of judging one message, and what each byte of its body adds.
const MAX_STEPS: u64 = 1 << 22;
const STEPS_PER_BYTE: u64 = 32;

/// Judges the parts of one message within a bound.
fn within_bounds(body: &Body, judge: impl FnOnce()) {
    work::share(MAX_STEPS + body.content.len() as u64 * STEPS_PER_BYTE, judge);
}

/// Checks one exchange against the operation that its method and path belong to.
pub(super) fn check(model: &Model, matched: &Matched<'_, '_>, exchange: &Exchange, options: &CheckOptions) -> Verdict {
    let mut check = Check {
        model,
        matched,
        operation: matched.operation,
        exchange,
        options,
        findings: Vec::new(),
        unchecked: UncheckedSet::default(),
        reasons: Vec::new(),
        request_body: None,
        response_body: None,
    };
    check.run()
}

/// The verdict on an exchange of no documented operation. `methods` are those that are documented for the same path,
/// `nearest` is the nearest operation where there are none.
pub(super) fn undocumented(
    methods: &[http::Method],
    nearest: Option<&str>,
    exchange: &Exchange,
    options: &CheckOptions,
) -> Verdict {
    let expected = match methods {
        [] => match nearest {
            Some(nearest) => format!("a documented operation; the nearest is `{nearest}`").into(),
            None => "a documented operation".into(),
        },
        several => {
            let names: Vec<_> = several.iter().map(http::Method::as_str).collect();
            format!("a documented operation; for this path the document shows {}", names.join(", ")).into()
        }
    };
    let mut findings = vec![Finding { rule: Rule::OperationUndocumented, at: String::new(), expected, seen: None }];
    if options.response {
        findings.extend(response::incomplete(exchange));
    }
    Verdict { findings, ..Verdict::default() }
}

impl Check<'_> {
    fn run(&mut self) -> Verdict {
        if self.matched.other_spelling {
            self.find(Finding::new(
                Rule::OperationUndocumented,
                "",
                format!("the documented spelling of this path, `{}`", self.operation.path),
            ));
        }
        within_bounds(&self.exchange.request.body, || self.request());
        if !self.options.request {
            // Read all the same, because relations need it.
            self.findings.clear();
            self.unchecked = UncheckedSet::default();
            self.reasons.clear();
        }
        let credential = self.security();
        let about_request = self.findings.len();
        if self.options.response {
            self.enforcement(credential);
            let body = self.exchange.response.as_ref().map_or(&self.exchange.request.body, |response| &response.body);
            within_bounds(body, || self.response());
            self.relations();
        }
        let blame = self.blame(about_request);
        let mut findings = std::mem::take(&mut self.findings);
        if self.operation.is_bare_token_endpoint() {
            // Never a violation; what would be one leaves unchecked what it is about.
            if findings.iter().any(|finding| matches!(finding.rule, Rule::RequestBody | Rule::RequestBodyMalformed)) {
                self.leave(Unchecked::RequestBody, "", "the document shows no more of this endpoint than its path");
            }
            findings.retain(|finding| finding.kind() == Kind::Gap || finding.rule == Rule::TransportIncomplete);
        }
        let reasons = std::mem::take(&mut self.reasons);
        let operation = Some(Arc::clone(&self.operation.id));
        Verdict { operation, findings, unchecked: self.unchecked, reasons, blame }
    }

    /// Documented or not × accepted by the tenant or not. The first `about_request` findings are about the request.
    fn blame(&self, about_request: usize) -> Option<Blame> {
        if !self.options.request || self.operation.is_bare_token_endpoint() {
            return None;
        }
        let status = self.answer()?.status;
        let about_request = &self.findings[..about_request];
        if about_request.iter().any(|finding| finding.kind() == Kind::Violation) {
            return match status {
                200..300 => Some(Blame::Laxer),
                400..500 => Some(Blame::Caught),
                _ => None,
            };
        }
        match status {
            400 if about_request.is_empty()
                && !self.unchecked.contains(Unchecked::RequestBody)
                && !self.unchecked.contains(Unchecked::RequestParameters) =>
            {
                Some(Blame::Stricter)
            }
            // The document is silent about something in the request, so the refusal may well be right.
            400 => None,
            _ => Some(Blame::Agreed),
        }
    }
}

#[cfg(test)]
mod tests;
