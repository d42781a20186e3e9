//! One schema and its verdict on a value.

use std::{fmt, sync::Arc};

use contrail_exchange::json::{Document, Node};

use crate::schema::work;

use super::{
    Applicable, Gap, Indeterminate, Open, SchemaViolation, Types,
    adapt::Side,
    errors::Violations,
    fast_path::{Look, Outcome},
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
        match self.looked(document, is_origin)? {
            Some(Outcome::Conforms) => Ok(SchemaVerdict::default()),
            looked => self.in_full(document, is_origin, looked),
        }
    }

    /// Whether a value conforms, nothing about that left open; `None` where one look does not decide.
    pub fn accepts_at_a_look(&self, value: Node<'_>, is_origin: &dyn Fn(&str) -> bool) -> Option<bool> {
        let (outcome, look) = self.look(value, is_origin, |look, shape| look.outcome(shape, value)).ok()??;
        match outcome {
            Outcome::Conforms => Some(true),
            Outcome::Valid if look.is_decided() => Some(true),
            Outcome::Violates => Some(false),
            Outcome::Valid | Outcome::Doubt => None,
        }
    }

    /// The judge and the gap walker without the fast path; [`Schema::judge`] has to agree.
    ///
    /// # Errors
    ///
    /// As of [`Schema::judge`].
    pub fn judge_in_full(
        &self,
        document: &Document,
        is_origin: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<SchemaVerdict, Indeterminate> {
        self.in_full(document, is_origin, None)
    }

    /// `looked` is the fast path's; without it, the fast path decides no choice either.
    fn in_full(
        &self,
        document: &Document,
        is_origin: &(dyn Fn(&str) -> bool + Sync),
        looked: Option<Outcome>,
    ) -> Result<SchemaVerdict, Indeterminate> {
        let (build, place) = self.build();
        let entry = build.roots[place].entry;
        let judge = move || {
            let violations = match looked {
                Some(Outcome::Valid) => Violations::default(),
                _ => Self::violations(build, place, document)?,
            };
            let look = build.fast_path.look(is_origin);
            let asks = looked.is_some();
            // What was looked at is known by its place, so that a document inside a text is not looked at.
            let outcome = |branch: usize, value: Node<'_>| {
                let asks = asks && std::ptr::eq(value.document(), document);
                asks.then(|| look.outcome(build.branches[branch], value))
            };
            let holds = |branch: usize, value: Node<'_>| match outcome(branch, value) {
                Some(Outcome::Conforms | Outcome::Valid) => true,
                Some(Outcome::Violates) => false,
                Some(Outcome::Doubt) | None => build.judge.holds(branch, value),
            };
            let (gaps, mut open) = build.coverage.walk(entry, document.root(), &holds, is_origin);
            if violations.cut {
                open.push(Open::everywhere("it breaks its schema at more places than are listed"));
            }
            Ok(SchemaVerdict { violations: violations.found, gaps, open })
        };
        let steps = work::granted(steps(document.source().len()));
        let judge = || work::bounded(steps, judge);
        let (judged, taken) =
            if document.depth() <= MAX_SHALLOW_DEPTH { judge() } else { in_thread(document.depth(), judge)? };
        work::settle(taken);
        judged.ok_or(Indeterminate::STEPS)?
    }

    /// What the fast path makes of a value; `None` where it must not be asked.
    fn looked(&self, document: &Document, is_origin: &dyn Fn(&str) -> bool) -> Result<Option<Outcome>, Indeterminate> {
        let value = document.root();
        let looked = self.look(value, is_origin, |look, shape| look.outcome(shape, value))?;
        Ok(looked.map(|(outcome, _)| outcome))
    }

    /// Looks at a value by the shape of this schema, within the bound on steps; `None` as of [`Self::looked`].
    fn look<'g, T>(
        &'g self,
        value: Node<'_>,
        is_origin: &'g dyn Fn(&str) -> bool,
        with: impl FnOnce(&Look<'g>, usize) -> T,
    ) -> Result<Option<(T, Look<'g>)>, Indeterminate> {
        let (build, place) = self.build();
        let root = &build.roots[place];
        if value.document().depth() > MAX_SHALLOW_DEPTH || build.coverage.leads_to_broken(root.entry) {
            return Ok(None);
        }
        let look = build.fast_path.look(is_origin);
        let (looked, taken) = work::bounded(work::granted(steps(value.span().len())), || with(&look, root.shape));
        work::settle(taken);
        Ok(Some((looked.ok_or(Indeterminate::STEPS)?, look)))
    }

    #[cfg(test)]
    pub(super) fn at_a_look(&self, document: &Document, is_origin: &dyn Fn(&str) -> bool) -> Option<Outcome> {
        self.looked(document, is_origin).ok()?
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
        let (path, shape, types) = (&build.fast_path, build.roots[place].shape, build.types(place));
        (types.is_integer() && path.integer_certainly_conforms(shape, text))
            || (types.is_boolean() && path.boolean_certainly_conforms(shape, text))
            || (types.string() && !types.array() && !types.object() && path.text_certainly_conforms(shape, text))
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
        build.coverage.applicable(build.roots[place].entry)
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
