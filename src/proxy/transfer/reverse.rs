//! Reverse mode: whatever comes in goes to the one upstream, its target byte for byte.

use std::{borrow::Cow, convert::Infallible, pin::Pin, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Version, header};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};

use super::{
    audience::Rewriter,
    hop,
    in_progress::Recording,
    informational,
    request_body::{Tee, lock, request_state},
    response_body::Gate,
    upgrade::Asked,
};
use crate::proxy::{
    Audience, Holds, Proxy,
    host::is_authority,
    wire::{
        head::{DISGUISED, is_framing_in_disguise},
        state::InFlight,
    },
};
use crate::{
    exchange::{Body, Headers, Request, Target, is_bodiless},
    token::{self, Credential},
    upstream::{self, Answered, Failure, FailureKind, MessageBody, Problem, Response},
};

/// An answer to a client's request, in time.
pub(in crate::proxy) type Answering = Pin<Box<dyn Future<Output = Result<http::Response<Gate>, Infallible>> + Send>>;

/// Where requests go, and what the Host header says there.
#[derive(Debug, Clone)]
pub(in crate::proxy) struct Destination {
    scheme: Arc<str>,
    authority: Arc<str>,
    host: HeaderValue,
}

impl Destination {
    /// The proxy's upstream.
    pub(in crate::proxy) fn upstream(proxy: &Proxy) -> Self {
        let settings = &proxy.settings;
        Self {
            scheme: Arc::clone(&settings.scheme),
            authority: Arc::clone(&settings.authority),
            host: proxy.host.clone(),
        }
    }

    /// Another origin.
    pub(in crate::proxy) fn new(scheme: &str, authority: String) -> Self {
        let host = HeaderValue::from_str(&authority).unwrap_or(HeaderValue::from_static(""));
        Self { scheme: scheme.into(), authority: authority.into(), host }
    }
}

/// Answers one request: forwards it, or says why not. Never fails; what goes wrong is an answer of contrail's own.
///
/// What needs no waiting is done before there is a future, so that it takes no room in it.
pub(in crate::proxy) fn serve(
    proxy: Arc<Proxy>,
    in_flight: InFlight,
    mut request: http::Request<Incoming>,
    destination: Destination,
) -> Answering {
    let marks = in_flight.marks;
    let asked = if marks.asks { Asked::of(&mut request) } else { None };
    let (mut head, body) = request.into_parts();
    if let Err(problem) = acceptable(&head) {
        proxy.observer.turned_away(problem.status.as_u16(), problem.reason);
        return Box::pin(async { Ok(Response::from(problem).map(Gate::open)) });
    }
    if marks.of_the_server {
        head.uri = http::Uri::from_static("*");
    }
    let target = Target::new(destination.scheme, destination.authority, raw_target(&head.uri));
    let asks_for_head = head.method == Method::HEAD;
    let asks_for_token = token::is_token_request(&head.method, target.path()).then(|| client_host(&head));
    let mut head = forwarded(head, &destination.host);
    // What goes through a tunnel cannot be judged, and --enforce lets nothing through unjudged.
    let holds = proxy.observer.holds();
    let asked = asked.filter(|_| !holds.judge());
    if let Some(asked) = &asked {
        hop::upgrade(&mut head.headers, asked.protocols.clone());
    }
    let state = request_state(proxy.copy());
    let recorded = Request {
        method: head.method.clone(),
        target: target.clone(),
        version: head.version,
        headers: Headers::from(&head.headers),
        body: Body::default(),
        credential: Credential::Missing,
    };
    let refused = proxy.observer.refuses(&recorded);
    let mut recording = Box::new(Recording::new(Arc::clone(&proxy), recorded, Arc::clone(&state), in_flight));
    let max_body = proxy.settings.max_body;
    let refused = refused.or_else(|| (body.size_hint().lower() > max_body).then(|| too_large(max_body)));
    // Before a refusal, since this tells a request without a body from one whose body was not read.
    let body = Tee::new(body, state, &proxy.settings);
    if let Some(problem) = refused {
        return Box::pin(async { Ok(refuse(recording, problem, None).await) });
    }
    let is_plain = body.is_end_stream() && asked.is_none() && asks_for_token.is_none() && !holds.judge();
    let recalled = recording.recorded().filter(|_| is_plain).and_then(|seen| proxy.upstream.recall(seen));
    let answering: Answering = match recalled {
        Some(answer) => {
            Box::pin(async move { Ok(answered(&proxy, recording, answer, holds, None, &head.method).await) })
        }
        None => {
            let request = upstream::Request { target, head, body: MessageBody::stream(body), informed: None };
            exchange(proxy, recording, request, holds, asks_for_token, asked)
        }
    };
    if !asks_for_head {
        return answering;
    }
    // HTTP/2 would send what contrail says of itself even so.
    Box::pin(async { Ok(answering.await?.map(|_| Gate::open(MessageBody::Empty))) })
}

