//! A mock of any contract: it answers with the document's examples, or with values made from its schemas.
//!
//! It refuses what the contract refuses, and gives only answers that the contract's own check lets pass. Equal settings
//! give equal answers. It holds no state: what one request sends, the next one does not find. The embedded tenant
//! ([`crate::sandbox`]) answers for the built-in document, where the contract has it.

mod body;
mod generate;
mod pattern;
mod request;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::{Map, Value, json};

use self::generate::{Direction, Generator, Style, below};
pub use self::request::Sample;
use crate::{
    contract::{
        BUILT_IN, CheckOptions, Contract, ContractDocument,
        model::{Catalogue, Matched, Operation, Relation},
    },
    exchange::{self, Body, DecodeLimits, Exchange, Headers, Target, is_bodiless},
    finding::{Conclusion, Finding, Kind, Rule},
    sandbox::{Answer, Answers, Ask, Keys, NoKey, Tenant},
    token::TokenCache,
    upstream::{self, MessageBody, Upstream},
};

/// How many values are tried for one answer.
const MAX_ATTEMPTS: usize = 32;
/// Lifetime of a token, in seconds.
const LIFETIME: u64 = 86_400;
/// Why a request was refused, or an answer could not be made.
const REASON: HeaderName = HeaderName::from_static("contrail-sandbox");

/// Answers for a contract.
pub struct Mock {
    contract: Arc<Contract>,
    /// Answers for the built-in document.
    tenant: Option<Arc<Tenant>>,
    /// Selects among the values that a schema allows.
    seed_number: usize,
    keys: Keys,
    tokens: TokenCache,
    /// Answers by place of the response and media type. At most one per documented response.
    made: Mutex<HashMap<(String, String), Option<Answer>>>,
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mock").field("contract", &self.contract.title()).finish_non_exhaustive()
    }
}

/// A request with the operation that the document has for it.
struct Call<'a> {
    document: &'a ContractDocument,
    matched: &'a Matched<'a, 'a>,
    operation: &'a Operation,
    request: &'a exchange::Request,
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
        let is_token_path = || self.contract.documents().iter().any(|document| document.is_token_path(path));
        let documented = found.as_ref().is_some_and(|(_, matched)| !matched.operation.token_endpoint);
        if *ask.method == Method::POST && !documented && is_token_path() {
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
            rule if rule.id().starts_with("auth.") => &[401, 403],
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
        let Some(status) = call.success() else { return Answer::empty(StatusCode::OK) };
        let none = || {
            let reason = "no value that the sandbox can make conforms to this response of the contract";
            with_reason(problem(StatusCode::NOT_IMPLEMENTED, reason), reason)
        };
        self.respond(call, status).unwrap_or_else(none)
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

    /// The first of the candidates that conforms, else the first that only has gaps.
    fn make(&self, call: &Call<'_>, status: StatusCode, response: &Value, media_type: Option<&str>) -> Option<Answer> {
        let options = CheckOptions { request: false, auth: false, ..CheckOptions::default() };
        let mut gap = None;
        for attempt in 0..MAX_ATTEMPTS {
            let style = Style {
                examples: attempt < 2,
                optional: attempt % 2 == 0,
                salt: if attempt < 4 { self.seed_number } else { self.seed_number.wrapping_add(attempt - 3) },
            };
            let document = call.document.document();
            let body = match media_type {
                None if attempt > 0 => break,
                None => Bytes::new(),
                Some(media_type) => {
                    let value = body::value(document, response, media_type, style, Direction::Response, attempt);
                    let Some(mut value) = value else { continue };
                    call.relate(&mut value);
                    body::encode(media_type, &value)
                }
            };
            let mut answer = Answer { status, headers: headers(document, response, style), body, cut_at: None };
            if let Some(media_type) = media_type.and_then(|media_type| body::sent(media_type).parse().ok()) {
                answer.headers.insert(header::CONTENT_TYPE, media_type);
            }
            let exchange = exchange_of(call.request, Some(&answer));
            match self.contract.check(&exchange, &options).conclusion() {
                Conclusion::Conforms => return Some(answer),
                Conclusion::Gap => gap = gap.or(Some(answer)),
                Conclusion::Violates => {}
            }
        }
        gap
    }

    /// A token of the OAuth 2.0 schemes (RFC 6749, section 5.1), with the scopes that were asked for, else all.
    fn token(&self, ask: &Ask<'_>, now: SystemTime) -> Answer {
        let form: HashMap<String, String> = match serde_json::from_slice::<Map<String, Value>>(ask.body) {
            Ok(members) => {
                members.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
            }
            Err(_) => form_urlencoded::parse(ask.body).into_owned().collect(),
        };
        let scope = form.get("scope").cloned().unwrap_or_else(|| self.scopes());
        let client = form.get("client_id").map_or("client", String::as_str);
        match self.mint(client, &scope, form.get("audience").map(String::as_str), now) {
            Ok(token) => Answer::json(
                StatusCode::OK,
                &json!({"access_token": token, "token_type": "Bearer", "expires_in": LIFETIME, "scope": scope}),
            ),
            Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        }
    }
}

