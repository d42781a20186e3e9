//! The token endpoint in replay: a fresh, well-formed token in place of the recorded one, which is gone.
//!
//! The key is made at start and forgotten at exit; no token of a replay is worth anything anywhere else.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::{Duration, SystemTime},
};

use contrail_exchange::{
    Request, TokenFacts, label,
    token::{NoKey, Signer},
};
use contrail_recording as recording;
use http::{HeaderMap, HeaderValue, header};
use serde_json::{Map, Value};

use super::{
    grant::{Grant, Learned, TokenRequest, granted_members},
    index::Index,
    serve::Answer,
};

/// Lifetime of a token where none was recorded.
const LIFETIME: Duration = Duration::from_hours(24);

/// The `kid` of its tokens.
const KEY_ID: &str = "contrail-replay";

/// Issues tokens as the recording's tenant did.
#[derive(Debug)]
pub(super) struct TokenEndpoint {
    signer: Signer,
    /// How each token of it begins.
    own: String,
    /// Recorded token requests by client id.
    grants: HashMap<Option<String>, Grants>,
    /// Issuer and audience of the first token in the recording.
    facts: Option<Arc<TokenFacts>>,
    /// Tokens in use, and their facts; `None` of those that are no JWTs.
    used: HashMap<String, Option<Arc<TokenFacts>>>,
    /// How many of them have the same owner and scopes. A fresh token would not tell them apart.
    alike: HashMap<Identity, usize>,
}

/// Recorded token requests of one client.
#[derive(Debug, Default)]
struct Grants {
    entries: Vec<u32>,
    /// The tokens that they got.
    tokens: HashSet<String>,
    /// What the last one that was granted got; `None` if none was.
    granted: Option<Map<String, Value>>,
    /// How a further one is answered, by what all of them got.
    issues: Issues,
}

/// Which token a client gets.
#[derive(Debug, Default)]
enum Issues {
    /// The recorded one: no token was granted, or one that is no JWT. A fresh one would not show whose it is, as that one
    /// does to the recording's requests.
    #[default]
    Recorded,
    /// A fresh one for this user, by the digest of the name; for the client itself without one.
    Fresh(Option<String>),
    /// A fresh one for the owner of the recorded one: there are several.
    Renewed,
}

/// Whose a token is: the client, and the user's digest; without one, it is the client's own.
type Owner<'a> = (Option<&'a str>, Option<&'a str>);

/// Owner and scopes of a token.
type Identity = (Option<String>, Option<String>, Option<Vec<String>>);

fn identity(facts: &TokenFacts) -> Identity {
    (facts.client.clone(), facts.user.clone(), facts.scopes.clone())
}

fn owner(facts: &TokenFacts) -> Owner<'_> {
    (facts.client.as_deref(), facts.user.as_deref())
}

/// What the endpoint does with a request.
pub(super) enum Reply {
    /// A fresh token; the recorded exchanges that it stands for; remarks to print.
    Token { answer: Answer, stands_for: Vec<u32>, remarks: Vec<String> },
    /// This client was only ever refused, got answers of another form, or tokens of several users: answer as recorded,
    /// with [`TokenEndpoint::renew`].
    AsRecorded,
}

impl TokenEndpoint {
    pub(super) fn new() -> Result<Self, NoKey> {
        let signer = Signer::generate()?;
        let own = signer.sign(KEY_ID, &Value::Null)?.split_inclusive('.').next().unwrap_or_default().to_owned();
        Ok(Self { signer, own, grants: HashMap::new(), facts: None, used: HashMap::new(), alike: HashMap::new() })
    }

    /// Whether a token of this endpoint stands in a text.
    pub(super) fn is_in(&self, text: &str) -> bool {
        text.contains(&self.own)
    }

    /// Takes note of a recorded exchange.
    pub(super) fn learn(&mut self, entry: u32, learned: Learned) {
        if self.facts.is_none() {
            self.facts.clone_from(&learned.facts);
        }
        if let Some(token) = learned.token {
            self.used.entry(token).or_insert(learned.facts);
        }
        if let Some(Grant { client, granted }) = learned.grant {
            let grants = self.grants.entry(client).or_default();
            grants.entries.push(entry);
            let token = granted.as_ref().and_then(|members| members.get("access_token")?.as_str());
            grants.tokens.extend(token.map(str::to_owned));
            grants.granted = granted.or(grants.granted.take());
        }
    }

