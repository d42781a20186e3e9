//! The dialect of schemas that contrail judges by.

/// The dialect, as `$schema` names it.
const DIALECTS: [&str; 3] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://spec.openapis.org/oas/3.1/dialect/",
    "https://spec.openapis.org/oas/3.2/dialect/",
];

/// Whether `$schema` names the dialect that contrail judges by.
pub(in crate::schema) fn is_dialect(schema: &str) -> bool {
    let schema = schema.strip_suffix('#').unwrap_or(schema);
    schema == DIALECTS[0] || DIALECTS[1..].iter().any(|dialect| schema.starts_with(dialect))
}