impl Mock {
    /// Every scope that the contract declares.
    fn scopes(&self) -> String {
        let catalogues = self.contract.documents().iter().filter_map(|document| document.model().scopes.as_ref());
        catalogues.flat_map(Catalogue::iter).collect::<Vec<_>>().join(" ")
    }

    fn mint(&self, client: &str, scope: &str, audience: Option<&str>, now: SystemTime) -> Result<String, NoKey> {
        let origin = self.origin();
        let issued = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        self.keys.sign(&json!({
            "iss": format!("{origin}/"), "sub": format!("{client}@clients"), "azp": client, "scope": scope,
            "aud": audience.unwrap_or(&origin), "iat": issued, "exp": issued + LIFETIME,
        }))
    }

    /// A token with every scope; `None` if the system gives no randomness.
    fn bearer(&self) -> Option<String> {
        self.mint("client", &self.scopes(), None, SystemTime::now()).ok()
    }
}

impl Call<'_> {
    /// Takes from the request what the document relates to it (`x-contrail-relations`).
    fn relate(&self, value: &mut Value) {
        for relation in &self.operation.relations {
            match relation {
                Relation::Identity { parameter, response } => {
                    let raw = self.matched.raw.iter().find(|(name, _)| *name == &**parameter).map(|(_, raw)| *raw);
                    let decoded = raw.and_then(|raw| percent_encoding::percent_decode_str(raw).decode_utf8().ok());
                    if let (Some(place), Some(decoded)) = (value.pointer_mut(response), decoded) {
                        *place = decoded.into();
                    }
                }
                Relation::Echo { fields } => {
                    let Ok(sent) = self.request.body.document() else { continue };
                    let sent = sent.root().to_value();
                    for field in fields {
                        if let (Some(place), Some(sent)) = (value.pointer_mut(field), sent.pointer(field)) {
                            place.clone_from(sent);
                        }
                    }
                }
                Relation::PageSize { parameter, default, response } => {
                    let query = self.request.target.query().unwrap_or_default();
                    let given = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| *name == **parameter);
                    let size = given.and_then(|(_, size)| size.parse().ok()).or(*default).unwrap_or(u64::MAX);
                    if let Some(Value::Array(items)) = value.pointer_mut(response) {
                        items.truncate(usize::try_from(size).unwrap_or(usize::MAX));
                    }
                }
            }
        }
    }

    fn responses(&self) -> &Map<String, Value> {
        static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        let responses = self.document.document().pointer(&below(&self.operation.at, "responses"));
        responses.and_then(Value::as_object).unwrap_or(&NONE)
    }

    /// The status of success: the first that is documented, 200 for `2XX` and `default`.
    fn success(&self) -> Option<StatusCode> {
        let names = || self.responses().keys().map(String::as_str);
        let exact = |class: u16| {
            names().filter_map(|name| name.parse::<u16>().ok()).filter(move |status| status / 100 == class).min()
        };
        let any = || names().any(|name| name.eq_ignore_ascii_case("2XX") || name == "default").then_some(200);
        StatusCode::from_u16(exact(2).or_else(any).or_else(|| exact(3)).or_else(|| exact(1))?).ok()
    }

    /// The documented response for a status, with its place.
    fn response(&self, status: StatusCode) -> Option<(String, Value)> {
        let responses = self.responses();
        let class = format!("{}XX", status.as_u16() / 100);
        let names = [status.as_str(), &class, &class.to_ascii_lowercase(), "default"].map(str::to_owned);
        let name = names.into_iter().find(|name| responses.contains_key(name))?;
        let response = responses.get(&name)?;
        let target = response.get("$ref").and_then(Value::as_str);
        let followed = target.and_then(|target| resolve(self.document.document(), target));
        Some((below(&below(&self.operation.at, "responses"), &name), followed.unwrap_or(response).clone()))
    }
}

