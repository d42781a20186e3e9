//! One schema and its verdict on a value.

use std::{fmt, sync::Arc};

use contrail_exchange::json::{Document, Node};

use crate::schema::work;

use super::{
    Applicable, Gap, Indeterminate, Open, SchemaViolation, Types,
    adapt::Side,
    errors::Violations,
    graph::Outcome,
    set::{Build, Schemas},
};

/// Nesting up to which the stack of any thread suffices.
const MAX_SHALLOW_DEPTH: usize = 64;

/// Stack for one level of nesting, in bytes: sixteen times what the plainest recursive schema takes in a debug build.
const STACK_PER_LEVEL: usize = 64 << 10;

/// Bound on the steps of judging a value, and what each of its bytes adds.
const MAX_STEPS: u64 = 1 << 20;
const STEPS_PER_BYTE: u64 = 32;

/// A schema of a document.
#[derive(Clone)]
pub struct Schema {
    schemas: Arc<Schemas>,
    place: usize,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("place", &self.place).finish_non_exhaustive()
    }
}

/// What is expected where a value breaks a schema at more places than can be searched for.
const EVERY_LEVEL: &str = "what the document shows, at every level";

/// The verdict of a schema on a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SchemaVerdict {
    /// Where the value violates the schema.
    pub violations: Vec<SchemaViolation>,
    /// Where the schema is silent.
    pub gaps: Vec<Gap>,
    /// Where there may be more: the schema leads to an unusable place, or the value has more to report than is reported.
    pub open: Vec<Open>,
}

impl SchemaVerdict {
    /// Whether there may be more than was found.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        !self.open.is_empty()
    }
}

impl Schemas {
    /// The schema at a JSON pointer into the document. All schemas are requested before the first one judges a value.
    #[must_use]
    pub fn at(self: &Arc<Self>, pointer: &str) -> Schema {
        Schema { schemas: Arc::clone(self), place: self.place_of(pointer, Side::of(pointer)) }
    }

    /// The same as requests and as responses have it.
    pub(crate) fn at_both_sides(self: &Arc<Self>, pointer: &str) -> [Schema; 2] {
        Side::BOTH.map(|side| Schema { schemas: Arc::clone(self), place: self.place_of(pointer, side) })
    }
}

impl Schema {
    /// Its JSON pointer in [`Schemas::document`].
    pub(crate) fn pointer(&self) -> String {
        self.schemas.pointer(self.place)
    }

