//! Redaction: an [`Exchange`] with its [`Verdict`] goes in, a [`Redacted`] one comes out, the only type that writers,
//! console and reports accept.
//!
//! Structural, never a pattern over a finished line. An exchange is read twice: first every secret is recognised, by the
//! field that it stands in (headers, form fields, JSON members, query parameters), by its shape, and by the rules that
//! `--redact` adds; then every known secret is replaced wherever it stands, by value and in any coding. A body that is
//! not what its media type says is searched as text and kept; one in which nobody can tell where a secret is, is withheld;
//! of a cut body nothing is kept.
//!
//! ```text
//! detect  (kind, shapes, plan)  ──► memory: secret ──► label ──► index
//!                                                                │
//! spread  (view: percent, JSON escapes, entities) ◄──────────────┘ ──► marks ──► labels spliced in
//! ```
//!
//! Labels ([`apply::label`]) are stable within a recording, keep the JSON type, fit the schema's bounds, and never show the
//! secret's length. Redaction is idempotent: labels are recognised.
//!
//! Knows nothing of contracts, sockets or files.

pub mod apply;
pub mod find;
pub mod known;
mod plan;

use std::{
    collections::BTreeMap,
    fmt,
    ops::Deref,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use http::HeaderValue;

pub use apply::file::{Cleaned, Sighting};
pub(crate) use apply::label::label_number;
pub use apply::label::{has_label, is_label, matches, unnumbered};
pub use apply::renumber::Renumbering;
pub use plan::{Plan, PlanError};

use self::{
    apply::message::Work,
    find::kind::{Kind, Spread},
    known::{
        index::Index,
        memory::{Id, Memory},
    },
};
use crate::{
    exchange::{Exchange, Headers, Request},
    finding::Verdict,
    token::{Recent, TokenFacts},
};

/// A value from which the secrets are gone. Nothing outside this module can make one.
#[derive(Debug, Clone)]
pub struct Redacted<T>(T);

impl<T> Deref for Redacted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Redacted<T> {
    /// The value, no longer proven clean by its type.
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// An exchange with what the check said about it.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The exchange, boxed since it goes through many hands.
    pub exchange: Box<Exchange>,
    /// What the check said.
    pub verdict: Verdict,
    /// What redaction replaced; nothing before it.
    pub touched: Touched,
}

impl Judged {
    /// An exchange and its verdict, not yet redacted.
    #[must_use]
    pub fn new(exchange: impl Into<Box<Exchange>>, verdict: Verdict) -> Self {
        Self { exchange: exchange.into(), verdict, touched: Touched::default() }
    }
}

/// Where redaction changed an exchange. A check of the redacted exchange can differ from the live verdict only if
/// `elsewhere` says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Touched {
    /// The value of `Authorization` (its facts stay in the request's credential).
    pub authorization: bool,
    /// Anything else: another header, the target, a body (withheld and dropped ones too), a finding.
    pub elsewhere: bool,
}

/// Bounds that a label has to fit, taken from the contract by the pipeline (this module knows no contract).
pub trait Shapes: Send + Sync {
    /// Length bounds in characters for the value at `pointer` of a body of `operation`.
    fn bounds(&self, operation: &str, response: bool, pointer: &str) -> Bounds;
}

/// See [`Shapes::bounds`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Fewest characters.
    pub min: Option<usize>,
    /// Most characters.
    pub max: Option<usize>,
}

/// A secret that a scan met. It never shows the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Byte offset at which it begins.
    pub offset: usize,
    /// What kind of secret, for example `client-secret`.
    pub kind: &'static str,
    /// In which form: `raw`, `base64`, `hex`, `percent-encoded`, `escaped`.
    pub form: &'static str,
    /// The label that stands for it.
    pub label: String,
}

