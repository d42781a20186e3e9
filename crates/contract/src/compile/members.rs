//! Reading members of the document, with an error that names the place.

use http::HeaderName;
use serde_json::{Map, Value};

use crate::{ContractError, error::invalid, refs};

pub(super) fn child(at: &str, token: &str) -> String {
    refs::below(at, &[token])
}

pub(super) fn object<'d>(
    document: &'d Value,
    at: &str,
) -> Result<impl Iterator<Item = (&'d String, &'d Value)>, ContractError> {
    match refs::at(document, at) {
        None => Ok(None.into_iter().flatten()),
        Some(value) => Ok(Some(members(value, at)?).into_iter().flatten()),
    }
}

pub(super) fn members<'d>(value: &'d Value, at: &str) -> Result<&'d Map<String, Value>, ContractError> {
    value.as_object().ok_or_else(|| invalid(at, "it has to be an object"))
}

pub(super) fn text<'d>(value: &'d Value, at: &str, key: &str) -> Result<&'d str, ContractError> {
    value.get(key).and_then(Value::as_str).ok_or_else(|| invalid(at, format!("`{key}` has to be a string")))
}

/// A member that is `true` or `false`, if it is there.
pub(super) fn flag(value: &Value, at: &str, key: &str) -> Result<Option<bool>, ContractError> {
    let read = |held: &Value| held.as_bool().ok_or_else(|| invalid(&child(at, key), "it has to be true or false"));
    value.get(key).map(read).transpose()
}

/// A string, or a list of strings.
pub(super) fn strings<'d>(value: &'d Value, at: &str) -> Result<Vec<&'d str>, ContractError> {
    let one = std::slice::from_ref(value);
    let items = value.as_array().map_or(one, Vec::as_slice);
    items.iter().map(|item| item.as_str().ok_or_else(|| invalid(at, "it has to be a list of strings"))).collect()
}

/// Fails where no header can have a name: it is a token (RFC 9110, section 5.1).
pub(super) fn field_name(at: &str, name: &str) -> Result<(), ContractError> {
    match HeaderName::from_bytes(name.as_bytes()) {
        Ok(_) => Ok(()),
        Err(_) => Err(invalid(at, format!("no header has the name `{name}`"))),
    }
}