    /// Everything was taken note of.
    pub(super) fn complete(&mut self) {
        for facts in self.used.values().flatten() {
            *self.alike.entry(identity(facts)).or_default() += 1;
        }
        for grants in self.grants.values_mut().filter(|grants| grants.granted.is_some()) {
            let used: Vec<_> = grants.tokens.drain().filter_map(|token| self.used.get(&token)).collect();
            let owners: Option<BTreeSet<Owner<'_>>> = used.iter().map(|facts| facts.as_deref().map(owner)).collect();
            grants.issues = match owners {
                None => Issues::Recorded,
                Some(owners) if owners.len() > 1 => Issues::Renewed,
                Some(owners) => Issues::Fresh(owners.first().and_then(|(_, user)| user.map(str::to_owned))),
            };
        }
    }

    /// Whether any token request of the same client stands for the recorded ones; `None` if none is recorded.
    pub(super) fn is_clients_own(&self, request: &Request) -> Option<bool> {
        let grants = self.grants.get(&TokenRequest::of(request).client)?;
        Some(matches!(grants.issues, Issues::Fresh(None)))
    }

    /// Answers a token request (as the client sent it, not redacted: Basic credentials name the client).
    pub(super) fn reply(&self, index: &Index, request: &Request, now: SystemTime) -> Reply {
        let asked = TokenRequest::of(request);
        let grants = self.grants.get(&asked.client);
        let user = match grants.map(|grants| &grants.issues) {
            Some(Issues::Recorded | Issues::Renewed) => return Reply::AsRecorded,
            Some(Issues::Fresh(user)) => user.as_deref(),
            None => None,
        };
        let template = grants.and_then(|grants| grants.granted.clone()).unwrap_or_default();
        let (scopes, remarks) = scopes(index, &asked, &template);
        let lifetime = template.get("expires_in").and_then(seconds).unwrap_or(LIFETIME);
        let Some(token) =
            self.sign(self.facts.as_deref(), &asked, (asked.client.as_deref(), user), Some(&scopes), lifetime, now)
        else {
            return Reply::AsRecorded;
        };
        let answer = respond(dated(template, now), token, lifetime, &scopes);
        let stands_for = match grants {
            Some(grants) => grants.entries.clone(),
            // A request without a client id stands for all of them, since its token carries all their scopes.
            None if asked.client.is_none() => self.granted_entries(),
            None => Vec::new(),
        };
        Reply::Token { answer, stands_for, remarks }
    }

    /// The recorded answer to a token request of a client with several users, with a fresh token for the one whom it
    /// was granted to; any other answer as it is.
    pub(super) fn renew(&self, request: &Request, answer: Answer, now: SystemTime) -> Answer {
        let asked = TokenRequest::of(request);
        let renewed = || {
            matches!(self.grants.get(&asked.client)?.issues, Issues::Renewed).then_some(())?;
            let template = granted_members(answer.status, answer.body.clone()?)?;
            let facts = self.used.get(template.get("access_token")?.as_str()?)?.as_ref()?;
            let scopes = facts.scopes.as_deref();
            let lifetime = template.get("expires_in").and_then(seconds).unwrap_or(LIFETIME);
            let token = self.sign(self.facts.as_deref(), &asked, owner(facts), scopes, lifetime, now)?;
            Some(respond(dated(template, now), token, lifetime, scopes.unwrap_or_default()))
        };
        renewed().unwrap_or(answer)
    }

    /// Makes the tokens in an answer's body as old as they were when they were recorded: expiries beside them lie in the
    /// future again, and a JWT that recorded requests have gives way to one of the same facts. Whether something changed.
    pub(super) fn freshen(&self, answer: &mut Answer, now: SystemTime) -> bool {
        let Some(body) = &mut answer.body else { return false };
        let dated = recording::expiries_from_distances(body, now);
        let mut changed = dated.is_some();
        if let Some(dated) = dated {
            *body = dated.into();
        }
        let renewed = label::replace(body, |at, _| {
            let is_whole = at.start > 0 && body[at.start - 1] == b'"' && body.get(at.end) == Some(&b'"');
            let known = std::str::from_utf8(&body[at]).ok().filter(|_| is_whole)?;
            let facts = self.used.get(known)?.as_deref()?;
            (self.alike.get(&identity(facts)) == Some(&1)).then(|| self.fresh(facts, now))?
        });
        if let Some(renewed) = renewed {
            *body = renewed.into();
            changed = true;
        }
        changed
    }

    /// A token with these facts.
    fn fresh(&self, facts: &TokenFacts, now: SystemTime) -> Option<String> {
        let lifetime =
            facts.lifetime.and_then(|lifetime| u64::try_from(lifetime).ok()).map_or(LIFETIME, Duration::from_secs);
        let audience = facts.audience.first().cloned();
        let asked = TokenRequest { audience, ..TokenRequest::default() };
        self.sign(Some(facts), &asked, owner(facts), facts.scopes.as_deref(), lifetime, now)
    }

