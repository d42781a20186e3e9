//! A recording's redactor: its plan, its memory of secrets, and what it gives to writers, console and reports.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use http::HeaderValue;

use super::{
    Bounds, Counters, Hit, Judged, Plan, Redacted, Shapes,
    apply::message::Redaction,
    kind::{self, Kind, Spread},
    known::{index::Index, memory::Memory, search},
    label,
    mark::Id,
};
use crate::{
    exchange::{ByToken, Exchange, Headers, Request, TokenFacts},
    finding::{Rule, Verdict},
    token::Recent,
};

/// A recording's memory of secrets and their labels, shared by all its exchanges.
pub struct Redactor {
    pub(super) plan: Plan,
    pub(super) shapes: Option<Arc<dyn Shapes>>,
    pub(super) memory: Mutex<Memory>,
    /// See [`Redactor::thorough`].
    pub(super) thorough: bool,
    /// Tokens whose facts hold no known secret, with the index that was searched.
    pub(super) clean: Mutex<ByToken<u64>>,
    /// The redacted forms of the most recent `Authorization` values.
    pub(super) authorizations: Mutex<Recent<(HeaderValue, Id)>>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Default for Redactor {
    fn default() -> Self {
        Self::new(Plan::default())
    }
}

/// How many codings of a text for people are undone one inside the other.
const TEXT_DEPTH: usize = 2;

impl Redactor {
    /// A memory without secrets.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            shapes: None,
            memory: Mutex::default(),
            thorough: false,
            clean: Mutex::default(),
            authorizations: Mutex::default(),
        }
    }

    /// The same with bounds for labels in bodies.
    #[must_use]
    pub fn with_shapes(mut self, shapes: Arc<dyn Shapes>) -> Self {
        self.shapes = Some(shapes);
        self
    }

    /// The same without the quick looks that spare most texts from being read: what it gives is the same, and takes its
    /// time. For tests that compare the two; to be called before anything is redacted.
    #[must_use]
    pub fn thorough(mut self) -> Self {
        self.thorough = true;
        self.memory = Mutex::new(Memory::thorough());
        self
    }

    /// The same with a memory of at most so many secrets: beyond it, the least recently seen are forgotten. Such a
    /// value is recognised again by its field, its header or its shape, and nowhere else.
    #[must_use]
    pub fn with_bound(self, secrets: usize) -> Self {
        self.memory().bound(secrets);
        self
    }

    /// Takes the secrets out of an exchange and of its verdict. Idempotent: labels are recognised.
    #[must_use]
    pub fn redact(&self, mut judged: Judged) -> Redacted<Judged> {
        let operation = judged.verdict.operation.clone();
        let mut work = Redaction::new(self, operation.as_deref());
        let exchange = &mut judged.exchange;
        let transport = &mut exchange.transport;
        if let Some(failure) = &transport.incomplete {
            // Its secrets may be in the messages, too.
            self.detect_text(failure.as_bytes(), TEXT_DEPTH, &mut Vec::new());
        }
        work.messages(&mut exchange.request, exchange.response.as_mut());
        if let Some(failure) = &mut transport.incomplete {
            let clean = self.failure(failure).into_inner();
            if clean != *failure {
                replace_failure(&mut judged.verdict, failure, &clean);
                *failure = clean;
                work.touched.elsewhere = true;
            }
        }
        work.verdict(&mut judged.verdict);
        if let Some(audience) = &mut transport.original_audience {
            let index = self.memory().index();
            work.touched.elsewhere |= work.rewrite(&index, audience);
        }
        judged.touched.authorization |= work.touched.authorization;
        judged.touched.elsewhere |= work.touched.elsewhere;
        Redacted(judged)
    }

    /// Recognises the secrets of an exchange that is not recorded, so that they are replaced wherever they come again.
    pub fn recognise(&self, exchange: &Exchange) {
        Redaction::new(self, None).recognise(&exchange.request, exchange.response.as_ref());
    }

    /// Recognises the secrets of header fields that are recorded nowhere (an interim answer's).
    pub fn recognise_headers(&self, headers: &Headers) {
        Redaction::new(self, None).recognise_headers(headers);
    }

    /// Takes secrets, known ones in any coding and others by shape and name, out of a text for people (an error, a
    /// URL).
    #[must_use]
    pub fn text(&self, text: &str) -> Redacted<String> {
        let work = Redaction::new(self, None);
        let mut marks = Vec::new();
        self.detect_text(text.as_bytes(), TEXT_DEPTH, &mut marks);
        let index = self.memory().index();
        search::find(&index, text.as_bytes(), search::Reading::default(), &mut marks);
        let new = work.replaced(text.as_bytes(), marks, None);
        Redacted(new.map_or_else(|| text.to_owned(), |new| String::from_utf8_lossy(&new).into_owned()))
    }

    /// The same for what a producer says of an exchange that failed: a text of any length, which is cut for reading once
    /// no secret is left that the cut could divide.
    #[must_use]
    pub fn failure(&self, text: &str) -> Redacted<String> {
        /// Most characters that are kept.
        const MAX_FAILURE: usize = 200;
        let mut clean = self.text(text).into_inner();
        if let Some((end, _)) = clean.char_indices().nth(MAX_FAILURE) {
            let divided = label::find(clean.as_bytes()).find(|(range, _)| range.start < end && end < range.end);
            clean.truncate(divided.map_or(end, |(range, _)| range.start));
        }
        Redacted(clean)
    }

    /// The same for a JSON pointer: each name on the way is a text of its own.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Redacted<String> {
        let index = self.memory().index();
        let mut text = pointer.to_owned();
        Redaction::new(self, None).derived(&index, &mut text);
        Redacted(text)
    }

    /// The same plan on a live request before it is matched against a fixture, so redaction never breaks replay.
    #[must_use]
    pub fn request(&self, request: &Request) -> Redacted<Request> {
        let mut request = request.clone();
        Redaction::new(self, None).messages(&mut request, None);
        Redacted(request)
    }

    /// Makes a value a secret of this recording, wherever it comes. `false` if it is too short or too common to be
    /// looked for by value.
    pub fn remember(&self, secret: &[u8]) -> bool {
        let spread = kind::spread(secret);
        self.memory().learn(secret, Kind::Custom);
        !matches!(spread, Spread::Field | Spread::Word)
    }

    /// The same for the secret of an OAuth client, so that its label says what it is. It counts once a message holds it.
    pub fn remember_client_secret(&self, secret: &str) {
        self.memory().foresee(secret.as_bytes(), Kind::ClientSecret);
    }

    /// Looks for every secret seen so far, raw and in base64, hex, percent-encoded and escaped form. For the proof at
    /// the end of a recording; the bytes may be a whole file or a line of it.
    ///
    /// Values that redaction leaves to their fields (short or common ones) are not looked for.
    #[must_use]
    pub fn scan(&self, bytes: &[u8]) -> Vec<Hit> {
        let index = self.memory().index();
        let memory = self.memory();
        let mut hits: Vec<Hit> = search::scan(&index, bytes)
            .into_iter()
            .map(|(found, form)| {
                let secret = memory.secret(found.secret);
                Hit {
                    offset: found.range.start,
                    kind: secret.kind.name(),
                    form,
                    label: label::text(secret.kind, secret.number, Bounds::default()),
                }
            })
            .collect();
        hits.sort_by(|one, other| (one.offset, &one.label).cmp(&(other.offset, &other.label)));
        hits.dedup_by(|one, other| one.offset == other.offset && one.label == other.label);
        hits
    }

    /// What was found so far, for the summary.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let memory = self.memory();
        Counters {
            secrets: memory.distinct(),
            personal: memory.people(),
            masks_personal: self.plan.personal,
            forgotten: memory.forgotten,
        }
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The redacted form of an `Authorization` value that was seen before and is one secret behind its scheme.
    pub(super) fn known_authorization(&self, value: &HeaderValue) -> Option<HeaderValue> {
        if self.thorough {
            return None;
        }
        let (label, secret) = self.authorizations().get(value.as_bytes()).cloned()?;
        self.memory().see(secret).then_some(label)
    }

    pub(super) fn keep_authorization(&self, value: &HeaderValue, label: &HeaderValue, secret: Id) {
        self.authorizations().put(value.as_bytes(), (label.clone(), secret));
    }

    fn authorizations(&self) -> MutexGuard<'_, Recent<(HeaderValue, Id)>> {
        self.authorizations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this token's facts were searched with this index.
    pub(super) fn is_clean(&self, index: &Index, facts: &Arc<TokenFacts>) -> bool {
        self.clean().get(facts) == Some(&index.generation)
    }

    pub(super) fn remember_clean(&self, index: &Index, facts: &Arc<TokenFacts>) {
        self.clean().put(facts, index.generation);
    }

    fn clean(&self) -> MutexGuard<'_, ByToken<u64>> {
        self.clean.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts the redacted failure of an exchange into the finding that quotes it.
fn replace_failure(verdict: &mut Verdict, failure: &str, clean: &str) {
    for finding in &mut verdict.findings {
        if let (Rule::TransportIncomplete, Cow::Owned(expected)) = (finding.rule, &mut finding.expected) {
            *expected = expected.replace(failure, clean);
        }
    }
}
