//! What a fixture states about its tokens: the facts of each once, in `log._contrail.tokens`, under its label.

use std::collections::{BTreeMap, btree_map::Entry};

use contrail_exchange::{
    Credential, Request,
    json::write::{Object, raw},
    label,
};
use http::header;

use super::encode_note;

/// The facts of a fixture's tokens, by the numbers of their labels: a label, and the facts as JSON.
#[derive(Debug, Default)]
pub(crate) struct TokenTable(BTreeMap<u32, (String, Vec<u8>)>);

impl TokenTable {
    /// The label under which the table holds the facts of the request's token; it takes in the first facts of each
    /// label. `None` where the facts have to stand in the entry: there is no label, or its facts differ from the first
    /// ones (the token expired meanwhile).
    pub(crate) fn label<'a>(&mut self, request: &'a Request) -> Option<&'a str> {
        let Credential::Token(facts) = &request.credential else { return None };
        let (label, number) = carried(request)?;
        let mut text = Vec::new();
        encode_note::facts(facts, false, &mut text);
        match self.0.entry(number) {
            Entry::Vacant(vacant) => {
                vacant.insert((label.to_owned(), text));
                Some(label)
            }
            Entry::Occupied(held) => (held.get().0 == label && held.get().1 == text).then_some(label),
        }
    }

    /// Appends the member `tokens` with a comma before it; nothing where there is no token.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        if self.0.is_empty() {
            return;
        }
        raw(out, ",\"tokens\":");
        let mut tokens = Object::begin(out);
        // A label needs no escape.
        self.0.values().for_each(|(label, facts)| tokens.value(label).extend_from_slice(facts));
        tokens.end();
    }
}

/// The label that the request's one `Authorization` field holds after its scheme, and its number.
pub(crate) fn carried(request: &Request) -> Option<(&str, u32)> {
    let mut fields = request.headers.iter().filter(|(name, _)| **name == header::AUTHORIZATION);
    let (Some((_, value)), None) = (fields.next(), fields.next()) else { return None };
    let (_, label) = value.to_str().ok()?.split_once(' ')?;
    let label = label.trim_ascii();
    Some((label, label::label_number(label.as_bytes())?))
}
