//! The [`Upstream`] that answers from recordings. It opens no socket.

use std::{borrow::Cow, fmt, sync::Arc, time::SystemTime};

use bytes::Bytes;
use contrail_exchange::{Body, Credential, DecodeLimits, Headers, Request, TENANT_NAME, Target, token::TokenCache};
use contrail_proxy::upstream::{
    self, AnswerMeta, ClientOrigin, Denied, MISS, MessageBody, Miss, NoAnswer, Problem, Response, Upstream,
};
use contrail_recording::{self as recording, HostRename};
use contrail_redact::Redactor;
use http::{HeaderValue, StatusCode, header};

use super::{Replay, Served, serve::SILENCE};

/// The value of `Contrail-Answer` for a request to a host that is not known as the tenant's.
pub(super) const DENIED: &str = "host-denied";

/// Answers from recordings.
pub struct ReplayUpstream {
    replay: Arc<Replay>,
    /// The same plan that made the recording, so that redaction never breaks a match.
    redactor: Arc<Redactor>,
    /// Runs before a request is redacted.
    first: Box<dyn Fn() + Send + Sync>,
    tokens: Arc<TokenCache>,
    limits: DecodeLimits,
    /// Names of upstreams, and origins that clients call each by; fixtures have others.
    names: Vec<(String, String)>,
    /// The session whose requests it answers, if there are several.
    session: Option<Arc<str>>,
}

impl ReplayUpstream {
    /// Answers from `replay`; live requests have their secrets replaced by `redactor` before they are matched.
    pub fn new(replay: Arc<Replay>, redactor: Arc<Redactor>, tokens: Arc<TokenCache>, limits: DecodeLimits) -> Self {
        Self { replay, redactor, first: Box::new(|| ()), tokens, limits, names: Vec::new(), session: None }
    }

    /// The same; `first` lets the redactor know what there is to know before it redacts a request.
    #[must_use]
    pub fn redacting_after(self, first: impl Fn() + Send + Sync + 'static) -> Self {
        Self { first: Box::new(first), ..self }
    }

    /// The same for clients that call the upstreams of these names by these origins.
    #[must_use]
    pub fn called<'a>(self, origins: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let names = origins.into_iter().map(|(name, origin)| (name.to_owned(), origin.to_owned()));
        Self { names: names.collect(), ..self }
    }

    /// The same for the requests of this session.
    #[must_use]
    pub fn of_session(self, name: Arc<str>) -> Self {
        Self { session: Some(name), ..self }
    }

    /// The request as it is matched.
    pub(super) fn read(&self, target: Target, head: &http::request::Parts, body: Bytes) -> Request {
        let mut request = Request {
            method: head.method.clone(),
            target,
            version: head.version,
            headers: Headers::from(&head.headers),
            body: Body::whole(body),
            credential: Credential::Missing,
        };
        self.prepare(&mut request);
        request
    }

    /// Undoes the body's coding and reads the credential.
    fn prepare(&self, request: &mut Request) {
        request.body = std::mem::take(&mut request.body).decode(&request.headers, self.limits);
        request.credential = self.tokens.credential(&request.headers, SystemTime::now());
    }

    /// The request without its secrets.
    pub(super) fn redacted(&self, request: &Request) -> Request {
        (self.first)();
        self.redactor.request(request).into_inner()
    }

    /// A redactor of the same plan that knows no secret.
    pub(super) fn forgetful(&self) -> Redactor {
        self.redactor.forgetful()
    }

    /// How far bodies are decoded.
    pub(super) fn limits(&self) -> DecodeLimits {
        self.limits
    }

    /// The recorded answer. The placeholders of upstreams in it become the origins by which the client calls them.
    pub(super) fn answer(
        &self,
        request: &Request,
        called: Option<&ClientOrigin>,
    ) -> Result<upstream::Answer, Box<Miss>> {
        let name = request.target.upstream.as_deref().unwrap_or(TENANT_NAME);
        let redact = |request: &Request| {
            let mut request = self.redacted(request);
            let named = self.names.iter().filter_map(|(name, origin)| HostRename::named(name, origin));
            named.for_each(|named| recording::rename_request(&mut request, &named));
            let own = Some(&request.target).filter(|target| !self.replay.has_recordings_of(target));
            let origins = [own.map(Target::origin), called.and_then(ClientOrigin::origin)];
            let own = origins.into_iter().flatten().map(|origin| (name, origin));
            for (name, origin) in own.chain(others(called).filter_map(|(name, called)| Some((name, called.origin()?))))
            {
                if let Some(rename) = HostRename::named(name, &origin) {
                    recording::rename_request(&mut request, &rename);
                }
            }
            request
        };
        let served = self.replay.answer(request, &redact, SystemTime::now()).map_err(|mut miss| {
            miss.session.clone_from(&self.session);
            miss
        })?;
        let target = &request.target;
        // A part of a body keeps its length.
        let is_part = served.answer.status == StatusCode::PARTIAL_CONTENT.as_u16();
        let expansions = match called {
            _ if is_part || !served.answer.names_upstream => Vec::new(),
            Some(origin) => {
                let all = std::iter::once((name, origin.clone())).chain(others(called));
                let expanding = |(name, origin): (&str, ClientOrigin)| {
                    HostRename::expanding(name, origin.scheme, origin.host.to_str().unwrap_or_default())
                };
                all.filter_map(expanding).collect()
            }
            None => {
                let is_own = self.replay.has_recordings_of(target);
                let tenant = (!is_own).then(|| HostRename::restoring(TENANT_NAME, &target.scheme, &target.authority));
                let named = self.names.iter().filter(|(name, _)| name != TENANT_NAME).map(|(name, origin)| {
                    let (scheme, authority) = origin.split_once("://").unwrap_or_default();
                    HostRename::restoring(name, scheme, authority)
                });
                tenant.into_iter().chain(named).flatten().collect()
            }
        };
        Ok(recorded(served, &expansions))
    }

    /// The answer, or why there is none.
    fn respond(&self, request: &Request, called: Option<&ClientOrigin>) -> upstream::Answer {
        let miss = match self.answer(request, called) {
            Ok(answered) => return answered,
            Err(miss) => miss,
        };
        match self.replay.stranger(request) {
            None => missed(miss),
            Some((host, may_be_tenant)) => denied(host, &miss, may_be_tenant, self.replay.upstreams()),
        }
    }

    /// Of a token request, whether its like is recorded already; `None` for any other request.
    pub(super) fn known_token(&self, request: &Request) -> Option<bool> {
        self.replay.known_token(request, &|request| self.redacted(request))
    }

    /// The upstream answered this recorded token request with this.
    pub(super) fn granted(&self, request: &Request, answer: Bytes) {
        self.replay.granted(request, &|request| self.redacted(request), answer);
    }

    /// Where in a request a label or a token of replay's stands; `None` if none does.
    pub(super) fn label_in(&self, request: &Request) -> Option<String> {
        self.replay.label_in(request)
    }
}

