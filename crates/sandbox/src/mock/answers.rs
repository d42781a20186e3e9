//! The answer to a request: refused as the contract refuses it, else the first candidate that conforms.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use contrail_contract::{BUILT_IN, CheckOptions, Contract};
use contrail_exchange::{
    self as exchange, Body, DecodeLimits, Exchange, Headers, Target, TenantFacts,
    finding::{Conclusion, Finding, Kind, Rule},
    is_bodiless,
    token::{NoKey, TokenCache},
};
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::{Map, Value, json};

use super::{
    body,
    call::{self, Call},
    generate::{Direction, Style},
};
use crate::{Answer, Answers, Ask, Keys, Tenant};

/// How many values are tried for one answer.
const MAX_ATTEMPTS: usize = 32;
/// Why a request was refused, or an answer could not be made.
const REASON: HeaderName = HeaderName::from_static("contrail-sandbox");

/// Answers for a contract.
pub struct Mock {
    pub(super) contract: Arc<Contract>,
    /// Answers for the built-in document.
    tenant: Option<Arc<Tenant>>,
    /// Selects among the values that a schema allows.
    pub(super) seed_number: usize,
    pub(super) keys: Keys,
    tokens: TokenCache,
    /// Answers by place of the response and media type. At most one per documented response.
    made: Mutex<HashMap<(String, String), Option<Answer>>>,
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mock").field("contract", &self.contract.title()).finish_non_exhaustive()
    }
}

impl Mock {
    /// A mock of `contract`. `tenant` answers for the built-in document.
    ///
    /// # Errors
    ///
    /// [`NoKey`] if the system gives no randomness.
    pub fn new(contract: Arc<Contract>, tenant: Option<Arc<Tenant>>, seed_number: usize) -> Result<Self, NoKey> {
        Ok(Self {
            contract,
            tenant,
            seed_number,
            keys: Keys::generate()?,
            tokens: TokenCache::new(Duration::ZERO, None),
            made: Mutex::default(),
        })
    }

    /// The origin of the first server that names one.
    #[must_use]
    pub fn origin(&self) -> String {
        let servers = self.contract.documents().iter().filter_map(|document| document.document().get("servers"));
        let urls = servers.filter_map(Value::as_array).flatten().filter_map(|server| server.get("url")?.as_str());
        let origin = |url: &str| {
            let (scheme, rest) = url.split_once("://")?;
            let authority = rest.split(['/', '?']).next().filter(|host| !host.is_empty() && !host.contains('{'))?;
            Some(format!("{scheme}://{authority}"))
        };
        urls.into_iter().find_map(origin).unwrap_or_else(|| "https://tenant.example".to_owned())
    }

    fn answer_at(&self, ask: &Ask<'_>, now: SystemTime) -> Answer {
        let path = ask.target.split_once('?').map_or(ask.target, |(path, _)| path);
        let found = self.contract.locate(ask.method.as_str(), path);
        if let Some(tenant) = &self.tenant {
            let is_built_in = found.as_ref().is_some_and(|(document, _)| document.name() == BUILT_IN);
            if is_built_in || path == "/.well-known/jwks.json" {
                return tenant.answer(ask, now);
            }
        }
        let documented = found.as_ref().is_some_and(|(_, matched)| !matched.operation.is_bare_token_endpoint());
        if *ask.method == Method::POST && !documented && self.contract.is_token_path(path) {
            return self.token(ask, now);
        }
        let Some((document, matched)) = found else {
            let reason = format!("no documented operation has the method {} and this path", ask.method);
            return problem(StatusCode::NOT_FOUND, &reason);
        };
        let request = self.request(ask, now);
        let call = Call { document, matched: &matched, operation: matched.operation, request: &request };
        let mut answer = match self.refusal(&request) {
            Some(finding) => self.refuse(&call, &finding),
            None if call.operation.token_endpoint => self.grant(&call, self.token(ask, now)),
            None => self.succeed(&call),
        };
        if is_bodiless(ask.method, answer.status.as_u16()) {
            answer.body = Bytes::new();
        }
        answer
    }

    fn request(&self, ask: &Ask<'_>, now: SystemTime) -> exchange::Request {
        let headers = Headers::from(ask.headers);
        let host = headers.get_str("host").unwrap_or("tenant.example").to_owned();
        exchange::Request {
            method: ask.method.clone(),
            target: Target::new("http", host, ask.target),
            version: http::Version::HTTP_11,
            credential: self.tokens.credential(&headers, now),
            body: Body::whole(ask.body.clone()).decode(&headers, DecodeLimits::default()),
            headers,
        }
    }

    /// The first violation of a request.
    fn refusal(&self, request: &exchange::Request) -> Option<Finding> {
        let options = CheckOptions { response: false, ..CheckOptions::default() };
        let verdict = self.contract.check(&exchange_of(request, None), &options);
        verdict.findings.into_iter().find(|finding| finding.kind() == Kind::Violation)
    }

