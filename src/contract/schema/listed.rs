//! Long `enum`s, found by value. The judge compares values that are not all texts one by one.

use jsonschema::{Keyword, ValidationError, ValidationOptions, paths::Location};
use serde_json::{Map, Value};

use super::errors;
use crate::{
    contract::refs,
    json::{ByValue, Tape, TapeNode, work},
};

/// The keyword that takes the place of `enum` in the judge's document.
const LISTED: &str = "contrail-listed";

/// Up to here values are compared one by one.
const FEW: usize = 32;

/// Bytes of a value that count as a step.
const STEP_BYTES: usize = 64;

/// Adds the keyword.
pub(super) fn register<R>(options: ValidationOptions<'_, R, Tape>) -> ValidationOptions<'_, R, Tape> {
    options.with_keyword(LISTED, |_: &Map<String, Value>, values: &Value, _: Location| {
        let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
        let mut listed = ByValue::default();
        for value in values {
            let too_large = || ValidationError::custom("a value is too large");
            *listed.entry(value).ok_or_else(too_large)? = ();
        }
        Ok(Box::new(EnumValues { values: listed, expected: errors::one_of(values.iter()) }))
    })
}

/// Renames the `enum`s of the schemas with these pointers for which the judge would take long, but those `left_out`.
pub(super) fn rename(document: &mut Value, schemas: &[String], left_out: impl Fn(&str) -> bool) {
    for at in schemas {
        let Some(Value::Object(schema)) = document.pointer_mut(at) else { continue };
        schema.shift_remove(LISTED);
        let is_hashed = |value: &Value| value.is_string() || value.is_null();
        let is_long = |values: &Vec<Value>| values.len() > FEW && !values.iter().all(is_hashed);
        if schema.get("enum").and_then(Value::as_array).is_some_and(is_long)
            && !left_out(&refs::below(at, &["enum"]))
            && let Some(values) = schema.shift_remove("enum")
        {
            schema.insert(LISTED.to_owned(), values);
        }
    }
}

struct EnumValues {
    values: ByValue<()>,
    /// What a violation says.
    expected: String,
}

impl<'i> Keyword<'i, Tape> for EnumValues {
    fn validate(&self, value: TapeNode<'i>) -> Result<(), ValidationError<'i>> {
        if self.is_valid(value) {
            return Ok(());
        }
        // The error has a copy of the value and of the clause.
        let bytes = self.expected.len() + if let TapeNode::Value(value) = value { value.span().len() } else { 0 };
        work::take((bytes / STEP_BYTES) as u64);
        Err(ValidationError::custom(self.expected.clone()))
    }

    fn is_valid(&self, value: TapeNode<'i>) -> bool {
        match value {
            TapeNode::Value(value) => {
                work::take(1 + (value.span().len() / STEP_BYTES) as u64);
                self.values.get(value).is_some()
            }
            TapeNode::Text(text) => self.values.get_text(text).is_some(),
            TapeNode::Under(..) => false,
        }
    }
}
