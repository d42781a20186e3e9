//! How an exchange ends other than with the tenant's answer: refused, failed, replaced, or switched to another
//! protocol.

use bytes::Bytes;
use http::{Method, StatusCode, Version, header};

use super::{hop, in_progress::InProgress, request_body::lock, response_body::Gate, upgrade::UpgradeRequest};
use crate::Proxy;
use crate::upstream::{Failure, FailureKind, MessageBody, NoAnswer, Problem, Response};

/// Answers in place of the tenant, which has done its work, because the exchange could not be recorded, or its response
/// does not pass. Clients repeat unsafe requests on 5xx, so those get another status.
pub(super) fn instead(mut problem: Problem, method: &Method) -> http::Response<Gate> {
    if !method.is_safe() {
        problem.status = StatusCode::FAILED_DEPENDENCY;
    }
    Response::from(problem).map(Gate::open)
}

/// The status of contrail's answer in place of a response that `--enforce` holds back: clients repeat unsafe requests on
/// 5xx.
pub fn held_back(method: &Method) -> StatusCode {
    if method.is_safe() { StatusCode::BAD_GATEWAY } else { StatusCode::FAILED_DEPENDENCY }
}

pub(super) fn too_large(limit: u64) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "max-body",
        format!("the request body is larger than {limit} bytes; raise --max-body if it should pass"),
    )
    .closing()
}

/// Answers in place of the tenant, whose answer is what is recorded.
pub(super) async fn replace(
    mut in_progress: Box<InProgress>,
    problem: Problem,
    incomplete: Option<String>,
) -> http::Response<Gate> {
    in_progress.meta.given_status = Some(problem.status);
    let recorded = in_progress.end(incomplete).await;
    Response::from(recorded.err().unwrap_or(problem)).map(Gate::open)
}

/// Answers before the tenant has seen the whole request; contrail's answer is what is recorded.
pub(super) async fn refuse(
    mut in_progress: Box<InProgress>,
    problem: Problem,
    incomplete: Option<String>,
) -> http::Response<Gate> {
    let body = problem.body();
    in_progress.meta.answered_by_contrail = Some(problem.reason);
    let response = Response::from(problem);
    in_progress.head(response.status().as_u16(), Version::HTTP_11, response.headers());
    in_progress.push(&Bytes::from(body));
    match in_progress.end(incomplete).await {
        Ok(()) => response,
        Err(problem) => Response::from(problem),
    }
    .map(Gate::open)
}

/// Answers for an upstream that did not.
pub(super) async fn failed(proxy: &Proxy, mut in_progress: Box<InProgress>, failure: Failure) -> http::Response<Gate> {
    tracing::debug!(cause = failure.cause, "the upstream gave no answer");
    let status = match failure.kind {
        FailureKind::Unreachable | FailureKind::Broken => StatusCode::BAD_GATEWAY,
        FailureKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        FailureKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
        FailureKind::RequestAborted => {
            let problem = aborted(proxy, &in_progress, &failure);
            return refuse(in_progress, problem, Some(failure.cause)).await;
        }
    };
    let reason = match failure.kind {
        FailureKind::Timeout => "upstream-timeout",
        FailureKind::Busy => "max-upstream",
        _ => "upstream",
    };
    let problem = Problem::new(status, reason, failure.cause.clone());
    in_progress.meta.retried = failure.retried;
    in_progress.meta.answered_by_contrail = Some(reason);
    in_progress.meta.given_status = Some(status);
    let recorded = in_progress.end(Some(failure.cause)).await;
    Response::from(recorded.err().unwrap_or(problem)).map(Gate::open)
}

/// Gives the client no byte of an answer.
pub(super) async fn unanswered(mut in_progress: Box<InProgress>, end: NoAnswer) -> http::Response<Gate> {
    if end == NoAnswer::Silence {
        // When the client leaves, this is dropped, and the exchange with it.
        std::future::pending::<()>().await;
    }
    match in_progress.end(None).await {
        Ok(()) => http::Response::new(Gate::cut()),
        Err(problem) => Response::from(problem).map(Gate::open),
    }
}

/// Which answer a request gets that was never whole.
pub(super) fn aborted(proxy: &Proxy, in_progress: &InProgress, failure: &Failure) -> Problem {
    let state = lock(in_progress.request());
    if state.too_large {
        too_large(proxy.settings.max_body)
    } else if state.too_slow {
        Problem::new(StatusCode::REQUEST_TIMEOUT, "body-timeout", failure.cause.clone()).closing()
    } else {
        Problem::new(StatusCode::BAD_REQUEST, "request-aborted", failure.cause.clone()).closing()
    }
}

/// Passes on a 101 that the client requested; any other 101 is a failure of the upstream.
pub(super) async fn switched(
    proxy: &Proxy,
    mut in_progress: Box<InProgress>,
    mut response: Response,
    upgrade: Option<UpgradeRequest>,
    method: &Method,
) -> http::Response<Gate> {
    let Some((switch, protocols)) = upgrade.and_then(|upgrade| upgrade.accepted(&mut response)) else {
        let failure =
            Failure::new(FailureKind::Broken, "the upstream switched protocols, which the request did not ask for");
        return failed(proxy, in_progress, failure).await;
    };
    let mut headers = hop::response(std::mem::take(response.headers_mut()));
    headers.remove(header::CONTENT_LENGTH);
    hop::upgrade(&mut headers, protocols);
    in_progress.head(response.status().as_u16(), response.version(), &headers);
    in_progress.meta.remarks.push("what follows the switch of protocols is neither judged nor recorded".to_owned());
    *response.headers_mut() = headers;
    *response.version_mut() = Version::HTTP_11;
    response.extensions_mut().insert(switch);
    match in_progress.end(None).await {
        Ok(()) => response.map(|_| Gate::open(MessageBody::Empty)),
        Err(problem) => instead(problem, method),
    }
}
