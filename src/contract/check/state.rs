//! The state of one check: the exchange, its operation, and the findings so far.

use std::sync::Arc;

use crate::{
    contract::{
        CheckOptions,
        model::{Matched, Model, Operation},
    },
    exchange::{Exchange, Response},
    finding::{Finding, Unchecked, UncheckedSet},
    json::Document,
};

/// One check on its way.
pub(super) struct Check<'a> {
    pub(super) model: &'a Model,
    pub(super) matched: &'a Matched<'a, 'a>,
    pub(super) operation: &'a Operation,
    pub(super) exchange: &'a Exchange,
    pub(super) options: &'a CheckOptions,
    pub(super) findings: Vec<Finding>,
    pub(super) unchecked: UncheckedSet,
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

    /// The response, if it is the tenant's and its head came.
    pub(super) fn answer(&self) -> Option<&'a Response> {
        if self.exchange.transport.answered_by_contrail.is_some() {
            return None;
        }
        self.exchange.response.as_ref().filter(|response| response.status != 0)
    }

    /// Whether a text is the tenant's own origin: the request's, or one of those that the options name.
    pub(super) fn is_tenant_origin(exchange: &Exchange, options: &CheckOptions, text: &str) -> bool {
        let target = &exchange.request.target;
        let wanted = origin(text);
        wanted.is_some()
            && (wanted == parts(&target.scheme, &target.authority)
                || options.tenant_origins.iter().any(|held| origin(held) == wanted))
    }
}

/// An origin's scheme, host and port, comparable.
fn origin(text: &str) -> Option<(String, String)> {
    let (scheme, authority) = text.trim_end_matches('/').split_once("://")?;
    parts(scheme, authority)
}

fn parts(scheme: &str, authority: &str) -> Option<(String, String)> {
    let (scheme, authority) = (scheme.to_ascii_lowercase(), authority.to_ascii_lowercase());
    let default = match &*scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return None,
    };
    let authority = authority.strip_suffix(default).unwrap_or(&authority).to_owned();
    (!authority.is_empty()).then_some((scheme, authority))
}
