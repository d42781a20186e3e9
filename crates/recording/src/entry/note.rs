//! The `_contrail` member of an entry as files hold it.
//!
//! What it states about the exchange goes back there (token facts, what is missing of a body, how the transport
//! ended); the rest is the [`Note`].

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use contrail_exchange::{
    Body, Credential, Presence, SignatureCheck, TokenFacts, TokenTime, Transport, Withheld,
    finding::{Blame, Finding, Rule, Unchecked, UncheckedSet, Verdict},
    json::{Kind, Node},
};

use super::{
    EntryFault,
    object::{self, Fault, Misfit, Read, members, number, objects},
};
use crate::{Attested, LaidOut, Note};

/// `_contrail`
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    token: Option<RecordedToken>,
    transport: Transport,
    pub(crate) sha256: Digests,
    request: Option<BodyRecord>,
    response: Option<BodyRecord>,
    session: Option<Arc<str>>,
    note: Note,
}

/// `_contrail.token`
#[derive(Debug, Clone)]
enum RecordedToken {
    /// The label of one in the head of the file.
    Label(String),
    Facts(Credential),
}

objects! {
    /// The same as files hold it.
    struct Members {
        operation: Option<String> = "operation",
        blame: Option<String> = "blame",
        findings: Vec<FindingRecord> = "findings",
        unchecked: Vec<String> = "unchecked",
        contract: Option<String> = "contract",
        attested: Option<AttestedRecord> = "attested",
        token: Option<RecordedToken> = "token",
        upstream: Option<String> = "upstream",
        session: Option<String> = "session",
        retried: bool = "retried",
        original_audience: Option<String> = "originalAudience",
        answered: Option<String> = "answered",
        incomplete: Option<String> = "incomplete",
        client_left: bool = "clientLeft",
        client_closed: bool = "clientClosed",
        trailers: bool = "trailers",
        event_times: Vec<u64> = "eventTimes",
        given: Option<u64> = "given",
        laid_out: Vec<String> = "laidOut",
        order: Option<u64> = "order",
        sha256: Digests = "sha256",
        request: Option<BodyRecord> = "request",
        response: Option<BodyRecord> = "response",
    }

    /// A finding.
    struct FindingRecord where rule {
        rule: Option<String> = "rule",
        at: String = "at",
        expected: String = "expected",
        seen: Option<String> = "seen",
    }

    /// See [`Attested`].
    struct AttestedRecord where contract {
        contract: Option<String> = "contract",
        findings: Vec<FindingRecord> = "findings",
        indexes: Vec<usize> = "indexes",
        cleared: Vec<FindingRecord> = "cleared",
        unchecked: Option<Vec<String>> = "unchecked",
        blame: Option<String> = "blame",
    }

    /// See [`Credential`].
    struct TokenRecord<'a> {
        malformed: Option<String> = "malformed",
        scheme: Option<String> = "scheme",
        user: Option<String> = "user",
        encrypted: bool = "encrypted",
        unknown: bool = "unknown",
        client: Option<String> = "client",
        scopes: Option<Vec<String>> = "scopes",
        issuer: Option<String> = "issuer",
        audience: Vec<String> = "audience",
        issued_at: Option<Node<'a>> = "issuedAt",
        not_before: Option<Node<'a>> = "notBefore",
        expires_at: Option<Node<'a>> = "expiresAt",
        lifetime: Option<Node<'a>> = "lifetime",
        outcome: Option<String> = "outcome",
        signature: Option<String> = "signature",
    }

    /// The SHA-256 of each body file, hexadecimal.
    #[derive(Clone)]
    pub(crate) struct Digests {
        pub(crate) request: Option<String> = "request",
        pub(crate) response: Option<String> = "response",
    }

    /// What is known of a body beside its text.
    #[derive(Clone)]
    struct BodyRecord {
        withheld: Option<String> = "withheld",
        truncated: Option<TruncatedRecord> = "truncated",
        malformed: bool = "malformed",
        coded: bool = "coded",
        redacted: Vec<String> = "redacted",
    }

    /// See [`Presence::Truncated`].
    #[derive(Clone)]
    struct TruncatedRecord where kept {
        kept: Option<u64> = "kept",
        total: Option<u64> = "total",
    }
}

