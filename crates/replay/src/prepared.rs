//! An entry worked out before it is taken in: all that needs no entry before it, so that many threads do it.

use std::{borrow::Cow, sync::Arc};

use contrail_exchange::{Credential, Request, TENANT_NAME, TenantFacts, graphql, upstreams};
use contrail_recording::{
    self as recording, CallerRule, Ignore, IgnoreSet, Ignored, MatchRules, fixture::request_parts::Parts,
};
use http::{HeaderName, HeaderValue, header};

use super::{
    builder::Settings,
    conditions::Conditions,
    echo,
    fields::{self, Fields},
    grant::Learned,
    labels::{Labels, Place},
    mask::{Key, Keys, Mask},
    serve::{self, Answer},
    sites::{Names, host_of, upstream_at},
};

/// The documented operation of a method and raw path, if there is one; the first of all is the name of the upstream, if
/// it has one.
pub type OperationOf = Arc<dyn Fn(Option<&str>, &str, &str) -> Option<Arc<str>> + Send + Sync>;

/// What takes secrets out of a request.
pub type RedactRequest = Arc<dyn Fn(&Request) -> Request + Send + Sync>;

/// What takes secrets out of another tool's words for a failure.
pub type RedactFailure = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// An entry with all that can be worked out without the entries before it.
#[allow(clippy::struct_excessive_bools)] // independent facts
pub struct Prepared {
    pub(super) asked: String,
    pub(super) line: Key,
    pub(super) key: Key,
    pub(super) mask: Mask,
    /// Method and number of path segments, where the path is masked.
    pub(super) shape: Option<(String, usize)>,
    pub(super) ignored: IgnoreSet,
    pub(super) credential: Credential,
    pub(super) labels: Labels,
    /// The header fields that have labels.
    pub(super) label_headers: Vec<HeaderName>,
    pub(super) fields: Fields,
    /// Its key without what is ignored, where something is.
    pub(super) exact: Option<Key>,
    /// Its place among the recorded requests of its method and path.
    pub(super) order: Option<u32>,
    pub(super) status: u16,
    pub(super) conditions: Conditions,
    pub(super) by_contrail: bool,
    pub(super) redacted: bool,
    pub(super) trailers: bool,
    pub(super) unfit: Option<Box<str>>,
    pub(super) answer: Option<Answer>,
    pub(super) carries_authorization: bool,
    pub(super) site: String,
    /// The upstream that it was recorded from, as host and port.
    pub(super) upstream: Option<String>,
    pub(super) learned: Learned,
    pub(super) entry: Box<recording::Entry>,
}

/// What requests are compared by; the same for all of them.
pub(super) struct Rules {
    matching: MatchRules,
    /// One of them leaves out segments of paths.
    of_paths: bool,
    pub(super) names: Names,
    pub(super) operation_of: OperationOf,
    pub(super) tenant: Arc<dyn TenantFacts>,
    pub(super) has_label: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    pub(super) redact: RedactRequest,
    redact_failure: RedactFailure,
    pub(super) keys: Keys,
}

impl Rules {
    pub(super) fn new(settings: Settings) -> Self {
        let Settings { rules, names, operation_of, tenant, has_label, redact, redact_failure, .. } = settings;
        let keys = Keys::default();
        let of_paths = rules.ignore.iter().any(|rule| matches!(rule.what, Ignored::Segment(_)));
        Self { matching: rules, of_paths, names, operation_of, tenant, has_label, redact, redact_failure, keys }
    }

    /// The documented operation of a request to this site.
    pub(super) fn operation(&self, site: &str, method: &str, path: &str) -> Option<Arc<str>> {
        (self.operation_of)(upstream_at(site), method, path)
    }

    /// What is left out when requests to this site of this method and path are compared.
    pub(super) fn ignored(&self, site: &str, method: &str, path: &str) -> IgnoreSet {
        if self.matching.is_empty() {
            return IgnoreSet::default();
        }
        self.matching.ignored(self.operation(site, method, path).as_deref(), method, path)
    }

    /// The same for requests like this one, with further rules.
    pub(super) fn ignored_with(&self, parts: &Parts, further: &[Ignore]) -> IgnoreSet {
        let rules = self.matching.ignore.iter().chain(&self.matching.echo).chain(further);
        let (method, path) = (parts.method.as_str(), &*parts.path);
        IgnoreSet::of(rules, self.operation(&parts.site, method, path).as_deref(), method, path)
    }

    /// The places that tell callers apart.
    pub(super) fn caller_places(&self) -> Vec<u64> {
        self.matching.caller.iter().map(|rule| self.keys.hash(&Place::of_caller(rule))).collect()
    }

