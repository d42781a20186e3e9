//! Rules across request and response: identity, page size, echo. Data of the document states where they hold.

use std::{borrow::Cow, collections::HashMap};

use contrail_exchange::{
    finding::{Finding, Rule},
    is_redacted,
    json::{Document, Kind, Node, push_pointer},
};

use super::{
    body::{sample, scalar},
    state::Check,
};
use crate::{model::Relation, params};

impl Check<'_> {
    /// Judges the relations of a success whose body was read.
    pub(super) fn relations(&mut self) {
        let Some(answer) = self.answer() else { return };
        let Some(response) = self.response_body.take() else { return };
        if !(200..300).contains(&answer.status) {
            return;
        }
        let operation = self.operation;
        for relation in &*operation.relations {
            match relation {
                Relation::Identity { parameter, response: at } => self.identity(parameter, at, &response),
                Relation::PageSize { parameter, default, response: at } => {
                    self.page_size(parameter, *default, at, &response);
                }
                Relation::Echo { fields } => self.echo(fields, &response),
            }
        }
    }

    fn redacted_in_response(&self, at: &str) -> bool {
        self.answer().is_some_and(|response| is_redacted(&response.body.redacted, at))
    }

    fn identity(&mut self, parameter: &str, at: &str, response: &Document) {
        let raw = self.matched.raw.iter().rfind(|(name, _)| *name == parameter).map(|(_, raw)| *raw);
        let asked = raw.and_then(|raw| params::decode_plain(raw).ok());
        let same = |asked: &Cow<'_, str>| response.pointer(at).is_some_and(|answered| answered.is_str(asked));
        let Some(asked) = asked.filter(|asked| !same(asked)) else { return };
        let Some(answered) = scalar(response, at) else { return };
        if asked != answered && !self.redacted_in_response(at) {
            self.find(
                Finding::new(Rule::ExchangeIdentity, at, format!("the `{parameter}` of the path")).seen(answered),
            );
        }
    }

    fn page_size(&mut self, parameter: &str, default: Option<u64>, at: &str, response: &Document) {
        let raw = self.exchange.request.target.query().unwrap_or_default();
        let mut given = params::pairs(raw.as_bytes()).filter(|pair| pair.name.as_deref() == Ok(parameter));
        let most = match (given.next(), given.next()) {
            (None, _) => default,
            // What is no number, or occurs twice, requires nothing of the tenant.
            (Some(pair), None) => pair.value.ok().filter(|text| is_count(text)).and_then(|text| text.parse().ok()),
            (Some(_), Some(_)) => None,
        };
        let items = response.pointer(at).filter(|node| node.kind() == Kind::Array).map(Node::len);
        let (Some(most), Some(items)) = (most, items) else { return };
        if u64::try_from(items).unwrap_or(u64::MAX) > most && !self.redacted_in_response(at) {
            let expected = format!("at most {most} items (`{parameter}`)");
            self.find(Finding::new(Rule::ExchangePageSize, at, expected).seen(items.to_string()));
        }
    }

    fn echo(&mut self, fields: &[Box<str>], response: &Document) {
        let Some(request) = self.request_body.take() else { return };
        let mut differing = Vec::new();
        for field in fields {
            if let (Some(sent), Some(came)) = (request.pointer(field), response.pointer(field)) {
                differing_leaves(field, sent, came, &mut differing);
            }
        }
        let redacted = &self.exchange.request.body.redacted;
        differing.retain(|at| !is_redacted(redacted, at) && !self.redacted_in_response(at));
        for at in differing {
            let sent = sample(&request, &at).filter(|sent| sent.chars().count() <= MAX_SENT);
            let expected = match sent {
                Some(sent) => Cow::Owned(format!("the value that was sent, `{sent}`")),
                None => Cow::Borrowed("the value that was sent"),
            };
            let seen = sample(response, &at);
            self.find(Finding { rule: Rule::ExchangeEcho, at, expected, seen });
        }
        self.request_body = Some(request);
    }
}

/// Digits without a sign or leading zeros.
fn is_count(text: &str) -> bool {
    text == "0" || (!text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Maximum characters of a sent value that a finding shows; a longer one is left out whole, since a cut secret is not
/// recognised.
const MAX_SENT: usize = 200;

/// Maximum differing leaves that are listed of one field.
const MAX_LEAVES: usize = 1000;

/// Pointers of the leaves that are in both values and differ.
fn differing_leaves(at: &str, sent: Node<'_>, came: Node<'_>, differing: &mut Vec<String>) {
    // Most come back as they were sent.
    if sent.raw() == came.raw() {
        return;
    }
    let mut todo = vec![(at.to_owned(), sent, came)];
    while let Some((at, sent, came)) = todo.pop().filter(|_| differing.len() < MAX_LEAVES) {
        let below = |token: &str| {
            let mut at = at.clone();
            push_pointer(&mut at, token);
            at
        };
        match (sent.kind(), came.kind()) {
            (Kind::Object, Kind::Object) => {
                let held: HashMap<_, _> = came.members().collect();
                let mut common: Vec<_> = sent
                    .members()
                    .filter_map(|(name, sent)| held.get(&name).map(|came| (below(&name), sent, *came)))
                    .collect();
                common.reverse();
                todo.append(&mut common);
            }
            (Kind::Array, Kind::Array) => {
                let pairs = sent.items().zip(came.items()).enumerate();
                let mut common: Vec<_> =
                    pairs.map(|(index, (sent, came))| (below(&index.to_string()), sent, came)).collect();
                common.reverse();
                todo.append(&mut common);
            }
            // A container that came back as something else holds no leaf that came back.
            (Kind::Object | Kind::Array, _) => {}
            _ => {
                let (mut left, mut right) = (String::new(), String::new());
                sent.canonical(&mut left);
                came.canonical(&mut right);
                if left != right {
                    differing.push(at);
                }
            }
        }
    }
}
