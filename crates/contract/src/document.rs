//! Reading a document: JSON or YAML in, one JSON value out, key order and numbers kept.

use std::path::Path;

use serde_json::Value;

use super::{ContractError, yaml};

/// Reads a file as JSON (by its extension `.json`, or because it starts with a brace) or YAML, which also has braces.
///
/// # Errors
///
/// [`ContractError::Unreadable`], and [`ContractError::Syntax`] with line and column (duplicate keys included).
pub(super) fn read(file: &Path) -> Result<Value, ContractError> {
    read_as(file, file)
}

/// The same under another name, for messages and for its extension.
pub(super) fn read_as(file: &Path, name: &Path) -> Result<Value, ContractError> {
    let bytes = std::fs::read(file).map_err(|source| ContractError::Unreadable { file: name.to_owned(), source })?;
    let text = String::from_utf8(bytes).map_err(|error| ContractError::Syntax {
        file: name.to_owned(),
        language: "text",
        reason: format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()),
    })?;
    parse(&text, name)
}

/// The same from memory; `file` is for messages and for its extension.
pub(super) fn parse(text: &str, file: &Path) -> Result<Value, ContractError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is = |extension: &str| file.extension().is_some_and(|held| held.eq_ignore_ascii_case(extension));
    let syntax = |language, reason| ContractError::Syntax { file: file.to_owned(), language, reason };
    let json = if is("json") || text.trim_start().starts_with('{') { Some(json::value(text)) } else { None };
    match json {
        Some(Ok(value)) => Ok(value),
        Some(Err(reason)) if is("json") => Err(syntax("JSON", reason)),
        json => yaml::read(text).map_err(|yaml| match json {
            Some(Err(reason)) if !is("yaml") && !is("yml") => syntax("JSON", reason),
            _ => syntax("YAML", yaml),
        }),
    }
}

mod json {
    use serde_json::Value;

    use contrail_exchange::json::Document;

    pub(super) fn value(text: &str) -> Result<Value, String> {
        let document = Document::parse(text.to_owned()).map_err(|error| {
            let before = text.get(..error.offset).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
            format!("{} at line {line} column {column}", error.fault)
        })?;
        Ok(document.root().to_value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_as(name: &str, text: &str) -> Result<Value, String> {
        parse(text, Path::new(name)).map_err(|error| error.to_string())
    }

    #[test]
    fn json_and_yaml_of_the_same_document_are_the_same_value_with_the_same_key_order() {
        let json = parse_as("a.json", r#"{"b": [1, true, null, "x"], "a": {"no": "yes"}}"#).unwrap();
        let yaml = parse_as("a.yaml", "b: [1, true, null, x]\na: {no: yes}\n").unwrap();
        assert_eq!(json.to_string(), yaml.to_string());
    }

    #[test]
    fn numbers_of_a_json_document_keep_every_digit() {
        let text = r#"{"a":1e400,"b":1234567890123456789012345678901234567890,"c":5.0,"d":-0}"#;
        assert_eq!(parse_as("a.json", text).unwrap().to_string(), text);
    }

    #[test]
    fn numbers_of_a_yaml_document_read_as_json_numbers() {
        let value = parse_as("a.yaml", "a: 10000\nb: 0.01\nc: -7\nd: 18446744073709551616\n").unwrap();
        assert_eq!(value.to_string(), r#"{"a":10000,"b":0.01,"c":-7,"d":18446744073709551616}"#);
    }

    #[test]
    fn a_key_that_stands_there_twice_is_an_error_in_json_and_in_yaml() {
        assert_eq!(
            parse_as("a.json", r#"{"a": {"b": 1, "b": 2}}"#).unwrap_err(),
            "`a.json` is not valid JSON: a duplicate key at line 1 column 16"
        );
        assert_eq!(
            parse_as("a.yaml", "a:\n  b: 1\n  b: 2\n").unwrap_err(),
            "`a.yaml` is not valid YAML: duplicate key `b` at line 3 column 3"
        );
    }

    #[test]
    fn a_broken_document_is_reported_with_file_line_and_column() {
        let error = parse_as("api.json", "{\"a\": 1,\n  b}").unwrap_err();
        assert_eq!(error, "`api.json` is not valid JSON: a syntax error at line 2 column 3");
    }

    #[test]
    fn yaml_that_starts_with_a_brace_is_read_as_yaml() {
        let flow = "{openapi: 3.1.0, paths: {}}\n";
        for name in ["a.yaml", "a"] {
            assert_eq!(parse_as(name, flow).unwrap().to_string(), r#"{"openapi":"3.1.0","paths":{}}"#);
        }
        let error = parse_as("a.yml", "{a: 1").unwrap_err();
        assert!(error.starts_with("`a.yml` is not valid YAML: "), "{error}");
        for name in ["a.json", "a"] {
            let error = parse_as(name, "{\"a\": 1,\n  b").unwrap_err();
            assert!(error.starts_with(&format!("`{name}` is not valid JSON: ")), "{error}");
        }
    }
}
