//! Other numbers for the labels of an exchange.

use std::sync::Arc;

use http::{HeaderValue, Method};

use super::{
    Body, Credential, Exchange, Headers, TokenFacts,
    finding::Finding,
    json::{self, Document, Kind as JsonKind},
    known_method, label,
};

/// Gives the number that a label gets in place of its own.
type Number<'n> = dyn FnMut(u32) -> u32 + 'n;

impl Exchange {
    /// Gives every label another number: method, target, header fields, bodies, the token's facts.
    pub fn relabel(&mut self, number: &mut Number<'_>) {
        let request = &mut self.request;
        if known_method(&request.method).is_none()
            && let Some(new) = label::relabel(request.method.as_str().as_bytes(), &mut *number)
            && let Ok(new) = Method::from_bytes(&new)
        {
            request.method = new;
        }
        if let Some(new) = text(&request.target.path_and_query, number) {
            request.target.path_and_query = new.into();
        }
        if let Some(new) = text(&request.target.authority, number) {
            request.target.authority = new.into();
        }
        relabel_message(&mut request.headers, &mut request.body, number);
        relabel_credential(&mut request.credential, number);
        if let Some(response) = &mut self.response {
            relabel_message(&mut response.headers, &mut response.body, number);
        }
        let transport = &mut self.transport;
        for text in [&mut transport.incomplete, &mut transport.original_audience].into_iter().flatten() {
            relabel_string(text, number);
        }
    }
}

impl Finding {
    /// Gives every label another number.
    pub fn relabel(&mut self, number: &mut Number<'_>) {
        relabel_string(&mut self.at, number);
        if let Some(seen) = &mut self.seen {
            relabel_string(seen, number);
        }
        if let Some(new) = text(&self.expected, number) {
            self.expected = new.into();
        }
    }
}

fn text(text: &str, number: &mut Number<'_>) -> Option<String> {
    label::relabel(text.as_bytes(), number).map(|new| String::from_utf8_lossy(&new).into_owned())
}

fn relabel_string(string: &mut String, number: &mut Number<'_>) {
    if let Some(new) = text(string, number) {
        *string = new;
    }
}

fn relabel_message(headers: &mut Headers, body: &mut Body, number: &mut Number<'_>) {
    for (_, value) in headers.iter_mut() {
        let new = label::relabel(value.as_bytes(), &mut *number);
        if let Some(new) = new.and_then(|new| HeaderValue::from_bytes(&new).ok()) {
            *value = new;
        }
    }
    let numbers = relabelled_numbers(body, number);
    let new = label::relabel(numbers.as_deref().unwrap_or(&body.content), &mut *number).or(numbers);
    for place in &mut body.redacted {
        relabel_string(place, number);
    }
    if let Some(new) = new.filter(|new| *new != body.content) {
        body.replace(new, headers);
    }
}

/// The content with other JSON numbers for those that stand for secrets.
fn relabelled_numbers(body: &Body, number: &mut Number<'_>) -> Option<Vec<u8>> {
    if body.redacted.is_empty() {
        return None;
    }
    let document = Document::parse(body.content.clone()).ok()?;
    let places = body.redacted.iter().filter_map(|place| document.pointer(place));
    let mut edits: Vec<_> = places
        .filter(|node| node.kind() == JsonKind::Number)
        .filter_map(|node| {
            let new = number(node.raw().parse().ok()?).to_string();
            (new != node.raw()).then(|| (node.span(), new.into_bytes()))
        })
        .collect();
    edits.sort_by_key(|(span, _)| span.start);
    edits.dedup_by_key(|(span, _)| span.start);
    (!edits.is_empty()).then(|| json::splice(&body.content, &edits))
}

fn relabel_credential(credential: &mut Credential, number: &mut Number<'_>) {
    let Credential::Token(facts) = credential else { return };
    if facts.claims().any(|text| label::has_label(text)) {
        let mut new = TokenFacts::clone(facts);
        new.claims_mut().for_each(|text| relabel_string(text, number));
        *facts = Arc::new(new);
    }
}
