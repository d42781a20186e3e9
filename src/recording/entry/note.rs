//! The `_contrail` member of an entry as files hold it.
//!
//! What it states about the exchange goes back there (token facts, what is missing of a body, how the transport
//! ended); the rest is the [`Note`].

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use serde::Deserialize;

use super::{fault::EntryFault, misshapen::misfit};
use crate::recording::{Attested, LaidOut, Note};
use crate::{
    exchange::{Body, Credential, Presence, SignatureCheck, TokenFacts, TokenTime, Transport, Withheld},
    finding::{Blame, Finding, Rule, Unchecked, UncheckedSet, Verdict},
    json::lenient::{self, Raw},
};

/// `_contrail`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::recording) struct Record<'a> {
    #[serde(borrow)]
    pub(in crate::recording) version: Option<Raw<'a>>,
    operation: Option<String>,
    blame: Option<String>,
    #[serde(default)]
    findings: Vec<FindingRecord>,
    #[serde(default)]
    unchecked: Vec<String>,
    contract: Option<String>,
    attested: Option<AttestedRecord>,
    #[serde(borrow)]
    token: Option<Raw<'a>>,
    upstream: Option<String>,
    #[serde(default)]
    retried: bool,
    original_audience: Option<String>,
    answered: Option<String>,
    incomplete: Option<String>,
    #[serde(default)]
    laid_out: Vec<String>,
    #[serde(default)]
    pub(in crate::recording) sha256: Digests,
    request: Option<BodyRecord>,
    response: Option<BodyRecord>,
}

/// A finding.
#[derive(Debug, Deserialize)]
struct FindingRecord {
    rule: String,
    #[serde(default)]
    at: String,
    #[serde(default)]
    expected: String,
    seen: Option<String>,
}

/// See [`Attested`].
#[derive(Debug, Deserialize)]
struct AttestedRecord {
    contract: String,
    #[serde(default)]
    findings: Vec<FindingRecord>,
    #[serde(default)]
    indexes: Vec<usize>,
    #[serde(default)]
    cleared: Vec<FindingRecord>,
    unchecked: Option<Vec<String>>,
    blame: Option<String>,
}

/// See [`Credential`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenRecord<'a> {
    malformed: Option<String>,
    scheme: Option<String>,
    #[serde(default)]
    encrypted: bool,
    #[serde(default)]
    unknown: bool,
    client: Option<String>,
    scopes: Option<Vec<String>>,
    issuer: Option<String>,
    #[serde(default)]
    audience: Vec<String>,
    #[serde(borrow)]
    issued_at: Option<Raw<'a>>,
    #[serde(borrow)]
    not_before: Option<Raw<'a>>,
    #[serde(borrow)]
    expires_at: Option<Raw<'a>>,
    #[serde(borrow)]
    lifetime: Option<Raw<'a>>,
    outcome: Option<String>,
    signature: Option<String>,
}

/// The SHA-256 of each body file, hexadecimal.
#[derive(Debug, Default, Deserialize)]
pub(in crate::recording) struct Digests {
    pub(in crate::recording) request: Option<String>,
    pub(in crate::recording) response: Option<String>,
}

/// What is known of a body beside its text.
#[derive(Debug, Deserialize)]
struct BodyRecord {
    withheld: Option<String>,
    truncated: Option<TruncatedRecord>,
    #[serde(default)]
    malformed: bool,
    #[serde(default)]
    redacted: Vec<String>,
}

/// See [`Presence::Truncated`].
#[derive(Debug, Deserialize)]
struct TruncatedRecord {
    kept: u64,
    total: Option<u64>,
}

/// Tokens whose facts stand in the head of a fixture (`log._contrail.tokens`), by their labels.
#[derive(Debug, Clone, Default)]
pub(in crate::recording) struct HeadTokens(Arc<HashMap<String, Credential>>);

impl HeadTokens {
    /// Reads the member; `None` if it is not what it should be.
    pub(in crate::recording) fn parse(text: &[u8]) -> Option<Self> {
        let records: HashMap<String, TokenRecord<'_>> = lenient::read(text).ok()?;
        Some(Self(Arc::new(records.iter().map(|(label, record)| (label.clone(), record.credential())).collect())))
    }

    fn credential(&self, label: &str) -> Result<Credential, EntryFault> {
        self.0.get(label).cloned().ok_or_else(|| EntryFault::Token(label.chars().take(100).collect()))
    }
}

/// Tokens that were read lately, by their text in the file: a few callers make most of a recording, and their exchanges
/// share one value.
#[derive(Debug, Clone, Default)]
pub(in crate::recording) struct KnownTokens(HashMap<Box<str>, Credential>);

impl KnownTokens {
    /// Maximum tokens that are kept; beyond it, all are dropped and read again.
    const MAX_TOKENS: usize = 256;

