//! Violations of a schema, and values that it cannot judge.

use std::borrow::Cow;

/// A place at which a value breaks its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaViolation {
    /// JSON pointer into the value. A missing member has the pointer that it would have.
    pub at: String,
    /// What the schema says, as a clause that follows "expected".
    pub expected: Cow<'static, str>,
}

/// No verdict: the schema is unusable, the value is nested too deep for the stack or for a schema that refers to itself
/// from within a choice, or a pattern is too costly to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indeterminate;
