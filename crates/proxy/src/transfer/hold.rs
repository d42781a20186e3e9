//! Messages that are read whole before they go on: for `--enforce`, and token requests whose audience may change.

use std::sync::Arc;

use bytes::Bytes;
use contrail_exchange::is_bodiless;
use http::{HeaderValue, Method, StatusCode, header};
use http_body_util::BodyExt as _;

use super::{
    audience::Rewriter,
    endings::{aborted, held_back, instead, replace},
    in_progress::InProgress,
    request_body::lock,
    response_body::{Gate, content_length},
};
use crate::upstream::{self, Failure, FailureKind, MessageBody, Problem, Response};
use crate::{HoldPolicy, Proxy};

/// Reads a whole request that is judged before it goes on, or whose audience may change.
///
/// # Errors
///
/// The answer that the client gets, and why the request is not whole, if it is not.
pub(super) async fn request(
    proxy: &Arc<Proxy>,
    in_progress: &mut InProgress,
    request: &mut upstream::Request,
    asks_for_token: Option<String>,
    holds: HoldPolicy,
) -> Result<(), (Problem, Option<String>)> {
    let mut whole = collected(proxy, in_progress, std::mem::take(&mut request.body)).await?;
    let rewriter = asks_for_token.map(|host| Rewriter {
        audience: &proxy.settings.audience,
        tenant: &*proxy.settings.tenant,
        origin: request.target.origin(),
        host: Some(host).filter(|host| !host.is_empty()),
        own: &proxy.settings.own,
    });
    let headers = &mut request.head.headers;
    if let Some((body, original)) = rewriter.and_then(|rewriter| rewriter.rewrite(headers, &whole)) {
        if headers.contains_key(header::CONTENT_LENGTH) {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        in_progress.rewritten(headers, &body, original);
        whole = body;
    }
    if holds.requests {
        admitted(proxy, in_progress).await.map_err(|problem| (problem, None))?;
    }
    request.body = whole.into();
    Ok(())
}

/// Reads the whole request.
async fn collected(
    proxy: &Proxy,
    in_progress: &InProgress,
    body: MessageBody,
) -> Result<Bytes, (Problem, Option<String>)> {
    match body.collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) => {
            let failure = Failure::new(FailureKind::RequestAborted, error.0);
            let problem = aborted(proxy, in_progress, &failure);
            Err((problem, Some(failure.cause)))
        }
    }
}

/// Asks the observer about a whole request.
async fn admitted(proxy: &Arc<Proxy>, in_progress: &mut InProgress) -> Result<(), Problem> {
    if !lock(in_progress.request()).copy.fits() {
        let detail = "the request body is larger than --max-capture, so it cannot be judged, and --enforce lets \
                      nothing through unjudged";
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "enforce", detail));
    }
    let Some(exchange) = in_progress.with_request() else { return Ok(()) };
    if !proxy.observer.is_slow_to_admit(exchange) {
        return proxy.observer.admit_request(exchange);
    }
    // The client may go away meanwhile: then the exchange ends without a verdict on its request.
    let (observer, mut copy) = (Arc::clone(&proxy.observer), exchange.clone());
    let admitted = tokio::task::spawn_blocking(move || observer.admit_request(&mut copy)).await;
    admitted.unwrap_or_else(|_| {
        let detail = "the check failed on this message; please report it";
        Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "enforce", detail))
    })
}

/// Reads the whole response, and answers with it, or with the observer's answer in its place.
pub(super) async fn response(
    mut in_progress: Box<InProgress>,
    response: Response,
    method: &Method,
) -> http::Response<Gate> {
    let (head, mut body) = response.into_parts();
    let refusal = held_back(method);
    let length = content_length(&head.headers).filter(|_| !is_bodiless(method, head.status.as_u16()));
    let mut trailers = None;
    while let Some(frame) = body.frame().await {
        match frame.map(http_body::Frame::into_data) {
            Err(error) => {
                let problem = Problem::new(refusal, "enforce", format!("the response broke off: {error}"));
                return replace(in_progress, problem, Some(error.0)).await;
            }
            Ok(Ok(data)) => in_progress.push(&data),
            Ok(Err(frame)) => {
                trailers = frame.into_trailers().ok();
                if trailers.as_ref().is_some_and(|trailers| !trailers.is_empty()) {
                    in_progress.has_trailers();
                }
            }
        }
        if !in_progress.copy().fits() {
            let detail = "the response body is larger than --max-capture, so it cannot be judged, and --enforce lets \
                          nothing through unjudged";
            let reason = "contrail stopped reading a response that is too large to judge".to_owned();
            return replace(in_progress, Problem::new(refusal, "enforce", detail), Some(reason)).await;
        }
    }
    let came = in_progress.copy().total();
    if let Some(length) = length.filter(|length| *length != came) {
        let reason = format!("the response ended after {came} of {length} bytes");
        let problem = Problem::new(refusal, "enforce", reason.clone());
        return replace(in_progress, problem, Some(reason)).await;
    }
    // It fits, so this is all of it.
    let whole = in_progress.content();
    in_progress.held = true;
    if let Err(problem) = in_progress.end(None).await {
        return instead(problem, method);
    }
    let body = match trailers {
        None => MessageBody::from(whole),
        Some(trailers) => MessageBody::stream(
            http_body_util::Full::new(whole)
                .map_err(|never| match never {})
                .with_trailers(std::future::ready(Some(Ok(trailers)))),
        ),
    };
    http::Response::from_parts(head, Gate::open(body))
}