    /// Judges a document: the places that violate the schema, in the order of the pointers, and the places that no
    /// schema documents, in the order of the document.
    ///
    /// `is_origin` decides what `{origin}` in a known value stands for.
    ///
    /// # Errors
    ///
    /// [`Indeterminate`] if the value cannot be judged to its end.
    pub fn judge(
        &self,
        document: &Document,
        is_origin: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<SchemaVerdict, Indeterminate> {
        self.judged(document, is_origin, false)
    }

    /// Whether a value conforms, nothing about that left open; `None` where only the judge knows.
    pub fn accepts_at_a_look(&self, value: Node<'_>) -> Option<bool> {
        let (build, place) = self.build();
        if value.document().depth() > MAX_SHALLOW_DEPTH {
            return None;
        }
        let accepts = || build.graph.accepts(build.roots[place].node, value);
        let (accepts, taken) = work::bounded(work::granted(steps(value.span().len())), accepts);
        work::settle(taken);
        accepts?
    }

    /// As [`Schema::judge`], which has to agree; here the judge is asked about the value and all branches.
    ///
    /// # Errors
    ///
    /// As of [`Schema::judge`].
    pub fn judge_in_full(
        &self,
        document: &Document,
        is_origin: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<SchemaVerdict, Indeterminate> {
        self.judged(document, is_origin, true)
    }

    /// One walk, and then the judge unless the value certainly conforms.
    fn judged(
        &self,
        document: &Document,
        is_origin: &(dyn Fn(&str) -> bool + Sync),
        in_full: bool,
    ) -> Result<SchemaVerdict, Indeterminate> {
        let (build, place) = self.build();
        let judge = move || {
            let holds = |branch: usize, value: Node<'_>| build.judge.holds(branch, value);
            let walked = build.graph.walk(build.roots[place].node, document.root(), &holds, is_origin, in_full);
            let violations = match walked.outcome {
                Outcome::Conforms if !in_full => Violations::default(),
                _ => Self::violations(build, place, document)?,
            };
            let mut open = walked.open;
            if violations.cut {
                open.push(Open::everywhere("it breaks its schema at more places than are listed"));
            }
            Ok(SchemaVerdict { violations: violations.found, gaps: walked.gaps, open })
        };
        let steps = work::granted(steps(document.source().len()));
        let judge = || work::bounded(steps, judge);
        let (judged, taken) =
            if document.depth() <= MAX_SHALLOW_DEPTH { judge() } else { in_thread(document.depth(), judge)? };
        work::settle(taken);
        judged.ok_or(Indeterminate::STEPS)?
    }

    /// What one walk makes of a value, and whether everything about it is documented.
    #[cfg(test)]
    pub(super) fn walked(&self, document: &Document, is_origin: &dyn Fn(&str) -> bool) -> (Outcome, bool) {
        let (build, place) = self.build();
        let holds = |branch: usize, value: Node<'_>| build.judge.holds(branch, value);
        let walked = build.graph.walk(build.roots[place].node, document.root(), &holds, is_origin, false);
        (walked.outcome, walked.gaps.is_empty() && walked.open.is_empty())
    }

    fn build(&self) -> (&Build, usize) {
        self.schemas.build_of(self.place)
    }

    fn violations(build: &Build, place: usize, document: &Document) -> Result<Violations, Indeterminate> {
        let value = document.root();
        // To find every place takes more steps than to find whether there is one: where a schema refers to itself from
        // within a choice, each level multiplies them by the number of branches.
        let (violations, taken) = work::bounded(work::left() / 4 * 3, || build.judge.violations(place, value));
        work::take(taken);
        if let Some(violations) = violations {
            return violations;
        }
        // The judge calls a value invalid, too, if it cannot match a pattern to its end.
        if build.backtracks || build.judge.is_valid(place, value)? {
            return Err(if build.backtracks { Indeterminate::PATTERN } else { Indeterminate::STEPS });
        }
        let everywhere = SchemaViolation { at: String::new(), expected: EVERY_LEVEL.into() };
        Ok(Violations { found: vec![everywhere], cut: true })
    }

    /// The violations of a text, by the judge alone.
    #[cfg(test)]
    pub(crate) fn violations_of_text(&self, text: &str) -> Result<Vec<SchemaViolation>, Indeterminate> {
        let (build, place) = self.build();
        let document = Document::parse(serde_json::to_vec(text).unwrap()).unwrap();
        let judge = || build.judge.violations(place, document.root());
        let (judged, _) = work::bounded(steps(text.len()), judge);
        Ok(judged.ok_or(Indeterminate::STEPS)??.found)
    }

    /// Whether a parameter's text certainly conforms as the integer, the boolean or the string that it stands for;
    /// `false` decides nothing.
    #[must_use]
    pub fn text_certainly_conforms(&self, text: &str) -> bool {
        let (build, place) = self.build();
        let (graph, node, types) = (&build.graph, build.roots[place].node, build.types(place));
        (types.is_integer() && graph.takes_integer(node, text))
            || (types.is_boolean() && graph.takes_boolean(node, text))
            || (types.string() && !types.array() && !types.object() && graph.takes_text(node, text))
    }

    /// The types that a value may have.
    #[must_use]
    pub fn types(&self) -> Types {
        let (build, place) = self.build();
        build.types(place)
    }

    /// The schemas that may apply to a value.
    #[must_use]
    pub fn applicable(&self) -> Applicable<'_> {
        let (build, place) = self.build();
        build.graph.applicable(build.roots[place].node)
    }
}

/// The steps of judging a value of so many bytes.
fn steps(bytes: usize) -> u64 {
    MAX_STEPS + bytes as u64 * STEPS_PER_BYTE
}

/// The judge recurses with the schema: a deep value needs a deep stack, and a hostile one must not end the process.
fn in_thread<T: Send>(depth: usize, judge: impl FnOnce() -> T + Send) -> Result<T, Indeterminate> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(depth * STACK_PER_LEVEL);
        let thread = thread.spawn_scoped(scope, judge).map_err(|_| Indeterminate::DEPTH)?;
        thread.join().map_err(|_| Indeterminate::DEPTH)
    })
}