/// What happens seldom is boxed, so that every request does not carry room for it.
fn exchange(
    proxy: Arc<Proxy>,
    mut recording: Box<Recording>,
    mut request: upstream::Request,
    holds: Holds,
    asks_for_token: Option<String>,
    asked: Option<Asked>,
) -> Answering {
    let method = request.head.method.clone();
    let asks_for_token = asks_for_token.filter(|_| proxy.settings.audience != Audience::Keep);
    Box::pin(async move {
        if holds.requests || asks_for_token.is_some() {
            let whole = Box::pin(whole(&proxy, &mut recording, &mut request, asks_for_token, holds)).await;
            if let Err((problem, incomplete)) = whole {
                return Ok(Box::pin(refuse(recording, problem, incomplete)).await);
            }
        }
        let answer = match proxy.turn().await {
            Ok(turn) => {
                recording.turn = turn;
                // HTTP/1.0 knows none (RFC 9110, section 15.2), and --enforce lets nothing through unjudged.
                let listens = proxy.passes_on && request.head.version == Version::HTTP_11 && !holds.responses;
                if listens {
                    let state = Arc::clone(recording.connection());
                    let turn = state.interim().begin();
                    request.informed =
                        Some(Arc::new(informational::To { state, turn, observer: Arc::clone(&proxy.observer) }));
                }
                let answer = proxy.upstream.answer(request).await;
                if listens {
                    recording.connection().interim().end();
                }
                answer
            }
            Err(failure) => Err(failure),
        };
        let going = match answer {
            Ok(answer) => answered(&proxy, recording, answer, holds, asked, &method),
            Err(failure) => Box::pin(failed(&proxy, recording, failure)),
        };
        Ok(going.await)
    })
}

/// Reads a whole request that is judged before it goes on, or whose audience may have to change.
async fn whole(
    proxy: &Proxy,
    recording: &mut Recording,
    request: &mut upstream::Request,
    asks_for_token: Option<String>,
    holds: Holds,
) -> Result<(), (Problem, Option<String>)> {
    let mut whole = collected(proxy, recording, std::mem::take(&mut request.body)).await?;
    let rewriter = asks_for_token.map(|host| Rewriter {
        audience: &proxy.settings.audience,
        origin: request.target.origin(),
        host: Some(host).filter(|host| !host.is_empty()),
        own: &proxy.settings.own,
    });
    let headers = &mut request.head.headers;
    if let Some((body, original)) = rewriter.and_then(|rewriter| rewriter.rewrite(headers, &whole)) {
        if headers.contains_key(header::CONTENT_LENGTH) {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        recording.rewritten(headers, &body, original);
        whole = body;
    }
    if holds.requests {
        admitted(proxy, recording).map_err(|problem| (problem, None))?;
    }
    request.body = whole.into();
    Ok(())
}

/// An answer on its way to the client, before its head goes out.
type Going<'a> = Pin<Box<dyn Future<Output = http::Response<Gate>> + Send + 'a>>;

/// What of the upstream's answer goes to the client.
fn answered<'a>(
    proxy: &'a Proxy,
    mut recording: Box<Recording>,
    answered: Answered,
    holds: Holds,
    asked: Option<Asked>,
    method: &'a Method,
) -> Going<'a> {
    let Answered { mut response, notes } = answered;
    recording.notes = notes;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Box::pin(switched(proxy, recording, response, asked, method));
    }
    let headers = hop::response(std::mem::take(response.headers_mut()));
    recording.head(response.status().as_u16(), response.version(), &headers);
    *response.headers_mut() = headers;
    // The version is the hop's own (RFC 9110, section 2.5); a client of HTTP/1.0 gets that from hyper.
    *response.version_mut() = Version::HTTP_11;
    if holds.responses && recording.notes.answered_by_contrail.is_none() {
        return Box::pin(held(recording, response, method));
    }
    let length = content_length(response.headers());
    let bodiless = is_bodiless(method, response.status().as_u16());
    let mut response = if bodiless || response.body().is_end_stream() {
        let missing = length.filter(|length| *length > 0 && !bodiless);
        let incomplete = missing.map(|missing| format!("the response ended {missing} bytes short"));
        response.map(|_| Gate::ended(recording, incomplete))
    } else {
        response.map(|body| Gate::new(body, length, recording))
    };
    Box::pin(async move {
        match response.body_mut().begin(holds.heads).await {
            Ok(()) => response,
            Err(problem) => instead(problem, method),
        }
    })
}

