//! One exchange on its way through redaction: its messages and findings; and putting labels where marks are.

use std::ops::Range;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, header};

use super::{
    label,
    spans::{self, Mark},
};
use crate::redact::{
    Bounds, Redactor, Touched,
    find::{
        body::{self, Parsed, Unparsable},
        detect::DEPTH,
        kind::{self, Spread},
    },
    known::{
        index::Index,
        memory::Id,
        search::{self, Reading},
    },
};
use crate::{
    exchange::{Body, Headers, Presence, Request, Response, Target, Withheld},
    finding::{Finding, Rule, Verdict},
    json,
    token::{Credential, SCHEMES, TokenFacts},
};

/// What is known of a message before anything is replaced.
struct Noticed {
    head: Head,
    parsed: Option<Parsed>,
    /// Nothing in the body is worth reading; only a known secret can be in it.
    plain: bool,
    body: Vec<Mark>,
    /// What becomes of the body as a whole.
    fate: Fate,
}

/// What is known of the header fields.
struct Head {
    /// What takes the place of the first `Authorization`, where it was met before.
    authorization: Option<HeaderValue>,
    others: Fields,
}

enum Fields {
    /// Nothing in them is worth reading. Where their names and values stand in [`Work::heads`].
    Plain(Range<usize>),
    /// Marks of each.
    Read(Vec<Vec<Mark>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    /// It does not parse, and nobody can say where its secrets are: withheld.
    Unparsable,
    /// It is cut: what there is of it goes.
    Cut,
}

/// A value that was replaced in its field only, so a finding about that field has to follow.
struct Spot {
    response: bool,
    place: String,
    value: String,
    label: String,
}

/// A field of a form that is something else: what the check says of it is a piece of a text that was redacted as another.
struct Piece {
    place: String,
    value: String,
    /// The same of what is left.
    redacted: (String, String),
}

/// One exchange on its way through redaction: recognise everything first, then replace.
pub(in crate::redact) struct Work<'r> {
    redactor: &'r Redactor,
    /// See [`crate::redact::known::memory::Memory::begin`].
    began: u64,
    /// Where bodies' bounds come from.
    operation: Option<&'r str>,
    pub(in crate::redact) touched: Touched,
    spots: Vec<Spot>,
    pieces: Vec<Piece>,
    /// Header fields, one per line, searched together.
    heads: Vec<u8>,
}

impl<'r> Work<'r> {
    pub(in crate::redact) fn new(redactor: &'r Redactor, operation: Option<&'r str>) -> Self {
        let began = redactor.memory().begin();
        Self {
            redactor,
            began,
            operation,
            touched: Touched::default(),
            spots: Vec::new(),
            pieces: Vec::new(),
            heads: Vec::new(),
        }
    }

    /// Redacts both messages; afterwards the index holds every secret of them.
    pub(in crate::redact) fn messages(&mut self, request: &mut Request, response: Option<&mut Response>) {
        let (path, query) = self.detect_target(&request.target);
        let first = self.read(&request.headers, &request.body, false);
        let second = response.as_ref().map(|response| self.read(&response.headers, &response.body, true));
        self.detect_credential(&request.credential);
        let index = self.redactor.memory().index();
        self.write_target(&index, &mut request.target, path, query);
        self.write(&index, &mut request.headers, &mut request.body, first, false);
        self.write_credential(&index, &mut request.credential);
        if let (Some(response), Some(second)) = (response, second) {
            self.write(&index, &mut response.headers, &mut response.body, second, true);
        }
    }

    /// Counts what is not kept of a body.
    fn count(&self, fate: Fate, body: &Body) {
        match fate {
            Fate::Cut => self.redactor.count_cut(),
            Fate::Unparsable if !matches!(body.presence, Presence::Withheld(_)) => self.redactor.count_withheld(),
            Fate::Kept | Fate::Unparsable => {}
        }
    }

