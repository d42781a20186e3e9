//! What requests of 4.3 and 4.5 ask for, read and checked by the document's limits.

use contrail_exchange::json::{Document, Kind, Node};
use serde_json::{Map, Value};

use super::fields::{Fields, is_integer, is_integer_text, pairs};

/// The names that section 2.4 gives to the attributes of a presentation.
const ATTRIBUTES: [&str; 21] = [
    "family_name",
    "given_name",
    "birth_date",
    "issue_date",
    "expiry_date",
    "issuing_country",
    "issuing_authority",
    "portrait",
    "driving_privileges",
    "resident_address",
    "portrait_capture_date",
    "age_in_years",
    "age_birth_year",
    "issuing_jurisdiction",
    "nationality",
    "resident_city",
    "resident_state",
    "resident_postal_code",
    "resident_country",
    "family_name_national_character",
    "given_name_national_character",
];

/// The query of 4.3. Parameters that the document does not show are ignored.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Paging {
    pub(super) from: Option<String>,
    pub(super) take: usize,
}

impl Paging {
    pub(super) fn read(query: &str) -> Result<Self, String> {
        let mut paging = Self { from: None, take: 50 };
        for (name, value) in pairs(query)? {
            match name.as_str() {
                "from" => paging.from = Some(value),
                "take" => {
                    paging.take = (is_integer_text(&value))
                        .then(|| value.parse().ok())
                        .flatten()
                        .filter(|take| (1..=100).contains(take))
                        .ok_or("`take` is an integer from 1 to 100")?;
                }
                _ => {}
            }
        }
        Ok(paging)
    }
}

/// Reads the fields of 4.5 that the document names, each by its own limits. Others are ignored; `version` is checked
/// and not kept, because 2.4 has none.
pub(super) fn template_changes(fields: &Fields) -> Result<Map<String, Value>, String> {
    let mut changes = Map::new();
    let fault = |name: &str, expected: &str| format!("Payload validation error: `{name}` is {expected}");
    for name in ["name", "type", "dialect", "well_known_trusted_issuers"] {
        let Some(text) = text_field(fields, name).map_err(|()| fault(name, "a string"))? else { continue };
        let length = text.chars().count();
        let (good, expected) = match name {
            "dialect" => (length <= 255 && is_dialect(&text), "`simplified/1.0`"),
            "well_known_trusted_issuers" => (text == "aamva", "`aamva`"),
            _ => ((1..=255).contains(&length), "a string of 1 to 255 characters"),
        };
        if !good {
            return Err(fault(name, expected));
        }
        changes.insert(name.to_owned(), Value::String(text));
    }
    let parsed;
    let presentation = match fields {
        Fields::Json(document) => document.root().get("presentation"),
        Fields::Form(pairs) => match pairs.iter().find(|(name, _)| name == "presentation") {
            None => None,
            Some((_, text)) => {
                parsed = Document::parse(text.clone()).map_err(|_| fault("presentation", "JSON text"))?;
                Some(parsed.root())
            }
        },
    };
    if let Some(presentation) = presentation {
        let value = simplified_request(presentation)
            .ok_or_else(|| fault("presentation", "a simplified presentation request"))?;
        changes.insert("presentation".to_owned(), value);
    }
    let version = match fields {
        Fields::Json(document) => document.root().get("version").is_none_or(is_integer),
        Fields::Form(pairs) => {
            pairs.iter().find(|(name, _)| name == "version").is_none_or(|(_, text)| is_integer_text(text))
        }
    };
    if !version {
        return Err(fault("version", "an integer"));
    }
    Ok(changes)
}

/// The pattern `^simplified/1.0$` as it is written: the dot stands for any character (but a line's end).
fn is_dialect(text: &str) -> bool {
    let middle = text.strip_prefix("simplified/1").and_then(|rest| rest.strip_suffix('0'));
    middle.is_some_and(|middle| {
        let mut characters = middle.chars();
        let any = characters.next().is_some_and(|any| !matches!(any, '\n' | '\r' | '\u{2028}' | '\u{2029}'));
        any && characters.next().is_none()
    })
}

fn text_field(fields: &Fields, name: &str) -> Result<Option<String>, ()> {
    match fields {
        Fields::Json(document) => match document.root().get(name) {
            None => Ok(None),
            Some(node) => node.as_str().map(|text| Some(text.into_owned())).ok_or(()),
        },
        Fields::Form(pairs) => Ok(pairs.iter().find(|(held, _)| held == name).map(|(_, value)| value.clone())),
    }
}

/// One key at both upper levels, then attributes of section 2.4, each with a boolean.
fn simplified_request(presentation: Node<'_>) -> Option<Value> {
    const KEYS: [&str; 2] = ["org.iso.18013.5.1.mDL", "org.iso.18013.5.1"];
    let mut level = presentation;
    for key in KEYS {
        if level.kind() != Kind::Object || level.len() != 1 {
            return None;
        }
        level = level.get(key)?;
    }
    if level.kind() != Kind::Object {
        return None;
    }
    let mut attributes = Map::new();
    for (name, value) in level.members() {
        if !ATTRIBUTES.contains(&name.as_ref()) {
            return None;
        }
        attributes.insert(name.into_owned(), Value::Bool(value.as_bool()?));
    }
    Some(serde_json::json!({KEYS[0]: {KEYS[1]: attributes}}))
}
