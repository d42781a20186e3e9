//! A value as the text of a parameter or of a form's field.

use std::fmt::Display;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// What a path segment and a query hold as it is (RFC 3986, section 2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
pub(super) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

/// A value in the style `simple` (OpenAPI 3.1, section 4.8.12.4).
pub(super) fn simple(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(simple).collect::<Vec<_>>().join(","),
        Value::Object(members) => {
            members.iter().map(|(name, value)| format!("{name},{}", simple(value))).collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}

pub(super) fn path_value(name: &str, style: &str, value: &Value) -> String {
    let written = match value {
        Value::Array(items) => items.iter().map(|item| escaped(&simple(item))).collect::<Vec<_>>().join(","),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| format!("{},{}", escaped(name), escaped(&simple(value))))
            .collect::<Vec<_>>()
            .join(","),
        other => escaped(&simple(other)),
    };
    match style {
        "label" => format!(".{written}"),
        "matrix" => format!(";{name}={written}"),
        _ => written,
    }
}

/// `name[key]=value`; items of arrays are members named by their index.
fn deep(name: &str, value: &Value) -> Vec<String> {
    let below = |key: &dyn Display, value| deep(&format!("{name}[{key}]"), value);
    match value {
        Value::Object(members) => members.iter().flat_map(|(key, value)| below(key, value)).collect(),
        Value::Array(items) => items.iter().enumerate().flat_map(|(index, value)| below(&index, value)).collect(),
        scalar => vec![format!("{}={}", escaped(name), escaped(&simple(scalar)))],
    }
}

/// The pairs of a query (OpenAPI 3.1, section 4.8.12.4).
pub(super) fn query_pairs(name: &str, parameter: &Value, value: &Value) -> Vec<String> {
    let style = parameter.get("style").and_then(Value::as_str).unwrap_or("form");
    let explode = parameter.get("explode").and_then(Value::as_bool).unwrap_or(style == "form");
    let pair = |name: &str, value: &str| format!("{}={}", escaped(name), value);
    let joined = |separator: &str, items: Vec<String>| pair(name, &items.join(separator));
    let each = |items: &[Value]| items.iter().map(|item| escaped(&simple(item))).collect::<Vec<_>>();
    match (value, style, explode) {
        (Value::Array(_) | Value::Object(_), "deepObject", _) => deep(name, value),
        (Value::Array(items), "form", true) => each(items).iter().map(|item| pair(name, item)).collect(),
        (Value::Array(items), "spaceDelimited", false) => vec![joined("%20", each(items))],
        (Value::Array(items), "pipeDelimited", false) => vec![joined("%7C", each(items))],
        (Value::Array(items), _, false) => vec![joined(",", each(items))],
        (Value::Array(items), ..) => each(items).iter().map(|item| pair(name, item)).collect(),
        (Value::Object(members), _, true) => {
            members.iter().map(|(key, value)| pair(key, &escaped(&simple(value)))).collect()
        }
        (Value::Object(members), ..) => {
            let all = members.iter().flat_map(|(key, value)| [escaped(key), escaped(&simple(value))]).collect();
            vec![joined(",", all)]
        }
        (other, ..) => vec![pair(name, &escaped(&simple(other)))],
    }
}