    /// Recognises the secrets of both messages, and replaces nothing.
    pub(in crate::redact) fn recognise(&mut self, request: &Request, response: Option<&Response>) {
        self.detect_target(&request.target);
        self.detect_credential(&request.credential);
        self.read(&request.headers, &request.body, false);
        if let Some(response) = response {
            self.read(&response.headers, &response.body, true);
        }
    }

    /// Recognises the secrets of a response's header fields.
    pub(in crate::redact) fn recognise_headers(&mut self, headers: &Headers) {
        self.read_head(headers, true);
    }

    fn detect_target(&self, target: &Target) -> (Vec<Mark>, Vec<Mark>) {
        let (mut path, mut query) = (Vec::new(), Vec::new());
        if self.is_plain_target(target) {
            return (path, query);
        }
        self.redactor.detect_text(target.path().as_bytes(), 2, &mut path);
        if let Some(text) = target.query() {
            let fields = body::fields(text.as_bytes()).unwrap_or_default();
            self.redactor.detect_fields(text.as_bytes(), &fields, false, &mut query);
        }
        (path, query)
    }

    /// Whether there is nothing to recognise in a target, nor by the name of the field that its query is.
    fn is_plain_target(&self, target: &Target) -> bool {
        let text = target.path_and_query.as_bytes();
        self.redactor.is_plain(text)
            && match memchr::memchr(b'?', text) {
                // Without an `&` there is one field, without a coding its name is as it stands.
                Some(query) => memchr::memchr(b'+', text).is_none() && body::is_plain_field(&text[query + 1..]),
                None => true,
            }
    }

    fn write_target(&mut self, index: &Index, target: &mut Target, mut path: Vec<Mark>, mut query: Vec<Mark>) {
        let text = target.path_and_query.as_bytes();
        let blanks = index.blanks && memchr::memchr(b'+', text).is_some();
        if path.is_empty() && query.is_empty() && !blanks && !search::is_worth(index, text) {
            self.write_authority(index, target);
            return;
        }
        let raw = target.path();
        search::find(index, raw.as_bytes(), Reading { path: true, plus: false }, &mut path);
        let mut changed = self.replaced(raw.as_bytes(), path, None);
        let mut text = changed.take().map_or_else(|| raw.to_owned(), |bytes| lossy(&bytes));
        // A secret may begin with the path's slash (a cookie that says where to return to); without it, what follows would
        // be a part of the host.
        if raw.starts_with('/') && !text.starts_with('/') {
            text.insert(0, '/');
        }
        if let Some(raw) = target.query() {
            let fields = body::fields(raw.as_bytes()).unwrap_or_default();
            body::spread_fields(index, raw.as_bytes(), &fields, &mut query);
            self.remember(&query, raw.as_bytes(), false);
            let new = self.replaced(raw.as_bytes(), query, None);
            text.push('?');
            text.push_str(&new.map_or_else(|| raw.to_owned(), |bytes| lossy(&bytes)));
        }
        if *text != *target.path_and_query {
            target.path_and_query = text.into();
            self.touched.elsewhere = true;
        }
        self.write_authority(index, target);
    }

    fn write_authority(&mut self, index: &Index, target: &mut Target) {
        let mut authority = Vec::new();
        search::find(index, target.authority.as_bytes(), Reading::default(), &mut authority);
        if let Some(new) = self.replaced(target.authority.as_bytes(), authority, None) {
            target.authority = lossy(&new).into();
            self.touched.elsewhere = true;
        }
    }

