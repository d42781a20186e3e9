//! The tenant: whom it lets in, and what it answers.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use bytes::Bytes;
use contrail_exchange::token::NoKey;
use http::{HeaderValue, Method, StatusCode, header};
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use super::{
    call::{Call, TOKEN_PATHS},
    keys::{Claims, Keys, TokenFault, epoch},
    limits::Windows,
    message::{Answer, Answers, Ask},
    misbehave::{Misbehaviour, Misbehaviours},
    seed::{self, Client, RateLimit, ResetClock, Seed},
    state::TenantState,
};

/// Where a tenant reads the time from.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// A tenant.
pub struct Tenant {
    /// `https://` and the seed's host name.
    pub(super) origin: String,
    pub(super) clients: Vec<Client>,
    pub(super) policies: HashMap<String, Bytes>,
    pub(super) profile_templates: Bytes,
    pub(super) groups: HashMap<String, Vec<String>>,
    pub(super) actions: HashMap<String, Map<String, Value>>,
    state: Mutex<TenantState>,
    windows: Windows,
    reset: ResetClock,
    seed_clock: jiff::Timestamp,
    pub(super) keys: Keys,
    pub(super) misbehaviours: Misbehaviours,
    samples: Samples,
    clock: Clock,
}

/// One id of each kind of resource: the first of the seed, where it holds any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    /// For 4.1.
    pub rate_limit_policy: Option<String>,
    /// One of those that 4.2 lists.
    pub connection_profile_template: Option<String>,
    /// For 4.3.
    pub connection: Option<String>,
    /// For 4.4; a stream that has a failed event.
    pub event_stream: Option<String>,
    /// For 4.4; the first failed event of that stream.
    pub event: Option<String>,
    /// For 4.5.
    pub verifiable_credential_template: Option<String>,
    /// For 4.6.
    pub action: Option<String>,
}

impl Samples {
    fn of(seed: &Seed) -> Self {
        let stream = seed.event_streams.iter().find(|stream| !stream.failed_events.is_empty());
        Self {
            rate_limit_policy: seed.rate_limit_policies.first().map(|held| held.id.clone()),
            connection_profile_template: seed.connection_profile_templates.first().map(|held| held.id.clone()),
            connection: seed.connections.first().map(|held| held.id.clone()),
            event_stream: stream.map(|stream| stream.id.clone()),
            event: stream.and_then(|stream| stream.failed_events.first()).map(|event| event.id.clone()),
            verifiable_credential_template: seed.verifiable_credential_templates.first().map(|held| held.id.clone()),
            action: seed.actions.first().map(|held| held.id.clone()),
        }
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenant").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Tenant {
    /// A tenant that holds what the seed says, with a fresh signing key, and a fresh secret for every client to which
    /// the seed gives none.
    ///
    /// # Errors
    ///
    /// [`NoKey`] if the system has no randomness to give.
    pub fn new(seed: Seed, misbehaviours: &[Misbehaviour]) -> Result<Self, NoKey> {
        let keys = Keys::generate()?;
        let mut clients = seed.clients.clone();
        for client in &mut clients {
            if client.secret.is_none() {
                client.secret = Some(Keys::secret()?);
                client.generated = true;
            }
        }
        let templates = seed.connection_profile_templates.iter().map(|held| Value::Object(held.body.clone()));
        let templates = json!({"connection_profile_templates": templates.collect::<Vec<_>>()});
        let policy = |held: &seed::Resource| (held.id.clone(), Value::Object(held.body.clone()).to_string().into());
        Ok(Self {
            origin: format!("https://{}", seed.tenant),
            clients,
            policies: seed.rate_limit_policies.iter().map(policy).collect(),
            profile_templates: templates.to_string().into(),
            state: Mutex::new(TenantState::new(&seed)),
            windows: Windows::default(),
            reset: seed.rate_limit_reset,
            seed_clock: seed.clock,
            keys,
            misbehaviours: Misbehaviours::new(misbehaviours),
            samples: Samples::of(&seed),
            clock: Arc::new(SystemTime::now),
            groups: seed.connections.into_iter().map(|held| (held.id, held.groups.0)).collect(),
            actions: seed.actions.into_iter().map(|held| (held.id, held.sets)).collect(),
        })
    }

    /// The same tenant with another clock for tokens and rate limits.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Breaks these rules from now on, and no others.
    pub fn misbehave(&self, misbehaviours: &[Misbehaviour]) {
        self.misbehaviours.replace(misbehaviours);
    }

    /// `https://` and the tenant's own host name, as its tokens say it.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Who may ask for tokens, secrets filled in.
    #[must_use]
    pub fn clients(&self) -> &[Client] {
        &self.clients
    }

    /// One id of each kind of resource.
    #[must_use]
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// Answers one request at an instant.
    pub fn answer(&self, ask: &Ask<'_>, now: SystemTime) -> Answer {
        let mut answer = match (ask.method, ask.path()) {
            (&Method::POST, path) if TOKEN_PATHS.contains(&path) => self.token(ask, now),
            (&Method::GET, "/.well-known/jwks.json") => Answer::json(StatusCode::OK, &self.keys.jwks()),
            (method, path) => match Call::route(method, path) {
                Some(call) => self.call(&call, ask, now),
                None => Answer::refusal(StatusCode::NOT_FOUND, "There is no such operation"),
            },
        };
        if ask.method == Method::HEAD {
            answer.body = Bytes::new();
        }
        answer
    }

    fn call(&self, call: &Call, ask: &Ask<'_>, now: SystemTime) -> Answer {
        let honest = match self.admit(call, ask, now) {
            Ok(()) => self.perform(call, ask),
            Err(refusal) if refusal.is_documented(call) && self.misbehaviours.lets_in() => self.perform(call, ask),
            Err(refusal) => self.refuse(call, refusal),
        };
        self.misbehaviours.spoil(call, ask, honest)
    }

    /// Lets a request in, or gives the reason against it.
    fn admit(&self, call: &Call, ask: &Ask<'_>, now: SystemTime) -> Result<(), Refusal> {
        let Claims { client, scopes } = self.authenticate(ask, now).map_err(Refusal::Token)?;
        let client = self.client(&client).ok_or(Refusal::Token(TokenFault::Stranger))?;
        if !client.global {
            return Err(Refusal::NotGlobal);
        }
        if let Some(limit) = client.rate_limit {
            self.windows.count(&client.id, limit, now).map_err(|ends| Refusal::TooMany(limit, ends))?;
        }
        if scopes.iter().any(|scope| scope == call.scope()) { Ok(()) } else { Err(Refusal::Scope) }
    }

    fn authenticate(&self, ask: &Ask<'_>, now: SystemTime) -> Result<Claims, TokenFault> {
        let value = ask.header(header::AUTHORIZATION).ok_or(TokenFault::Missing)?;
        let (scheme, token) = value.split_once(' ').ok_or(TokenFault::Missing)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(TokenFault::Missing);
        }
        self.keys.verify(token.trim(), &self.origin, now)
    }