    fn credential(&mut self, raw: Raw<'_>) -> Result<Credential, String> {
        if let Some(known) = self.0.get(raw.get()) {
            return Ok(known.clone());
        }
        let credential = parse::<TokenRecord<'_>>("_contrail.token", raw)?.credential();
        if self.0.len() >= Self::MAX_TOKENS {
            self.0.clear();
        }
        self.0.insert(raw.get().into(), credential.clone());
        Ok(credential)
    }
}

/// The value of contrail's member at `path` (`_contrail` or `_contrail.token`), otherwise why it cannot be read.
fn parse<'a, T: Deserialize<'a>>(path: &str, raw: Raw<'a>) -> Result<T, String> {
    let fault =
        |error| format!("{}; restore the file from a copy, or read it with a newer contrail", misfit(path, raw, error));
    raw.read().map_err(fault)
}

/// Whether `_contrail.version` is one that is read here; otherwise as it stands in the file, cut for reading.
pub(in crate::recording) fn check_version(raw: &str) -> Result<(), String> {
    #[allow(clippy::float_cmp)] // `1.0` is exact
    if raw.parse::<f64>().is_ok_and(|version| version == f64::from(crate::recording::VERSION)) {
        return Ok(());
    }
    Err(raw.chars().take(40).collect())
}

/// What is wrong with the `_contrail` of an entry that cannot be read, if something is; without the file's content.
pub(super) fn fault(entry: &[u8]) -> Option<EntryFault> {
    #[derive(Deserialize)]
    struct Entry<'a> {
        #[serde(borrow, rename = "_contrail")]
        contrail: Option<Raw<'a>>,
    }

    #[derive(Deserialize)]
    struct Versioned<'a> {
        #[serde(borrow)]
        version: Option<Raw<'a>>,
    }

    let raw = lenient::read::<Entry<'_>>(entry).ok()?.contrail?;
    if !raw.get().starts_with('{') {
        return None;
    }
    // A newer contrail's may hold anything else.
    let version = raw.read::<Versioned<'_>>().ok().and_then(|held| held.version);
    let unread = version.and_then(|version| check_version(version.get()).err());
    unread.map(EntryFault::Version).or_else(|| parse::<Record<'_>>("_contrail", raw).err().map(EntryFault::Note))
}

impl Record<'_> {
    /// The request's credential, if the record shows it; otherwise what is wrong with the record.
    pub(in crate::recording) fn credential(
        &self,
        head: &HeadTokens,
        known: &mut KnownTokens,
    ) -> Result<Option<Credential>, EntryFault> {
        let Some(raw) = self.token else { return Ok(None) };
        if raw.get().starts_with('"') {
            let label = parse::<String>("_contrail.token", raw).map_err(EntryFault::Note)?;
            return head.credential(&label).map(Some);
        }
        known.credential(raw).map(Some).map_err(EntryFault::Note)
    }

    /// How the transport ended.
    pub(in crate::recording) fn transport(&self) -> Transport {
        Transport {
            incomplete: self.incomplete.clone(),
            retried: self.retried,
            original_audience: self.original_audience.clone(),
            answered_by_contrail: self.answered.clone(),
        }
    }

    /// Puts back what the record states about the bodies.
    pub(in crate::recording) fn complete(&self, body: &mut Body, response: bool) {
        let record = if response { &self.response } else { &self.request };
        let Some(record) = record else { return };
        if let Some(reason) = &record.withheld {
            body.presence = Presence::Withheld(Withheld::from_name(reason));
        } else if let Some(cut) = &record.truncated {
            body.presence = Presence::Truncated { kept: cut.kept, total: cut.total };
        }
        body.malformed = record.malformed;
        body.redacted.clone_from(&record.redacted);
    }

    /// Which bodies are laid out.
    pub(in crate::recording) fn laid_out(&self) -> LaidOut {
        let has = |side: &str| self.laid_out.iter().any(|held| held == side);
        LaidOut { request: has("request"), response: has("response") }
    }

    /// What is left.
    pub(in crate::recording) fn note(self) -> Note {
        let laid_out = self.laid_out();
        Note {
            verdict: Verdict {
                operation: self.operation.map(Arc::from),
                findings: findings(self.findings),
                unchecked: unchecked(&self.unchecked),
                blame: self.blame.as_deref().and_then(Blame::from_name),
            },
            contract: self.contract.map(Arc::from),
            attested: self.attested.map(AttestedRecord::attested),
            upstream: self.upstream.map(Arc::from),
            laid_out,
        }
    }
}

impl AttestedRecord {
    fn attested(self) -> Attested {
        Attested {
            contract: self.contract.into(),
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
            return Credential::OtherScheme(scheme.clone());
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
        }))
    }
}

/// Findings of rules that this contrail knows; one of a later contrail's is left out.
fn findings(records: Vec<FindingRecord>) -> Vec<Finding> {
    records
        .into_iter()
        .filter_map(|record| {
            Some(Finding {
                rule: record.rule.parse::<Rule>().ok()?,
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