/// Passes on a 101 that the client asked for; any other is no answer.
async fn switched(
    proxy: &Proxy,
    mut recording: Box<Recording>,
    mut response: Response,
    asked: Option<Asked>,
    method: &Method,
) -> http::Response<Gate> {
    let Some((switch, protocols)) = asked.and_then(|asked| asked.granted(&mut response)) else {
        let failure = Failure::new(FailureKind::Broken, "the upstream switched protocols, which nobody asked it to");
        return failed(proxy, recording, failure).await;
    };
    let mut headers = hop::response(std::mem::take(response.headers_mut()));
    headers.remove(header::CONTENT_LENGTH);
    hop::upgrade(&mut headers, protocols);
    recording.head(response.status().as_u16(), response.version(), &headers);
    recording.notes.remarks.push("what follows the switch of protocols is neither judged nor recorded".to_owned());
    *response.headers_mut() = headers;
    *response.version_mut() = Version::HTTP_11;
    response.extensions_mut().insert(switch);
    match recording.end(None).await {
        Ok(()) => response.map(|_| Gate::open(MessageBody::Empty)),
        Err(problem) => instead(problem, method),
    }
}

/// Answers in place of the tenant, which has done its work, because the exchange could not be recorded, or its response
/// does not pass. Clients repeat unsafe requests on 5xx, so those get another status.
fn instead(mut problem: Problem, method: &Method) -> http::Response<Gate> {
    if !is_safe(method) {
        problem.status = StatusCode::FAILED_DEPENDENCY;
    }
    Response::from(problem).map(Gate::open)
}

fn is_safe(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD || *method == Method::OPTIONS
}

/// Refuses what no proxy should pass on.
pub(in crate::proxy) fn acceptable(head: &http::request::Parts) -> Result<(), Problem> {
    let bad = |detail: &str| Err(Problem::new(StatusCode::BAD_REQUEST, "bad-request", detail).closing());
    if head.method == Method::CONNECT {
        return Err(Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "connect-refused",
            "this listener is a reverse proxy and opens no tunnels; send requests to it directly",
        )
        .closing());
    }
    let mut hosts = head.headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (_, Some(_)) => return bad("more than one Host header"),
        (None, None) if head.version == Version::HTTP_11 => return bad("no Host header"),
        // An empty Host is for targets that bring their own authority, or have none (RFC 9110, section 7.2).
        (Some(host), None) if host.is_empty() && (head.uri.authority().is_some() || head.uri.path() == "*") => {}
        (Some(host), None) if !is_authority(host.as_bytes()) => return bad("the Host header names no host"),
        (None, None) if head.version == Version::HTTP_2 && head.uri.authority().is_none() => {
            return bad("neither `:authority` nor a Host header");
        }
        _ => {}
    }
    if head.version == Version::HTTP_2 {
        if head.uri.authority().is_some_and(|authority| !is_authority(authority.as_str().as_bytes())) {
            return bad("`:authority` names no host");
        }
        if head
            .uri
            .scheme()
            .is_some_and(|scheme| *scheme != http::uri::Scheme::HTTP && *scheme != http::uri::Scheme::HTTPS)
        {
            return bad("`:scheme` is neither http nor https");
        }
        if head.uri.path() == "*" && head.method != Method::OPTIONS {
            return bad("only OPTIONS has the target `*`");
        }
        if head.headers.keys().any(|name| is_framing_in_disguise(name.as_str().as_bytes())) {
            return bad(DISGUISED);
        }
        // RFC 9113, section 8.2.1.
        let blank = |value: &HeaderValue| value.as_bytes().trim_ascii().len() < value.len();
        if head.headers.values().any(blank) {
            return bad("a header field's value begins or ends with white space");
        }
    }
    if hop::forwards_left(&head.method, &head.headers) == Some(0) {
        let detail = "Max-Forwards is 0, so this request ends at contrail, which offers nothing itself";
        return Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, "max-forwards", detail));
    }
    let mut codings = head.headers.get_all(header::TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => {}
        (Some(coding), None) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => {}
        _ => return bad("Transfer-Encoding has to be exactly one `chunked`"),
    }
    let mut lengths = head.headers.get_all(header::CONTENT_LENGTH).iter();
    match (lengths.next(), lengths.next()) {
        (None, _) => {}
        (Some(length), None) if length.as_bytes().iter().all(u8::is_ascii_digit) => {}
        _ => return bad("Content-Length has to be one number"),
    }
    Ok(())
}

