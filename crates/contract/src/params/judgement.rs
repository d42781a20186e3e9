//! The verdict on a parameter, from what its schema finds.

use std::borrow::Cow;

use contrail_exchange::json::{Document, Kind};

use super::value::Reading;
use crate::schema::{GapKind, Indeterminate, SchemaVerdict, SchemaViolation};

/// Why a value is not judged whose notation the specification leaves open.
pub(super) const UNDEFINED: &str = "OpenAPI does not define how this value is written";

/// The verdict on a parameter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// What was expected instead, as a clause.
    pub violation: Option<Cow<'static, str>>,
    /// JSON pointers of members that the schema does not document.
    pub undocumented: Vec<String>,
    /// Why it is undecidable, where it is.
    pub open: Option<Cow<'static, str>>,
}

impl Judgement {
    pub(crate) fn open(why: impl Into<Cow<'static, str>>) -> Self {
        Self { open: Some(why.into()), ..Self::default() }
    }

    pub(super) fn violation(expected: impl Into<Cow<'static, str>>) -> Self {
        Self { violation: Some(expected.into()), ..Self::default() }
    }

    pub(super) fn of(reading: Result<Reading, Indeterminate>) -> Self {
        match reading {
            Ok(reading) => Self::of_judged(&reading.document, reading.judged),
            Err(Indeterminate(why)) => Self::open(why),
        }
    }

    /// Undecidable in place of a violation, unless the specification defines how the value is written.
    pub(super) fn where_defined(self, is_defined: bool) -> Self {
        if is_defined || self.violation.is_none() { self } else { Self::open(UNDEFINED) }
    }

    /// Why not all of it was judged: no rule covers what is undocumented below a parameter.
    pub(crate) fn why_open(&self) -> Option<Cow<'static, str>> {
        let undocumented = || self.undocumented.first().map(|at| format!("the document does not show `{at}`").into());
        self.open.clone().or_else(undocumented)
    }

    pub(crate) fn of_judged(document: &Document, judged: SchemaVerdict) -> Self {
        let is_object = document.root().kind() == Kind::Object;
        let clause = |violation: SchemaViolation| -> Cow<'static, str> {
            let below = is_object && !violation.at.is_empty();
            if below { format!("{} at `{}`", violation.expected, violation.at).into() } else { violation.expected }
        };
        let join = |left: Cow<'static, str>, right: Cow<'static, str>| {
            if left == right { left } else { format!("{left} and {right}").into() }
        };
        let is_undocumented = |kind: &GapKind| matches!(kind, GapKind::Undocumented | GapKind::UndocumentedItem);
        let content = judged.gaps.iter().any(|gap| matches!(gap.kind, GapKind::Content { .. }));
        let content = content.then(|| "the text in it does not conform to its `contentSchema`".into());
        let open = judged.open.into_iter().next().map(|open| open.why).or(content);
        let undocumented = judged.gaps.into_iter().filter(|gap| is_undocumented(&gap.kind));
        Self {
            violation: judged.violations.into_iter().map(clause).reduce(join),
            undocumented: undocumented.map(|gap| gap.at).collect(),
            open,
        }
    }
}