    fn refuse(&self, call: &Call, refusal: Refusal) -> Answer {
        match refusal {
            Refusal::Token(fault) => unauthorized(fault.message()),
            Refusal::NotGlobal => unauthorized("Client is not global"),
            Refusal::Scope => {
                let message = format!("Insufficient scope, expected: {}", call.scope());
                Answer::refusal(StatusCode::FORBIDDEN, &message)
            }
            Refusal::TooMany(limit, ends) => {
                let reset = match self.reset {
                    ResetClock::Wall => epoch(ends),
                    ResetClock::Seed => {
                        let window = SignedDuration::from_secs(i64::from(limit.seconds));
                        let ends = self.seed_clock.saturating_add(window).unwrap_or(self.seed_clock);
                        u64::try_from(ends.as_second()).unwrap_or_default()
                    }
                };
                Answer::refusal(StatusCode::TOO_MANY_REQUESTS, "Global limit has been reached")
                    .with("x-ratelimit-limit", HeaderValue::from(limit.requests))
                    .with("x-ratelimit-remaining", HeaderValue::from(0))
                    .with("x-ratelimit-reset", HeaderValue::from(reset))
            }
        }
    }

    pub(super) fn client(&self, id: &str) -> Option<&Client> {
        self.clients.iter().find(|client| client.id == id)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, TenantState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers for Tenant {
    fn answer_now(&self, ask: &Ask<'_>) -> Answer {
        self.answer(ask, (self.clock)())
    }
}

/// 401 with the challenge that RFC 9110, section 15.5.2, asks for.
fn unauthorized(message: &str) -> Answer {
    Answer::refusal(StatusCode::UNAUTHORIZED, message)
        .with("www-authenticate", HeaderValue::from_static("Bearer realm=\"tenant\""))
}

/// Why a request is not let in.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    Token(TokenFault),
    NotGlobal,
    TooMany(RateLimit, SystemTime),
    Scope,
}

impl Refusal {
    /// Whether letting the request in would break what the document states, and can be seen from outside.
    fn is_documented(self, call: &Call) -> bool {
        match self {
            Self::Token(fault) => fault != TokenFault::Stranger,
            Self::Scope => matches!(call, Call::GetPolicy { .. }),
            Self::NotGlobal | Self::TooMany(..) => false,
        }
    }
}
