//! The fold over exchanges.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::Arc,
};

use contrail_contract::{Contract, Operation};
use contrail_exchange::{
    Body, Credential, Exchange, Response, SignatureCheck, TokenTime,
    finding::{Rule, Unchecked},
    is_bodiless, is_redacted,
    json::Kind,
    media,
};
use contrail_redact::{JudgedExchange, Redacted};
use serde_json::Value;

use super::{
    evidence::{Cited, Sightings},
    places::{self, SchemaPlace},
    scopes::{Call, Calls, Words},
    shape::Shape,
};

/// Maximum media types of one response, values of one set, and fields of one object that are kept apart.
const MAX_MEDIA_TYPES: usize = 8;
const MAX_VALUES: usize = 200;
const MAX_FIELDS: usize = 100;
/// Maximum tenants that mention a scope in a refusal.
const MAX_EXPLAINING: usize = 1000;

/// Takes in exchanges.
#[derive(Debug, Clone)]
pub struct Learner {
    pub(super) contract: Arc<Contract>,
    pub(super) exchanges: u64,
    /// Of each operation whose required scope is not shown: document and pointer.
    pub(super) calls: BTreeMap<(usize, Box<str>), Calls>,
    /// Tenants that mention a scope in a refusal of any operation.
    pub(super) explaining: BTreeSet<String>,
    /// Of each response: document and pointer.
    pub(super) answers: BTreeMap<(usize, String), Answers>,
    /// Of each schema: document and pointer.
    pub(super) schemas: BTreeMap<(usize, String), Beyond>,
}

/// The answers of one status.
#[derive(Debug, Clone)]
pub(super) struct Answers {
    /// Pointer of the operation that had it first.
    pub(super) operation: Box<str>,
    pub(super) status: u16,
    /// All operations that had it, with the status; a response of its own has one.
    pub(super) users: BTreeSet<(Box<str>, u16)>,
    pub(super) seen: Sightings,
    /// By media type.
    pub(super) bodies: BTreeMap<String, Bodies>,
    pub(super) without_body: u64,
    /// Bodies that no schema can describe.
    pub(super) unread: u64,
}

/// The bodies of one media type.
#[derive(Debug, Clone, Default)]
pub(super) struct Bodies {
    pub(super) count: u64,
    /// `None` for what is no JSON.
    pub(super) shape: Option<Shape>,
}

/// What was seen beyond a schema.
#[derive(Debug, Clone, Default)]
pub(super) struct Beyond {
    /// Further values of a set of known ones.
    pub(super) values: BTreeMap<String, Sightings>,
    /// Further fields of an object.
    pub(super) fields: BTreeMap<String, (Sightings, Shape)>,
}

impl Learner {
    /// Learns what this contract does not show.
    #[must_use]
    pub fn new(contract: Arc<Contract>) -> Self {
        Self {
            contract,
            exchanges: 0,
            calls: BTreeMap::new(),
            explaining: BTreeSet::new(),
            answers: BTreeMap::new(),
            schemas: BTreeMap::new(),
        }
    }

    /// How many exchanges were taken in.
    #[must_use]
    pub fn exchanges(&self) -> u64 {
        self.exchanges
    }

    /// Takes in an exchange, which is this entry of a file.
    pub fn exchange(&mut self, file: &Arc<str>, entry: usize, judged: &Redacted<JudgedExchange>) {
        self.exchanges += 1;
        let exchange = &*judged.exchange;
        let Some(response) = exchange.response.as_ref().filter(|response| response.status != 0) else { return };
        if exchange.transport.answered_by_contrail.is_some() {
            return;
        }
        let contract = Arc::clone(&self.contract);
        let path = exchange.request.target.path();
        let Some((document, matched)) = contract.judges(&exchange.request) else { return };
        let operation = matched.operation;
        if operation.token_endpoint || matched.other_spelling {
            return;
        }
        let number = contract.documents().iter().position(|one| std::ptr::eq(one, document)).unwrap_or_default();
        let cited = Cited { file: Arc::clone(file), entry, at: exchange.started };
        if let Some(call) = call(operation, exchange, response) {
            let tenant = exchange.request.target.normal_origin();
            if let Call::Refused(_, words) = &call
                && words.mentions_scope()
                && self.explaining.len() < MAX_EXPLAINING
            {
                self.explaining.insert(tenant.clone());
            }
            if operation.not_shown.contains(Unchecked::RequiredScope) {
                let calls = self.calls.entry((number, operation.at.clone())).or_default();
                calls.take(tenant, path, call, &cited);
            }
        }
        // A page of a gateway in between teaches nothing of the tenant.
        if judged.verdict.findings.iter().any(|finding| finding.rule == Rule::ResponseContentType) {
            return;
        }
        let Some(listed) = places::response(document.document(), operation, response.status) else { return };
        let schema = places::body_schema(document, &listed, response);
        self.answer((number, listed.at), operation, exchange, response, &cited);
        let undocumented: BTreeSet<&str> = judged
            .verdict
            .findings
            .iter()
            .filter(|finding| finding.rule == Rule::ResponseBodyUndocumented)
            .map(|finding| &*finding.at)
            .collect();
        if let Some(schema) = schema.filter(|_| !undocumented.is_empty()) {
            self.beyond((number, document.document()), &schema, &response.body, &undocumented, &cited);
        }
    }

