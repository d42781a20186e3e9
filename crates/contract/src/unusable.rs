//! A place of a document that contrail cannot judge by: listed, counted, and no reason to refuse the rest.

/// A place that contrail cannot judge by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UnusablePlace {
    /// JSON pointer into the document.
    pub at: String,
    /// What is wrong.
    pub reason: String,
}

impl UnusablePlace {
    /// A `$ref` at `at` to a place that the document does not have.
    pub(crate) fn dangling(at: &str, target: &str) -> Self {
        let reason = if target.starts_with('#') {
            format!("it refers to `{target}`, which the document does not define")
        } else {
            format!("it refers to `{target}`, which is not a place in the document or in a file beside it")
        };
        Self { at: format!("{at}/$ref"), reason }
    }
}