/// What redaction found in a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// Distinct secrets by kind.
    pub secrets: BTreeMap<&'static str, u64>,
    /// Distinct values that look like personal data, by kind (`email`, `phone`, `person`), masked or not.
    pub personal: BTreeMap<&'static str, u64>,
    /// Whether they are masked.
    pub masks_personal: bool,
    /// Secrets that were forgotten (see [`Redactor::with_bound`]).
    pub forgotten: u64,
    /// Bodies that were withheld: they do not parse, and nobody can tell where their secrets are.
    pub withheld: u64,
    /// Cut bodies whose kept part was dropped.
    pub cut: u64,
}

impl Counters {
    /// What is said of personal data, if anything looks like it.
    #[must_use]
    pub fn said_of_personal(&self) -> Option<String> {
        let found: Vec<String> = self.personal.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        let said = if self.masks_personal {
            "personal data masked"
        } else {
            "looks like personal data (--redact personal masks it)"
        };
        (!found.is_empty()).then(|| format!("{said}: {}", found.join(", ")))
    }
}

/// A recording's memory of secrets and their labels, shared by all its exchanges.
pub struct Redactor {
    plan: Plan,
    shapes: Option<Arc<dyn Shapes>>,
    memory: Mutex<Memory>,
    /// See [`Redactor::thorough`].
    thorough: bool,
    withheld: AtomicU64,
    cut: AtomicU64,
    /// Tokens whose facts hold no known secret, with the index that said so.
    clean: Mutex<Vec<(Arc<TokenFacts>, u64)>>,
    /// What takes the place of the `Authorization` values met last.
    authorizations: Mutex<Recent<(HeaderValue, Id)>>,
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

impl Redactor {
    /// A memory without secrets.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            shapes: None,
            memory: Mutex::default(),
            thorough: false,
            withheld: AtomicU64::new(0),
            cut: AtomicU64::new(0),
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

    /// The same with a memory of at most so many secrets: beyond it, those that were not met for longest are forgotten. Such
    /// a value is recognised anew where its field, its header or its shape tells it, and nowhere else.
    #[must_use]
    pub fn with_bound(self, secrets: usize) -> Self {
        self.memory().bound(secrets);
        self
    }

    /// Takes the secrets out of an exchange and of what the check said about it. Idempotent: labels are recognised.
    #[must_use]
    pub fn redact(&self, mut judged: Judged) -> Redacted<Judged> {
        let operation = judged.verdict.operation.clone();
        let mut work = Work::new(self, operation.as_deref());
        let exchange = &mut judged.exchange;
        work.messages(&mut exchange.request, exchange.response.as_mut());
        work.verdict(&mut judged.verdict);
        let transport = &mut exchange.transport;
        for text in [&mut transport.incomplete, &mut transport.original_audience].into_iter().flatten() {
            let index = self.memory().index();
            work.touched.elsewhere |= work.rewrite(&index, text);
        }
        judged.touched.authorization |= work.touched.authorization;
        judged.touched.elsewhere |= work.touched.elsewhere;
        Redacted(judged)
    }

    /// Recognises the secrets of an exchange of which nothing is told, so that they are replaced wherever they come again.
    pub fn recognise(&self, exchange: &Exchange) {
        Work::new(self, None).recognise(&exchange.request, exchange.response.as_ref());
    }

    /// Recognises the secrets of header fields that are recorded nowhere (an interim answer's).
    pub fn recognise_headers(&self, headers: &Headers) {
        Work::new(self, None).recognise_headers(headers);
    }

    /// Takes secrets, known ones in any coding and others by shape and name, out of a text for people (an error, a
    /// URL).
    #[must_use]
    pub fn text(&self, text: &str) -> Redacted<String> {
        let work = Work::new(self, None);
        let mut marks = Vec::new();
        self.detect_text(text.as_bytes(), 2, &mut marks);
        let index = self.memory().index();
        known::search::find(&index, text.as_bytes(), known::search::Reading::default(), &mut marks);
        let new = work.replaced(text.as_bytes(), marks, None);
        Redacted(new.map_or_else(|| text.to_owned(), |new| String::from_utf8_lossy(&new).into_owned()))
    }