/// Path and query as they were sent; an absolute target without a path has the path `/` (RFC 9112, section 3.2.1).
fn raw_target(uri: &http::Uri) -> Cow<'_, str> {
    match uri.path_and_query().map(http::uri::PathAndQuery::as_str) {
        None | Some("") => Cow::Borrowed("/"),
        Some(target) if target.starts_with('?') => Cow::Owned(format!("/{target}")),
        Some(target) => Cow::Borrowed(target),
    }
}

/// The head as the upstream gets it.
fn forwarded(mut head: http::request::Parts, host: &HeaderValue) -> http::request::Parts {
    let left = hop::forwards_left(&head.method, &head.headers);
    head.headers = hop::request(head.headers, host);
    if let Some(left) = left {
        head.headers.insert(header::MAX_FORWARDS, HeaderValue::from(left.saturating_sub(1)));
    }
    if head.version == Version::HTTP_2 {
        hop::join_cookies(&mut head.headers);
    }
    if head.uri.scheme().is_some() || head.uri.authority().is_some() {
        head.uri = match raw_target(&head.uri) {
            Cow::Owned(target) => target.parse().unwrap_or_default(),
            Cow::Borrowed(_) => head.uri.path_and_query().cloned().map_or_else(http::Uri::default, http::Uri::from),
        };
    }
    head
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_large(limit: u64) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "max-body",
        format!("the request body is larger than {limit} bytes; raise --max-body if it should pass"),
    )
    .closing()
}

/// The Host that the client named, empty if it named none.
fn client_host(head: &http::request::Parts) -> String {
    match (head.uri.authority(), head.headers.get(header::HOST).map(HeaderValue::to_str)) {
        (Some(authority), _) => authority.to_string(),
        (None, Some(Ok(host))) => host.to_owned(),
        (None, _) => String::new(),
    }
}

/// Reads the whole request.
async fn collected(
    proxy: &Proxy,
    recording: &Recording,
    body: MessageBody,
) -> Result<Bytes, (Problem, Option<String>)> {
    match body.collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) => {
            let failure = Failure::new(FailureKind::RequestAborted, error.0);
            let problem = aborted(proxy, recording, &failure);
            Err((problem, Some(failure.cause)))
        }
    }
}

/// Asks the observer about a whole request.
fn admitted(proxy: &Proxy, recording: &mut Recording) -> Result<(), Problem> {
    if !lock(recording.request()).copy.fits() {
        let detail = "the request body is larger than --max-capture, so it cannot be judged, and --enforce lets \
                      nothing through unjudged";
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "enforce", detail));
    }
    recording.with_request().map_or(Ok(()), |exchange| proxy.observer.admit_request(exchange))
}

