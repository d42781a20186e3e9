//! Redaction: an [`Exchange`] with its [`Verdict`] goes in, a [`Redacted`] one comes out, the only type that writers,
//! console and reports accept.
//!
//! Structural, never a pattern over a finished line: by field (headers, form fields, JSON members, query parameters)
//! and by value (a secret once recognised is replaced wherever it comes again, in any encoding). Labels are stable
//! within a recording, keep the JSON type, fit the schema's bounds, and never show the secret's length.

use std::ops::Deref;

use crate::{exchange::Exchange, finding::Verdict};

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
    /// The exchange.
    pub exchange: Exchange,
    /// What the check said.
    pub verdict: Verdict,
    /// What redaction replaced; nothing before it.
    pub touched: Touched,
}

impl Judged {
    /// An exchange and its verdict, not yet redacted.
    #[must_use]
    pub fn new(exchange: Exchange, verdict: Verdict) -> Self {
        Self { exchange, verdict, touched: Touched::default() }
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

/// What the redaction of a recording works by: the built-in rules and what `--redact` adds. Compiled once.
#[derive(Debug, Clone, Default)]
pub struct Plan {}

impl Plan {
    /// The built-in rules with what each `--redact` option adds (`pointer:/a`, `header:NAME`, `regex:…`, `personal`).
    ///
    /// # Errors
    ///
    /// [`PlanError`] quotes the option that is none of these.
    pub fn new<S: AsRef<str>>(_options: &[S]) -> Result<Self, PlanError> {
        Ok(Self {})
    }
}

/// A `--redact` option that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    /// The option's value.
    pub option: String,
    /// What is wrong with it, and what to write instead.
    pub reason: String,
}

impl std::fmt::Display for PlanError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`--redact {}`: {}", self.option, self.reason)
    }
}

impl std::error::Error for PlanError {}

/// Bounds that a label has to fit, taken from the contract by the pipeline (this module knows no contract).
pub trait Shapes: Send + Sync {
    /// Length bounds in characters and a sample that fits, for the value at `pointer` of a body of `operation`.
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

/// A recording's memory of secrets and their labels, shared by all its exchanges.
#[derive(Debug)]
pub struct Redactor {}

impl Redactor {
    /// A memory without secrets.
    #[must_use]
    pub fn new(_plan: Plan) -> Self {
        Self {}
    }

    /// The same with bounds for labels in bodies.
    #[must_use]
    pub fn with_shapes(self, _shapes: std::sync::Arc<dyn Shapes>) -> Self {
        self
    }

    /// Takes the secrets out of an exchange and of what the check said about it. Idempotent: labels are recognised.
    #[must_use]
    pub fn redact(&self, _judged: Judged) -> Redacted<Judged> {
        todo!()
    }

    /// Takes known secrets, in any encoding, out of a text for people (an error, a URL).
    #[must_use]
    pub fn text(&self, _text: &str) -> Redacted<String> {
        todo!()
    }

    /// The same plan on a live request before it is matched against a fixture, so redaction never breaks replay.
    #[must_use]
    pub fn request(&self, _request: &crate::exchange::Request) -> Redacted<crate::exchange::Request> {
        todo!()
    }

    /// Looks for every secret seen so far, raw and in base64, hex, percent and JSON-escaped form. For the proof at the
    /// end of a recording; bytes may be a whole file or a line of it.
    #[must_use]
    pub fn scan(&self, _bytes: &[u8]) -> Vec<Hit> {
        todo!()
    }

    /// What was found so far, for the summary.
    #[must_use]
    pub fn counters(&self) -> Counters {
        todo!()
    }
}

/// A secret that a scan met. It never shows the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Byte offset at which it begins.
    pub offset: usize,
    /// What kind of secret, for example `client-secret`.
    pub kind: &'static str,
    /// In which form: `raw`, `base64`, `hex`, `percent-encoded`, `JSON-escaped`.
    pub form: &'static str,
    /// The label that stands for it, if it has one.
    pub label: Option<String>,
}

/// What redaction found in a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// Distinct secrets by kind.
    pub secrets: std::collections::BTreeMap<&'static str, u64>,
    /// Values that look like personal data, by kind (`email`, `phone`, `name`…), masked or not.
    pub personal: std::collections::BTreeMap<&'static str, u64>,
    /// Bodies that were withheld because they do not parse.
    pub withheld: u64,
    /// Cut bodies whose kept part was dropped.
    pub cut: u64,
}

/// New numbers for labels in the order in which they are met, so that a fixture does not depend on the order of its
/// journal. Labels of different sources are kept apart even where they read the same.
#[derive(Debug, Clone, Default)]
pub struct Renumbering {}

impl Renumbering {
    /// What follows comes from another recording: its labels are not those of the one before.
    pub fn next_source(&mut self) {}

    /// Renumbers every label of the exchange and its verdict.
    pub fn renumber(&mut self, _judged: &mut Redacted<Judged>) {}
}

/// Whether the text is a label, whole.
#[must_use]
pub fn is_label(_text: &str) -> bool {
    todo!()
}

/// Whether `live` is what `recorded` says, where a label in `recorded` stands for any text.
#[must_use]
pub fn matches(_recorded: &str, _live: &str) -> bool {
    todo!()
}
