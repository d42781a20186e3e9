//! Counters of redaction, for summaries.

use std::collections::BTreeMap;

/// A secret that a scan found. It never shows the secret.
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
    /// Secrets that were forgotten (see [`super::Redactor::with_bound`]).
    pub forgotten: u64,
}