    fn read(&mut self, headers: &Headers, body: &Body, response: bool) -> Noticed {
        let mut reading = Noticed {
            head: self.read_head(headers, response),
            parsed: None,
            plain: false,
            body: Vec::new(),
            fate: Fate::Kept,
        };
        if body.content.is_empty() {
            return reading;
        }
        let parsed = match self.redactor.parse_body(headers, body) {
            Ok(parsed) => parsed,
            Err(Unparsable(parsed)) => {
                reading.fate = Fate::Unparsable;
                parsed
            }
        };
        // Where nothing of it is kept, what it shows may come again elsewhere.
        match body.presence {
            Presence::Whole => {}
            Presence::Truncated { .. } => reading.fate = Fate::Cut,
            Presence::Withheld(_) => reading.fate = Fate::Unparsable,
        }
        reading.plain = !parsed.is_by_field() && self.redactor.is_plain(&body.content);
        if !reading.plain {
            self.redactor.detect_body(&parsed, body, &mut reading.body);
        }
        reading.parsed = Some(parsed);
        reading
    }

    fn read_head(&mut self, headers: &Headers, response: bool) -> Head {
        let start = self.heads.len();
        if start == 0 {
            // Enough for both heads of most exchanges.
            self.heads.reserve(1024);
        }
        let mut authorization = None;
        let mut is_first = !response;
        for (name, value) in headers.iter() {
            if is_first && name == header::AUTHORIZATION {
                is_first = false;
                authorization = self.redactor.known_authorization(value);
                if authorization.is_some() {
                    continue;
                }
            }
            // The colon ends a name for the hints that count at the end of a word only.
            for (part, end) in [(name.as_str().as_bytes(), b':'), (value.as_bytes(), b'\n')] {
                self.heads.extend_from_slice(part);
                self.heads.push(end);
            }
        }
        let text = start..self.heads.len();
        if !self.redactor.plan.names_headers() && self.redactor.is_plain(&self.heads[text.clone()]) {
            return Head { authorization, others: Fields::Plain(text) };
        }
        let mut known = authorization.is_some();
        let marks = |(name, value): (&HeaderName, &HeaderValue)| {
            if known && name == header::AUTHORIZATION {
                known = false;
                return Vec::new();
            }
            self.redactor.detect_header(name, value.as_bytes())
        };
        Head { authorization, others: Fields::Read(headers.iter().map(marks).collect()) }
    }

    fn write_head(&mut self, index: &Index, headers: &mut Headers, head: Head, response: bool) {
        if let Some(label) = head.authorization
            && let Some((_, value)) = headers.iter_mut().find(|(name, _)| *name == header::AUTHORIZATION)
        {
            *value = label;
            self.touched.authorization = true;
        }
        let mut marked = match head.others {
            Fields::Plain(text) if !self.heads.get(text.clone()).is_some_and(|text| index.touches(text)) => return,
            Fields::Plain(_) => Vec::new(),
            Fields::Read(marks) => marks,
        }
        .into_iter();
        for (name, value) in headers.iter_mut() {
            let mut marks = marked.next().unwrap_or_default();
            let path = matches!(name.as_str(), "location" | "content-location" | "referer" | "link" | "origin");
            let covering = covering(value.as_bytes(), &marks);
            if covering.is_none() {
                search::find(index, value.as_bytes(), Reading { path, plus: false }, &mut marks);
            }
            if let Some(new) = self.replaced(value.as_bytes(), marks, None) {
                let new = HeaderValue::from_bytes(&new).unwrap_or(HeaderValue::from_static("!"));
                if name == header::AUTHORIZATION && !response {
                    self.touched.authorization = true;
                    if let Some(secret) = covering {
                        self.redactor.keep_authorization(value, &new, secret);
                    }
                } else {
                    self.touched.elsewhere = true;
                }
                *value = new;
            }
        }
    }