    fn refuse(&self, call: &Call<'_>, finding: &Finding) -> Answer {
        let wanted: &[u16] = match finding.rule {
            Rule::AuthScope => &[403],
            rule if rule.is_auth() => &[401, 403],
            Rule::RequestContentType => &[415, 400, 422],
            Rule::PathParameter => &[400, 404, 422],
            _ => &[400, 422],
        };
        let at = if finding.at.is_empty() { String::new() } else { format!(" at {}", finding.at) };
        let reason = format!("{}{at}: {}", finding.rule, finding.message());
        let own = |status: &u16| call.responses().contains_key(&status.to_string());
        let status = wanted.iter().find(|status| own(status)).unwrap_or(&wanted[0]);
        let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_REQUEST);
        let answer = self.respond(call, status).unwrap_or_else(|| problem(status, &reason));
        with_reason(answer, &reason)
    }

    fn succeed(&self, call: &Call<'_>) -> Answer {
        let Some(status) = call.status() else { return Answer::empty(StatusCode::OK) };
        let cannot = |reason| {
            let documented = self.respond(call, StatusCode::NOT_IMPLEMENTED);
            documented
                .map_or_else(|| problem(StatusCode::NOT_IMPLEMENTED, reason), |answer| with_reason(answer, reason))
        };
        if status.is_informational() {
            return cannot("the contract documents an interim response, and the sandbox sends final ones only");
        }
        let none = || cannot("no value that the sandbox can make conforms to this response of the contract");
        self.respond(call, status).unwrap_or_else(none)
    }

    /// A token in the shape that the document gives to the response of its token endpoint.
    fn grant(&self, call: &Call<'_>, token: Answer) -> Answer {
        let breaks = |answer: &Answer| self.conclusion(call, answer) == Conclusion::Violates;
        if !breaks(&token) {
            return token;
        }
        let documented = self.succeed(call);
        let members = |answer: &Answer| serde_json::from_slice::<Map<String, Value>>(&answer.body).ok();
        let filled = members(&documented).zip(members(&token)).map(|(mut members, token)| {
            for (name, value) in token {
                members.entry(name).and_modify(|held| *held = value);
            }
            Answer { body: Value::from(members).to_string().into(), ..documented.clone() }
        });
        filled.filter(|answer| !breaks(answer)).unwrap_or(documented)
    }

    /// The documented response for a status; `None` where there is none, or where no value conforms.
    fn respond(&self, call: &Call<'_>, status: StatusCode) -> Option<Answer> {
        let (at, response) = call.response(status)?;
        let media_type = body::media_type(&response, call.request.headers.get_str("accept"));
        if !call.operation.relations.is_empty() {
            // The answer depends on the request.
            return self.make(call, status, &response, media_type);
        }
        let key = (format!("{}#{at}", call.document.name()), format!("{status} {media_type:?}"));
        if let Some(made) = self.made.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return made.clone();
        }
        let made = self.make(call, status, &response, media_type);
        self.made.lock().unwrap_or_else(PoisonError::into_inner).insert(key, made.clone());
        made
    }

    /// What an answer to the request comes to.
    fn conclusion(&self, call: &Call<'_>, answer: &Answer) -> Conclusion {
        let options = CheckOptions { request: false, auth: false, ..CheckOptions::default() };
        self.contract.check(&exchange_of(call.request, Some(answer)), &options).conclusion()
    }

    /// The first of the candidates that conforms, else the first that only has gaps.
    fn make(&self, call: &Call<'_>, status: StatusCode, response: &Value, media_type: Option<&str>) -> Option<Answer> {
        let mut gap = None;
        for attempt in 0..MAX_ATTEMPTS {
            let style = Style::of(attempt, self.seed_number);
            let document = call.document.document();
            let body = match media_type {
                None if attempt > 0 => break,
                None => Bytes::new(),
                Some(media_type) => {
                    let value = body::value(document, response, media_type, style, Direction::Response, attempt);
                    let Some(mut value) = value else { continue };
                    call.relate(&mut value);
                    body::encode(response, media_type, &value)
                }
            };
            let headers = call::headers(document, response, style);
            let mut answer = Answer { status, headers, body, cut_at: None };
            if let Some(media_type) = media_type.and_then(|media_type| body::sent(media_type).parse().ok()) {
                answer.headers.insert(header::CONTENT_TYPE, media_type);
            }
            match self.conclusion(call, &answer) {
                Conclusion::Conforms => return Some(answer),
                Conclusion::Gap => gap = gap.or(Some(answer)),
                Conclusion::Violates | Conclusion::Unjudged => {}
            }
        }
        gap
    }
}

pub(super) fn exchange_of(request: &exchange::Request, answer: Option<&Answer>) -> Exchange {
    let response = answer.map(|answer| exchange::Response {
        status: answer.status.as_u16(),
        version: http::Version::HTTP_11,
        headers: Headers::from(&answer.headers),
        body: Body::whole(if is_bodiless(&request.method, answer.status.as_u16()) {
            Bytes::new()
        } else {
            answer.body.clone()
        }),
    });
    Exchange {
        request: request.clone(),
        response,
        started: None,
        timings: exchange::Timings::default(),
        transport: exchange::Transport::default(),
    }
}

/// An answer for which the document shows no body (RFC 9457).
pub(super) fn problem(status: StatusCode, detail: &str) -> Answer {
    let title = status.canonical_reason().unwrap_or("Error");
    let mut answer = Answer::json(status, &json!({"title": title, "status": status.as_u16(), "detail": detail}));
    answer.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    with_reason(answer, detail)
}

fn with_reason(mut answer: Answer, reason: &str) -> Answer {
    let plain: String =
        reason.chars().map(|character| if character.is_ascii_graphic() { character } else { ' ' }).collect();
    if let Ok(reason) = HeaderValue::from_str(plain.trim()) {
        answer.headers.insert(REASON, reason);
    }
    answer
}

impl Answers for Mock {
    fn answer_now(&self, ask: &Ask<'_>) -> Answer {
        self.answer_at(ask, SystemTime::now())
    }
}
