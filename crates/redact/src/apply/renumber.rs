//! New numbers for labels, so that a fixture does not depend on the order of its journal.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use contrail_exchange::{
    Body, Credential, Exchange, Headers, TokenFacts,
    finding::Finding,
    json::{self, Document, Kind as JsonKind},
    known_method,
};
use http::{HeaderValue, Method};

use super::message;
use crate::{JudgedExchange, Redacted, label};

/// Gives labels new numbers in their order of appearance. Labels of different sources are kept apart even where
/// they read the same.
#[derive(Debug, Clone, Default)]
pub struct Renumbering {
    source: u32,
    given: HashMap<(u32, u32), u32>,
    /// Numbers that are given, or stay reserved.
    used: HashSet<u32>,
    /// The last number that was tried.
    last: u32,
    /// Labels that get the number of another.
    shared: HashMap<(u32, u32), (u32, u32)>,
}

impl Renumbering {
    /// What follows comes from the recording of this number: its labels are not those of another.
    pub fn in_source(&mut self, source: u32) {
        self.source = source;
    }

    /// A label (the number of its source, and its own) gets the number that the label `other` gets.
    pub fn share(&mut self, label: (u32, u32), other: (u32, u32)) {
        self.shared.insert(label, other);
    }

    /// These numbers are for labels that [`Self::keep`] names, and for no other.
    pub fn reserve(&mut self, numbers: impl IntoIterator<Item = u32>) {
        self.used.extend(numbers);
    }

    /// Gives the labels of an exchange of this source the numbers of its counterpart's, one by one, unless they have
    /// numbers already, or other labels have these.
    pub fn keep(&mut self, source: u32, exchange: &Exchange, numbers: &[u32], taken: &mut HashSet<u32>) {
        for (own, number) in labels_of(exchange).into_iter().zip(numbers) {
            let label = self.resolved((source, own));
            if !self.given.contains_key(&label) && taken.insert(*number) {
                self.given.insert(label, *number);
            }
        }
    }

    /// Further labels get the next free number after this one.
    pub fn continue_from(&mut self, number: u32) {
        self.last = number;
    }

    /// Renumbers every label of an exchange and its verdict.
    pub fn renumber(&mut self, judged: &mut Redacted<JudgedExchange>) {
        self.exchange(&mut judged.0.exchange);
        for finding in &mut judged.0.verdict.findings {
            self.finding(finding);
        }
    }

    /// Renumbers every label of an exchange: method, target, header fields, bodies, the token's facts.
    pub fn exchange(&mut self, exchange: &mut Exchange) {
        let request = &mut exchange.request;
        if known_method(&request.method).is_none()
            && let Some(new) = self.bytes(request.method.as_str().as_bytes())
            && let Ok(new) = Method::from_bytes(&new)
        {
            request.method = new;
        }
        if let Some(new) = self.text(&request.target.path_and_query) {
            request.target.path_and_query = new.into();
        }
        if let Some(new) = self.text(&request.target.authority) {
            request.target.authority = new.into();
        }
        self.headers(&mut request.headers);
        self.body(&mut request.headers, &mut request.body);
        self.credential(&mut request.credential);
        if let Some(response) = &mut exchange.response {
            self.headers(&mut response.headers);
            self.body(&mut response.headers, &mut response.body);
        }
        let transport = &mut exchange.transport;
        for text in [&mut transport.incomplete, &mut transport.original_audience].into_iter().flatten() {
            self.string(text);
        }
    }

    /// Renumbers every label of a finding (attested ones are renumbered with their exchange).
    pub fn finding(&mut self, finding: &mut Finding) {
        self.string(&mut finding.at);
        if let Some(seen) = &mut finding.seen {
            self.string(seen);
        }
        if let Some(new) = self.text(&finding.expected) {
            finding.expected = new.into();
        }
    }

    /// The label whose number this one gets.
    #[must_use]
    pub fn resolved(&self, mut label: (u32, u32)) -> (u32, u32) {
        while let Some(other) = self.shared.get(&label) {
            label = *other;
        }
        label
    }

    fn number(&mut self, old: u32) -> u32 {
        let label = self.resolved((self.source, old));
        if let Some(number) = self.given.get(&label) {
            return *number;
        }
        loop {
            self.last = self.last.saturating_add(1);
            if self.used.insert(self.last) || self.last == u32::MAX {
                self.given.insert(label, self.last);
                return self.last;
            }
        }
    }

    fn bytes(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        label::relabel(text, |old| self.number(old))
    }

    fn text(&mut self, text: &str) -> Option<String> {
        self.bytes(text.as_bytes()).map(|new| String::from_utf8_lossy(&new).into_owned())
    }

    fn string(&mut self, text: &mut String) {
        if let Some(new) = self.text(text) {
            *text = new;
        }
    }

    fn headers(&mut self, headers: &mut Headers) {
        for (_, value) in headers.iter_mut() {
            if let Some(new) = self.bytes(value.as_bytes()).and_then(|new| HeaderValue::from_bytes(&new).ok()) {
                *value = new;
            }
        }
    }

    fn body(&mut self, headers: &mut Headers, body: &mut Body) {
        let before = body.content.clone();
        if let Some(new) = self.numbers(body) {
            body.content = new.into();
        }
        if let Some(new) = self.bytes(&body.content) {
            body.content = new.into();
        }
        for place in &mut body.redacted {
            self.string(place);
        }
        if body.content != before {
            message::resize(headers, body);
        }
    }

    /// JSON numbers that stand for secrets.
    fn numbers(&mut self, body: &Body) -> Option<Vec<u8>> {
        if body.redacted.is_empty() {
            return None;
        }
        let document = Document::parse(body.content.clone()).ok()?;
        let mut edits: Vec<_> = body
            .redacted
            .iter()
            .filter_map(|place| document.pointer(place).filter(|node| node.kind() == JsonKind::Number))
            .filter_map(|node| {
                let new = self.number(node.raw().parse().ok()?).to_string();
                (new != node.raw()).then(|| (node.span(), new.into_bytes()))
            })
            .collect();
        edits.sort_by_key(|(span, _)| span.start);
        edits.dedup_by_key(|(span, _)| span.start);
        (!edits.is_empty()).then(|| json::splice(&body.content, &edits))
    }

    fn credential(&mut self, credential: &mut Credential) {
        let Credential::Token(facts) = credential else { return };
        if facts.claims().any(|text| label::has_label(text)) {
            let mut new = TokenFacts::clone(facts);
            new.claims_mut().for_each(|text| self.string(text));
            *facts = Arc::new(new);
        }
    }
}

/// The numbers of an exchange's labels, in the order in which they are renumbered.
#[must_use]
pub fn labels_of(exchange: &Exchange) -> Vec<u32> {
    // Numbers count from 1 in the order of appearance.
    let mut seen = Renumbering::default();
    seen.exchange(&mut exchange.clone());
    let mut labels: Vec<(u32, u32)> = seen.given.into_iter().map(|((_, own), number)| (number, own)).collect();
    labels.sort_unstable();
    labels.into_iter().map(|(_, own)| own).collect()
}
