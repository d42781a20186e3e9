//! What stands in a document beside its operations.

use std::collections::HashSet;

use serde_json::Value;

use super::{Compiler, child};
use crate::contract::{ContractError, refs};

/// Formats that are asserted: those of Draft 2020-12, and the tenant's. Any other is an annotation.
pub(super) const ASSERTED_FORMATS: [&str; 18] = [
    "date",
    "date-time",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
    "strict-https-uri",
];

impl Compiler<'_> {
    /// A schema that nothing refers to can be unusable as well as any other.
    pub(super) fn unreferenced_schemas(&self) -> Result<(), ContractError> {
        let Some(schemas) = self.document.pointer("/components/schemas").and_then(Value::as_object) else {
            return Ok(());
        };
        let mut referenced = HashSet::new();
        refs::walk(self.document, &mut |_, object| {
            referenced.extend(object.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#')));
        });
        for name in schemas.keys() {
            let at = child("/components/schemas", name);
            if !referenced.contains(at.as_str()) {
                self.schema(&at)?;
            }
        }
        Ok(())
    }

    /// What stands in the document beside its operations, or in its schemas, and is not checked.
    pub(super) fn elsewhere(&mut self) {
        if self.document.get("webhooks").is_some() {
            self.not_implemented("/webhooks", "webhooks are not checked");
        }
        let mut told: Vec<(String, String)> = Vec::new();
        refs::walk(self.document, &mut |at, object| {
            if !at.contains("/schema") {
                return;
            }
            let mut tell = |what: String| told.push((at.to_owned(), what));
            let shown = |name: &Value| name.as_str() == Some("format-grammar");
            let silent = object.get("x-contrail-not-shown").and_then(Value::as_array).into_iter().flatten().any(shown);
            match object.get("format").and_then(Value::as_str) {
                Some(format) if !silent && !ASSERTED_FORMATS.contains(&format) => {
                    tell(format!("the format `{format}` is not checked"));
                }
                _ => {}
            }
            for keyword in ["readOnly", "writeOnly"] {
                if object.get(keyword) == Some(&Value::Bool(true)) {
                    tell(format!("`{keyword}` is not checked"));
                }
            }
            if object.contains_key("$dynamicRef") {
                tell("undocumented fields below it are not looked for, because it has a `$dynamicRef`".to_owned());
            }
        });
        for (at, what) in told {
            self.not_implemented(&at, &what);
        }
    }
}