    fn answer(
        &mut self,
        key: (usize, String),
        operation: &Operation,
        exchange: &Exchange,
        response: &Response,
        cited: &Cited,
    ) {
        let answers = match self.answers.entry(key) {
            Entry::Occupied(held) => {
                let held = held.into_mut();
                held.seen.again(cited);
                held
            }
            Entry::Vacant(free) => free.insert(Answers {
                operation: operation.at.clone(),
                status: response.status,
                users: BTreeSet::new(),
                seen: Sightings::new(cited),
                bodies: BTreeMap::new(),
                without_body: 0,
                unread: 0,
            }),
        };
        answers.users.insert((operation.at.clone(), response.status));
        let body = &response.body;
        if is_bodiless(&exchange.request.method, response.status) || body.is_absent() {
            answers.without_body += 1;
            return;
        }
        let named = response.headers.get("content-type").map(|value| media::essence(value.as_bytes()).into_owned());
        let known = named.filter(|named| {
            answers.bodies.contains_key(named) || (answers.bodies.len() < MAX_MEDIA_TYPES && named.contains('/'))
        });
        let is_readable = body.is_whole() && exchange.transport.incomplete.is_none() && !body.malformed;
        let Some(media_type) = known.filter(|_| is_readable) else {
            answers.unread += 1;
            return;
        };
        let is_json = media::is_json(&media_type);
        let document = is_json.then(|| body.document());
        if matches!(document, Some(Err(_))) || body.redacted.iter().any(String::is_empty) {
            answers.unread += 1;
            return;
        }
        let held = answers.bodies.entry(media_type).or_default();
        held.count += 1;
        if let Some(Ok(document)) = document {
            held.shape.get_or_insert_default().add(document.root(), &body.redacted);
        }
    }

    /// The values at these places of a response's body, which the document does not show.
    fn beyond(
        &mut self,
        (number, described): (usize, &Value),
        schema: &str,
        body: &Body,
        undocumented: &BTreeSet<&str>,
        cited: &Cited,
    ) {
        let Ok(document) = body.document() else { return };
        for at in undocumented.iter().filter(|at| !is_redacted(&body.redacted, at)) {
            let (Some(value), Some(place)) = (document.pointer(at), places::of_value(described, schema, at)) else {
                continue;
            };
            match place {
                SchemaPlace::Known(schema) if value.kind() == Kind::String => {
                    let values = &mut self.schemas.entry((number, schema)).or_default().values;
                    let text = value.as_str().unwrap_or_default();
                    if let Some(seen) = values.get_mut(&*text) {
                        seen.again(cited);
                    } else if values.len() < MAX_VALUES {
                        values.insert(text.into_owned(), Sightings::new(cited));
                    }
                }
                SchemaPlace::Further { object, name } => {
                    let fields = &mut self.schemas.entry((number, object)).or_default().fields;
                    let has_room = fields.len() < MAX_FIELDS;
                    let shape = match fields.entry(name) {
                        Entry::Occupied(held) => {
                            let (seen, shape) = held.into_mut();
                            seen.again(cited);
                            shape
                        }
                        Entry::Vacant(free) if has_room => {
                            &mut free.insert((Sightings::new(cited), Shape::default())).1
                        }
                        Entry::Vacant(_) => continue,
                    };
                    let below = |place: &String| place.strip_prefix(at).map(str::to_owned);
                    shape.add(value, &body.redacted.iter().filter_map(below).collect::<Vec<_>>());
                }
                SchemaPlace::Known(_) => {}
            }
        }
    }
}

/// What a call states about the required scope; `None` where it shows nothing.
fn call(operation: &Operation, exchange: &Exchange, response: &Response) -> Option<Call> {
    let accepted = (200..300).contains(&response.status);
    if !accepted && response.status != 403 {
        return None;
    }
    let facts = match &exchange.request.credential {
        Credential::Token(facts) => facts,
        Credential::Encrypted | Credential::Unknown => return Some(Call::Unread),
        // What the tenant accepts without a token needs no scope.
        _ if accepted => return Some(Call::Accepted(BTreeSet::new())),
        _ => return None,
    };
    if !accepted && (facts.time != TokenTime::Valid || facts.signature == SignatureCheck::Bad) {
        return None;
    }
    let scopes: BTreeSet<String> = match &facts.scopes {
        Some(scopes) => scopes.iter().cloned().collect(),
        // The claims of an opaque token need not list its scopes.
        None if !operation.takes_jwt() => return Some(Call::Unread),
        None => BTreeSet::new(),
    };
    Some(if accepted { Call::Accepted(scopes) } else { Call::Refused(scopes, Words::of(response)) })
}
