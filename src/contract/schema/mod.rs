//! Schemas: JSON Schema Draft 2020-12 as the judge, and the gap walker that asks what no schema accounts for.
//!
//! The judge is the `jsonschema` crate with formats asserted. It walks the tape of [`crate::json`], so no value is
//! copied and no number rounded. The gap walker is compiled from the same schema: delete a property from the
//! document, and its traffic turns from conforms to gap.

mod errors;
mod fast_path;
mod formats;
mod gaps;

use std::fmt;

use jsonschema::{Draft, Registry, Validator};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::json::{Document, Tape, TapeNode};

use fast_path::Glance;

pub use errors::Breach;
pub use gaps::{Gap, GapKind, Types};

/// The document's address while it is compiled; nothing is ever fetched.
const ADDRESS: &str = "contrail:/contract";

/// A compiled schema.
pub struct Schema {
    validator: Validator<Tape>,
    gaps: gaps::Accounts,
    /// What settles most values without the other two.
    glance: Glance,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}

/// What a schema says of a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Judged {
    /// Where it breaks the schema.
    pub breaches: Vec<Breach>,
    /// Where the schema is silent.
    pub gaps: Vec<Gap>,
}

/// A value could not be judged to its end: it is nested too deep for the stack or for a schema that refers to itself from
/// within a choice, or a pattern is too costly to match. Nothing is said about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unjudged;

/// Nesting up to which any thread's own stack is enough.
const SHALLOW: usize = 64;

/// Stack for one level of nesting, in bytes: sixteen times what the plainest recursive schema takes in a debug build.
const STACK_PER_LEVEL: usize = 64 << 10;

/// Nesting up to which every place is told where a schema refers to itself from within a choice: each level may multiply
/// the work of telling (not of judging) by the number of branches.
const TELLING: usize = 8;

/// A schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    /// JSON pointer into the document.
    pub at: String,
    /// What is wrong.
    pub reason: String,
}

/// Compiles the schemas of one document.
pub struct Schemas<'d> {
    document: &'d Value,
    registry: Registry<'d>,
    /// Some part of the document has an identifier of its own, from which references below it start.
    rebased: bool,
}

impl fmt::Debug for Schemas<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schemas").finish_non_exhaustive()
    }
}

impl<'d> Schemas<'d> {
    /// For the schemas of `document`, whose references lead into it.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] if the document's identifiers or references are unusable.
    pub fn new(document: &'d Value) -> Result<Self, SchemaError> {
        let whole = |error: jsonschema::ReferencingError| SchemaError { at: String::new(), reason: error.to_string() };
        let registry = Registry::new()
            .draft(Draft::Draft202012)
            .add(ADDRESS, document)
            .and_then(jsonschema::RegistryBuilder::prepare)
            .map_err(whole)?;
        Ok(Self { document, registry, rebased: is_rebased(document) })
    }

    /// Compiles the schema at a JSON pointer into the document.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] if it is no valid schema of Draft 2020-12, or refers to something that is not there.
    pub fn compile(&self, pointer: &str) -> Result<Schema, SchemaError> {
        /// What a URI fragment may hold as it is.
        const FRAGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'~').remove(b'-').remove(b'.').remove(b'_');
        let fault = |at: String, reason: String| SchemaError { at, reason };
        let schema = self
            .document
            .pointer(pointer)
            .ok_or_else(|| fault(pointer.to_owned(), "there is no schema here".to_owned()))?;
        jsonschema::draft202012::meta::validate(schema)
            .map_err(|error| fault(format!("{pointer}{}", error.instance_path()), errors::plainly(&error)))?;
        let root = json!({ "$ref": format!("{ADDRESS}#{}", utf8_percent_encode(pointer, FRAGMENT)) });
        let options = formats::register(jsonschema::options_for::<Tape>())
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true)
            .should_ignore_unknown_formats(true)
            .with_registry(&self.registry);
        let validator = options.build(&root).map_err(|error| {
            // Empty for a reference that leads nowhere; otherwise seen from the document's root.
            let at = error.instance_path().as_str();
            fault(if at.is_empty() { pointer } else { at }.to_owned(), error.to_string())
        })?;
        let gaps = gaps::Accounts::compile(self.document, pointer, &|branch| {
            let root = json!({ "$ref": format!("{ADDRESS}#{}", utf8_percent_encode(branch, FRAGMENT)) });
            options.build(&root).map_err(|error| fault(branch.to_owned(), error.to_string()))
        })?;
        let glance = if self.rebased {
            Glance::none()
        } else {
            // A keyword's own judge, so that what asserts nothing is told from what asserts something.
            let options = formats::register(jsonschema::options_for::<Tape>())
                .with_draft(Draft::Draft202012)
                .should_validate_formats(true)
                .should_ignore_unknown_formats(false);
            Glance::compile(self.document, pointer, &|schema| options.build(schema).ok())
        };
        Ok(Schema { validator, gaps, glance })
    }
}

