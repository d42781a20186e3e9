//! The verdict on a parameter, from what its schema finds.

use std::borrow::Cow;

use super::value::Reading;
use crate::{
    contract::schema::{GapKind, SchemaVerdict, SchemaViolation},
    json::{Document, Kind},
};

/// The verdict on a parameter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::contract) struct Judgement {
    /// What was expected instead, as a clause.
    pub(in crate::contract) violation: Option<Cow<'static, str>>,
    /// JSON pointers of members that the schema does not document.
    pub(in crate::contract) undocumented: Vec<String>,
    /// Undecidable.
    pub(in crate::contract) open: bool,
}

impl Judgement {
    pub(super) const OPEN: Self = Self { violation: None, undocumented: Vec::new(), open: true };

    pub(super) fn violation(expected: impl Into<Cow<'static, str>>) -> Self {
        Self { violation: Some(expected.into()), ..Self::default() }
    }

    pub(super) fn of(reading: Option<Reading>) -> Self {
        reading.map_or(Self::OPEN, |reading| Self::of_judged(&reading.document, reading.judged))
    }

    /// Undecidable in place of a violation, unless the specification defines how the value is written.
    pub(super) fn where_defined(self, is_defined: bool) -> Self {
        if is_defined || self.violation.is_none() { self } else { Self::OPEN }
    }

    pub(in crate::contract) fn of_judged(document: &Document, judged: SchemaVerdict) -> Self {
        let is_object = document.root().kind() == Kind::Object;
        let clause = |violation: SchemaViolation| -> Cow<'static, str> {
            let below = is_object && !violation.at.is_empty();
            if below { format!("{} at `{}`", violation.expected, violation.at).into() } else { violation.expected }
        };
        let join = |left: Cow<'static, str>, right: Cow<'static, str>| {
            if left == right { left } else { format!("{left} and {right}").into() }
        };
        let is_undocumented = |kind: &GapKind| matches!(kind, GapKind::Undocumented | GapKind::UndocumentedItem);
        let open = judged.partial || judged.gaps.iter().any(|gap| matches!(gap.kind, GapKind::Content { .. }));
        let undocumented = judged.gaps.into_iter().filter(|gap| is_undocumented(&gap.kind));
        Self {
            violation: judged.violations.into_iter().map(clause).reduce(join),
            undocumented: undocumented.map(|gap| gap.at).collect(),
            open,
        }
    }
}