/// Reads the whole response, and answers with it, or with what the observer has said in its place.
async fn held(mut recording: Box<Recording>, response: Response, method: &Method) -> http::Response<Gate> {
    let (head, mut body) = response.into_parts();
    let refusal = if is_safe(method) { StatusCode::BAD_GATEWAY } else { StatusCode::FAILED_DEPENDENCY };
    let length = content_length(&head.headers).filter(|_| !is_bodiless(method, head.status.as_u16()));
    let mut trailers = None;
    while let Some(frame) = body.frame().await {
        match frame.map(http_body::Frame::into_data) {
            Err(error) => {
                let problem = Problem::new(refusal, "enforce", format!("the response broke off: {error}"));
                return replace(recording, problem, Some(error.0)).await;
            }
            Ok(Ok(data)) => recording.push(&data),
            Ok(Err(frame)) => trailers = frame.into_trailers().ok(),
        }
        if !recording.copy().fits() {
            let detail = "the response body is larger than --max-capture, so it cannot be judged, and --enforce lets \
                          nothing through unjudged";
            let reason = "contrail stopped reading a response that is too large to judge".to_owned();
            return replace(recording, Problem::new(refusal, "enforce", detail), Some(reason)).await;
        }
    }
    let came = recording.copy().total();
    if let Some(length) = length.filter(|length| *length != came) {
        let reason = format!("the response ended after {came} of {length} bytes");
        let problem = Problem::new(refusal, "enforce", reason.clone());
        return replace(recording, problem, Some(reason)).await;
    }
    // It fits, so this is all of it.
    let whole = recording.content();
    recording.held = true;
    if let Err(problem) = recording.end(None).await {
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

/// Answers in place of the tenant, whose answer is what is recorded.
async fn replace(mut recording: Box<Recording>, problem: Problem, incomplete: Option<String>) -> http::Response<Gate> {
    let recorded = recording.end(incomplete).await;
    Response::from(recorded.err().unwrap_or(problem)).map(Gate::open)
}

/// Answers before the tenant has seen the whole request; contrail's answer is what is recorded.
async fn refuse(mut recording: Box<Recording>, problem: Problem, incomplete: Option<String>) -> http::Response<Gate> {
    let body = problem.body();
    recording.notes.answered_by_contrail = Some(problem.reason);
    let response = Response::from(problem);
    recording.head(response.status().as_u16(), Version::HTTP_11, response.headers());
    recording.push(&Bytes::from(body));
    match recording.end(incomplete).await {
        Ok(()) => response,
        Err(problem) => Response::from(problem),
    }
    .map(Gate::open)
}

/// Answers for an upstream that did not.
async fn failed(proxy: &Proxy, mut recording: Box<Recording>, failure: Failure) -> http::Response<Gate> {
    tracing::debug!(cause = failure.cause, "the upstream gave no answer");
    let status = match failure.kind {
        FailureKind::Unreachable | FailureKind::Broken => StatusCode::BAD_GATEWAY,
        FailureKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        FailureKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
        FailureKind::RequestAborted => {
            let problem = aborted(proxy, &recording, &failure);
            return refuse(recording, problem, Some(failure.cause)).await;
        }
    };
    let reason = match failure.kind {
        FailureKind::Timeout => "upstream-timeout",
        FailureKind::Busy => "max-upstream",
        _ => "upstream",
    };
    let problem = Problem::new(status, reason, failure.cause.clone());
    recording.notes.retried = failure.retried;
    recording.notes.answered_by_contrail = Some(reason);
    recording.notes.given_status = Some(status);
    let recorded = recording.end(Some(failure.cause)).await;
    Response::from(recorded.err().unwrap_or(problem)).map(Gate::open)
}

/// Which answer a request gets that was never whole.
fn aborted(proxy: &Proxy, recording: &Recording, failure: &Failure) -> Problem {
    let state = lock(recording.request());
    if state.too_large {
        too_large(proxy.settings.max_body)
    } else if state.too_slow {
        Problem::new(StatusCode::REQUEST_TIMEOUT, "body-timeout", failure.cause.clone()).closing()
    } else {
        Problem::new(StatusCode::BAD_REQUEST, "request-aborted", failure.cause.clone()).closing()
    }
}