    /// Puts the values of a live request into the answer to a recorded one, as the rules say; whether that changed it.
    pub(super) fn echo<'a>(
        &self,
        live: &Request,
        recorded: impl FnOnce() -> Cow<'a, Request>,
        answer: &mut Answer,
    ) -> bool {
        if self.matching.echo.is_empty() {
            return false;
        }
        let (method, path) = (live.method.as_str(), live.target.path());
        let operation = self.operation(&Parts::site_of(&live.target), method, path);
        let rules = self.matching.echo.iter().filter(|rule| rule.is_about(operation.as_deref(), method, path));
        echo::apply(rules, live, &recorded(), answer)
    }

    /// The path without what is left out of it.
    pub(super) fn path<'a>(&self, site: &str, method: &str, path: &'a str) -> Cow<'a, str> {
        if self.of_paths { self.ignored(site, method, path).path(path) } else { path.into() }
    }

    /// The request taken apart; its site is empty if it is the tenant's by name.
    pub(super) fn parts_of(&self, request: &Request) -> Parts {
        let mut parts = Parts::of(request);
        if self.names.upstream.as_ref() == Some(&parts.site) {
            parts.site.clear();
        }
        parts
    }

    /// Works an entry out.
    pub(super) fn prepare(&self, entry: recording::Entry, redact: bool) -> Prepared {
        let exchange = &entry.exchange;
        let clean = redact.then(|| (self.redact)(&exchange.request));
        let request = clean.as_ref().unwrap_or(&exchange.request);
        let parts = self.parts_of(request);
        let mask = Mask::of(request, &parts, &*self.has_label);
        let method = parts.method.as_str();
        let ignored = self.ignored(&parts.site, method, &parts.path);
        let line = self.keys.line(&parts.site, method, &ignored.path(&parts.path), &mask.segments);
        let raw = (redact && !mask.is_exact()).then(|| self.parts_of(&exchange.request));
        let raw = (&exchange.request.headers, raw.as_ref().unwrap_or(&parts));
        let labels = Labels::of(
            &self.keys,
            &*self.has_label,
            raw,
            (&request.headers, &mask, &ignored),
            (&self.matching.caller, !redact),
        );
        let has_label = |value: &HeaderValue| value.to_str().is_ok_and(|value| (self.has_label)(value));
        let is_of_caller = |name: &HeaderName| {
            self.matching.caller.iter().any(|rule| match rule {
                CallerRule::Header(own) => own == name,
                CallerRule::Cookie(_) => *name == header::COOKIE,
            })
        };
        let labelled = request.headers.iter().filter(|(name, value)| has_label(value) || is_of_caller(name));
        let label_headers: Vec<_> = labelled.map(|(name, _)| name.clone()).collect();
        let left_out = |name: &HeaderName| label_headers.contains(name) || ignored.headers.contains(name);
        let fields = fields::recorded(&self.keys, &exchange.request, exchange.response.as_ref(), &left_out);
        let exact = (ignored != IgnoreSet::default()).then(|| self.keys.exact(line, &parts, &mask, &ignored));
        let failure = exchange.transport.incomplete.as_deref();
        // Another tool's words for it may hold secrets.
        let clean_failure = failure.filter(|_| entry.note.is_none()).map(|failure| (self.redact_failure)(failure));
        let unfit = serve::unfit(exchange, clean_failure.as_deref().or(failure), entry.note.is_some());
        let answer = unfit.is_none().then(|| serve::answer(exchange));
        let upstream = entry.note.as_ref().and_then(|note| tenant_of(note.upstream.as_deref()?)).and_then(host_of);
        // Another tool's file does not tell which of its hosts is the tenant.
        let is_tenant = parts.site.is_empty() || entry.note.is_none() || upstream.as_ref() == Some(&parts.site);
        Prepared {
            asked: asked(request),
            line,
            key: self.keys.request(line, &parts, &mask, &ignored),
            shape: (!mask.segments.is_empty()).then(|| (method.to_owned(), parts.path.split('/').count())),
            mask,
            ignored,
            credential: request.credential.clone(),
            labels,
            fields,
            label_headers,
            exact,
            order: entry.note.as_ref().and_then(|note| note.order),
            status: exchange.response.as_ref().map_or(0, |response| response.status),
            conditions: self.keys.conditions(&request.headers),
            by_contrail: entry.note.is_some() && !redact,
            redacted: redact,
            trailers: exchange.transport.trailers,
            answer,
            unfit: unfit.map(Into::into),
            carries_authorization: entry.note.is_none() && exchange.request.headers.contains("authorization"),
            learned: Learned::of(exchange, &*self.tenant, is_tenant),
            site: parts.site,
            upstream,
            entry: Box::new(entry),
        }
    }
}

/// The origin of the tenant, if it is one of these upstreams.
fn tenant_of(stated: &str) -> Option<&str> {
    upstreams(stated).find(|(name, _)| *name == TENANT_NAME).map(|(_, origin)| origin)
}

/// Method and target, with the name of the upstream in place of its origin.
pub(super) fn asked(request: &Request) -> String {
    let line = [request.method.as_str(), " ", &request.target.named_path()].concat();
    match graphql::operation_name(request) {
        Some(name) => format!("{line} ({name})"),
        None => line,
    }
}