    fn write(&mut self, index: &Index, headers: &mut Headers, body: &mut Body, reading: Noticed, response: bool) {
        self.write_head(index, headers, reading.head, response);
        self.count(reading.fate, body);
        match reading.fate {
            Fate::Kept => {}
            Fate::Cut => {
                body.content = Bytes::new();
                self.touched.elsewhere = true;
                return;
            }
            Fate::Unparsable => {
                self.remember(&reading.body, &body.content, response);
                self.withhold(headers, body);
                return;
            }
        }
        let Some(parsed) = &reading.parsed else { return };
        body.malformed |= parsed.is_malformed();
        if reading.plain && !index.touches(&body.content) {
            return;
        }
        let mut marks = reading.body;
        self.redactor.spread_body(index, parsed, body, &mut marks);
        self.remember(&marks, &body.content, response);
        self.remember_pieces(parsed, &marks, &body.content);
        let mut places: Vec<String> = marks.iter().filter_map(|mark| mark.place.clone()).collect();
        body::labelled(parsed, &body.content, &mut places);
        let new = self.replaced(&body.content, marks, Some(response));
        let document = new.as_ref().filter(|_| parsed.is_json()).map(|new| json::Document::parse(new.clone()));
        // A name that was replaced may have become the name beside it.
        if let Some(Err(_)) = document {
            self.redactor.count_withheld();
            self.withhold(headers, body);
            return;
        }
        let document = document.and_then(Result::ok);
        for place in places {
            let place = self.place_in(index, document.as_ref(), place);
            if !body.redacted.contains(&place) {
                body.redacted.push(place);
            }
        }
        let Some(new) = new else { return };
        body.content = new.into();
        self.touched.elsewhere = true;
        resize(headers, body);
    }

    fn withhold(&mut self, headers: &mut Headers, body: &mut Body) {
        if !matches!(body.presence, Presence::Withheld(_)) {
            *body = Body::withheld(Withheld::Unparsable, None);
        }
        body.content = Bytes::new();
        headers.retain(|name, _| name != header::CONTENT_LENGTH);
        self.touched.elsewhere = true;
    }

    /// What a token claims may have the shape of a secret.
    fn detect_credential(&self, credential: &Credential) {
        let Credential::Token(facts) = credential else { return };
        let index = self.redactor.memory().index();
        if self.redactor.is_clean(&index, facts) {
            return;
        }
        let texts = [&facts.client, &facts.issuer].into_iter().flatten();
        for text in texts.chain(&facts.audience).chain(facts.scopes.iter().flatten()) {
            self.redactor.detect_text(text.as_bytes(), 0, &mut Vec::new());
        }
    }

    fn write_credential(&mut self, index: &Index, credential: &mut Credential) {
        let Credential::Token(facts) = credential else { return };
        if index.is_empty() || self.redactor.is_clean(index, facts) {
            return;
        }
        let mut clean = TokenFacts::clone(facts);
        let texts = [&mut clean.client, &mut clean.issuer].into_iter().flatten();
        let lists = clean.audience.iter_mut().chain(clean.scopes.iter_mut().flatten());
        let mut changed = false;
        for text in texts.chain(lists) {
            changed |= self.rewrite(index, text);
        }
        if changed {
            *facts = clean.into();
            self.touched.elsewhere = true;
        } else {
            self.redactor.remember_clean(index, facts);
        }
    }

    /// A place of a body as the redacted body has it: the names that lead there are redacted as they are there.
    fn place_in(&self, index: &Index, document: Option<&json::Document>, place: String) -> String {
        let Some(mut place) = self.pointer(index, &place) else { return place };
        // Beside another name of the same beginning a label may read otherwise; then more of the body counts as redacted.
        while document.is_some_and(|document| document.pointer(&place).is_none()) {
            place.truncate(place.rfind('/').unwrap_or(0));
        }
        place
    }

    /// A JSON pointer whose names are redacted; `None` if nothing changes.
    fn pointer(&self, index: &Index, pointer: &str) -> Option<String> {
        let mut changed = false;
        let mut out = String::new();
        for token in pointer.strip_prefix('/')?.split('/') {
            let name = token.replace("~1", "/").replace("~0", "~");
            let new = self.name(index, &name);
            changed |= new.is_some();
            json::push_pointer(&mut out, new.as_deref().unwrap_or(&name));
        }
        // A secret with a `/` of its own in it may go from one name to the next.
        changed |= self.rewrite(index, &mut out);
        changed.then_some(out)
    }

