//! Takes the run out of an exchange: what differs between two recordings of equal answers does not get into a fixture.

use std::{borrow::Cow, sync::Arc};

use http::{HeaderName, HeaderValue, header};

use super::{
    host::{HostRename, TENANT_ORIGIN},
    instants,
};
use crate::{
    exchange::{Body, Exchange, Headers, Request, Target, Timings},
    finding::Finding,
    token::{Credential, TokenFacts},
};

/// Header fields that tell one run from another.
const PER_RUN: &[&str] = &[
    "age",
    "apigw-requestid",
    "b3",
    "baggage",
    "cf-cache-status",
    "cf-ray",
    "correlation-id",
    "date",
    "elastic-apm-traceparent",
    "expires",
    "fly-request-id",
    "idempotency-key",
    "nel",
    "newrelic",
    "report-to",
    "reporting-endpoints",
    "request-id",
    "sec-websocket-accept",
    "sec-websocket-key",
    "sentry-trace",
    "server-timing",
    "traceparent",
    "tracestate",
    "uber-trace-id",
    "x-amz-apigw-id",
    "x-amz-cf-id",
    "x-amz-cf-pop",
    "x-amz-id-2",
    "x-amz-request-id",
    "x-amzn-requestid",
    "x-amzn-trace-id",
    "x-auth0-requestid",
    "x-cache",
    "x-cache-hits",
    "x-client-request-id",
    "x-cloud-trace-context",
    "x-correlation-id",
    "x-envoy-upstream-service-time",
    "x-github-request-id",
    "x-idempotency-key",
    "x-kong-proxy-latency",
    "x-kong-request-id",
    "x-kong-upstream-latency",
    "x-ms-client-request-id",
    "x-ms-correlation-request-id",
    "x-ms-request-id",
    "x-request-id",
    "x-request-start",
    "x-response-time",
    "x-runtime",
    "x-served-by",
    "x-timer",
    "x-trace-id",
    "x-vercel-id",
];

/// Families of them.
const PER_RUN_FAMILIES: &[&str] = &["x-b3-", "x-datadog-"];

/// Takes the run out of `exchange`. With `host`, that origin becomes the fixture's.
pub(super) fn normalise(exchange: &mut Exchange, host: Option<&HostRename>) {
    let started = exchange.started.take();
    exchange.timings = Timings::default();
    exchange.transport.retried = false;
    exchange.transport.original_audience = None;
    let request = &mut exchange.request;
    if let Some(host) = host {
        rename_target(&mut request.target, host);
        if let Some(incomplete) = &mut exchange.transport.incomplete {
            host.text(incomplete);
        }
    }
    message(&mut request.headers, &mut request.body, host);
    if let Credential::Token(facts) = &mut request.credential {
        reduce(Arc::make_mut(facts), host);
    }
    if let Some(response) = &mut exchange.response {
        let sent = instants::sent_at(&response.headers, started);
        if response.status != 429 {
            response.headers.retain(|name, _| instants::rate_limit(name).is_none());
        }
        instants::distances(&mut response.headers, sent);
        for (name, value) in response.headers.iter_mut() {
            if *name == header::SET_COOKIE {
                without_expiry(value, sent);
            }
        }
        message(&mut response.headers, &mut response.body, host);
    }
}

/// Takes the run out of `exchange`: instants, timings, and header fields that tell one run from another.
pub fn without_run(exchange: &mut Exchange) {
    normalise(exchange, None);
}

/// The same for what was said about it.
pub(super) fn rename_findings(findings: &mut [Finding], host: Option<&HostRename>) {
    let Some(host) = host else { return };
    for finding in findings {
        host.text(&mut finding.at);
        if let Some(seen) = &mut finding.seen {
            host.text(seen);
        }
        if let Cow::Owned(new) = host.apply(finding.expected.as_bytes())
            && let Ok(new) = String::from_utf8(new)
        {
            finding.expected = Cow::Owned(new);
        }
    }
}

/// Gives a live request the origin that fixtures have, so that one that was recorded under the tenant's own name is
/// found again.
pub fn rename_request(request: &mut Request, host: &HostRename) {
    rename_target(&mut request.target, host);
    message(&mut request.headers, &mut request.body, Some(host));
}

