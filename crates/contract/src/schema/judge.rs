//! The judge: the `jsonschema` crate, one build for all schemas of a document.

use std::collections::{BTreeSet, HashMap};

use contrail_exchange::json::Node;
use jsonschema::{Draft, Registry, ValidationOptions, Validator};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::{
    Indeterminate,
    errors::{self, Violations},
    formats, pattern,
    represent::{Tape, TapeNode},
};

/// The document's address while it is compiled. contrail fetches nothing.
const ADDRESS: &str = "contrail:/contract";

/// The address of what refers to the meta-schemas in use.
const META_SCHEMAS: &str = "contrail:/meta-schemas";

/// What a URI fragment may hold as it is.
const FRAGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'~').remove(b'-').remove(b'.').remove(b'_');

/// Bound on failed builds while the unusable schemas of a document are searched.
const MAX_FAILURES: usize = 512;

type Options<'r> = ValidationOptions<'r, std::sync::Arc<dyn jsonschema::Retrieve>, Tape>;

/// Validators, and the member under which each schema stands in one of them.
pub(super) struct Judge {
    validators: Vec<Validator<Tape>>,
    /// By place, then by branch; `None` where the schema is unusable.
    schemas: Vec<Option<Selected>>,
    /// Count of places: the branches follow.
    places: usize,
    /// Patterns as the document has them, by the form that the validators run.
    written: HashMap<String, String>,
}

struct Selected {
    validator: usize,
    /// See [`TapeNode::Under`].
    member: Box<str>,
}

impl Judge {
    /// For the schemas at `places` of `document`, and for the branches of choices in them. `meta_schemas` are
    /// references to meta-schemas in it, `written` its patterns by the form in which it holds them.
    pub(super) fn compile(
        document: &Value,
        places: &[String],
        branches: &[String],
        meta_schemas: &BTreeSet<String>,
        written: &HashMap<String, String>,
    ) -> Self {
        let written = written.iter().filter(|(form, pattern)| form != pattern);
        let written = written.map(|(form, pattern)| (form.clone(), pattern.clone())).collect();
        let mut judge = Self { validators: Vec::new(), schemas: Vec::new(), places: places.len(), written };
        judge.schemas.resize_with(places.len() + branches.len(), || None);
        let registry = Registry::new()
            .draft(Draft::Draft202012)
            .add(ADDRESS, document)
            .and_then(|registry| registry.add(META_SCHEMAS, references(meta_schemas)))
            .and_then(jsonschema::RegistryBuilder::prepare);
        let Ok(registry) = registry else { return judge };
        let options = asserting_formats().should_ignore_unknown_formats(true).with_registry(&registry);
        let pointers: Vec<&str> = places.iter().chain(branches).map(String::as_str).collect();
        let mut todo = vec![(0, pointers.len())];
        let mut failures = 0;
        while let Some((start, end)) = todo.pop() {
            match build(&options, &pointers[start..end]) {
                Some(validator) => {
                    for (index, schema) in judge.schemas[start..end].iter_mut().enumerate() {
                        let member = index.to_string().into();
                        *schema = Some(Selected { validator: judge.validators.len(), member });
                    }
                    judge.validators.push(validator);
                }
                None if end - start > 1 && failures < MAX_FAILURES => {
                    failures += 1;
                    let middle = start.midpoint(end);
                    todo.extend([(middle, end), (start, middle)]);
                }
                None => {}
            }
        }
        judge
    }

    /// Whether a value conforms to the schema at a place.
    ///
    /// # Errors
    ///
    /// [`Indeterminate`] where the schema is unusable.
    pub(super) fn is_valid(&self, place: usize, value: Node<'_>) -> Result<bool, Indeterminate> {
        let (validator, member) = self.selected(place)?;
        Ok(validator.is_valid(TapeNode::Under(member, value)))
    }

    /// Whether a branch holds for a value. One that is unusable does.
    pub(super) fn holds(&self, branch: usize, value: Node<'_>) -> bool {
        self.is_valid(self.places + branch, value).unwrap_or(true)
    }

    /// What a value violates of the schema at a place.
    ///
    /// # Errors
    ///
    /// [`Indeterminate`] where the schema is unusable or a pattern is too costly to match.
    pub(super) fn violations(&self, place: usize, value: Node<'_>) -> Result<Violations, Indeterminate> {
        let (validator, member) = self.selected(place)?;
        let value = TapeNode::Under(member, value);
        if validator.is_valid(value) {
            return Ok(Violations::default());
        }
        errors::collect(validator.iter_errors(value), member, &self.written)
    }

    fn selected(&self, index: usize) -> Result<(&Validator<Tape>, &str), Indeterminate> {
        let selected = self.schemas.get(index).and_then(Option::as_ref).ok_or(Indeterminate::UNUSABLE)?;
        Ok((&self.validators[selected.validator], &selected.member))
    }
}

/// One validator for several schemas: each is a property, named by its index.
fn build(options: &Options<'_>, pointers: &[&str]) -> Option<Validator<Tape>> {
    let schemas = pointers.iter().enumerate();
    let properties: Map<_, _> = schemas.map(|(index, pointer)| (index.to_string(), reference(pointer))).collect();
    options.build(&json!({ "properties": properties })).ok()
}

/// A schema with these references: the registry brings the meta-schemas that it finds in one.
fn references(targets: &BTreeSet<String>) -> Value {
    json!({ "allOf": targets.iter().map(|target| json!({ "$ref": target })).collect::<Vec<_>>() })
}

fn reference(pointer: &str) -> Value {
    json!({ "$ref": format!("{ADDRESS}#{}", utf8_percent_encode(pointer, FRAGMENT)) })
}

/// The options of every judge: Draft 2020-12, formats asserted.
pub(super) fn asserting_formats<'r>() -> Options<'r> {
    formats::register(jsonschema::options_for::<Tape>())
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .with_pattern_options(pattern::engine())
}