    /// A name out of a message, or another text of it that stands by itself, without its secrets; `None` if it has none.
    fn name(&self, index: &Index, name: &str) -> Option<String> {
        /// No shape of a secret is shorter than this without a sign of punctuation.
        const MAX_BARE: usize = 14;
        let text = name.as_bytes();
        let is_bare = text.len() <= MAX_BARE && text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let mut marks = Vec::new();
        if !is_bare || self.redactor.plan.is_extended() {
            self.redactor.detect_text(text, DEPTH - 1, &mut marks);
        }
        search::find(index, text, Reading::default(), &mut marks);
        self.replaced(text, marks, None).map(|new| lossy(&new))
    }

    /// Replaces secrets in a text that was taken from a message: where a finding is, what was seen there.
    pub(in crate::redact) fn derived(&self, index: &Index, text: &mut String) -> bool {
        let new = if text.starts_with('/') { self.pointer(index, text) } else { self.name(index, text) };
        new.map(|new| *text = new).is_some()
    }

    /// Replaces known secrets in a text of ours.
    pub(in crate::redact) fn rewrite(&self, index: &Index, text: &mut String) -> bool {
        let mut marks = Vec::new();
        search::find(index, text.as_bytes(), Reading::default(), &mut marks);
        match self.replaced(text.as_bytes(), marks, None) {
            Some(new) => {
                *text = lossy(&new);
                true
            }
            None => false,
        }
    }

    /// Replaces known secrets in what the check said.
    pub(in crate::redact) fn verdict(&mut self, verdict: &mut Verdict) {
        if verdict.findings.is_empty() {
            return;
        }
        let index = self.redactor.memory().index();
        for finding in &mut verdict.findings {
            let mut changed = false;
            if let Some(piece) = self.pieces.iter().find(|piece| piece.place == finding.at) {
                if let Some(seen) = finding.seen.as_mut().filter(|_| !piece.value.is_empty()) {
                    *seen = seen.replace(&piece.value, &piece.redacted.1);
                }
                finding.at.clone_from(&piece.redacted.0);
                changed = true;
            }
            let spots = std::mem::take(&mut self.spots);
            for spot in &spots {
                if !spot.concerns(finding) {
                    continue;
                }
                let texts = finding.seen.as_mut().into_iter().chain(match &mut finding.expected {
                    std::borrow::Cow::Owned(text) => Some(text),
                    std::borrow::Cow::Borrowed(_) => None,
                });
                for text in texts {
                    if text.contains(&spot.value) {
                        *text = text.replace(&spot.value, &spot.label);
                        changed = true;
                    }
                }
            }
            self.spots = spots;
            changed |= self.derived(&index, &mut finding.at);
            if let Some(seen) = &mut finding.seen {
                changed |= self.name(&index, seen).map(|new| *seen = new).is_some();
            }
            if let std::borrow::Cow::Owned(expected) = &mut finding.expected {
                changed |= self.rewrite(&index, expected);
            }
            self.touched.elsewhere |= changed;
        }
    }

    /// Values that stay in their field by value, for the findings about it.
    fn remember(&mut self, marks: &[Mark], text: &[u8], response: bool) {
        for mark in marks.iter().filter(|mark| mark.whole) {
            let Some(place) = &mark.place else { continue };
            let Some(value) = text.get(mark.range.clone()) else { continue };
            if kind::spread(value) == Spread::Anywhere || label::is_label_bytes(value) {
                continue;
            }
            let secret = self.redactor.memory().secret(mark.secret);
            let label = if mark.number {
                secret.number.to_string()
            } else {
                label::text(secret.kind, secret.number, self.bounds(mark, Some(response)))
            };
            self.spots.push(Spot { response, place: place.clone(), value: lossy(value), label });
        }
    }