/// The headers that a response documents.
fn headers(document: &Value, response: &Value, style: Style) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, held) in response.get("headers").and_then(Value::as_object).into_iter().flatten() {
        let followed = held.get("$ref").and_then(Value::as_str).and_then(|target| resolve(document, target));
        let held = followed.unwrap_or(held);
        let required = held.get("required") == Some(&Value::Bool(true));
        let Some(schema) = held.get("schema").filter(|_| required || style.optional) else { continue };
        let value = held.get("example").cloned().filter(|_| style.examples);
        let Some(value) = value.or_else(|| Generator::new(document, style, Direction::Response).value(schema)) else {
            continue;
        };
        let name = name.parse::<HeaderName>().ok().filter(|name| *name != header::CONTENT_TYPE);
        if let (Some(name), Ok(value)) = (name, HeaderValue::from_str(&body::simple(&value))) {
            headers.insert(name, value);
        }
    }
    headers
}

/// What a reference within the document names.
fn resolve<'d>(document: &'d Value, target: &str) -> Option<&'d Value> {
    let pointer = percent_encoding::percent_decode_str(target.strip_prefix('#')?).decode_utf8().ok()?;
    let mut found = document.pointer(&pointer)?;
    for _ in 0..16 {
        let Some(next) =
            found.get("$ref").and_then(Value::as_str).filter(|_| found.as_object().is_some_and(|held| held.len() == 1))
        else {
            return Some(found);
        };
        let pointer = percent_encoding::percent_decode_str(next.strip_prefix('#')?).decode_utf8().ok()?;
        found = document.pointer(&pointer)?;
    }
    None
}

fn exchange_of(request: &exchange::Request, answer: Option<&Answer>) -> Exchange {
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
fn problem(status: StatusCode, detail: &str) -> Answer {
    let title = status.canonical_reason().unwrap_or("Error");
    let mut answer = Answer::json(status, &json!({"title": title, "status": status.as_u16(), "detail": detail}));
    answer.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    with_reason(answer, detail)
}

fn with_reason(mut answer: Answer, reason: &str) -> Answer {
    let plain: String =
        reason.chars().map(|character| if character.is_ascii_graphic() { character } else { ' ' }).collect();
    answer.headers.extend(HeaderValue::from_str(plain.trim()).ok().map(|reason| (REASON, reason)));
    answer
}

impl Answers for Mock {
    fn answer_now(&self, ask: &Ask<'_>) -> Answer {
        self.answer_at(ask, SystemTime::now())
    }
}

impl Upstream for Mock {
    fn answer(&self, request: upstream::Request) -> upstream::AnswerFuture<'_> {
        Box::pin(async move {
            let (target, head, body) = request.collect().await?;
            let ask = Ask { method: &head.method, target: &target.path_and_query, headers: &head.headers, body: &body };
            Ok(self.answer_now(&ask).into_response().map(MessageBody::stream).into())
        })
    }

    fn kind(&self) -> upstream::Kind {
        upstream::Kind::Memory
    }
}
