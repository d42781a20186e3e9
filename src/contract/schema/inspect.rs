//! Unusable places of a document's schemas: found, listed, and left out of the build.
//!
//! A bad place never refuses a document. The keyword at it is left out, the schemas that reach it give no verdict of
//! full conformance, and `contrail contract` lists it.

use std::collections::{HashMap, HashSet, VecDeque};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::{errors, judge, pattern};
use crate::{contract::refs, json::push_pointer};

/// A place that contrail cannot judge by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusablePlace {
    /// JSON pointer into the document.
    pub at: String,
    /// What is wrong.
    pub reason: String,
}

impl UnusablePlace {
    /// A `$ref` at `at` to a place that the document does not have.
    pub(in crate::contract) fn dangling(at: &str, target: &str) -> Self {
        let reason = if target.starts_with('#') {
            format!("it refers to `{target}`, which the document does not define")
        } else {
            format!("it refers to `{target}`, and contrail reads one file; bundle the document first")
        };
        Self { at: below(at, &["$ref"]), reason }
    }
}

/// What an inspection finds.
#[derive(Debug, Default)]
pub(super) struct Inspection {
    pub(super) unusable: Vec<UnusablePlace>,
    /// JSON pointers of the schemas that hold an unusable place.
    pub(super) broken: HashSet<String>,
    /// Changes that make the document usable for the build.
    changes: Vec<Change>,
}

/// One change of a schema, given by its JSON pointer.
#[derive(Debug)]
enum Change {
    /// Nothing in it is usable.
    Free(String),
    Remove(String, String),
    Replace(String, String, Value),
}

impl Inspection {
    /// Inspects the schemas at `places` and all that they lead to.
    pub(super) fn of<'p>(document: &Value, places: impl IntoIterator<Item = &'p str>) -> Self {
        let mut todo: VecDeque<String> = places.into_iter().map(str::to_owned).collect();
        let mut seen: HashSet<String> = HashSet::new();
        let rebased = refs::is_rebased(document);
        let mut inspector = Inspector { document, rebased, found: Self::default(), patterns: HashMap::new() };
        while let Some(pointer) = todo.pop_front() {
            if !seen.insert(pointer.clone()) {
                continue;
            }
            match document.pointer(&pointer) {
                Some(Value::Object(schema)) => {
                    inspector.schema(&pointer, schema);
                    todo.extend(targets(&pointer, schema));
                }
                Some(Value::Bool(_)) | None => {}
                Some(_) => {
                    inspector.found.broken.insert(pointer.clone());
                    inspector.found.changes.push(Change::Free(pointer.clone()));
                    inspector.report(pointer, "expected a schema: an object or a boolean".to_owned());
                }
            }
        }
        inspector.found
    }

    /// The document for the build; `None` where it is usable as it is.
    pub(super) fn usable(&self, document: &Value) -> Option<Value> {
        if self.changes.is_empty() {
            return None;
        }
        let mut usable = document.clone();
        for change in &self.changes {
            match change {
                Change::Free(at) => {
                    if let Some(schema) = usable.pointer_mut(at) {
                        *schema = Value::Bool(true);
                    }
                }
                Change::Remove(at, keyword) => {
                    if let Some(Value::Object(schema)) = usable.pointer_mut(at) {
                        schema.shift_remove(keyword);
                    }
                }
                Change::Replace(at, keyword, value) => {
                    if let Some(Value::Object(schema)) = usable.pointer_mut(at) {
                        schema.insert(keyword.clone(), value.clone());
                    }
                }
            }
        }
        Some(usable)
    }
}

struct Inspector<'d> {
    document: &'d Value,
    /// References start from identifiers; the build resolves them.
    rebased: bool,
    found: Inspection,
    /// The usable form of each pattern; `None` where there is none.
    patterns: HashMap<String, Option<String>>,
}