/// Reads the member, an object.
pub(super) fn record(own: Node<'_>) -> Result<Record, EntryFault> {
    // A newer contrail's may hold anything else.
    if let Some(version) = own.get("version").filter(|version| version.kind() != Kind::Null) {
        check_version(version.raw()).map_err(EntryFault::Version)?;
    }
    Record::read(own).map_err(|misfit| {
        let misfit = self::misfit(&misfit.within("_contrail"));
        EntryFault::Note(format!("{misfit}; restore the file from a copy, or read it with a newer contrail"))
    })
}

/// Tokens whose facts stand in the head of a fixture (`log._contrail.tokens`), by their labels.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeadTokens(Arc<HashMap<String, Credential>>);

impl HeadTokens {
    /// Reads the member; `None` if it is not what it should be.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let document = object::document(text)?;
        let tokens = members(document.root()).ok()?;
        let tokens = tokens.map(|(label, token)| Ok((label.into_owned(), TokenRecord::read(token)?.credential())));
        tokens.collect::<Result<_, Misfit>>().ok().map(|tokens| Self(Arc::new(tokens)))
    }

    fn credential(&self, label: &str) -> Result<Credential, EntryFault> {
        self.0.get(label).cloned().ok_or_else(|| EntryFault::Token(label.chars().take(100).collect()))
    }
}

/// Why contrail's own member cannot be read.
fn misfit(misfit: &Misfit) -> String {
    let place = misfit.place();
    match misfit.fault() {
        Fault::Shape(Some((found, expected))) => {
            format!("`{place}` is {}, and contrail writes {} there", found.described(), expected.described())
        }
        Fault::Shape(None) => {
            format!("`{place}` lacks a member, or has one of another type than contrail writes")
        }
        Fault::Duplicate(name) => {
            let owner = place.rsplit_once('.').map_or(place, |(owner, _)| owner);
            format!("`{owner}` has two members `{name}`")
        }
    }
}

/// Whether `_contrail.version` is one that is read here; otherwise as it stands in the file, cut for reading.
pub(crate) fn check_version(raw: &str) -> Result<(), String> {
    #[allow(clippy::float_cmp)] // `1.0` is exact
    if raw.parse::<f64>().is_ok_and(|version| version == f64::from(crate::VERSION)) {
        return Ok(());
    }
    Err(raw.chars().take(40).collect())
}

impl Read<'_> for RecordedToken {
    fn read(value: Node<'_>) -> Result<Self, Misfit> {
        match value.as_str() {
            Some(label) => Ok(Self::Label(label.into_owned())),
            None => TokenRecord::read(value).map(|record| Self::Facts(record.credential())),
        }
    }
}

impl Read<'_> for Record {
    fn read(value: Node<'_>) -> Result<Self, Misfit> {
        let held = Members::read(value)?;
        let has = |side: &str| held.laid_out.iter().any(|held| held == side);
        let laid_out = LaidOut { request: has("request"), response: has("response") };
        Ok(Self {
            token: held.token,
            transport: Transport {
                incomplete: held.incomplete,
                client_left: held.client_left,
                client_closed: held.client_closed,
                trailers: held.trailers,
                event_times: (!held.event_times.is_empty()).then(|| held.event_times.into()),
                retried: held.retried,
                original_audience: held.original_audience,
                answered_by_contrail: held.answered.filter(|_| held.given.is_none()),
                given: held.given.and_then(|given| u16::try_from(given).ok()),
            },
            sha256: held.sha256,
            request: held.request,
            response: held.response,
            session: held.session.map(Arc::from),
            note: Note {
                verdict: Verdict {
                    operation: held.operation.map(Arc::from),
                    findings: findings(held.findings),
                    unchecked: unchecked(&held.unchecked),
                    reasons: Vec::new(),
                    blame: held.blame.as_deref().and_then(Blame::from_name),
                },
                contract: held.contract.map(Arc::from),
                attested: held.attested.map(AttestedRecord::attested),
                upstream: held.upstream.map(Arc::from),
                laid_out,
                order: held.order.and_then(|order| u32::try_from(order).ok()),
            },
        })
    }
}