impl Upstream for ReplayUpstream {
    fn answer(&self, mut request: upstream::Request) -> upstream::AnswerFuture<'_> {
        Box::pin(async move {
            let called = request.called.take();
            let (target, head, body) = request.collect().await?;
            let request = self.read(target, &head, body);
            Ok(self.respond(&request, called.as_ref()))
        })
    }

    fn answer_from_memory(&self, request: &mut Request, called: Option<&ClientOrigin>) -> Option<upstream::Answer> {
        self.prepare(request);
        Some(self.respond(request, called))
    }

    fn kind(&self) -> upstream::UpstreamKind {
        upstream::UpstreamKind::Memory
    }
}

impl fmt::Debug for ReplayUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayUpstream").field("replay", &self.replay).finish_non_exhaustive()
    }
}

/// The names of several upstreams, with the origins by which this client calls them.
fn others(called: Option<&ClientOrigin>) -> impl Iterator<Item = (&str, ClientOrigin)> {
    let all = called.into_iter().flat_map(ClientOrigin::of_upstreams);
    all.map(|(upstream, called)| (upstream.upstream.as_deref().unwrap_or(TENANT_NAME), called))
}

/// The answer as it goes out, the placeholders of upstreams replaced.
fn recorded(served: Served, expansions: &[HostRename]) -> upstream::Answer {
    let Served { mut answer, recorded_time, event_times, after_close, clean, same_request, remarks } = served;
    for expansion in expansions {
        if let Some(body) = &mut answer.body
            && let Cow::Owned(expanded) = expansion.apply(body)
        {
            *body = expanded.into();
        }
    }
    let no_answer = (answer.status == SILENCE).then_some(NoAnswer::Silence);
    let mut headers = answer.fields();
    for expansion in expansions {
        for value in headers.values_mut() {
            if let Cow::Owned(expanded) = expansion.apply(value.as_bytes())
                && let Ok(expanded) = HeaderValue::from_maybe_shared(Bytes::from(expanded))
            {
                *value = expanded;
            }
        }
    }
    let now = SystemTime::now();
    recording::date(&mut headers, now);
    if answer.status >= 300 {
        recording::from_distances(&mut headers, now);
    }
    let mut response = Response::new(MessageBody::from(answer.body.unwrap_or_default()));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = headers;
    let meta = AnswerMeta {
        response_judged_elsewhere: true,
        response_redacted: clean,
        recorded_time: Some(recorded_time),
        event_times,
        same_request,
        remarks,
        after_close,
        no_answer,
        ..AnswerMeta::default()
    };
    upstream::Answer { response, meta }
}

/// The answer to a request to a host that is not known as the tenant's.
/// If it may be, that is a miss for the client, whatever the host turns out to be.
fn denied(host: String, miss: &Miss, may_be_tenant: bool, upstreams: &[String]) -> upstream::Answer {
    let (whose, advice) = if upstreams.len() > 1 {
        let names = upstreams.join(", ");
        ("an upstream's", format!("--upstream NAME=URL names it as one of {names}; --allow denied lets the run pass"))
    } else {
        ("the tenant's", format!("--intercept {host} counts it as the tenant's; --allow denied lets the run pass"))
    };
    let detail =
        format!("`{}` to {host} is not recorded, and nothing identifies this host as {whose}; {advice}", miss.asked);
    let (problem, answer) = if may_be_tenant {
        (miss.problem().with("detail", detail), MISS)
    } else {
        (Problem::new(StatusCode::FORBIDDEN, DENIED, detail), DENIED)
    };
    let status = problem.status.as_u16();
    let mut response = Response::from(problem);
    response.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    let meta = AnswerMeta {
        answered_by_contrail: Some(answer),
        denied: Some(Box::new(Denied { status, reason: DENIED, host, advice })),
        response_judged_elsewhere: true,
        ..AnswerMeta::default()
    };
    upstream::Answer { response, meta }
}

pub(super) fn missed(miss: Box<Miss>) -> upstream::Answer {
    let miss: Arc<Miss> = miss.into();
    let mut response = Response::from(miss.problem());
    response.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    let meta = AnswerMeta {
        answered_by_contrail: Some(MISS),
        miss: Some(Arc::clone(&miss)),
        response_judged_elsewhere: true,
        remarks: vec![miss.detail()],
        ..AnswerMeta::default()
    };
    upstream::Answer { response, meta }
}
