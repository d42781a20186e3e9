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

/// A place of a value that could not be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// JSON pointer into the value; empty for all of it.
    pub at: String,
    /// Why, as a sentence without its full stop.
    pub why: Cow<'static, str>,
}

impl Open {
    pub(super) fn everywhere(why: &'static str) -> Self {
        Self { at: String::new(), why: why.into() }
    }
}

/// No verdict, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indeterminate(pub &'static str);

impl Indeterminate {
    pub(super) const UNUSABLE: Self = Self("contrail cannot use its schema");
    pub(super) const PATTERN: Self = Self("a pattern takes too many steps to match");
    pub(super) const STEPS: Self = Self("it takes too many steps to judge");
    pub(super) const DEPTH: Self = Self("it is nested too deep for a schema that refers to itself");
}
