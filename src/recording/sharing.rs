//! Which tokens of a fixture share a label: those whose public facts are equal.
//!
//! A client gets a new token in each run, and each of its workers may get one of its own. What a fixture says of such tokens
//! is the same, so their labels are too: one token more renames nothing. Of a token that no request carried, and of one
//! that tells nothing, the request and the answer that gave it are compared instead.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ring::digest::{Context, SHA256};

use super::{identity::unnumbered_bytes, tokens::carried, write};
use crate::{
    exchange::Exchange,
    json::{Document, Node},
    redact::{self, Renumbering},
    token::Credential,
};

/// A label: the source in which it stands, and its number there.
type Label = (u32, u32);

/// What an answer of a token endpoint gives.
const GIVEN: [&str; 3] = ["/access_token", "/id_token", "/refresh_token"];

/// What is known of the tokens of the sources, by their labels.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    tokens: BTreeMap<Label, Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The public facts with which requests carried it; more than one where it expired meanwhile.
    facts: BTreeSet<Vec<u8>>,
    /// The request and the answer that gave it.
    given: Option<[u8; 32]>,
}

/// What tokens have to have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Class<'a> {
    Facts(&'a BTreeSet<Vec<u8>>),
    Given([u8; 32]),
}

impl Sharing {
    /// Takes in what a redacted exchange of this source says of tokens.
    pub(super) fn learn(&mut self, source: u32, exchange: &Exchange) {
        if let (Credential::Token(facts), Some((_, number))) =
            (&exchange.request.credential, carried(&exchange.request))
        {
            let mut text = Vec::new();
            write::facts(facts, false, &mut text);
            self.tokens.entry((source, number)).or_default().facts.insert(text);
        }
        let Some(response) = &exchange.response else { return };
        let given: Vec<&str> =
            GIVEN.into_iter().filter(|place| response.body.redacted.iter().any(|redacted| redacted == place)).collect();
        if given.is_empty() {
            return;
        }
        let Ok(document) = Document::parse(response.body.content.clone()) else { return };
        for place in given {
            let text = document.pointer(place).and_then(Node::as_str);
            let Some(number) = text.and_then(|text| redact::label_number(text.as_bytes())) else { continue };
            let mut digest = Context::new(&SHA256);
            let target = &exchange.request.target.path_and_query;
            for part in [
                &source.to_le_bytes()[..],
                place.as_bytes(),
                target.as_bytes(),
                &exchange.request.body.content,
                &unnumbered_bytes(&response.body.content),
            ] {
                digest.update(&(part.len() as u64).to_le_bytes());
                digest.update(part);
            }
            let mut given = [0; 32];
            given.copy_from_slice(digest.finish().as_ref());
            self.tokens.entry((source, number)).or_default().given = Some(given);
        }
    }

    /// Lets tokens of equal facts share a label.
    pub(super) fn share(&self, renumbering: &mut Renumbering) {
        // Of tokens that were given alike and of which no request tells more, those that tell something speak for the rest.
        let mut alike: HashMap<[u8; 32], Option<&BTreeSet<Vec<u8>>>> = HashMap::new();
        for known in self.tokens.values().filter(|known| !known.facts.is_empty()) {
            let Some(given) = known.given else { continue };
            alike
                .entry(given)
                .and_modify(|held| *held = held.filter(|held| **held == known.facts))
                .or_insert(Some(&known.facts));
        }
        let mut first: HashMap<Class<'_>, Label> = HashMap::new();
        for (label, known) in &self.tokens {
            let told = if known.facts.is_empty() {
                known.given.and_then(|given| alike.get(&given).copied().flatten())
            } else {
                Some(&known.facts)
            };
            let class = match (told, known.given) {
                (Some(facts), _) => Class::Facts(facts),
                (None, Some(given)) => Class::Given(given),
                (None, None) => continue,
            };
            let shared = *first.entry(class).or_insert(*label);
            if shared != *label {
                renumbering.share(*label, shared);
            }
        }
    }
}