impl Inspector<'_> {
    fn report(&mut self, at: String, reason: String) {
        self.found.unusable.push(UnusablePlace { at, reason });
    }

    fn unusable(&mut self, pointer: &str, keyword: &str, reason: String) {
        self.found.broken.insert(pointer.to_owned());
        self.found.changes.push(Change::Remove(pointer.to_owned(), keyword.to_owned()));
        self.report(below(pointer, &[keyword]), reason);
    }

    fn schema(&mut self, pointer: &str, schema: &Map<String, Value>) {
        for (keyword, value) in schema {
            match keyword.as_str() {
                "$ref" => self.reference(pointer, value),
                "pattern" => self.pattern(pointer, value),
                "patternProperties" => self.patterns(pointer, value),
                "required" => self.required(pointer, value),
                "x-contrail-unnamed-keys" if value.as_u64().is_none() => {
                    let reason = "expected the number of keys, a whole number".to_owned();
                    self.unusable(pointer, keyword, reason);
                }
                "x-contrail-known-values"
                    if !value.as_array().is_some_and(|values| values.iter().all(Value::is_string)) =>
                {
                    self.unusable(pointer, keyword, "expected a list of strings".to_owned());
                }
                _ => self.keyword(pointer, keyword, value),
            }
        }
    }

    /// Holds a keyword to the meta-schema of Draft 2020-12, without the schemas below it.
    fn keyword(&mut self, pointer: &str, keyword: &str, value: &Value) {
        let alone = match holds(keyword) {
            Holds::One | Holds::Members if value.is_object() => return,
            Holds::List => match value.as_array() {
                Some(schemas) if !schemas.is_empty() => return,
                _ => json!({ keyword: value }),
            },
            _ if is_plain(keyword, value) => return,
            _ => json!({ keyword: value }),
        };
        if let Err(error) = jsonschema::draft202012::meta::validate(&alone) {
            let reason = errors::plainly(&error);
            self.unusable(pointer, keyword, reason);
        }
    }

    fn reference(&mut self, pointer: &str, value: &Value) {
        let Some(target) = value.as_str() else {
            return self.unusable(pointer, "$ref", "expected a string".to_owned());
        };
        if self.rebased {
            return;
        }
        let fragment = target.strip_prefix('#').unwrap_or("?");
        let decoded = percent_decode_str(fragment).decode_utf8();
        if !decoded.is_ok_and(|to| self.document.pointer(&to).is_some()) {
            self.unusable(pointer, "$ref", UnusablePlace::dangling(pointer, target).reason);
        }
    }

    fn required(&mut self, pointer: &str, value: &Value) {
        let names = value.as_array().filter(|names| names.iter().all(Value::is_string));
        let Some(names) = names else {
            return self.unusable(pointer, "required", "expected a list of strings".to_owned());
        };
        let mut distinct: Vec<&Value> = Vec::new();
        let mut seen = HashSet::new();
        distinct.extend(names.iter().filter(|name| seen.insert(name.as_str())));
        if distinct.len() < names.len() {
            let change = Change::Replace(pointer.to_owned(), "required".to_owned(), json!(distinct));
            self.found.changes.push(change);
        }
    }

    fn pattern(&mut self, pointer: &str, value: &Value) {
        let Some(pattern) = value.as_str() else {
            return self.unusable(pointer, "pattern", "expected a string".to_owned());
        };
        match self.usable_pattern(pattern) {
            Some(usable) if usable == pattern => {}
            Some(usable) => {
                self.found.changes.push(Change::Replace(pointer.to_owned(), "pattern".to_owned(), json!(usable)));
            }
            None => self.unusable(pointer, "pattern", "contrail cannot run this regular expression".to_owned()),
        }
    }

    fn patterns(&mut self, pointer: &str, value: &Value) {
        let Some(patterns) = value.as_object() else {
            return self.unusable(pointer, "patternProperties", "expected an object".to_owned());
        };
        let unusable =
            patterns.keys().find(|pattern| self.usable_pattern(pattern).is_none_or(|usable| usable != **pattern));
        if let Some(pattern) = unusable {
            let reason = format!("contrail cannot run the regular expression `{}`", pattern.escape_debug());
            self.unusable(pointer, "patternProperties", reason);
        }
    }

    fn usable_pattern(&mut self, pattern: &str) -> Option<String> {
        if let Some(held) = self.patterns.get(pattern) {
            return held.clone();
        }
        let compiles = |pattern: &str| judge::asserting_formats().build(&json!({ "pattern": pattern })).is_ok();
        let usable = if compiles(pattern) {
            Some(pattern.to_owned())
        } else {
            Some(pattern::lenient(pattern)).filter(|lenient| compiles(lenient))
        };
        self.patterns.insert(pattern.to_owned(), usable.clone());
        usable
    }
}

/// What a keyword holds.
enum Holds {
    /// A schema.
    One,
    /// A list of schemas.
    List,
    /// An object whose members are schemas.
    Members,
    Other,
}

fn holds(keyword: &str) -> Holds {
    match keyword {
        "items"
        | "additionalProperties"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "contentSchema" => Holds::One,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Holds::List,
        "properties" | "dependentSchemas" | "$defs" => Holds::Members,
        _ => Holds::Other,
    }
}

/// Whether the commonest keywords have the value that they mostly have, which needs no meta-schema.
fn is_plain(keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" => {
            matches!(value.as_str(), Some("string" | "object" | "array" | "integer" | "number" | "boolean" | "null"))
        }
        "title" | "description" | "format" => value.is_string(),
        "enum" => value.is_array(),
        "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
        "minimum" | "maximum" => value.is_number(),
        "items" | "additionalProperties" | "readOnly" | "writeOnly" | "deprecated" => value.is_boolean(),
        "example" | "examples" | "default" | "const" => keyword != "examples" || value.is_array(),
        other => other.starts_with("x-"),
    }
}

/// The schemas that a schema leads to.
fn targets(pointer: &str, schema: &Map<String, Value>) -> Vec<String> {
    let mut targets = Vec::new();
    for (keyword, value) in schema {
        match (holds(keyword), value) {
            (Holds::One, Value::Object(_)) => targets.push(below(pointer, &[keyword])),
            (Holds::List, Value::Array(schemas)) => {
                targets.extend((0..schemas.len()).map(|index| below(pointer, &[keyword, &index.to_string()])));
            }
            (Holds::Members, Value::Object(schemas)) => {
                targets.extend(schemas.keys().map(|name| below(pointer, &[keyword, name])));
            }
            (Holds::Other, Value::Object(schemas)) if keyword == "patternProperties" => {
                targets.extend(schemas.keys().map(|name| below(pointer, &[keyword, name])));
            }
            (Holds::Other, Value::String(target)) if keyword == "$ref" => {
                let fragment = target.strip_prefix('#').map(|fragment| percent_decode_str(fragment).decode_utf8());
                targets.extend(fragment.and_then(Result::ok).map(std::borrow::Cow::into_owned));
            }
            _ => {}
        }
    }
    targets
}

fn below(pointer: &str, steps: &[&str]) -> String {
    let mut pointer = pointer.to_owned();
    for step in steps {
        push_pointer(&mut pointer, step);
    }
    pointer
}