    /// The recorded token requests of all clients that were granted a token.
    fn granted_entries(&self) -> Vec<u32> {
        let granted = self.grants.values().filter(|grants| grants.granted.is_some());
        granted.flat_map(|grants| grants.entries.iter().copied()).collect()
    }

    fn sign(
        &self,
        facts: Option<&TokenFacts>,
        asked: &TokenRequest,
        (client, user): Owner<'_>,
        scopes: Option<&[String]>,
        lifetime: Duration,
        now: SystemTime,
    ) -> Option<String> {
        let iss = facts.and_then(|facts| facts.issuer.as_deref()).unwrap_or("https://tenant.example/");
        let recorded = || facts.and_then(|facts| facts.audience.first().map(String::as_str));
        let audience = asked.audience.as_deref().or_else(recorded);
        let issued = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut claims = Map::new();
        claims.insert("iss".to_owned(), iss.into());
        // OpenID Connect's name for the client, and that of RFC 9068.
        for name in ["azp", "client_id"] {
            claims.extend(client.map(|client| (name.to_owned(), client.into())));
        }
        if let Some(user) = user {
            claims.insert("sub".to_owned(), user.into());
        } else {
            claims.extend(client.map(|client| ("sub".to_owned(), format!("{client}@clients").into())));
            claims.insert("gty".to_owned(), "client-credentials".into());
        }
        claims.extend(audience.map(|audience| ("aud".to_owned(), audience.into())));
        claims.insert("iat".to_owned(), issued.into());
        claims.insert("exp".to_owned(), issued.saturating_add(lifetime.as_secs()).into());
        claims.extend(scopes.map(|scopes| ("scope".to_owned(), scopes.join(" ").into())));
        self.signer.sign(KEY_ID, &Value::Object(claims)).ok()
    }
}

fn seconds(value: &Value) -> Option<Duration> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return None,
    };
    text.parse().ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

/// The scopes of the fresh token, and remarks to print about them.
fn scopes(index: &Index, asked: &TokenRequest, template: &Map<String, Value>) -> (Vec<String>, Vec<String>) {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<String>>();
    let union = |sets: &[BTreeSet<String>]| sets.iter().flatten().cloned().collect::<BTreeSet<_>>();
    let mut remarks = Vec::new();
    let mut sets: Vec<BTreeSet<String>> = match asked.client.as_deref() {
        Some(client) => index.callers.scopes_of(Some(client)).map(|set| set.iter().cloned().collect()).collect(),
        None => Vec::new(),
    };
    if sets.is_empty() {
        sets.extend(template.get("scope").and_then(Value::as_str).map(words));
    }
    let wanted = asked.scope.as_deref().map(words);
    let scopes = if let Some(wanted) = wanted.filter(|wanted| sets.contains(wanted)) {
        wanted
    } else if let [only] = sets.as_slice() {
        only.clone()
    } else if sets.is_empty() {
        sets.extend(index.callers.scopes_of(None).map(|set| set.iter().cloned().collect()));
        let why = match asked.client.as_deref() {
            Some(client) => format!("no scopes are recorded for client `{client}`"),
            None => "the token request names no client (`client_id` is missing or empty)".to_owned(),
        };
        remarks.push(format!("{why}; its token carries the union of all recorded scopes"));
        union(&sets)
    } else {
        remarks.push(format!(
            "client `{}` was recorded with {} different sets of scopes; its token carries their union",
            asked.client.as_deref().unwrap_or_default(),
            sets.len()
        ));
        union(&sets)
    };
    (scopes.into_iter().collect(), remarks)
}

/// What was granted, with expiries that lie in the future again.
fn dated(granted: Map<String, Value>, now: SystemTime) -> Map<String, Value> {
    let text = Value::Object(granted.clone()).to_string().into();
    let dated = recording::expiries_from_distances(&text, now);
    dated.and_then(|dated| serde_json::from_slice(&dated).ok()).unwrap_or(granted)
}

fn respond(mut body: Map<String, Value>, token: String, lifetime: Duration, scopes: &[String]) -> Answer {
    body.insert("access_token".to_owned(), token.into());
    body.insert("expires_in".to_owned(), lifetime.as_secs().into());
    if !scopes.is_empty() {
        body.entry("scope").or_insert_with(|| scopes.join(" ").into());
    }
    body.entry("token_type").or_insert_with(|| "Bearer".into());
    let headers = HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::CONTENT_LENGTH, HeaderValue::from_static("0")),
    ]);
    Answer::new(200, Arc::new(headers), Some(Value::Object(body).to_string().into()))
}
