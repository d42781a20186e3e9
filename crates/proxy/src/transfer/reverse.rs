//! One request from its head to its answer: accepted, forwarded, answered.
//!
//! The target goes to the upstream byte for byte. What ends otherwise is in [`super::endings`]; messages that are read
//! whole first are in [`super::hold`].

use std::{convert::Infallible, pin::Pin, sync::Arc};

use contrail_exchange::{Body, Credential, Headers, Request, Target, is_bodiless};
use http::{HeaderValue, Method, StatusCode, Version, header};
use hyper::body::{Body as _, Incoming};

use super::{
    acceptable::acceptable,
    destination::{Destination, client_host, client_origin, forwarded, raw_target},
    endings::{failed, instead, refuse, switched, too_large, unanswered},
    hold, hop,
    in_progress::InProgress,
    informational,
    links::Links,
    request_body::{Tee, request_state},
    response_body::{Gate, content_length},
    upgrade::UpgradeRequest,
};
use crate::upstream::{self, Answer, MessageBody, NoAnswer, Response};
use crate::{
    Audience, HoldPolicy, Proxy,
    sessions::{self, Named},
    wire::state::InFlight,
};

/// An answer to a client's request, in time.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<http::Response<Gate>, Infallible>> + Send>>;

/// Answers one request: forwards it, or refuses it with the reason. Never fails; an error is an answer of contrail's
/// own.
///
/// What needs no waiting is done before there is a future, so that it takes no room in it.
pub(crate) fn serve(
    proxy: Arc<Proxy>,
    in_flight: InFlight,
    mut request: http::Request<Incoming>,
    destination: Destination,
) -> Answering {
    let facts = in_flight.facts;
    let upgrade = if facts.asks_upgrade { UpgradeRequest::of(&mut request) } else { None };
    let (mut head, body) = request.into_parts();
    if let Err(problem) = acceptable(&head) {
        proxy.observer.on_rejected(problem.status.as_u16(), problem.shown_reason());
        return Box::pin(async { Ok(Response::from(problem).map(Gate::open)) });
    }
    let session = match &proxy.settings.sessions {
        None => None,
        Some(sessions) => {
            match sessions::take(&mut head, destination.session, destination.client_scheme.is_some(), &**sessions) {
                Ok(named) => Some(named),
                Err(problem) => {
                    proxy.observer.on_rejected(problem.status.as_u16(), problem.shown_reason());
                    return Box::pin(async { Ok(Response::from(problem).map(Gate::open)) });
                }
            }
        }
    };
    if facts.asterisk_form {
        head.uri = http::Uri::from_static("*");
    }
    let mut target = Target::new(destination.scheme, destination.authority, raw_target(&head.uri));
    target.upstream = destination.upstream;
    let asks_for_head = head.method == Method::HEAD;
    let asks_for_token =
        proxy.settings.tenant.is_token_request(&head.method, target.path()).then(|| client_host(&head));
    let mut called = destination.client_scheme.and_then(|scheme| client_origin(scheme, &head));
    if let (Some(called), Some(listeners)) = (&mut called, proxy.reverse.get()) {
        called.listeners = Some(Arc::clone(listeners));
    }
    let mut in_path = None;
    if let Some(Named { name, in_path: by_path }) = session {
        if by_path {
            called = called.and_then(|called| called.within(&name));
            in_path = Some(Arc::clone(&name));
        }
        target.session = Some(name);
    }
    let mut head = forwarded(head, &destination.host);
    let links = called.as_ref().filter(|_| proxy.settings.rewrite_links);
    let links = links.and_then(|called| Links::new(&target, called));
    if links.is_some() {
        // Links cannot be rewritten in what is compressed.
        head.headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    // What goes through a tunnel cannot be judged, and --enforce lets nothing through unjudged.
    let holds = proxy.observer.holds();
    let upgrade = upgrade.filter(|_| !holds.judge());
    if let Some(upgrade) = &upgrade {
        hop::upgrade(&mut head.headers, upgrade.protocols.clone());
    }
    let state = request_state(proxy.body_capture());
    let recorded = Request {
        method: head.method.clone(),
        target: target.clone(),
        version: head.version,
        headers: Headers::from(&head.headers),
        body: Body::default(),
        credential: Credential::Missing,
    };
    let refused = proxy.observer.refuses(&recorded);
    let mut in_progress = Box::new(InProgress::new(Arc::clone(&proxy), recorded, Arc::clone(&state), in_flight));
    in_progress.session_in_path = in_path;
    in_progress.calls_contrail = called.is_some() && proxy.is_live;
    in_progress.links = links.map(Box::new);
    let max_body = proxy.settings.max_body;
    let refused = refused.or_else(|| (body.size_hint().lower() > max_body).then(|| too_large(max_body)));
    // Before a refusal, since this tells a request without a body from one whose body was not read.
    let body = Tee::new(body, state, &proxy.settings);
    if let Some(problem) = refused {
        return Box::pin(async { Ok(refuse(in_progress, problem, None).await) });
    }
    let is_plain = body.is_end_stream() && upgrade.is_none() && asks_for_token.is_none() && !holds.judge();
    let seen = in_progress.recorded().filter(|_| is_plain);
    let recalled = seen.and_then(|seen| proxy.upstream.answer_from_memory(seen, called.as_ref()));
    let answering: Answering = match recalled {
        Some(answer) => {
            Box::pin(async move { Ok(answered(&proxy, in_progress, answer, holds, None, &head.method).await) })
        }
        None => {
            let client = Some(Arc::clone(&in_progress.connection().client));
            let body = MessageBody::stream(body);
            let request = upstream::Request { target, head, body, on_informational: None, client, called };
            exchange(proxy, in_progress, request, holds, asks_for_token, upgrade)
        }
    };
    if !asks_for_head {
        return answering;
    }
    // HTTP/2 would send the body of a problem even so.
    Box::pin(async { Ok(answering.await?.map(|_| Gate::open(MessageBody::Empty))) })
}

/// What happens seldom is boxed, so that every request does not carry room for it.
fn exchange(
    proxy: Arc<Proxy>,
    mut in_progress: Box<InProgress>,
    mut request: upstream::Request,
    holds: HoldPolicy,
    asks_for_token: Option<String>,
    upgrade: Option<UpgradeRequest>,
) -> Answering {
    let method = request.head.method.clone();
    let asks_for_token = asks_for_token.filter(|_| proxy.settings.audience != Audience::Keep);
    Box::pin(async move {
        if holds.requests || asks_for_token.is_some() {
            let read = Box::pin(hold::request(&proxy, &mut in_progress, &mut request, asks_for_token, holds)).await;
            if let Err((problem, incomplete)) = read {
                return Ok(Box::pin(refuse(in_progress, problem, incomplete)).await);
            }
        }
        let answer = match proxy.upstream_permit().await {
            Ok(permit) => {
                in_progress.permit = permit;
                // HTTP/1.0 knows none (RFC 9110, section 15.2), and --enforce lets nothing through unjudged.
                let listens = proxy.is_live && request.head.version == Version::HTTP_11 && !holds.responses;
                if listens {
                    let state = Arc::clone(in_progress.connection());
                    let request_seq = state.informational().begin();
                    request.on_informational = Some(Arc::new(informational::Sink {
                        state,
                        request_seq,
                        observer: Arc::clone(&proxy.observer),
                    }));
                }
                let answer = proxy.upstream.answer(request).await;
                if listens {
                    in_progress.connection().informational().end();
                }
                answer
            }
            Err(failure) => Err(failure),
        };
        let pending = match answer {
            Ok(answer) => answered(&proxy, in_progress, answer, holds, upgrade, &method),
            Err(failure) => Box::pin(failed(&proxy, in_progress, failure)),
        };
        Ok(pending.await)
    })
}

/// An answer on its way to the client, before its head goes out.
type PendingResponse<'a> = Pin<Box<dyn Future<Output = http::Response<Gate>> + Send + 'a>>;

/// What of the upstream's answer goes to the client.
fn answered<'a>(
    proxy: &'a Proxy,
    mut in_progress: Box<InProgress>,
    answer: Answer,
    holds: HoldPolicy,
    upgrade: Option<UpgradeRequest>,
    method: &'a Method,
) -> PendingResponse<'a> {
    let Answer { mut response, meta } = answer;
    in_progress.meta = meta;
    // The answer to HEAD has no body that could fail.
    let can_fail = |end: &NoAnswer| *end == NoAnswer::Silence || method != Method::HEAD;
    if std::mem::take(&mut in_progress.meta.after_close) {
        return Box::pin(async move {
            in_progress.connection().until_client_closes().await;
            let meta = std::mem::take(&mut in_progress.meta);
            answered(proxy, in_progress, Answer { response, meta }, holds, upgrade, method).await
        });
    }
    if let Some(end) = in_progress.meta.no_answer.filter(can_fail) {
        return Box::pin(unanswered(in_progress, end));
    }
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Box::pin(switched(proxy, in_progress, response, upgrade, method));
    }
    let headers = hop::response(std::mem::take(response.headers_mut()));
    in_progress.head(response.status().as_u16(), response.version(), &headers);
    *response.headers_mut() = headers;
    if let Some(session) = &in_progress.session_in_path {
        sessions::keep_in_path(response.headers_mut(), session);
    }
    // The version is the hop's own (RFC 9110, section 2.5); a client of HTTP/1.0 gets that from hyper.
    *response.version_mut() = Version::HTTP_11;
    if holds.responses && in_progress.meta.answered_by_contrail.is_none() {
        return Box::pin(hold::response(in_progress, response, method));
    }
    let length = content_length(response.headers());
    let bodiless = is_bodiless(method, response.status().as_u16());
    let mut links = in_progress.links.take();
    if let Some(rewriting) = &links {
        let is_rewritten = rewriting.fields(response.headers_mut());
        in_progress.calls_contrail &= !(is_rewritten || bodiless || response.status().is_redirection());
        links = links.filter(|_| is_rewritten);
    }
    let mut response = if bodiless || response.body().is_end_stream() {
        let missing = length.filter(|length| *length > 0 && !bodiless);
        let incomplete = missing.map(|missing| format!("the response ended {missing} bytes short"));
        response.map(|_| Gate::ended(in_progress, incomplete))
    } else {
        response.map(|body| Gate::new(body, length, in_progress).rewriting(links))
    };
    Box::pin(async move {
        match response.body_mut().begin(holds.heads).await {
            Ok(()) => response,
            Err(problem) => instead(problem, method),
        }
    })
}
