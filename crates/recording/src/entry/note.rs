//! The `_contrail` member of an entry as files hold it.
//!
//! What it states about the exchange goes back there (token facts, what is missing of a body, how the transport
//! ended); the rest is the [`Note`].

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use contrail_exchange::{
    Body, Credential, Presence, SignatureCheck, TokenFacts, TokenTime, Transport, Withheld,
    finding::{Blame, Finding, Rule, Unchecked, UncheckedSet, Verdict},
    json::lenient::{self, LenientError, LenientFault, Raw, Read, Reader, objects, read_by},
};

use super::EntryFault;
use crate::{Attested, LaidOut, Note};

/// `_contrail`
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// As it is written.
    pub(crate) version: Option<Box<str>>,
    /// As it is written.
    token: Option<Box<str>>,
    transport: Transport,
    pub(crate) sha256: Digests,
    request: Option<BodyRecord>,
    response: Option<BodyRecord>,
    note: Note,
}

objects! {
    /// The same as files hold it.
    struct Members<'a> {
        version: Option<Raw<'a>> = "version",
        operation: Option<String> = "operation",
        blame: Option<String> = "blame",
        findings: Vec<FindingRecord> = "findings",
        unchecked: Vec<String> = "unchecked",
        contract: Option<String> = "contract",
        attested: Option<AttestedRecord> = "attested",
        token: Option<Raw<'a>> = "token",
        upstream: Option<String> = "upstream",
        retried: bool = "retried",
        original_audience: Option<String> = "originalAudience",
        answered: Option<String> = "answered",
        incomplete: Option<String> = "incomplete",
        client_left: bool = "clientLeft",
        trailers: bool = "trailers",
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
        issued_at: Option<Raw<'a>> = "issuedAt",
        not_before: Option<Raw<'a>> = "notBefore",
        expires_at: Option<Raw<'a>> = "expiresAt",
        lifetime: Option<Raw<'a>> = "lifetime",
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

/// Reads the member; `None` where it is no object.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Option<Record>, LenientError> {
    if !reader.is_object()? {
        return reader.skip().map(|()| None);
    }
    Record::read(reader).map(Some)
}

/// Tokens whose facts stand in the head of a fixture (`log._contrail.tokens`), by their labels.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeadTokens(Arc<HashMap<String, Credential>>);

impl HeadTokens {
    /// Reads the member; `None` if it is not what it should be.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let tokens = read_by(text, |reader| {
            let mut tokens = HashMap::new();
            reader.object(|label, reader| {
                tokens.insert(label.to_owned(), TokenRecord::read(reader)?.credential());
                Ok(())
            })?;
            Ok(tokens)
        });
        tokens.ok().map(|tokens| Self(Arc::new(tokens)))
    }

    fn credential(&self, label: &str) -> Result<Credential, EntryFault> {
        self.0.get(label).cloned().ok_or_else(|| EntryFault::Token(label.chars().take(100).collect()))
    }
}

/// The value of contrail's member at `path` (`_contrail` or `_contrail.token`), otherwise why it cannot be read.
fn parse<'a, T: Read<'a>>(path: &str, text: &'a str) -> Result<T, String> {
    lenient::read(text.as_bytes()).map_err(|error| {
        let error = path.rsplit('.').fold(error, LenientError::within);
        format!("{}; restore the file from a copy, or read it with a newer contrail", misfit(&error))
    })
}

/// Why contrail's own member cannot be read.
fn misfit(error: &LenientError) -> String {
    let place = error.place();
    match error.fault() {
        LenientFault::Shape(Some((found, expected))) => {
            format!("`{place}` is {}, and contrail writes {} there", found.described(), expected.described())
        }
        LenientFault::Shape(None) => {
            format!("`{place}` lacks a member, or has one of another type than contrail writes")
        }
        LenientFault::Surrogate => format!("`{place}` holds half of a surrogate pair"),
        LenientFault::Duplicate(name) => {
            let owner = place.rsplit_once('.').map_or(place, |(owner, _)| owner);
            format!("`{owner}` has two members `{name}`")
        }
        LenientFault::Cut | LenientFault::Grammar => format!("`{place}` is not valid JSON"),
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

/// What is wrong with the `_contrail` of an entry that cannot be read, if something is; without the file's content.
pub(super) fn fault(entry: &[u8]) -> Option<EntryFault> {
    objects! {
        struct Entry<'a> {
            contrail: Option<Raw<'a>> = "_contrail",
        }

        struct Versioned<'a> {
            version: Option<Raw<'a>> = "version",
        }
    }

    let raw = lenient::read::<Entry<'_>>(entry).ok()?.contrail?;
    if !raw.get().starts_with('{') {
        return None;
    }
    // A newer contrail's may hold anything else.
    let version = lenient::read::<Versioned<'_>>(raw.get().as_bytes()).ok().and_then(|held| held.version);
    let unread = version.and_then(|version| check_version(version.get()).err());
    unread.map(EntryFault::Version).or_else(|| parse::<Record>("_contrail", raw.get()).err().map(EntryFault::Note))
}

impl Read<'_> for Record {
    fn read(reader: &mut Reader<'_>) -> Result<Self, LenientError> {
        let held = Members::read(reader)?;
        let has = |side: &str| held.laid_out.iter().any(|held| held == side);
        let laid_out = LaidOut { request: has("request"), response: has("response") };
        Ok(Self {
            version: held.version.map(|raw| raw.get().into()),
            token: held.token.map(|raw| raw.get().into()),
            transport: Transport {
                incomplete: held.incomplete,
                client_left: held.client_left,
                trailers: held.trailers,
                retried: held.retried,
                original_audience: held.original_audience,
                answered_by_contrail: held.answered.filter(|_| held.given.is_none()),
                given: held.given.and_then(|given| u16::try_from(given).ok()),
            },
            sha256: held.sha256,
            request: held.request,
            response: held.response,
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
        const PATH: &str = "_contrail.token";
        let Some(text) = &self.token else { return Ok(None) };
        if text.starts_with('"') {
            let label = parse::<String>(PATH, text).map_err(EntryFault::Note)?;
            return head.credential(&label).map(Some);
        }
        parse::<TokenRecord<'_>>(PATH, text).map(|record| Some(record.credential())).map_err(EntryFault::Note)
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
        let seconds = |raw: Option<Raw<'_>>| {
            raw.and_then(|raw| raw.get().parse().ok()).or_else(|| raw?.number().map(|number| number as i64))
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