impl Record {
    /// The request's credential, if the record shows it; otherwise what is wrong with the record.
    pub(crate) fn credential(&self, head: &HeadTokens) -> Result<Option<Credential>, EntryFault> {
        match &self.token {
            None => Ok(None),
            Some(RecordedToken::Label(label)) => head.credential(label).map(Some),
            Some(RecordedToken::Facts(credential)) => Ok(Some(credential.clone())),
        }
    }

    /// The session that the request belonged to.
    pub(crate) fn session(&self) -> Option<Arc<str>> {
        self.session.clone()
    }

    /// The upstreams of its recording.
    pub(crate) fn upstream(&self) -> Option<&str> {
        self.note.upstream.as_deref()
    }

    /// How the transport ended.
    pub(crate) fn transport(&self) -> Transport {
        self.transport.clone()
    }

    /// Puts back what the record states about the bodies.
    pub(crate) fn complete(&self, body: &mut Body, response: bool) {
        let record = if response { &self.response } else { &self.request };
        let Some(record) = record else { return };
        if let Some(reason) = &record.withheld {
            body.presence = Presence::Withheld(Withheld::from_name(reason));
        } else if let Some(cut) = &record.truncated {
            body.presence = Presence::Truncated { kept: cut.kept.unwrap_or_default(), total: cut.total };
        }
        body.malformed = record.malformed;
        body.coded = record.coded;
        body.redacted.clone_from(&record.redacted);
    }

    /// Which bodies are laid out.
    pub(crate) fn laid_out(&self) -> LaidOut {
        self.note.laid_out
    }

    /// What is left.
    pub(crate) fn note(&self) -> Note {
        self.note.clone()
    }
}

impl AttestedRecord {
    fn attested(self) -> Attested {
        Attested {
            contract: self.contract.unwrap_or_default().into(),
            findings: findings(self.findings),
            indexes: self.indexes,
            cleared: findings(self.cleared),
            unchecked: self.unchecked.as_deref().map(unchecked),
            blame: self.blame.as_deref().and_then(Blame::from_name),
        }
    }
}

impl TokenRecord<'_> {
    #[allow(clippy::cast_possible_truncation)] // seconds since the epoch
    fn credential(&self) -> Credential {
        if let Some(reason) = &self.malformed {
            return Credential::Malformed(reason.clone());
        }
        if let Some(scheme) = &self.scheme {
            return Credential::OtherScheme { scheme: scheme.clone(), user: self.user.clone() };
        }
        if self.encrypted {
            return Credential::Encrypted;
        }
        // Without an outcome, or with a newer contrail's, nothing says whether the tenant had to take it.
        let Some(time) = self.outcome.as_deref().and_then(TokenTime::from_name).filter(|_| !self.unknown) else {
            return Credential::Unknown;
        };
        let seconds = |value: Option<Node<'_>>| {
            value.and_then(|value| value.raw().parse().ok()).or_else(|| number(value?).map(|number| number as i64))
        };
        Credential::Token(Arc::new(TokenFacts {
            client: self.client.clone(),
            user: self.user.clone(),
            scopes: self.scopes.clone(),
            issuer: self.issuer.clone(),
            audience: self.audience.clone(),
            issued_at: seconds(self.issued_at),
            not_before: seconds(self.not_before),
            expires_at: seconds(self.expires_at),
            lifetime: seconds(self.lifetime),
            time,
            signature: match self.signature.as_deref() {
                Some("good") => SignatureCheck::Good,
                Some("bad") => SignatureCheck::Bad,
                _ => SignatureCheck::NotChecked,
            },
            unknown_key: None,
        }))
    }
}

/// Findings of rules that this contrail knows; one of a later contrail's is left out.
fn findings(records: Vec<FindingRecord>) -> Vec<Finding> {
    records
        .into_iter()
        .filter_map(|record| {
            Some(Finding {
                rule: record.rule?.parse::<Rule>().ok()?,
                at: record.at,
                expected: Cow::Owned(record.expected),
                seen: record.seen,
            })
        })
        .collect()
}

fn unchecked(names: &[String]) -> UncheckedSet {
    let mut set = UncheckedSet::default();
    for aspect in names.iter().filter_map(|name| Unchecked::from_name(name)) {
        set.insert(aspect);
    }
    set
}