fn rename_target(target: &mut Target, host: &HostRename) {
    let mut path = target.path_and_query.to_string();
    host.text(&mut path);
    if host.is(&target.authority) {
        let (scheme, authority) = TENANT_ORIGIN.split_once("://").unwrap_or_default();
        *target = Target::new(scheme, authority, path);
    } else if *path != *target.path_and_query {
        target.path_and_query = path.into();
    }
}

fn reduce(facts: &mut TokenFacts, host: Option<&HostRename>) {
    facts.lifetime = facts.lifetime.or_else(|| facts.expires_at?.checked_sub(facts.issued_at?));
    facts.issued_at = None;
    facts.not_before = None;
    facts.expires_at = None;
    if let Some(host) = host {
        facts.issuer.iter_mut().chain(&mut facts.audience).for_each(|text| host.text(text));
    }
}

fn message(headers: &mut Headers, body: &mut Body, host: Option<&HostRename>) {
    headers.retain(|name, _| !is_per_run(name));
    for (_, value) in headers.iter_mut() {
        let renamed = host.map(|host| host.apply(value.as_bytes()));
        if let Some(Cow::Owned(renamed)) = renamed
            && let Ok(renamed) = HeaderValue::from_bytes(&renamed)
        {
            *value = renamed;
        }
    }
    let renamed = host.map(|host| host.apply(&body.content));
    let changed = if let Some(Cow::Owned(renamed)) = renamed {
        body.content = renamed.into();
        true
    } else {
        false
    };
    // How long a coding came out is the sender's library's business, and the content is here without it.
    let coded = headers.contains("content-encoding");
    if coded && !body.content.is_empty() {
        headers.retain(|name, _| *name != header::CONTENT_LENGTH);
    }
    let as_sent = !coded || body.content.is_empty();
    body.wire_size = (body.is_whole() && as_sent).then_some(body.content.len() as u64);
    if changed && body.is_whole() {
        for (name, value) in headers.iter_mut() {
            if *name == header::CONTENT_LENGTH {
                *value = HeaderValue::from(body.content.len());
            }
        }
    }
}

fn is_per_run(name: &HeaderName) -> bool {
    let name = name.as_str();
    PER_RUN.binary_search(&name).is_ok() || PER_RUN_FAMILIES.iter().any(|family| name.starts_with(family))
}

/// Takes the `Expires` attribute out of a `Set-Cookie` value of a response that was `sent` then; one that says that the
/// cookie is gone stays, with one instant for all.
fn without_expiry(value: &mut HeaderValue, sent: Option<u64>) {
    let text = value.as_bytes();
    let is_expiry = |part: &[u8]| {
        let part = part.trim_ascii();
        part.len() >= 8 && part[..8].eq_ignore_ascii_case(b"expires=")
    };
    if !text.split(|byte| *byte == b';').skip(1).any(is_expiry) {
        return;
    }
    let parts: Vec<&[u8]> = text
        .split(|byte| *byte == b';')
        .enumerate()
        .filter_map(|(at, part)| match part.trim_ascii().split_at_checked(8) {
            Some((_, date)) if at > 0 && is_expiry(part) => instants::is_over(date, sent).then_some(instants::EXPIRED),
            _ => Some(part),
        })
        .collect();
    if let Ok(kept) = HeaderValue::from_bytes(&parts.join(&b';')) {
        *value = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_per_run_fields_is_sorted_so_that_it_can_be_searched() {
        assert!(PER_RUN.is_sorted());
    }

    #[test]
    fn a_cookie_loses_its_expiry_and_nothing_else() {
        let mut value =
            HeaderValue::from_static("a=expires=1; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT; HttpOnly");
        without_expiry(&mut value, Some(1_763_822_000));
        assert_eq!(value, "a=expires=1; Path=/; HttpOnly");
    }

    #[test]
    fn a_cookie_that_was_deleted_by_its_expiry_alone_stays_deleted() {
        let mut value = HeaderValue::from_static("a=; expires=Thu, 01-Jan-1970 00:00:10 GMT; Path=/");
        for sent in [Some(1_763_822_000), None] {
            without_expiry(&mut value, sent);
            assert_eq!(value, "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/");
        }
    }

    #[test]
    fn trace_ids_go_and_what_an_answer_means_stays() {
        for (name, per_run) in [("x-ratelimit-reset", false), ("x-b3-traceid", true), ("date", true), ("etag", false)] {
            assert_eq!(is_per_run(&HeaderName::from_static(name)), per_run, "{name}");
        }
    }
}
