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

use std::sync::Arc;

use super::{
    CheckOptions,
    model::{Matched, Model, Operation},
};
use crate::{
    exchange::{Exchange, Response},
    finding::{Blame, Finding, Kind, Rule, Unchecked, UncheckedSet, Verdict},
    json::Document,
};

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
        request_body: None,
        response_body: None,
    };
    check.run()
}

/// The verdict on an exchange of no documented operation. `methods` are those that are documented for the same path.
pub(super) fn undocumented(methods: &[http::Method], exchange: &Exchange, options: &CheckOptions) -> Verdict {
    let expected = match methods {
        [] => "a documented operation".into(),
        several => {
            let names: Vec<_> = several.iter().map(http::Method::as_str).collect();
            format!("a documented operation; for this path the document shows {}", names.join(", ")).into()
        }
    };
    let mut findings = vec![Finding { rule: Rule::OperationUndocumented, at: String::new(), expected, seen: None }];
    if options.response {
        findings.extend(response::incomplete(exchange));
    }
    Verdict { operation: None, findings, unchecked: UncheckedSet::default(), blame: None }
}

/// One check on its way.
struct Check<'a> {
    model: &'a Model,
    matched: &'a Matched<'a, 'a>,
    operation: &'a Operation,
    exchange: &'a Exchange,
    options: &'a CheckOptions,
    findings: Vec<Finding>,
    unchecked: UncheckedSet,
    /// The request body, if it was read; a form as the object that it stands for.
    request_body: Option<Arc<Document>>,
    /// The response body, if it was read.
    response_body: Option<Arc<Document>>,
}

impl<'a> Check<'a> {
    fn run(&mut self) -> Verdict {
        if self.matched.other_spelling {
            self.find(Finding::new(
                Rule::OperationUndocumented,
                "",
                format!("the documented spelling of this path, `{}`", self.operation.path),
            ));
        }
        self.request();
        if !self.options.request {
            // Read all the same, because relations need it.
            self.findings.clear();
            self.unchecked = UncheckedSet::default();
        }
        let credential = self.security();
        let about_request = self.findings.len();
        if self.options.response {
            self.enforcement(credential);
            self.response();
            self.relations();
        }
        let blame = self.blame(about_request);
        let mut findings = std::mem::take(&mut self.findings);
        if self.operation.token_endpoint {
            // Never a violation; what would be one leaves unchecked what it is about.
            if findings.iter().any(|finding| matches!(finding.rule, Rule::RequestBody | Rule::RequestBodyMalformed)) {
                self.unchecked.insert(Unchecked::RequestBody);
            }
            findings.retain(|finding| finding.kind() == Kind::Gap || finding.rule == Rule::TransportIncomplete);
        }
        Verdict { operation: Some(Arc::clone(&self.operation.id)), findings, unchecked: self.unchecked, blame }
    }

    fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Marks an aspect as unchecked if the document does not show it.
    fn touch(&mut self, aspect: Unchecked) {
        if self.operation.not_shown.contains(aspect) {
            self.unchecked.insert(aspect);
        }
    }

    /// The response, if it is the tenant's and its head came.
    fn answer(&self) -> Option<&'a Response> {
        if self.exchange.transport.answered_by_contrail.is_some() {
            return None;
        }
        self.exchange.response.as_ref().filter(|response| response.status != 0)
    }

    /// Documented or not × accepted by the tenant or not. The first `about_request` findings are about the request.
    fn blame(&self, about_request: usize) -> Option<Blame> {
        if !self.options.request || self.operation.token_endpoint {
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

    /// Whether a text is the tenant's own origin: the request's, or one of those that the options name.
    fn is_tenant_origin(exchange: &Exchange, options: &CheckOptions, text: &str) -> bool {
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

#[cfg(test)]
mod tests;
