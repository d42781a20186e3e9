//! The state of one check: the exchange, its operation, and the findings so far.

use std::{borrow::Cow, sync::Arc};

use contrail_exchange::{
    Exchange, Response, Target,
    finding::{Finding, Reason, Unchecked, UncheckedSet},
    json::Document,
};

use crate::{
    CheckOptions,
    model::{Matched, Model, Operation},
};

/// Bound on the reasons of one exchange: each place of a long list could have its own.
const MAX_REASONS: usize = 100;

/// One check on its way.
pub(super) struct Check<'a> {
    pub(super) model: &'a Model,
    pub(super) matched: &'a Matched<'a, 'a>,
    pub(super) operation: &'a Operation,
    pub(super) exchange: &'a Exchange,
    pub(super) options: &'a CheckOptions,
    pub(super) findings: Vec<Finding>,
    pub(super) unchecked: UncheckedSet,
    pub(super) reasons: Vec<Reason>,
    /// The request body, if it was read; a form as the object that it stands for.
    pub(super) request_body: Option<Arc<Document>>,
    /// The response body, if it was read.
    pub(super) response_body: Option<Arc<Document>>,
}

impl<'a> Check<'a> {
    pub(super) fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Marks an aspect as unchecked if the document does not show it.
    pub(super) fn touch(&mut self, aspect: Unchecked) {
        if self.operation.not_shown.contains(aspect) {
            self.unchecked.insert(aspect);
        }
    }

    /// Leaves an aspect unchecked, and says where and why.
    pub(super) fn leave(&mut self, aspect: Unchecked, at: impl Into<String>, why: impl Into<Cow<'static, str>>) {
        self.unchecked.insert(aspect);
        let reason = Reason { aspect, at: at.into(), reason: why.into() };
        if self.reasons.len() < MAX_REASONS && !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    /// The response, if it is the tenant's and its head came.
    pub(super) fn answer(&self) -> Option<&'a Response> {
        if self.exchange.transport.answered_by_contrail.is_some() {
            return None;
        }
        self.exchange.response.as_ref().filter(|response| response.status != 0)
    }

    /// Whether a text is the tenant's own origin: the request's, or one of those that the options name.
    pub(super) fn is_tenant_origin(exchange: &Exchange, options: &CheckOptions, text: &str) -> bool {
        let Some(wanted) = origin(text) else { return false };
        wanted == exchange.request.target.normal_origin()
            || options.tenant_origins.iter().any(|held| origin(held).as_ref() == Some(&wanted))
    }
}

/// An origin of HTTP, comparable.
fn origin(text: &str) -> Option<String> {
    let (scheme, authority) = text.trim_end_matches('/').split_once("://")?;
    let is_http = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    is_http.then(|| Target::new(scheme, authority, "").normal_origin())
}
