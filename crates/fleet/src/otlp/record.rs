//! What is kept of an exchange until its span is built.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use contrail_contract::Contract;
use contrail_exchange::{
    Target,
    finding::{Finding, Kind, Rule, UncheckedSet},
};
use contrail_pipeline::Traced;
use contrail_proxy::upstream::Miss;
use http::{Method, Version};

use super::parent::Parent;

/// Maximum findings of which a span has events; the default of OpenTelemetry's SDKs.
const MAX_EVENTS: usize = 128;

/// Maximum characters of a text that the exchange decides.
const MAX_TEXT: usize = 1024;

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) rule: Rule,
    pub(super) at: String,
    pub(super) message: String,
}

impl Event {
    fn of(finding: &Finding) -> Self {
        Self { rule: finding.rule, at: cut(&finding.at).to_owned(), message: cut(&finding.message()).to_owned() }
    }
}

/// What is kept of an exchange: what redaction has left, by reference where that is possible.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) parent: Option<Parent>,
    pub(super) started: SystemTime,
    pub(super) took: Duration,
    pub(super) method: Method,
    pub(super) target: Target,
    pub(super) version: Version,
    /// The status that the client got.
    pub(super) status: Option<u16>,
    pub(super) operation: Option<Arc<str>>,
    pub(super) contract: Arc<Contract>,
    pub(super) verdict: &'static str,
    pub(super) events: Vec<Event>,
    /// Findings without an event.
    pub(super) more_events: u32,
    pub(super) violations: u32,
    pub(super) gaps: u32,
    pub(super) unchecked: UncheckedSet,
    /// Why contrail answered itself.
    pub(super) answered: Option<Box<str>>,
    /// Why the exchange is not whole.
    pub(super) incomplete: Option<Box<str>>,
    pub(super) retried: bool,
    /// Why no recording fits.
    pub(super) miss: Option<&'static str>,
}

impl Record {
    pub(super) fn of(traced: &Traced<'_>) -> Self {
        let Traced { judged, meta, took, conclusion, contract } = *traced;
        let (exchange, verdict) = (&judged.exchange, &judged.verdict);
        let (request, transport) = (&exchange.request, &exchange.transport);
        let given = || meta.given_status.map(|status| status.as_u16());
        let count = |kind| verdict.findings.iter().filter(|finding| finding.kind() == kind).count();
        let text = |text: &Option<String>| text.as_deref().map(|text| cut(text).into());
        Self {
            parent: Parent::of(&request.headers),
            started: exchange.started.unwrap_or_else(|| SystemTime::now() - took),
            took,
            method: request.method.clone(),
            target: request.target.clone(),
            version: request.version,
            status: exchange.response.as_ref().map(|response| response.status).or_else(given),
            operation: verdict.operation.clone(),
            contract: Arc::clone(contract),
            verdict: conclusion,
            events: verdict.findings.iter().take(MAX_EVENTS).map(Event::of).collect(),
            more_events: small(verdict.findings.len().saturating_sub(MAX_EVENTS)),
            violations: small(count(Kind::Violation)),
            gaps: small(count(Kind::Gap)),
            unchecked: verdict.unchecked,
            answered: text(&transport.answered_by_contrail),
            incomplete: text(&transport.incomplete),
            retried: transport.retried,
            miss: meta.miss.as_deref().map(Miss::word),
        }
    }

    /// Bytes that it takes, about.
    pub(super) fn weight(&self) -> usize {
        let events = self.events.iter().map(|event| size_of::<Event>() + event.at.len() + event.message.len());
        let texts = [&self.answered, &self.incomplete].into_iter().flatten().map(|text| text.len());
        size_of::<Self>()
            + self.method.as_str().len()
            + self.target.path_and_query.len()
            + events.chain(texts).sum::<usize>()
    }
}

fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The begin of a text.
pub(super) fn cut(text: &str) -> &str {
    text.char_indices().nth(MAX_TEXT).map_or(text, |(at, _)| &text[..at])
}