/// Whether any object in a document has a `$id` that might be a schema's.
fn is_rebased(document: &Value) -> bool {
    let mut todo = vec![document];
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(members) if members.get("$id").is_some_and(Value::is_string) => return true,
            Value::Object(members) => todo.extend(members.values()),
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
    false
}

impl Schema {
    /// Judges a document: the places at which it breaks the schema, in the order of the pointers, and the places that
    /// no schema accounts for, in the order of the document.
    ///
    /// `is_origin` says what `{origin}` in a known value stands for.
    ///
    /// # Errors
    ///
    /// [`Unjudged`] where a schema refers to itself and the document is too deep to be followed all the way, and where a
    /// pattern is too costly to match.
    pub fn judge(&self, document: &Document, is_origin: &(dyn Fn(&str) -> bool + Sync)) -> Result<Judged, Unjudged> {
        if document.depth() <= SHALLOW && self.glance.settles(document.root(), is_origin) {
            debug_assert_eq!(self.judge_in_full(document, is_origin), Ok(Judged::default()));
            return Ok(Judged::default());
        }
        self.judge_in_full(document, is_origin)
    }

    /// The judge and the gap walker, whatever one look says: what [`Schema::judge`] has to agree with.
    ///
    /// # Errors
    ///
    /// As of [`Schema::judge`].
    pub fn judge_in_full(
        &self,
        document: &Document,
        is_origin: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Judged, Unjudged> {
        let judge = || {
            let breaches = self.breaches_of_document(document)?;
            if self.gaps.recursive_choice && document.depth() > SHALLOW {
                // Which branches hold would have to be asked anew at every level.
                return if breaches.is_empty() { Err(Unjudged) } else { Ok(Judged { breaches, gaps: Vec::new() }) };
            }
            Ok(Judged { breaches, gaps: self.gaps.walk(document.root(), is_origin) })
        };
        if !self.gaps.recursive || document.depth() <= SHALLOW {
            return judge();
        }
        // The judge recurses with the schema, so a deep value needs a deep stack; a hostile one must not end the process.
        std::thread::scope(|scope| {
            std::thread::Builder::new()
                .stack_size(document.depth() * STACK_PER_LEVEL)
                .spawn_scoped(scope, judge)
                .map_err(|_| Unjudged)?
                .join()
                .map_err(|_| Unjudged)?
        })
    }

    /// The breaches of a text that stands in no document (a parameter).
    ///
    /// # Errors
    ///
    /// [`Unjudged`] where a pattern is too costly to match.
    pub fn breaches_of_text(&self, text: &str) -> Result<Vec<Breach>, Unjudged> {
        if self.glance.settles_text(text) {
            debug_assert_eq!(self.breaches_of(TapeNode::Text(text)), Ok(Vec::new()));
            return Ok(Vec::new());
        }
        self.breaches_of(TapeNode::Text(text))
    }

    /// Whether a text stands for an integer, and that conforms, for certain; `false` says nothing.
    #[must_use]
    pub fn settles_integer(&self, text: &str) -> bool {
        self.types().is_integer() && self.glance.settles_integer(text)
    }

    fn breaches_of_document(&self, document: &Document) -> Result<Vec<Breach>, Unjudged> {
        let value = TapeNode::Value(document.root());
        if self.gaps.recursive_choice && document.depth() > TELLING && !self.validator.is_valid(value) {
            return Ok(vec![Breach { at: String::new(), expected: "what the document shows, at every level".into() }]);
        }
        self.breaches_of(value)
    }

    fn breaches_of(&self, value: TapeNode<'_>) -> Result<Vec<Breach>, Unjudged> {
        if self.validator.is_valid(value) {
            return Ok(Vec::new());
        }
        errors::collect(self.validator.iter_errors(value))
    }

    /// The types that a value may have.
    #[must_use]
    pub fn types(&self) -> Types {
        self.gaps.types()
    }

    /// The types that the member of this name may have, where the value is an object (a form's field).
    #[must_use]
    pub fn member_types(&self, name: &str) -> Types {
        self.gaps.member(name)
    }

    /// The types that an item may have, where the value is an array (a repeated parameter).
    #[must_use]
    pub fn item_types(&self) -> Types {
        self.gaps.items()
    }
}

#[cfg(test)]
mod tests;