    /// What becomes of the fields of a form that is something else, for the findings about them.
    fn remember_pieces(&mut self, parsed: &Parsed, marks: &[Mark], text: &[u8]) {
        /// Such a body has hardly any fields; a finding about another one is told without what it saw.
        const MAX_PIECES: usize = 1000;
        let Some(fields) = parsed.cut_form() else { return };
        for field in fields.iter().take(MAX_PIECES) {
            let left = |range: &Range<usize>| {
                let inside = marks.iter().filter(|mark| mark.range.start < range.end && range.start < mark.range.end);
                let inside = inside.map(|mark| {
                    let (start, end) = (mark.range.start.max(range.start), mark.range.end.min(range.end));
                    Mark::part(start - range.start..end - range.start, mark.secret)
                });
                let raw = &text[range.clone()];
                let new = self.replaced(raw, inside.collect(), None);
                lossy(&body::decoded(new.as_deref().unwrap_or(raw)))
            };
            let redacted = (body::field_place(&left(&field.name)), left(&field.value));
            let value = lossy(&body::decoded(&text[field.value.clone()]));
            let place = body::field_place(&body::name_of(field, text));
            if redacted.0 != place || redacted.1 != value {
                self.pieces.push(Piece { place, value, redacted });
            }
        }
    }

    fn bounds(&self, mark: &Mark, body: Option<bool>) -> Bounds {
        match (body, self.operation, &mark.place, &self.redactor.shapes) {
            (Some(response), Some(operation), Some(place), Some(shapes)) if mark.whole => {
                shapes.bounds(operation, response, place)
            }
            _ => Bounds::default(),
        }
    }

    /// The text with labels where the marks are; `None` if nothing changes. `body` says which message's body it is.
    pub(in crate::redact) fn replaced(&self, text: &[u8], marks: Vec<Mark>, body: Option<bool>) -> Option<Vec<u8>> {
        if marks.is_empty() {
            return None;
        }
        let edits: Vec<_> = spans::settle(marks)
            .into_iter()
            .map(|mark| {
                let secret = {
                    let mut memory = self.redactor.memory();
                    memory.meet(mark.secret);
                    memory.secret(mark.secret)
                };
                let label = if mark.number {
                    secret.number.to_string()
                } else {
                    label::text(secret.kind, secret.number, self.bounds(&mark, body))
                };
                let label = if mark.quoted { format!("\"{label}\"") } else { label };
                (mark.range, label.into_bytes())
            })
            .collect();
        Some(json::splice(text, &edits))
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        self.redactor.memory().done(self.began);
    }
}

impl Spot {
    fn concerns(&self, finding: &Finding) -> bool {
        let side = match finding.rule {
            Rule::RequestBody | Rule::RequestBodyUndocumented | Rule::QueryParameter | Rule::QueryUndocumented => {
                !self.response
            }
            Rule::ResponseBody | Rule::ResponseBodyUndocumented => self.response,
            _ => true,
        };
        side && (finding.at == self.place || self.place.strip_prefix('/') == Some(&finding.at))
    }
}

/// The secret that a field's value is, but for the scheme before it: then there is no room for another.
fn covering(value: &[u8], marks: &[Mark]) -> Option<Id> {
    let [Mark { range, secret, .. }] = marks else { return None };
    let scheme = value[..range.start].trim_ascii();
    let covers = range.end == value.len() && SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known.as_bytes()));
    covers.then_some(*secret)
}

/// A body's sizes are those of what is kept, so that none tells the length of what was replaced.
pub(in crate::redact) fn resize(headers: &mut Headers, body: &mut Body) {
    let size = body.content.len();
    body.wire_size = Some(size as u64);
    for (name, value) in headers.iter_mut() {
        if name == header::CONTENT_LENGTH {
            *value = HeaderValue::from(size);
        }
    }
}

/// Texts that were valid UTF-8 before whole characters of them were replaced.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
