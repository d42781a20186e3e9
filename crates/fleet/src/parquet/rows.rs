//! From a judged exchange to its row.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use contrail_contract::{Contract, Demand, Security};
use contrail_exchange::{
    ByToken, Credential, Request, Timings, TokenFacts,
    finding::{Blame, Verdict},
    hex::hex,
};
use contrail_redact::{JudgedExchange, Redacted};
use contrail_report::audit::{client_of, name_of};
use ring::digest::{SHA256, digest};

use super::row::{Finding, Row, Token};

/// Bytes of the SHA-256 of a token's facts that make its key.
const KEY: usize = 16;

/// Where an exchange stands.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The id of its trail, if it stands in one.
    pub trail: Option<Arc<str>>,
    /// The file, as it was named.
    pub source: Arc<str>,
    /// Index in that file.
    pub entry: usize,
    /// Line in a journal.
    pub line: Option<usize>,
}

/// What an operation asks of a caller, and the scopes of it as a row has them.
type Required = (Arc<Security>, Arc<[String]>);

/// Makes rows.
#[derive(Debug)]
pub struct Rows {
    contract: Arc<Contract>,
    /// Of the operations that document them.
    required: HashMap<Arc<str>, Required>,
    keys: ByToken<Arc<str>>,
}

impl Rows {
    /// Of exchanges that were judged under this contract.
    #[must_use]
    pub fn new(contract: Arc<Contract>) -> Self {
        let required = contract.operations().map(|operation| {
            let bearers = operation.security.alternatives.iter().filter_map(|one| one.bearer.as_ref());
            let mut scopes: Vec<String> = bearers.map(|bearer| bearer.scopes.join(" ")).collect();
            scopes.dedup();
            (Arc::from(&*operation.id), (Arc::clone(&operation.security), Arc::from(scopes)))
        });
        Self { required: required.collect(), contract, keys: ByToken::default() }
    }

    /// The row of an exchange.
    pub fn of(&mut self, place: Place, judged: &Redacted<JudgedExchange>) -> Row {
        let JudgedExchange { exchange, verdict, .. } = &**judged;
        let Place { trail, source, entry, line } = place;
        let (request, target) = (&exchange.request, &exchange.request.target);
        let facts = match &request.credential {
            Credential::Token(facts) => Some(facts),
            _ => None,
        };
        let Timings { send, wait, receive, .. } = exchange.timings;
        let is_timed = send.or(wait).or(receive).is_some();
        Row {
            trail,
            source,
            entry: whole(entry),
            line: line.map(whole),
            started: exchange.started.and_then(instant),
            duration: is_timed.then(|| micros(exchange.timings.total())).flatten(),
            wait: wait.and_then(micros),
            method: request.method.to_string(),
            origin: target.origin(),
            path: target.path().to_owned(),
            query: target.query().map(str::to_owned),
            operation: verdict.operation.clone(),
            status: exchange.response.as_ref().map(|response| i64::from(response.status)),
            verdict: verdict.conclusion().name().to_owned(),
            blame: verdict.blame.map(|blame| Blame::name(blame).to_owned()),
            caller: name_of(request, &self.contract),
            client: client_of(request, &self.contract),
            credential: credential(&request.credential).to_owned(),
            token: facts.map(|facts| token(Arc::clone(self.keys.get_or_put(facts, || key(facts))), facts)),
            token_time: facts.map(|facts| facts.time.name().to_owned()),
            signature: facts.map(|facts| facts.signature.name().to_owned()),
            required_scopes: verdict.operation.as_ref().and_then(|operation| self.required_scopes(operation, request)),
            request_bytes: request.body.wire_size.and_then(bytes),
            response_bytes: exchange.response.as_ref().and_then(|response| response.body.wire_size).and_then(bytes),
            answered: exchange.transport.answered_by_contrail.clone(),
            findings: findings(verdict),
        }
    }

    fn required_scopes(&self, operation: &str, request: &Request) -> Option<Arc<[String]>> {
        let (security, scopes) = self.required.get(operation)?;
        matches!(security.demand(request), Demand::Scopes(_)).then(|| Arc::clone(scopes))
    }
}

/// The findings of a verdict, then what was not checked.
fn findings(verdict: &Verdict) -> Vec<Finding> {
    let found = verdict.findings.iter().map(|finding| Finding {
        kind: finding.kind().name().to_owned(),
        rule: Some(finding.rule.id().to_owned()),
        aspect: None,
        place: Some(finding.at.clone()),
        message: Some(finding.message()),
    });
    let unchecked = verdict.unchecked.iter().map(|aspect| Finding {
        kind: "unchecked".to_owned(),
        rule: None,
        aspect: Some(aspect.name().to_owned()),
        place: None,
        message: None,
    });
    found.chain(unchecked).collect()
}

/// The word of the column `credential`.
const fn credential(credential: &Credential) -> &'static str {
    match credential {
        Credential::Missing => "missing",
        Credential::OtherScheme { .. } => "other-scheme",
        Credential::Malformed(_) => "malformed",
        Credential::Encrypted => "encrypted",
        Credential::Token(_) => "token",
        Credential::Unknown => "unknown",
    }
}

fn token(key: Arc<str>, facts: &TokenFacts) -> Token {
    Token {
        key,
        client: facts.client.clone(),
        scopes: facts.scopes.clone(),
        issuer: facts.issuer.clone(),
        audience: facts.audience.clone(),
        issued_at: facts.issued_at,
        not_before: facts.not_before,
        expires_at: facts.expires_at,
        lifetime: lifetime(facts),
    }
}

/// The same facts have the same key in every export. The token itself is no part of it, nor is what an exchange or this
/// run found out about it.
fn key(facts: &TokenFacts) -> Arc<str> {
    let TokenFacts { client, scopes, issuer, audience, issued_at, not_before, expires_at, .. } = facts;
    let all = (client, scopes, issuer, audience, issued_at, not_before, expires_at, lifetime(facts));
    let text = serde_json::to_vec(&all).unwrap_or_default();
    hex(&digest(&SHA256, &text).as_ref()[..KEY]).into()
}

/// Not every tool's file is read with the difference.
fn lifetime(facts: &TokenFacts) -> Option<i64> {
    facts.lifetime.or_else(|| facts.expires_at?.checked_sub(facts.issued_at?))
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn bytes(count: u64) -> Option<i64> {
    i64::try_from(count).ok()
}

fn micros(duration: Duration) -> Option<i64> {
    i64::try_from(duration.as_micros()).ok()
}

/// Microseconds since 1970.
fn instant(at: SystemTime) -> Option<i64> {
    match at.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => micros(after),
        Err(before) => micros(before.duration()).map(|micros| -micros),
    }
}
