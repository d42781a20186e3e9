//! The messages of an exchange: everything in them is recognised first, then replaced.

use std::{collections::HashSet, sync::Arc};

use bytes::Bytes;
use contrail_exchange::{
    Body, Headers, Presence, Request, Response, Withheld,
    json::{self, Kind as JsonKind},
};
use http::header;

use super::{head::Head, redaction::Redaction};
use crate::{
    find::{
        fields::{field_place, name_of},
        grammar::{Grammar, Parsed},
        walk::{self, Places},
    },
    known::{index::Index, search},
    label,
    mark::Mark,
};

/// What is known of a message before anything is replaced.
struct Noticed {
    head: Head,
    parsed: Option<Parsed>,
    /// The body may hold a known secret other than as it is.
    hides: bool,
    body: Vec<Mark>,
}

impl Redaction<'_> {
    /// Redacts both messages; afterwards the index holds every secret of them.
    pub(crate) fn messages(&mut self, request: &mut Request, response: Option<&mut Response>) {
        let method = self.detect_method(&request.method);
        let target = self.detect_target(&request.target);
        let first = self.read(&request.headers, &request.body, false);
        let second = response.as_ref().map(|response| self.read(&response.headers, &response.body, true));
        self.detect_credential(&request.credential);
        let index = self.redactor.memory().index();
        self.write_method(&index, &mut request.method, method);
        self.write_target(&index, &mut request.target, target);
        self.write(&index, &mut request.headers, &mut request.body, first, false);
        self.write_credential(&index, &mut request.credential);
        if let (Some(response), Some(second)) = (response, second) {
            self.write(&index, &mut response.headers, &mut response.body, second, true);
        }
    }

    fn read(&mut self, headers: &Headers, body: &Body, response: bool) -> Noticed {
        let head = self.read_head(headers, response);
        let mut reading = Noticed { head, parsed: None, hides: false, body: Vec::new() };
        // Of a body of which nothing is kept, too: what it shows may come again elsewhere.
        if !body.content.is_empty() {
            let parsed = self.redactor.parse_body(headers, body);
            reading.hides = self.redactor.detect_body(&parsed, body, &mut reading.body);
            reading.parsed = Some(parsed);
        }
        reading
    }

    fn write(&mut self, index: &Index, headers: &mut Headers, body: &mut Body, reading: Noticed, response: bool) {
        self.write_head(index, headers, reading.head, response);
        let Some(parsed) = &reading.parsed else { return };
        if matches!(body.presence, Presence::Truncated { .. }) {
            body.content = Bytes::new();
            self.touched.elsewhere = true;
            return;
        }
        if parsed.unparsable || matches!(body.presence, Presence::Withheld(_)) {
            self.remember(&reading.body, &body.content, response);
            self.withhold(headers, body);
            return;
        }
        body.malformed |= parsed.malformed;
        if reading.body.is_empty() && !reading.hides && !search::is_worth_uncoded(index, &body.content) {
            return;
        }
        let mut marks = reading.body;
        self.redactor.mark_known_body(index, parsed, &body.content, &mut marks);
        self.remember(&marks, &body.content, response);
        self.cut[usize::from(response)] |= parsed.is_cut_form() && !marks.is_empty();
        let mut places: Vec<Arc<str>> = marks.iter().filter_map(|mark| mark.place.clone()).collect();
        // The marks of one value stand together.
        places.dedup_by(|place, last| Arc::ptr_eq(place, last));
        labelled(parsed, &body.content, &mut places);
        let new = self.replaced(&body.content, marks, Some(response));
        let document = new
            .as_ref()
            .filter(|_| matches!(parsed.grammar, Grammar::Json(_)))
            .map(|new| json::Document::parse(new.clone()));
        // A name that was replaced may have become the name beside it.
        if let Some(Err(_)) = document {
            self.withhold(headers, body);
            return;
        }
        let document = document.and_then(Result::ok);
        let mut known: HashSet<String> = body.redacted.iter().cloned().collect();
        for place in places {
            let place = self.place_in(document.as_ref(), &place);
            if known.insert(place.clone()) {
                body.redacted.push(place);
            }
        }
        let Some(new) = new else { return };
        body.replace(new, headers);
        self.touched.elsewhere = true;
    }

    fn withhold(&mut self, headers: &mut Headers, body: &mut Body) {
        if !matches!(body.presence, Presence::Withheld(_)) {
            *body = Body::withheld(Withheld::Unparsable, None);
        }
        body.content = Bytes::new();
        headers.retain(|name, _| name != header::CONTENT_LENGTH);
        self.touched.elsewhere = true;
    }
}

/// Places whose labels an earlier redaction put there (`contrail redact` on another tool's file): they are redacted
/// too.
fn labelled(parsed: &Parsed, content: &[u8], places: &mut Vec<Arc<str>>) {
    if !label::holds(content) {
        return;
    }
    match &parsed.grammar {
        Grammar::Json(document) => walk::visit(document, &Places::of_body(&[]), |node, place| {
            if node.kind() == JsonKind::String && label::holds(node.raw().as_bytes()) {
                places.extend(place.map(|place| place().into()));
            }
        }),
        Grammar::Form(fields) if !parsed.is_cut_form() => {
            let held = fields.iter().filter(|field| label::holds(field.value.raw(content)));
            places.extend(held.map(|field| field_place(&name_of(field, content)).into()));
        }
        Grammar::Multipart(parts) => {
            let held = parts.iter().filter(|part| label::holds(&content[part.body.clone()]));
            places.extend(held.map(|part| field_place(&part.name).into()));
        }
        Grammar::Form(_) | Grammar::Bytes | Grammar::Mended(_) => places.push("".into()),
    }
}