    /// The same for a JSON pointer: each name on the way is a text of its own.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Redacted<String> {
        let index = self.memory().index();
        let mut text = pointer.to_owned();
        Work::new(self, None).derived(&index, &mut text);
        Redacted(text)
    }

    /// The same plan on a live request before it is matched against a fixture, so redaction never breaks replay.
    #[must_use]
    pub fn request(&self, request: &Request) -> Redacted<Request> {
        let mut request = request.clone();
        Work::new(self, None).messages(&mut request, None);
        Redacted(request)
    }

    /// Makes a value a secret of this recording, wherever it comes. `false` if it is too short or too common to be
    /// looked for by value.
    pub fn remember(&self, secret: &[u8]) -> bool {
        let spread = find::kind::spread(secret);
        self.memory().learn(secret, Kind::Custom);
        !matches!(spread, Spread::Field | Spread::Word)
    }

    /// The same for the secret of an OAuth client, so that its label says what it is.
    pub fn remember_client_secret(&self, secret: &str) {
        self.memory().learn(secret.as_bytes(), Kind::ClientSecret);
    }

    /// Looks for every secret seen so far, raw and in base64, hex, percent-encoded and escaped form. For the proof at
    /// the end of a recording; the bytes may be a whole file or a line of it.
    ///
    /// Values that redaction leaves to their fields (short or common ones) are not looked for.
    #[must_use]
    pub fn scan(&self, bytes: &[u8]) -> Vec<Hit> {
        let index = self.memory().index();
        let memory = self.memory();
        let mut hits: Vec<Hit> = known::search::scan(&index, bytes)
            .into_iter()
            .map(|(found, form)| {
                let secret = memory.secret(found.secret);
                Hit {
                    offset: found.range.start,
                    kind: secret.kind.name(),
                    form,
                    label: apply::label::text(secret.kind, secret.number, Bounds::default()),
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
            secrets: memory.distinct.clone(),
            personal: memory.people(),
            masks_personal: self.plan.personal,
            forgotten: memory.forgotten,
            withheld: self.withheld.load(Ordering::Relaxed),
            cut: self.cut.load(Ordering::Relaxed),
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_withheld(&self) {
        self.withheld.fetch_add(1, Ordering::Relaxed);
    }

    fn count_cut(&self) {
        self.cut.fetch_add(1, Ordering::Relaxed);
    }

    /// What takes the place of an `Authorization` value that was met before, all of which but the scheme is one secret.
    fn known_authorization(&self, value: &HeaderValue) -> Option<HeaderValue> {
        if self.thorough {
            return None;
        }
        let (label, secret) = self.authorizations().get(value.as_bytes()).cloned()?;
        self.memory().meet(secret).then_some(label)
    }

    fn keep_authorization(&self, value: &HeaderValue, label: &HeaderValue, secret: Id) {
        self.authorizations().put(value.as_bytes(), (label.clone(), secret));
    }

    fn authorizations(&self) -> MutexGuard<'_, Recent<(HeaderValue, Id)>> {
        self.authorizations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this token's facts were searched with this index.
    fn is_clean(&self, index: &Index, facts: &Arc<TokenFacts>) -> bool {
        let clean = self.clean.lock().unwrap_or_else(PoisonError::into_inner);
        clean.iter().any(|(held, generation)| *generation == index.generation && Arc::ptr_eq(held, facts))
    }

    fn remember_clean(&self, index: &Index, facts: &Arc<TokenFacts>) {
        /// Callers at work at the same time.
        const MOST: usize = 16;
        let mut clean = self.clean.lock().unwrap_or_else(PoisonError::into_inner);
        clean.retain(|(held, generation)| *generation == index.generation && !Arc::ptr_eq(held, facts));
        if clean.len() >= MOST {
            clean.remove(0);
        }
        clean.push((Arc::clone(facts), index.generation));
    }
}

#[cfg(test)]
mod notations;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod readings;
#[cfg(test)]
mod tests;
